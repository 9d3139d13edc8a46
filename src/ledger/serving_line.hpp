// A place that serves one after the other (a port, a queue's head, a tag array), and who waited for whom
// there.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "arch/statistics.hpp"
#include "base/prefetch.hpp"
#include "base/types.hpp"

namespace gpumux::ledger {

/// Remembers whom the place has served lately: one entry for what follows on each other of one application. A
/// wait that reaches further back than kKept of these entries counts from there.
class alignas(64) ServingLine {
 public:
  static constexpr std::uint32_t kKept = 256;
  /// It could not serve anybody until `time`, for a reason of its own.
  void closed_until(std::uint64_t time) { until_ = std::max(until_, time); }
  /// Where waits of one are counted, by culprit.
  struct Due {
    arch::PairCounters* of;  // kMaxApps of them; nullptr: nowhere
    std::uint64_t arch::PairCounters::*counter;
  };
  struct Passed {
    std::uint64_t waited;  // from its arrival to its service
    std::uint64_t served;
  };

  /// One of `app` came at `arrived`, and was served, behind all before it, up to `until` (both in the same
  /// unit, `until` not before that of the one before). What it waited longer than if the place had served its
  /// application alone, each of its own for as long, is due to those that were served since it came, by their
  /// parts, or, where these were all its own, to who had delayed them: added to `due`. Of its service a part
  /// may have been a wait for others, most of it for `by`: alone, the place is that much sooner free for it.
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

  /// What the next one touches, into the host's cache.
  [[gnu::always_inline]] void prefetch() const {
    __builtin_prefetch(&ring_[entries_ % kKept], 1);
    __builtin_prefetch(&ring_[window_ % kKept], 1);
    prefetch_lines(this, &of_[2]);
  }

 private:
  /// Two words, side by side in the host's cache.
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
  /// The window begins with the first entry that ends after `time`. Those that come one after the other have
  /// come one after the other, more or less: it moves little.
  void look_from(std::uint64_t time) {
    while (window_ != entries_ && entries(window_).end <= time) leave_first();
    // What was never used ends at 0.
    while (entries_ - window_ != kKept && entries(window_ - 1).end > time) {
      const Entry& come = entries(--window_);
      add(come.app, come.end - come.begin);
    }
  }
  /// It has been served from `begin` to `until`.
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
  /// It came at `arrived`, began at `begin`, and would have at `alone`, which is before.
  void delayed(AppId app, std::uint64_t arrived, std::uint64_t begin, std::uint64_t alone, const Due& due);

  struct OfApp {
    std::uint64_t served = 0;       // in the window
    std::uint64_t alone_until = 0;  // of a place that serves the application alone
    AppId culprit = 0;              // who delayed it last
  };
  // Side by side, what each one touches.
  std::uint32_t entries_ = 0;  // ever, the last kKept of them kept; modulo 2^32, as is
  std::uint32_t window_ = 0;   // sums are from this entry on
  std::uint64_t busy_ = 0;     // of all
  std::uint64_t until_ = 0;
  std::uint32_t apps_ = 0;  // that were served ever, as bits
  std::array<OfApp, kMaxApps> of_{};
  std::array<Entry, kKept> ring_{};
};

}  // namespace gpumux::ledger
