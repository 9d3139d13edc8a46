// What an instruction reads and writes, as dense register numbers over the three register files.
#pragma once

#include <cstdint>
#include <vector>

#include "isa/instruction.hpp"

namespace gpumux::ptx {

/// Registers of a function as one dense range: predicates, then 32-bit, then 64-bit ones.
struct RegisterSpace {
  std::uint32_t num_pred = 0;
  std::uint32_t num_reg32 = 0;
  std::uint32_t num_reg64 = 0;

  RegisterSpace() = default;
  explicit RegisterSpace(const isa::Function& function)
      : num_pred(function.num_pred), num_reg32(function.num_reg32), num_reg64(function.num_reg64) {}
  [[nodiscard]] std::uint32_t size() const { return num_pred + num_reg32 + num_reg64; }
  [[nodiscard]] std::uint32_t index(const isa::Operand& operand) const {
    switch (operand.kind) {
      case isa::Operand::Kind::Pred: return operand.reg;
      case isa::Operand::Kind::Reg32: return num_pred + operand.reg;
      default: return num_pred + num_reg32 + operand.reg;
    }
  }
  [[nodiscard]] isa::Operand operand(std::uint32_t index) const {
    if (index < num_pred) return isa::Operand::pred(index);
    if (index < num_pred + num_reg32) return isa::Operand::reg32(index - num_pred);
    return isa::Operand::reg64(index - num_pred - num_reg32);
  }
  [[nodiscard]] bool is_pred(std::uint32_t index) const { return index < num_pred; }
  [[nodiscard]] bool is_wide(std::uint32_t index) const { return index >= num_pred + num_reg32; }
  /// 32-bit registers that it takes: 0 for a predicate.
  [[nodiscard]] std::uint32_t cost(std::uint32_t index) const {
    return is_pred(index) ? 0 : is_wide(index) ? 2 : 1;
  }
};

/// Calls `visit(operand)` for each register operand that is read, the guard included.
template <typename Inst, typename Visit>
void for_each_use(Inst& inst, Visit visit) {
  if (inst.guard.is_register()) visit(inst.guard);
  for (auto& operand : inst.src) {
    if (operand.is_register()) visit(operand);
  }
}

template <typename Inst, typename Visit>
void for_each_def(Inst& inst, Visit visit) {
  for (auto& operand : inst.dst) {
    if (operand.is_register()) visit(operand);
  }
}

/// `reg` is among its destinations.
[[nodiscard]] bool defines(const isa::Instruction& inst, const isa::Operand& reg);

/// Instruction::reconverge of a guarded instruction of virtual code (no branch): the lanes that skip it never
/// read the old value of its destinations again.
inline constexpr std::uint32_t kOldValueDead = 0xffff'fffeU;

/// A guarded instruction may leave its destination as it was, which makes the old value an input (unless
/// nobody needs that value).
[[nodiscard]] inline bool keeps_old_value(const isa::Instruction& inst) {
  return bool(inst.guard) && inst.reconverge != kOldValueDead;
}

/// Has an effect besides its destinations (memory, control, other lanes' progress).
[[nodiscard]] bool has_side_effect(const isa::Instruction& inst);
/// Its result depends on its source operands alone (no memory, lanes, time).
[[nodiscard]] bool is_pure(const isa::Instruction& inst);

/// A fresh virtual register.
[[nodiscard]] isa::Operand new_reg32(isa::Function& function);
[[nodiscard]] isa::Operand new_reg64(isa::Function& function);
[[nodiscard]] isa::Operand new_pred(isa::Function& function);

/// A new instruction with the place and guard of `like`.
[[nodiscard]] isa::Instruction make(isa::Opcode op, isa::Type type, const isa::Instruction& like);

}  // namespace gpumux::ptx
