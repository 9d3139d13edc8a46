// The network's parameters in core cycles, shared by both of its ends. The crossbar has no object of its own:
// each source port (injection) belongs to the sender and each destination port (ejection) to the receiver, so
// that SMs and partitions can be simulated separately for a window of time.
//
//   sender:   waits for credits of its input buffer, holds its injection port for `flits` cycles, sends.
//   wire:     `latency` cycles.
//   receiver: one flit per cycle through its ejection port in order of (arrival, source). When the packet has
//             left the port into the receiver's queue, its credits travel back.
//
// With a mesh (noc.topology), a sender's packets wait in a queue at the sender's router. Credits count
// the places of that queue, and `latency` is the time to reach the router. A packet that the mesh
// delivers is at once with its receiver. Space that the receiver frees is free at its router `latency`
// later. See noc/fabric.hpp.
//
// A real input buffer is at the sender, which sees free space at once. Here the credit loop spans two
// windows, so a sender may have the flits of one loop more in flight (buffer + loop). The sustained bandwidth
// is that of a real buffer, and back-pressure arrives up to one loop later. See docs/deviations.md.
#pragma once

#include <algorithm>
#include <cstdint>

#include "arch/config.hpp"
#include "noc/ticks.hpp"

namespace gpumux::noc {

struct Network {
  /// Throws UserError for a flit so small that a packet of a line needs more than 63 flits (the
  /// limit of the size field).
  explicit Network(const arch::MachineConfig& config);

  Ticks clock;                   // NoC cycles, for noc::Port
  Cycle latency;                 // core cycles, port to port (>= 1)
  Cycle window;                  // length of a window of time, core cycles: equal to latency
  double core_cycles_per_flit;   // core / NoC clock
  bool routed;                   // true: a mesh; false: a crossbar
  std::uint32_t flit_bytes;      // flit size of the SMs' part of the links (noc.cpu_vcs)
  std::uint32_t cpu_flit_bytes;  // flit size of the CPU cores' part of the links
  std::uint32_t header_bytes;
  /// Flits that an SM may have in the request network. This is its input buffer, plus the flits that pass its
  /// port during one credit loop (2 x latency; latency in a mesh), plus one packet of the largest size. The
  /// credits of a packet come back together.
  std::uint32_t request_credits;
  std::uint32_t cpu_request_credits;  // flits that a CPU core may have in the request network
  /// Flits that a partition may have in the reply network, for the ports of all its slices together, because
  /// a Credit names only the partition.
  std::uint32_t reply_credits;
  std::uint32_t output_buffer_flits;  // capacity of the queue behind each ejection port

  /// Flits of an SM's packet. At least one, even without header and data: each packet takes port time, and a
  /// packet sent in a cycle arrives later.
  [[nodiscard]] std::uint8_t flits(std::uint32_t data_bytes) const { return flits(data_bytes, flit_bytes); }
  [[nodiscard]] std::uint8_t cpu_flits(std::uint32_t data_bytes) const {
    return flits(data_bytes, cpu_flit_bytes);
  }
  /// Core cycles that a port needs for a packet that finds the port idle at the start of a cycle, rounded up.
  /// Sequences of packets are booked with noc::Port, which keeps the fractions.
  [[nodiscard]] Cycle port_cycles(std::uint32_t flits) const { return clock.to_core(flits); }

 private:
  [[nodiscard]] std::uint8_t flits(std::uint32_t data_bytes, std::uint32_t width) const {
    return static_cast<std::uint8_t>(std::max(1U, (header_bytes + data_bytes + width - 1) / width));
  }
};

}  // namespace gpumux::noc
