// The requests of a slice that have not reached its tags yet.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "base/huge_pages.hpp"
#include "base/types.hpp"
#include "l2/request.hpp"

namespace gpumux::l2 {

/// One queue in three parts, from the tags outwards: the input (pipeline and input queue), the entrance
/// (requests that have passed the ejection port), and the network (requests that have arrived). A request
/// moves on when the border of a part moves.
/// The queue keeps what the ports and the pipeline need close together, because a request's record was
/// written long before and is no longer in the host's cache. Only the network part is unbounded, so the queue
/// grows if senders ignore their credits.
class Approach {
 public:
  struct Place {
    std::uint64_t time;  // core cycle of arrival; in the input: L2 cycle from which the tags may be read
    RequestIndex request;
    std::uint32_t set;
    SmId sm;
    std::uint8_t flits;
  };

  explicit Approach(std::uint32_t capacity)
      : places_(std::bit_ceil(capacity)), mask_(std::bit_ceil(capacity) - 1) {}

  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] std::uint32_t input() const { return input_; }
  [[nodiscard]] std::uint32_t entrance() const { return entrance_; }
  [[nodiscard]] std::uint32_t network() const { return size_ - input_ - entrance_; }
  /// True if no request is outside the input.
  [[nodiscard]] bool all_in() const { return size_ == input_; }

  /// The n-th request from the front of the input.
  [[nodiscard]] const Place& operator[](std::uint32_t n) const { return places_[(head_ + n) & mask_]; }
  [[nodiscard]] const Place& front() const { return places_[head_]; }
  /// The oldest request of the entrance, or of the network if the entrance is empty.
  [[nodiscard]] Place& first_outside() { return places_[(head_ + input_) & mask_]; }
  [[nodiscard]] Place& first_in_network() { return places_[(head_ + input_ + entrance_) & mask_]; }
  [[nodiscard]] const Place& first_in_network() const {
    return places_[(head_ + input_ + entrance_) & mask_];
  }

  Place& arrive(const Request& request, RequestIndex index) {
    if (size_ > mask_) grow();
    Place& last = places_[(head_ + size_++) & mask_];
    last.time = request.time;
    last.request = index;
    last.set = request.set;
    last.sm = request.sm;
    last.flits = request.flits;
    return last;
  }
  /// Moves first_in_network() to the entrance.
  void enter() { ++entrance_; }
  /// Moves first_outside() from the entrance or the network to the input.
  void admit() {
    constexpr std::uint32_t kAhead = 4;
    __builtin_prefetch(&places_[(head_ + input_ + kAhead) & mask_], 1);
    ++input_;
    if (entrance_ != 0) --entrance_;
  }
  void pop() {
    head_ = (head_ + 1) & mask_;
    --size_;
    --input_;
  }
  /// Prefetches the front of each part into the host's cache.
  [[gnu::always_inline]] void prefetch() const {
    __builtin_prefetch(&places_[head_], 1);
    __builtin_prefetch(&places_[(head_ + input_) & mask_], 1);
    __builtin_prefetch(&places_[(head_ + input_ + entrance_) & mask_], 1);
    __builtin_prefetch(&places_[(head_ + size_) & mask_], 1);
  }

 private:
  void grow() {
    std::rotate(places_.begin(), places_.begin() + head_, places_.end());
    head_ = 0;
    places_.resize(places_.size() * 2);
    mask_ = static_cast<std::uint32_t>(places_.size()) - 1;
  }

  HugePageVector<Place> places_;
  std::uint32_t mask_;
  std::uint32_t head_ = 0;
  std::uint32_t size_ = 0;
  std::uint32_t input_ = 0;
  std::uint32_t entrance_ = 0;
};

}  // namespace gpumux::l2
