// Static analysis of where a thread block may stop being idempotent, as chimera15's compiler does for SM
// flushing (sections 2.3 and 3.4; D20 in docs/deviations.md).
//
// An address is classified by its origin: a kernel parameter, a variable of the module, or neither. An
// address of unknown origin, such as a pointer loaded from memory, may be any global address. Different
// parameters and variables are assumed to be different buffers, which is the paper's assumption on pointers
// of GPU kernels. Offsets within a buffer are not analysed.
//
// Only barriers order the threads of a block, since a load of one warp may come before a store of another
// although it follows in the code. So a load may precede a store, unless every path to the load passes more
// barriers of the whole block than any path to the store.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "isa/instruction.hpp"
#include "ptx/flow.hpp"

namespace gpumux::ptx {

/// The code of the kernel, or of a function that it really calls.
struct AnalysedCode {
  FlowGraph* graph = nullptr;
  isa::Function* function = nullptr;
};

/// Sets Instruction::hazard in virtual code and the functions' hazards, for atomics on global memory and for
/// global stores to buffers from which the kernel may have loaded. `code`: the kernel's code first.
void mark_hazards(const isa::Module& module, std::span<const AnalysedCode> code);
/// Inserts a Notify with the same guard in front of each instruction with a hazard.
void insert_notices(FlowGraph& graph);

/// An instruction of final code with a hazard.
struct HazardPoint {
  std::uint32_t pc = 0;
  std::uint32_t line = 0;  // line in the PTX
  isa::Hazard hazard;
};
[[nodiscard]] std::vector<HazardPoint> hazard_points(const isa::Function& code);
/// True if the kernel can be restarted at any time: chimera15's strict condition.
[[nodiscard]] bool is_idempotent(const isa::Function& code);
/// The text of a hazard: "an atomic", "a store to parameter out, which line 12 may have read".
[[nodiscard]] std::string to_text(const isa::Hazard& hazard);

}  // namespace gpumux::ptx
