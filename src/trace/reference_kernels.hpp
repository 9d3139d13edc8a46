// What the warps of the reference kernels execute.
#pragma once

#include <cstdint>

#include "trace/reference.hpp"
#include "trace/warp_program.hpp"

namespace gpumux::trace {

struct ReferenceProgram {
  const char* name;
  std::uint32_t blocks;   // of a usual launch
  std::uint32_t threads;  // of a block
  std::uint32_t shared_bytes;
  std::uint32_t registers;
  Address copied_to;           // what a copy brings to the device before the launch,
  std::uint64_t copied_bytes;  // so many bytes; 0: nothing
  /// Appends what a warp (its number in its block) of a block executes, of a launch of so many.
  void (*run)(WarpProgram& program, std::uint32_t block, std::uint32_t warp, std::uint32_t blocks);
};

[[nodiscard]] const ReferenceProgram& program_of(ReferenceKernel kernel);

}  // namespace gpumux::trace
