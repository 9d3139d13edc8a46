// The kernel scheduler of chimera15 section 3.1: which SM serves which kernel, and how SMs that change hands
// are taken from the blocks that are on them. A policy says how many SMs each kernel is to have; this keeps
// the map, chooses SMs and techniques, and hands each SM over when its last block has left.
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

/// How blocks are taken off SMs: settings of every policy that preempts.
struct PreemptionSettings {
  std::string technique;  // switch, drain, flush, flush-strict, chimera, ideal
  bool notified = true;   // a notice says that a block may not be flushed; else what it has really done
  arch::Duration limit;   // latency that chimera tries to keep, and beyond which a preemption is a violation
  SwitchScope scope = SwitchScope::Sm;
  DrainOverhead drain = DrainOverhead::ToMost;
  SwitchOverhead switching = SwitchOverhead::OfBlock;
  /// Rounds of preemptions that may drop blocks of a kernel before one of it is done; 0: any number.
  std::uint64_t flush_rounds = 8;
  std::optional<arch::ContextMoves> context;  // nothing: as the machine's
  [[nodiscard]] Allowed allowed() const;
  /// Blocks of idempotent kernels alone are flushed.
  [[nodiscard]] bool strict() const { return technique == "flush-strict"; }
};
[[nodiscard]] PreemptionSettings preemption_settings(const SettingReader& read,
                                                     const std::string& usual_technique);
[[nodiscard]] std::vector<std::pair<std::string, std::string>> with_preemption_settings(
    std::vector<std::pair<std::string, std::string>> settings, const std::string& usual_technique);

class KernelScheduler {
 public:
  explicit KernelScheduler(PreemptionSettings settings) : settings_(std::move(settings)) {}

  /// shares[i] SMs are to serve control.kernels()[i]; together no more than there are. SMs stay with their
  /// kernel where they can: of those beyond its share it loses what others lack. Those that are taken serve
  /// another kernel when the blocks have left.
  /// A cooperative grid loses all its SMs where its share is 0. Where the share is not enough for the whole
  /// grid, the grid keeps what it has.
  void assign(Control& control, std::vector<std::uint32_t> shares);
  /// To be called at block_left() and block_ended(): hands the SM over if it is empty.
  void block_gone(Control& control, SmId sm);
  /// To be called at next_limit() or soon after: preemptions that are not done by then are late.
  void limits_passed(const Control& control);
  /// When the next preemption that is under way will be late; kNever: none.
  [[nodiscard]] Cycle next_limit(const View& view) const;
  /// And at kernel_ended(), before assign().
  void kernel_ended(Control& control, const RunningKernel& kernel);
  /// What a policy with it needs.
  [[nodiscard]] Needs needs(const View& view) const;
  /// Some SM is being taken from its blocks.
  [[nodiscard]] bool under_way() const {
    return std::any_of(places_.begin(), places_.end(), [](const Place& place) { return place.changes; });
  }
  /// That a block of the kernel which was switched needs to come back, in core cycles, as estimated.
  [[nodiscard]] double restore_cycles(const Control& control, const RunningKernel& kernel) const {
    return switch_cycles(control, kernel, kernel.max_blocks_per_sm);
  }
  /// SMs that serve the kernel, or will when they are handed over.
  [[nodiscard]] std::uint32_t sms_of(KernelSlot slot) const;
  /// Preemptions so far and their latency, violations, blocks by technique.
  void report(const Probes& control, Report& to) const;

 private:
  static constexpr std::uint32_t kNobody = 0xffff'ffffU;
  struct Place {
    std::uint32_t owner = kNobody;  // slot of the kernel whose blocks it has
    bool changes = false;           // these are being taken off it
    std::uint32_t next = kNobody;   // whom it then serves
    Cycle asked = 0;                // when it was
    double predicted = 0;           // cycles
    bool drains = false;            // all of its blocks run to their ends, so it may still be given back
    std::optional<std::uint64_t> late_from;  // thread instructions of its owner there when the limit passed
    AppId app = 0;                           // the owner's
    std::array<std::uint32_t, kTechniques> blocks{};
    [[nodiscard]] std::uint32_t holder() const { return changes ? next : owner; }
  };
  /// One SM taken from a kernel.
  struct Preemption {
    Cycle latency = 0;     // from the decision until its last block had left
    double predicted = 0;  // kMostCost: it could not be
    [[nodiscard]] bool was_predicted() const { return predicted != kMostCost; }
  };
  void serve(Control& control, std::uint32_t sm, std::uint32_t slot);
  /// The owner's blocks leave it no more, or have left it.
  void settle(const Control& control, std::uint32_t sm, bool done);
  void report_estimates(Report& to, Cycle limit) const;
  void take(Control& control, const RunningKernel& kernel, std::size_t count);
  /// SMs that the kernel is to lose so that others get `count`: more where a cooperative grid has to leave.
  [[nodiscard]] std::size_t taken_with(const Control& control, const RunningKernel& kernel,
                                       std::uint32_t share, std::size_t count) const;
  /// Blocks of a cooperative grid leave by one technique, or stay until all of them end: of those that begin
  /// anew, others may have seen what they did.
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
  /// Rounds of preemptions in which blocks of a kernel were dropped since one of it was done.
  struct Drops {
    std::uint64_t arrival = 0;  // of the kernel
    std::uint64_t done = 0;     // its blocks by then
    std::uint64_t rounds = 0;
  };
  [[nodiscard]] bool may_drop(const RunningKernel& kernel);
  std::array<Drops, arch::kMaxKernelSlots> drops_{};  // by slot
  std::vector<Place> places_;                         // by SM
  std::vector<Preemption> done_;
  std::array<std::uint64_t, kTechniques> blocks_{};  // by technique
  std::uint64_t flushed_instructions_ = 0;
  std::uint64_t missed_notices_ = 0;            // blocks that were to be flushed and could not begin anew
  std::uint64_t given_up_ = 0;                  // preemptions
  std::uint32_t apps_ = 0;                      // that have had a kernel, as bits
  std::array<std::uint64_t, kMaxApps> late_{};  // thread instructions, by application
  std::vector<Report::Preemption> events_;
};

}  // namespace gpumux::policy
