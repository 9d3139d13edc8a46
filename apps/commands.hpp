// The commands of the program and what they share. Each takes the arguments after its name and returns the
// exit code; errors are thrown (see base/error.hpp) and become lines and exit codes in main.cpp.
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

/// Plus the signal's number: the exit code of a command that a signal stopped in good order, as shells give
/// it to those that a signal ended.
inline constexpr int kEndedBySignal = 128;

/// Parses with CLI11. False when help was asked for and shown. Throws UserError, with the nearest choice for
/// an option that does not exist.
[[nodiscard]] bool parse(CLI::App& app, const Arguments& args);

/// Throws UserError when one of the results is another one, or what the command reads; of a database, its
/// companions too. Empty names are none.
void check_apart(const std::vector<std::string>& results, const std::vector<std::string>& read);

/// As the name of a result file: standard output. What a command prints there otherwise is left out then.
inline constexpr const char* kStandardOutput = "-";

/// Result files of a command: they appear together at the end, or not at all.
class ResultFiles {
 public:
  /// Throws UserError at once where the file could not be written later.
  static void check(const std::string& path);
  void add(std::string path, std::string content);
  /// Throws UserError, and then leaves none of them behind.
  void write() const;

 private:
  struct File {
    std::string path;
    std::string content;
  };
  std::vector<File> files_;
};

}  // namespace gpumux::cli
