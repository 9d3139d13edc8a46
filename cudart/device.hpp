// Device limits that a program may set.
#pragma once

#include <array>
#include <cstddef>

namespace gpumux::cudart {

/// Values by cudaLimit: bytes of stack, of printf's buffer, of the heap for malloc in kernels,
/// kSyncDepthLimit (not supported), and the number of pending launches. Valid after Session::connect() has
/// succeeded.
inline constexpr std::size_t kLimits = 5;
[[nodiscard]] std::array<std::size_t, kLimits>& limits();
inline constexpr std::size_t kHeapLimit = 2;
inline constexpr std::size_t kSyncDepthLimit = 3;  // nesting depth at which kernels wait for launched kernels
inline constexpr std::size_t kPendingLimit = 4;

}  // namespace gpumux::cudart
