// Resources that blocks take of an SM, for policies that divide every SM among kernels.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "policy/policy.hpp"

namespace gpumux::policy {

/// Amounts of the resources that limit the blocks on an SM: registers, bytes of shared memory, threads, block
/// slots, warps.
using SmAmounts = std::array<std::uint64_t, 5>;
/// Number of the first entries of SmAmounts that are resources of dominant resource fairness (dai18 section
/// 1).
inline constexpr std::size_t kFairResources = 4;

[[nodiscard]] SmAmounts sm_capacity(const arch::SmConfig& sm);
/// Resources of one block, with the machine's granularity of allocation.
[[nodiscard]] SmAmounts block_demand(const arch::SmConfig& sm, const workload::BlockResources& block);

/// A kernel that shares the SMs.
struct Sharer {
  SmAmounts demand{};      // resources of one block
  std::uint32_t most = 0;  // blocks per SM that it can use
};

/// True if blocks[i] blocks of each kernel fit one SM together.
[[nodiscard]] bool fit_together(const SmAmounts& capacity, const std::vector<Sharer>& sharers,
                                const std::vector<std::uint32_t>& blocks);

/// The kernels in order of their applications, kernels of one application in order of arrival. Ties are
/// decided in this order, because a restart of an application does not change it.
[[nodiscard]] std::vector<RunningKernel> by_application(const std::vector<RunningKernel>& kernels);
/// Demand and useful blocks of each kernel: at most its occupancy, and at most what its grid gives each SM.
[[nodiscard]] std::vector<Sharer> sharers(const arch::MachineConfig& config,
                                          const std::vector<RunningKernel>& kernels);

/// Lets every SM hold blocks[i] blocks of kernels[i]. Kernels are dispatched in order of arrival. `kernels`
/// are all running kernels.
void set_partition(Control& control, const std::vector<RunningKernel>& kernels,
                   const std::vector<std::uint32_t>& blocks);
/// Lets the kernel use every SM alone.
void give_everything(Control& control, const RunningKernel& kernel);

/// Blocks of the kernel that fit `parts` of `all` equal parts of an SM's registers, shared memory, threads,
/// warps and block slots, at least 1. A block larger than its part may thus run, one at a time, if the other
/// kernels leave room.
[[nodiscard]] std::uint32_t blocks_in_share(const arch::SmConfig& sm, const RunningKernel& kernel,
                                            std::uint64_t parts, std::uint64_t all);
/// Throws UserError: "policy P: one block of each of these kernels does not fit an SM together: k1 of app 0,
/// ...".
[[noreturn]] void throw_too_many(const std::string& policy, const std::vector<RunningKernel>& kernels);

}  // namespace gpumux::policy
