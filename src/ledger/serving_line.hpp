// A place that serves one request at a time (a port, the head of a queue, a tag array): which application
// waited there for which other application.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "arch/statistics.hpp"
#include "base/prefetch.hpp"
#include "base/types.hpp"

namespace gpumux::ledger {

/// Remembers which applications the place has served recently, with one entry for consecutive services of one
/// application. A wait that reaches further back than kKept entries counts from the oldest entry kept.
class alignas(64) ServingLine {
 public:
  static constexpr std::uint32_t kKept = 256;
  /// The place could serve no request until `time`, for a reason of its own.
  void closed_until(std::uint64_t time) { until_ = std::max(until_, time); }
  /// Counters to which waits are added, by the application at fault.
  struct Due {
    arch::PairCounters* of;  // array of kMaxApps counters; nullptr: do not count
    std::uint64_t arch::PairCounters::*counter;
  };
  struct Passed {
    std::uint64_t waited;  // time from arrival to start of service
    std::uint64_t served;
  };

  /// Records a request of `app` that arrived at `arrived` and was served until `until`, after all earlier
  /// requests. Both times have one unit, and `until` must not decrease from call to call.
  /// The wait is compared with that of a shadow queue that serves only the requests of `app`, with the same
  /// service times. The excess is added to `due`, and charged to the applications that were served since the
  /// arrival, in proportion to their service. If only `app` itself was served, the excess is charged to the
  /// application that last delayed `app`.
  /// `of_others`: the part of the service that was itself a wait for other applications, mainly for `by`. The
  /// shadow queue's service is shorter by this part.
  [[gnu::always_inline]] Passed pass(AppId app, std::uint64_t arrived, std::uint64_t until, const Due& due,
                                     std::uint64_t of_others = 0, AppId by = 0) {
    const std::uint64_t begin = std::max(arrived, until_);
    const std::uint64_t alone = std::max(arrived, of_[app].alone_until);
    const Passed passed{begin - arrived, std::max(until, begin) - begin};
    of_others = std::min(of_others, passed.served);
    of_[app].alone_until = alone + passed.served - of_others;
    if (begin > alone) delayed(app, arrived, begin, alone, due);
    if (of_others != 0) [[unlikely]]
      of_[app].culprit = by;
    if (until > begin) enter(app, begin, until);
    return passed;
  }

  /// Prefetches what the next pass() touches into the host's cache.
  [[gnu::always_inline]] void prefetch() const {
    __builtin_prefetch(&ring_[entries_ % kKept], 1);
    __builtin_prefetch(&ring_[window_ % kKept], 1);
    prefetch_lines(this, &of_[2]);
  }

 private:
  /// One period of service; two words, next to each other in the host's cache.
  struct Entry {
    std::uint64_t begin : 56 = 0;
    std::uint64_t app : 8 = kMaxApps;
    std::uint64_t end = 0;
  };
  static constexpr std::uint64_t kTime = (std::uint64_t{1} << 56U) - 1;
  [[nodiscard]] Entry& entries(std::uint32_t i) { return ring_[i % kKept]; }
  void add(std::uint64_t app, std::uint64_t time) {
    of_[app].served += time;
    busy_ += time;
  }
  void leave_first() {
    const Entry& left = entries(window_++);
    add(left.app, left.begin - left.end);
  }
  /// Moves the start of the window to the first entry that ends after `time`. Consecutive requests arrive
  /// nearly in order, so the window moves little.
  void look_from(std::uint64_t time) {
    while (window_ != entries_ && entries(window_).end <= time) leave_first();
    // Unused entries end at 0.
    while (entries_ - window_ != kKept && entries(window_ - 1).end > time) {
      const Entry& come = entries(--window_);
      add(come.app, come.end - come.begin);
    }
  }
  /// Records a service of `app` from `begin` to `until`.
  void enter(AppId app, std::uint64_t begin, std::uint64_t until) {
    until_ = until;
    Entry& last = entries(entries_ - 1);
    if (last.app == app && last.end == begin) {
      last.end = until;
      if (window_ != entries_) add(app, until - begin);
      return;
    }
    if (entries_ - window_ == kKept) leave_first();
    Entry& next = entries(entries_++);
    next.begin = begin & kTime;
    next.app = app;
    next.end = until;
    apps_ |= std::uint32_t{1} << app;
    add(app, until - begin);
  }
  /// Charges the delay of a request that arrived at `arrived` and started at `begin`. The request would have
  /// started at `alone`, before `begin`, if the place served its application alone.
  void delayed(AppId app, std::uint64_t arrived, std::uint64_t begin, std::uint64_t alone, const Due& due);

  struct OfApp {
    std::uint64_t served = 0;       // service time within the window
    std::uint64_t alone_until = 0;  // when the shadow queue of this application is free again
    AppId culprit = 0;              // application that delayed this one last
  };
  // The members that every pass() touches come first, next to each other.
  std::uint32_t entries_ = 0;  // number of entries so far, modulo 2^32; the last kKept are kept
  std::uint32_t window_ = 0;   // first entry of the window, from which the sums count
  std::uint64_t busy_ = 0;     // service time of all applications within the window
  std::uint64_t until_ = 0;
  std::uint32_t apps_ = 0;  // mask of the applications that have been served
  std::array<OfApp, kMaxApps> of_{};
  std::array<Entry, kKept> ring_{};
};

}  // namespace gpumux::ledger
