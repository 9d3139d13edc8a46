// Address folding and instruction selection.
#include "ptx/definitions.hpp"
#include "ptx/optimize.hpp"

namespace gpumux::ptx {

using isa::Instruction;
using isa::Opcode;
using isa::Operand;
using isa::Space;
using isa::Type;

namespace {

/// Largest offset of a memory instruction (24 bits, signed, as on hardware).
constexpr std::int64_t kLargestOffset = (std::int64_t{1} << 23) - 1;

std::int64_t signed_immediate(const Operand& operand, unsigned width) {
  if (width == 64) return static_cast<std::int64_t>(operand.imm);
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(operand.imm));
}

bool is_integer_add(const Instruction& inst, unsigned width) {
  return inst.op == Opcode::Add && !isa::is_float(inst.type) && isa::width_bits(inst.type) == width &&
         !inst.carry_in && !inst.carry_out && !inst.sat;
}

class Combiner {
 public:
  Combiner(FlowGraph& graph, isa::Function& function) : graph_(graph), defs_(graph, function) {}

  bool run() {
    for (const BlockId id : defs_.order()) {
      block_ = id;
      auto& code = graph_.blocks[id].code;
      for (index_ = 0; index_ < code.size(); ++index_) {
        Instruction& inst = code[index_];
        switch (inst.op) {
          case Opcode::Ld:
          case Opcode::St:
          case Opcode::LdMatrix:
          case Opcode::StMatrix:
          case Opcode::Atom:
          case Opcode::Red:
          case Opcode::Prefetch:
          case Opcode::CpAsync:
          case Opcode::Mbarrier: fold_address(inst); break;
          case Opcode::Add: fold_add(inst); break;
          case Opcode::Shl: fold_shift(inst); break;
          default: break;
        }
      }
    }
    return changed_;
  }

 private:
  /// The definition of `reg`, if the definition's sources still have the same values, or nullptr.
  const Instruction* usable_definition(const Operand& reg) const {
    if (!reg.is_register() || reg.kind == Operand::Kind::Pred || !defs_.is_value(reg)) return nullptr;
    const Instruction& def = defs_.definition(reg);
    if (def.guard) return nullptr;
    for (const Operand& operand : def.src) {
      if (operand.is_register() && !defs_.is_value(operand) && !unchanged(reg, operand)) return nullptr;
    }
    return &def;
  }

  /// True if a register that is no value was not written between the definition of `reg` and here, in the
  /// same block.
  bool unchanged(const Operand& reg, const Operand& source) const {
    if (defs_.block_of(reg) != block_ || defs_.index_of(reg) >= index_) return false;
    const auto& code = graph_.blocks[block_].code;
    for (std::size_t i = defs_.index_of(reg); i < index_; ++i) {
      for (const Operand& dst : code[i].dst) {
        if (dst.kind == source.kind && dst.reg == source.reg) return false;
      }
    }
    return true;
  }

  void fold_address(Instruction& inst) {
    while (true) {
      const Instruction* def = usable_definition(inst.src[0]);
      if (def == nullptr) return;
      const unsigned width = inst.src[0].kind == Operand::Kind::Reg64 ? 64 : 32;
      if (width == 32 && (inst.space == Space::Global || inst.space == Space::Generic)) return;
      if (!is_integer_add(*def, width) || def->src[1].kind != Operand::Kind::Imm) return;
      if (!def->src[0].is_register()) return;
      const std::int64_t offset = inst.offset + signed_immediate(def->src[1], width);
      if (offset > kLargestOffset || offset < -kLargestOffset) return;
      inst.offset = offset;
      inst.src[0] = def->src[0];
      changed_ = true;
    }
  }

  void fold_add(Instruction& inst) {
    const unsigned width = isa::width_bits(inst.type);
    if ((width != 32 && width != 64) || !is_integer_add(inst, width)) return;
    const std::uint64_t mask = width == 64 ? ~std::uint64_t{0} : 0xffff'ffffU;
    if (inst.src[1].kind == Operand::Kind::Imm) {  // (x + i) + j
      const Instruction* def = usable_definition(inst.src[0]);
      if (def != nullptr && is_integer_add(*def, width) && def->src[1].kind == Operand::Kind::Imm) {
        inst.src[1] = Operand::immediate((inst.src[1].imm + def->src[1].imm) & mask);
        inst.src[0] = def->src[0];
        changed_ = true;
      }
      return;
    }
    for (std::size_t side = 0; side < 2; ++side) {
      const Instruction* def = usable_definition(inst.src[side]);
      if (def == nullptr) continue;
      const Operand other = inst.src[1 - side];
      if (other.kind == Operand::Kind::Symbol) continue;
      if (width == 64 && def->op == Opcode::MulWide && isa::width_bits(def->type) == 32) {
        Instruction mad = make(Opcode::MadWide, def->type, inst);
        mad.dst[0] = inst.dst[0];
        mad.src[0] = def->src[0];
        mad.src[1] = def->src[1];
        mad.src[2] = other;
        replace(inst, mad);
        return;
      }
      if (width == 64 && def->op == Opcode::Cvt && isa::width_bits(def->type) == 64 &&
          (def->type2 == Type::S32 || def->type2 == Type::U32) && def->src[0].is_register()) {
        Instruction lea = make(Opcode::Lea, Type::U64, inst);
        lea.type2 = def->type2;
        lea.wide = true;
        lea.dst[0] = inst.dst[0];
        lea.src[0] = other;
        lea.src[1] = def->src[0];
        replace(inst, lea);
        return;
      }
      if (def->op == Opcode::Shl && def->src[1].kind == Operand::Kind::Imm && def->src[1].imm < width &&
          isa::width_bits(def->type) == width && def->src[0].is_register()) {
        Instruction lea = make(Opcode::Lea, width == 64 ? Type::U64 : Type::U32, inst);
        lea.dst[0] = inst.dst[0];
        lea.src[0] = other;
        lea.src[1] = def->src[0];
        lea.shift = static_cast<std::uint8_t>(def->src[1].imm);
        replace(inst, lea);
        return;
      }
      if (width == 32 && def->op == Opcode::MulLo && isa::width_bits(def->type) == 32 &&
          defs_.uses(inst.src[side]) == 1) {
        Instruction mad = make(Opcode::MadLo, inst.type, inst);
        mad.dst[0] = inst.dst[0];
        mad.src[0] = def->src[0];
        mad.src[1] = def->src[1];
        mad.src[2] = other;
        replace(inst, mad);
        return;
      }
    }
  }

  /// Combines cvt.s64.s32 and shl.b64 into mul.wide.
  void fold_shift(Instruction& inst) {
    if (isa::width_bits(inst.type) != 64 || inst.src[1].kind != Operand::Kind::Imm || inst.src[1].imm > 30)
      return;
    const Instruction* def = usable_definition(inst.src[0]);
    if (def == nullptr || def->op != Opcode::Cvt || isa::width_bits(def->type) != 64) return;
    if (def->type2 != Type::S32 && def->type2 != Type::U32) return;
    Instruction mul = make(Opcode::MulWide, def->type2, inst);
    mul.dst[0] = inst.dst[0];
    mul.src[0] = def->src[0];
    mul.src[1] = Operand::immediate(std::uint64_t{1} << inst.src[1].imm);
    replace(inst, mul);
  }

  void replace(Instruction& inst, const Instruction& with) {
    inst = with;
    changed_ = true;
  }

  FlowGraph& graph_;
  Definitions defs_;
  BlockId block_ = 0;
  std::size_t index_ = 0;
  bool changed_ = false;
};

}  // namespace

bool combine(FlowGraph& graph, isa::Function& function) { return Combiner(graph, function).run(); }

}  // namespace gpumux::ptx
