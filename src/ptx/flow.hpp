// The control-flow graph of the back end's passes, and analyses of it.
#pragma once

#include <cstdint>
#include <vector>

#include "isa/instruction.hpp"

namespace gpumux::ptx {

using BlockId = std::uint32_t;
inline constexpr BlockId kNoBlock = 0xffff'ffffU;

/// A basic block. Only its last instruction may be a Bra or a BrxIdx. A Bra is always guarded, since an
/// unguarded one is expressed by `next`. Within a graph, Bra::target and the entries of branch_tables are
/// block ids.
struct Block {
  std::vector<isa::Instruction> code;
  BlockId next = kNoBlock;   // successor if the last instruction does not redirect control
  bool uniform_next = true;  // the source has bra.uni, or control falls through
  bool no_unroll = false;
  std::uint32_t jump_line = 0;  // line of the source's jump to `next`, if any
  std::uint32_t jump_column = 0;
};

/// A control-flow graph. Block 0 is the entry and has no predecessor. `order` is the layout, with each block
/// once.
struct FlowGraph {
  std::vector<Block> blocks;
  std::vector<BlockId> order;
  std::vector<std::vector<BlockId>> branch_tables;

  BlockId add_block(BlockId after);  // appends a new empty block and places it after `after`
};

/// Builds the graph of `function` (virtual code). Unreachable code is dropped. Reaching the end of the code
/// is a return. With `keep_jumps`, an unguarded branch leaves a mark that becomes a branch again
/// (is_jump_mark). Throws UserError for a branch to a label that the function does not have.
[[nodiscard]] FlowGraph build_flow(const isa::Function& function, bool keep_jumps = false);
/// True for the mark of an unguarded branch of the source, whose target is the block's successor.
[[nodiscard]] bool is_jump_mark(const isa::Instruction& inst);

[[nodiscard]] std::vector<BlockId> successors(const FlowGraph& graph, BlockId block);
[[nodiscard]] std::vector<std::vector<BlockId>> predecessors(const FlowGraph& graph);
/// The reverse post order of the blocks reachable from the entry.
[[nodiscard]] std::vector<BlockId> reverse_post_order(const FlowGraph& graph);
/// Immediate dominators (kNoBlock for the entry and unreachable blocks).
[[nodiscard]] std::vector<BlockId> immediate_dominators(const FlowGraph& graph);
[[nodiscard]] bool dominates(const std::vector<BlockId>& idom, BlockId above, BlockId below);
/// Immediate post-dominators, or kNoBlock if only the function's exit post-dominates. Paths that end in a
/// trap or never end are ignored if another path reaches the exit.
[[nodiscard]] std::vector<BlockId> immediate_post_dominators(const FlowGraph& graph);

/// A natural loop: back edges `latch` -> `header` where the header dominates the latch.
struct Loop {
  BlockId header = kNoBlock;
  std::vector<BlockId> latches;
  std::vector<BlockId> blocks;  // ascending, including the header
};
/// Loops of a graph, innermost first (by number of blocks, then header).
[[nodiscard]] std::vector<Loop> natural_loops(const FlowGraph& graph);
/// The number of loops that contain each block.
[[nodiscard]] std::vector<std::uint32_t> loop_depths(const FlowGraph& graph);

/// Drops unreachable blocks. With `join`, also merges a block with its only successor if that has no other
/// predecessor, and removes empty blocks. Block ids change.
void simplify_flow(FlowGraph& graph, bool join = true);

/// True if control never continues after the instruction.
[[nodiscard]] bool ends_flow(const isa::Instruction& inst);

/// Lays out the graph: fills code, branch_tables and labels of `function`. Targets and reconvergence points
/// become pcs, offset by `base`.
void emit_flow(const FlowGraph& graph, isa::Function& function, std::uint32_t base);

}  // namespace gpumux::ptx
