// Prefetches an SM's state while earlier SMs are simulated, because the states of all SMs do
// not fit the host's cache.
#include <algorithm>

#include "base/prefetch.hpp"
#include "sm/state.hpp"

namespace gpumux::sm {

namespace {

/// Number of replies for which data is prefetched.
constexpr std::size_t kMessages = 16;
/// Cycles from the start of a run. Data for later events is prefetched when they come near.
constexpr Cycle kCycles = 48;
/// Transactions at the head of the load/store unit; a window rarely takes more.
constexpr std::size_t kTransactions = 8;

/// Prefetches `count` records from `first` on.
template <typename T>
[[gnu::always_inline]] inline void fetch_lines(const T* first, std::size_t count) {
  prefetch_lines(first, first + count);
}

}  // namespace

/// Prefetches what every window reads and writes of this object, except data of many
/// kernels, which is rarely used.
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

/// Prefetches what the object's members point to.
void Sm::State::prefetch_schedulers(Cycle begin) const {
  stage.prefetch_schedulers(begin);
  if (ledger) ledger->prefetch();
  lsu.prefetch_queues(kMessages);
}

/// Prefetches what the warps touch that will issue soon.
void Sm::State::prefetch_warps(Cycle begin) {
  const IssueStage::Masks masks =
      stage.prefetch_warps(begin, begin + kCycles, lsu.has_room(), config.sm.warp_scheduler);
  lsu.prefetch_l1(kTransactions, kMessages);
  stage.prefetch_records(masks);
}

/// Prefetches the waiters of replies, and the lines to be evicted.
void Sm::State::prefetch_waiters() const { lsu.prefetch_waiters(kMessages); }

}  // namespace gpumux::sm
