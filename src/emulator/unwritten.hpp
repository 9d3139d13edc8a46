// Registers that a kernel may read before it has written them.
#pragma once

#include <vector>

#include "isa/instruction.hpp"
#include "ptx/liveness.hpp"

namespace gpumux::emulator {

/// The registers of final code that have rows of their own. Physical pairs are identified by their lower
/// half.
[[nodiscard]] inline ptx::RegisterSpace register_rows(const isa::Function& function) {
  ptx::RegisterSpace space(function);
  if (function.physical) space.num_reg64 = function.num_reg32 + function.num_reg32 % 2;
  return space;
}

/// Bits of register_rows(): registers of final code that a thread may read on some path before it has written
/// them, or whose values lanes read from each other. These must be 0 at the start of a block. The initial
/// values of other registers cannot be observed. All registers if calls or computed jumps hide the paths.
[[nodiscard]] ptx::BitSet registers_read_unwritten(const isa::Function& function);

}  // namespace gpumux::emulator
