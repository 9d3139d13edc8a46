// Prefetching into the host's cache.
#pragma once

#include <cstddef>

#include "base/compiler.hpp"

namespace gpumux {

// GCC considers a function that only prefetches to have no effect and drops calls of it. So such functions
// that have a loop, or that call another one, must be inlined early.

/// Prefetches the cache lines of [first, last) for writing.
[[gnu::always_inline]] inline void prefetch_lines(const void* first, const void* last) {
  constexpr std::size_t kLine = 64;
  GPUMUX_UNROLL_4
  for (const auto* at = static_cast<const std::byte*>(first); at < last; at += kLine)
    __builtin_prefetch(at, 1);
}

}  // namespace gpumux
