// The version of CUDA that the driver reports. Programs of this version and of older ones run.
#pragma once

namespace gpumux::cudart {

/// cuDriverGetVersion: 1000 * major + 10 * minor.
inline constexpr int kDriverVersion = 13000;

}  // namespace gpumux::cudart
