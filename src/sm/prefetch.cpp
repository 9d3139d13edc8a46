// Other SMs have run since this one did, and the states of all do not fit the host's cache: what this one
// is about to touch is fetched while those before it run.
#include <algorithm>
#include <array>
#include <bit>
#include <utility>

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

/// What every window reads and writes of this object: all but the middle of the table of kernels.
void Sm::State::prefetch_state() const {
  fetch_lines(&now_, 1);
  fetch_lines(hot.data(), 4);
  prefetch_lines(&schedulers, &lsu);
  lsu.prefetch();
  fetch_lines(&gate, 1);
  fetch_lines(counters.data(), 2);
  const auto& in = lsu.network().mailbox().in;
  fetch_lines(in.data(), std::min<std::size_t>(in.size(), kMessages));
}

/// What the object's members point to.
void Sm::State::prefetch_schedulers(Cycle begin) const {
  fetch_lines(schedulers.data(), schedulers.size());
  wheel.prefetch(begin);
  lsu.prefetch_queues(kMessages);
}

/// What the warps touch that issue soon: those that wake in this window, and of the ready ones about as many
/// as issued in the last.
void Sm::State::prefetch_warps(Cycle begin) {
  std::array<WarpMask, FrontEnd::kMaxSchedulers> masks{};
  wheel.due(begin, begin + kCycles, masks.data());
  for (std::uint32_t s = 0; s < schedulers_count; ++s) {
    Scheduler& scheduler = schedulers[s];
    WarpMask mask = masks[s];
    WarpMask ready = scheduler.ready() & scheduler.allowed;
    if (!lsu.has_room()) ready &= ~scheduler.ready_unit[static_cast<std::size_t>(isa::Unit::Memory)];
    const std::uint32_t issues = std::exchange(scheduler.window_issues, 0) + 2;
    mask |= with_warp_scheduler(config.sm.warp_scheduler, [&]<typename Order>(Order order) {
      return Order::likely(scheduler.order.of(order), scheduler.by_age, ready, issues);
    });
    masks[s] = mask;
    const WarpMask accesses = scheduler.ready_unit[static_cast<std::size_t>(isa::Unit::Memory)];
    for (; mask != 0; mask &= mask - 1) {
      const std::uint32_t slot = slot_of(s, static_cast<std::uint32_t>(std::countr_zero(mask)));
      __builtin_prefetch(&table.warp(slot), 1);
      scoreboard.prefetch(slot);
      if ((accesses & mask & -mask) != 0) __builtin_prefetch(&table.warp(slot).mem_next, 1);
    }
  }
  lsu.prefetch_l1(kTransactions, kMessages);
  for (std::uint32_t s = 0; s < schedulers_count; ++s) {
    const WarpMask accesses = schedulers[s].ready_unit[static_cast<std::size_t>(isa::Unit::Memory)];
    for (WarpMask mask = masks[s]; mask != 0; mask &= mask - 1) {
      const Warp& warp = table.warp(slot_of(s, static_cast<std::uint32_t>(std::countr_zero(mask))));
      if ((accesses & mask & -mask) != 0) __builtin_prefetch(warp.mem_next);
      __builtin_prefetch(warp.next);
      __builtin_prefetch(warp.next + 1);  // looked at when the first has issued
    }
  }
}

/// And what that leads to: who waits, and which lines go.
void Sm::State::prefetch_waiters() const { lsu.prefetch_waiters(kMessages); }

}  // namespace gpumux::sm
