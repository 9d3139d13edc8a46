// Kernels that measure one thing of a memory hierarchy, as published microbenchmarks of hardware do: the
// latency of dependent loads, and the bandwidth of reads and of streaming kernels.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "trace/builder.hpp"

namespace gpumux::trace {

enum class ProbeKind : std::uint8_t {
  Latency,  // one thread: each load's address is the last one's value; lines of the footprint in scattered
            // order
  Read,     // a block per SM reads the footprint, the same for all, again and again
  Init,     // each thread writes one double of an array of the footprint's size,
  Load,     // reads one,
  Scale,    // reads one and writes another,
  Triad     // reads three and writes one
};
inline constexpr std::array kProbeWords = {"latency", "read", "init", "load", "scale", "triad"};

struct Probe {
  ProbeKind kind = ProbeKind::Latency;
  std::uint64_t footprint = 0;  // bytes
  std::uint32_t blocks = 1;     // Read: of the grid
  /// Loads of Latency, rounds of Read, and in thousandths of the footprint what the others go through.
  std::uint32_t work = 1;
};

/// Its trace in compact form.
void write_probe(const Probe& probe, Output& output);
/// Bytes that the program reads and writes.
[[nodiscard]] std::uint64_t bytes_of(const Probe& probe);

}  // namespace gpumux::trace
