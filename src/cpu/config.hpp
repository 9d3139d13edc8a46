// Configuration and counters of a CPU core.
#pragma once

#include <cstdint>

#include "arch/cpu_config.hpp"
#include "base/types.hpp"

namespace gpumux::cpu {

using CacheConfig = arch::CpuCacheConfig;
using arch::CpuConfig;

/// Throws UserError that names the value out of its range.
void check(const CpuConfig& config);

/// Counters of a core since its start. The difference of two copies counts what happened between them.
struct Counters {
  std::uint64_t cycles = 0;
  std::uint64_t instructions = 0;  // retired; loads, stores and branches are those of retired instructions
  std::uint64_t loads = 0;         // loaded operands: an instruction may have several
  std::uint64_t stores = 0;        // stored operands
  std::uint64_t branches = 0;
  std::uint64_t mispredictions = 0;   // of branches that have entered the window, retired or not
  std::uint64_t forwarded_loads = 0;  // loads that got their data from a store in the
                                      // window, without an access of L1
  std::uint64_t l1_accesses = 0;      // hits, misses and merges
  std::uint64_t l1_misses = 0;        // misses that took an MSHR; each is an access of L2
  std::uint64_t l1_merges = 0;        // accesses that joined a line in flight
  std::uint64_t l2_misses = 0;        // each causes a read request
  std::uint64_t l1_writebacks = 0;    // dirty lines from L1 to L2
  std::uint64_t l2_writebacks = 0;    // dirty lines from L2; each causes a write request
  /// Cycles in which nothing is dispatched because the window is full, by what its oldest
  /// instruction waits for: the data of its loads, an MSHR, a place in the outbox, or something else
  /// (operands, or its turn to issue).
  std::uint64_t stalled_by_load = 0;
  std::uint64_t stalled_by_mshrs = 0;
  std::uint64_t stalled_by_outbox = 0;
  std::uint64_t stalled_by_rest = 0;
  std::uint64_t stalled_by_branches = 0;  // cycles without dispatch after a misprediction,
                                          // although the window has places
  std::uint64_t replies = 0;              // replies to read requests
  std::uint64_t memory_latency = 0;       // core cycles from request to reply, summed over the replies

  Counters& operator-=(const Counters& other);
  friend Counters operator-(Counters a, const Counters& b) { return a -= b; }
  friend bool operator==(const Counters&, const Counters&) = default;
};

}  // namespace gpumux::cpu
