// A few threads that run the parts of one window of time side by side.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <thread>
#include <vector>

namespace gpumux::engine {

/// The first of `count` parts that thread t owns: it runs them unless others have nothing else to do.
[[nodiscard]] inline std::uint32_t first_owned(std::uint32_t t, std::uint32_t count, std::uint32_t threads) {
  return count * t / threads;
}

/// Windows are some microseconds long, so what is handed out must cost little and stay where it is: each
/// thread has a share of its own, so that the state of its parts stays in its core's cache, and takes from
/// the others' shares when that is done and they will not come to it soon. A helper that comes late, because
/// the host is busy, is waited for a microsecond or two and then finds nothing to do. Which thread takes an
/// index never shows in results: the parts share nothing during a window.
class Workers {
 public:
  /// threads - 1 helpers beside the caller. Throws UserError when the system gives no more threads.
  explicit Workers(unsigned threads);
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  [[nodiscard]] unsigned threads() const { return static_cast<unsigned>(threads_.size()) + 1; }

  /// Calls work(thread, first, last) for disjoint ranges that make up [0, bounds.back()), and returns when
  /// all are done. Thread t's share is [bounds[t], bounds[t + 1]); bounds has threads() + 1 entries, the
  /// first 0, the last less than 65536. `work` must not throw.
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
  /// Generation of the call (bits 32 to 63), next index (16 to 31), end: one word, so that a claim of a late
  /// helper fails.
  struct alignas(64) Share {
    std::atomic<std::uint64_t> at{0};
    std::atomic<std::uint32_t> owner_came{0};  // the generation of its last call
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
