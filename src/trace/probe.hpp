// Microbenchmarks that each measure one property of a memory hierarchy, like published microbenchmarks of
// hardware: the latency of dependent loads, and the bandwidth of reads and of streaming kernels.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "trace/builder.hpp"

namespace gpumux::trace {

enum class ProbeKind : std::uint8_t {
  Latency,  // one thread loads the address of its next load; lines of the footprint in scattered order
  Read,     // one block per SM; each reads the whole footprint repeatedly
  Init,     // each thread writes one double of an array of the footprint's size
  Load,     // each thread reads one double
  Scale,    // each thread reads one double and writes one
  Triad     // each thread reads three doubles and writes one
};
inline constexpr std::array kProbeWords = {"latency", "read", "init", "load", "scale", "triad"};

struct Probe {
  ProbeKind kind = ProbeKind::Latency;
  std::uint64_t footprint = 0;  // bytes
  std::uint32_t blocks = 1;     // grid size, only for Read
  /// Latency: number of loads. Read: number of rounds. Others: part of the footprint to process, in
  /// thousandths.
  std::uint32_t work = 1;
};

/// Writes the probe's trace in compact form.
void write_probe(const Probe& probe, Output& output);
/// Bytes that the probe reads and writes.
[[nodiscard]] std::uint64_t bytes_of(const Probe& probe);

}  // namespace gpumux::trace
