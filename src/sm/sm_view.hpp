// A view of execution: counts, cycle by cycle, what the warps of an SM do (docs/views.md). Source:
// awatramani17 sections 3.3.3, 3.5.4, 4.3.1.3 and 5.3.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <queue>
#include <vector>

#include "arch/statistics.hpp"
#include "base/types.hpp"
#include "isa/timing_class.hpp"
#include "sm/block_table.hpp"
#include "sm/issue_stage.hpp"

namespace gpumux::sm {

/// Counts each cycle once, from the state of the SM's rooms between two changes. account() is called before
/// each change, and for each cycle in which something may issue.
class SmView {
 public:
  /// `mixed`: how a cycle counts in which some warps find their units busy and others wait,
  /// which the source leaves open.
  SmView(std::uint32_t warp_slots, arch::ViewMixed mixed) : mixed_(mixed), phase_of_(warp_slots, 0) {}
  [[nodiscard]] const arch::SmViewCounters& counters() const { return counters_; }

  /// Counts the cycles before `until`, in which the rooms have not changed. `room`: the
  /// load/store unit takes instructions.
  void account(IssueStage& stage, Cycle until, bool room);

  // --- changes ----------------------------------------------------------------------------------------
  /// `phase_of`: by pc, the number of its phase.
  void bind(arch::KernelSlot kernel, std::vector<std::uint16_t> phase_of) {
    phases_[kernel] = std::move(phase_of);
  }
  /// A block was launched. The block's warps that have not exited count from `start` on, and are in the first
  /// phase until they issue, even if the block continues after a stop.
  void launched(const Block& block, const BlockTable& table, std::uint32_t schedulers, Cycle start);
  void exits(std::uint32_t slot, const Block& block);
  /// The block is about to leave; some of its warps may not have exited.
  void gone(const Block& block, const BlockTable& table, std::uint32_t schedulers);
  /// An instruction has issued in the cycle that was counted last.
  void issued();
  /// The warp, which has not exited, is now at `pc`.
  void comes_to(std::uint32_t slot, arch::KernelSlot kernel, std::uint32_t pc);
  /// An arithmetic instruction has issued, whose result is available at `result`.
  void computes(Cycle result) { alu_ends_.push(result); }
  /// A memory instruction has issued.
  void accesses() {
    ++memory_out_;
    ++counters_.memory_in_flight_begun;
  }
  /// A memory instruction is performed at `ready`.
  void performed(Cycle ready) {
    --memory_out_;
    memory_ends_.push(ready);
  }

 private:
  using Ends = std::priority_queue<Cycle, std::vector<Cycle>, std::greater<>>;
  struct Unborn {
    Cycle start;
    IssueStage::Masks warps{};
  };
  void move(std::uint32_t slot, std::uint16_t phase);
  /// Counter for a cycle in which no scheduler issued.
  [[nodiscard]] std::uint64_t& without_issue(const IssueStage::Seen& seen);

  arch::ViewMixed mixed_;
  arch::SmViewCounters counters_;
  Cycle now_ = 0;  // earlier cycles are counted
  // An instruction is in flight from the cycle after its issue to the cycle of its result.
  Ends alu_ends_;
  Ends memory_ends_;
  std::uint32_t memory_out_ = 0;  // accesses whose end is not known
  std::vector<Unborn> unborn_;
  std::uint32_t completed_ = 0;    // warps that have exited
  std::uint32_t tails_ = 0;        // blocks with both exited and running warps
  std::uint64_t* last_ = nullptr;  // counter of the last cycle
  std::array<std::vector<std::uint16_t>, arch::kMaxKernelSlots> phases_;
  std::vector<std::uint16_t> phase_of_;                              // by warp slot
  std::array<std::uint32_t, arch::kViewedPhases> warps_in_phase_{};  // warps that have not exited
  std::uint32_t phases_used_ = 0;                                    // later phases have no warps
};

/// By pc: number of its phase, from 0 on.
[[nodiscard]] std::vector<std::uint16_t> phase_numbers(const arch::MachineConfig& config,
                                                       const std::vector<isa::StaticInst>& table);

}  // namespace gpumux::sm
