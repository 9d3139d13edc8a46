// A launch executed without a timing model.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "emulator/kernel_launch.hpp"

namespace gpumux::emulator {

/// Blocks in order, `resident` of them interleaved (so that blocks that wait for each other make progress).
/// Where none of them ends in kBlockPatience instructions of each warp, others may have to come first: twice
/// as many are let in, up to `most`.
class FunctionalRun {
 public:
  /// `kernel`: one that the emulator executes.
  FunctionalRun(workload::KernelSource& kernel, std::uint32_t resident, std::uint32_t most);
  /// Some instructions of each block that is let in. False: the last block has ended.
  bool step();
  /// Warp instructions so far.
  [[nodiscard]] std::uint64_t executed() const { return executed_; }

 private:
  KernelLaunch* kernel_;
  std::uint32_t most_;
  std::vector<std::unique_ptr<Block>> blocks_;
  std::uint64_t next_ = 0;
  std::uint64_t executed_ = 0;
  std::uint64_t running_ = 0;
  std::uint64_t waited_ = 0;  // passes without the end of a block
};

}  // namespace gpumux::emulator
