// Registers that an instruction reads and writes, as dense numbers over the three register files.
#pragma once

#include <cstdint>
#include <vector>

#include "isa/instruction.hpp"

namespace gpumux::ptx {

/// Numbers of a function's registers in one dense range: predicates, then 32-bit, then 64-bit registers.
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
  /// Number of 32-bit registers that the register occupies, 0 for a predicate.
  [[nodiscard]] std::uint32_t cost(std::uint32_t index) const {
    return is_pred(index) ? 0 : is_wide(index) ? 2 : 1;
  }
};

/// Calls `visit(operand)` for each register operand that is read, including the guard.
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

/// True if `reg` is a destination of `inst`.
[[nodiscard]] bool defines(const isa::Instruction& inst, const isa::Operand& reg);

/// Value of Instruction::reconverge for a guarded instruction of virtual code other than a branch: lanes that
/// skip it never read the old values of its destinations again.
inline constexpr std::uint32_t kOldValueDead = 0xffff'fffeU;

/// True if the instruction may keep the old value of its destination, which makes this value an input. This
/// is so for guarded instructions, unless the old value is dead.
[[nodiscard]] inline bool keeps_old_value(const isa::Instruction& inst) {
  return bool(inst.guard) && inst.reconverge != kOldValueDead;
}

/// True for effects other than the destinations: memory, control, progress of other lanes.
[[nodiscard]] bool has_side_effect(const isa::Instruction& inst);
/// True if the result depends only on source operands, not on memory, lanes or time.
[[nodiscard]] bool is_pure(const isa::Instruction& inst);

/// Create a new virtual register.
[[nodiscard]] isa::Operand new_reg32(isa::Function& function);
[[nodiscard]] isa::Operand new_reg64(isa::Function& function);
[[nodiscard]] isa::Operand new_pred(isa::Function& function);

/// A new instruction with the location and guard of `like`.
[[nodiscard]] isa::Instruction make(isa::Opcode op, isa::Type type, const isa::Instruction& like);

}  // namespace gpumux::ptx
