// Other SMs have run since this one did, and the states of all do not fit the host's cache: what this one
// is about to touch is fetched while those before it run.
#include <algorithm>

#include "base/prefetch.hpp"
#include "sm/state.hpp"

namespace gpumux::sm {

namespace {

/// Replies that are fetched for.
constexpr std::size_t kMessages = 16;
/// What happens later has time to be fetched when it comes near.
constexpr Cycle kCycles = 48;
/// Transactions at the head of the load/store unit that a window seldom takes more of.
constexpr std::size_t kTransactions = 8;

/// `count` records from `first` on.
template <typename T>
[[gnu::always_inline]] inline void fetch_lines(const T* first, std::size_t count) {
  prefetch_lines(first, first + count);
}

}  // namespace

/// What every window reads and writes of this object: all but what seldom concerns many kernels.
void Sm::State::prefetch_state() const {
  prefetch_lines(&stop, &counters);
  table.prefetch();
  front.prefetch();
  stage.prefetch();
  lsu.prefetch();
  fetch_lines(&gate, 1);
  fetch_lines(counters.data(), 2);
  const auto& in = lsu.network().mailbox().in;
  fetch_lines(in.data(), std::min<std::size_t>(in.size(), kMessages));
}

/// What the object's members point to.
void Sm::State::prefetch_schedulers(Cycle begin) const {
  stage.prefetch_schedulers(begin);
  if (ledger) ledger->prefetch();
  lsu.prefetch_queues(kMessages);
}

/// What the warps touch that issue soon.
void Sm::State::prefetch_warps(Cycle begin) {
  const IssueStage::Masks masks =
      stage.prefetch_warps(begin, begin + kCycles, lsu.has_room(), config.sm.warp_scheduler);
  lsu.prefetch_l1(kTransactions, kMessages);
  stage.prefetch_records(masks);
}

/// And what that leads to: who waits, and which lines go.
void Sm::State::prefetch_waiters() const { lsu.prefetch_waiters(kMessages); }

}  // namespace gpumux::sm
