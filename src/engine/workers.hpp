// A few threads that run the parts of one window of time concurrently.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <thread>
#include <vector>

namespace gpumux::engine {

/// First of the `count` parts that thread t owns. The thread runs its own parts, unless another thread is
/// idle and takes some of them.
[[nodiscard]] inline std::uint32_t first_owned(std::uint32_t t, std::uint32_t count, std::uint32_t threads) {
  return count * t / threads;
}

/// Runs the parts of a window on all threads. Windows take only some microseconds, so handing out work must
/// be cheap and keep parts on the same core: each thread has a share of its own, whose state stays in its
/// core's cache. A thread that has finished its share takes parts from shares whose owners will not reach
/// them soon. If the host is busy and a helper starts late, the others wait a microsecond or two, and the
/// helper then finds nothing to do. Results do not depend on which thread runs an index, because parts
/// share nothing during a window.
class Workers {
 public:
  /// Starts threads - 1 helpers; the caller is the remaining thread. Throws UserError if the system
  /// cannot create the threads.
  explicit Workers(unsigned threads);
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  [[nodiscard]] unsigned threads() const { return static_cast<unsigned>(threads_.size()) + 1; }

  /// Calls work(thread, first, last) for disjoint ranges that make up [0, bounds.back()), and returns when
  /// all calls have returned. The share of thread t is [bounds[t], bounds[t + 1]). `bounds` has threads() + 1
  /// entries: the first is 0, the last is less than 65536. `work` must not throw.
  template <typename Work>
  void run(std::span<const std::uint32_t> bounds, const Work& work) {
    if (is_for_caller(bounds)) {
      if (bounds.back() != 0) work(std::uint32_t{0}, std::uint32_t{0}, bounds.back());
      return;
    }
    start(
        bounds,
        [](const void* context, std::uint32_t thread, std::uint32_t first, std::uint32_t last) {
          (*static_cast<const Work*>(context))(thread, first, last);
        },
        &work);
  }

 private:
  using Call = void (*)(const void*, std::uint32_t, std::uint32_t, std::uint32_t);
  /// A thread's share of a call. `at` holds the generation of the call (bits 32 to 63), the next index (bits
  /// 16 to 31) and the end in one word, so that a late helper's claim on an old generation fails.
  struct alignas(64) Share {
    std::atomic<std::uint64_t> at{0};
    std::atomic<std::uint32_t> owner_came{0};  // generation of the last call that the owner joined
  };
  struct Claim;
  [[nodiscard]] bool is_for_caller(std::span<const std::uint32_t> bounds) const {
    if (threads_.empty() || bounds.back() == 0) return true;
    return bounds.back() == 1 && (bounds[1] == 1 || sleepers_.load() != 0);
  }
  void start(std::span<const std::uint32_t> bounds, Call call, const void* context);
  void take_ranges(unsigned self, std::uint32_t generation);
  bool take_range_of(unsigned self, Share& share, std::uint32_t generation);
  [[nodiscard]] static bool leave_to_owner(const Share& share, std::uint32_t generation, unsigned& waited);
  void end_helpers();
  void helper(unsigned self);

  std::vector<std::jthread> threads_;
  bool patient_;
  std::unique_ptr<Share[]> shares_;
  alignas(64) std::atomic<std::uint32_t> generation_{0};
  std::atomic<unsigned> sleepers_{0};
  std::atomic<bool> stop_{false};
  alignas(64) std::atomic<std::uint32_t> done_{0};
  Call call_ = nullptr;
  const void* context_ = nullptr;
};

}  // namespace gpumux::engine
