// The names under which results are kept: hashes of all that determines them, so that a result is never stale
// and never made twice.
#pragma once

#include <string>
#include <string_view>

#include "experiment/run.hpp"

namespace gpumux::sweep {

/// Of everything of a machine that acts: names and descriptions do not count, so a copy of a machine file is
/// the same machine. Results say the name under which it ran first.
[[nodiscard]] std::string machine_hash(const arch::MachineConfig& machine);

/// Of a run: `machine` (the hash of spec.machine under the policy's warp scheduler, see
/// experiment::effective_machine), the applications, CPU programs and the policy with the content of their
/// files, seed, cycles, and `sources`, the simulator's. Host threads, checks and names that label results do
/// not count.
[[nodiscard]] std::string run_hash(const experiment::RunSpec& spec, std::string_view machine,
                                   std::string_view sources);

/// Hash of this program's simulator sources.
[[nodiscard]] std::string_view simulator_sources();
/// "0.1.0 (sources 0123...)", for people.
[[nodiscard]] std::string program_text();

}  // namespace gpumux::sweep
