// A CPU core as data: its parameters.
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

/// Defaults are kayiran14's core (Table I); what the paper leaves open is marked so (docs/cpu.md). Cycles are
/// the core's own; the caller converts.
struct CpuConfig {
  std::uint32_t window = 128;           // instructions between dispatch and retirement, 1..128
  std::uint32_t width = 3;              // instructions dispatched, issued and retired per cycle, 1..16
  CpuCacheConfig l1{32 * 1024, 4, 2};   // data alone; instructions are always at hand
  CpuCacheConfig l2{256 * 1024, 8, 8};  // looked up after L1: a hit takes both latencies, at most 63 together
  std::uint32_t mshrs = 16;             // lines under way to L1, 1..64 (open)
  std::uint32_t outbox = 16;            // requests that wait to be taken, beyond which misses wait (open)
  bool fold_stack_pointer = true;       // known at decode but for changes by a variable amount (open)
  bool forward_stores = true;           // a load of a word that the window stores to has it from there (open)

  /// 0: every branch is predicted. Otherwise, 1..20: gshare with 2^so many counters of two bits, which start
  /// as weakly taken, and as much history (McFarling 1993); targets are always known (open).
  std::uint32_t predictor_bits = 0;
  std::uint32_t redirect = 10;  // cycles from a mispredicted branch's completion to what enters next (open)
};

}  // namespace gpumux::arch
