// Limits that a program may set.
#pragma once

#include <array>
#include <cstddef>

namespace gpumux::cudart {

/// By cudaLimit, bytes: stack, printf, heap of malloc in kernels. After Session::connect() has succeeded.
[[nodiscard]] std::array<std::size_t, 3>& limits();
inline constexpr std::size_t kHeapLimit = 2;

}  // namespace gpumux::cudart
