// A CPU core as data: its parameters, and what it counts.
#pragma once

#include <cstdint>

#include "base/types.hpp"

namespace gpumux::cpu {

/// A cache with lines of 128 B, write-back and write-allocate, with true LRU.
struct CacheConfig {
  std::uint32_t bytes = 0;    // ways * 128 * a power of two
  std::uint32_t ways = 0;     // 1..64
  std::uint32_t latency = 0;  // cycles of a lookup, from 1
};

/// Defaults are kayiran14's core (Table I); what the paper leaves open is marked so (docs/cpu.md). Cycles are
/// the core's own; the caller converts.
struct CpuConfig {
  std::uint32_t window = 128;        // instructions between dispatch and retirement, 1..128
  std::uint32_t width = 3;           // instructions dispatched, issued and retired per cycle, 1..16
  CacheConfig l1{32 * 1024, 4, 2};   // data alone; instructions are always at hand
  CacheConfig l2{256 * 1024, 8, 8};  // looked up after L1: a hit takes both latencies, at most 63 together
  std::uint32_t mshrs = 16;          // lines under way to L1, 1..64 (open)
  std::uint32_t outbox = 16;         // requests that wait to be taken, beyond which misses wait (open)
  bool fold_stack_pointer = true;    // known at decode but for changes by a variable amount (open)
  bool forward_stores = true;        // a load of a word that the window stores to has it from there (open)

  /// 0: every branch is predicted. Otherwise, 1..20: gshare with 2^so many counters of two bits, which start
  /// as weakly taken, and as much history (McFarling 1993); targets are always known (open).
  std::uint32_t predictor_bits = 0;
  std::uint32_t redirect = 10;  // cycles from a mispredicted branch's completion to what enters next (open)

  /// Throws UserError that says which value is out of its range.
  void check() const;
};

/// What a core has counted since it began. All but the last cycle's are final; of two copies, the difference
/// is what came between.
struct Counters {
  std::uint64_t cycles = 0;
  std::uint64_t instructions = 0;  // retired, as the next four
  std::uint64_t loads = 0;         // operands that are loaded: an instruction may have several
  std::uint64_t stores = 0;        // operands that are stored to
  std::uint64_t branches = 0;
  std::uint64_t mispredictions = 0;   // of branches that have entered the window
  std::uint64_t forwarded_loads = 0;  // from a store in the window; no access of L1
  std::uint64_t l1_accesses = 0;      // hits, misses and merges
  std::uint64_t l1_misses = 0;        // those that took an MSHR: each is an access of L2
  std::uint64_t l1_merges = 0;        // those that joined a line under way
  std::uint64_t l2_misses = 0;        // each is a read request
  std::uint64_t l1_writebacks = 0;    // dirty lines from L1 to L2
  std::uint64_t l2_writebacks = 0;    // dirty lines from L2: each is a write request
  /// Cycles that dispatch nothing, as the window is full, by what its oldest instruction waits for: data that
  /// it loads, an MSHR, a place in the outbox, anything else (operands, its turn).
  std::uint64_t stalled_by_load = 0;
  std::uint64_t stalled_by_mshrs = 0;
  std::uint64_t stalled_by_outbox = 0;
  std::uint64_t stalled_by_rest = 0;
  std::uint64_t stalled_by_branches = 0;  // the window has places, but what comes next is not known
  std::uint64_t replies = 0;              // to read requests
  std::uint64_t memory_latency = 0;       // sum over these, from the request's cycle to the reply's

  Counters& operator-=(const Counters& other);
  friend Counters operator-(Counters a, const Counters& b) { return a -= b; }
  friend bool operator==(const Counters&, const Counters&) = default;
};

}  // namespace gpumux::cpu
