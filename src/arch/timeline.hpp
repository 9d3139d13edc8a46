// When kernels and blocks ran, and where, and when memory held an SM up.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/types.hpp"

namespace gpumux::arch {

/// All times are core cycles since the begin of the run; kNever: not before its end.
struct Timeline {
  struct Kernel {  // one launch
    std::string name;
    AppId app = 0;
    std::uint32_t stream = 0;
    Dim3 grid;   // blocks
    Dim3 block;  // threads
    Cycle submitted = 0;
    Cycle arrival = 0;  // at the machine's kernel scheduler
    Cycle first_block = kNever;
    Cycle end = kNever;  // of its last block
  };
  struct Block {
    std::uint32_t kernel = 0;  // index into kernels
    std::uint64_t index = 0;   // in its grid
    SmId sm = 0;
    std::uint16_t place = 0;  // among the SM's block slots
    Cycle begin = 0;          // dispatch
    Cycle end = kNever;
  };
  /// Consecutive intervals of the series in each of which the load/store unit of an SM stalled in more than
  /// kStallShare of the cycles.
  struct Stall {
    SmId sm = 0;
    Cycle begin = 0;
    Cycle end = 0;
    std::uint64_t cycles = 0;  // stalled in between
  };
  /// What dai18 (section 2.4) calls many stalls.
  static constexpr double kStallShare = 0.2;
  /// Blocks beyond so many are counted and not kept: 40 bytes each.
  static constexpr std::size_t kMaxBlocks = 2'000'000;

  std::vector<Kernel> kernels;  // by order of arrival
  std::vector<Block> blocks;    // by order of dispatch
  std::vector<Stall> stalls;    // by SM and begin among those of an SM; without a series none
  std::uint64_t blocks_left_out = 0;
};

}  // namespace gpumux::arch
