// Choosing and rewriting registers that do not fit.
#pragma once

#include <cstdint>
#include <vector>

#include "isa/instruction.hpp"
#include "ptx/flow.hpp"
#include "ptx/liveness.hpp"

namespace gpumux::ptx {

/// Pressure of one register class over the graph.
struct Pressure {
  std::uint32_t registers = 0;  // 32-bit units at the fullest point
  std::uint32_t predicates = 0;
  BitSet at_registers;  // what is live there
  BitSet at_predicates;
};
[[nodiscard]] Pressure measure_pressure(const FlowGraph& graph, const RegisterSpace& space,
                                        const Liveness& live);

/// Rewrites spilled registers; remembers which registers are short-lived results of spilling.
class Spiller {
 public:
  Spiller(FlowGraph& graph, isa::Function& function, bool stack)
      : graph_(graph), function_(function), stack_(stack) {}
  /// Spills the cheapest registers among `candidates` until `units` 32-bit units (or that many
  /// predicates) are freed. Throws UserError when none is left to spill.
  void spill(const BitSet& candidates, std::uint32_t units, bool predicates);

 private:
  void spill_one(const isa::Operand& reg);
  void spill_predicate(const isa::Operand& reg);
  [[nodiscard]] bool is_temporary(const isa::Operand& reg) const;
  [[nodiscard]] const isa::Instruction* rematerializable(const isa::Operand& reg) const;
  FlowGraph& graph_;
  isa::Function& function_;
  bool stack_;
  std::vector<isa::Operand> temporaries_;
};

}  // namespace gpumux::ptx
