// SMs divided among kernels: Smart Even and Rounds. Source: chimera15 section 4, after Adriaens et al., HPCA
// 2012.
#pragma once

#include <cstdint>
#include <vector>

#include "policy/control.hpp"

namespace gpumux::policy {

/// SMs that the kernel's blocks which are not done fill: 0xffff at most.
[[nodiscard]] std::uint32_t needed_sms(const RunningKernel& kernel);

/// The kernel is a cooperative grid whose blocks that are not done have no room on so few SMs.
[[nodiscard]] bool is_torn(const RunningKernel& kernel, std::uint32_t sms);

/// SMs of each of these kernels, of `sms` in all. `smart`: a kernel that needs no more than an even share
/// gets what it needs, at least one, and the others share the rest; else all share evenly. The oldest get one
/// more where it does not divide; of more kernels than SMs the youngest get none.
/// A cooperative grid which a part would tear apart has what it needs while it is resident. Before that it
/// has nothing, and the others divide the SMs without it; of several, the youngest first.
[[nodiscard]] std::vector<std::uint32_t> divide_sms(const std::vector<RunningKernel>& kernels,
                                                    std::uint32_t sms, bool smart);

}  // namespace gpumux::policy
