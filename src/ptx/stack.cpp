// Real calls: returns, saved registers and the stack pointer.
#include <algorithm>
#include <map>

#include "ptx/calls.hpp"
#include "ptx/frame_marks.hpp"
#include "ptx/liveness.hpp"
#include "ptx/operands.hpp"

namespace gpumux::ptx {

using isa::Function;
using isa::Instruction;
using isa::Opcode;
using isa::Operand;
using isa::Type;

namespace {

/// By block, the registers that some path from the entry to its start assigns. An unassigned register has no
/// value that a call could destroy, although later guarded definitions make it appear live.
std::vector<BitSet> assigned_at_begin(const FlowGraph& graph, const RegisterSpace& space) {
  std::vector<BitSet> assigned(graph.blocks.size(), BitSet(space.size()));
  const std::vector<BlockId> order = reverse_post_order(graph);
  for (bool changed = true; changed;) {
    changed = false;
    for (const BlockId id : order) {
      BitSet after = assigned[id];
      for (const Instruction& inst : graph.blocks[id].code) {
        for_each_def(inst, [&](const Operand& operand) { after.set(space.index(operand)); });
      }
      for (const BlockId next : successors(graph, id)) changed = assigned[next].merge(after) || changed;
    }
  }
  return assigned;
}

bool only_exits(const Block& block) {
  return block.code.size() == 1 && !block.code[0].guard && block.code[0].op == Opcode::Exit;
}

}  // namespace

void lower_returns(FlowGraph& graph, bool is_root, bool as_written) {
  if (is_root) {
    for (Block& block : graph.blocks) {
      for (Instruction& inst : block.code) {
        if (inst.op == Opcode::Ret) inst.op = Opcode::Exit;
      }
    }
    if (as_written) return;
    // `@p bra X` to a block X that only exits becomes `@p exit`.
    for (Block& block : graph.blocks) {
      if (block.code.empty() || block.code.back().op != Opcode::Bra) continue;
      Instruction& last = block.code.back();
      if (only_exits(graph.blocks[block.next]) && !only_exits(graph.blocks[last.target])) {
        std::swap(block.next, last.target);
        last.guard.negate = !last.guard.negate;
      }
      if (!only_exits(graph.blocks[last.target])) continue;
      last.op = Opcode::Exit;
      last.target = isa::kNoTarget;
      last.uniform = false;
    }
    simplify_flow(graph);
    return;
  }
  const BlockId end = graph.add_block(graph.order.back());
  Instruction ret;
  ret.op = Opcode::Ret;
  graph.blocks[end].code.push_back(ret);
  for (BlockId id = 0; id < graph.blocks.size(); ++id) {  // split-off tails are visited later
    if (id == end) continue;
    Block& block = graph.blocks[id];
    for (std::size_t i = 0; i < block.code.size(); ++i) {
      if (block.code[i].op != Opcode::Ret) continue;
      graph.blocks[end].code[0].line = block.code[i].line;
      if (!block.code[i].guard) {
        block.code.resize(i);
        block.next = end;
        break;
      }
      // A guarded return becomes a branch. The rest of the block becomes a new block.
      const BlockId rest = graph.add_block(id);
      Block& from = graph.blocks[id];
      Block& tail = graph.blocks[rest];
      tail.code.assign(from.code.begin() + static_cast<std::ptrdiff_t>(i) + 1, from.code.end());
      tail.next = from.next;
      tail.no_unroll = from.no_unroll;
      from.code.resize(i + 1);
      from.code.back().op = Opcode::Bra;
      from.code.back().target = end;
      from.next = rest;
      break;
    }
  }
  simplify_flow(graph);
}

void save_registers(FlowGraph& graph, Function& function) {
  const RegisterSpace space(function);
  const Liveness live(graph, space);
  std::vector<BitSet> assigned = assigned_at_begin(graph, space);
  std::map<std::uint32_t, std::uint32_t> place;  // by register: offset in the frame
  const std::uint32_t stack_pointer = space.index(Operand::reg32(kStackPointer));
  std::vector<Instruction> code;
  const auto access = [&](Opcode op, std::uint32_t reg, const Instruction& like, const Operand& value) {
    const bool wide = space.is_wide(reg);
    auto [at, fresh] = place.emplace(reg, 0);
    if (fresh) {
      const std::uint32_t bytes = wide ? 8 : 4;
      function.local_bytes = (function.local_bytes + bytes - 1) / bytes * bytes;
      at->second = function.local_bytes;
      function.local_bytes += bytes;
    }
    Instruction inst = make(op, wide ? Type::B64 : Type::B32, like);
    inst.guard = {};
    inst.space = isa::Space::Local;
    inst.src[0] = Operand::reg32(kStackPointer);
    inst.offset = at->second;
    (op == Opcode::Ld ? inst.dst[0] : inst.src[1]) = value;
    code.push_back(inst);
  };
  for (BlockId id = 0; id < graph.blocks.size(); ++id) {
    Block& block = graph.blocks[id];
    const bool calls = std::any_of(block.code.begin(), block.code.end(),
                                   [](const Instruction& inst) { return inst.op == Opcode::Call; });
    if (!calls) continue;
    std::vector<BitSet> after(block.code.size());
    live.walk(graph, id, [&](std::size_t index, const BitSet& live_after) {
      if (block.code[index].op == Opcode::Call) after[index] = live_after;
    });
    code.clear();
    for (std::size_t i = 0; i < block.code.size(); ++i) {
      const Instruction& inst = block.code[i];
      if (inst.op != Opcode::Call) {
        for_each_def(inst, [&](const Operand& operand) { assigned[id].set(space.index(operand)); });
        code.push_back(inst);
        continue;
      }
      std::vector<std::uint32_t> across;
      after[i].for_each([&](std::uint32_t reg) {
        if (reg != stack_pointer && assigned[id].test(reg)) across.push_back(reg);
      });
      for (const std::uint32_t reg : across) {
        Operand value = space.operand(reg);
        if (space.is_pred(reg)) {
          Instruction select = make(Opcode::Selp, Type::B32, inst);
          select.guard = {};
          select.dst[0] = new_reg32(function);
          select.src[0] = Operand::immediate(1);
          select.src[1] = Operand::immediate(0);
          select.src[2] = value;
          code.push_back(select);
          value = select.dst[0];
        }
        access(Opcode::St, reg, inst, value);
      }
      Instruction adjust = make(Opcode::Add, Type::U32, inst);
      adjust.guard = {};
      adjust.dst[0] = adjust.src[0] = Operand::reg32(kStackPointer);
      adjust.src[1] = Operand::immediate(0);
      adjust.target = kFrameSize;
      code.push_back(adjust);
      code.push_back(inst);
      adjust.op = Opcode::Sub;
      code.push_back(adjust);
      for (const std::uint32_t reg : across) {
        if (!space.is_pred(reg)) {
          access(Opcode::Ld, reg, inst, space.operand(reg));
          continue;
        }
        const Operand value = new_reg32(function);
        access(Opcode::Ld, reg, inst, value);
        Instruction test = make(Opcode::Setp, Type::S32, inst);
        test.guard = {};
        test.compare = isa::Compare::NE;
        test.dst[0] = space.operand(reg);
        test.src[0] = value;
        test.src[1] = Operand::immediate(0);
        code.push_back(test);
      }
    }
    block.code = code;
  }
}

void finish_frame(FlowGraph& graph, const Function& function) {
  const std::uint32_t frame = (function.local_bytes + 15U) / 16U * 16U;
  for (Block& block : graph.blocks) {
    for (Instruction& inst : block.code) {
      if (inst.op == Opcode::Bra) continue;
      if (inst.target == kBehindFrame) {
        inst.offset += frame;
        inst.target = isa::kNoTarget;
      } else if (inst.target == kFrameSize) {
        inst.src[1] = Operand::immediate(frame);
        inst.target = isa::kNoTarget;
      }
    }
  }
}

}  // namespace gpumux::ptx
