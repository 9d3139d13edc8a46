// Selection and rewriting of registers that do not fit.
#pragma once

#include <cstdint>
#include <vector>

#include "isa/instruction.hpp"
#include "ptx/flow.hpp"
#include "ptx/liveness.hpp"

namespace gpumux::ptx {

/// Register pressure of the graph.
struct Pressure {
  std::uint32_t registers = 0;  // 32-bit registers at the point of highest pressure
  BitSet at_registers;          // registers that are live at this point
  /// Sets of live predicates at points with more than kPredicateRegisters, in ascending order. Of adjacent
  /// points whose sets include each other, only the larger set. Only computed on request.
  std::vector<std::vector<std::uint32_t>> crowded;
};
[[nodiscard]] Pressure measure_pressure(const FlowGraph& graph, const RegisterSpace& space,
                                        const Liveness& live, bool crowded = false);

/// Rewrites spilled registers, and remembers the short-lived registers that spilling creates.
class Spiller {
 public:
  Spiller(FlowGraph& graph, isa::Function& function, bool stack)
      : graph_(graph), function_(function), stack_(stack) {}
  /// Spills the cheapest registers among `candidates` until `units` 32-bit registers, or predicates, are
  /// freed. Throws UserError if none can be spilled.
  void spill(const BitSet& candidates, std::uint32_t units, bool predicates);
  /// Spills the cheapest predicates of each set of Pressure::crowded until each set fits. Throws UserError if
  /// none can be spilled.
  void spill_predicates(const std::vector<std::vector<std::uint32_t>>& crowded);

 private:
  /// By register: number of accesses, weighted by loop depth, divided by the number of instructions over
  /// which it is live. The register with the lowest cost is spilled first.
  [[nodiscard]] std::vector<double> costs(const RegisterSpace& space) const;
  [[noreturn]] void fail() const;
  void spill_one(const isa::Operand& reg);
  /// Rewrites the predicates in `spilled` in one pass.
  void rewrite_predicates(const RegisterSpace& space, const BitSet& spilled);
  [[nodiscard]] bool is_temporary(const isa::Operand& reg) const;
  [[nodiscard]] const isa::Instruction* rematerializable(const isa::Operand& reg) const;
  FlowGraph& graph_;
  isa::Function& function_;
  bool stack_;
  std::vector<isa::Operand> temporaries_;
};

}  // namespace gpumux::ptx
