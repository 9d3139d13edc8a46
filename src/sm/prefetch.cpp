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
  const auto* const end = reinterpret_cast<const char*>(&constant_misses);
  fetch_lines(&now_, 1);
  fetch_lines(hot.data(), 4);
  const auto* const rest = reinterpret_cast<const char*>(&schedulers);
  fetch_lines(rest, static_cast<std::size_t>(end - rest));
  fetch_lines(counters.data(), 2);
  fetch_lines(mailbox.in.data(), std::min<std::size_t>(mailbox.in.size(), kMessages));
}

/// What the object's members point to.
void Sm::State::prefetch_schedulers(Cycle begin) const {
  fetch_lines(schedulers.data(), schedulers.size());
  wheel.prefetch(begin);
  lsu.words.prefetch();
  l1.prefetch_sets();
  injection.prefetch();
  const std::size_t messages = std::min<std::size_t>(mailbox.in.size(), kMessages);
  for (std::size_t i = 0; i < messages; ++i) __builtin_prefetch(&requests[mailbox.in[i].tag], 1);
}

/// What the replies that have come will touch of L1.
[[gnu::always_inline]] inline void Sm::State::prefetch_fills() const {
  for (std::size_t i = 0; i < std::min(mailbox.in.size(), kMessages); ++i) {
    prefetch_target(requests[mailbox.in[i].tag]);
  }
}

/// What the warps touch that issue soon: those that wake in this window, and of the ready ones about as many
/// as issued in the last.
void Sm::State::prefetch_warps(Cycle begin) {
  std::array<WarpMask, Fetch::kMaxSchedulers> masks{};
  wheel.due(begin, begin + kCycles, masks.data());
  for (std::uint32_t s = 0; s < schedulers_count; ++s) {
    Scheduler& scheduler = schedulers[s];
    WarpMask mask = masks[s];
    WarpMask ready = scheduler.ready() & scheduler.allowed;
    if (!lsu_has_room()) ready &= ~scheduler.ready_unit[static_cast<std::size_t>(isa::Unit::Memory)];
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
  for (std::size_t i = 0; i < std::min(lsu.words.size(), kTransactions); ++i)
    l1.prefetch(workload::Transaction{lsu.words.at(i)}.line());
  prefetch_fills();
  l1.prefetch_victims();
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
void Sm::State::prefetch_waiters() const {
  bool fills = false;
  for (std::size_t i = 0; i < std::min(mailbox.in.size(), kMessages); ++i) {
    const Request& request = requests[mailbox.in[i].tag];
    if (request.purpose != Purpose::L1Fill) continue;
    fills = true;
    const std::uint32_t waiter = l1.first_waiter(request.target);
    if (waiter != kNil) __builtin_prefetch(&ops[waiter], 1);
  }
  if (fills) l1.prefetch_victims_buckets();
}

}  // namespace gpumux::sm
