#include "sm/timing_table.hpp"

#include <algorithm>
#include <functional>

#include "isa/phases.hpp"

namespace gpumux::sm {

std::uint32_t unit_cycles(const arch::MachineConfig& config, isa::Unit unit,
                          isa::LatencyClass latency_class) {
  const arch::UnitConfig& serving = config.units[static_cast<std::size_t>(config.serving(unit))];
  const std::uint32_t lanes = std::max(1U, serving.lanes);
  return std::max({(kWarpSize + lanes - 1) / lanes,
                   config.latency[static_cast<std::size_t>(latency_class)].initiation, 1U});
}

namespace {

/// Core cycles by which the later passes of a matrix product delay its result.
std::uint32_t further_passes(const arch::MachineConfig& config, const isa::StaticInst& inst) {
  return inst.unit == isa::Unit::Tensor
             ? (config.tensor_passes(inst) - 1) * unit_cycles(config, inst.unit, inst.latency_class)
             : 0;
}

}  // namespace

std::vector<std::uint32_t> phase_cycles(const arch::MachineConfig& config,
                                        const std::vector<isa::StaticInst>& table) {
  std::vector<std::uint32_t> cycles;
  cycles.reserve(table.size());
  for (const isa::StaticInst& inst : table) {
    const std::uint32_t latency =
        config.latency[static_cast<std::size_t>(inst.latency_class)].latency + further_passes(config, inst);
    const bool loads = (inst.flags & isa::kLoad) != 0 && (inst.flags & (isa::kShared | isa::kConstant)) == 0;
    if (isa::is_arithmetic(inst.unit)) {
      cycles.push_back(std::max(latency, 1U));
    } else if (loads && config.sm.phase_loads == arch::PhaseLoads::Latency) {
      cycles.push_back(config.l1.latency);
    } else {
      cycles.push_back(config.sm.issue_interval);
    }
  }
  return cycles;
}

/// Moves registers to the border between written and read slots: these are the operands.
void TimingTable::collect(TimedInst& inst, std::uint32_t operands, std::uint32_t banks) const {
  const auto is_register = [this](std::uint16_t slot) { return slot < predicates_; };
  std::uint16_t* const border = inst.slot.data() + inst.num_dst;
  std::uint16_t* const first = std::stable_partition(inst.slot.data(), border, std::not_fn(is_register));
  std::uint16_t* const end = std::stable_partition(border, inst.slot.data() + inst.num_slots, is_register);
  const auto sources = std::min(operands, static_cast<std::uint32_t>(end - border));
  // Operands that are also destinations are listed only as destinations.
  const auto destinations = std::min(operands - sources, static_cast<std::uint32_t>(border - first));
  inst.first_read = static_cast<std::uint8_t>(inst.num_dst - destinations);
  inst.num_reads = static_cast<std::uint8_t>(sources + destinations);
  inst.num_writes = static_cast<std::uint8_t>(border - first);
  std::vector<std::uint8_t> reads(banks, 0);
  std::vector<std::uint8_t> writes(banks, 0);
  for (unsigned i = 0; i < inst.num_reads; ++i)
    inst.most_reads = std::max(inst.most_reads, ++reads[inst.slot[inst.first_read + i] % banks]);
  for (unsigned i = 0; writes_ && i < inst.num_writes; ++i)
    ++writes[inst.slot[inst.num_dst - 1U - i] % banks];
  constexpr std::uint8_t kMost = 0xf;
  for (unsigned lane = 0; lane < 8; ++lane) {
    if (lane >= banks && 8 % banks != 0) break;
    const unsigned turns = std::min(reads[lane % banks], kMost) | std::min(writes[lane % banks], kMost) << 4U;
    inst.bank_turns |= std::uint64_t{turns} << 8 * lane;
  }
}

TimingTable::TimingTable(const arch::MachineConfig& config, const isa::StaticInst* table, std::uint32_t size)
    : insts_(size), writes_(config.sm.register_writes) {
  const std::uint32_t banks = std::max(1U, config.sm.register_banks / std::max(1U, config.sm.schedulers));
  std::uint16_t predicates_used = 0;
  for (std::uint32_t pc = 0; pc < size; ++pc) {
    for (unsigned i = 0; i < unsigned{table[pc].num_dst} + table[pc].num_src; ++i) {
      const std::uint16_t slot = table[pc].slot[i];
      const bool predicate = slot >= isa::kPredicateSlot;
      std::uint16_t& count = predicate ? predicates_used : predicates_;
      count = std::max(count, static_cast<std::uint16_t>(slot + 1 - (predicate ? isa::kPredicateSlot : 0)));
    }
  }
  never_written_ = static_cast<std::uint16_t>(predicates_ + predicates_used);
  for (std::uint32_t pc = 0; pc < size; ++pc) {
    isa::StaticInst from = table[pc];
    TimedInst& inst = insts_[pc];
    // A uniform datapath has a latency class of its own. Without one, uniform instructions are like others.
    if (from.unit == isa::Unit::Uniform && config.serving(from.unit) == isa::Unit::Uniform)
      from.latency_class = isa::LatencyClass::Uniform;
    inst.latency = static_cast<std::uint16_t>(
        std::max(1U, config.latency[static_cast<std::size_t>(from.latency_class)].latency) +
        further_passes(config, from) + config.sm.operand_latency + config.sm.writeback_latency);
    inst.occupied = static_cast<std::uint16_t>(unit_cycles(config, from.unit, from.latency_class) +
                                               further_passes(config, from));
    inst.flags = from.flags;
    inst.unit = config.serving(from.unit);
    inst.num_dst = from.num_dst;
    inst.num_slots = static_cast<std::uint8_t>(from.num_dst + from.num_src);
    inst.access_bytes = from.access_bytes;
    inst.barrier = from.barrier;
    if (inst.unit == isa::Unit::Tensor) inst.set_passes(config.tensor_passes(from));
    inst.barrier_warps = from.barrier_warps;
    for (unsigned i = 0; i < inst.num_slots; ++i) {
      const std::uint16_t slot = from.slot[i];
      inst.slot[i] = slot < isa::kPredicateSlot
                         ? slot
                         : static_cast<std::uint16_t>(slot - isa::kPredicateSlot + predicates_);
    }
    collect(inst, from.num_operands, banks);
    // Unused slots repeat a slot of the instruction or name the slot never written, so that no
    // further cache line is touched.
    std::fill(inst.slot.begin() + inst.num_slots, inst.slot.end(),
              inst.num_slots > 0 ? inst.slot[0] : never_written_);
  }
  const std::vector<isa::StaticInst> code(table, table + size);
  const std::vector<std::uint32_t> cycles = phase_cycles(config, code);
  phase_distances_ = isa::phase_distances(isa::find_phases(code, cycles), cycles,
                                          {config.sm.phase_distance_most, config.sm.phase_distance_unit});
}

}  // namespace gpumux::sm
