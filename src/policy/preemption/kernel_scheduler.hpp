// The kernel scheduler of chimera15 section 3.1: which SM serves which kernel, and how SMs that change hands
// are taken from their blocks. A policy decides how many SMs each kernel should have. The kernel scheduler
// keeps the map of SMs to kernels, chooses SMs and techniques, and hands each SM over when its last block has
// left.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "policy/policy.hpp"
#include "policy/preemption/selection.hpp"
#include "policy/settings.hpp"

namespace gpumux::policy {

/// How blocks are taken off SMs: the settings that every preemptive policy has.
struct PreemptionSettings {
  std::string technique;  // switch, drain, flush, flush-strict, chimera, ideal
  bool notified = true;   // true: a notice tells that a block must not be flushed; false: its effects so far
  arch::Duration limit;   // latency that chimera tries to keep; a longer preemption is a violation
  SwitchScope scope = SwitchScope::Sm;
  DrainOverhead drain = DrainOverhead::ToMost;
  SwitchOverhead switching = SwitchOverhead::OfBlock;
  /// Rounds of preemptions that may drop blocks of a kernel before one of its blocks completes; 0: any
  /// number.
  std::uint64_t flush_rounds = 8;
  std::optional<arch::ContextMoves> context;  // nothing: the machine's setting
  [[nodiscard]] Allowed allowed() const;
  /// True if only blocks of idempotent kernels may be flushed.
  [[nodiscard]] bool strict() const { return technique == "flush-strict"; }
};
[[nodiscard]] PreemptionSettings preemption_settings(const SettingReader& read,
                                                     const std::string& usual_technique);
[[nodiscard]] std::vector<std::pair<std::string, std::string>> with_preemption_settings(
    std::vector<std::pair<std::string, std::string>> settings, const std::string& usual_technique);

class KernelScheduler {
 public:
  explicit KernelScheduler(PreemptionSettings settings) : settings_(std::move(settings)) {}

  /// Sets how many SMs serve each kernel: shares[i] for control.kernels()[i]. The sum is at most all SMs.
  /// SMs stay with their kernel where possible: a kernel above its share loses only as many SMs as other
  /// kernels lack. A preempted SM serves another kernel when its blocks have left.
  /// A cooperative grid with share 0 loses all its SMs. If the share is above 0 but too small for the whole
  /// grid, the grid keeps its SMs.
  void assign(Control& control, std::vector<std::uint32_t> shares);
  /// Hands the SM over if it is empty. Call at block_left() and block_ended().
  void block_gone(Control& control, SmId sm);
  /// Marks preemptions that have exceeded the limit as late. Call at next_limit() or soon after.
  void limits_passed(const Control& control);
  /// The cycle at which the next preemption in progress becomes late; kNever: none.
  [[nodiscard]] Cycle next_limit(const View& view) const;
  /// Releases the SMs of the kernel. Call at kernel_ended(), before assign().
  void kernel_ended(Control& control, const RunningKernel& kernel);
  /// The needs of a policy that uses this scheduler.
  [[nodiscard]] Needs needs(const View& view) const;
  /// True while any SM is being taken from its blocks.
  [[nodiscard]] bool under_way() const {
    return std::any_of(places_.begin(), places_.end(), [](const Place& place) { return place.changes; });
  }
  /// Estimated core cycles to restore the context of a switched block of the kernel.
  [[nodiscard]] double restore_cycles(const Control& control, const RunningKernel& kernel) const {
    return switch_cycles(control, kernel, kernel.max_blocks_per_sm);
  }
  /// Number of SMs that serve the kernel, or will serve it once they are handed over.
  [[nodiscard]] std::uint32_t sms_of(KernelSlot slot) const;
  /// Adds the number of preemptions, their latency, violations, and blocks by technique to the report.
  void report(const Probes& control, Report& to) const;

 private:
  static constexpr std::uint32_t kNobody = 0xffff'ffffU;
  struct Place {
    std::uint32_t owner = kNobody;  // slot of the kernel whose blocks the SM holds
    bool changes = false;           // the owner's blocks are being taken off the SM
    std::uint32_t next = kNobody;   // slot of the kernel that the SM then serves
    Cycle asked = 0;                // cycle at which the preemption was decided
    double predicted = 0;           // predicted latency of the preemption, cycles
    bool drains = false;            // all blocks run to completion, so the owner can still get the SM back
    std::optional<std::uint64_t> late_from;  // owner's thread instructions on the SM at the limit
    AppId app = 0;                           // the owner's application
    std::array<std::uint32_t, kTechniques> blocks{};
    [[nodiscard]] std::uint32_t holder() const { return changes ? next : owner; }
  };
  /// A completed preemption of one SM.
  struct Preemption {
    Cycle latency = 0;     // from the decision until the last block had left
    double predicted = 0;  // kMostCost: without a prediction
    [[nodiscard]] bool was_predicted() const { return predicted != kMostCost; }
  };
  void serve(Control& control, std::uint32_t sm, std::uint32_t slot);
  /// Records the end of a preemption. `done`: the blocks have left; else the owner keeps the SM.
  void settle(const Control& control, std::uint32_t sm, bool done);
  void report_estimates(Report& to, Cycle limit) const;
  void take(Control& control, const RunningKernel& kernel, std::size_t count);
  /// Number of SMs that the kernel loses so that other kernels get `count`; more if a cooperative grid has to
  /// leave.
  [[nodiscard]] std::size_t taken_with(const Control& control, const RunningKernel& kernel,
                                       std::uint32_t share, std::size_t count) const;
  /// Techniques for blocks of the kernel. All blocks of a cooperative grid are switched or, if switching is
  /// not allowed, drained. None is flushed, because other blocks may have seen what it did.
  [[nodiscard]] Allowed allowed(const RunningKernel& kernel) const;
  [[nodiscard]] SmPlan plan(const Control& control, std::uint32_t sm, const RunningKernel& kernel,
                            const KernelProgress& progress, bool may_drop) const;
  [[nodiscard]] KernelProgress progress_of(const Control& control, const RunningKernel& kernel) const;
  [[nodiscard]] bool may_be_flushed(const RunningKernel& kernel, const arch::ResidentBlock& block) const;
  void carry_out(Control& control, const SmPlan& plan, const RunningKernel& kernel);
  [[nodiscard]] arch::ContextMove context_move(const Control& control, const RunningKernel& kernel,
                                               std::size_t switched) const;
  [[nodiscard]] double switch_cycles(const Control& control, const RunningKernel& kernel,
                                     std::size_t blocks) const;

  PreemptionSettings settings_;
  /// Counts the rounds of preemptions that dropped blocks of a kernel since one of its blocks was done.
  struct Drops {
    std::uint64_t arrival = 0;  // of the kernel
    std::uint64_t done = 0;     // blocks of the kernel that were done by then
    std::uint64_t rounds = 0;
  };
  [[nodiscard]] bool may_drop(const RunningKernel& kernel);
  std::array<Drops, arch::kMaxKernelSlots> drops_{};  // by slot
  std::vector<Place> places_;                         // by SM
  std::vector<Preemption> done_;
  std::array<std::uint64_t, kTechniques> blocks_{};  // by technique
  std::uint64_t flushed_instructions_ = 0;
  std::uint64_t missed_notices_ = 0;            // blocks to be flushed that could not restart safely
  std::uint64_t given_up_ = 0;                  // preemptions that were given up
  std::uint32_t apps_ = 0;                      // applications that have had a kernel, as bits
  std::array<std::uint64_t, kMaxApps> late_{};  // thread instructions, by application
  std::vector<Report::Preemption> events_;
};

}  // namespace gpumux::policy
