#include "sm/timing_table.hpp"

#include <algorithm>

namespace gpumux::sm {

isa::Unit unit_served_by(const machine::MachineConfig& config, isa::Unit unit) {
  const bool arithmetic = unit != isa::Unit::Memory && unit != isa::Unit::Control;
  return config.units[static_cast<std::size_t>(unit)].count == 0 && arithmetic ? isa::Unit::Sp : unit;
}

std::uint32_t unit_cycles(const machine::MachineConfig& config, isa::Unit unit,
                          isa::LatencyClass latency_class) {
  const machine::UnitConfig& serving = config.units[static_cast<std::size_t>(unit_served_by(config, unit))];
  const std::uint32_t lanes = std::max(1U, serving.lanes);
  return std::max({(kWarpSize + lanes - 1) / lanes,
                   config.latency[static_cast<std::size_t>(latency_class)].initiation, 1U});
}

TimingTable::TimingTable(const machine::MachineConfig& config, const isa::StaticInst* table,
                         std::uint32_t size)
    : insts_(size) {
  for (std::uint32_t pc = 0; pc < size; ++pc) {
    for (unsigned i = 0; i < unsigned{table[pc].num_dst} + table[pc].num_src; ++i) {
      const std::uint16_t slot = table[pc].slot[i];
      if (slot < isa::kPredicateSlot)
        predicates_ = std::max(predicates_, static_cast<std::uint16_t>(slot + 1));
    }
  }
  for (std::uint32_t pc = 0; pc < size; ++pc) {
    const isa::StaticInst& from = table[pc];
    TimedInst& inst = insts_[pc];
    inst.latency = std::max(1U, config.latency[static_cast<std::size_t>(from.latency_class)].latency);
    inst.occupied = unit_cycles(config, from.unit, from.latency_class);
    inst.flags = from.flags;
    inst.unit = from.unit;
    inst.num_dst = from.num_dst;
    inst.num_slots = static_cast<std::uint8_t>(from.num_dst + from.num_src);
    inst.num_operands = from.num_operands;
    inst.access_bytes = from.access_bytes;
    inst.barrier = from.barrier;
    inst.barrier_warps = from.barrier_warps;
    for (unsigned i = 0; i < inst.num_slots; ++i) {
      const std::uint16_t slot = from.slot[i];
      inst.slot[i] = slot < isa::kPredicateSlot
                         ? slot
                         : static_cast<std::uint16_t>(slot - isa::kPredicateSlot + predicates_);
    }
    std::uint16_t* const read = inst.slot.data() + inst.num_dst;
    std::uint16_t* const end = inst.slot.data() + inst.num_slots;
    const auto registers =
        std::stable_partition(read, end, [this](std::uint16_t slot) { return slot < predicates_; }) - read;
    inst.num_reads = static_cast<std::uint8_t>(std::min<std::ptrdiff_t>(registers, inst.num_operands));
    std::fill(end, inst.slot.data() + inst.slot.size(), TimedInst::kNeverWritten);
  }
}

}  // namespace gpumux::sm
