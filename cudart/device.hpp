// Limits that a program may set.
#pragma once

#include <array>
#include <cstddef>

namespace gpumux::cudart {

/// By cudaLimit: bytes of stack, printf, heap of malloc in kernels; kSyncDepthLimit, which is not supported;
/// and pending launches of kernels. After Session::connect() has succeeded.
inline constexpr std::size_t kLimits = 5;
[[nodiscard]] std::array<std::size_t, kLimits>& limits();
inline constexpr std::size_t kHeapLimit = 2;
inline constexpr std::size_t kSyncDepthLimit = 3;  // how deep kernels may wait for those that they launch
inline constexpr std::size_t kPendingLimit = 4;

}  // namespace gpumux::cudart
