// Ends of programs, normal and abnormal: what they leave behind, how soon their kernels end, and their exit
// codes.
#include <fcntl.h>
#include <fmt/core.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "tests/cli/program.hpp"

namespace gpumux::test {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::seconds;

class ProgramEnds : public CliTest {
 protected:
  [[nodiscard]] Outcome calls(const std::string& name, std::vector<std::string> options = {}) const {
    std::vector<std::string> args = {"run", "--machine", "rtx2060"};
    args.insert(args.end(), options.begin(), options.end());
    args.insert(args.end(), {"--", GPUMUX_CALLS, name});
    return gpumux(args);
  }
  [[nodiscard]] Outcome app(const std::string& command) const {
    return gpumux({"run", "--machine", "rtx2060", "--app", command});
  }
  /// Commands of processes that have this word among theirs.
  [[nodiscard]] static std::string alive_with(const std::string& word) {
    std::string found;
    for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
      if (entry.path().filename().string().find_first_not_of("0123456789") != std::string::npos) continue;
      std::ifstream file(entry.path() / "cmdline", std::ios::binary);
      std::stringstream text;
      text << file.rdbuf();
      if (text.str().find(word) != std::string::npos) found += text.str() + "\n";
    }
    return found;
  }
  /// gpumux by itself, as the leader of a group of its own.
  [[nodiscard]] pid_t start(const std::vector<std::string>& args) const {
    std::vector<std::string> words = {GPUMUX_PROGRAM};
    words.insert(words.end(), args.begin(), args.end());
    std::vector<char*> pointers;
    for (std::string& word : words) pointers.push_back(word.data());
    pointers.push_back(nullptr);
    const std::string out = path("out");
    const pid_t process = ::fork();
    if (process != 0) {
      ::setpgid(process, process);  // as it does itself, whoever comes first
      return process;
    }
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::setpgid(0, 0);
    const int file = ::open(out.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_APPEND, 0600);
    ::dup2(file, STDOUT_FILENO);
    ::dup2(file, STDERR_FILENO);
    ::execv(pointers.front(), pointers.data());
    ::_exit(127);
  }
  /// What start() has started.
  [[nodiscard]] bool has_said(const std::string& text) const {
    return exists("out") && read_file(path("out")).find(text) != std::string::npos;
  }
  template <class Condition>
  [[nodiscard]] static bool comes(const Condition& condition, seconds within = seconds(60)) {
    for (const auto end = Clock::now() + within; Clock::now() < end;
         std::this_thread::sleep_for(std::chrono::milliseconds(5)))
      if (condition()) return true;
    return false;
  }
};

TEST_F(ProgramEnds, NothingLivesOnHoweverGpumuxEnds) {
  constexpr int kKills = 40;
  constexpr std::array kSignals = {SIGKILL, SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGABRT, SIGSEGV, SIGPIPE};
  const std::string& marker = folder_;
  const std::string program = fmt::format("{} in-company {}", GPUMUX_CALLS, marker);
  for (int kill = 0; kill < kKills; ++kill) {
    const std::string in_shell = fmt::format("sh -c 'exec {}' & sleep 600 {} & wait", program, marker);
    std::vector<std::string> args = {"run", "--machine", "rtx2060", "--policy", "even", "--baseline", "off"};
    args.insert(args.end(), {"--app", kill % 2 == 0 ? program : in_shell});
    if (kill % 4 == 3) args.insert(args.end(), {"--app", program});
    const pid_t gpumux = start(args);
    // Now while it starts, and now while it works.
    if (kill % 5 != 0)
      EXPECT_TRUE(comes([&] { return has_said("working"); })) << kill;
    else
      std::this_thread::sleep_for(std::chrono::milliseconds(3 * kill));
    const int signal = kSignals[static_cast<std::size_t>(kill) % kSignals.size()];
    ::kill(kill % 3 == 0 ? -gpumux : gpumux, signal);
    ASSERT_EQ(::waitpid(gpumux, nullptr, 0), gpumux);
    EXPECT_TRUE(comes([&] { return alive_with(marker).empty(); }, seconds(10)))
        << kill << ", signal " << signal << ": " << alive_with(marker);
    std::filesystem::remove(path("out"));
  }
}

TEST_F(ProgramEnds, ItsChildrenEndWithIt) {
  for (const std::string name : {"leaves-a-child", "in-company"}) {
    // The second is ended by a limit.
    const auto begin = Clock::now();
    const Outcome o = gpumux({"run", "--machine", "rtx2060", "--baseline", "off", "--cycles", "200000",
                              "--app", fmt::format("{} {} {}", GPUMUX_CALLS, name, folder_)});
    EXPECT_EQ(o.code, 0) << o.err;
    EXPECT_LT(Clock::now() - begin, seconds(30));
    EXPECT_EQ(alive_with(folder_), "");
  }
}

TEST_F(ProgramEnds, KernelsEndWithAProgramThatIsKilled) {
  for (const char* by : {"--", "--app"}) {
    const auto begin = Clock::now();
    const Outcome o =
        std::string(by) == "--" ? calls("killed-at-work") : app(GPUMUX_CALLS " killed-at-work; exit $?");
    EXPECT_EQ(o.code, 3) << o.out << o.err;
    EXPECT_NE(o.err.find("signal 9 (Killed) ended the program"), std::string::npos) << o.err;
    EXPECT_LT(Clock::now() - begin, seconds(20));
  }
}

TEST_F(ProgramEnds, KernelsEndWithAProgramThatLeavesThem) {
  for (const auto& [name, code] : {std::pair("leaves-work", 5), std::pair("exits-in-a-handler", 6)}) {
    for (const char* threads : {"1", "2"}) {
      const auto begin = Clock::now();
      const Outcome o = calls(name, {"--threads", threads, "--json", "r.json"});
      EXPECT_EQ(o.code, code) << o.out << o.err;
      EXPECT_TRUE(exists("r.json"));  // what has happened so far
      EXPECT_LT(Clock::now() - begin, seconds(20));
    }
    const auto begin = Clock::now();
    const Outcome o = gpumux({"capture", "-o", "a.gmx", "--machine", "rtx2060", "--", GPUMUX_CALLS, name});
    EXPECT_EQ(o.code, code) << o.out << o.err;
    EXPECT_LT(Clock::now() - begin, seconds(20));
  }
}

TEST_F(ProgramEnds, WorkBesideAProgramThatIsKilledGoesOn) {
  const Outcome o = gpumux({"run", "hotspot:size=61,steps=5", "--machine", "rtx2060", "--policy", "even",
                            "--baseline", "off", "--json", "r.json", "--app", GPUMUX_CALLS " leaves-work"});
  EXPECT_EQ(o.code, 5) << o.out << o.err;
  EXPECT_NE(read_file(path("r.json")).find("\"completions\": 1"), std::string::npos);
}

TEST_F(ProgramEnds, AnOrderlyEndWaitsForKernels) {
  const Outcome o = calls("ends-before-its-work");
  EXPECT_EQ(o.code, 0) << o.err;
  EXPECT_EQ(o.out.find("done\nblock 0 says 3\n"), 0U) << o.out;
}

TEST_F(ProgramEnds, CodesAreTheSameByEitherWay) {
  for (const auto& [name, code] : {std::pair("code", 7), std::pair("code-134", 134), std::pair("signal", 3),
                                   std::pair("leaves-work", 5), std::pair("add", 0)}) {
    EXPECT_EQ(calls(name).code, code) << name;
    EXPECT_EQ(app(fmt::format("{} {}", GPUMUX_CALLS, name)).code, code) << name;
  }
  for (const char* none : {"./none", "./none 1 2"}) {
    const Outcome o = app(none);
    EXPECT_EQ(o.code, 2) << o.err;
    EXPECT_EQ(o.err, "./none: error: does not exist\n");
  }
}

TEST_F(ProgramEnds, DescriptorsThatAreClosedAreNamed) {
  for (const char* name : {"closes-descriptors", "reuses-descriptors"}) {
    const Outcome o = calls(name);
    EXPECT_EQ(o.code, 0) << o.out;
    EXPECT_EQ(
        o.err.find(
            "gpumux: CUDA calls of this process fail: the descriptors that gpumux gave to the program are "
            "closed; "),
        0U)
        << o.err;
  }
}

TEST_F(ProgramEnds, ALimitOnOpenFilesIsNamed) {
  for (const char* limit : {"20", "100", "200"}) {
    const Outcome o = in_shell(fmt::format("ulimit -n {}; ", limit),
                               {"run", "--machine", "rtx2060", "--", GPUMUX_CALLS, "add"});
    EXPECT_EQ(o.code, 2) << o.err;
    EXPECT_NE(
        o.err.find(fmt::format("the limit on open files is {}, and 256 are needed (ulimit -n 256)", limit)),
        std::string::npos)
        << o.err;
  }
  EXPECT_EQ(in_shell("ulimit -n 256; ", {"run", "--machine", "rtx2060", "--", GPUMUX_CALLS, "add"}).code, 0);
}

TEST_F(ProgramEnds, ACaptureLeavesNoFileBehind) {
  for (const int signal : {SIGKILL, SIGQUIT, SIGTERM}) {
    const std::string bundle = path("kept/a.gmx");
    std::filesystem::create_directory(path("kept"));
    const pid_t gpumux =
        start({"capture", "-o", bundle, "--machine", "rtx2060", "--", GPUMUX_CALLS, "in-company"});
    EXPECT_TRUE(comes([&] { return has_said("working"); }));
    ::kill(gpumux, signal);
    ASSERT_EQ(::waitpid(gpumux, nullptr, 0), gpumux);
    EXPECT_TRUE(std::filesystem::is_empty(path("kept"))) << signal;
    std::filesystem::remove(path("out"));
  }
}

}  // namespace
}  // namespace gpumux::test
