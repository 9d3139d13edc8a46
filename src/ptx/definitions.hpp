// Virtual registers that behave like values of static single assignment form.
#pragma once

#include <cstdint>
#include <vector>

#include "ptx/flow.hpp"
#include "ptx/operands.hpp"

namespace gpumux::ptx {

/// Definitions of registers. Positions are (block, index) and are valid until instructions are inserted or
/// removed.
class Definitions {
 public:
  Definitions(const FlowGraph& graph, const isa::Function& function);

  /// True if the register is a value: it has one unguarded definition, which dominates all uses.
  [[nodiscard]] bool is_value(const isa::Operand& reg) const { return value_[space_.index(reg)]; }
  /// The defining instruction of a value.
  [[nodiscard]] const isa::Instruction& definition(const isa::Operand& reg) const {
    const Place& place = place_[space_.index(reg)];
    return graph_.blocks[place.block].code[place.index];
  }
  [[nodiscard]] BlockId block_of(const isa::Operand& reg) const { return place_[space_.index(reg)].block; }
  [[nodiscard]] std::uint32_t index_of(const isa::Operand& reg) const {
    return place_[space_.index(reg)].index;
  }
  [[nodiscard]] std::uint32_t uses(const isa::Operand& reg) const { return uses_[space_.index(reg)]; }
  [[nodiscard]] const RegisterSpace& space() const { return space_; }
  /// True when block `above` dominates block `below` (constant time).
  [[nodiscard]] bool dominates(BlockId above, BlockId below) const {
    return enter_[above] <= enter_[below] && leave_[below] <= leave_[above];
  }
  /// The blocks in an order in which dominators come first.
  [[nodiscard]] const std::vector<BlockId>& order() const { return order_; }
  [[nodiscard]] const std::vector<BlockId>& idom() const { return idom_; }

 private:
  struct Place {
    BlockId block = kNoBlock;
    std::uint32_t index = 0;
  };
  const FlowGraph& graph_;
  RegisterSpace space_;
  std::vector<bool> value_;
  std::vector<Place> place_;
  std::vector<std::uint32_t> uses_;
  std::vector<BlockId> order_;
  std::vector<BlockId> idom_;
  std::vector<std::uint32_t> enter_;
  std::vector<std::uint32_t> leave_;
};

}  // namespace gpumux::ptx
