// Estimates of the cost of taking a thread block off its SM by each technique: latency in core cycles, and
// overhead in warp instructions that are lost or executed twice. Source: chimera15 section 3.2.
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
/// Cost of a technique that is not allowed, or cannot be estimated for lack of statistics. Such a technique
/// is chosen last.
inline constexpr double kMostCost = std::numeric_limits<double>::infinity();

/// Bytes of registers and shared memory that a block takes, with the machine's granularity of allocation.
[[nodiscard]] std::uint64_t context_bytes(const arch::SmConfig& sm, const workload::BlockResources& block);
/// Core cycles in which an SM moves `bytes` bytes with an equal part of the peak DRAM bandwidth (chimera15
/// section 2.4).
[[nodiscard]] double context_cycles(const arch::MachineConfig& config, std::uint64_t bytes);

/// How the context of one block moves: as memory traffic, or in a fixed number of cycles.
[[nodiscard]] arch::ContextMove context_move(const arch::MachineConfig& config,
                                             const workload::BlockResources& block, arch::ContextMoves how,
                                             double halt_cycles);

/// Progress of a kernel: its blocks that are done, and its blocks on SMs.
struct KernelProgress {
  std::uint64_t blocks_done = 0;
  std::uint64_t done_instructions = 0;  // warp instructions of blocks_done
  std::uint64_t instructions = 0;       // warp instructions of blocks done or on SMs
  Cycle cycles = 0;                     // cycles that all of these blocks have been on SMs
  /// Warp instructions that a block issues per cycle; 0: none has issued.
  [[nodiscard]] double block_ipc() const;
  /// Mean warp instructions of a block; 0: no block is done.
  [[nodiscard]] double mean_instructions() const;
};

/// How to count the issue slots that idle while blocks drain unequally. ToMost (the paper): a block counts
/// the instructions by which it is behind the most advanced block. ToLeast: the instructions by which it is
/// ahead of the least advanced block.
enum class DrainOverhead : std::uint8_t { ToMost, ToLeast };
/// How to count the overhead of a switched block. OfBlock: the block's own part of the SM's instructions, so
/// that the blocks of an SM add up to what the SM loses. OfSm: all of the SM's instructions, as the paper's
/// text says.
enum class SwitchOverhead : std::uint8_t { OfBlock, OfSm };
/// How long a switched block waits. Sm: until the whole SM's context is saved, as in the paper's table 2.
/// Blocks: until the contexts that are switched are saved.
enum class SwitchScope : std::uint8_t { Sm, Blocks };

/// One block on an SM that is to be preempted.
struct Candidate {
  arch::ResidentBlock block;
  bool may_be_flushed = false;
};
using BlockCosts = std::array<Cost, kTechniques>;  // by technique

/// Costs of each block of an SM. `switch_cycles`: time to save a context, see SwitchScope.
[[nodiscard]] std::vector<BlockCosts> estimate_costs(const KernelProgress& kernel,
                                                     const std::vector<Candidate>& blocks,
                                                     double switch_cycles, DrainOverhead drain,
                                                     SwitchOverhead switching = SwitchOverhead::OfBlock);

}  // namespace gpumux::policy
