// Live registers, by backward data flow analysis.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "ptx/flow.hpp"
#include "ptx/operands.hpp"

namespace gpumux::ptx {

class BitSet {
 public:
  BitSet() = default;
  explicit BitSet(std::uint32_t bits) : words_((bits + 63) / 64, 0) {}
  [[nodiscard]] bool test(std::uint32_t bit) const { return ((words_[bit / 64] >> (bit % 64)) & 1U) != 0; }
  void set(std::uint32_t bit) { words_[bit / 64] |= std::uint64_t{1} << (bit % 64); }
  void clear(std::uint32_t bit) { words_[bit / 64] &= ~(std::uint64_t{1} << (bit % 64)); }
  /// Adds `other`. Returns true if anything changed.
  bool merge(const BitSet& other) {
    std::uint64_t changed = 0;
    for (std::size_t i = 0; i < words_.size(); ++i) {
      changed |= other.words_[i] & ~words_[i];
      words_[i] |= other.words_[i];
    }
    return changed != 0;
  }
  template <typename Visit>
  void for_each(Visit visit) const {
    for (std::size_t i = 0; i < words_.size(); ++i) {
      for (std::uint64_t word = words_[i]; word != 0; word &= word - 1) {
        visit(static_cast<std::uint32_t>(i * 64 + static_cast<std::size_t>(std::countr_zero(word))));
      }
    }
  }
  friend bool operator==(const BitSet&, const BitSet&) = default;

 private:
  std::vector<std::uint64_t> words_;
};

/// Updates `live` from after an instruction to before it. A guarded definition does not end a live range.
template <typename Inst>
void step_liveness(const RegisterSpace& space, const Inst& inst, BitSet& live) {
  if (!keeps_old_value(inst)) {
    for_each_def(inst, [&](const isa::Operand& operand) { live.clear(space.index(operand)); });
  }
  for_each_use(inst, [&](const isa::Operand& operand) { live.set(space.index(operand)); });
}

/// Registers that are live at the start and end of each block. A register with only guarded definitions is
/// conservatively live from the entry on, which is harmless.
class Liveness {
 public:
  Liveness(const FlowGraph& graph, const RegisterSpace& space);
  [[nodiscard]] const BitSet& in(BlockId block) const { return in_[block]; }
  [[nodiscard]] const BitSet& out(BlockId block) const { return out_[block]; }
  /// Calls visit(index, live registers after the instruction) for the block's instructions from last to
  /// first.
  template <typename Visit>
  void walk(const FlowGraph& graph, BlockId block, Visit visit) const {
    BitSet live = out_[block];
    const auto& code = graph.blocks[block].code;
    for (std::size_t i = code.size(); i-- > 0;) {
      visit(i, static_cast<const BitSet&>(live));
      step_liveness(space_, code[i], live);
    }
  }

 private:
  RegisterSpace space_;
  std::vector<BitSet> in_;
  std::vector<BitSet> out_;
};

}  // namespace gpumux::ptx
