// Limits for the memory that a module or kernel declares.
#pragma once

#include <cstdint>

namespace gpumux::ptx {

inline constexpr std::uint64_t kMaxConstBytes =
    65536;  // per module (CUDA programming guide, compute capabilities)
inline constexpr std::uint64_t kMaxLocalBytes = 512 * 1024;  // per thread, stack included (same table)
inline constexpr std::uint64_t kMaxSharedBytes =
    256 * 1024;  // per block, static and dynamic; above the limit of every GPU

}  // namespace gpumux::ptx
