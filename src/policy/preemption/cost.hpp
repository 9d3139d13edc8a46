// What it costs to take a thread block off its SM by each technique: latency in core cycles, and overhead in
// warp instructions that are lost or done twice. Source: chimera15 section 3.2.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <vector>

#include "arch/config.hpp"
#include "arch/sm_control.hpp"
#include "policy/control.hpp"
#include "policy/preemption/technique.hpp"

namespace gpumux::policy {

struct Cost {
  double latency = 0;   // core cycles
  double overhead = 0;  // warp instructions
};
/// Of what cannot be estimated, for want of statistics, or is not allowed: the technique is then chosen last.
inline constexpr double kMostCost = std::numeric_limits<double>::infinity();

/// Bytes of registers and shared memory that a block takes, with the machine's granularity of allocation.
[[nodiscard]] std::uint64_t context_bytes(const arch::SmConfig& sm, const workload::BlockResources& block);
/// Core cycles in which an SM moves so many bytes, when it has its part of the DRAM's bandwidth and no more
/// (chimera15 section 2.4).
[[nodiscard]] double context_cycles(const arch::MachineConfig& config, std::uint64_t bytes);

/// How the context of one block moves: as traffic, or in so many cycles.
[[nodiscard]] arch::ContextMove context_move(const arch::MachineConfig& config,
                                             const workload::BlockResources& block, arch::ContextMoves how,
                                             double halt_cycles);

/// What is known of a kernel: blocks that are done, and those that are on SMs.
struct KernelProgress {
  std::uint64_t blocks_done = 0;
  std::uint64_t done_instructions = 0;  // warp instructions of these
  std::uint64_t instructions = 0;       // and of those on SMs, too
  Cycle cycles = 0;                     // that all of these blocks have been on SMs
  /// Warp instructions that a block issues per cycle; 0: none has issued.
  [[nodiscard]] double block_ipc() const;
  /// Of a block; 0: none is done.
  [[nodiscard]] double mean_instructions() const;
};

/// When the drain of blocks that are not equally far leaves slots idle: the paper sums the differences to the
/// block that is farthest; those that are lost while the last one ends are the differences to it.
enum class DrainOverhead : std::uint8_t { ToMost, ToLeast };
/// Whose instructions a switched block counts for: its own part of the SM's, so that those of an SM add up to
/// what the SM loses, or all of the SM's, as the text says.
enum class SwitchOverhead : std::uint8_t { OfBlock, OfSm };
/// What a switched block waits for: the whole SM's context, as the paper's table 2 has it, or what is saved
/// alone.
enum class SwitchScope : std::uint8_t { Sm, Blocks };

/// One block on an SM that is to be preempted.
struct Candidate {
  arch::ResidentBlock block;
  bool may_be_flushed = false;
};
using BlockCosts = std::array<Cost, kTechniques>;  // by technique

/// Of each block of an SM. `switch_cycles`: to save a context, see SwitchScope.
[[nodiscard]] std::vector<BlockCosts> estimate_costs(const KernelProgress& kernel,
                                                     const std::vector<Candidate>& blocks,
                                                     double switch_cycles, DrainOverhead drain,
                                                     SwitchOverhead switching = SwitchOverhead::OfBlock);

}  // namespace gpumux::policy
