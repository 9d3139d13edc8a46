// How much a kernel may declare.
#pragma once

#include <cstdint>

namespace gpumux::ptx {

inline constexpr std::uint64_t kMaxConstBytes =
    65536;  // of a module (CUDA programming guide, compute capabilities)
inline constexpr std::uint64_t kMaxLocalBytes = 512 * 1024;  // of a thread, its stack included (the same)
inline constexpr std::uint64_t kMaxSharedBytes =
    256 * 1024;  // of a block, static and dynamic: above every GPU's

}  // namespace gpumux::ptx
