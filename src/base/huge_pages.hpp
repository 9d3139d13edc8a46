// Host memory in huge pages, for state that is accessed all over, a little at a time. With pages of 4 KB, the
// state of thousands of warps would cost a page-table walk per access.
#pragma once

#include <cstddef>
#include <limits>
#include <memory>
#include <new>
#include <type_traits>
#include <vector>

namespace gpumux {

/// Allocates at least `bytes` of uninitialised memory, aligned to a cache line of 64 bytes. Blocks of one
/// size are adjacent, so sizes that are odd multiples of 64 spread over the sets of the host's caches. Thread
/// safe.
[[nodiscard]] void* huge_page_allocate(std::size_t bytes);
/// Frees a block for reuse by the next allocation of this size. `bytes`: the size given to
/// huge_page_allocate().
void huge_page_free(void* block, std::size_t bytes) noexcept;

template <typename T>
struct HugePageAllocator {
  using value_type = T;
  HugePageAllocator() = default;
  template <typename U>
  HugePageAllocator(const HugePageAllocator<U>&) {}  // NOLINT: conversion is the point
  [[nodiscard]] T* allocate(std::size_t count) {
    if (count > std::numeric_limits<std::size_t>::max() / sizeof(T)) throw std::bad_array_new_length();
    return static_cast<T*>(huge_page_allocate(count * sizeof(T)));
  }
  void deallocate(T* block, std::size_t count) noexcept { huge_page_free(block, count * sizeof(T)); }
  template <typename U>
  bool operator==(const HugePageAllocator<U>&) const {
    return true;
  }
};

template <typename T>
using HugePageVector = std::vector<T, HugePageAllocator<T>>;

template <typename T>
struct HugePageDelete {
  std::size_t count = 0;
  void operator()(T* block) const noexcept { huge_page_free(block, count * sizeof(T)); }
};
template <typename T>
using HugePageArray = std::unique_ptr<T[], HugePageDelete<T>>;

/// An uninitialised array of `count` elements in huge pages.
template <typename T>
[[nodiscard]] HugePageArray<T> make_huge_page_array(std::size_t count) {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);
  return HugePageArray<T>(HugePageAllocator<T>{}.allocate(count), HugePageDelete<T>{count});
}

}  // namespace gpumux
