// The instructions that warps of the reference kernels execute.
#pragma once

#include <cstdint>

#include "trace/reference.hpp"
#include "trace/warp_program.hpp"

namespace gpumux::trace {

struct ReferenceProgram {
  const char* name;
  std::uint32_t blocks;   // in a usual launch
  std::uint32_t threads;  // per block
  std::uint32_t shared_bytes;
  std::uint32_t registers;
  Address copied_to;           // destination of a copy to the device before the launch
  std::uint64_t copied_bytes;  // size of this copy; 0: no copy
  /// Appends the instructions of a warp. `warp`: its number in its block. `blocks`: number of blocks of the
  /// launch.
  void (*run)(WarpProgram& program, std::uint32_t block, std::uint32_t warp, std::uint32_t blocks);
};

[[nodiscard]] const ReferenceProgram& program_of(ReferenceKernel kernel);

}  // namespace gpumux::trace
