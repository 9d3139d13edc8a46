// Which partition and slice serve a line, and the line's place inside the slice and the DRAM channel.
#pragma once

#include <cstdint>

#include "base/types.hpp"
#include "machine/config.hpp"

namespace gpumux::noc {

class PartitionMap {
 public:
  explicit PartitionMap(const machine::L2Config& config);
  /// line = device address / 128.
  [[nodiscard]] PartitionId partition(std::uint64_t line) const;
  [[nodiscard]] std::uint32_t slice(std::uint64_t line) const;        // within its partition
  /// The line's number within its partition (dense: consecutive units of this partition are
  /// consecutive), for DRAM rows and L2 sets.
  [[nodiscard]] std::uint64_t local_line(std::uint64_t line) const;

 private:
  std::uint32_t units_ = 1;       // partitions * slices
  std::uint32_t slices_ = 1;
  std::uint32_t unit_lines_ = 2;  // lines per interleave unit
  enum class Hash : std::uint8_t { Linear, Xor, Ipoly } hash_ = Hash::Linear;
};

}  // namespace gpumux::noc
