// Bank conflicts of shared memory.
#pragma once

#include <cstdint>

#include "base/types.hpp"

namespace gpumux::workload {

/// How many times shared memory is accessed one after the other. Words of 4 bytes lie in `banks` banks (a
/// power of two, at most 32); each distinct word of a bank costs one pass, the same word in several lanes
/// none, unless the access is `atomic`. 8-byte accesses are served by half warps and 16-byte ones by quarter
/// warps, each part on its own. `addresses` has 32 entries, of which those in `lanes` count.
[[nodiscard]] std::uint32_t shared_passes(const std::uint64_t* addresses, LaneMask lanes, std::uint32_t bytes,
                                          bool atomic, std::uint32_t banks = 32);

}  // namespace gpumux::workload
