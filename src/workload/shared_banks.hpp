// Bank conflicts of shared memory.
#pragma once

#include <cstdint>

#include "base/types.hpp"

namespace gpumux::workload {

/// The number of serialised passes of a shared memory access. Words of 4 bytes are spread over `banks` banks
/// (a power of two, at most 32). Each distinct word of a bank costs one pass. Lanes that access the same word
/// share its pass, unless the access is `atomic`. 8-byte accesses are served by half warps and 16-byte
/// accesses by quarter warps, one part after the other. `addresses` has 32 entries, only those of `lanes`
/// count.
[[nodiscard]] std::uint32_t shared_passes(const std::uint64_t* addresses, LaneMask lanes, std::uint32_t bytes,
                                          bool atomic, std::uint32_t banks = 32);

}  // namespace gpumux::workload
