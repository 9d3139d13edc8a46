// Elimination of common subexpressions and of dead code, and renaming of values within blocks.
#include <algorithm>
#include <map>
#include <string>

#include "ptx/definitions.hpp"
#include "ptx/liveness.hpp"
#include "ptx/optimize.hpp"

namespace gpumux::ptx {

using isa::Instruction;
using isa::Opcode;
using isa::Operand;

namespace {

/// All properties that determine the result, as bytes.
std::string key_of(const Instruction& inst) {
  std::string key;
  const auto add = [&](std::uint64_t value) {
    key.append(reinterpret_cast<const char*>(&value), sizeof(value));
  };
  const auto pack = [](auto... fields) {
    std::uint64_t word = 0;
    ((word = word << 8U | static_cast<std::uint64_t>(fields)), ...);
    return word;
  };
  add(pack(inst.op, inst.type, inst.type2, inst.space, inst.rounding, inst.compare, inst.bool_op,
           inst.testp));
  add(pack(inst.shift, inst.approx, inst.full, inst.ftz, inst.sat, inst.wide, inst.nan));
  add(pack(inst.query, inst.geometry, inst.detail, inst.gather, inst.vector));
  add(static_cast<std::uint64_t>(inst.offset));
  for (const Operand& operand : inst.src) {
    add(pack(operand.kind, operand.negate));
    add(operand.reg);
    add(operand.imm);
  }
  return key;
}

/// True if the result is worth a register: false for mere moves.
bool worth_keeping(const Instruction& inst) {
  if (inst.op == Opcode::Mov) return inst.src[0].kind == Operand::Kind::Special;
  return true;
}

}  // namespace

bool eliminate_common(FlowGraph& graph, isa::Function& function) {
  const Definitions defs(graph, function);
  struct Available {
    BlockId block;
    Operand value;
  };
  std::map<std::string, std::vector<Available>> table;
  bool changed = false;
  for (const BlockId id : defs.order()) {
    for (Instruction& inst : graph.blocks[id].code) {
      if (!is_pure(inst) || inst.guard || !inst.dst[0] || inst.dst[1] || inst.carry_in || inst.carry_out)
        continue;
      if (!worth_keeping(inst) || !defs.is_value(inst.dst[0])) continue;
      bool values = true;
      for_each_use(inst, [&](const Operand& operand) { values = values && defs.is_value(operand); });
      if (!values) continue;
      auto& list = table[key_of(inst)];
      const auto found = std::find_if(list.begin(), list.end(), [&](const Available& other) {
        return defs.dominates(other.block, id) && other.value.kind == inst.dst[0].kind;
      });
      if (found == list.end()) {
        list.push_back({id, inst.dst[0]});
        continue;
      }
      Instruction copy = make(Opcode::Mov,
                              inst.dst[0].kind == Operand::Kind::Pred    ? isa::Type::Pred
                              : inst.dst[0].kind == Operand::Kind::Reg64 ? isa::Type::B64
                                                                         : isa::Type::B32,
                              inst);
      copy.dst[0] = inst.dst[0];
      copy.src[0] = found->value;
      inst = copy;
      changed = true;
    }
  }
  return changed;
}

bool eliminate_dead(FlowGraph& graph, isa::Function& function) {
  bool any = false;
  for (bool changed = true; changed;) {
    changed = false;
    const RegisterSpace space(function);
    const Liveness live(graph, space);
    for (BlockId id = 0; id < graph.blocks.size(); ++id) {
      auto& code = graph.blocks[id].code;
      BitSet after = live.out(id);
      std::vector<bool> dead(code.size(), false);
      for (std::size_t i = code.size(); i-- > 0;) {
        if (!has_side_effect(code[i])) {
          bool used = false;
          for_each_def(code[i], [&](const Operand& dst) { used = used || after.test(space.index(dst)); });
          if (!used) {
            dead[i] = true;
            changed = any = true;
            continue;
          }
          // A fetch writes only the components that are read.
          if (code[i].op == Opcode::Tex || code[i].op == Opcode::SurfLd) {
            for (Operand& dst : code[i].dst)
              if (dst && !after.test(space.index(dst))) dst = {};
          }
        }
        step_liveness(space, code[i], after);
      }
      std::size_t kept = 0;
      for (std::size_t i = 0; i < code.size(); ++i) {
        if (dead[i]) continue;
        if (kept != i) code[kept] = code[i];
        ++kept;
      }
      code.resize(kept);
    }
  }
  return any;
}

void rename_locals(FlowGraph& graph, isa::Function& function) {
  const RegisterSpace space(function);               // only old registers; new ones are not looked up
  std::vector<std::uint32_t> last(space.size(), 0);  // by register: index of the last definition in the block
  std::vector<bool> guarded(space.size(), false);    // old and new value must share a register
  std::vector<Operand> current(space.size());
  for (Block& block : graph.blocks) {
    auto& code = block.code;
    std::vector<std::uint32_t> touched;
    for (std::uint32_t i = 0; i < code.size(); ++i) {
      for_each_def(code[i], [&](const Operand& dst) {
        const std::uint32_t reg = space.index(dst);
        last[reg] = i;
        if (keeps_old_value(code[i])) guarded[reg] = true;
        touched.push_back(reg);
      });
    }
    for (std::uint32_t i = 0; i < code.size(); ++i) {
      for_each_use(code[i], [&](Operand& operand) {
        const Operand& name = current[space.index(operand)];
        if (name) operand.reg = name.reg;
      });
      for_each_def(code[i], [&](Operand& dst) {
        const std::uint32_t reg = space.index(dst);
        if (last[reg] == i || guarded[reg]) {
          current[reg] = Operand{};
          return;
        }
        dst = dst.kind == Operand::Kind::Pred    ? new_pred(function)
              : dst.kind == Operand::Kind::Reg64 ? new_reg64(function)
                                                 : new_reg32(function);
        current[reg] = dst;
      });
    }
    for (const std::uint32_t reg : touched) {
      current[reg] = Operand{};
      guarded[reg] = false;
    }
  }
}

}  // namespace gpumux::ptx
