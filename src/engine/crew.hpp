// The threads of a simulation, and which parts of a group each thread runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <mutex>
#include <vector>

#include "engine/exchange.hpp"
#include "engine/workers.hpp"

namespace gpumux::engine {

class Crew {
 public:
  explicit Crew(unsigned threads);

  [[nodiscard]] std::uint32_t threads() const { return workers_.threads(); }

  /// Indices of the parts of a group that run next, in ascending order. The caller fills this list.
  [[nodiscard]] std::vector<std::uint32_t>& awake() { return awake_; }
  [[nodiscard]] std::uint32_t part(std::uint32_t k) const { return awake_[k]; }

  /// Calls work(thread, k, last) for each place k of awake(), on all threads. Places [k, last) belong to
  /// the same thread, which continues with them. Each of the group's `count` parts is run by the same
  /// thread every time, unless that thread is busy. If parts throw, the exception of the part with the
  /// lowest index is rethrown.
  template <typename Work>
  void run(std::uint32_t count, const Work& work) {
    share_out(count);
    workers_.run(bounds_, [this, &work](std::uint32_t thread, std::uint32_t first, std::uint32_t last) {
      for (std::uint32_t k = first; k < last; ++k) {
        try {
          work(thread, k, last);
        } catch (...) {
          note_error(awake_[k]);
        }
      }
    });
    if (error_) std::rethrow_exception(error_);
  }

  /// Delivers what the parts of the last run() have sent; each thread delivers to the parts that it owns.
  /// next: see Exchange::deliver().
  template <typename Message>
  void deliver(Exchange<Message>& exchange, Cycle* next) {
    if (threads() == 1 || awake_.empty()) return;
    if (awake_.size() < kManySenders) {
      exchange.deliver_all(next);
      return;
    }
    workers_.run(one_each_, [&](std::uint32_t /*thread*/, std::uint32_t first, std::uint32_t last) {
      for (std::uint32_t owner = first; owner < last; ++owner) exchange.deliver(owner, next);
    });
  }

 private:
  /// With fewer senders than this, one thread delivers all messages sooner than several threads would.
  static constexpr std::size_t kManySenders = 8;

  void share_out(std::uint32_t count);
  void note_error(std::uint32_t part);

  Workers workers_;
  std::vector<std::uint32_t> awake_;
  std::vector<std::uint32_t> bounds_;    // bounds_[t]: where the parts of thread t start in awake_
  std::vector<std::uint32_t> one_each_;  // bounds that give each thread one thing: 0, 1, ... threads
  std::mutex error_mutex_;
  std::exception_ptr error_;  // exception of the failed part with the lowest index
  std::uint32_t error_part_ = 0;
};

}  // namespace gpumux::engine
