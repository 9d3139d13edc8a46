// Hashes of all that determines a result. Results are kept under these hashes, so that a result is never
// stale and never computed twice.
#pragma once

#include <string>
#include <string_view>

#include "experiment/run.hpp"

namespace gpumux::sweep {

/// Hash of all that affects the machine's behaviour. Names and descriptions do not count, so a copy of a
/// machine file is the same machine. Results show the name under which the machine ran first.
[[nodiscard]] std::string machine_hash(const arch::MachineConfig& machine);

/// Hash of a run: the machine, the applications, CPU programs and policy with the content of their files,
/// seed, cycles, and the simulator's sources. Host threads, checks and names do not count. `machine`: the
/// hash of spec.machine under the policy's warp scheduler, see experiment::effective_machine.
[[nodiscard]] std::string run_hash(const experiment::RunSpec& spec, std::string_view machine,
                                   std::string_view sources);

/// Hash of this program's simulator sources.
[[nodiscard]] std::string_view simulator_sources();
/// The program's version for people: "0.1.0 (sources 0123...)".
[[nodiscard]] std::string program_text();

}  // namespace gpumux::sweep
