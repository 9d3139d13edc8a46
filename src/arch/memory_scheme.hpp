// How the SMs order and limit the memory instructions of applications that share them, and divide L1 among
// them: what a `memory=` level chooses (docs/memory-control.md).
// Source: dai18 sections 3.1 to 3.4 and 4.5.
#pragma once

#include <array>
#include <cstdint>

#include "base/types.hpp"

namespace gpumux::arch {

/// No limit on memory instructions in flight.
inline constexpr std::uint32_t kNoMemoryLimit = 0xffff'ffffU;

struct MemoryScheme {
  /// Which application's memory instruction goes first when several could be issued.
  enum class Order : std::uint8_t {
    Warps,       // none of our business: the warp schedulers' order alone
    RoundRobin,  // RBMI: in turn
    Quota        // QBMI: who has the largest quota left
  };
  enum class Limit : std::uint8_t {
    None,
    Static,        // SMIL: `limits`
    Dynamic,       // DMIL: each SM works its own out
    DynamicGlobal  // DMIL: one SM works them out for all
  };
  Order order = Order::Warps;
  Limit limit = Limit::None;
  /// A scheduler offers its memory instructions whenever some are ready; else only when its own order picks
  /// one.
  bool offers_ready = true;
  /// The order is that of all instructions for the load/store unit; else only of those that access L1.
  bool orders_all = true;
  bool on_demand = false;       // somebody may set limits during the run (arch::SmControl::set_memory_limit)
  bool ways_on_demand = false;  // or of L1's ways (set_l1_ways)
  bool divides_ways = false;    // UCP
  bool divides_misses = false;  // MSHRs and the miss queue, evenly

  std::array<std::uint32_t, kMaxApps> limits;  // instructions in flight per SM, by application (Static)
  /// Requests of an application after which its Req/Minst and its dynamic limit are worked out anew; a power
  /// of two, so that a shift divides by it.
  std::uint32_t interval = 1024;
  bool unbounded = false;  // the failure counter of the dynamic limit does not saturate
  bool stores_performed =
      false;                     // a store is in flight until its acknowledgement, else until L1 has taken it
  SmId monitor = 0;              // SM that works the limits out (DynamicGlobal)
  Cycle ways_interval = 10'000;  // cycles after which ways are divided anew

  MemoryScheme() { limits.fill(kNoMemoryLimit); }
  [[nodiscard]] bool dynamic() const { return limit == Limit::Dynamic || limit == Limit::DynamicGlobal; }
  /// Issue looks at it: the others are a matter of L1 alone.
  [[nodiscard]] bool concerns_issue() const {
    return order != Order::Warps || limit != Limit::None || on_demand;
  }
  [[nodiscard]] bool on() const { return concerns_issue() || divides_ways || divides_misses; }
};

/// Where an application stands on one SM, while a scheme is on.
struct MemoryClient {
  std::uint32_t in_flight = 0;  // memory instructions now,
  std::uint32_t peak = 0;       // the most at once since the start of the run
  std::uint32_t limit = kNoMemoryLimit;
  std::uint32_t lowest_limit = kNoMemoryLimit;
  std::uint32_t limit_updates = 0;             // intervals at whose end the dynamic limit was worked out
  std::int32_t quota = 0;                      // left (QBMI)
  std::uint32_t quota_rounds = 0;              // times a set of quotas was added
  std::uint32_t requests_per_instruction = 1;  // Req/Minst that QBMI knows
  std::uint32_t ways = 0;                      // granted (UCP)
};

}  // namespace gpumux::arch
