// The data that the SM reads for an instruction at each issue: the static table with the machine's latencies
// and the scoreboard's slot numbers, one cache line of the host per instruction.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "arch/config.hpp"
#include "base/huge_pages.hpp"
#include "isa/timing_class.hpp"

namespace gpumux::sm {

struct alignas(64) TimedInst {
  // One byte per register bank modulo 8, as for warp 0: number of operands in the low four bits, number of
  // results in the high four bits (with config.sm.register_writes).
  std::uint64_t bank_turns = 0;
  std::uint16_t latency =
      1;  // core cycles from issue to issue of a dependent instruction, without operand conflicts
  std::uint16_t occupied = 1;      // core cycles that it holds its unit
  std::uint16_t flags = 0;         // mask of isa::InstFlag
  isa::Unit unit = isa::Unit::Sp;  // kind of unit that executes it: MachineConfig::serving()
  std::uint8_t num_dst = 0;
  std::uint8_t num_slots = 0;     // written and read slots
  std::uint8_t first_read = 0;    // first slot of the registers collected as operands
  std::uint8_t num_reads = 0;     // number of these registers
  std::uint8_t most_reads = 0;    // most of them in one register bank
  std::uint8_t num_writes = 0;    // written registers, the last slots before num_dst
  std::uint8_t access_bytes = 0;  // memory instructions only
  std::uint8_t barrier = 0;
  std::uint8_t barrier_warps = 0;
  /// First num_dst written slots, then read slots, with the collected registers next to each other. Registers
  /// keep their numbers, predicates follow. The remaining elements repeat the first slot. An instruction
  /// without slots names a slot that is never written.
  std::array<std::uint16_t, 20> slot{};

  /// Sets the passes of a tensor instruction, in fields that it does not use otherwise.
  void set_passes(std::uint32_t passes) {
    access_bytes = static_cast<std::uint8_t>(passes);
    barrier = static_cast<std::uint8_t>(passes >> 8U);
  }
  [[nodiscard]] std::uint32_t passes() const { return access_bytes | std::uint32_t{barrier} << 8U; }
};
static_assert(sizeof(TimedInst) == 64);

/// The TimedInst of each instruction of a kernel. Made once per launch, read by all SMs.
class TimingTable {
 public:
  TimingTable(const arch::MachineConfig& config, const isa::StaticInst* table, std::uint32_t size);
  [[nodiscard]] const TimedInst* data() const { return insts_.data(); }
  /// Slot of the first predicate; earlier slots are registers.
  [[nodiscard]] std::uint16_t predicates() const { return predicates_; }
  /// Number of slots, including one that is never written.
  [[nodiscard]] std::uint32_t slots() const { return never_written_ + 1U; }
  /// By pc: core cycles to the end of the instruction's phase (isa/phases.hpp).
  [[nodiscard]] const std::uint16_t* phase_distances() const { return phase_distances_.data(); }

 private:
  void collect(TimedInst& inst, std::uint32_t operands, std::uint32_t banks) const;

  HugePageVector<TimedInst> insts_;
  std::vector<std::uint16_t> phase_distances_;
  std::uint16_t predicates_ = 0;
  std::uint16_t never_written_ = 0;
  bool writes_;  // config.sm.register_writes
};

/// By pc: core cycles that an instruction adds to the length of its phase. Arithmetic adds its
/// latency. Memory and control instructions add only the cycles for which a scheduler issues them,
/// since other warps hide the rest.
[[nodiscard]] std::vector<std::uint32_t> phase_cycles(const arch::MachineConfig& config,
                                                      const std::vector<isa::StaticInst>& table);

/// Core cycles that one pass of an instruction of a latency class holds a unit.
[[nodiscard]] std::uint32_t unit_cycles(const arch::MachineConfig& config, isa::Unit unit,
                                        isa::LatencyClass latency_class);

}  // namespace gpumux::sm
