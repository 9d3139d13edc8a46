// What a CPU core is given, and what it counts.
#pragma once

#include <cstdint>

#include "arch/cpu_config.hpp"
#include "base/types.hpp"

namespace gpumux::cpu {

using CacheConfig = arch::CpuCacheConfig;
using arch::CpuConfig;

/// Throws UserError that says which value is out of its range.
void check(const CpuConfig& config);

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
