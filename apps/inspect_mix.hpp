// What `inspect` says of kernels of any kind.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "arch/config.hpp"
#include "base/types.hpp"
#include "isa/timing_class.hpp"

namespace gpumux::cli {

/// Instructions by what they keep busy; `weights`: how often each counts, null for once.
[[nodiscard]] nlohmann::ordered_json instruction_mix(const std::vector<isa::StaticInst>& table,
                                                     const std::vector<std::uint64_t>* weights = nullptr);
/// The code's phases (isa/phases.hpp) with the machine's latencies, and by how much their annotations make
/// instructions of 8 bytes longer: a byte for each instruction's distance, or for each phase's length.
[[nodiscard]] nlohmann::ordered_json phases_json(const std::vector<isa::StaticInst>& table,
                                                 const arch::MachineConfig& machine);
[[nodiscard]] nlohmann::ordered_json dimensions_json(const Dim3& d);
[[nodiscard]] nlohmann::ordered_json occupancy_json(const arch::MachineConfig& machine, std::uint32_t threads,
                                                    std::uint32_t registers, std::uint32_t shared_bytes);
/// The last lines of a kernel's text: "instruction_mix", "phases", "grid", "block" and "occupancy" of
/// `kernel`.
void print_mix_launch_occupancy(const nlohmann::ordered_json& kernel);
/// `inspect` of a trace. Throws UserError.
void inspect_trace(const std::string& path, const arch::MachineConfig& machine, bool disassemble, bool json);
/// `inspect` of a bundle. Throws UserError.
void inspect_bundle(const std::string& path, const arch::MachineConfig& machine, bool disassemble, bool json);

}  // namespace gpumux::cli
