// Loading the host's cache ahead of use.
#pragma once

#include <cstddef>

#include "base/compiler.hpp"

namespace gpumux {

// GCC takes a function that only prefetches for one without effect and drops calls of it, so those with a
// loop or a caller of their kind must be inlined before it looks.

/// The cache lines of [first, last).
[[gnu::always_inline]] inline void prefetch_lines(const void* first, const void* last) {
  constexpr std::size_t kLine = 64;
  GPUMUX_UNROLL_4
  for (const auto* at = static_cast<const std::byte*>(first); at < last; at += kLine)
    __builtin_prefetch(at, 1);
}

}  // namespace gpumux
