// How the SMs order and limit the memory instructions of applications that share them, and how they divide
// L1: the choices of a `memory=` level (docs/memory-control.md).
// Source: dai18 sections 3.1 to 3.4 and 4.5.
#pragma once

#include <array>
#include <cstdint>

#include "base/types.hpp"

namespace gpumux::arch {

/// No limit on memory instructions in flight.
inline constexpr std::uint32_t kNoMemoryLimit = 0xffff'ffffU;

struct MemoryScheme {
  /// The application whose memory instruction goes first when several could be issued.
  enum class Order : std::uint8_t {
    Warps,       // no order among applications: the warp schedulers decide
    RoundRobin,  // RBMI: applications take turns
    Quota        // QBMI: the application with the largest quota left
  };
  enum class Limit : std::uint8_t {
    None,
    Static,        // SMIL: the values of `limits`
    Dynamic,       // DMIL: each SM computes its own limits
    DynamicGlobal  // DMIL: one SM computes the limits for all SMs
  };
  Order order = Order::Warps;
  Limit limit = Limit::None;
  /// True: a scheduler offers its memory instructions whenever some are ready. False: only
  /// when its own order picks one.
  bool offers_ready = true;
  /// True: the order applies to all instructions for the load/store unit. False: only to those that access
  /// L1.
  bool orders_all = true;
  bool on_demand = false;       // limits may be set during the run (arch::SmControl::set_memory_limit)
  bool ways_on_demand = false;  // L1 ways may be set during the run (set_l1_ways)
  bool divides_ways = false;    // UCP
  bool divides_misses = false;  // divides MSHRs and the miss queue evenly

  std::array<std::uint32_t, kMaxApps> limits;  // instructions in flight per SM, by application (Static)
  /// Requests of an application after which its Req/Minst and its dynamic limit are computed again. A power
  /// of two, so that a shift divides by it.
  std::uint32_t interval = 1024;
  bool unbounded = false;         // the failure counter of the dynamic limit does not saturate
  bool stores_performed = false;  // true: a store is in flight until its acknowledgement;
                                  // false: until L1 has taken it
  SmId monitor = 0;               // SM that computes the limits (DynamicGlobal)
  Cycle ways_interval = 10'000;   // cycles between two divisions of the ways

  MemoryScheme() { limits.fill(kNoMemoryLimit); }
  [[nodiscard]] bool dynamic() const { return limit == Limit::Dynamic || limit == Limit::DynamicGlobal; }
  /// True if the scheme affects issue. Its other settings affect only L1.
  [[nodiscard]] bool concerns_issue() const {
    return order != Order::Warps || limit != Limit::None || on_demand;
  }
  [[nodiscard]] bool on() const { return concerns_issue() || divides_ways || divides_misses; }
};

/// State of an application on one SM, while a scheme is on.
struct MemoryClient {
  std::uint32_t in_flight = 0;  // current memory instructions in flight
  std::uint32_t peak = 0;       // most memory instructions in flight since the start of the run
  std::uint32_t limit = kNoMemoryLimit;
  std::uint32_t lowest_limit = kNoMemoryLimit;
  std::uint32_t limit_updates = 0;             // intervals at whose end the dynamic limit was computed
  std::int32_t quota = 0;                      // quota left (QBMI)
  std::uint32_t quota_rounds = 0;              // times that a set of quotas was added
  std::uint32_t requests_per_instruction = 1;  // the Req/Minst that QBMI uses
  std::uint32_t ways = 0;                      // granted ways (UCP)
};

}  // namespace gpumux::arch
