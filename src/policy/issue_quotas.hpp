// Computes the issue quotas of SMK-(P+W).
#pragma once

#include <cstdint>
#include <vector>

#include "base/types.hpp"

namespace gpumux::policy {

/// Quota of each kernel in warp instructions per SM and set: round(warp_ipc x period / kernels), at least 1.
/// `warp_ipc`: warp instructions per SM and core cycle of each kernel when it runs alone.
[[nodiscard]] std::vector<std::uint32_t> issue_quotas(const std::vector<double>& warp_ipc, Cycle period);

}  // namespace gpumux::policy
