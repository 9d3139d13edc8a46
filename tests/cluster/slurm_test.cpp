// `gpumux sweep --slurm` on a real cluster, undisturbed, and with every process killed that can be killed.
// The rows must equal those of a sweep without a cluster: no row is lost, and none occurs twice.
#include <functional>
#include <set>

#include "cli/sweep_fixture.hpp"
#include "slurm_daemons.hpp"

namespace gpumux::test {
namespace {

constexpr const char* kSweep = R"(name = "small"
policies = ["leftover", "even"]
apps = ["add", "stream", "pathfinder"]
combine = "pairs"
cycles = 1000
set.sms = 2
)";
constexpr std::size_t kRuns = 3 + 2 * 3;  // baselines, pairs

/// Tasks note that they begin, and wait for the file `go`.
constexpr const char* kWaitingProgram = R"(#!/bin/sh
echo $$ >> 'FOLDER/begun'
while [ ! -e 'FOLDER/go' ]; do sleep 0.1; done
exec 'PROGRAM' "$@"
)";

class Slurm : public SweepTest {
 protected:
  void SetUp() override {
    SweepTest::SetUp();
    if (!SlurmDaemons::installed()) {
      ASSERT_EQ(std::getenv("GPUMUX_REQUIRE_SLURM"), nullptr) << "Slurm's daemons are not installed";
      GTEST_SKIP() << "needs Slurm's daemons: the packages slurm-wlm, slurm-client and munge";
    }
    write_file_atomically(path("s.toml"), kSweep);
    const Outcome local = gpumux({"sweep", "s.toml", "--db", "local.sqlite"});
    ASSERT_EQ(local.code, 0) << local.err;
    std::string script = kWaitingProgram;
    replace(script, "FOLDER", folder_);
    replace(script, "PROGRAM", GPUMUX_PROGRAM);
    write_program("waiting", script);
    ASSERT_EQ(daemons_.start(path("slurm")), "");
  }
  void TearDown() override {
    daemons_.stop();  // they write into the folder
    SweepTest::TearDown();
  }

  static void replace(std::string& text, const std::string& what, const std::string& by) {
    for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size()) {
      text.replace(at, what.size(), by);
    }
  }
  void write_program(const std::string& name, const std::string& text) const {
    write_file_atomically(path(name), text);
    ::chmod(path(name).c_str(), 0755);
  }
  [[nodiscard]] static std::vector<std::string> arguments(const std::vector<std::string>& more = {}) {
    std::vector<std::string> words = {"sweep", "s.toml", "--db", "r.sqlite", "--slurm", "--poll", "0.3"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  /// Starts the sweep with a task for each run, and waits until so many wait for `go`.
  [[nodiscard]] pid_t start_waiting(std::size_t tasks, const std::vector<std::string>& more = {}) const {
    std::vector<std::string> words = arguments({"--program", path("waiting"), "--runs-per-task", "1"});
    words.insert(words.end(), more.begin(), more.end());
    const pid_t sweep = start(words);
    EXPECT_TRUE(soon([&] { return begun().size() >= tasks; })) << read_file(path("stderr.log"));
    return sweep;
  }
  /// The submitter, after which its jobs stay.
  static void interrupt(pid_t sweep) {
    ::kill(sweep, SIGINT);
    EXPECT_EQ(wait_for(sweep), 128 + SIGINT);
  }
  static bool queue_is_empty() { return SlurmDaemons::output("squeue --noheader") == ""; }
  /// Pids of the tasks that have begun, the wrapper's, which become gpumux's.
  [[nodiscard]] std::vector<pid_t> begun() const {
    std::vector<pid_t> pids;
    if (!exists("begun")) return pids;
    for (const std::string& line : split(read_file(path("begun")), '\n')) {
      if (!line.empty()) pids.push_back(static_cast<pid_t>(std::stoi(line)));
    }
    return pids;
  }
  /// False after a minute.
  static bool soon(const std::function<bool()>& condition) {
    for (int i = 0; i < 1200; ++i) {
      if (condition()) return true;
      ::usleep(50'000);
    }
    return false;
  }
  /// Slurm drains a node on which a job runs under an id that it gives out again; administrators resume it.
  int wait_with_administrator(pid_t child) const {
    int status = 0;
    while (::waitpid(child, &status, WNOHANG) == 0) {
      if (SlurmDaemons::output("sinfo --noheader --format=%T").find("drain") == 0) {
        SlurmDaemons::output("scontrol update NodeName=" + daemons_.host() + " State=RESUME");
      }
      ::usleep(300'000);
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  void go() const { write_file_atomically(path("go"), ""); }

  [[nodiscard]] std::int64_t number(const std::string& sql) const {
    return SweepTest::number("r.sqlite", sql);
  }
  void expect_all_rows() const {
    const nlohmann::json ours = rows("r.sqlite");
    const nlohmann::json local = rows("local.sqlite");
    ASSERT_EQ(ours.size(), local.size());
    for (std::size_t i = 0; i < ours.size(); ++i)
      EXPECT_TRUE(ours[i] == local[i]) << nlohmann::json::diff(ours[i], local[i]);
    EXPECT_EQ(number("SELECT count(*) FROM runs WHERE state = 'done'"), static_cast<std::int64_t>(kRuns));
    EXPECT_EQ(number("SELECT count(*) FROM claims"), 0);
    EXPECT_FALSE(exists("r.sqlite.slurm"));  // nothing is left over
  }
  /// Arrays that Slurm remembers.
  [[nodiscard]] static std::set<std::string> arrays() {
    std::set<std::string> names;
    for (const std::string& name :
         split(SlurmDaemons::output("squeue --noheader --states=all --format=%j"), '\n')) {
      if (!name.empty()) names.insert(name);
    }
    return names;
  }

  SlurmDaemons daemons_;
};

TEST_F(Slurm, UndisturbedTheRowsAreThoseOfALocalSweep) {
  const Outcome o = gpumux(arguments({"--runs-per-task", "2", "--array-size", "2", "--partition", "main"}));
  ASSERT_EQ(o.code, 0) << o.err;
  EXPECT_EQ(o.err, "");
  EXPECT_EQ(o.out.find("small: 9 runs: 9 done, 0 failed; 9 of them now, in "), 0U) << o.out;
  expect_all_rows();
  EXPECT_EQ(arrays().size(), 1 + 2U);  // 3 baselines, and 6 runs, four to an array
  const Outcome again = gpumux(arguments());
  EXPECT_EQ(again.code, 0);
  EXPECT_EQ(again.out.find("small: 9 runs: 9 done, 0 failed; 0 of them now, in "), 0U) << again.out;
  EXPECT_EQ(arrays().size(), 1 + 2U);
}

TEST_F(Slurm, WhatAKilledTaskLostIsSubmittedAgain) {
  const pid_t sweep = start_waiting(3);
  for (const pid_t task : {begun()[0], begun()[2]}) ::kill(task, SIGKILL);
  ASSERT_TRUE(soon([&] { return begun().size() == 5; }));  // two again
  go();
  EXPECT_EQ(wait_for(sweep), 0) << read_file(path("stderr.log"));
  EXPECT_EQ(begun().size(), kRuns + 2);
  expect_all_rows();
}

TEST_F(Slurm, WhatIsLostAgainAndAgainFails) {
  write_program("dying", "#!/bin/sh\necho about to die\nexit 9\n");
  Outcome o = gpumux(arguments({"--program", path("dying"), "--tries", "2"}));
  EXPECT_EQ(o.code, 1) << o.err;
  EXPECT_NE(o.err.find("error: its task was lost 2 times; the last time: FAILED: about to die"),
            std::string::npos)
      << o.err;
  EXPECT_EQ(number("SELECT count(*) FROM runs WHERE state = 'failed'"), static_cast<std::int64_t>(kRuns));
  o = gpumux(arguments());
  EXPECT_EQ(o.code, 1);  // kept as they are
  EXPECT_EQ(o.out.find("small: 9 runs: 0 done, 9 failed; 0 of them now, in "), 0U) << o.out;
  o = gpumux(arguments({"--retry-failed"}));
  EXPECT_EQ(o.code, 0) << o.err;
  expect_all_rows();
}

// Its jobs are forgotten, and the ids of the next ones are theirs.
TEST_F(Slurm, AControllerThatForgetsLosesNothing) {
  SlurmDaemons::output("scontrol update PartitionName=main State=DOWN");  // or they would run meanwhile
  const pid_t sweep = start(arguments());
  ASSERT_TRUE(soon([] { return arrays().size() == 1; }));
  const std::set<std::string> before = arrays();
  daemons_.kill_controller();
  daemons_.forget_jobs();
  ::sleep(1);  // it does not answer meanwhile
  daemons_.start_controller();
  EXPECT_TRUE(soon([] {
    SlurmDaemons::output("scontrol update PartitionName=main State=UP");
    return SlurmDaemons::output("sinfo --noheader --format=%a") == "up\n";
  }));
  EXPECT_EQ(wait_for(sweep), 0) << read_file(path("stderr.log"));
  EXPECT_FALSE(arrays().contains(*before.begin()));
  expect_all_rows();
}

TEST_F(Slurm, AControllerThatIsKilledWhileTasksRunLosesNothing) {
  const pid_t sweep = start_waiting(3);
  const auto saved = [&] {
    return exists("slurm/state/job_state") &&
           read_file(path("slurm/state/job_state")).find(*arrays().begin()) != std::string::npos;
  };
  ASSERT_TRUE(soon(saved));
  daemons_.kill_controller();
  go();
  ::sleep(1);
  daemons_.start_controller();
  EXPECT_EQ(wait_with_administrator(sweep), 0) << read_file(path("stderr.log"));
  expect_all_rows();
}

TEST_F(Slurm, ANodeThatGoesDownLosesNothing) {
  const pid_t sweep = start(arguments({"--program", path("waiting")}));
  ASSERT_TRUE(soon([&] { return !begun().empty(); }));
  const std::string update = "scontrol update NodeName=" + daemons_.host() + " ";
  SlurmDaemons::output(update + "State=DOWN Reason=test");
  const std::size_t before = begun().size();
  ASSERT_TRUE(soon([&] { return SlurmDaemons::output("squeue --noheader --states=running") == ""; }));
  ASSERT_TRUE(soon([&] {
    if (SlurmDaemons::output("sinfo --noheader --format=%T").starts_with("down")) {
      SlurmDaemons::output(update + "State=RESUME");
    }
    return begun().size() > before;  // once more
  }));
  // Tasks outlive the daemon of their node.
  daemons_.kill_node();
  go();
  ::sleep(1);
  daemons_.start_node();
  EXPECT_EQ(wait_for(sweep), 0) << read_file(path("stderr.log"));
  expect_all_rows();
}

TEST_F(Slurm, AKilledSubmitterGoesOnWhereItWas) {
  const std::vector<std::string> words = arguments({"--program", path("waiting"), "--runs-per-task", "1"});
  // Before and after its jobs have begun, and when they have ended without it.
  for (const std::size_t tasks : {0U, 3U, 3U}) {
    const pid_t sweep = start(words);
    ASSERT_TRUE(soon([&] { return exists("r.sqlite.slurm/results") && begun().size() >= tasks; }));
    ::kill(sweep, SIGKILL);
    EXPECT_EQ(wait_for(sweep), -1);
  }
  go();
  ASSERT_TRUE(soon(queue_is_empty));
  const pid_t sweep = start(words);
  EXPECT_EQ(wait_for(sweep), 0) << read_file(path("stderr.log"));
  EXPECT_GE(begun().size(), kRuns);  // an sbatch may outlive its submitter, which knows nothing of its array
  expect_all_rows();
}

TEST_F(Slurm, AnInterruptLeavesTheJobsAndCancelEndsThem) {
  interrupt(start_waiting(3));
  EXPECT_EQ(read_file(path("stderr.log")),
            "stopped; the same command goes on with the 3 tasks that stay with Slurm, and with --cancel ends "
            "them\n");
  EXPECT_EQ(number("SELECT count(*) FROM claims"), 0);
  EXPECT_NE(SlurmDaemons::output("squeue --noheader --states=running"), "");
  EXPECT_EQ(gpumux(arguments({"--cancel"})).out, "1 job arrays cancelled\n");
  EXPECT_TRUE(soon(queue_is_empty));
  go();
  EXPECT_EQ(gpumux(arguments()).code, 0);
  expect_all_rows();
}

// Nothing knows of their submissions any more, and they are there before the runs are submitted again.
TEST_F(Slurm, ResultsWithoutASubmissionCount) {
  interrupt(start_waiting(3));
  go();
  ASSERT_TRUE(soon(queue_is_empty));
  for (const auto& entry : std::filesystem::directory_iterator(path("r.sqlite.slurm/submissions"))) {
    std::filesystem::remove(entry.path());
  }
  const Outcome o = gpumux(arguments());
  EXPECT_EQ(o.code, 0) << o.err;
  expect_all_rows();
}

TEST_F(Slurm, CancelRemovesTheResults) {
  interrupt(start_waiting(3));
  go();
  ASSERT_TRUE(soon(queue_is_empty));
  EXPECT_EQ(gpumux(arguments({"--cancel"})).out, "1 job arrays cancelled\n");
  EXPECT_FALSE(exists("r.sqlite.slurm"));
}

// The hash of a run does not tell whether its series is wanted.
TEST_F(Slurm, ASeriesThatIsWantedLaterIsThere) {
  interrupt(start_waiting(3));
  write_file_atomically(path("s.toml"), std::string("series = 100\n") + kSweep);
  go();
  const Outcome o = gpumux(arguments());
  EXPECT_EQ(o.code, 0) << o.err;
  EXPECT_EQ(number("SELECT count(DISTINCT run_id) FROM series"), static_cast<std::int64_t>(kRuns));
  const Outcome local = gpumux({"sweep", "s.toml", "--db", "local.sqlite"});
  EXPECT_EQ(local.code, 0) << local.err;
  expect_all_rows();
}

TEST_F(Slurm, ASharedFolderKeepsItsFilesAndServesTwoDatabases) {
  for (const char* folder : {"mine/logs", "mine/partial"}) {
    std::filesystem::create_directories(path(folder));
  }
  write_file_atomically(path("mine/logs/diary.log"), "");
  write_file_atomically(path("mine/partial/thesis.txt"), "");
  EXPECT_EQ(gpumux(arguments({"--shared", "mine", "--cancel"})).out, "0 job arrays cancelled\n");
  const pid_t sweep = start_waiting(1, {"--shared", "mine", "--jobs", "1"});
  const Outcome other =
      gpumux({"sweep", "s.toml", "--db", "other.sqlite", "--slurm", "--poll", "0.3", "--shared", "mine"});
  EXPECT_EQ(other.code, 0) << other.err;
  EXPECT_NE(SlurmDaemons::output("squeue --noheader --states=running"), "");
  go();
  EXPECT_EQ(wait_for(sweep), 0) << read_file(path("stderr.log"));
  EXPECT_EQ(begun().size(), kRuns);
  expect_all_rows();
  std::set<std::string> left;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(path("mine"))) {
    left.insert(std::filesystem::relative(entry.path(), path("mine")).string());
  }
  EXPECT_EQ(left, (std::set<std::string>{"logs", "logs/diary.log", "partial", "partial/thesis.txt"}));
}

// Runs that are done are claimed for their series, and another sweep of the same runs has nothing to do.
TEST_F(Slurm, RunsThatAreDoneAgainAreLeftToTheirSubmitter) {
  EXPECT_EQ(gpumux({"sweep", "s.toml", "--db", "r.sqlite"}).code, 0);
  write_file_atomically(path("plain.toml"), kSweep);
  write_file_atomically(path("s.toml"), std::string("series = 100\n") + kSweep);
  const pid_t sweep = start_waiting(1, {"--jobs", "1"});
  const Outcome o = gpumux({"sweep", "plain.toml", "--db", "r.sqlite", "--slurm"});
  EXPECT_EQ(o.code, 0) << o.err;
  EXPECT_NE(SlurmDaemons::output("squeue --noheader --states=running"), "");
  go();
  EXPECT_EQ(wait_for(sweep), 0) << read_file(path("stderr.log"));
  EXPECT_EQ(begun().size(), kRuns);
  EXPECT_EQ(number("SELECT count(DISTINCT run_id) FROM series"), static_cast<std::int64_t>(kRuns));
  EXPECT_FALSE(exists("r.sqlite.slurm"));
}

TEST_F(Slurm, WhatSlurmRefusesIsOneError) {
  const auto expect_error = [&](const std::vector<std::string>& more, const std::string& line) {
    const Outcome o = gpumux(arguments(more));
    EXPECT_EQ(o.code, 2) << o.err;
    EXPECT_EQ(o.out, "");
    EXPECT_EQ(o.err, line + "\n");
    EXPECT_FALSE(exists("r.sqlite.slurm"));
  };
  expect_error({"--partition", "none"}, "error: Slurm refuses the jobs: Invalid partition name specified");
  Outcome o = gpumux(arguments({"--shared", "/dev/null/x"}));
  EXPECT_EQ(o.code, 2);
  EXPECT_EQ(o.err.find("/dev/null/x/gpumux-slurm-"), 0U) << o.err;
  EXPECT_NE(o.err.find(": error: the shared folder cannot be made (Not a directory)\n"), std::string::npos);
  daemons_.kill_controller();
  o = gpumux(arguments());
  EXPECT_EQ(o.code, 2);
  EXPECT_EQ(o.err.find("error: Slurm does not answer: "), 0U) << o.err;
  EXPECT_EQ(lines(o.err), 1U);
  EXPECT_FALSE(exists("r.sqlite.slurm"));
}

}  // namespace
}  // namespace gpumux::test
