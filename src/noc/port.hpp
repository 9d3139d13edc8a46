// A port of the crossbar: one flit per NoC cycle, booked in exact NoC cycles. No bandwidth is lost to
// rounding if the NoC clock does not divide the core clock.
#pragma once

#include <algorithm>
#include <cstdint>

#include "noc/ticks.hpp"

namespace gpumux::noc {

class Port {
 public:
  /// With `routed`, the port is at the end of a mesh (Network::routed): the flits have already passed one by
  /// one when their packet is complete, so the port takes a packet in one cycle.
  explicit Port(const Ticks& clock, bool routed = false) : clock_(clock), serial_(routed ? 0 : ~0U) {}

  struct Booking {
    Cycle first;  // core cycle of the first flit
    Cycle last;   // core cycle of the last flit
  };
  /// Books an injection. The packet is complete at core cycle `ready`, and its flits leave back to back as
  /// soon as the port is free. The last flit reaches the far port at `last` + Network::latency.
  Booking inject(Cycle ready, std::uint32_t flits) {
    const std::uint64_t start = std::max(clock_.tick_at(ready), free_);
    const std::uint32_t more = (flits - 1) & serial_;
    free_ = start + more + 1;
    return {clock_.to_core(start), clock_.to_core(start + more)};
  }
  /// Books an ejection. The packet's last flit arrives at core cycle `arrival` (its other flits just
  /// before), or waits until `not_before` for space behind the port. Returns the core cycle in which the
  /// last flit has passed the port.
  Cycle eject(Cycle arrival, Cycle not_before, std::uint32_t flits) {
    std::uint64_t last = ejection_tick(arrival, flits);
    if (not_before > arrival) last = std::max(last, clock_.tick_at(not_before));
    free_ = last + 1;
    return clock_.to_core(last);
  }
  /// First step of eject() for a caller that looks ahead: the tick in which the last flit would pass the
  /// port. to_core() converts it to a core cycle, book_ejection() books it.
  [[nodiscard]] std::uint64_t ejection_tick(Cycle arrival, std::uint32_t flits) const {
    return std::max(clock_.tick_at(arrival), free_ + ((flits - 1) & serial_));
  }
  [[nodiscard]] Cycle to_core(std::uint64_t tick) const { return clock_.to_core(tick); }
  void book_ejection(std::uint64_t last) { free_ = last + 1; }
  /// Core cycle from which the port is free.
  [[nodiscard]] Cycle free_at() const { return clock_.to_core(free_); }

 private:
  Ticks clock_;
  std::uint32_t serial_;    // mask: all bits set if a packet takes one cycle per flit
  std::uint64_t free_ = 0;  // NoC cycle from which the port is free
};

}  // namespace gpumux::noc
