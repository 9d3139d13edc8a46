// Where the bits of an address go, as letters: the notation of GPGPU-Sim's configuration files.
#pragma once

#include <cstdint>
#include <string_view>

#include "arch/config.hpp"

namespace gpumux::arch {

/// "dramid@8;00000000.00000000.00000000.00000000.0000RRRR.RRRRRRRR.RBBBCCCB.CCCSSSSS": from bit 63 down R
/// row, B bank, C column, S column within a burst, D channel, 0 unused; dots count nothing. With dramid@N the
/// address from bit N up counts channels, which may be any number, and the letters are of what is left. The
/// lowest bits of the bank tell a channel's slices apart. Bits above the letters are bits of the row.
struct AddressBits {
  bool counts_channels = false;     // dramid@N:
  std::uint32_t channel_bit = 0;    // N
  std::uint64_t channel = 0;        // D: mask of the whole address
  std::uint64_t bank = 0, row = 0;  // masks of the address without its channel
  std::uint64_t column = 0;         // C and S
};

/// Throws UserError without a place for what is no such text.
[[nodiscard]] AddressBits parse_address_map(std::string_view text);
/// Throws UserError without a place for a map that does not fit the machine: other numbers of banks,
/// channels, slices or bytes of a row than its keys say, or lines that lie in several banks.
[[nodiscard]] AddressBits address_bits(const L2Config& l2, const DramConfig& dram);

}  // namespace gpumux::arch
