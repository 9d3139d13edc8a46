// A queue of bounded length, stored as a ring in one array.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "base/error.hpp"

namespace gpumux::cpu {

template <typename T>
class Ring {
 public:
  explicit Ring(std::uint32_t most) : items_(std::bit_ceil(most)), mask_(std::bit_ceil(most) - 1) {}
  [[nodiscard]] bool empty() const { return begin_ == end_; }
  [[nodiscard]] const T& front() const { return items_[begin_ & mask_]; }
  void push(const T& item) {
    GPUMUX_DCHECK(end_ - begin_ <= mask_);
    items_[end_++ & mask_] = item;
  }
  void pop() { ++begin_; }

 private:
  std::vector<T> items_;
  std::uint32_t mask_;
  std::uint32_t begin_ = 0;
  std::uint32_t end_ = 0;
};

}  // namespace gpumux::cpu
