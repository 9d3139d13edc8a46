// State that an SM keeps per application to order its memory instructions (RBMI, QBMI) and to limit the
// number in flight (SMIL, DMIL). Memory instructions here are those of global or local memory, which make
// requests to L1. Instructions of shared and constant memory, which use the same load/store unit, take turns
// (one unit of quota each) and are not limited. The kernels of an application share its state, which is kept
// when one kernel ends and the next one starts. Source: dai18 sections 3.2, 3.3 and 4.4, figures 7 and 10.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include "arch/memory_scheme.hpp"
#include "base/error.hpp"

namespace gpumux::sm {

/// Requests per instruction, rounded to the nearest integer, at least 1 (dai18 section 3.2 requires
/// integers).
[[nodiscard]] std::uint32_t requests_per_instruction(std::uint32_t requests, std::uint32_t instructions);

/// QBMI's quotas: the least common multiple of the sharers' requests per instruction, divided by the sharer's
/// own (dai18 section 3.2). `sharers`: mask; other applications get 0. All quotas are halved together until
/// they fit 15 bits, so that more than two sharers keep their proportions.
[[nodiscard]] std::array<std::int32_t, kMaxApps> quotas(
    const std::array<std::uint32_t, kMaxApps>& requests_per_instruction, std::uint32_t sharers);

/// The limit of a MILG: the peak of instructions in flight divided by the failures per request, at least 1
/// (dai18 section 3.3.2). No limit for less than one failure per request.
[[nodiscard]] std::uint32_t dynamic_limit(std::uint32_t peak, std::uint64_t failures, std::uint32_t interval);

class MemoryControl {
 public:
  static constexpr std::int32_t kMostQuota = 0x7fff;   // signed counter of 16 bits
  static constexpr std::uint32_t kMostInFlight = 128;  // maximum of a peak counter
  static constexpr std::uint32_t kFailuresPerRequest =
      4;  // the failure counter has two bits more than the shift

  MemoryControl(SmId id, std::uint32_t schedulers) : id_(id), ready_(schedulers) {}

  void set(const arch::MemoryScheme& scheme);
  /// Sets the applications with a kernel (mask).
  void set_sharers(std::uint32_t sharers);
  /// Sets the applications with blocks on this SM (mask), which get quotas, ways and shares of L1's
  /// resources. Initially, all applications count as present.
  void set_present(std::uint32_t apps) { present_ = apps; }
  /// The first block of an application has arrived. All present applications start with a new set of quotas,
  /// so that no application keeps quota that it saved while it was alone.
  void arrived(AppId app);
  /// The last block of the application has ended.
  void left(AppId app) { present_ &= ~(1U << app); }
  [[nodiscard]] const arch::MemoryScheme& scheme() const { return scheme_; }
  [[nodiscard]] const arch::MemoryClient& client(AppId app) const { return clients_[app]; }
  [[nodiscard]] std::uint32_t sharers() const { return sharers_; }
  /// Mask of the sharers with blocks on this SM.
  [[nodiscard]] std::uint32_t here() const { return sharers_ & present_; }

  // --- memory instructions; functions return true if an application is no longer at its limit -----------
  void issued(AppId app);
  /// A load/store instruction that makes no requests to L1 was issued.
  void passed(AppId app) {
    if (scheme_.orders_all) spend_turn(app);
  }
  [[nodiscard]] bool ended(AppId app) {
    arch::MemoryClient& client = clients_[app];
    GPUMUX_DCHECK(client.in_flight > 0);
    --client.in_flight;
    return note_full(app);
  }
  /// A request was taken; `last`: the last one of its instruction.
  [[nodiscard]] bool requested(AppId app, bool last);
  /// The request at the head of the load/store unit could not be taken for `cycles` cycles.
  void failed(AppId app, std::uint64_t cycles) {
    Interval& interval = intervals_[app];
    interval.failures += cycles;
    if (!scheme_.unbounded && interval.failures >= most_failures_) interval.failures = most_failures_ - 1;
  }
  /// Sets the limit that another SM has computed.
  [[nodiscard]] bool set_limit(AppId app, std::uint32_t limit);

  // --- ends that are known in advance: those of L1 hits -----------------------------------------------
  void ends_at(AppId app, Cycle cycle);
  [[nodiscard]] Cycle next_end() const { return head_ == ends_.size() ? kNever : ends_[head_].cycle; }
  /// Takes the end that is due and returns its application.
  AppId pop_end() {
    const AppId app = ends_[head_++].app;
    if (head_ == ends_.size()) {
      ends_.clear();
      head_ = 0;
    }
    return app;
  }
  /// True if nothing is in flight except instructions that pop_end() will end.
  [[nodiscard]] bool drained() const;

  // --- queries of the schedulers ------------------------------------------------------------------------
  /// Ready warps of a scheduler: those that have been looked at (`known`), and by application those whose
  /// next instruction is a memory instruction (`of`) or takes a turn (`turn_of`).
  struct Ready {
    WarpMask known = 0;
    WarpMask any = 0;
    WarpMask any_turn = 0;
    WarpMask loads = 0;  // warps of `any` that wait for the data they load
    std::array<WarpMask, kMaxApps> of{};
    std::array<WarpMask, kMaxApps> turn_of{};
  };
  [[nodiscard]] Ready& ready(std::uint32_t scheduler) { return ready_[scheduler]; }
  /// The warp issues, so its next instruction is not known any more.
  void forget(std::uint32_t scheduler, std::uint32_t warp, AppId app) {
    const WarpMask others = ~(WarpMask{1} << warp);
    Ready& ready = ready_[scheduler];
    ready.known &= others;
    ready.any &= others;
    ready.any_turn &= others;
    ready.loads &= others;
    ready.of[app] &= others;
    ready.turn_of[app] &= others;
  }
  /// Warps of the scheduler that wait because their application is at its limit.
  [[nodiscard]] WarpMask limited(std::uint32_t scheduler) const {
    WarpMask warps = 0;
    for (std::uint32_t full = full_; full != 0; full &= full - 1)
      warps |= ready_[scheduler].of[static_cast<std::size_t>(std::countr_zero(full))];
    return warps;
  }
  /// The application of the mask that goes first.
  [[nodiscard]] AppId first_of(std::uint32_t offered) const;

 private:
  /// Counts until the next update (dai18 figure 10; section 4.4 for the widths).
  struct Interval {
    std::uint32_t requests = 0;
    std::uint32_t instructions = 0;
    std::uint64_t failures = 0;
    std::uint32_t peak = 0;
  };
  struct End {
    Cycle cycle;
    AppId app;
  };
  bool note_full(AppId app) {
    const std::uint32_t bit = 1U << app;
    const bool was = (full_ & bit) != 0;
    const bool is = clients_[app].in_flight >= clients_[app].limit;
    full_ = is ? full_ | bit : full_ & ~bit;
    return was && !is;
  }
  [[nodiscard]] AppId next_in_turn(std::uint32_t offered) const {
    const std::uint32_t behind = offered & ~((2U << last_) - 1U);
    return static_cast<AppId>(std::countr_zero(behind != 0 ? behind : offered));
  }
  void spend_turn(AppId app) {
    last_ = app;
    if (scheme_.order == arch::MemoryScheme::Order::Quota && --clients_[app].quota <= 0) add_quotas();
  }
  void add_quotas();

  SmId id_;
  arch::MemoryScheme scheme_;
  std::uint32_t sharers_ = 0;
  std::uint32_t present_ = ~0U;
  std::uint32_t full_ = 0;     // mask of the applications at their limit
  AppId last_ = kMaxApps - 1;  // application whose memory instruction was issued last
  std::uint64_t most_failures_ = 0;
  std::array<arch::MemoryClient, kMaxApps> clients_{};
  std::array<Interval, kMaxApps> intervals_{};
  std::vector<Ready> ready_;  // by scheduler
  std::vector<End> ends_;     // in order of cycle, from head_ on
  std::size_t head_ = 0;
};

}  // namespace gpumux::sm
