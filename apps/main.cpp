// gpumux: simulates how kernels behave when they share a GPU. Exit codes: 0 success; 1 a fault of gpumux
// itself; 2 wrong input of the user; 3 a fault of the simulated program.
#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <new>
#include <string_view>

#include "base/error.hpp"
#include "base/exit_code.hpp"
#include "base/temporary_file.hpp"
#include "base/text.hpp"
#include "commands.hpp"
#include "commit.hpp"
#include "terminal.hpp"

namespace gpumux::cli {
namespace {

constexpr const char* kVersion = "gpumux " GPUMUX_VERSION GPUMUX_COMMIT;  // from CMakeLists.txt

constexpr const char* kUsage =
    R"(gpumux simulates how GPU kernels behave when they share a GPU.

  gpumux run APP...              simulate applications that share a GPU (or a WORKLOAD.toml)
  gpumux run -- PROGRAM...       run a CUDA program; its kernels run on the simulated GPU
  gpumux capture -o FILE -- PROGRAM...
                                 record what a CUDA program does with its GPU (.gmx)
  gpumux list WHAT [NAME]        list machines, policies, apps or experiments
  gpumux inspect APP|FILE.ptx|TRACE
                                 show registers, shared memory, occupancy and instructions of kernels
  gpumux profile APP... -o FILE  measure how applications scale alone, for policies that need it
  gpumux convert FOLDER -o FILE  convert an Accel-Sim trace to the compact form (.gmt)
  gpumux import-config CONFIG... make a machine file of a GPGPU-Sim or Accel-Sim configuration
  gpumux record-cpu -o FILE -- PROGRAM...
                                 record the instructions of an x86-64 program as a CPU trace
  gpumux sweep FILE --db DB      run many simulations (SWEEP.toml) and keep them in a database
  gpumux export DB --csv|--json  write the content of a database as CSV or JSON
  gpumux reproduce WHAT --db DB  run a paper's experiments and compare the numbers
  gpumux report DB -o FILE.html  make a page of tables and charts from a database
  gpumux cache                   show, limit or clear the kept runs of single applications
  gpumux bench                   measure the speed of the simulation
  gpumux validate                compare reference kernels with another simulator
  gpumux --version

`gpumux help COMMAND` shows the options of a command.
)";

int dispatch(Arguments args) {
  if (args.empty())
    throw UserError(
        "a command is needed: run, sweep, export, reproduce, report, list, inspect, profile, convert, "
        "import-config, capture, record-cpu, cache, bench or validate (see gpumux --help)");
  const std::string command = args.front();
  args.erase(args.begin());
  if (command == "help" && !args.empty()) {
    if (args.front() == "help" || args.front().starts_with('-')) args = {"--help"};
    return dispatch({args.front(), "--help"});
  }
  if (command == "--help" || command == "-h" || command == "help") {
    std::fputs(kUsage, stdout);
    return 0;
  }
  if (command == "--version" || command == "-V") {
    std::puts(kVersion);
    return 0;
  }
  if (command == "run") return run_command(std::move(args));
  if (command == "list") return list_command(args);
  if (command == "inspect") return inspect_command(args);
  if (command == "profile") return profile_command(std::move(args));
  if (command == "convert") return convert_command(args);
  if (command == "import-config") return import_config_command(args);
  if (command == "capture") return capture_command(std::move(args));
  if (command == "record-cpu") return record_cpu_command(std::move(args));
  if (command == "sweep") return sweep_command(args);
  if (command == "task") return task_command(args);  // for job arrays, not for people
  if (command == "export") return export_command(args);
  if (command == "reproduce") return reproduce_command(args);
  if (command == "report") return report_command(args);
  if (command == "cache") return cache_command(args);
  if (command == "bench") return bench_command(args);
  if (command == "validate") return validate_command(args);
  const std::vector<std::string> known = {
      "run",   "list",  "inspect",  "profile",    "convert", "sweep",         "export", "reproduce", "report",
      "cache", "bench", "validate", "record-cpu", "capture", "import-config", "--help", "--version"};
  throw UserError(unknown_choice("command", command, known));
}

void print_error(const std::string& text) { say(error_line(text, wants_colour(STDERR_FILENO)) + "\n"); }

/// Opens /dev/null for closed standard streams. Otherwise the first file that is opened would get the
/// stream's number, and output would go there. With these streams, reads find an end of file, and writes to
/// standard output fail.
void fill_standard_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(stream, F_GETFD) == -1 && errno == EBADF) {
      (void)!::open("/dev/null", stream == STDERR_FILENO ? O_WRONLY : O_RDONLY);
    }
  }
}

/// Flushes standard output, which may still be in a buffer. Throws UserError if it cannot be written.
void finish_output() {
  errno = 0;
  const bool flushed = std::fflush(stdout) == 0;
  if (flushed && std::ferror(stdout) == 0) return;
  throw UserError(fmt::format("standard output cannot be written{}",
                              errno == 0 ? "" : fmt::format(" ({})", std::strerror(errno))));
}

/// Reports lack of memory before main(), where policies and applications register themselves and no code
/// catches exceptions.
[[gnu::constructor(101)]] void end_without_memory() {
  std::set_new_handler([] {
    constexpr std::string_view kText =
        "error: out of memory: the system, or a limit such as `ulimit -v`, gives no more\n";
    (void)!write(STDERR_FILENO, kText.data(), kText.size());
    _exit(kUserFault);
  });
}

}  // namespace
}  // namespace gpumux::cli

int main(int argc, char** argv) {
  using namespace gpumux;
  std::set_new_handler(nullptr);
  cli::fill_standard_streams();
  std::signal(SIGXFSZ, SIG_IGN);  // a file beyond the user's limit is an error, like a full disk
  remove_temporaries_on_signals();
  try {
    const int code = cli::dispatch({argv + 1, argv + argc});
    cli::finish_output();
    return code;
  } catch (...) {
    Failure failure = current_failure();
    // The printing library does not know which file it wrote to.
    constexpr std::string_view kPrinting = "error: cannot write to file";
    if (failure.text.starts_with(kPrinting) && std::ferror(stdout) != 0)
      failure.text.replace(0, kPrinting.size(), "error: standard output cannot be written");
    cli::print_error(failure.text);
    return failure.exit_code;
  }
}
