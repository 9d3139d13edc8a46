// A port of the crossbar: one flit per NoC cycle, booked in exact NoC cycles, so that a clock that is no
// divisor of the core clock loses no bandwidth to rounding.
#pragma once

#include <algorithm>
#include <cstdint>

#include "noc/ticks.hpp"

namespace gpumux::noc {

class Port {
 public:
  /// At the end of a mesh (Network::routed) flits have passed one by one when their packet is whole, and the
  /// port takes it in one cycle.
  explicit Port(const Ticks& clock, bool routed = false) : clock_(clock), serial_(routed ? 0 : ~0U) {}

  struct Booking {
    Cycle first;  // core cycle of the first flit
    Cycle last;   // core cycle of the last flit
  };
  /// Injection: the packet is whole at core cycle `ready`; its flits leave back to back once the port is
  /// free. The last flit reaches the far port at `last` + Network::latency.
  Booking inject(Cycle ready, std::uint32_t flits) {
    const std::uint64_t start = std::max(clock_.tick_at(ready), free_);
    const std::uint32_t more = (flits - 1) & serial_;
    free_ = start + more + 1;
    return {clock_.to_core(start), clock_.to_core(start + more)};
  }
  /// Ejection: the packet's last flit arrives at core cycle `arrival` (its others just before), or waits
  /// until `not_before` for space behind the port. Returns the core cycle in which the last flit is through.
  Cycle eject(Cycle arrival, Cycle not_before, std::uint32_t flits) {
    std::uint64_t last = ejection_tick(arrival, flits);
    if (not_before > arrival) last = std::max(last, clock_.tick_at(not_before));
    free_ = last + 1;
    return clock_.to_core(last);
  }
  /// The same in two steps, for one who looks ahead: the tick of the last flit (to_core() gives its cycle),
  /// and the booking of it.
  [[nodiscard]] std::uint64_t ejection_tick(Cycle arrival, std::uint32_t flits) const {
    return std::max(clock_.tick_at(arrival), free_ + ((flits - 1) & serial_));
  }
  [[nodiscard]] Cycle to_core(std::uint64_t tick) const { return clock_.to_core(tick); }
  void book_ejection(std::uint64_t last) { free_ = last + 1; }
  /// Core cycle from which the port is free.
  [[nodiscard]] Cycle free_at() const { return clock_.to_core(free_); }

 private:
  Ticks clock_;
  std::uint32_t serial_;    // a mask: all bits, if a packet takes a cycle for each flit
  std::uint64_t free_ = 0;  // NoC cycle
};

}  // namespace gpumux::noc
