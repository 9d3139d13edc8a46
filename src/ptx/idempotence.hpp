// Where a thread block may stop being idempotent, found in a kernel's code before it runs: what chimera15's
// compiler does for SM flushing (sections 2.3 and 3.4; D20 in docs/deviations.md).
//
// An address is told by where it comes from: a kernel parameter, a variable of the module, or neither (a
// pointer that was loaded from memory), which may be any global address. Different parameters and variables
// are taken for different buffers, as the paper takes pointers of GPU kernels to be used. Nothing is known of
// offsets within a buffer.
//
// Threads of a block are ordered by barriers alone, since a load of one warp may come before a store of
// another although it stands behind it. So a load may precede a store unless every path to the load has
// passed more barriers of the whole block than any path to the store.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "isa/instruction.hpp"
#include "ptx/flow.hpp"

namespace gpumux::ptx {

/// The kernel or a function that it really calls.
struct AnalysedCode {
  FlowGraph* graph = nullptr;
  isa::Function* function = nullptr;
};

/// Sets Instruction::hazard, in virtual code, and the functions' hazards: of atomics on global memory, and of
/// global stores to where a load of the kernel may have read before. `code`: the kernel first.
void mark_hazards(const isa::Module& module, std::span<const AnalysedCode> code);
/// Puts a Notify in front of each instruction that has a hazard, under the same guard.
void insert_notices(FlowGraph& graph);

/// One instruction of final code that has a hazard.
struct HazardPoint {
  std::uint32_t pc = 0;
  std::uint32_t line = 0;  // of the PTX
  isa::Hazard hazard;
};
[[nodiscard]] std::vector<HazardPoint> hazard_points(const isa::Function& code);
/// The kernel may be begun anew at any time: chimera15's strict condition.
[[nodiscard]] bool is_idempotent(const isa::Function& code);
/// "an atomic", "a store to parameter out, which line 12 may have read".
[[nodiscard]] std::string to_text(const isa::Hazard& hazard);

}  // namespace gpumux::ptx
