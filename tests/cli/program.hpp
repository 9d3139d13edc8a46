// Runs the program as a user does, and returns its exit code and output.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "base/files.hpp"
#include "temporary_folder.hpp"

namespace gpumux::test {

struct Outcome {
  int code = -1;  // -1: the program did not exit by itself
  std::string out;
  std::string err;
};

/// A test with its own folder, which is removed afterwards. The folder also has the cache of the programs
/// that the test runs.
class CliTest : public testing::Test {
 protected:
  /// Appends a word in quotes for the shell. Paths and arguments of these tests contain no quotes.
  static void append_quoted(std::string& command, const std::string& text) {
    EXPECT_EQ(text.find('\''), std::string::npos);
    command.append(" '").append(text).append("'");
  }
  /// Runs the program inside the test's folder.
  [[nodiscard]] Outcome gpumux(const std::vector<std::string>& args) const { return in_shell("", args); }
  /// Runs the program in a shell: `before` are commands to run first, such as "ulimit -n 4; ", `after` are
  /// redirections.
  [[nodiscard]] Outcome in_shell(const std::string& before, const std::vector<std::string>& args,
                                 const std::string& after = ">stdout.log </dev/null") const {
    std::string command = "cd";
    append_quoted(command, folder_);
    command += " && rm -f stdout.log && export GPUMUX_CACHE=cache && exec 2>stderr.log && { " + before;
    const char* const tested = std::getenv("GPUMUX_TESTED");  // the program that tests/mutate tests
    append_quoted(command, tested == nullptr ? GPUMUX_PROGRAM : tested);
    for (const std::string& arg : args) append_quoted(command, arg);
    command += " " + after + "; }";
    const int status = std::system(command.c_str());
    Outcome outcome;
    if (WIFEXITED(status)) outcome.code = WEXITSTATUS(status);
    if (std::filesystem::exists(folder_ + "/stdout.log")) outcome.out = read_file(folder_ + "/stdout.log");
    outcome.err = read_file(folder_ + "/stderr.log");
    return outcome;
  }
  [[nodiscard]] std::string path(const std::string& name) const { return folder_ + "/" + name; }
  [[nodiscard]] bool exists(const std::string& name) const { return std::filesystem::exists(path(name)); }

  TemporaryFolder temporary_;
  const std::string folder_ = temporary_.path();
};

inline std::size_t lines(const std::string& text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

}  // namespace gpumux::test
