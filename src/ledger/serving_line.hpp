// A place that serves one after the other (a port, a queue's head, a tag array), and who waited for whom
// there.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "base/types.hpp"

namespace gpumux::ledger {

/// Remembers whom the place has served lately: one entry for what follows on each other of one application.
/// Of a wait that reaches further back than kKept of these entries, the older part is charged to nobody.
class ServingLine {
 public:
  static constexpr std::uint32_t kKept = 256;

  /// One of `app` came at `arrived`, and was served, behind all before it, up to `until` (both in the same
  /// unit, `until` not before that of the one before). Calls charge(who, time) for what it waited while
  /// others, or others of its own application, were served.
  template <typename Charge>
  void pass(AppId app, std::uint64_t arrived, std::uint64_t until, const Charge& charge) {
    const std::uint64_t begin = std::max(arrived, until_);
    for (std::uint64_t i = entries_; i > first_ && entries(i - 1).end > arrived; --i) {
      const Entry& before = entries(i - 1);
      charge(before.app, std::min(before.end, begin) - std::max(before.begin, arrived));
    }
    if (until <= begin) return;
    until_ = until;
    if (entries_ > first_ && entries(entries_ - 1).app == app && entries(entries_ - 1).end == begin) {
      entries(entries_ - 1).end = until;
      return;
    }
    entries(entries_++) = {begin, until, app};
    if (entries_ - first_ > kKept) ++first_;
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
};

}  // namespace gpumux::ledger
