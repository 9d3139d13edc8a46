// What the SM reads of an instruction at each issue: the static table with the machine's latencies and
// the scoreboard's own slot numbers, one line of the host's cache per instruction.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "arch/config.hpp"
#include "base/huge_pages.hpp"
#include "isa/timing_class.hpp"

namespace gpumux::sm {

struct alignas(64) TimedInst {
  // By register bank modulo 8, warp 0's, a byte each: operands in the low four bits, with
  // config.sm.register_writes results in the others.
  std::uint64_t bank_turns = 0;
  std::uint16_t latency =
      1;  // core cycles from issue to that of a dependent instruction, operands without conflicts
  std::uint16_t occupied = 1;      // core cycles for which it holds its unit
  std::uint16_t flags = 0;         // isa::InstFlag
  isa::Unit unit = isa::Unit::Sp;  // the kind that executes it: MachineConfig::serving()
  std::uint8_t num_dst = 0;
  std::uint8_t num_slots = 0;     // written and read
  std::uint8_t first_read = 0;    // registers collected as operands: the slots from this one on,
  std::uint8_t num_reads = 0;     // so many
  std::uint8_t most_reads = 0;    // of them in one register bank
  std::uint8_t num_writes = 0;    // registers written, the last slots before num_dst
  std::uint8_t access_bytes = 0;  // of memory instructions
  std::uint8_t barrier = 0;
  std::uint8_t barrier_warps = 0;
  /// First num_dst written, then read, with those collected side by side. Registers keep their numbers,
  /// predicates follow them. The rest repeats the first; an instruction without slots names one that is never
  /// written.
  std::array<std::uint16_t, 20> slot{};

  /// Of an instruction of the tensor units, which has neither an access nor a barrier.
  void set_passes(std::uint32_t passes) {
    access_bytes = static_cast<std::uint8_t>(passes);
    barrier = static_cast<std::uint8_t>(passes >> 8U);
  }
  [[nodiscard]] std::uint32_t passes() const { return access_bytes | std::uint32_t{barrier} << 8U; }
};
static_assert(sizeof(TimedInst) == 64);

/// Made once per launch, read by all SMs.
class TimingTable {
 public:
  TimingTable(const arch::MachineConfig& config, const isa::StaticInst* table, std::uint32_t size);
  [[nodiscard]] const TimedInst* data() const { return insts_.data(); }
  /// Slot of the first predicate; the slots before it are registers.
  [[nodiscard]] std::uint16_t predicates() const { return predicates_; }
  /// Slots in use, with one that is never written.
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

/// By pc: core cycles that instructions add to the length of their phase: the latency of arithmetic; of what
/// is memory's or control's only the cycles for which a scheduler issues it, since others hide the rest.
[[nodiscard]] std::vector<std::uint32_t> phase_cycles(const arch::MachineConfig& config,
                                                      const std::vector<isa::StaticInst>& table);

/// Core cycles for which one pass of an instruction of a latency class holds a unit.
[[nodiscard]] std::uint32_t unit_cycles(const arch::MachineConfig& config, isa::Unit unit,
                                        isa::LatencyClass latency_class);

}  // namespace gpumux::sm
