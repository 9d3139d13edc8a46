// A CUDA program in a process of its own as an application of a run.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/application.hpp"

namespace gpumux::program {

/// How its first run has ended, which is the one whose output the user sees; later ones, such as restarts and
/// baselines, read nothing and are not heard.
struct Outcome {
  bool begun = false;
  bool ended = false;
  int exit_code = 0;
  bool connected = false;  // it has called the run-time library at all
  std::uint64_t launches = 0;
  std::string refused_library;  // the first whose CUDA run time cannot be simulated; empty: none
  std::string refused_launch;   // what the first launch asked for that is not supported
};

/// What instances of one program share.
struct Program {
  std::vector<std::string> command;  // and its arguments
  std::string name;                  // for results and messages
  std::string libraries;             // folder of the run-time library
  /// Faults of its kernels end the simulation, as does an access outside of its allocations that a GPU lets
  /// pass; else it gets CUDA's errors, and is to handle them.
  bool stops_at_errors = false;
  /// The command is a shell, which ends with 128 + n where signal n has ended the program.
  bool in_shell = false;
  std::shared_ptr<Outcome> outcome = std::make_shared<Outcome>();
};

/// The folder of libcudart.so.13 that is built with this gpumux. Throws UserError when it is not there.
[[nodiscard]] std::string library_folder();

/// `heard`: its first run is the one that Outcome tells of. A run throws SimulationFault when a signal ends
/// the program, and UserError for what is not executed here, such as machine code.
[[nodiscard]] std::unique_ptr<runtime::Application> make_application(std::shared_ptr<const Program> program,
                                                                     bool heard);

}  // namespace gpumux::program
