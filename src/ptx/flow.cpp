// Construction, simplification and layout of the control-flow graph.
#include "ptx/flow.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace gpumux::ptx {

using isa::Function;
using isa::Instruction;
using isa::Opcode;

bool ends_flow(const Instruction& inst) {
  if (inst.guard) return false;
  return inst.op == Opcode::Ret || inst.op == Opcode::Exit || inst.op == Opcode::Trap ||
         inst.op == Opcode::BrxIdx;
}

BlockId FlowGraph::add_block(BlockId after) {
  const BlockId id = static_cast<BlockId>(blocks.size());
  blocks.emplace_back();
  const auto place = std::find(order.begin(), order.end(), after);
  order.insert(place == order.end() ? place : place + 1, id);
  return id;
}

namespace {

/// By label: index of the first instruction of its block.
std::vector<std::uint32_t> find_labels(const Function& function) {
  std::vector<std::uint32_t> at;
  for (std::uint32_t i = 0; i < function.code.size(); ++i) {
    const Instruction& inst = function.code[i];
    if (inst.op != Opcode::Label) continue;
    if (inst.target >= at.size()) at.resize(inst.target + 1, isa::kNoTarget);
    at[inst.target] = i;
  }
  return at;
}

[[noreturn]] void missing_label(const Function& function, const Instruction& inst, std::uint32_t label) {
  const std::string name = label < function.labels.size() ? function.labels[label] : std::to_string(label);
  throw UserError({function.where.file, inst.line, inst.column},
                  "branch to label '" + name + "', which is not defined in '" + function.name + "'");
}

}  // namespace

namespace {
constexpr std::uint8_t kJumpMark = 2;  // Nop::shift of a jump mark; 1 is .pragma "nounroll"
}

bool is_jump_mark(const Instruction& inst) { return inst.op == Opcode::Nop && inst.shift == kJumpMark; }

FlowGraph build_flow(const Function& function, bool keep_jumps) {
  const std::vector<std::uint32_t> label_at = find_labels(function);
  const auto label_place = [&](const Instruction& inst, std::uint32_t label) {
    if (label >= label_at.size() || label_at[label] == isa::kNoTarget) missing_label(function, inst, label);
    return label_at[label];
  };
  FlowGraph graph;
  // block_of[i]: the block that starts with instruction i.
  std::vector<BlockId> block_of(function.code.size() + 1, kNoBlock);
  graph.blocks.emplace_back();  // the entry, which is never a branch target
  BlockId current = 0;
  bool open = true;
  for (std::uint32_t i = 0; i < function.code.size(); ++i) {
    const Instruction& inst = function.code[i];
    if (inst.op == Opcode::Label || !open) {
      const bool starts_after_end = !open;
      const BlockId fresh = static_cast<BlockId>(graph.blocks.size());
      graph.blocks.emplace_back();
      if (!starts_after_end) graph.blocks[current].next = fresh;
      current = fresh;
      open = true;
    }
    block_of[i] = current;
    if (inst.op == Opcode::Label) continue;
    Block& block = graph.blocks[current];
    if (inst.op == Opcode::Nop && !inst.guard) {  // shift 1: .pragma "nounroll" for the loop that starts here
      block.no_unroll = block.no_unroll || inst.shift == 1;
      continue;
    }
    if (inst.op == Opcode::Bra && !inst.guard) {
      block.next = label_place(inst, inst.target);  // an instruction index, converted to a block below
      block.uniform_next = true;
      block.code.push_back(inst);  // marks that `next` is an index
      open = false;
      continue;
    }
    block.code.push_back(inst);
    if (ends_flow(inst)) {
      open = false;
    } else if (inst.op == Opcode::Bra || inst.op == Opcode::BrxIdx) {
      const BlockId fresh = static_cast<BlockId>(graph.blocks.size());
      graph.blocks.emplace_back();
      graph.blocks[current].next = fresh;
      current = fresh;
    }
  }
  if (open) {
    Instruction ret;
    ret.op = Opcode::Ret;
    if (!function.code.empty()) ret.line = function.code.back().line;
    graph.blocks[current].code.push_back(ret);
  }
  for (Block& block : graph.blocks) {
    if (block.code.empty()) continue;
    Instruction& last = block.code.back();
    if (last.op == Opcode::Bra) {
      if (last.guard) {
        last.target = block_of[label_place(last, last.target)];
      } else {
        block.next = block_of[block.next];
        block.jump_line = last.line;
        block.jump_column = last.column;
        if (keep_jumps) {
          last.op = Opcode::Nop;
          last.shift = kJumpMark;
          last.target = isa::kNoTarget;
        } else {
          block.code.pop_back();
        }
      }
    }
  }
  for (const Instruction& inst : function.code) {
    if (inst.op != Opcode::BrxIdx) continue;
    GPUMUX_CHECK(inst.call < function.branch_tables.size());
    graph.branch_tables.resize(function.branch_tables.size());
    auto& table = graph.branch_tables[inst.call];
    table.clear();
    for (const std::uint32_t label : function.branch_tables[inst.call]) {
      table.push_back(block_of[label_place(inst, label)]);
    }
  }
  for (BlockId id = 0; id < graph.blocks.size(); ++id) graph.order.push_back(id);
  simplify_flow(graph, !keep_jumps);
  return graph;
}

namespace {

/// Removes all blocks that are not in `keep` and renumbers the others.
void keep_blocks(FlowGraph& graph, const std::vector<bool>& keep) {
  std::vector<BlockId> renamed(graph.blocks.size(), kNoBlock);
  std::vector<Block> blocks;
  for (BlockId id = 0; id < graph.blocks.size(); ++id) {
    if (!keep[id]) continue;
    renamed[id] = static_cast<BlockId>(blocks.size());
    blocks.push_back(std::move(graph.blocks[id]));
  }
  std::vector<bool> table_used(graph.branch_tables.size(), false);
  for (Block& block : blocks) {
    if (block.next != kNoBlock) block.next = renamed[block.next];
    if (!block.code.empty() && block.code.back().op == Opcode::Bra) {
      block.code.back().target = renamed[block.code.back().target];
    }
    if (!block.code.empty() && block.code.back().op == Opcode::BrxIdx) {
      table_used[block.code.back().call] = true;
    }
  }
  for (std::size_t i = 0; i < graph.branch_tables.size(); ++i) {
    if (!table_used[i]) graph.branch_tables[i].clear();
    for (BlockId& target : graph.branch_tables[i]) target = renamed[target];
  }
  std::vector<BlockId> order;
  for (const BlockId id : graph.order) {
    if (keep[id]) order.push_back(renamed[id]);
  }
  graph.blocks = std::move(blocks);
  graph.order = std::move(order);
}

/// Removes conditional branches whose two targets are the same block.
void drop_void_branches(FlowGraph& graph) {
  for (Block& block : graph.blocks) {
    if (block.code.empty()) continue;
    const Instruction& last = block.code.back();
    if (last.op == Opcode::Bra && last.target == block.next) block.code.pop_back();
  }
}

/// Redirects edges around empty blocks.
void skip_empty_blocks(FlowGraph& graph) {
  const auto forward = [&](BlockId id) {
    for (std::size_t hops = 0; hops <= graph.blocks.size(); ++hops) {
      const Block& block = graph.blocks[id];
      if (!block.code.empty() || block.next == kNoBlock || block.next == id) break;
      id = block.next;
    }
    return id;
  };
  for (Block& block : graph.blocks) {
    if (block.next != kNoBlock) block.next = forward(block.next);
    if (!block.code.empty() && block.code.back().op == Opcode::Bra) {
      block.code.back().target = forward(block.code.back().target);
    }
  }
  for (auto& table : graph.branch_tables) {
    for (BlockId& target : table) target = forward(target);
  }
}

}  // namespace

void simplify_flow(FlowGraph& graph, bool join) {
  for (int round = 0; round < 2 && join; ++round) {
    skip_empty_blocks(graph);
    drop_void_branches(graph);
  }
  std::vector<bool> reached(graph.blocks.size(), false);
  for (const BlockId id : reverse_post_order(graph)) reached[id] = true;
  keep_blocks(graph, reached);
  if (!join) return;

  const auto before = predecessors(graph);
  std::vector<bool> keep(graph.blocks.size(), true);
  for (const BlockId id : reverse_post_order(graph)) {
    if (!keep[id]) continue;
    while (true) {
      Block& block = graph.blocks[id];
      const BlockId next = block.next;
      if (next == kNoBlock || next == id || next == 0 || before[next].size() != 1) break;
      if (!block.code.empty() &&
          (block.code.back().op == Opcode::Bra || block.code.back().op == Opcode::BrxIdx)) {
        break;
      }
      Block& tail = graph.blocks[next];
      block.code.insert(block.code.end(), tail.code.begin(), tail.code.end());
      block.next = tail.next;
      block.uniform_next = tail.uniform_next;
      block.no_unroll = block.no_unroll || tail.no_unroll;
      keep[next] = false;
    }
  }
  keep_blocks(graph, keep);
}

void emit_flow(const FlowGraph& graph, Function& function, std::uint32_t base) {
  const std::vector<BlockId> post = immediate_post_dominators(graph);
  std::vector<std::uint32_t> start(graph.blocks.size(), isa::kNoTarget);
  std::vector<BlockId> block_of;
  std::vector<Instruction> code;
  for (std::size_t place = 0; place < graph.order.size(); ++place) {
    const BlockId id = graph.order[place];
    const Block& block = graph.blocks[id];
    start[id] = static_cast<std::uint32_t>(code.size()) + base;
    code.insert(code.end(), block.code.begin(), block.code.end());
    const BlockId following = place + 1 < graph.order.size() ? graph.order[place + 1] : kNoBlock;
    if (block.next != kNoBlock && block.next != following) {
      // `@p bra X; bra Y` with X as the following block becomes `@!p bra Y`.
      if (!block.code.empty() && is_jump_mark(code.back())) {
        code.back().op = Opcode::Bra;
        code.back().uniform = true;
        code.back().target = block.next;
      } else if (!block.code.empty() && code.back().op == Opcode::Bra && code.back().target == following) {
        code.back().target = block.next;
        code.back().guard.negate = !code.back().guard.negate;
      } else {
        Instruction jump;
        jump.op = Opcode::Bra;
        jump.uniform = true;
        jump.target = block.next;
        jump.line = block.code.empty() ? block.jump_line : block.code.back().line;
        jump.column = block.code.empty() ? block.jump_column : block.code.back().column;
        code.push_back(jump);
      }
    }
    block_of.resize(code.size(), id);
  }
  for (std::size_t i = 0; i < code.size(); ++i) {
    Instruction& inst = code[i];
    inst.reconverge = isa::kNoTarget;  // virtual code stores a mark here
    if (inst.op == Opcode::Bra) inst.target = start[inst.target];
    if (is_jump_mark(inst)) {  // jumps to its successor in this layout
      inst.op = Opcode::Bra;
      inst.uniform = true;
      inst.target = base + static_cast<std::uint32_t>(i) + 1;
    }
    if ((inst.op == Opcode::Bra && inst.guard && !inst.uniform) ||
        (inst.op == Opcode::BrxIdx && !inst.uniform)) {
      const BlockId join = post[block_of[i]];
      inst.reconverge = join == kNoBlock ? isa::kNoTarget : start[join];
    }
  }
  function.code = std::move(code);
  function.branch_tables = graph.branch_tables;
  for (auto& table : function.branch_tables) {
    for (std::uint32_t& target : table) target = start[target];
  }
}

}  // namespace gpumux::ptx
