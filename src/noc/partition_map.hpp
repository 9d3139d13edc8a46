// Maps a line to its partition and slice, and to its place inside the slice and the DRAM channel. All parts
// of the machine share one map, so that its tables stay in the host's cache.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "arch/config.hpp"
#include "arch/instance.hpp"
#include "base/types.hpp"
#include "noc/bit_field.hpp"
#include "noc/divider.hpp"
#include "noc/index_hash.hpp"

namespace gpumux::noc {

/// Number of sets of a slice. Throws UserError if the size is not a whole number of sets.
[[nodiscard]] std::uint32_t l2_sets(const arch::L2Config& config);

/// Interleaves units of `interleave_bytes` over all slices: unit n of the machine is in slice n / partitions
/// of partition n % partitions. The hashes permute the units within each group of partitions * slices, so
/// every map is a bijection. The units of each application are rotated by a constant of its own:
/// applications with the same addresses use different partitions, and an application alone sees the same
/// machine with its partitions renamed.
class PartitionMap {
 public:
  /// Throws UserError if a hash does not suit the number of slices or sets, or for an impossible size.
  explicit PartitionMap(const arch::L2Config& config);
  /// With dram.address_map, the address map decides the channel and slice of each line
  /// (arch/address_bits.hpp).
  explicit PartitionMap(const arch::MachineConfig& config);
  /// With instances, the lines of an application are only in the partitions of its instance, distributed
  /// as on a machine with that number of partitions. `instances`: by application. Empty: each
  /// application uses all partitions.
  PartitionMap(const arch::MachineConfig& config, const std::vector<arch::Instance>& instances);
  /// Partition of a line. line = device address / 128.
  [[nodiscard]] PartitionId partition(std::uint64_t line) const {
    if (elsewhere_) [[unlikely]]
      return partition_elsewhere(line);
    return locate(line).partition;
  }
  [[nodiscard]] std::uint32_t slice(std::uint64_t line) const { return locate(line).slice; }
  /// The line's number within its partition, for DRAM rows. Dense within an application: consecutive units of
  /// a partition are consecutive. Bits from kAppLineShift up hold the application.
  [[nodiscard]] std::uint64_t local_line(std::uint64_t line) const { return locate(line).local_line; }

  struct Place {
    PartitionId partition;
    std::uint8_t slice;        // within the partition
    std::uint64_t local_line;  // local_line(line)
    std::uint64_t slice_line;  // number within the slice, dense, without the application; for L2 sets
  };
  [[nodiscard]] Place locate(std::uint64_t line) const {
    if (elsewhere_) [[unlikely]]
      return locate_elsewhere(line);
    const std::uint64_t app = line >> kAppLineShift;
    const std::uint64_t within = line & ((std::uint64_t{1} << kAppLineShift) - 1);
    const std::uint64_t unit = by_unit_lines_.quotient(within);
    const std::uint64_t offset = within - unit * by_unit_lines_.divisor();
    const std::uint64_t group = by_units_.quotient(unit);
    const auto n = hash_.permute(static_cast<std::uint32_t>(unit - group * by_units_.divisor()), group,
                                 rotation_[app % kMaxApps]);
    const auto slice = static_cast<std::uint32_t>(by_partitions_.quotient(n));
    const std::uint64_t unit_lines = by_unit_lines_.divisor();
    return {static_cast<PartitionId>(n - slice * by_partitions_.divisor()), static_cast<std::uint8_t>(slice),
            ((group * slices_ + slice) * unit_lines + offset) | (app << kAppLineShift),
            group * unit_lines + offset};
  }

  /// L2 set of a line within its slice. The sets of each application are rotated by a constant of its
  /// own, as its partitions are.
  [[nodiscard]] std::uint32_t set_of(std::uint64_t slice_line, AppId app) const {
    const std::uint64_t high = by_sets_.quotient(slice_line);
    return set_hash_.permute(static_cast<std::uint32_t>(slice_line - high * by_sets_.divisor()), high,
                             set_rotation_[app]);
  }

  /// The local line of a line that is given by its slice and its number within the slice.
  [[nodiscard]] std::uint64_t local_line(std::uint64_t slice_line, std::uint32_t slice, AppId app) const {
    if (mapped_) [[unlikely]]
      return rest_.deposit(slice_line) | slice_bits_.deposit(slice) | first_line_of(app);
    const std::uint64_t group = by_unit_lines_.quotient(slice_line);
    return slice_line + (group * (slices_ - 1) + slice) * by_unit_lines_.divisor() + first_line_of(app);
  }

 private:
  struct Mapped {
    std::uint64_t rest;        // line number within the application, without the bits of the channel
    std::uint64_t slice_line;  // `rest` without the bits of the slice
    std::uint32_t n;           // slice * partitions + partition
  };
  [[nodiscard]] Mapped mapped(std::uint64_t line) const;
  /// locate() for machines with an address map or with instances.
  [[nodiscard]] Place locate_elsewhere(std::uint64_t line) const;
  [[nodiscard]] PartitionId partition_elsewhere(std::uint64_t line) const;

  std::uint32_t slices_;
  bool elsewhere_ = false;  // mapped_ or instances_
  bool mapped_ = false;
  std::vector<PartitionMap> instances_;  // by application
  PartitionId first_ = 0;                // first partition of the instance
  Divider by_unit_lines_;
  Divider by_units_;
  Divider by_partitions_;
  IndexHash hash_;
  std::array<std::uint32_t, kMaxApps> rotation_{};
  Divider by_sets_;
  IndexHash set_hash_;
  std::array<std::uint32_t, kMaxApps> set_rotation_{};
  // Only with dram.address_map. Numbers count lines:
  BitField channel_bits_;    // letters D; used unless counts_channels_
  Divider by_channel_unit_;  // consecutive lines in a channel (dramid@N)
  bool counts_channels_ = false;
  BitField outside_channel_;    // address bits that are not letter D
  BitField slice_bits_, rest_;  // bits of the address without its channel
  std::uint64_t outside_slice_ = 0;
  unsigned unit_shift_ = 0;  // bits of a slice's line number that are below those of the channel
};

}  // namespace gpumux::noc
