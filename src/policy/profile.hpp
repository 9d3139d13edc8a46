// What runs of each application alone say, for policies that want to know before a run begins.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/types.hpp"

namespace gpumux::policy {

/// Instructions per core cycle and SM while the kernel had blocks to run.
struct ProfilePoint {
  double warp_ipc = 0;
  double thread_ipc = 0;
};

struct KernelProfile {
  std::string kernel;  // all its launches together
  /// With at most 1, 2, 3... resident blocks per SM; the last point is the whole SM, and the only one of
  /// ProfileRequest::Depth::WholeSm.
  std::vector<ProfilePoint> points;
};

struct AppProfile {
  std::vector<KernelProfile> kernels;  // in order of their names
  /// Of all its kernels together over the whole profile: what is known of a kernel that the profile has not
  /// reached.
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
  std::string file;  // written by `gpumux profile`; empty: the runs are made
};

}  // namespace gpumux::policy
