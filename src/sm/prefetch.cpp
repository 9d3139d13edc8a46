// Other SMs have run since the last window, and the states of all do not fit the host's cache: what this one
// is about to touch is fetched while those before it run.
#include <array>
#include <bit>
#include <utility>

#include "sm/state.hpp"

namespace gpumux::sm {

namespace {

constexpr std::size_t kLine = 64;

template <typename T>
void prefetch(const T* first, std::size_t count) {
  const auto* bytes = reinterpret_cast<const char*>(first);
  for (std::size_t at = 0; at < count * sizeof(T); at += kLine) __builtin_prefetch(bytes + at, 1);
}

}  // namespace

void Sm::State::prefetch_schedulers(Cycle begin) const {
  prefetch(&now_, 4);
  prefetch(schedulers.data(), schedulers.size());
  wheel.prefetch(begin);
  prefetch(mailbox.in.data(), mailbox.in.size());
}

/// What the warps touch that issue soon: those that wake in this window, and of the ready ones about as many
/// as issued in the last.
void Sm::State::prefetch_warps(Cycle begin, Cycle end) {
  std::array<WarpMask, Fetch::kMaxSchedulers> masks{};
  wheel.due(begin, end, masks.data());
  for (std::uint32_t s = 0; s < schedulers_count; ++s) {
    Scheduler& scheduler = schedulers[s];
    WarpMask mask = masks[s];
    WarpMask ready = scheduler.ready() & scheduler.allowed;
    std::uint32_t issues = std::exchange(scheduler.window_issues, 0) + 2;
    if (greedy) {
      for (std::size_t i = 0; ready != 0 && issues != 0 && i < scheduler.by_age.size(); ++i) {
        const WarpMask bit = WarpMask{1} << scheduler.by_age[i];
        if ((ready & bit) == 0) continue;
        mask |= bit;
        --issues;
      }
      if (scheduler.greedy < 64) mask |= WarpMask{1} << scheduler.greedy;
    } else {
      const auto first = (scheduler.last + 1) % 64;
      for (ready = std::rotr(ready, first); ready != 0 && issues != 0; ready &= ready - 1, --issues)
        mask |= std::rotl(ready & -ready, first);
    }
    masks[s] = mask;
    for (; mask != 0; mask &= mask - 1) {
      const std::uint32_t slot = slot_of(s, static_cast<std::uint32_t>(std::countr_zero(mask)));
      __builtin_prefetch(&warps[slot], 1);
      scoreboard.prefetch(slot);
    }
  }
  for (const MemReply& reply : mailbox.in) __builtin_prefetch(&requests[reply.tag], 1);
  for (std::uint32_t s = 0; s < schedulers_count; ++s) {
    for (WarpMask mask = masks[s]; mask != 0; mask &= mask - 1) {
      const Warp& warp = warps[slot_of(s, static_cast<std::uint32_t>(std::countr_zero(mask)))];
      if (warp.next == warp.end) continue;
      __builtin_prefetch(warp.next);
      __builtin_prefetch(warp.next + 1);  // looked at when the first has issued
    }
  }
}

/// What the replies that have come will touch.
void Sm::State::prefetch_fills() const {
  for (const MemReply& reply : mailbox.in) {
    const Request& request = requests[reply.tag];
    if (request.purpose == Purpose::L1Fill) {
      l1.prefetch(request.line);
      l1.prefetch_mshr(request.target);
    } else if (request.purpose <= Purpose::Atomic) {
      __builtin_prefetch(&ops[request.target], 1);
    }
  }
}

}  // namespace gpumux::sm
