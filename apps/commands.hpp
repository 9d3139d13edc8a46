// The commands of the program, and what they share. Each command takes the arguments after its name and
// returns the exit code. Errors are thrown (base/error.hpp); main.cpp turns them into messages and exit
// codes.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace gpumux::cli {

using Arguments = std::vector<std::string>;

int run_command(Arguments args);
int list_command(const Arguments& args);
int inspect_command(const Arguments& args);
int bench_command(const Arguments& args);
int validate_command(const Arguments& args);
int profile_command(Arguments args);
int convert_command(const Arguments& args);
int import_config_command(const Arguments& args);
int capture_command(Arguments args);
int record_cpu_command(Arguments args);
int sweep_command(const Arguments& args);
int task_command(const Arguments& args);
int export_command(const Arguments& args);
int reproduce_command(const Arguments& args);
int report_command(const Arguments& args);
int cache_command(const Arguments& args);

/// Exit code of a command that a signal stopped in good order: this value plus the signal's number, as shells
/// report for programs ended by a signal.
inline constexpr int kEndedBySignal = 128;

/// Parses arguments with CLI11. False if help was requested and shown. Throws UserError, with the nearest
/// choice for an unknown option.
[[nodiscard]] bool parse(CLI::App& app, const Arguments& args);

/// Throws UserError if two result files are the same, or if a result is a file that the command reads or a
/// companion file of a database. Empty names are ignored.
void check_apart(const std::vector<std::string>& results, const std::vector<std::string>& read);

/// The name of a result file for standard output. The command then prints nothing else there.
inline constexpr const char* kStandardOutput = "-";

/// Result files of a command, which appear together at the end, or not at all.
class ResultFiles {
 public:
  /// Throws UserError at once if the file could not be written later.
  static void check(const std::string& path);
  void add(std::string path, std::string content);
  /// Writes all files. On an error, throws UserError and leaves none of them.
  void write() const;

 private:
  struct File {
    std::string path;
    std::string content;
  };
  std::vector<File> files_;
};

}  // namespace gpumux::cli
