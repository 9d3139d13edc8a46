// A place that serves one after the other (a port, a queue's head, a tag array), and who waited for whom
// there.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

#include "base/types.hpp"

namespace gpumux::ledger {

/// Remembers whom the place has served lately: one entry for what follows on each other of one application. A
/// wait that reaches further back than kKept of these entries counts from there.
class ServingLine {
 public:
  static constexpr std::uint32_t kKept = 256;
  /// It could not serve anybody until `time`, for a reason of its own.
  void closed_until(std::uint64_t time) { until_ = std::max(until_, time); }
  struct Passed {
    std::uint64_t waited;  // from its arrival to its service
    std::uint64_t served;
  };

  /// One of `app` came at `arrived`, and was served, behind all before it, up to `until` (both in the same
  /// unit, `until` not before that of the one before). What it waited longer than if the place had served its
  /// application alone, each of its own for as long, is due to those that were served since it came, by their
  /// parts, or, where these were all its own, to who had delayed them: calls charge(culprit, time).
  template <typename Charge>
  Passed pass(AppId app, std::uint64_t arrived, std::uint64_t until, const Charge& charge) {
    const std::uint64_t begin = std::max(arrived, until_);
    const std::uint64_t alone = std::max(arrived, alone_until_[app]);
    const Passed passed{begin - arrived, std::max(until, begin) - begin};
    alone_until_[app] = alone + passed.served;
    if (begin > alone) {
      std::array<std::uint64_t, kMaxApps> served;  // of those in `who`
      std::uint32_t who = 0;
      std::uint64_t busy = 0, others = 0;
      for (std::uint64_t i = entries_; i > first_ && entries(i - 1).end > arrived; --i) {
        const Entry& before = entries(i - 1);
        const std::uint64_t time = std::min(before.end, begin) - std::max(before.begin, arrived);
        busy += time;
        if (before.app == app) continue;
        others += time;
        const std::uint32_t bit = std::uint32_t{1} << before.app;
        served[before.app] = (who & bit) == 0 ? time : served[before.app] + time;
        who |= bit;
        culprit_[app] = before.app;
      }
      const std::uint64_t waited = std::min(begin - alone, busy);
      if (others == 0) {
        if (waited != 0) charge(culprit_[app], waited);
      } else {
        for (; who != 0; who &= who - 1) {
          const auto other = static_cast<AppId>(std::countr_zero(who));
          charge(other, waited * served[other] / others);
        }
      }
    }
    if (until <= begin) return passed;
    until_ = until;
    if (entries_ > first_ && entries(entries_ - 1).app == app && entries(entries_ - 1).end == begin) {
      entries(entries_ - 1).end = until;
      return passed;
    }
    entries(entries_++) = {begin, until, app};
    if (entries_ - first_ > kKept) ++first_;
    return passed;
  }

 private:
  struct Entry {
    std::uint64_t begin, end;
    AppId app;
  };
  [[nodiscard]] Entry& entries(std::uint64_t i) { return ring_[i % kKept]; }
  std::array<Entry, kKept> ring_{};
  std::uint64_t first_ = 0, entries_ = 0;
  std::uint64_t until_ = 0;
  std::array<std::uint64_t, kMaxApps> alone_until_{};  // of a place that serves the application alone
  std::array<AppId, kMaxApps> culprit_{};              // who delayed it last
};

}  // namespace gpumux::ledger
