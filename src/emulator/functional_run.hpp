// Execution of a launch without a timing model.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "emulator/kernel_launch.hpp"

namespace gpumux::emulator {

/// Executes blocks in order, `resident` of them interleaved, so that blocks that wait for each other make
/// progress. If no block ends within kBlockPatience instructions of each warp, they may wait for later
/// blocks. Then twice as many blocks are made resident, up to `most`.
class FunctionalRun {
 public:
  /// `kernel`: a kernel of the emulator.
  FunctionalRun(workload::KernelSource& kernel, std::uint32_t resident, std::uint32_t most);
  /// Executes some instructions of each resident block. Returns false when the last block has ended.
  bool step();
  /// Number of executed warp instructions.
  [[nodiscard]] std::uint64_t executed() const { return executed_; }

 private:
  KernelLaunch* kernel_;
  std::uint32_t most_;
  std::vector<std::unique_ptr<Block>> blocks_;
  std::uint64_t next_ = 0;
  std::uint64_t executed_ = 0;
  std::uint64_t running_ = 0;
  std::uint64_t waited_ = 0;  // number of steps since a block ended
};

}  // namespace gpumux::emulator
