// Profiles of applications that run alone, for policies that need them before a run starts.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/types.hpp"

namespace gpumux::policy {

/// Instructions per core cycle and SM, over the cycles in which the kernel had blocks to run.
struct ProfilePoint {
  double warp_ipc = 0;
  double thread_ipc = 0;
};

struct KernelProfile {
  std::string kernel;  // name of the kernel; all its launches together
  /// Performance with at most 1, 2, 3... resident blocks per SM. The last point is without a limit;
  /// ProfileRequest::Depth::WholeSm has only this point.
  std::vector<ProfilePoint> points;
};

struct AppProfile {
  std::vector<KernelProfile> kernels;  // in order of their names
  /// All kernels of the application together over the whole profile. It stands in for kernels that the
  /// profile did not reach.
  KernelProfile whole;
  [[nodiscard]] const KernelProfile& of(const std::string& kernel) const {
    for (const KernelProfile& known : kernels)
      if (known.kernel == kernel) return known;
    return whole;
  }
};

/// Default length of each run of a profile.
inline constexpr Cycle kProfileCycles = 100'000;

struct ProfileRequest {
  enum class Depth { None, WholeSm, Curve };
  Depth depth = Depth::None;
  Cycle cycles = 0;  // length of each run
  std::string file;  // written by `gpumux profile`; empty: the runs are made now
};

}  // namespace gpumux::policy
