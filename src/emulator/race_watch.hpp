// The handlers of instructions in kernels that are watched for races.
#pragma once

#include "emulator/launch.hpp"
#include "emulator/race_log.hpp"

namespace gpumux::emulator {

/// Puts a handler that looks on in front of each handler that matters for races, which it calls then
/// (Program::unwatched). What kernels compute, and what the machine learns of it, stays the same.
void watch_races(Program& program, RaceMode mode);

}  // namespace gpumux::emulator
