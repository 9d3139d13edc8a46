#include "machine/workers.hpp"

namespace gpumux::machine {
namespace {

/// Spins, then yields: helpers are idle for about as long as the serial part of a window lasts.
template <typename Condition>
void wait_until(const Condition& condition) {
  for (unsigned spins = 0; !condition(); ++spins) {
    if (spins < 4096) {
#if defined(__x86_64__)
      __builtin_ia32_pause();
#endif
    } else {
      std::this_thread::yield();
    }
  }
}

}  // namespace

Workers::Workers(unsigned threads) {
  for (unsigned i = 1; i < threads; ++i) threads_.emplace_back([this] { helper(); });
}

Workers::~Workers() {
  stop_.store(true);
  generation_.fetch_add(1);
  threads_.clear();  // joins, while what the helpers look at still exists
}

void Workers::start(std::size_t count, Call call, const void* context) {
  count_ = count;
  call_ = call;
  context_ = context;
  error_ = nullptr;
  next_.store(0, std::memory_order_relaxed);
  busy_.store(static_cast<unsigned>(threads_.size()), std::memory_order_relaxed);
  generation_.fetch_add(1, std::memory_order_release);
  take_indices();
  wait_until([this] { return busy_.load(std::memory_order_acquire) == 0; });
  if (error_) std::rethrow_exception(error_);
}

void Workers::take_indices() {
  while (true) {
    const std::size_t i = next_.fetch_add(1, std::memory_order_relaxed);
    if (i >= count_) return;
    try {
      call_(context_, i);
    } catch (...) {
      const std::lock_guard lock(error_mutex_);
      if (!error_ || i < error_index_) {
        error_ = std::current_exception();
        error_index_ = i;
      }
    }
  }
}

void Workers::helper() {
  std::uint64_t seen = 0;
  while (true) {
    wait_until([&] { return generation_.load(std::memory_order_acquire) != seen; });
    seen = generation_.load(std::memory_order_acquire);
    if (stop_.load()) return;
    take_indices();
    busy_.fetch_sub(1, std::memory_order_release);
  }
}

}  // namespace gpumux::machine
