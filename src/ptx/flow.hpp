// The control-flow graph that the back end's passes work on, and what is derived from it.
#pragma once

#include <cstdint>
#include <vector>

#include "isa/instruction.hpp"

namespace gpumux::ptx {

using BlockId = std::uint32_t;
inline constexpr BlockId kNoBlock = 0xffff'ffffU;

/// A basic block. Only its last instruction may be a Bra (always guarded: an unguarded one is `next`
/// alone) or a BrxIdx. Within a graph, Bra::target and the entries of branch_tables are block ids.
struct Block {
  std::vector<isa::Instruction> code;
  BlockId next = kNoBlock;   // where control goes when the last instruction does not redirect it
  bool uniform_next = true;  // the source said bra.uni, or control falls through
  bool no_unroll = false;
  std::uint32_t jump_line = 0;  // of the source's jump to `next`, if there was one
  std::uint32_t jump_column = 0;
};

/// Block 0 is the entry and has no predecessor. `order` is the layout (each block once).
struct FlowGraph {
  std::vector<Block> blocks;
  std::vector<BlockId> order;
  std::vector<std::vector<BlockId>> branch_tables;

  BlockId add_block(BlockId after);  // a new empty block laid out behind `after`
};

/// Builds the graph of `function` (virtual code): unreachable code is dropped, falling off the end
/// is a return. With `keep_jumps`, an unguarded branch leaves a mark that becomes a branch again
/// (is_jump_mark). Throws UserError for a branch to a label that does not stand in the function.
[[nodiscard]] FlowGraph build_flow(const isa::Function& function, bool keep_jumps = false);
/// An unguarded branch of the source, to wherever control goes next.
[[nodiscard]] bool is_jump_mark(const isa::Instruction& inst);

[[nodiscard]] std::vector<BlockId> successors(const FlowGraph& graph, BlockId block);
[[nodiscard]] std::vector<std::vector<BlockId>> predecessors(const FlowGraph& graph);
/// Reverse post order of the blocks that the entry reaches.
[[nodiscard]] std::vector<BlockId> reverse_post_order(const FlowGraph& graph);
/// Immediate dominators (kNoBlock for the entry and unreachable blocks).
[[nodiscard]] std::vector<BlockId> immediate_dominators(const FlowGraph& graph);
[[nodiscard]] bool dominates(const std::vector<BlockId>& idom, BlockId above, BlockId below);
/// Immediate post-dominators; kNoBlock where only the function's exit post-dominates. Paths that end
/// in a trap or never end do not count where another path reaches the exit.
[[nodiscard]] std::vector<BlockId> immediate_post_dominators(const FlowGraph& graph);

/// A natural loop: back edges `latch` -> `header` where the header dominates the latch.
struct Loop {
  BlockId header = kNoBlock;
  std::vector<BlockId> latches;
  std::vector<BlockId> blocks;  // ascending, header included
};
/// Loops of a graph, innermost first (by number of blocks, then header).
[[nodiscard]] std::vector<Loop> natural_loops(const FlowGraph& graph);
/// How many loops each block is in.
[[nodiscard]] std::vector<std::uint32_t> loop_depths(const FlowGraph& graph);

/// Drops blocks that the entry does not reach, joins a block with its only successor where that has no
/// other predecessor, and removes empty blocks (`join`). Ids of blocks change.
void simplify_flow(FlowGraph& graph, bool join = true);

/// True when control never continues behind the instruction.
[[nodiscard]] bool ends_flow(const isa::Instruction& inst);

/// Lays the graph out: fills code, branch_tables and labels of `function`, with targets and
/// reconvergence points as pcs offset by `base`.
void emit_flow(const FlowGraph& graph, isa::Function& function, std::uint32_t base);

}  // namespace gpumux::ptx
