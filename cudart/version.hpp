// Which of NVIDIA's run times the library stands for: the two that are built differ in a few structures and
// signatures. GPUMUX_CUDART_MAJOR comes from CMakeLists.txt.
#pragma once

namespace gpumux::cudart {

inline constexpr int kMajor = GPUMUX_CUDART_MAJOR;
/// cudaRuntimeGetVersion: 1000 * major + 10 * minor.
inline constexpr int kRuntimeVersion = kMajor * 1000;

}  // namespace gpumux::cudart
