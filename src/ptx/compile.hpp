// The back end: virtual code -> machine code with physical registers, scheduled for an in-order warp.
#pragma once

#include <cstdint>
#include <string>

#include "isa/instruction.hpp"
#include "isa/timing_class.hpp"

namespace gpumux::ptx {

struct CompileOptions {
  /// 0: only resolve labels and post-dominators (virtual registers stay; for differential tests).
  /// 1: everything.
  int optimize = 1;
  /// Ptx: one instruction for each of the PTX, in its order, in physical registers; `optimize` is not used
  /// then.
  isa::CodeLevel level = isa::CodeLevel::Machine;
  /// Fuses multiplications and additions as ptxas does; without: as under its -fmad=false. Not at level Ptx.
  bool contract = true;
  /// With a Notify in front of each instruction at which a block may stop being idempotent
  /// (ptx/idempotence.hpp).
  bool notices = false;
  /// Registers per thread that allocation may use (16..255); .maxnreg and .maxntid lower it.
  std::uint32_t max_registers = 255;
};

/// Final code for one kernel: device functions inlined (recursive and indirect ones compiled along
/// into the same code and called), labels resolved to pcs, `reconverge` set on each branch that can
/// diverge, `final` set. Symbols keep module indices. Throws UserError at the instruction's place for
/// calls to functions that do not exist.
[[nodiscard]] isa::Function compile(const isa::Module& module, const isa::Function& kernel,
                                    const CompileOptions& options);

/// Static figures for `gpumux inspect` and for the comparison with ptxas.
struct CodeFigures {
  std::uint32_t instructions = 0;
  std::uint32_t registers = 0;
  std::uint32_t basic_blocks = 0;
  std::uint32_t global_loads = 0;
  double mean_load_use_distance = 0;    // instructions from a global load to its first consumer,
  double median_load_use_distance = 0;  // within the block (a load without consumer there: to its end)
};
[[nodiscard]] CodeFigures figures(const isa::Function& function);

}  // namespace gpumux::ptx
