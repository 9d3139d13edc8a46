// Records with an index, without allocation in the steady state: requests are indices, not pointers.
#pragma once

#include <cstdint>

#include "base/error.hpp"
#include "base/huge_pages.hpp"

namespace gpumux::sm {

inline constexpr std::uint32_t kNil = 0xffff'ffffU;

/// Grows to the largest number of records ever in use. Recycles the records that were freed last.
template <typename T>
class Pool {
 public:
  std::uint32_t take() {
    const std::uint32_t index = take_stale();
    items_[index] = T{};
    return index;
  }
  /// Takes a record without clearing it: the caller must write all of it.
  std::uint32_t take_stale() {
    ++in_use_;
    if (free_.empty()) {
      items_.emplace_back();
      return static_cast<std::uint32_t>(items_.size() - 1);
    }
    const std::uint32_t index = free_.back();
    free_.pop_back();
    return index;
  }
  void give(std::uint32_t index) {
    GPUMUX_DCHECK(in_use_ > 0 && index < items_.size());
    --in_use_;
    free_.push_back(index);
  }
  T& operator[](std::uint32_t index) { return items_[index]; }
  const T& operator[](std::uint32_t index) const { return items_[index]; }
  [[nodiscard]] std::uint32_t in_use() const { return in_use_; }

 private:
  HugePageVector<T> items_;
  HugePageVector<std::uint32_t> free_;
  std::uint32_t in_use_ = 0;
};

/// A FIFO in a ring that doubles its size when it is full.
template <typename T>
class Fifo {
 public:
  void push(const T& value) {
    if (size_ == items_.size()) grow();
    items_[(head_ + size_++) & (items_.size() - 1)] = value;
  }
  [[nodiscard]] T& front() { return items_[head_]; }
  [[nodiscard]] const T& at(std::size_t i) const { return items_[(head_ + i) & (items_.size() - 1)]; }
  void pop() {
    GPUMUX_DCHECK(size_ > 0);
    head_ = (head_ + 1) & (items_.size() - 1);
    --size_;
  }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] std::size_t size() const { return size_; }
  /// Prefetches the front into the host's cache.
  [[gnu::always_inline]] void prefetch() const { __builtin_prefetch(&items_[head_]); }

 private:
  void grow() {
    HugePageVector<T> larger(items_.size() * 2);
    for (std::size_t i = 0; i < size_; ++i) larger[i] = at(i);
    items_.swap(larger);
    head_ = 0;
  }
  HugePageVector<T> items_ = HugePageVector<T>(16);
  std::size_t head_ = 0;
  std::size_t size_ = 0;
};

}  // namespace gpumux::sm
