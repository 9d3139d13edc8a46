// The parts of cluster/ that need no cluster: the shared folder, and Slurm's commands, replaced by scripts.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>

#include "base/error.hpp"
#include "base/files.hpp"
#include "cli/program.hpp"
#include "cluster/command.hpp"
#include "cluster/shared_folder.hpp"
#include "cluster/slurm.hpp"

namespace gpumux::test {
namespace {

namespace fs = std::filesystem;
using cluster::SharedFolder;
using cluster::Submission;
using cluster::Submitted;

class ClusterParts : public CliTest {
 protected:
  /// A program that is found before all others.
  void script(const std::string& name, const std::string& text) const {
    fs::create_directories(path("bin"));
    write_file_atomically(path("bin/" + name), "#!/bin/sh\n" + text + "\n");
    ::chmod(path("bin/" + name).c_str(), 0755);
  }
  void SetUp() override {
    CliTest::SetUp();
    path_ = std::getenv("PATH");
    ::setenv("PATH", (path("bin") + ":" + path_).c_str(), 1);
    for (const char* name : {"sbatch", "squeue", "scancel"}) script(name, "exit 0");
  }
  void TearDown() override {
    ::setenv("PATH", path_.c_str(), 1);
    CliTest::TearDown();
  }
  std::string path_;
};

TEST_F(ClusterParts, AFolderRemovesNothingOfOthers) {
  const SharedFolder folder = SharedFolder::make(path("f"));
  write_file_atomically(path("f/logs/notes.log"), "");
  write_file_atomically(path("f/logs/gpumux-1_0.log"), "");
  write_file_atomically(path("f/partial/notes"), "");
  write_file_atomically(path("f/partial/0a.json.host.1"), "");
  write_file_atomically(path("f/results/notes.json"), "{}");
  EXPECT_TRUE(folder.results().empty());
  folder.remove_if_unused();
  EXPECT_TRUE(exists("f/logs/notes.log"));
  EXPECT_TRUE(exists("f/partial/notes"));
  EXPECT_TRUE(exists("f/results/notes.json"));
  EXPECT_FALSE(exists("f/logs/gpumux-1_0.log"));
  EXPECT_FALSE(exists("f/partial/0a.json.host.1"));
}

TEST_F(ClusterParts, ASubmissionMakesTheFolderAgain) {
  const SharedFolder folder = SharedFolder::make(path("f"));
  folder.remove_if_unused();
  ASSERT_FALSE(exists("f"));
  EXPECT_THROW(folder.put(cluster::TaskResult{"0a", true, 0, ""}), UserError);  // too late
  ASSERT_FALSE(exists("f"));
  Submission submission;
  submission.name = "gpumux-1";
  submission.tasks = {{{"0a.s100", 2, {1.5}}}};
  folder.put(submission);
  ASSERT_EQ(folder.submissions().size(), 1U);
  EXPECT_EQ(folder.submissions()[0].tasks[0][0].name, "0a.s100");
  EXPECT_TRUE(exists("f/logs"));
  folder.put(cluster::TaskResult{"0a.s100", true, 0, "text"});
  EXPECT_TRUE(folder.has_result("0a.s100"));
  EXPECT_FALSE(folder.has_result("0a"));
  folder.remove_if_unused();
  EXPECT_TRUE(exists("f/results/0a.s100.json"));
}

TEST_F(ClusterParts, CommandsAreAGroupOfTheirOwn) {
  const auto outcome =
      cluster::run_command({"sh", "-c", "kill -TERM 0; sleep 60"}, "", std::chrono::seconds(30));
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->exit_code, 128 + SIGTERM);  // and this test goes on
}

TEST_F(ClusterParts, AKilledSbatchIsNoRefusal) {
  const cluster::Slurm slurm;
  cluster::JobArray array;
  array.name = "gpumux-1";
  array.folder = folder_;
  script("sbatch", "kill -INT $$");
  EXPECT_EQ(slurm.submit(array).answer, Submitted::Answer::Silence);
  script("sbatch", "exit 130");  // a wrapper's
  EXPECT_EQ(slurm.submit(array).answer, Submitted::Answer::Silence);
  script("sbatch", "echo 'sbatch: error: no' >&2; exit 1");
  EXPECT_EQ(slurm.submit(array).answer, Submitted::Answer::Refused);
  EXPECT_EQ(slurm.submit(array).message, "no");
}

// The terminal sends it to all processes of its group.
TEST_F(ClusterParts, CtrlCWhileSbatchRunsStops) {
  write_file_atomically(path("s.toml"), R"(name = "small"
policies = ["even"]
apps = ["add", "stream"]
combine = "pairs"
cycles = 100
)");
  script("sbatch", "[ \"$1\" = --version ] && exit 0\ntouch '" + path("asked") + "'\nsleep 1");
  const pid_t sweep = ::fork();
  if (sweep == 0) {
    ::setpgid(0, 0);
    if (::chdir(folder_.c_str()) != 0) ::_exit(99);
    ::dup2(::open("err.log", O_WRONLY | O_CREAT, 0644), STDERR_FILENO);
    ::dup2(::open("/dev/null", O_WRONLY), STDOUT_FILENO);
    ::execl(GPUMUX_PROGRAM, GPUMUX_PROGRAM, "sweep", "s.toml", "--db", "r.sqlite", "--slurm", nullptr);
    ::_exit(99);
  }
  for (int i = 0; i < 1200 && !exists("asked"); ++i) ::usleep(50'000);
  ::kill(-sweep, SIGINT);
  int status = 0;
  ::waitpid(sweep, &status, 0);
  EXPECT_EQ(WIFEXITED(status) ? WEXITSTATUS(status) : -1, 128 + SIGINT);
  EXPECT_EQ(read_file(path("err.log")).find("stopped; the same command goes on with the "), 0U)
      << read_file(path("err.log"));
}

}  // namespace
}  // namespace gpumux::test
