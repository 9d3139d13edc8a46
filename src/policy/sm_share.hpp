// What blocks take of an SM, for policies that divide every SM among kernels.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "policy/policy.hpp"

namespace gpumux::policy {

/// Amounts of what limits the blocks on an SM: registers, bytes of shared memory, threads, block slots,
/// warps.
using SmAmounts = std::array<std::uint64_t, 5>;
/// The first ones are the resources of dominant resource fairness (dai18 section 1).
inline constexpr std::size_t kFairResources = 4;

[[nodiscard]] SmAmounts sm_capacity(const arch::SmConfig& sm);
/// Of one block, with the machine's granularity of allocation.
[[nodiscard]] SmAmounts block_demand(const arch::SmConfig& sm, const workload::BlockResources& block);

/// A kernel that shares the SMs.
struct Sharer {
  SmAmounts demand{};      // of one block
  std::uint32_t most = 0;  // blocks per SM that it can use
};

/// True when so many blocks of each fit one SM together.
[[nodiscard]] bool fit_together(const SmAmounts& capacity, const std::vector<Sharer>& sharers,
                                const std::vector<std::uint32_t>& blocks);

/// In order of their applications, those of one application in order of arrival: the order of kernels in
/// ties, which a restart does not change.
[[nodiscard]] std::vector<RunningKernel> by_application(const std::vector<RunningKernel>& kernels);
/// A kernel uses no more blocks per SM than its grid gives each SM.
[[nodiscard]] std::vector<Sharer> sharers(const arch::MachineConfig& config,
                                          const std::vector<RunningKernel>& kernels);

/// Every SM may hold blocks[i] blocks of kernels[i], which are all that run; they are dispatched in order of
/// arrival.
void set_partition(Control& control, const std::vector<RunningKernel>& kernels,
                   const std::vector<std::uint32_t>& blocks);
/// The kernel may use every SM alone.
void give_everything(Control& control, const RunningKernel& kernel);

/// Blocks of the kernel that fit `parts` of `all` equal parts of an SM's registers, shared memory, threads
/// and block slots; at least 1: a block larger than the part may still run, one at a time, where the others
/// leave room.
[[nodiscard]] std::uint32_t blocks_in_share(const arch::SmConfig& sm, const RunningKernel& kernel,
                                            std::uint64_t parts, std::uint64_t all);
/// "policy P: one block of each of a: k1, b: k2 does not fit an SM together; ..." as a UserError.
[[noreturn]] void throw_too_many(const std::string& policy, const std::vector<RunningKernel>& kernels);

}  // namespace gpumux::policy
