#include "workload/shared_banks.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace gpumux::workload {
namespace {

/// Distinct words per bank of the lanes of `lanes`; `bytes` per lane from its address.
std::uint32_t passes_of_part(const std::uint64_t* addresses, LaneMask lanes, std::uint32_t bytes, bool atomic,
                             std::uint32_t banks) {
  // Words already counted, chained by bank. At most 32 words: 32 x 4 bytes, 16 x 8 or 8 x 16.
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
  if (bytes <= 4) {
    if (lanes == kAllLanes && bytes == 4 && !atomic) {
      std::uint64_t apart = 0;
      std::uint64_t same = 0;
      for (std::uint32_t i = 0; i < kWarpSize; ++i) {
        apart |= addresses[i] ^ (addresses[0] + 4 * i);
        same |= addresses[i] ^ addresses[0];
      }
      if (same == 0) return 1;
      if (apart == 0) return kWarpSize / banks;
    }
    return passes_of_part(addresses, lanes, 4, atomic, banks);
  }
  const std::uint32_t part_lanes = bytes == 8 ? 16 : 8;
  const LaneMask part = (1U << part_lanes) - 1;
  std::uint32_t passes = 0;
  for (std::uint32_t first = 0; first < kWarpSize; first += part_lanes) {
    passes += passes_of_part(addresses, lanes & (part << first), bytes, atomic, banks);
  }
  return passes;
}

}  // namespace gpumux::workload
