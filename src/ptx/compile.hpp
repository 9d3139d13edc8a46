// The back end: compiles virtual code to machine code with physical registers, scheduled for in-order warps.
#pragma once

#include <cstdint>
#include <string>

#include "isa/instruction.hpp"
#include "isa/timing_class.hpp"

namespace gpumux::ptx {

struct CompileOptions {
  /// 0: only resolves labels and post-dominators and keeps virtual registers, for differential tests. 1: all
  /// passes.
  int optimize = 1;
  /// Ptx: one instruction for each PTX instruction, in the PTX's order, in physical registers. `optimize` is
  /// ignored.
  isa::CodeLevel level = isa::CodeLevel::Machine;
  /// Fuses multiplications and additions like ptxas. false: as with -fmad=false. Not used at level Ptx.
  bool contract = true;
  /// Inserts a Notify in front of each instruction at which a block may stop being idempotent
  /// (ptx/idempotence.hpp).
  bool notices = false;
  /// Limit for registers per thread (16 to 255), which .maxnreg and .maxntid can lower.
  std::uint32_t max_registers = 255;
};

/// Compiles one kernel to final code. Device functions are inlined, recursive and indirect ones are compiled
/// into the same code and called. Labels are resolved to pcs, `reconverge` is set on each branch that can
/// diverge, and `final` is set. Symbols keep module indices. Throws UserError at the instruction's place for
/// calls to functions that do not exist.
[[nodiscard]] isa::Function compile(const isa::Module& module, const isa::Function& kernel,
                                    const CompileOptions& options);

/// Static figures for `gpumux inspect` and for the comparison with ptxas.
struct CodeFigures {
  std::uint32_t instructions = 0;
  std::uint32_t registers = 0;
  std::uint32_t basic_blocks = 0;
  std::uint32_t global_loads = 0;
  double mean_load_use_distance = 0;    // instructions from a global load to its first use, or to the block's
                                        // end
  double median_load_use_distance = 0;  // median of the same distance
};
[[nodiscard]] CodeFigures figures(const isa::Function& function);

}  // namespace gpumux::ptx
