#include "ptx/operands.hpp"

#include <algorithm>

namespace gpumux::ptx {

using isa::Instruction;
using isa::Opcode;
using isa::Operand;

bool defines(const Instruction& inst, const Operand& reg) {
  return std::any_of(inst.dst.begin(), inst.dst.end(),
                     [&](const Operand& dst) { return dst.kind == reg.kind && dst.reg == reg.reg; });
}

bool has_side_effect(const Instruction& inst) {
  switch (inst.op) {
    case Opcode::St:
    case Opcode::StMatrix:
    case Opcode::Atom:
    case Opcode::Red:
    case Opcode::SurfSt:
    case Opcode::SurfRed:
    case Opcode::Prefetch:
    case Opcode::CpAsync:
    case Opcode::CpAsyncCommit:
    case Opcode::CpAsyncWait:
    case Opcode::Mbarrier:
    case Opcode::Notify:
    case Opcode::Bar:
    case Opcode::BarWarp:
    case Opcode::Membar:
    case Opcode::Nanosleep:
    case Opcode::Label:
    case Opcode::Bra:
    case Opcode::BrxIdx:
    case Opcode::Call:
    case Opcode::Ret:
    case Opcode::Exit:
    case Opcode::Trap:
    case Opcode::Syscall: return true;
    case Opcode::Ld: return inst.is_volatile || inst.acquire_release;
    case Opcode::Shfl:  // exchanges values only among lanes that execute it together
    case Opcode::Vote:  // no effect if its result is unused
    default: return false;
  }
}

bool is_pure(const Instruction& inst) {
  switch (inst.op) {
    case Opcode::Ld:
    case Opcode::LdMatrix:
    case Opcode::Tex:
    case Opcode::SurfLd:
    case Opcode::MovMatrix:
    case Opcode::Mma:
    case Opcode::Shfl:
    case Opcode::Vote:
    case Opcode::Match:
    case Opcode::Activemask:
    case Opcode::Redux: return false;
    default: break;
  }
  if (has_side_effect(inst)) return false;
  for (const Operand& operand : inst.src) {
    if (operand.kind != Operand::Kind::Special) continue;
    switch (static_cast<isa::Special>(operand.reg)) {
      case isa::Special::Clock:
      case isa::Special::ClockHi:
      case isa::Special::Clock64:
      case isa::Special::GlobalTimer:
      case isa::Special::GlobalTimerLo:
      case isa::Special::GlobalTimerHi: return false;
      default: break;
    }
  }
  return true;
}

Operand new_reg32(isa::Function& function) { return Operand::reg32(function.num_reg32++); }
Operand new_reg64(isa::Function& function) { return Operand::reg64(function.num_reg64++); }
Operand new_pred(isa::Function& function) { return Operand::pred(function.num_pred++); }

Instruction make(Opcode op, isa::Type type, const Instruction& like) {
  Instruction inst;
  inst.op = op;
  inst.type = type;
  inst.guard = like.guard;
  inst.line = like.line;
  inst.column = like.column;
  return inst;
}

}  // namespace gpumux::ptx
