// The meaning of each bit of an address, in the notation of GPGPU-Sim's configuration files.
#pragma once

#include <cstdint>
#include <string_view>

#include "arch/config.hpp"

namespace gpumux::arch {

/// An address map, e.g. "dramid@8;00000000.00000000.00000000.00000000.0000RRRR.RRRRRRRR.RBBBCCCB.CCCSSSSS".
/// Letters stand for bits from bit 63 down: R row, B bank, C column, S column within a burst, D channel, 0
/// unused. Dots have no meaning. With dramid@N, the address from bit N up is divided by the number of
/// channels, which may be any number: the remainder is the channel, and the letters describe the rest. The
/// lowest bits of the bank select a channel's slice. Bits above the letters are bits of the row.
struct AddressBits {
  bool counts_channels = false;     // true: the text starts with dramid@N
  std::uint32_t channel_bit = 0;    // N of dramid@N
  std::uint64_t channel = 0;        // letter D: mask of the whole address
  std::uint64_t bank = 0, row = 0;  // masks of the address without its channel
  std::uint64_t column = 0;         // letters C and S: mask of the address without its channel
};

/// Throws UserError without a location if the text is not an address map.
[[nodiscard]] AddressBits parse_address_map(std::string_view text);
/// Throws UserError without a location for a map that does not fit the machine: its banks, channels, slices
/// or bytes per row differ from the machine's keys, or a line would be in several banks.
[[nodiscard]] AddressBits address_bits(const L2Config& l2, const DramConfig& dram);

}  // namespace gpumux::arch
