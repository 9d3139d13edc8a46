// Events of the near future, by core cycle.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <numeric>
#include <vector>

#include "base/huge_pages.hpp"
#include "base/types.hpp"
#include "l2/request.hpp"

namespace gpumux::l2 {

/// The occupied cycles in [now, now + span), as bits. `now` is the cycle of the last query.
class TimeWheel {
 public:
  explicit TimeWheel(std::uint32_t span)
      : words_(std::bit_ceil(std::max(span, 64U)) / 64),
        mask_(static_cast<std::uint32_t>(words_.size()) * 64 - 1) {}
  [[nodiscard]] std::uint32_t span() const { return mask_ + 1; }
  [[nodiscard]] std::uint32_t slot(Cycle cycle) const { return static_cast<std::uint32_t>(cycle) & mask_; }
  [[nodiscard]] Cycle next() const { return next_; }
  void add(Cycle cycle) {
    const std::uint32_t s = slot(cycle);
    words_[s / 64] |= std::uint64_t{1} << (s % 64);
    next_ = std::min(next_, cycle);
  }
  /// Clears next(), the earliest occupied cycle.
  void clear_next() {
    const std::uint32_t s = slot(next_);
    words_[s / 64] &= ~(std::uint64_t{1} << (s % 64));
    // Searches the later bits of this word, then the other words in turn, then this word's earlier bits.
    std::uint64_t bits = words_[s / 64] >> (s % 64);
    if (bits != 0) {
      next_ += static_cast<std::uint32_t>(std::countr_zero(bits));
      return;
    }
    const std::uint32_t count = span() / 64;
    for (std::uint32_t i = 1; i <= count; ++i) {
      const std::uint32_t word = (s / 64 + i) & (count - 1);
      bits = words_[word];
      if (bits != 0) {
        next_ += (word * 64 + static_cast<std::uint32_t>(std::countr_zero(bits)) - s) & mask_;
        return;
      }
    }
    next_ = kNever;
  }

 private:
  HugePageVector<std::uint64_t> words_;
  std::uint32_t mask_;
  Cycle next_ = kNever;
};

/// Requests in order of (arrival, SM, order of sending).
class Arrivals {
 public:
  explicit Arrivals(std::uint32_t span)
      : wheel_(span), heads_(wheel_.span(), kNoRequest), tails_(wheel_.span()) {}
  [[nodiscard]] std::uint32_t span() const { return wheel_.span(); }
  [[nodiscard]] Cycle next() const { return wheel_.next(); }
  /// Adds a request. Its `time` must be less than span() after now and after all other times in the wheel.
  void add(RequestPool& pool, RequestIndex index) {
    Request& request = pool[index];
    const std::uint32_t slot = wheel_.slot(request.time);
    request.next = kNoRequest;
    if (heads_[slot] == kNoRequest) {
      heads_[slot] = tails_[slot] = index;
      wheel_.add(request.time);
    } else if (pool[tails_[slot]].sm <= request.sm) {
      pool[tails_[slot]].next = index;
      tails_[slot] = index;
    } else if (pool[heads_[slot]].sm > request.sm) {
      request.next = heads_[slot];
      heads_[slot] = index;
    } else {
      RequestIndex before = heads_[slot];
      while (pool[pool[before].next].sm <= request.sm) before = pool[before].next;
      request.next = pool[before].next;
      pool[before].next = index;
    }
  }
  /// Takes the requests of cycle next(), as a list linked through Request::next.
  RequestIndex take() {
    RequestIndex& head = heads_[wheel_.slot(wheel_.next())];
    const RequestIndex index = head;
    head = kNoRequest;
    wheel_.clear_next();
    return index;
  }

 private:
  TimeWheel wheel_;
  HugePageVector<RequestIndex> heads_;
  HugePageVector<RequestIndex> tails_;
};

/// Sums of credits by cycle of arrival.
class CreditWheel {
 public:
  explicit CreditWheel(std::uint32_t span) : wheel_(span), flits_(wheel_.span(), 0) {}
  [[nodiscard]] Cycle next() const { return wheel_.next(); }
  /// All credits that have not arrived yet. Slow.
  [[nodiscard]] std::uint64_t sum() const {
    return std::accumulate(flits_.begin(), flits_.end(), std::uint64_t{0});
  }
  void add(Cycle cycle, std::uint32_t flits) {
    flits_[wheel_.slot(cycle)] += flits;
    wheel_.add(cycle);
  }
  std::uint32_t take() {
    std::uint32_t& sum = flits_[wheel_.slot(wheel_.next())];
    const std::uint32_t flits = sum;
    sum = 0;
    wheel_.clear_next();
    return flits;
  }

 private:
  TimeWheel wheel_;
  HugePageVector<std::uint32_t> flits_;
};

}  // namespace gpumux::l2
