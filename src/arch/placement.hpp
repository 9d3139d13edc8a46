// Where on a mesh SMs, CPU cores and memory partitions are.
#pragma once

#include <cstdint>
#include <vector>

#include "arch/config.hpp"

namespace gpumux::arch {

/// A node is row * width + column; row 0 is the northern one, column 0 the western one.
struct Placement {
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  std::vector<std::uint16_t> sms;  // of each the node
  std::vector<std::uint16_t> cpus;
  std::vector<std::uint16_t> partitions;
};

/// Reads noc.nodes: rows of letters parted by spaces. G, C and M are nodes with SMs, CPU cores and memory
/// partitions, which are spread evenly over theirs: the first ones are at the first node in reading order. A
/// dot is a router alone. Throws UserError for rows of unequal length, other letters, and numbers that do not
/// come out even.
[[nodiscard]] Placement placement(const MachineConfig& config);

}  // namespace gpumux::arch
