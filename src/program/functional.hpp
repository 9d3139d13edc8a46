// An application's run without a timing model: for recording, and wherever results alone are of interest.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "arch/config.hpp"
#include "emulator/race_log.hpp"
#include "runtime/application.hpp"

namespace gpumux::program {

/// Runs it once to its end, as application 0 of `machine`, of which only what a program can ask for counts.
/// Kernels execute when their turn in their stream comes, one at a time; a cycle is a warp instruction, so
/// that times are positive and repeat, and mean nothing. Returns the warp instructions. What kernels print
/// goes to the application's print_sink(). Throws what the application throws, and UserError for one that
/// waits for ever. `races`: where those of its kernels go, if they are to be looked for.
std::uint64_t run_functionally(std::unique_ptr<runtime::Application> application, const std::string& name,
                               const arch::MachineConfig& machine, emulator::RaceLog* races = nullptr);

}  // namespace gpumux::program
