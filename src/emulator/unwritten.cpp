#include "emulator/unwritten.hpp"

#include <cstdint>

namespace gpumux::emulator {
namespace {

using isa::Instruction;
using isa::Opcode;
using ptx::BitSet;
using ptx::RegisterSpace;

bool hides_paths(const Instruction& inst) { return inst.op == Opcode::Call || inst.op == Opcode::BrxIdx; }

bool lanes_read_each_other(const Instruction& inst) {
  switch (inst.op) {
    case Opcode::Shfl:
    case Opcode::Match:
    case Opcode::Redux:
    case Opcode::Mma:
    case Opcode::LdMatrix:
    case Opcode::StMatrix:
    case Opcode::MovMatrix: return true;
    default: return false;
  }
}

}  // namespace

BitSet registers_read_unwritten(const isa::Function& function) {
  const RegisterSpace space = register_rows(function);
  const std::vector<Instruction>& code = function.code;
  BitSet found(space.size());
  bool hidden = !function.frames.empty();
  for (const Instruction& inst : code) {
    hidden = hidden || hides_paths(inst);
    if (!lanes_read_each_other(inst)) continue;
    ptx::for_each_use(inst, [&](const isa::Operand& operand) { found.set(space.index(operand)); });
  }
  if (hidden) {
    for (std::uint32_t i = 0; i < space.size(); ++i) found.set(i);
    return found;
  }
  // Live registers by backward data flow, at the targets of jumps.
  std::vector<std::uint32_t> place(code.size(), 0);  // by pc of a target: index in `live`
  std::vector<BitSet> live(1);
  for (const Instruction& inst : code) {
    if (inst.op != Opcode::Bra || place.at(inst.target) != 0) continue;
    place[inst.target] = static_cast<std::uint32_t>(live.size());
    live.emplace_back(space.size());
  }
  BitSet at_start;
  for (bool changed = true; changed;) {
    changed = false;
    BitSet now(space.size());
    for (std::size_t pc = code.size(); pc-- > 0;) {
      const Instruction& inst = code[pc];
      if (inst.op == Opcode::Bra) {
        if (!inst.guard) now = BitSet(space.size());
        now.merge(live[place[inst.target]]);
      } else if (!inst.guard &&
                 (inst.op == Opcode::Exit || inst.op == Opcode::Ret || inst.op == Opcode::Trap)) {
        now = BitSet(space.size());
      }
      if (!inst.guard)
        ptx::for_each_def(inst, [&](const isa::Operand& operand) { now.clear(space.index(operand)); });
      ptx::for_each_use(inst, [&](const isa::Operand& operand) { now.set(space.index(operand)); });
      if (place[pc] != 0) changed = live[place[pc]].merge(now) || changed;
    }
    at_start = now;
  }
  found.merge(at_start);
  return found;
}

}  // namespace gpumux::emulator
