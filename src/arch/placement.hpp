// Positions of SMs, CPU cores and memory partitions on a mesh.
#pragma once

#include <cstdint>
#include <vector>

#include "arch/config.hpp"

namespace gpumux::arch {

/// The node of each part. A node is row * width + column; row 0 is the northern one,
/// column 0 the western one.
struct Placement {
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  std::vector<std::uint16_t> sms;  // node of each SM
  std::vector<std::uint16_t> cpus;
  std::vector<std::uint16_t> partitions;
};

/// Reads noc.nodes: rows of letters separated by spaces. G, C and M are nodes with SMs, CPU cores and memory
/// partitions; a dot is a router alone. Parts are spread evenly over the nodes of their letter, the first
/// parts at the first node in reading order. Throws UserError for rows of unequal length, unknown letters,
/// and numbers of parts that cannot be spread evenly.
[[nodiscard]] Placement placement(const MachineConfig& config);

}  // namespace gpumux::arch
