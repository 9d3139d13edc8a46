// Floating-point contraction like ptxas: a mul and an add or sub without explicit rounding become one fma,
// which rounds once (PTX ISA 9.0, sections 9.7.3.4 and 9.7.3.6). Instructions with .rn are not changed.
//
// The conditions are derived from ptxas 13.0's code for small kernels:
// - all uses of the product must be such additions, or negations all of whose uses are;
// - if both operands of a sum are products, the first one is fused;
// - product and sum are in one basic block, or the product has an immediate factor, so that moving it costs
//   no register;
// - both have the same .ftz, and the product has no .sat.
#include <vector>

#include "ptx/definitions.hpp"
#include "ptx/optimize.hpp"

namespace gpumux::ptx {
namespace {

using isa::Instruction;
using isa::Opcode;
using isa::Operand;
using isa::Rounding;

bool is_sum(const Instruction& inst) {
  return (inst.op == Opcode::Add || inst.op == Opcode::Sub) && isa::is_float(inst.type) &&
         inst.rounding == Rounding::None;
}

bool is_product(const Instruction& inst) {
  return inst.op == Opcode::Mul && isa::is_float(inst.type) && inst.rounding == Rounding::None && !inst.sat;
}

bool reads(const Instruction& inst, const Operand& reg) {
  bool found = false;
  for_each_use(inst, [&](const Operand& source) { found = found || source == reg; });
  return found;
}

class Contraction {
 public:
  Contraction(FlowGraph& graph, const isa::Function& function)
      : graph_(graph), defs_(graph, function), uses_(defs_.space().size()) {
    for (const BlockId id : defs_.order()) {
      const auto& code = graph.blocks[id].code;
      for (std::uint32_t i = 0; i < code.size(); ++i) {
        for_each_use(code[i], [&](const Operand& src) {
          uses_[defs_.space().index(src)].push_back({id, i});
        });
      }
    }
  }

  void run() {
    for (const BlockId id : defs_.order()) {
      for (Instruction& inst : graph_.blocks[id].code) {
        if (is_sum(inst) && !join(inst, 0)) join(inst, 1);
      }
    }
  }

 private:
  struct Place {
    BlockId block;
    std::uint32_t index;
  };
  struct Product {
    const Instruction* mul = nullptr;
    bool negated = false;
  };

  /// The product in a register, or the product whose negation is in the register.
  Product product(const Operand& reg, const Instruction& sum) const {
    Product result;
    Operand of = reg;
    for (int step = 0; step < 2; ++step) {
      if (!of.is_register() || of.kind == Operand::Kind::Pred || !defs_.is_value(of)) return {};
      const Instruction& def = defs_.definition(of);
      if (def.type != sum.type || def.ftz != sum.ftz) return {};
      if (is_product(def)) {
        result.mul = &def;
        return result;
      }
      if (def.op != Opcode::Neg) return {};
      result.negated = true;
      of = def.src[0];
    }
    return {};
  }

  /// True for an immediate, or a register that holds one.
  bool is_constant(const Operand& source) const {
    if (source.kind == Operand::Kind::Imm) return true;
    if (!source.is_register() || !defs_.is_value(source)) return false;
    const Instruction& def = defs_.definition(source);
    return def.op == Opcode::Mov && def.src[0].kind == Operand::Kind::Imm;
  }

  bool moves(const Instruction& mul) const {
    bool values = true;
    for_each_use(mul, [&](const Operand& source) { values = values && defs_.is_value(source); });
    return values && (is_constant(mul.src[0]) || is_constant(mul.src[1]));
  }

  /// True if the factors are not written between the product and its use in the same block, or are values.
  bool lasts(const Instruction& mul, std::uint32_t behind, const Place& use) const {
    bool same = true;
    for_each_use(mul, [&](const Operand& source) {
      if (defs_.is_value(source)) return;
      const auto& code = graph_.blocks[use.block].code;
      for (std::uint32_t i = behind; i < use.index; ++i) same = same && !defines(code[i], source);
    });
    return same;
  }

  /// True if each reader of `reg` is a sum that can be fused with the product.
  bool only_summed(const Operand& reg, const Instruction& mul, bool through_sign) const {
    const Place made{defs_.block_of(mul.dst[0]), defs_.index_of(mul.dst[0])};
    const bool can_move = moves(mul);
    for (const Place& use : uses_[defs_.space().index(reg)]) {
      const Instruction& user = graph_.blocks[use.block].code[use.index];
      if (user.op == Opcode::Fma && !reads(user, reg)) continue;  // already fused
      if (user.type != mul.type || user.ftz != mul.ftz) return false;
      if (user.op == Opcode::Neg && through_sign) {
        if (!defs_.is_value(user.dst[0]) || !only_summed(user.dst[0], mul, false)) return false;
        continue;
      }
      if (!is_sum(user) || user.src[0] == user.src[1]) return false;
      if (use.block != made.block && !can_move) return false;
      if (use.block == made.block && !lasts(mul, made.index + 1, use)) return false;
    }
    return true;
  }

  bool join(Instruction& sum, std::size_t side) {
    const Product found = product(sum.src[side], sum);
    if (found.mul == nullptr || !only_summed(found.mul->dst[0], *found.mul, true)) return false;
    const bool minus = sum.op == Opcode::Sub;
    const Operand addend = sum.src[1 - side];
    const bool product_minus = found.negated != (minus && side == 1);
    const bool addend_minus = minus && side == 0;
    sum.op = Opcode::Fma;
    sum.rounding = Rounding::RN;
    sum.src[0] = found.mul->src[0];
    sum.src[1] = found.mul->src[1];
    sum.src[2] = addend;
    sum.shift = static_cast<std::uint8_t>((product_minus ? isa::kFmaMinusProduct : 0U) |
                                          (addend_minus ? isa::kFmaMinusAddend : 0U));
    return true;
  }

  FlowGraph& graph_;
  Definitions defs_;
  std::vector<std::vector<Place>> uses_;
};

}  // namespace

void contract(FlowGraph& graph, const isa::Function& function) { Contraction(graph, function).run(); }

}  // namespace gpumux::ptx
