// Parameters of a CPU core.
#pragma once

#include <cstdint>

#include "base/types.hpp"

namespace gpumux::arch {

/// A cache of a CPU core with lines of 128 B, write-back and write-allocate, with true LRU.
struct CpuCacheConfig {
  std::uint32_t bytes = 0;    // ways * 128 * a power of two
  std::uint32_t ways = 0;     // 1..64
  std::uint32_t latency = 0;  // cycles of a lookup, from 1
};

/// Parameters of a CPU core. Defaults are those of kayiran14 (Table I); "(open)" marks what the paper leaves
/// open (docs/cpu.md). Cycles are cycles of the core's clock; the caller converts them.
struct CpuConfig {
  std::uint32_t window = 128;           // instructions between dispatch and retirement, 1..128
  std::uint32_t width = 3;              // instructions dispatched, issued and retired per cycle, 1..16
  CpuCacheConfig l1{32 * 1024, 4, 2};   // data only; instruction fetches always hit
  CpuCacheConfig l2{256 * 1024, 8, 8};  // looked up after L1: a hit takes both latencies, together at most 63
  std::uint32_t mshrs = 16;             // lines in flight to L1, 1..64 (open)
  std::uint32_t outbox = 16;            // requests waiting to be taken; while it is full, misses wait (open)
  bool fold_stack_pointer = true;       // the stack pointer is known at decode, except after changes
                                        // by a variable amount (open)
  bool forward_stores = true;           // a load gets a word from an older store in the window (open)

  /// 0: all branches are predicted correctly. Otherwise 1..20: gshare with 2^predictor_bits counters of
  /// two bits, initially weakly taken, and a history of predictor_bits branches (McFarling 1993).
  /// Targets are always known (open).
  std::uint32_t predictor_bits = 0;
  std::uint32_t redirect = 10;  // cycles from completion of a mispredicted branch to the next instruction
                                // (open)
};

}  // namespace gpumux::arch
