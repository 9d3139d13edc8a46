// The quotas of SMK-(P+W).
#pragma once

#include <cstdint>
#include <vector>

#include "base/types.hpp"

namespace gpumux::policy {

/// Warp instructions per SM and set, by kernel: round(warp_ipc x period / kernels), at least 1. `warp_ipc` is
/// what each issues alone, per SM and core cycle.
[[nodiscard]] std::vector<std::uint32_t> issue_quotas(const std::vector<double>& warp_ipc, Cycle period);

}  // namespace gpumux::policy
