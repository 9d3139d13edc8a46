// Handlers of instructions in kernels that are watched for races.
#pragma once

#include "emulator/launch.hpp"
#include "emulator/race_log.hpp"

namespace gpumux::emulator {

/// Replaces each handler that matters for races by a watching handler, which then calls the original one
/// (Program::unwatched). The results of kernels and their records do not change.
void watch_races(Program& program, RaceMode mode);

}  // namespace gpumux::emulator
