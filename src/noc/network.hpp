// The crossbar's parameters in core cycles, shared by both of its ends. The crossbar has no object of its
// own: each source port (injection) lives at the sender and each destination port (ejection) at the
// receiver, so that SMs and partitions can run apart for a window of time.
//
//   sender: waits for credits of its input buffer, holds its injection port for `flits` cycles, sends.
//   wire:   `latency` cycles.
//   receiver: one flit a cycle through its ejection port in order of (arrival, source); when the packet
//             has left the port into the receiver's queue, its credits travel back.
//
// A mesh (noc.topology) takes the far end's place: a sender's packets wait in a queue at his router, whose
// places are his credits, and `latency` is the way there; what the mesh delivers is at once with its
// receiver, and a receiver's space is free at his router a `latency` after it was. See noc/fabric.hpp.
//
// A real input buffer sits at the sender and sees its own space at once. Here the credit loop spans two
// windows, so a sender may have that many flits more under way (buffer + loop): the same sustained
// bandwidth, and back-pressure that arrives up to one loop later. See docs/deviations.md.
#pragma once

#include <algorithm>
#include <cstdint>

#include "arch/config.hpp"
#include "noc/ticks.hpp"

namespace gpumux::noc {

struct Network {
  /// Throws UserError for a flit so small that a line needs more than 63 flits (the size field's limit).
  explicit Network(const arch::MachineConfig& config);

  Ticks clock;                   // NoC cycles, for noc::Port
  Cycle latency;                 // core cycles, port to port (>= 1)
  Cycle window;                  // length of a window of time: = latency
  double core_cycles_per_flit;   // core / NoC clock
  bool routed;                   // a mesh; else a crossbar
  std::uint32_t flit_bytes;      // of the SMs' part of it (noc.cpu_vcs)
  std::uint32_t cpu_flit_bytes;  // and of the CPU cores'
  std::uint32_t header_bytes;
  /// Flits an SM may have in the request network: its input buffer, plus the flits that pass its port
  /// during one credit loop (there and back, 2 x latency), plus one packet of the largest size, because
  /// a packet's credits come back together.
  std::uint32_t request_credits;
  std::uint32_t cpu_request_credits;  // and a CPU core
  /// The same for a partition in the reply network, for all its slices' ports together: a Credit names
  /// the partition alone.
  std::uint32_t reply_credits;
  std::uint32_t output_buffer_flits;  // behind each ejection port

  /// At least one, also of a packet without header and data: a port is held for a time, and what is sent in a
  /// cycle arrives later.
  [[nodiscard]] std::uint8_t flits(std::uint32_t data_bytes) const { return flits(data_bytes, flit_bytes); }
  [[nodiscard]] std::uint8_t cpu_flits(std::uint32_t data_bytes) const {
    return flits(data_bytes, cpu_flit_bytes);
  }
  /// Core cycles that a port needs for a packet that finds it idle at the start of a cycle, rounded up.
  /// Sequences of packets are booked with noc::Port, which keeps the fractions.
  [[nodiscard]] Cycle port_cycles(std::uint32_t flits) const { return clock.to_core(flits); }

 private:
  [[nodiscard]] std::uint8_t flits(std::uint32_t data_bytes, std::uint32_t width) const {
    return static_cast<std::uint8_t>(std::max(1U, (header_bytes + data_bytes + width - 1) / width));
  }
};

}  // namespace gpumux::noc
