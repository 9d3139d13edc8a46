// Canonical forms, copy and constant propagation, integer constant folding.
#include <algorithm>
#include <bit>
#include <optional>

#include "ptx/definitions.hpp"
#include "ptx/optimize.hpp"

namespace gpumux::ptx {

using isa::Instruction;
using isa::Opcode;
using isa::Operand;
using isa::Space;
using isa::Type;

unsigned source_width(const Instruction& inst, std::size_t index) {
  const unsigned width = isa::width_bits(inst.type);
  if (isa::is_special_function(inst.op)) return width;
  switch (inst.op) {
    case Opcode::Mov:
    case Opcode::Add:
    case Opcode::Sub:
    case Opcode::MadLo:
    case Opcode::MadHi:
    case Opcode::MulLo:
    case Opcode::MulHi:
    case Opcode::Mul:
    case Opcode::Fma:
    case Opcode::Div:
    case Opcode::Rem:
    case Opcode::Abs:
    case Opcode::Neg:
    case Opcode::Min:
    case Opcode::Max:
    case Opcode::Copysign:
    case Opcode::Sad:
    case Opcode::And:
    case Opcode::Or:
    case Opcode::Xor:
    case Opcode::Not:
    case Opcode::Cnot:
    case Opcode::Lop3:
    case Opcode::Setp:
    case Opcode::Selp: return width;
    case Opcode::MulWide: return width;
    case Opcode::MadWide: return index == 2 ? 2 * width : width;
    case Opcode::Cvt: return isa::width_bits(inst.type2);
    case Opcode::Lea: return index == 0 || !inst.wide ? width : 32;
    case Opcode::Shl:
    case Opcode::Shr: return index == 0 ? width : 32;
    case Opcode::Set: return isa::width_bits(inst.type2);
    case Opcode::Bfe: return index == 0 ? width : 32;
    case Opcode::Bfi: return index < 2 ? width : 32;
    case Opcode::Shf:
    case Opcode::Prmt:
    case Opcode::Dp4a:
    case Opcode::Dp2a:
    case Opcode::Mul24:
    case Opcode::Mad24: return 32;
    case Opcode::Tex:
    case Opcode::SurfLd:
    case Opcode::SurfSt:
    case Opcode::SurfRed:
    case Opcode::Txq: return index == 0 ? 64 : 0;  // coordinates are registers
    default: return 0;
  }
}

namespace {

std::uint64_t mask_of(unsigned width) {
  return width >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << width) - 1;
}

std::int64_t sign_extend(std::uint64_t value, unsigned width) {
  if (width >= 64) return static_cast<std::int64_t>(value);
  const std::uint64_t sign = std::uint64_t{1} << (width - 1);
  return static_cast<std::int64_t>(((value & mask_of(width)) ^ sign) - sign);
}

void become_move(Instruction& inst, const Operand& from) {
  Instruction mov = make(Opcode::Mov,
                         inst.dst[0].kind == Operand::Kind::Pred    ? Type::Pred
                         : inst.dst[0].kind == Operand::Kind::Reg64 ? Type::B64
                                                                    : Type::B32,
                         inst);
  mov.dst[0] = inst.dst[0];
  mov.src[0] = from;
  inst = mov;
}

Type bits_type(Type type) {
  switch (isa::width_bits(type)) {
    case 32: return Type::B32;
    case 64: return Type::B64;
    default: return type;
  }
}

void canonicalize(Instruction& inst) {
  switch (inst.op) {
    case Opcode::Ld:
      if (inst.space == Space::Param && inst.src[0].kind == Operand::Kind::Const && inst.vector == 1) {
        const Operand from = Operand::constant(inst.src[0].imm + static_cast<std::uint64_t>(inst.offset));
        const bool extend = isa::is_signed(inst.type) && isa::width_bits(inst.type) < 32;
        Instruction move = make(extend ? Opcode::Cvt : Opcode::Mov, inst.type, inst);
        if (extend) {
          move.type = Type::S32;
          move.type2 = inst.type;
        } else {
          move.type = bits_type(inst.type);
          // A parameter with another width than the register is loaded, not moved.
          const bool wide = inst.dst[0].kind == Operand::Kind::Reg64;
          if (wide != (isa::width_bits(inst.type) == 64)) return;
        }
        move.dst[0] = inst.dst[0];
        move.src[0] = from;
        inst = move;
      }
      break;
    case Opcode::Mov: inst.type = bits_type(inst.type); break;
    case Opcode::Selp: inst.type = bits_type(inst.type); break;
    case Opcode::Cvta:
    case Opcode::CvtaTo:
      if (inst.space == Space::Global) become_move(inst, inst.src[0]);
      break;
    case Opcode::Sub:
      if (!isa::is_float(inst.type) && inst.src[1].kind == Operand::Kind::Imm && !inst.carry_in &&
          !inst.carry_out && !inst.sat) {
        inst.op = Opcode::Add;
        inst.src[1].imm = (~inst.src[1].imm + 1) & mask_of(isa::width_bits(inst.type));
      }
      break;
    default: break;
  }
  // Immediates come second.
  const bool commutes = inst.op == Opcode::Add || inst.op == Opcode::MulLo || inst.op == Opcode::And ||
                        inst.op == Opcode::Or || inst.op == Opcode::Xor;
  if (commutes && !isa::is_float(inst.type) && !inst.carry_in && inst.src[0].kind == Operand::Kind::Imm &&
      inst.src[1].kind != Operand::Kind::Imm) {
    std::swap(inst.src[0], inst.src[1]);
  }
}

/// The value of an integer operation on immediates, if it can be evaluated.
std::optional<std::uint64_t> evaluate(const Instruction& inst) {
  if (isa::is_float(inst.type) || inst.carry_in || inst.carry_out || inst.sat || inst.dst[1]) return {};
  for (std::size_t i = 0; i < inst.src.size(); ++i) {
    if (inst.src[i] && inst.src[i].kind != Operand::Kind::Imm) return {};
  }
  const unsigned width = isa::width_bits(inst.type);
  if (width != 32 && width != 64) return {};
  const bool is_signed = isa::is_signed(inst.type);
  const auto read = [&](std::size_t i) { return inst.src[i].imm & mask_of(width); };
  const std::uint64_t a = read(0);
  const std::uint64_t b = read(1);
  switch (inst.op) {
    case Opcode::Add: return a + b;
    case Opcode::Sub: return a - b;
    case Opcode::MulLo: return a * b;
    case Opcode::MadLo: return a * b + read(2);
    case Opcode::MulWide:
      if (width != 32) return {};
      return is_signed ? static_cast<std::uint64_t>(sign_extend(a, 32) * sign_extend(b, 32)) : a * b;
    case Opcode::And: return a & b;
    case Opcode::Or: return a | b;
    case Opcode::Xor: return a ^ b;
    case Opcode::Not: return ~a;
    case Opcode::Neg: return ~a + 1;
    case Opcode::Shl: {
      const std::uint64_t count = inst.src[1].imm & 0xffff'ffffU;
      return count >= width ? 0 : a << count;
    }
    case Opcode::Shr: {
      const std::uint64_t count = std::min<std::uint64_t>(inst.src[1].imm & 0xffff'ffffU, width);
      if (is_signed)
        return static_cast<std::uint64_t>(sign_extend(a, width) >> std::min<std::uint64_t>(count, 63));
      return count >= width ? 0 : a >> count;
    }
    case Opcode::Cvt: {
      if (isa::is_float(inst.type2) || isa::width_bits(inst.type2) > 64) return {};
      const unsigned from = isa::width_bits(inst.type2);
      const std::uint64_t value = inst.src[0].imm & mask_of(from);
      return isa::is_signed(inst.type2) ? static_cast<std::uint64_t>(sign_extend(value, from)) : value;
    }
    default: return {};
  }
}

/// Folds logic of predicates with a constant, which nvcc emits for tests of single bits. Other sources must
/// be registers.
void fold_predicates(Instruction& inst) {
  if (inst.type != Type::Pred) return;
  if (inst.op != Opcode::Xor && inst.op != Opcode::And && inst.op != Opcode::Or) return;
  for (std::size_t side = 0; side < 2; ++side) {
    if (inst.src[side].kind != Operand::Kind::Imm || inst.src[1 - side].kind != Operand::Kind::Pred) continue;
    const bool constant = (inst.src[side].imm & 1U) != 0;
    Operand other = inst.src[1 - side];
    if (inst.op == Opcode::Xor) {
      other.negate = other.negate != constant;
    } else if (constant == (inst.op == Opcode::Or)) {
      other = Operand::immediate(constant ? 1 : 0);
    }
    become_move(inst, other);
    return;
  }
}

void fold(Instruction& inst) {
  fold_predicates(inst);
  if (inst.op == Opcode::Mov || !inst.dst[0] || inst.dst[0].kind == Operand::Kind::Pred) return;
  if (const auto value = evaluate(inst)) {
    const bool wide = inst.dst[0].kind == Operand::Kind::Reg64;
    become_move(inst, Operand::immediate(*value & mask_of(wide ? 64 : 32)));
    return;
  }
  if (isa::is_float(inst.type) || inst.carry_in || inst.carry_out || inst.sat) return;
  const unsigned width = isa::width_bits(inst.type);
  if (width != 32 && width != 64) return;
  const auto imm_is = [&](std::size_t i, std::uint64_t value) {
    return inst.src[i].kind == Operand::Kind::Imm && (inst.src[i].imm & mask_of(width)) == value;
  };
  const bool symbol_sum = inst.op == Opcode::Add && inst.src[0].kind == Operand::Kind::Symbol &&
                          inst.src[1].kind == Operand::Kind::Imm;
  switch (inst.op) {
    case Opcode::Add:
    case Opcode::Or:
    case Opcode::Xor:
      if (imm_is(1, 0)) {
        become_move(inst, inst.src[0]);
      } else if (symbol_sum) {
        Operand sum = inst.src[0];
        sum.imm += static_cast<std::uint64_t>(sign_extend(inst.src[1].imm, width));
        become_move(inst, sum);
      }
      break;
    case Opcode::Shl:
    case Opcode::Shr:
      if (inst.src[1].kind == Operand::Kind::Imm && (inst.src[1].imm & 0xffff'ffffU) == 0) {
        become_move(inst, inst.src[0]);
      }
      break;
    case Opcode::MulLo:
      if (imm_is(1, 1)) {
        become_move(inst, inst.src[0]);
      } else if (inst.src[1].kind == Operand::Kind::Imm &&
                 std::has_single_bit(inst.src[1].imm & mask_of(width))) {
        inst.op = Opcode::Shl;
        inst.type = width == 64 ? Type::B64 : Type::B32;
        inst.src[1] = Operand::immediate(
            static_cast<std::uint64_t>(std::countr_zero(inst.src[1].imm & mask_of(width))));
      }
      break;
    default: break;
  }
}

bool is_memory(const Instruction& inst) {
  return inst.op == Opcode::Ld || inst.op == Opcode::St || inst.op == Opcode::Atom ||
         inst.op == Opcode::Red || inst.op == Opcode::Prefetch || inst.op == Opcode::LdMatrix ||
         inst.op == Opcode::StMatrix || inst.op == Opcode::CpAsync || inst.op == Opcode::Mbarrier;
}

/// True if the operand is in the constant bank. Like parameters, launch dimensions are in this bank on
/// hardware.
bool lies_in_bank(const Operand& operand) {
  if (operand.kind == Operand::Kind::Const) return true;
  if (operand.kind != Operand::Kind::Special) return false;
  const auto which = static_cast<isa::Special>(operand.reg);
  return (which >= isa::Special::NtidX && which <= isa::Special::NtidZ) ||
         (which >= isa::Special::NctaidX && which <= isa::Special::NctaidZ);
}

/// True if source `index` of `inst`, a register of `width` bits, can be replaced by `value`.
bool can_take(const Instruction& inst, std::size_t index, const Operand& value, unsigned width) {
  switch (value.kind) {
    case Operand::Kind::Reg32:
    case Operand::Kind::Reg64:
    case Operand::Kind::Pred: return true;
    case Operand::Kind::Imm:
      if (inst.geometry != isa::TextureGeometry::None || inst.op == Opcode::Txq) return false;
      if (is_memory(inst) && index == 0) return inst.space != Space::Global && inst.space != Space::Generic;
      if (inst.op == Opcode::St || inst.op == Opcode::Pack || inst.op == Opcode::StMatrix ||
          inst.op == Opcode::Mma)
        return value.imm == 0;  // the zero register
      return source_width(inst, index) == width;
    case Operand::Kind::Symbol:
      if (is_memory(inst)) return index == 0 && inst.space != Space::Generic;
      return (inst.op == Opcode::Mov || inst.op == Opcode::Add) && source_width(inst, index) == width;
    case Operand::Kind::Const:
    case Operand::Kind::Special: {
      if (value.kind == Operand::Kind::Special && !lies_in_bank(value)) return inst.op == Opcode::Mov;
      if (source_width(inst, index) != width) return false;
      const bool only_one = std::none_of(inst.src.begin(), inst.src.end(), [&](const Operand& other) {
        return lies_in_bank(other) || (other.kind == Operand::Kind::Imm && inst.op != Opcode::MadWide &&
                                       inst.op != Opcode::MulWide && inst.op != Opcode::Shl &&
                                       inst.op != Opcode::Shr && inst.op != Opcode::Mov);
      });
      return only_one;
    }
    case Operand::Kind::None: return false;
  }
  return false;
}

}  // namespace

void canonicalize(FlowGraph& graph) {
  for (Block& block : graph.blocks) {
    for (Instruction& inst : block.code) canonicalize(inst);
  }
}

bool propagate(FlowGraph& graph, isa::Function& function) {
  const Definitions defs(graph, function);
  bool changed = false;
  for (const BlockId id : defs.order()) {
    for (Instruction& inst : graph.blocks[id].code) {
      for (std::size_t i = 0; i < inst.src.size(); ++i) {
        Operand& operand = inst.src[i];
        // Follows a chain of moves. Each step is a value, so the source is unchanged since the move.
        while (operand.is_register() && defs.is_value(operand)) {
          const Instruction& def = defs.definition(operand);
          if (operand.kind == Operand::Kind::Pred) {
            const bool copy = def.op == Opcode::Mov || def.op == Opcode::Not;
            const bool logic = inst.type == Type::Pred &&
                               (inst.op == Opcode::And || inst.op == Opcode::Or || inst.op == Opcode::Xor);
            if (def.op == Opcode::Mov && def.src[0].kind == Operand::Kind::Imm && logic && i < 2 &&
                inst.src[1 - i].kind == Operand::Kind::Pred) {  // folded by fold()
              operand = Operand::immediate((def.src[0].imm & 1U) ^ (operand.negate ? 1U : 0U));
              changed = true;
              break;
            }
            if (!copy || def.src[0].kind != Operand::Kind::Pred || !defs.is_value(def.src[0])) break;
            const bool flip = (def.op == Opcode::Not) != def.src[0].negate;
            operand = Operand::pred(def.src[0].reg, operand.negate != flip);
            changed = true;
            continue;
          }
          if (def.op != Opcode::Mov || def.guard) break;
          Operand value = def.src[0];
          if (value.is_register() && (value.kind != operand.kind || !defs.is_value(value))) break;
          if (isa::width_bits(def.type) < 32) break;
          const unsigned width = operand.kind == Operand::Kind::Reg64 ? 64 : 32;
          if (!can_take(inst, i, value, width)) break;
          if (is_memory(inst) && i == 0 && value.kind == Operand::Kind::Symbol) {
            inst.offset += static_cast<std::int64_t>(value.imm);
            value.imm = 0;
          }
          operand = value;
          changed = true;
        }
      }
      while (inst.guard && defs.is_value(inst.guard)) {
        const Instruction& def = defs.definition(inst.guard);
        const bool copy = def.op == Opcode::Mov || def.op == Opcode::Not;
        if (!copy || def.src[0].kind != Operand::Kind::Pred || !defs.is_value(def.src[0])) break;
        const bool flip = (def.op == Opcode::Not) != def.src[0].negate;
        inst.guard = Operand::pred(def.src[0].reg, inst.guard.negate != flip);
        changed = true;
      }
      canonicalize(inst);
      fold(inst);
    }
  }
  return changed;
}

}  // namespace gpumux::ptx
