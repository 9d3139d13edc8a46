// Number of blocks of a kernel that fit on one SM, with the hardware's allocation granularity.
#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "arch/config_file.hpp"
#include "base/round_up.hpp"

namespace gpumux::arch {
namespace {

std::uint32_t fitting(std::uint32_t available, std::uint64_t needed) {
  if (needed == 0) return std::numeric_limits<std::uint32_t>::max();
  return static_cast<std::uint32_t>(available / needed);
}

}  // namespace

Occupancy occupancy(const SmConfig& sm, std::uint32_t threads, std::uint32_t registers_per_thread,
                    std::uint32_t shared_bytes) {
  const std::uint32_t warps = (threads + kWarpSize - 1) / kWarpSize;
  const std::uint32_t warp_registers =
      round_up(registers_per_thread * kWarpSize, sm.register_allocation_unit);
  Occupancy result;
  result.by_threads = fitting(sm.max_threads, threads);
  result.by_warps = fitting(sm.max_warps, warps);
  result.by_registers = fitting(sm.registers, std::uint64_t{warp_registers} * warps);
  result.by_shared = fitting(sm.shared_bytes, round_up(shared_bytes, sm.shared_allocation_unit));
  result.by_blocks = sm.max_blocks;
  const std::array<std::pair<std::uint32_t, const char*>, 5> limits = {{{result.by_blocks, "blocks"},
                                                                        {result.by_threads, "threads"},
                                                                        {result.by_warps, "warps"},
                                                                        {result.by_registers, "registers"},
                                                                        {result.by_shared, "shared memory"}}};
  const auto* least = std::min_element(limits.begin(), limits.end(),
                                       [](const auto& a, const auto& b) { return a.first < b.first; });
  result.blocks = least->first;
  result.limited_by = least->second;
  return result;
}

}  // namespace gpumux::arch
