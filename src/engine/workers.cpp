#include "engine/workers.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <system_error>

#include "base/error.hpp"

namespace gpumux::engine {
namespace {

/// Most indices that a thread claims at a time from a share with many left. Within a range, the state of
/// the next part is prefetched.
constexpr std::uint32_t kRange = 8;
/// Rounds that a helper spins, then yields, before it sleeps. The serial part between windows takes a few
/// microseconds; after some hundred microseconds the helper's core is better used otherwise.
constexpr unsigned kSpins = 2048;
constexpr unsigned kYields = 64;
/// Rounds that a thread waits before it takes indices of another owner's share. The state of the
/// share's parts is in the owner's cache, and fetching it takes nearly as long as running the part.
/// kPatience gives an owner time to start, kLastPatience gives an owner that has started time to reach
/// the last part of its share.
constexpr unsigned kPatience = 64;
constexpr unsigned kLastPatience = 1024;

void pause(unsigned round) {
  if (round >= kSpins) {
    std::this_thread::yield();
    return;
  }
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

}  // namespace

/// The fields of Share::at.
struct Workers::Claim {
  explicit Claim(std::uint64_t at)
      : generation(static_cast<std::uint32_t>(at >> 32U)),
        first(static_cast<std::uint32_t>(at >> 16U & 0xffffU)),
        end(static_cast<std::uint32_t>(at & 0xffffU)) {}
  std::uint32_t generation, first, end;
};

Workers::Workers(unsigned threads)
    // With more threads than processors, an owner may be descheduled for long, so
    // waiting for it does not pay off.
    : patient_(threads <= std::thread::hardware_concurrency()),
      shares_(std::make_unique<Share[]>(threads == 0 ? 1 : threads)) {
  try {
    for (unsigned i = 1; i < threads; ++i) threads_.emplace_back([this, i] { helper(i); });
  } catch (const std::system_error& error) {
    const std::size_t made = threads_.size() + 1;
    end_helpers();
    throw UserError(fmt::format("no thread {} of {} ({}); fewer --threads need fewer", made + 1, threads,
                                error.code().message()));
  } catch (...) {
    end_helpers();
    throw;
  }
}

Workers::~Workers() { end_helpers(); }

void Workers::end_helpers() {
  stop_.store(true);
  generation_.fetch_add(1);
  generation_.notify_all();
  threads_.clear();  // joins the helpers while the members that they use still exist
}

void Workers::start(std::span<const std::uint32_t> bounds, Call call, const void* context) {
  GPUMUX_CHECK(bounds.size() == threads_.size() + 2 && bounds.back() < (1U << 16U));
  call_ = call;
  context_ = context;
  done_.store(0, std::memory_order_relaxed);
  const std::uint32_t generation = generation_.load(std::memory_order_relaxed) + 1;
  for (std::size_t t = 0; t + 1 < bounds.size(); ++t) {
    shares_[t].at.store(std::uint64_t{generation} << 32U | std::uint64_t{bounds[t]} << 16U | bounds[t + 1],
                        std::memory_order_release);
  }
  generation_.store(generation);
  if (sleepers_.load() != 0) generation_.notify_all();
  take_ranges(0, generation);
  for (unsigned round = 0; done_.load(std::memory_order_acquire) != bounds.back(); ++round) pause(round);
}

void Workers::take_ranges(unsigned self, std::uint32_t generation) {
  const auto count = static_cast<unsigned>(threads_.size()) + 1;
  shares_[self].owner_came.store(generation, std::memory_order_relaxed);
  while (take_range_of(self, shares_[self], generation)) {
  }
  unsigned waited = patient_ ? 0 : kLastPatience;
  for (unsigned t = 1; t < count; ++t) {
    Share& share = shares_[(self + t) % count];
    while (leave_to_owner(share, generation, waited) && take_range_of(self, share, generation)) {
    }
  }
}

/// Waits as long as the owner of the share may still take its parts; `waited` counts the rounds of the whole
/// call. Returns false if nothing is left in the share.
bool Workers::leave_to_owner(const Share& share, std::uint32_t generation, unsigned& waited) {
  for (;; ++waited) {
    const Claim claim(share.at.load(std::memory_order_acquire));
    if (claim.generation != generation || claim.first == claim.end) return false;
    unsigned patience = kPatience;
    if (share.owner_came.load(std::memory_order_relaxed) == generation)
      patience = claim.first + 1 == claim.end ? kLastPatience : 0;
    if (waited >= patience) return true;
    pause(waited);
  }
}

/// Runs one range of a share. Returns false if nothing is left in the share.
bool Workers::take_range_of(unsigned self, Share& share, std::uint32_t generation) {
  std::uint64_t at = share.at.load(std::memory_order_acquire);
  while (true) {
    const Claim claim(at);
    if (claim.generation != generation || claim.first == claim.end) return false;
    // Ranges shrink towards the end of a share, so that all threads finish at about the same time.
    const std::uint32_t count = std::clamp((claim.end - claim.first) / 2, std::uint32_t{1}, kRange);
    if (!share.at.compare_exchange_weak(at, at + (std::uint64_t{count} << 16U), std::memory_order_acq_rel,
                                        std::memory_order_acquire))
      continue;
    call_(context_, self, claim.first, claim.first + count);
    done_.fetch_add(count, std::memory_order_release);
    return true;
  }
}

void Workers::helper(unsigned self) {
  std::uint32_t seen = 0;
  while (true) {
    for (unsigned round = 0; generation_.load(std::memory_order_acquire) == seen; ++round) {
      if (round < kSpins + kYields) {
        pause(round);
        continue;
      }
      sleepers_.fetch_add(1);
      generation_.wait(seen);
      sleepers_.fetch_sub(1);
    }
    seen = generation_.load(std::memory_order_acquire);
    if (stop_.load()) return;
    take_ranges(self, seen);
  }
}

}  // namespace gpumux::engine
