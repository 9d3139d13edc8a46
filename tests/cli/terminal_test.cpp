// Output for people: on a terminal of a given width, without colours, and in a pipe.
#include "terminal.hpp"

#include <fcntl.h>
#include <pty.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <sstream>

#include "base/error.hpp"
#include "program.hpp"
#include "table.hpp"

namespace gpumux::test {
namespace {

using cli::Table;

TEST(Texts, AreShortenedInTheirMiddle) {
  EXPECT_EQ(cli::shortened("hotspot", 7), "hotspot");
  EXPECT_EQ(cli::shortened("hotspot:size=1024", 9), "hots..024");
  EXPECT_EQ(cli::shortened("hotspot", 2), "ho");
  EXPECT_EQ(cli::shortened("hotspot", 0), "");
  EXPECT_EQ(cli::shortened("äöüßéèê", 6), "äö..èê");
  EXPECT_EQ(cli::columns("äöü"), 3U);
  for (std::size_t width = 0; width < 12; ++width)
    EXPECT_LE(cli::columns(cli::shortened("aäböcüdßeé", width)), width);
}

TEST(Progress, PlainLinesComeAtTheirInterval) {
  testing::internal::CaptureStderr();
  cli::ProgressLine line(cli::ProgressMode::Plain, std::chrono::milliseconds(20));
  EXPECT_TRUE(line.shown());
  EXPECT_FALSE(line.due());  // not at once: short runs print none
  ::usleep(25'000);
  EXPECT_TRUE(line.due());
  EXPECT_FALSE(line.due());
  line.show("3 of 9 runs done");
  line.clear();
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "3 of 9 runs done\n");
}

TEST(Progress, ModesByTheirNames) {
  EXPECT_EQ(cli::progress_mode("auto", false), cli::ProgressMode::Auto);
  EXPECT_EQ(cli::progress_mode("plain", false), cli::ProgressMode::Plain);
  EXPECT_EQ(cli::progress_mode("plain", true), cli::ProgressMode::Off);
  EXPECT_EQ(cli::progress_mode("off", false), cli::ProgressMode::Off);
  EXPECT_FALSE(cli::ProgressLine(cli::ProgressMode::Off).shown());
  EXPECT_THROW((void)cli::progress_mode("often", false), UserError);
}

TEST(Texts, DurationsAndTimeLeft) {
  EXPECT_EQ(cli::duration(0.2), "0:00");
  EXPECT_EQ(cli::duration(65), "1:05");
  EXPECT_EQ(cli::duration(7199.6), "2:00:00");
  EXPECT_EQ(cli::time_left(10, 0.25), ", 0:30 left");
  EXPECT_EQ(cli::time_left(10, 0), "");
  EXPECT_EQ(cli::time_left(10, 1), "");
  EXPECT_EQ(cli::time_left(0.1, 0.5), "");
}

TEST(Texts, TheMarkOfAnErrorIsColoured) {
  EXPECT_EQ(cli::error_line("a.toml:1:2: error: bad\nerror: x", true),
            "a.toml:1:2: \x1b[1;31merror:\x1b[0m bad\nerror: x");
  EXPECT_EQ(cli::error_line("internal error: bad", true), "\x1b[1;31minternal error:\x1b[0m bad");
  EXPECT_EQ(cli::error_line("error: bad", false), "error: bad");
  EXPECT_EQ(cli::error_line("nothing", true), "nothing");
}

Table table() {
  Table table({"application", "IPC", "instructions"}, 1);
  table.add({"hotspot:size=1024", "1.25", "123456"});
  table.rule();
  table.add({"k", "20", "7"});
  return table;
}

TEST(Tables, AreAsWideAsTheirCells) {
  EXPECT_EQ(table().text(),
            "application         IPC  instructions\n"
            "hotspot:size=1024  1.25        123456\n"
            "-----------------  ----  ------------\n"
            "k                    20             7\n");
  EXPECT_EQ(table().text(37), table().text());
}

TEST(Tables, NamesAreShortenedFirstAndColumnsWrappedThen) {
  EXPECT_EQ(table().text(33),
            "application     IPC  instructions\n"
            "hotspo..=1024  1.25        123456\n"
            "-------------  ----  ------------\n"
            "k                20             7\n");
  EXPECT_EQ(table().text(28),
            "application    IPC\n"
            "hotsp..=1024  1.25\n"
            "------------  ----\n"
            "k               20\n"
            "\n"
            "application   instructions\n"
            "hotsp..=1024        123456\n"
            "------------  ------------\n"
            "k                        7\n");
  EXPECT_EQ(table().text(5).find("123456") != std::string::npos, true);  // never lost
}

/// Runs the program on a terminal.
class OnATerminal : public CliTest {
 protected:
  void SetUp() override {
    const int terminal = ::posix_openpt(O_RDWR | O_NOCTTY);
    if (terminal < 0) GTEST_SKIP() << "this computer has no pseudo terminals: " << std::strerror(errno);
    ::close(terminal);
  }
  struct Seen {
    int code = -1;
    std::string text;  // standard output and errors, with "\n" as line ends
  };
  [[nodiscard]] Seen on_terminal(
      const std::vector<std::string>& args, unsigned short columns,
      const std::vector<std::pair<std::string, std::string>>& environment = {}) const {
    winsize size{};
    size.ws_col = columns;
    size.ws_row = 24;
    int terminal = -1;
    std::fflush(nullptr);
    const pid_t child = ::forkpty(&terminal, nullptr, nullptr, &size);
    if (child < 0) {
      ADD_FAILURE() << "no pseudo terminal: " << std::strerror(errno);
      return {};
    }
    if (child == 0) {
      if (::chdir(folder_.c_str()) != 0) ::_exit(99);
      ::setenv("TERM", "xterm", 1);
      ::unsetenv("NO_COLOR");
      ::setenv("GPUMUX_CACHE", "cache", 1);
      for (const auto& [name, value] : environment) ::setenv(name.c_str(), value.c_str(), 1);
      std::vector<char*> argv = {const_cast<char*>(GPUMUX_PROGRAM)};
      for (const std::string& arg : args) argv.push_back(const_cast<char*>(arg.c_str()));
      argv.push_back(nullptr);
      ::execv(GPUMUX_PROGRAM, argv.data());
      ::_exit(99);
    }
    Seen seen;
    std::array<char, 4096> buffer{};
    for (ssize_t got = 0; (got = ::read(terminal, buffer.data(), buffer.size())) > 0;)
      seen.text.append(buffer.data(), static_cast<std::size_t>(got));
    int status = 0;
    ::waitpid(child, &status, 0);
    ::close(terminal);
    if (WIFEXITED(status)) seen.code = WEXITSTATUS(status);
    std::erase_if(seen.text, [&, at = std::size_t{0}](char c) mutable {
      const bool line_end = c == '\r' && at + 1 < seen.text.size() && seen.text[at + 1] == '\n';
      ++at;
      return line_end;
    });
    return seen;
  }
  static bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  }
};

const std::vector<std::string> kPair = {
    "run",      "hotspot:size=128", "kmeans:points=4096", "--cycles", "20000", "--policy", "even",
    "--policy", "spatial"};

TEST_F(OnATerminal, TablesFitAndProgressIsShown) {
  const Seen seen = on_terminal(kPair, 60);
  EXPECT_EQ(seen.code, 0) << seen.text;
  EXPECT_TRUE(has(seen.text, "\r\x1b[Keven: cycle 0 of 20000")) << seen.text;
  EXPECT_TRUE(has(seen.text, "hots"));
  EXPECT_TRUE(has(seen.text, "\x1b[1mpolicy"));  // the head of the table
  std::istringstream lines(seen.text.substr(seen.text.rfind("\x1b[K")));
  for (std::string line; std::getline(lines, line);) {
    for (const char* code : {"\x1b[K", "\x1b[1m", "\x1b[0m"}) {
      for (std::size_t at = 0; (at = line.find(code)) != std::string::npos;)
        line.erase(at, std::strlen(code));
    }
    EXPECT_LE(cli::columns(line), 60U) << line;
  }
}

TEST_F(OnATerminal, QuietIsQuiet) {
  std::vector<std::string> args = kPair;
  args.emplace_back("--quiet");
  const Seen seen = on_terminal(args, 60);
  EXPECT_EQ(seen.code, 0);
  EXPECT_EQ(seen.text, "");
}

TEST_F(OnATerminal, ColoursAreForThoseWhoWantThem) {
  const std::vector<std::string> bad = {"run", "hotspit"};
  EXPECT_TRUE(on_terminal(bad, 80).text.starts_with("\x1b[1;31merror:\x1b[0m unknown"));
  EXPECT_TRUE(on_terminal(bad, 80, {{"NO_COLOR", "1"}}).text.starts_with("error: unknown"));
  EXPECT_TRUE(on_terminal(bad, 80, {{"NO_COLOR", ""}}).text.starts_with("\x1b[1;31m"));
  EXPECT_EQ(on_terminal(bad, 80).code, 2);
  // A dumb terminal gets neither colours nor a line that is rewritten, but a table that fits.
  const Seen dumb = on_terminal(kPair, 60, {{"TERM", "dumb"}});
  EXPECT_EQ(dumb.code, 0);
  EXPECT_FALSE(has(dumb.text, "\x1b"));
  EXPECT_FALSE(has(dumb.text, "\r"));
  // Without colours, progress stays.
  const Seen plain = on_terminal(kPair, 60, {{"NO_COLOR", "1"}});
  EXPECT_TRUE(has(plain.text, "\r\x1b[K"));
  EXPECT_FALSE(has(plain.text, "\x1b[1m"));
}

TEST_F(OnATerminal, ASweepShowsHowFarItIs) {
  write_file_atomically(path("s.toml"),
                        "apps = [\"add\", \"stream\"]\ncombine = \"pairs\"\ncycles = 2000\nset.sms = 2\n");
  const Seen seen = on_terminal({"sweep", "s.toml", "--db", "r.sqlite", "--jobs", "1"}, 80);
  EXPECT_EQ(seen.code, 0) << seen.text;
  EXPECT_TRUE(has(seen.text, "\r\x1b[K3 of 3 runs done, 0 running")) << seen.text;
  EXPECT_TRUE(has(seen.text, "s: 3 runs: 3 done, 0 failed; 3 of them now")) << seen.text;
}

TEST_F(OnATerminal, APipeGetsNeither) {
  const Outcome o = gpumux(kPair);
  EXPECT_EQ(o.code, 0);
  EXPECT_EQ(o.err, "");
  EXPECT_EQ(o.out.find('\x1b'), std::string::npos);
  EXPECT_NE(o.out.find("hotspot:size=128"), std::string::npos);  // as wide as it is
}

}  // namespace
}  // namespace gpumux::test
