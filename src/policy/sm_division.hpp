// Divides SMs among kernels: Smart Even and Rounds. Source: chimera15 section 4, after Adriaens et al., HPCA
// 2012.
#pragma once

#include <cstdint>
#include <vector>

#include "policy/control.hpp"

namespace gpumux::policy {

/// SMs that the kernel's unfinished blocks fill, at most 0xffff.
[[nodiscard]] std::uint32_t needed_sms(const RunningKernel& kernel);

/// True for a cooperative grid whose unfinished blocks do not fit on this many SMs.
[[nodiscard]] bool is_torn(const RunningKernel& kernel, std::uint32_t sms);

/// SMs of each kernel, of `sms` in all.
/// With `smart`, a kernel that needs at most an even share gets what it needs, at least one SM, and the
/// others share the rest evenly. Otherwise all share evenly. The oldest kernels get the remainder; with more
/// kernels than SMs, the youngest get none.
/// A cooperative grid whose share cannot hold all its blocks gets all SMs that it needs while it is resident.
/// Before, it gets none, and the other kernels divide the SMs; of several such grids, the youngest gives way
/// first.
[[nodiscard]] std::vector<std::uint32_t> divide_sms(const std::vector<RunningKernel>& kernels,
                                                    std::uint32_t sms, bool smart);

}  // namespace gpumux::policy
