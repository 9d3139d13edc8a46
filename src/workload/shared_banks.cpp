#include "workload/shared_banks.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace gpumux::workload {
namespace {

/// True if no bank has two distinct words, the usual case.
bool is_one_pass(const std::uint64_t* addresses, LaneMask lanes, std::uint32_t bytes, std::uint32_t banks) {
  std::uint32_t word_of[32];  // by bank
  std::uint32_t taken = 0;    // mask of banks
  for (LaneMask rest = lanes; rest != 0; rest &= rest - 1) {
    const std::uint64_t at = addresses[std::countr_zero(rest)];
    for (std::uint32_t part = 0; part < bytes; part += 4) {
      const std::uint32_t word = static_cast<std::uint32_t>((at + part) >> 2U);
      const std::uint32_t bank = word & (banks - 1);
      if ((taken >> bank & 1U) == 0) {
        taken |= 1U << bank;
        word_of[bank] = word;
      } else if (word_of[bank] != word) {
        return false;
      }
    }
  }
  return true;
}

/// Passes for the lanes of `lanes`: the largest number of distinct words in a bank. Each lane accesses
/// `bytes` from its address on.
std::uint32_t passes_of_part(const std::uint64_t* addresses, LaneMask lanes, std::uint32_t bytes, bool atomic,
                             std::uint32_t banks) {
  if (!atomic && is_one_pass(addresses, lanes, bytes, banks)) return 1;
  // Counted words, chained by bank. At most 32 words: 32 x 4 bytes, 16 x 8 or 8 x 16.
  std::uint32_t word_of[kWarpSize];
  std::int8_t chain[kWarpSize];
  std::int8_t head[32];
  std::uint8_t depth[32] = {};
  std::memset(head, -1, sizeof(head));
  std::uint32_t used = 0;
  std::uint32_t passes = 0;
  for (LaneMask rest = lanes; rest != 0; rest &= rest - 1) {
    const std::uint64_t at = addresses[std::countr_zero(rest)];
    for (std::uint32_t part = 0; part < bytes; part += 4) {
      const std::uint32_t word = static_cast<std::uint32_t>((at + part) >> 2U);
      const std::uint32_t bank = word & (banks - 1);
      bool seen = false;
      if (!atomic) {
        for (std::int8_t k = head[bank]; k >= 0 && !seen; k = chain[k]) seen = word_of[k] == word;
      }
      if (seen) continue;
      word_of[used] = word;
      chain[used] = head[bank];
      head[bank] = static_cast<std::int8_t>(used++);
      passes = std::max<std::uint32_t>(passes, ++depth[bank]);
    }
  }
  return passes;
}

}  // namespace

std::uint32_t shared_passes(const std::uint64_t* addresses, LaneMask lanes, std::uint32_t bytes, bool atomic,
                            std::uint32_t banks) {
  if (lanes == 0) return 0;
  const std::uint32_t part_lanes = bytes <= 4 ? 32 : bytes == 8 ? 16 : 8;
  const LaneMask part = part_lanes == 32 ? kAllLanes : (1U << part_lanes) - 1;
  const auto over_parts = [&](const auto& passes_of) {
    std::uint32_t passes = 0;
    for (std::uint32_t first = 0; first < kWarpSize; first += part_lanes) {
      const LaneMask some = lanes & (part << first);
      if (some != 0) passes += passes_of(some);
    }
    return passes;
  };
  if (!atomic) {
    // Words of one row of the banks are in different banks.
    const std::uint64_t any = addresses[std::countr_zero(lanes)];
    std::uint64_t differ = 0;
    std::uint64_t apart = 0;
    if (lanes == kAllLanes) {
      for (std::uint32_t i = 0; i < kWarpSize; ++i) {
        differ |= addresses[i] ^ any;
        apart |= addresses[i] ^ (any + 4 * i);
      }
      if (apart == 0 && bytes <= 4) return kWarpSize / banks;
    } else {
      for (LaneMask rest = lanes; rest != 0; rest &= rest - 1)
        differ |= addresses[std::countr_zero(rest)] ^ any;
    }
    const bool aligned = ((any | differ) & (bytes - 1)) == 0;  // in traces, addresses may be unaligned
    if (aligned && differ / 4 < banks) return over_parts([](LaneMask) { return 1U; });
  }
  return over_parts(
      [&](LaneMask some) { return passes_of_part(addresses, some, std::max(bytes, 4U), atomic, banks); });
}

}  // namespace gpumux::workload
