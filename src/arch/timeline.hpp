// When and where kernels and blocks ran, and when memory stalled SMs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/types.hpp"

namespace gpumux::arch {

/// Times are core cycles since the start of the run; kNever: not before its end.
struct Timeline {
  struct Kernel {  // one launch
    std::string name;
    AppId app = 0;
    std::uint32_t stream = 0;
    Dim3 grid;   // blocks
    Dim3 block;  // threads
    Cycle submitted = 0;
    Cycle arrival = 0;  // at the machine's work distributor
    Cycle first_block = kNever;
    Cycle end = kNever;  // end of its last block
  };
  struct Block {
    std::uint32_t kernel = 0;  // index into kernels
    std::uint64_t index = 0;   // index within the grid
    SmId sm = 0;
    std::uint16_t place = 0;  // block slot of the SM
    Cycle begin = 0;          // dispatch
    Cycle end = kNever;
  };
  /// Consecutive intervals of a series in each of which the load/store unit of an SM stalled in more than
  /// kStallShare of the cycles.
  struct Stall {
    SmId sm = 0;
    Cycle begin = 0;
    Cycle end = 0;
    std::uint64_t cycles = 0;  // stalled cycles between begin and end
  };
  /// Share of stall cycles above which dai18 (section 2.4) considers an application memory intensive.
  static constexpr double kStallShare = 0.2;
  /// Blocks beyond this number are counted but not kept. A block takes 40 bytes.
  static constexpr std::size_t kMaxBlocks = 2'000'000;

  std::vector<Kernel> kernels;  // in order of arrival
  std::vector<Block> blocks;    // in order of dispatch
  std::vector<Stall> stalls;    // for each SM in order of `begin`; empty without a series
  std::uint64_t blocks_left_out = 0;
};

}  // namespace gpumux::arch
