// The back end's sequence of passes.
#include "ptx/compile.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "base/error.hpp"
#include "ptx/allocate.hpp"
#include "ptx/calls.hpp"
#include "ptx/expand.hpp"
#include "ptx/flow.hpp"
#include "ptx/idempotence.hpp"
#include "ptx/if_convert.hpp"
#include "ptx/limits.hpp"
#include "ptx/optimize.hpp"
#include "ptx/schedule.hpp"
#include "ptx/unroll.hpp"

namespace gpumux::ptx {

using isa::Function;
using isa::Instruction;
using isa::Module;
using isa::Opcode;

namespace {

/// A kernel, or a function that it really calls, during compilation.
struct Compiled {
  std::uint32_t module_index = isa::kNoTarget;  // callees only
  Function function;
  FlowGraph graph;
};

void lower(Compiled& unit, bool stack, bool is_root, std::uint32_t alloca, isa::CodeLevel level) {
  const bool as_written = level == isa::CodeLevel::Ptx;
  lower_slots(unit.function, stack, is_root, alloca);
  unit.graph = build_flow(unit.function, as_written);
  lower_returns(unit.graph, is_root, as_written);
}

/// Targets of the number of live registers while loads are hoisted. A kernel with more live registers before
/// scheduling keeps its number. With 32 registers, an SM of 65536 registers holds 2048 threads, with 64 it
/// holds 1024.
constexpr RegisterTarget kScheduleRegisters{32, 64};

void clean_up(Compiled& unit) {
  constexpr int kRounds = 4;
  for (int round = 0; round < kRounds; ++round) {
    bool changed = propagate(unit.graph, unit.function);
    changed = combine(unit.graph, unit.function) || changed;
    changed = eliminate_common(unit.graph, unit.function) || changed;
    changed = eliminate_dead(unit.graph, unit.function) || changed;
    if (!changed) break;
  }
}

void optimize(Compiled& unit) {
  canonicalize(unit.graph);
  clean_up(unit);
  expand_arithmetic(unit.graph, unit.function);
  clean_up(unit);
  unroll_loops(unit.graph, unit.function);
  rename_locals(unit.graph, unit.function);
  clean_up(unit);
  simplify_flow(unit.graph);
  convert_branches(unit.graph, unit.function);
}

void make_physical(Compiled& unit, std::uint32_t limit, bool stack) {
  const std::uint32_t before = max_pressure(unit.graph, unit.function);
  const auto target = [&](std::uint32_t wanted) { return std::min(limit, std::max(before, wanted)); };
  schedule(unit.graph, unit.function,
           {target(kScheduleRegisters.usual), target(kScheduleRegisters.long_region)});
  allocate_registers(unit.graph, unit.function, limit, stack);
}

/// Bytes of stack that calls need beyond the frame of the kernel, units[0]. With recursion or function
/// pointers, the depth of calls is unknown: then the largest frame plus kStackReserveBytes.
std::uint64_t stack_bytes(const std::vector<Compiled>& units, const Module& module, const CallGraph& calls) {
  const auto frame = [&](std::size_t unit) {
    return (std::uint64_t{units[unit].function.local_bytes} + 15U) / 16U * 16U;
  };
  std::vector<std::uint32_t> unit_of(module.functions.size(), isa::kNoTarget);
  std::uint64_t largest = 0;
  bool known = true;
  for (std::size_t i = 1; i < units.size(); ++i) {
    unit_of[units[i].module_index] = static_cast<std::uint32_t>(i);
    largest = std::max(largest, std::uint64_t{units[i].function.local_bytes});
    known = known && !calls.calls_itself(units[i].module_index);
  }
  std::vector<std::vector<std::uint32_t>> callees(units.size());
  for (std::size_t i = 0; i < units.size(); ++i) {
    for (const Block& block : units[i].graph.blocks) {
      for (const Instruction& inst : block.code) {
        if (inst.op != Opcode::Call) continue;
        const std::string& name = units[i].function.calls[inst.call].callee;
        known = known && !name.empty();
        if (!name.empty()) callees[i].push_back(unit_of[function_index(module, name)]);
      }
    }
  }
  if (!known) return largest + kStackReserveBytes;
  std::vector<std::uint64_t> depth(units.size(), 0);  // including the unit's own frame
  for (const std::uint32_t index : calls.callees_first()) {
    const std::uint32_t unit = unit_of[index];
    if (unit == isa::kNoTarget) continue;
    for (const std::uint32_t callee : callees[unit]) depth[unit] = std::max(depth[unit], depth[callee]);
    depth[unit] += frame(unit);
  }
  return *std::max_element(depth.begin(), depth.end());
}

/// Concatenates the units' code and resolves calls.
Function link_functions(std::vector<Compiled>& units, const Module& module, const CallGraph& calls) {
  const bool has_calls =
      std::any_of(units[0].graph.blocks.begin(), units[0].graph.blocks.end(), [](const Block& b) {
        return std::any_of(b.code.begin(), b.code.end(),
                           [](const Instruction& i) { return i.op == Opcode::Call; });
      });
  const std::uint64_t stack = has_calls ? stack_bytes(units, module, calls) : 0;
  Function result = std::move(units[0].function);
  std::vector<std::uint32_t> entry(module.functions.size(), isa::kNoTarget);
  std::vector<Instruction> code;
  std::vector<std::vector<std::uint32_t>> tables;
  for (std::size_t i = 0; i < units.size(); ++i) {
    Function& part = i == 0 ? result : units[i].function;
    const std::uint32_t base = static_cast<std::uint32_t>(code.size());
    if (i != 0) entry[units[i].module_index] = base;
    const std::uint32_t frame = (part.local_bytes + 15U) / 16U * 16U;
    if (has_calls) result.frames.emplace_back(base, frame);
    emit_flow(units[i].graph, part, base);
    const std::uint32_t first_hazard = i == 0 ? 0 : static_cast<std::uint32_t>(result.hazards.size());
    if (i != 0) result.hazards.insert(result.hazards.end(), part.hazards.begin(), part.hazards.end());
    for (Instruction& inst : part.code) {
      if (inst.hazard != isa::kNoTarget) inst.hazard += first_hazard;
      if (inst.op == Opcode::BrxIdx) inst.call += static_cast<std::uint32_t>(tables.size());
      if (inst.op == Opcode::Call) {
        const std::string& callee = part.calls[inst.call].callee;
        // The callee's entry is not known yet, so its module index is stored.
        inst.target = callee.empty() ? isa::kNoTarget : function_index(module, callee);
      }
      code.push_back(inst);
    }
    tables.insert(tables.end(), part.branch_tables.begin(), part.branch_tables.end());
    result.num_reg32 = std::max(result.num_reg32, part.num_reg32);
    result.num_reg64 = std::max(result.num_reg64, part.num_reg64);
    result.num_pred = std::max(result.num_pred, part.num_pred);
  }
  const std::uint32_t call_table = static_cast<std::uint32_t>(tables.size());
  if (has_calls) {
    tables.push_back(entry);
    const std::uint64_t bytes = (std::uint64_t{result.local_bytes} + 15U) / 16U * 16U + stack;
    result.local_bytes = static_cast<std::uint32_t>(std::min<std::uint64_t>(bytes, ~0U));
  }
  if (result.local_bytes > kMaxLocalBytes) {
    throw UserError(
        result.where,
        fmt::format("kernel {} needs {} bytes of local memory and stack per thread; at most {} can be had",
                    result.name, result.local_bytes, kMaxLocalBytes));
  }
  for (Instruction& inst : code) {
    if (inst.op != Opcode::Call) continue;
    if (inst.target == isa::kNoTarget) {
      inst.call = call_table;
    } else {
      inst.target = entry[inst.target];
      inst.call = isa::kNoTarget;
    }
  }
  result.code = std::move(code);
  result.branch_tables = std::move(tables);
  result.calls.clear();
  result.final = true;
  return result;
}

}  // namespace

Function compile(const Module& module, const Function& kernel, const CompileOptions& options) {
  if (!kernel.error.empty()) throw UserError::from_line(kernel.error);
  const CallGraph calls(module);
  std::uint32_t index = 0;
  while (&module.functions[index] != &kernel) ++index;
  std::vector<Compiled> units(1);
  units[0].function = inline_calls(calls, index);
  const bool has_calls = std::any_of(units[0].function.code.begin(), units[0].function.code.end(),
                                     [](const Instruction& inst) { return inst.op == Opcode::Call; });
  if (has_calls) {
    for (RealCallee& callee : real_callees(calls, units[0].function)) {
      Compiled unit;
      unit.module_index = callee.index;
      unit.function = std::move(callee.function);
      units.push_back(std::move(unit));
    }
  }
  std::uint32_t alloca = kNoAlloca;
  if (std::any_of(units.begin(), units.end(),
                  [](const Compiled& unit) { return uses_alloca(unit.function); })) {
    alloca = (units[0].function.local_bytes + 15U) / 16U * 16U;
    units[0].function.local_bytes = alloca + kAllocaBytes;
  }
  const std::uint32_t limit = register_limit(kernel, options.max_registers);
  const bool as_written = options.level == isa::CodeLevel::Ptx;
  const bool optimized = options.optimize > 0 && !as_written;
  for (std::size_t i = 0; i < units.size(); ++i) {
    lower(units[i], has_calls, i == 0, alloca, options.level);
    if (options.contract && !as_written) contract(units[i].graph, units[i].function);
    if (optimized) optimize(units[i]);
  }
  std::vector<AnalysedCode> code;
  for (Compiled& unit : units) code.push_back({&unit.graph, &unit.function});
  mark_hazards(module, code);
  for (Compiled& unit : units) {
    if (has_calls) save_registers(unit.graph, unit.function);
    if (optimized) make_physical(unit, limit, has_calls);
    if (as_written) allocate_registers(unit.graph, unit.function, options.max_registers, has_calls, true);
    if (has_calls) finish_frame(unit.graph, unit.function);
    if (options.notices) insert_notices(unit.graph);
  }
  return link_functions(units, module, calls);
}

}  // namespace gpumux::ptx
