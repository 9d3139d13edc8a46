#include "arch/address_bits.hpp"

#include <bit>
#include <charconv>

#include <fmt/core.h>

#include "base/error.hpp"

namespace gpumux::arch {

namespace {

/// `mask` with the bit positions set in `gone` removed; higher bits move down.
std::uint64_t without(std::uint64_t mask, std::uint64_t gone) {
  std::uint64_t result = 0;
  unsigned to = 0;
  for (unsigned bit = 0; bit < 64; ++bit) {
    if ((gone >> bit & 1U) != 0) continue;
    result |= (mask >> bit & 1U) << to;
    ++to;
  }
  return result;
}

void require(bool holds, const std::string& message) {
  if (!holds) throw UserError("dram.address_map: " + message);
}

}  // namespace

AddressBits parse_address_map(std::string_view text) {
  AddressBits bits;
  constexpr std::string_view kStart = "dramid@";
  if (text.starts_with(kStart)) {
    const std::size_t end = text.find(';');
    require(end != std::string_view::npos, "dramid@N is followed by ';' and the letters");
    const std::string_view number = text.substr(kStart.size(), end - kStart.size());
    const auto [rest, error] =
        std::from_chars(number.data(), number.data() + number.size(), bits.channel_bit);
    require(error == std::errc() && rest == number.data() + number.size() && bits.channel_bit < 48,
            fmt::format("dramid@{} is no bit of an address", number));
    bits.counts_channels = true;
    text.remove_prefix(end + 1);
  }
  unsigned letters = 0;
  for (const char c : text) letters += c == '.' ? 0 : 1;
  require(letters > 0 && letters <= 64,
          fmt::format("{} letters; 1 to 64 are the bits of an address", letters));
  unsigned bit = letters;
  for (const char c : text) {
    if (c == '.') continue;
    const std::uint64_t mask = std::uint64_t{1} << --bit;
    switch (c) {
      case 'R':
      case 'r': bits.row |= mask; break;
      case 'B':
      case 'b': bits.bank |= mask; break;
      case 'C':
      case 'c':
      case 'S':
      case 's': bits.column |= mask; break;
      case 'D':
      case 'd': bits.channel |= mask; break;
      case '0': break;
      default:
        throw UserError(fmt::format(
            "dram.address_map: '{}' is no letter of a bit: R row, B bank, C or S column, D channel, 0 none",
            c));
    }
  }
  require(!bits.counts_channels || bits.channel == 0, "either dramid@N or letters D say which channel");
  const std::uint64_t named = bits.row | bits.bank | bits.column | bits.channel;
  require(named != 0 && (named & (named + 1)) == 0, "a bit below the highest letter goes nowhere");
  bits.row |= ~named;
  bits.row = without(bits.row, bits.channel);
  bits.bank = without(bits.bank, bits.channel);
  bits.column = without(bits.column, bits.channel);
  return bits;
}

AddressBits address_bits(const L2Config& l2, const DramConfig& dram) {
  const AddressBits bits = parse_address_map(dram.address_map);
  const auto values = [](std::uint64_t mask) { return std::uint64_t{1} << std::popcount(mask); };
  require(values(bits.bank) == dram.banks,
          fmt::format("its letters B name {} banks, dram.banks = {}", values(bits.bank), dram.banks));
  require(values(bits.column) == dram.row_bytes,
          fmt::format("its letters C and S name a row of {} bytes, dram.row_size = {}", values(bits.column),
                      dram.row_bytes));
  require(bits.counts_channels || values(bits.channel) == l2.partitions,
          fmt::format("its letters D name {} channels, l2.partitions = {}; dramid@N takes any number",
                      values(bits.channel), l2.partitions));
  const std::uint64_t in_line = kLineBytes - 1;
  require(
      ((bits.bank | bits.row | bits.channel) & in_line) == 0 &&
          (!bits.counts_channels || values(in_line) <= values((std::uint64_t{1} << bits.channel_bit) - 1)),
      fmt::format("a line of {} bytes lies in one bank of one channel", kLineBytes));
  require(
      std::has_single_bit(l2.slices_per_partition) && l2.slices_per_partition <= dram.banks,
      fmt::format("banks tell slices apart, so l2.slices_per_partition = {} has to divide dram.banks = {}",
                  l2.slices_per_partition, dram.banks));
  return bits;
}

}  // namespace gpumux::arch
