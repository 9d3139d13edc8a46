// Static figures of compiled code.
#include <algorithm>
#include <vector>

#include "ptx/compile.hpp"
#include "ptx/operands.hpp"

namespace gpumux::ptx {

using isa::Instruction;
using isa::Opcode;
using isa::Operand;

namespace {

/// True if `inst` reads or overwrites `reg` or a part of it. A physical 64-bit register is a pair of 32-bit
/// registers.
bool touches(const Instruction& inst, const Operand& reg, bool physical) {
  bool found = false;
  const auto same = [&](const Operand& operand) {
    if (operand.kind == Operand::Kind::Pred || reg.kind == Operand::Kind::Pred) return;
    if (!physical) {
      found = found || (operand.kind == reg.kind && operand.reg == reg.reg);
      return;
    }
    const auto end = [](const Operand& o) { return o.reg + (o.kind == Operand::Kind::Reg64 ? 2 : 1); };
    found = found || (operand.reg < end(reg) && reg.reg < end(operand));
  };
  for_each_use(inst, same);
  return found;
}

}  // namespace

CodeFigures figures(const isa::Function& function) {
  CodeFigures result;
  const auto& code = function.code;
  result.instructions = static_cast<std::uint32_t>(code.size());
  result.registers = function.num_reg32;
  std::vector<bool> starts(code.size() + 1, false);
  starts[0] = true;
  for (std::size_t i = 0; i < code.size(); ++i) {
    const Instruction& inst = code[i];
    if (inst.op == Opcode::Label) starts[i] = true;
    const bool ends = inst.op == Opcode::Bra || inst.op == Opcode::BrxIdx || inst.op == Opcode::Exit ||
                      inst.op == Opcode::Ret || inst.op == Opcode::Trap;
    if (ends) starts[i + 1] = true;
    if (function.final && inst.target < code.size()) starts[inst.target] = true;
    if (inst.op == Opcode::BrxIdx && function.final) {
      for (const std::uint32_t pc : function.branch_tables[inst.call]) starts[pc] = true;
    }
  }
  std::vector<std::uint32_t> distances;
  for (std::size_t i = 0; i < code.size(); ++i) {
    if (starts[i]) ++result.basic_blocks;
    const Instruction& inst = code[i];
    if (inst.op != Opcode::Ld || (inst.space != isa::Space::Global && inst.space != isa::Space::Generic)) {
      continue;
    }
    ++result.global_loads;
    std::size_t use = i + 1;
    for (; use < code.size() && !starts[use]; ++use) {
      bool found = false;
      for (const Operand& dst : inst.dst) {
        found = found || (dst.is_register() && touches(code[use], dst, function.physical));
      }
      if (found) break;
    }
    distances.push_back(static_cast<std::uint32_t>(use - i));
  }
  if (!distances.empty()) {
    double sum = 0;
    for (const std::uint32_t distance : distances) sum += distance;
    result.mean_load_use_distance = sum / static_cast<double>(distances.size());
    std::sort(distances.begin(), distances.end());
    const std::size_t half = distances.size() / 2;
    result.median_load_use_distance =
        distances.size() % 2 != 0 ? distances[half] : (distances[half - 1] + distances[half]) / 2.0;
  }
  return result;
}

}  // namespace gpumux::ptx
