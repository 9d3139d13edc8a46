// A CUDA program, which runs in a process of its own, as an application.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/application.hpp"

namespace gpumux::program {

/// Outcome of the program's first run, whose output the user sees. Later runs, such as restarts and
/// baselines, have no input and no visible output.
struct Outcome {
  bool begun = false;
  bool ended = false;
  int exit_code = 0;
  bool connected = false;  // it called the run-time library
  std::uint64_t launches = 0;
  std::string refused_library;  // first library whose CUDA run time cannot be simulated, or empty
  std::string refused_launch;   // first unsupported feature that a launch requested, or empty
};

/// Data that all instances of a program share.
struct Program {
  std::vector<std::string> command;  // the program and its arguments
  std::string name;                  // for results and messages
  std::string libraries;             // folder of the run-time library
  /// If true, a fault of a kernel ends the simulation, as does an access outside of allocations that a GPU
  /// would let pass. Otherwise the program gets CUDA's errors and must handle them.
  bool stops_at_errors = false;
  /// True if the command is a shell. A shell exits with 128 + n if signal n ended the program.
  bool in_shell = false;
  std::shared_ptr<Outcome> outcome = std::make_shared<Outcome>();
};

/// The folder of the libcudart.so.13 of this build of gpumux. Throws UserError when it is missing.
[[nodiscard]] std::string library_folder();

/// Creates an instance of a program. `heard`: its first run has visible output and fills Outcome. A run
/// throws SimulationFault when a signal ends the program, and UserError for unsupported features such as
/// machine code without PTX.
[[nodiscard]] std::unique_ptr<runtime::Application> make_application(std::shared_ptr<const Program> program,
                                                                     bool heard);

}  // namespace gpumux::program
