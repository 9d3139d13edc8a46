// Choosing and rewriting registers that do not fit.
#pragma once

#include <cstdint>
#include <vector>

#include "isa/instruction.hpp"
#include "ptx/flow.hpp"
#include "ptx/liveness.hpp"

namespace gpumux::ptx {

/// Pressure over the graph.
struct Pressure {
  std::uint32_t registers = 0;  // 32-bit units at the fullest point
  BitSet at_registers;          // what is live there
  /// Predicates that are live where there are more than kPredicateRegisters, in ascending order; of
  /// neighbouring places one of which has all that the other has, that one. Only where it was asked for.
  std::vector<std::vector<std::uint32_t>> crowded;
};
[[nodiscard]] Pressure measure_pressure(const FlowGraph& graph, const RegisterSpace& space,
                                        const Liveness& live, bool crowded = false);

/// Rewrites spilled registers; remembers which registers are short-lived results of spilling.
class Spiller {
 public:
  Spiller(FlowGraph& graph, isa::Function& function, bool stack)
      : graph_(graph), function_(function), stack_(stack) {}
  /// Spills the cheapest registers among `candidates` until `units` 32-bit units (or that many
  /// predicates) are freed. Throws UserError when none is left to spill.
  void spill(const BitSet& candidates, std::uint32_t units, bool predicates);
  /// Spills predicates until each place of Pressure::crowded has enough, the cheapest of each. Throws
  /// UserError when none is left to spill.
  void spill_predicates(const std::vector<std::vector<std::uint32_t>>& crowded);

 private:
  /// By register: accesses, weighted by the depth of loops, for each instruction over which it is live. The
  /// least is spilled first.
  [[nodiscard]] std::vector<double> costs(const RegisterSpace& space) const;
  [[noreturn]] void fail() const;
  void spill_one(const isa::Operand& reg);
  /// Those of `spilled`, in one pass.
  void rewrite_predicates(const RegisterSpace& space, const BitSet& spilled);
  [[nodiscard]] bool is_temporary(const isa::Operand& reg) const;
  [[nodiscard]] const isa::Instruction* rematerializable(const isa::Operand& reg) const;
  FlowGraph& graph_;
  isa::Function& function_;
  bool stack_;
  std::vector<isa::Operand> temporaries_;
};

}  // namespace gpumux::ptx
