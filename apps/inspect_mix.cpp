#include "inspect_mix.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "arch/config_file.hpp"
#include "isa/phases.hpp"
#include "sm/timing_table.hpp"

namespace gpumux::cli {
namespace {

using nlohmann::ordered_json;

std::string dimensions_text(const ordered_json& d) {
  return fmt::format("{}x{}x{}", d[0].get<std::uint32_t>(), d[1].get<std::uint32_t>(),
                     d[2].get<std::uint32_t>());
}

}  // namespace

ordered_json instruction_mix(const std::vector<isa::StaticInst>& table,
                             const std::vector<std::uint64_t>* weights) {
  enum Class : std::size_t {
    kSp,
    kInt,
    kDp,
    kSfu,
    kTensor,
    kControl,
    kBarrierClass,
    kGlobalLoad,
    kGlobalStore,
    kSharedClass,
    kLocal,
    kConstantClass,
    kAtomicClass,
    kOtherMemory,
    kClasses
  };
  constexpr std::array<const char*, kClasses> kNames = {
      "sp",          "int",          "dp",     "sfu",   "tensor",   "control", "barrier",
      "global_load", "global_store", "shared", "local", "constant", "atomic",  "other_memory"};
  std::array<std::uint64_t, kClasses> counts{};
  for (std::size_t pc = 0; pc < table.size(); ++pc) {
    const isa::StaticInst& inst = table[pc];
    const auto has = [&](isa::InstFlag flag) { return (inst.flags & flag) != 0; };
    Class which = kOtherMemory;
    switch (inst.unit) {
      case isa::Unit::Sp: which = kSp; break;
      case isa::Unit::Uniform:
      case isa::Unit::Int: which = kInt; break;
      case isa::Unit::Dp: which = kDp; break;
      case isa::Unit::Sfu: which = kSfu; break;
      case isa::Unit::Tensor: which = kTensor; break;
      case isa::Unit::Control: which = kControl; break;
      case isa::Unit::Memory:
        if (has(isa::kAtomic))
          which = kAtomicClass;
        else if (has(isa::kConstant))
          which = kConstantClass;
        else if (has(isa::kShared))
          which = kSharedClass;
        else if (has(isa::kLocalSpace))
          which = kLocal;
        else if (has(isa::kLoad))
          which = kGlobalLoad;
        else if (has(isa::kStore))
          which = kGlobalStore;
        break;
    }
    if (has(isa::kBarrier)) which = kBarrierClass;
    counts[which] += weights == nullptr ? 1 : (*weights)[pc];
  }
  ordered_json mix = ordered_json::object();
  for (std::size_t i = 0; i < kClasses; ++i) {
    if (counts[i] != 0) mix[kNames[i]] = counts[i];
  }
  return mix;
}

ordered_json phases_json(const std::vector<isa::StaticInst>& table, const arch::MachineConfig& machine) {
  constexpr double kInstructionBytes = 8;
  const std::vector<std::uint32_t> cycles = sm::phase_cycles(machine, table);
  const std::vector<isa::Phase> phases = isa::find_phases(table, cycles);
  ordered_json list = ordered_json::array();
  std::uint32_t longest = 0;
  std::uint32_t shortest = phases.empty() ? 0 : ~0U;
  for (const isa::Phase& phase : phases) {
    longest = std::max(longest, phase.length);
    shortest = std::min(shortest, phase.length);
    list.push_back({{"first", phase.first}, {"end", phase.end}, {"length", phase.length}});
  }
  const auto instructions = static_cast<double>(std::max<std::size_t>(table.size(), 1));
  return {{"machine", machine.name},
          {"count", phases.size()},
          {"longest", longest},
          {"shortest", shortest},
          {"code_growth_by_distances", 1 / kInstructionBytes},
          {"code_growth_by_lengths", static_cast<double>(phases.size()) / instructions / kInstructionBytes},
          {"list", std::move(list)}};
}

ordered_json dimensions_json(const Dim3& d) { return {d.x, d.y, d.z}; }

ordered_json occupancy_json(const arch::MachineConfig& machine, std::uint32_t threads,
                            std::uint32_t registers, std::uint32_t shared_bytes) {
  const arch::Occupancy o = arch::occupancy(machine.sm, threads, registers, shared_bytes);
  const std::uint32_t warps = (threads + kWarpSize - 1) / kWarpSize;
  return {{"machine", machine.name},
          {"blocks_per_sm", o.blocks},
          {"warps_per_sm", o.blocks * warps},
          {"warps_fraction", static_cast<double>(o.blocks * warps) / machine.sm.max_warps},
          {"limited_by", o.limited_by},
          {"by_threads", o.by_threads},
          {"by_warps", o.by_warps},
          {"by_registers", o.by_registers},
          {"by_shared", o.by_shared},
          {"by_blocks", o.by_blocks}};
}

void print_mix_launch_occupancy(const ordered_json& k) {
  std::string mix;
  for (const auto& [name, count] : k["instruction_mix"].items()) {
    mix += fmt::format("{}{} {}", mix.empty() ? "" : ", ", name, count.get<std::uint64_t>());
  }
  fmt::print("  mix            {}\n", mix);
  const ordered_json& phases = k["phases"];
  fmt::print("  phases         {} of {} to {} cycles on {}\n", phases["count"].get<std::size_t>(),
             phases["shortest"].get<std::uint32_t>(), phases["longest"].get<std::uint32_t>(),
             phases["machine"].get<std::string>());
  if (!k["grid"].is_null()) {
    fmt::print("  launch         {} blocks of {} threads\n", dimensions_text(k["grid"]),
               dimensions_text(k["block"]));
  }
  const ordered_json& o = k["occupancy"];
  if (o.is_null()) {
    fmt::print("  occupancy      depends on the block: give --block\n");
    return;
  }
  fmt::print("  occupancy      {} blocks, {} warps per SM of {} ({:.0f}%), limited by {}\n",
             o["blocks_per_sm"].get<std::uint32_t>(), o["warps_per_sm"].get<std::uint32_t>(),
             o["machine"].get<std::string>(), 100 * o["warps_fraction"].get<double>(),
             o["limited_by"].get<std::string>());
}

}  // namespace gpumux::cli
