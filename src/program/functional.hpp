// Running an application without a timing model, for recordings and other uses that only need results.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "arch/config.hpp"
#include "emulator/race_log.hpp"
#include "runtime/application.hpp"

namespace gpumux::program {

/// Runs an application once to its end, as application 0 of `machine`. Only properties of `machine` that a
/// program can query matter. A kernel executes when its turn in its stream comes, one kernel of the host at a
/// time. A cycle is a warp instruction, so times are positive and reproducible but have no meaning.
///
/// Returns the number of warp instructions. Kernels print to the application's print_sink(). Throws the
/// application's exceptions, and UserError for an application that waits forever. `races`: log for races of
/// kernels, or nullptr.
std::uint64_t run_functionally(std::unique_ptr<runtime::Application> application, const std::string& name,
                               const arch::MachineConfig& machine, emulator::RaceLog* races = nullptr);

}  // namespace gpumux::program
