// The parts of `inspect` for kernels of any kind.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "arch/config.hpp"
#include "base/types.hpp"
#include "isa/timing_class.hpp"

namespace gpumux::cli {

/// Number of instructions by the unit that they use. `weights`: how often each counts; nullptr: once.
[[nodiscard]] nlohmann::ordered_json instruction_mix(const std::vector<isa::StaticInst>& table,
                                                     const std::vector<std::uint64_t>* weights = nullptr);
/// The code's phases (isa/phases.hpp) with the machine's latencies. Also how much their annotations enlarge
/// code with instructions of 8 bytes: one byte per instruction for distances, or one byte per phase for
/// lengths.
[[nodiscard]] nlohmann::ordered_json phases_json(const std::vector<isa::StaticInst>& table,
                                                 const arch::MachineConfig& machine);
[[nodiscard]] nlohmann::ordered_json dimensions_json(const Dim3& d);
[[nodiscard]] nlohmann::ordered_json occupancy_json(const arch::MachineConfig& machine, std::uint32_t threads,
                                                    std::uint32_t registers, std::uint32_t shared_bytes);
/// Prints the last lines of a kernel: "instruction_mix", "phases", "grid", "block" and "occupancy" of
/// `kernel`.
void print_mix_launch_occupancy(const nlohmann::ordered_json& kernel);
/// `inspect` for a trace. Throws UserError.
void inspect_trace(const std::string& path, const arch::MachineConfig& machine, bool disassemble, bool json);
/// `inspect` for a bundle. Throws UserError.
void inspect_bundle(const std::string& path, const arch::MachineConfig& machine, bool disassemble, bool json);

}  // namespace gpumux::cli
