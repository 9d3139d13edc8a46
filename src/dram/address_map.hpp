// Maps a line of a channel to its bank and row.
#pragma once

#include <cstdint>

#include "arch/address_bits.hpp"
#include "arch/config.hpp"
#include "base/types.hpp"
#include "noc/bit_field.hpp"
#include "noc/divider.hpp"
#include "noc/partition_map.hpp"

namespace gpumux::dram {

/// The default map takes from the channel's line number, lowest bits first: 256 B of a row, the bank group,
/// the rest of the row, the bank within its group, the row. A stream thus alternates between bank groups
/// (column commands then need a distance of CCD, not CCDL), keeps one row open in each group, and opens its
/// next rows in other banks while it still reads the open ones.
/// The row number rotates the banks, so that strides of a row's size do not stay in one bank
/// (permutation-based interleaving: Zhang, Zhu and Zhang, MICRO 2000). The application rotates the banks
/// further, so that equal addresses of two applications are in different banks.
/// With dram.address_map, the letters of the map select bank and row, and only the
/// application rotates the banks.
class AddressMap {
 public:
  explicit AddressMap(const arch::DramConfig& config)
      : by_chunk_(config.row_bytes >= 2 * kLineBytes ? 2 : 1),
        by_groups_(config.bank_groups),
        by_row_chunks_(config.row_bytes / kLineBytes / by_chunk_.divisor()),
        by_banks_(config.banks / config.bank_groups),
        mapped_(!config.address_map.empty()),
        group_low_(config.bank_group_low) {
    if (!mapped_) return;
    const arch::AddressBits bits = arch::parse_address_map(config.address_map);
    constexpr std::uint64_t kLines = (std::uint64_t{1} << kAppLineShift) - 1;
    bank_bits_ = noc::BitField(bits.bank / kLineBytes);
    row_bits_ = noc::BitField(bits.row / kLineBytes & kLines);
  }

  struct Place {
    std::uint32_t bank;  // group * (banks / groups) + bank within the group
    std::uint32_t group;
    std::uint64_t row;  // with the application in its upper bits
  };
  [[nodiscard]] Place locate(std::uint64_t local_line) const {
    const std::uint64_t app = local_line >> kAppLineShift;
    const std::uint64_t line = local_line & ((std::uint64_t{1} << kAppLineShift) - 1);
    if (mapped_) return locate_mapped(line, app);
    const std::uint64_t chunk = by_chunk_.quotient(line);
    const std::uint64_t rest = by_groups_.quotient(chunk);
    std::uint64_t group = chunk - rest * by_groups_.divisor();
    const std::uint64_t stripe = by_row_chunks_.quotient(rest);
    const std::uint64_t row = by_banks_.quotient(stripe);
    std::uint64_t bank = stripe - row * by_banks_.divisor();
    const std::uint64_t rotation = row + app * kAppRotation;
    const std::uint64_t turns = by_banks_.quotient(rotation);
    bank = by_banks_.remainder(bank + rotation - turns * by_banks_.divisor());
    group = by_groups_.remainder(group + by_groups_.remainder(turns));
    return {static_cast<std::uint32_t>(group * by_banks_.divisor() + bank), static_cast<std::uint32_t>(group),
            row | app << kAppLineShift};
  }

 private:
  static constexpr std::uint64_t kAppRotation = 5;  // odd, and not a multiple of the
                                                    // usual numbers of bank groups

  [[nodiscard]] Place locate_mapped(std::uint64_t line, std::uint64_t app) const {
    const std::uint64_t number = bank_bits_.extract(line);
    const std::uint64_t high = by_groups_.quotient(number);
    std::uint64_t group = group_low_ ? number - high * by_groups_.divisor() : by_banks_.quotient(number);
    std::uint64_t bank = group_low_ ? high : by_banks_.remainder(number);
    const std::uint64_t turns = by_banks_.quotient(app * kAppRotation);
    bank = by_banks_.remainder(bank + by_banks_.remainder(app * kAppRotation));
    group = by_groups_.remainder(group + by_groups_.remainder(turns));
    return {static_cast<std::uint32_t>(group * by_banks_.divisor() + bank), static_cast<std::uint32_t>(group),
            row_bits_.extract(line) | app << kAppLineShift};
  }

  noc::Divider by_chunk_;
  noc::Divider by_groups_;
  noc::Divider by_row_chunks_;
  noc::Divider by_banks_;
  bool mapped_;
  bool group_low_;
  noc::BitField bank_bits_, row_bits_;
};

}  // namespace gpumux::dram
