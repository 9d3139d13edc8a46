#include "ptx/spill.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <utility>

#include "base/error.hpp"
#include "ptx/allocate.hpp"
#include "ptx/calls.hpp"
#include "ptx/frame_marks.hpp"

namespace gpumux::ptx {

using isa::Instruction;
using isa::Opcode;
using isa::Operand;
using isa::Type;

Pressure measure_pressure(const FlowGraph& graph, const RegisterSpace& space, const Liveness& live,
                          bool crowded) {
  Pressure result;
  result.at_registers = BitSet(space.size());
  std::vector<std::uint32_t> predicates;
  const auto measure = [&](const BitSet& at) {
    std::uint32_t units = 0;
    predicates.clear();
    at.for_each([&](std::uint32_t reg) {
      units += space.cost(reg);
      if (space.is_pred(reg)) predicates.push_back(reg);
    });
    if (units > result.registers) {
      result.registers = units;
      result.at_registers = at;
    }
    if (!crowded || predicates.size() <= kPredicateRegisters) return;
    const auto includes = [](const auto& all, const auto& some) {
      return std::includes(all.begin(), all.end(), some.begin(), some.end());
    };
    if (!result.crowded.empty() && includes(result.crowded.back(), predicates)) return;
    if (!result.crowded.empty() && includes(predicates, result.crowded.back())) result.crowded.pop_back();
    result.crowded.push_back(predicates);
  };
  for (BlockId id = 0; id < graph.blocks.size(); ++id) {
    measure(live.in(id));
    live.walk(graph, id, [&](std::size_t index, const BitSet& after) {
      BitSet at = after;  // unused results need a register, too
      for_each_def(graph.blocks[id].code[index], [&](const Operand& reg) { at.set(space.index(reg)); });
      measure(at);
    });
  }
  return result;
}

bool Spiller::is_temporary(const Operand& reg) const {
  return std::any_of(temporaries_.begin(), temporaries_.end(),
                     [&](const Operand& other) { return other.kind == reg.kind && other.reg == reg.reg; });
}

const Instruction* Spiller::rematerializable(const Operand& reg) const {
  const Instruction* found = nullptr;
  for (const Block& block : graph_.blocks) {
    for (const Instruction& inst : block.code) {
      bool defines = false;
      for_each_def(inst, [&](const Operand& dst) { defines = defines || dst == reg; });
      if (!defines) continue;
      const bool simple = inst.op == Opcode::Mov && !inst.guard && !inst.src[0].is_register() &&
                          inst.src[0].kind != Operand::Kind::Special;
      if (found != nullptr || !simple) return nullptr;
      found = &inst;
    }
  }
  return found;
}

std::vector<double> Spiller::costs(const RegisterSpace& space) const {
  const Liveness live(graph_, space);
  const std::vector<std::uint32_t> depth = loop_depths(graph_);
  std::vector<double> uses(space.size(), 0);
  std::vector<double> length(space.size(), 1);
  for (BlockId id = 0; id < graph_.blocks.size(); ++id) {
    const double weight = std::pow(10.0, std::min(depth[id], 6U));
    for (const Instruction& inst : graph_.blocks[id].code) {
      for_each_use(inst, [&](const Operand& reg) { uses[space.index(reg)] += weight; });
      for_each_def(inst, [&](const Operand& reg) { uses[space.index(reg)] += weight; });
    }
    live.out(id).for_each([&](std::uint32_t reg) {
      length[reg] += static_cast<double>(graph_.blocks[id].code.size()) * weight;
    });
  }
  for (std::uint32_t reg = 0; reg < space.size(); ++reg) uses[reg] /= length[reg];
  return uses;
}

void Spiller::fail() const {
  throw UserError(function_.where, "'" + function_.name +
                                       "' does not fit the register limit; allow more registers per thread");
}

void Spiller::spill(const BitSet& candidates, std::uint32_t units, bool predicates) {
  const RegisterSpace space(function_);
  const std::vector<double> cost = costs(space);
  std::vector<std::uint32_t> order;
  candidates.for_each([&](std::uint32_t reg) {
    const Operand operand = space.operand(reg);
    const bool fixed = stack_ && operand == Operand::reg32(kStackPointer);
    if (space.is_pred(reg) == predicates && !fixed && !is_temporary(operand)) order.push_back(reg);
  });
  std::stable_sort(order.begin(), order.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return cost[a] < cost[b]; });
  if (order.empty()) fail();
  BitSet spilled(space.size());
  std::uint32_t freed = 0;
  for (const std::uint32_t reg : order) {
    if (freed >= units) break;
    freed += predicates ? 1 : space.cost(reg);
    if (predicates) {
      spilled.set(reg);
    } else {
      spill_one(space.operand(reg));
    }
  }
  if (predicates) rewrite_predicates(space, spilled);
}

void Spiller::spill_predicates(const std::vector<std::vector<std::uint32_t>>& crowded) {
  const RegisterSpace space(function_);
  const std::vector<double> cost = costs(space);
  BitSet temporary(space.size());
  for (const Operand& reg : temporaries_) {
    if (reg.kind == Operand::Kind::Pred) temporary.set(space.index(reg));
  }
  // Places with the most predicates first, since other places often share some of them.
  std::vector<const std::vector<std::uint32_t>*> places;
  for (const auto& place : crowded) places.push_back(&place);
  std::stable_sort(places.begin(), places.end(),
                   [](const auto* a, const auto* b) { return a->size() > b->size(); });
  BitSet spilled(space.size());
  bool any = false;
  std::vector<std::uint32_t> order;
  for (const std::vector<std::uint32_t>* const place : places) {
    order.clear();
    std::size_t live = place->size();
    for (const std::uint32_t reg : *place) {
      if (spilled.test(reg)) --live;
      if (!spilled.test(reg) && !temporary.test(reg)) order.push_back(reg);
    }
    std::stable_sort(order.begin(), order.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return cost[a] < cost[b]; });
    for (std::size_t i = 0; i < order.size() && live > kPredicateRegisters; ++i, --live) {
      spilled.set(order[i]);
      any = true;
    }
  }
  if (!any) fail();
  rewrite_predicates(space, spilled);
}

namespace {

template <typename Visit>
bool replace_uses(Instruction& inst, const Operand& reg, Visit fresh) {
  bool used = false;
  for_each_use(inst, [&](Operand& operand) {
    if (operand.kind != reg.kind || operand.reg != reg.reg) return;
    used = true;
    operand.reg = fresh().reg;
  });
  return used;
}

/// Position for a load of sources of `next`. The target of a call must be loaded before the stack pointer
/// moves to the callee's frame.
std::vector<Instruction>::iterator end_of_own_frame(std::vector<Instruction>& code, const Instruction& next) {
  if (next.op != Opcode::Call) return code.end();
  const auto adjust = std::find_if(code.rbegin(), code.rend(),
                                   [](const Instruction& inst) { return inst.target == kFrameSize; });
  return adjust == code.rend() ? code.end() : std::prev(adjust.base());
}

}  // namespace

void Spiller::spill_one(const Operand& reg) {
  const bool wide = reg.kind == Operand::Kind::Reg64;
  const Instruction* source = rematerializable(reg);
  const Instruction origin = source != nullptr ? *source : Instruction{};
  std::uint32_t place = 0;
  if (source == nullptr) {
    const std::uint32_t bytes = wide ? 8 : 4;
    place = (function_.local_bytes + bytes - 1) / bytes * bytes;
    function_.local_bytes = place + bytes;
  }
  const auto fresh_reg = [&] {
    const Operand fresh = wide ? new_reg64(function_) : new_reg32(function_);
    temporaries_.push_back(fresh);
    return fresh;
  };
  const auto access = [&](Opcode op, const Instruction& like, const Operand& value) {
    Instruction inst = make(op, wide ? Type::B64 : Type::B32, like);
    inst.space = isa::Space::Local;
    inst.src[0] = stack_ ? Operand::reg32(kStackPointer) : Operand::immediate(0);
    inst.offset = place;
    (op == Opcode::Ld ? inst.dst[0] : inst.src[1]) = value;
    if (op == Opcode::Ld) inst.guard = {};
    return inst;
  };
  for (Block& block : graph_.blocks) {
    std::vector<Instruction> code;
    code.reserve(block.code.size());
    for (Instruction inst : block.code) {
      bool defines = false;
      for_each_def(inst, [&](const Operand& dst) { defines = defines || dst == reg; });
      if (source != nullptr && defines) continue;  // recomputed at each use
      bool reads = defines && keeps_old_value(inst);
      for_each_use(inst, [&](const Operand& operand) {
        reads = reads || (operand.kind == reg.kind && operand.reg == reg.reg);
      });
      if (!reads && !defines) {
        code.push_back(inst);
        continue;
      }
      const Operand fresh = fresh_reg();
      if (reads) {
        Instruction load = source != nullptr ? origin : access(Opcode::Ld, inst, fresh);
        load.dst[0] = fresh;
        code.insert(end_of_own_frame(code, inst), load);
      }
      replace_uses(inst, reg, [&] { return fresh; });
      for_each_def(inst, [&](Operand& dst) {
        if (dst == reg) dst = fresh;
      });
      code.push_back(inst);
      if (defines) code.push_back(access(Opcode::St, inst, fresh));
    }
    block.code = std::move(code);
  }
}

void Spiller::rewrite_predicates(const RegisterSpace& space, const BitSet& spilled) {
  std::map<std::uint32_t, Operand> homes;  // by predicate: register with its value, 0 or 1
  spilled.for_each([&](std::uint32_t reg) { homes.emplace(space.operand(reg).reg, new_reg32(function_)); });
  struct Touched {
    std::uint32_t reg;
    Operand fresh;
    bool reads, defines;
  };
  std::vector<Touched> touched;
  const auto touch = [&](const Operand& operand, bool reads, bool defines) {
    if (operand.kind != Operand::Kind::Pred || !homes.contains(operand.reg)) return;
    const auto known = std::find_if(touched.begin(), touched.end(),
                                    [&](const Touched& other) { return other.reg == operand.reg; });
    Touched& entry =
        known != touched.end() ? *known : touched.emplace_back(Touched{operand.reg, {}, false, false});
    entry.reads = entry.reads || reads;
    entry.defines = entry.defines || defines;
  };
  for (Block& block : graph_.blocks) {
    std::vector<Instruction> code;
    code.reserve(block.code.size());
    for (Instruction& inst : block.code) {
      touched.clear();
      for_each_def(inst, [&](const Operand& dst) { touch(dst, keeps_old_value(inst), true); });
      for_each_use(inst, [&](const Operand& operand) { touch(operand, true, false); });
      if (touched.empty()) {
        code.push_back(inst);
        continue;
      }
      for (Touched& entry : touched) {
        entry.fresh = new_pred(function_);
        temporaries_.push_back(entry.fresh);
        if (entry.reads) {
          Instruction test = make(Opcode::Setp, Type::U32, inst);
          test.guard = {};
          test.compare = isa::Compare::NE;
          test.dst[0] = entry.fresh;
          test.src[0] = homes.at(entry.reg);
          test.src[1] = Operand::immediate(0);
          code.insert(end_of_own_frame(code, inst), test);
        }
      }
      const auto rename = [&](Operand& operand) {
        if (operand.kind != Operand::Kind::Pred) return;
        for (const Touched& entry : touched) {
          if (operand.reg != entry.reg) continue;
          operand.reg = entry.fresh.reg;
          return;
        }
      };
      for_each_use(inst, rename);
      for_each_def(inst, rename);
      code.push_back(inst);
      for (const Touched& entry : touched) {
        if (!entry.defines) continue;
        Instruction keep = make(Opcode::Selp, Type::B32, inst);
        keep.guard = {};
        keep.dst[0] = homes.at(entry.reg);
        keep.src[0] = Operand::immediate(1);
        keep.src[1] = Operand::immediate(0);
        keep.src[2] = Operand::pred(entry.fresh.reg);
        code.push_back(keep);
      }
    }
    block.code = std::move(code);
  }
}

}  // namespace gpumux::ptx
