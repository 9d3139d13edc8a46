// Layout of .shared variables.
//
// A variable has the same offset in all functions of the module, so that kernels and functions that share it
// agree. A kernel needs the variables that it, or any function it may call, names. Variables are placed in
// order of declaration. Each is placed after all earlier ones that some kernel needs together with it. So
// variables of different kernels overlap, and a kernel's size is that of its own variables. This is the size
// that ptxas reports, which also keeps the order of declaration and fills no gaps.
//
// External (dynamic) variables start after the kernel's static ones, at Function::shared_bytes, which is
// rounded up to their alignment in functions that reach them (as in ptxas). Symbol::address is the largest of
// these starts, which is exact if only one kernel uses the variable. The layout of a block uses the kernel's
// shared_bytes.
#include <algorithm>
#include <map>
#include <set>

#include <fmt/core.h>

#include "base/error.hpp"
#include "base/round_up.hpp"
#include "ptx/limits.hpp"
#include "ptx/parser.hpp"

namespace gpumux::ptx {
namespace {

using isa::Symbol;

bool is_shared(const Symbol& symbol) {
  return symbol.kind == Symbol::Kind::Shared || symbol.kind == Symbol::Kind::ExternShared;
}

/// By function: the .shared symbols that it names itself, and the functions that it may call.
struct Uses {
  std::vector<std::set<std::uint32_t>> symbols;
  std::vector<std::set<std::uint32_t>> callees;
};

Uses collect(const isa::Module& module) {
  Uses uses;
  uses.symbols.resize(module.functions.size());
  uses.callees.resize(module.functions.size());
  std::map<std::string, std::uint32_t> by_name;
  for (std::uint32_t f = 0; f < module.functions.size(); ++f) by_name[module.functions[f].name] = f;
  std::set<std::uint32_t> address_taken;
  for (const Symbol& symbol : module.symbols) {
    if (symbol.kind == Symbol::Kind::Function) address_taken.insert(symbol.function);
  }
  for (std::uint32_t f = 0; f < module.functions.size(); ++f) {
    const isa::Function& function = module.functions[f];
    for (const isa::Instruction& inst : function.code) {
      for (const isa::Operand& operand : inst.src) {
        if (operand.kind == isa::Operand::Kind::Symbol && is_shared(module.symbols[operand.reg])) {
          uses.symbols[f].insert(operand.reg);
        }
      }
    }
    for (const isa::CallSite& call : function.calls) {
      if (call.callee.empty()) {
        uses.callees[f].insert(address_taken.begin(), address_taken.end());
      } else if (const auto found = by_name.find(call.callee); found != by_name.end()) {
        uses.callees[f].insert(found->second);
      }
    }
  }
  return uses;
}

std::set<std::uint32_t> reachable(const Uses& uses, std::uint32_t function) {
  std::set<std::uint32_t> seen{function};
  std::vector<std::uint32_t> work{function};
  std::set<std::uint32_t> symbols;
  while (!work.empty()) {
    const std::uint32_t f = work.back();
    work.pop_back();
    symbols.insert(uses.symbols[f].begin(), uses.symbols[f].end());
    for (const std::uint32_t callee : uses.callees[f]) {
      if (seen.insert(callee).second) work.push_back(callee);
    }
  }
  return symbols;
}

}  // namespace

void lay_out_shared(isa::Module& module) {
  const Uses uses = collect(module);
  std::vector<std::set<std::uint32_t>> needs;
  needs.reserve(module.functions.size());
  for (std::uint32_t f = 0; f < module.functions.size(); ++f) needs.push_back(reachable(uses, f));

  std::vector<std::uint32_t> placed;
  for (std::uint32_t index = 0; index < module.symbols.size(); ++index) {
    Symbol& symbol = module.symbols[index];
    if (symbol.kind != Symbol::Kind::Shared) continue;
    std::uint64_t end = 0;
    for (const std::set<std::uint32_t>& need : needs) {
      if (!need.contains(index)) continue;
      for (const std::uint32_t other : placed) {
        if (need.contains(other))
          end = std::max(end, module.symbols[other].address + module.symbols[other].bytes);
      }
    }
    symbol.address = round_up(end, symbol.align);
    placed.push_back(index);
  }

  for (std::uint32_t f = 0; f < module.functions.size(); ++f) {
    isa::Function& function = module.functions[f];
    std::uint64_t bytes = 0;
    std::uint64_t dynamic_align = 1;
    for (const std::uint32_t index : needs[f]) {
      const Symbol& symbol = module.symbols[index];
      if (symbol.kind == Symbol::Kind::ExternShared) {
        function.uses_dynamic_shared = true;
        dynamic_align = std::max<std::uint64_t>(dynamic_align, symbol.align);
      } else {
        bytes = std::max(bytes, symbol.address + symbol.bytes);
      }
    }
    bytes = round_up(bytes, dynamic_align);
    if (bytes > kMaxSharedBytes) {
      throw UserError(function.where,
                      fmt::format("the .shared variables of {} need {} bytes; at most {} can be had",
                                  function.name, bytes, kMaxSharedBytes));
    }
    function.shared_bytes = static_cast<std::uint32_t>(bytes);
    if (!function.is_kernel) continue;
    for (const std::uint32_t index : needs[f]) {
      Symbol& symbol = module.symbols[index];
      if (symbol.kind == Symbol::Kind::ExternShared) {
        symbol.address = std::max(symbol.address, bytes);
      }
    }
  }
}

}  // namespace gpumux::ptx
