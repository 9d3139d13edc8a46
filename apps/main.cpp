// gpumux: simulates how kernels behave when they share a GPU. Exit codes: 0 fine; 1 a fault of gpumux itself;
// 2 the user's input is wrong; 3 the simulated program is at fault.
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <exception>
#include <new>

#include "base/error.hpp"
#include "base/text.hpp"
#include "commands.hpp"
#include "terminal.hpp"

namespace gpumux::cli {
namespace {

constexpr const char* kVersion = "gpumux " GPUMUX_VERSION;  // from CMakeLists.txt

constexpr const char* kUsage =
    R"(gpumux simulates how GPU kernels behave when they share a GPU.

  gpumux run APP...              simulate applications together (or WORKLOAD.toml)
  gpumux list WHAT               machines, policies, apps or experiments
  gpumux inspect APP|FILE.ptx|TRACE
                                 registers, shared memory, occupancy and instructions of kernels
  gpumux profile APP... -o FILE  scalability curves of applications alone, for policies that need them
  gpumux convert FOLDER -o FILE  an Accel-Sim trace to the compact form (.gmt)
  gpumux sweep FILE --db DB      many runs (SWEEP.toml), kept in a database
  gpumux export DB --csv|--json  what a database holds
  gpumux reproduce WHAT --db DB  experiments: our numbers beside the papers'
  gpumux report DB -o FILE.html  a database as a page of tables and charts
  gpumux bench                   measure the speed of the simulation
  gpumux --version

`gpumux COMMAND --help` shows the options of a command.
)";

int dispatch(Arguments args) {
  if (args.empty())
    throw UserError(
        "a command is needed: run, sweep, export, reproduce, report, list, inspect, profile, convert or "
        "bench "
        "(see gpumux --help)");
  const std::string command = args.front();
  args.erase(args.begin());
  if (command == "--help" || command == "-h" || command == "help") {
    std::fputs(kUsage, stdout);
    return 0;
  }
  if (command == "--version") {
    std::puts(kVersion);
    return 0;
  }
  if (command == "run") return run_command(std::move(args));
  if (command == "list") return list_command(args);
  if (command == "inspect") return inspect_command(args);
  if (command == "profile") return profile_command(std::move(args));
  if (command == "convert") return convert_command(args);
  if (command == "sweep") return sweep_command(args);
  if (command == "task") return task_command(args);  // for job arrays; no command for people
  if (command == "export") return export_command(args);
  if (command == "reproduce") return reproduce_command(args);
  if (command == "report") return report_command(args);
  if (command == "bench") return bench_command(args);
  const std::vector<std::string> known = {"run",     "list",  "inspect", "profile",
                                          "convert", "sweep", "export",  "reproduce",
                                          "report",  "bench", "--help",  "--version"};
  throw UserError(unknown_choice("command", command, known));
}

void print_error(const std::string& text) {
  fmt::print(stderr, "{}\n", error_line(text, wants_colour(STDERR_FILENO)));
}

}  // namespace
}  // namespace gpumux::cli

int main(int argc, char** argv) {
  constexpr int kOurFault = 1;
  constexpr int kUserFault = 2;
  constexpr int kProgramFault = 3;
  try {
    const int code = gpumux::cli::dispatch({argv + 1, argv + argc});
    if (std::fflush(stdout) != 0) throw gpumux::UserError("standard output cannot be written");
    return code;
  } catch (const gpumux::UserError& error) {
    gpumux::cli::print_error(error.what());
    return kUserFault;
  } catch (const gpumux::SimulationFault& error) {
    gpumux::cli::print_error(error.what());
    return kProgramFault;
  } catch (const std::bad_alloc&) {
    gpumux::cli::print_error("error: out of memory");
    return kOurFault;
  } catch (const std::exception& error) {
    gpumux::cli::print_error(fmt::format("internal error: {}", error.what()));
    return kOurFault;
  }
}
