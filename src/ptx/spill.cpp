#include "ptx/spill.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "base/error.hpp"
#include "ptx/calls.hpp"
#include "ptx/frame_marks.hpp"

namespace gpumux::ptx {

using isa::Instruction;
using isa::Opcode;
using isa::Operand;
using isa::Type;

Pressure measure_pressure(const FlowGraph& graph, const RegisterSpace& space, const Liveness& live) {
  Pressure result;
  result.at_registers = BitSet(space.size());
  result.at_predicates = BitSet(space.size());
  const auto measure = [&](const BitSet& at) {
    std::uint32_t units = 0;
    std::uint32_t predicates = 0;
    at.for_each([&](std::uint32_t reg) {
      units += space.cost(reg);
      predicates += space.is_pred(reg) ? 1 : 0;
    });
    if (units > result.registers) {
      result.registers = units;
      result.at_registers = at;
    }
    if (predicates > result.predicates) {
      result.predicates = predicates;
      result.at_predicates = at;
    }
  };
  for (BlockId id = 0; id < graph.blocks.size(); ++id) {
    measure(live.in(id));
    live.walk(graph, id, [&](std::size_t index, const BitSet& after) {
      BitSet at = after;  // results nobody reads need a place too
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

void Spiller::spill(const BitSet& candidates, std::uint32_t units, bool predicates) {
  const RegisterSpace space(function_);
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
  std::vector<std::uint32_t> order;
  candidates.for_each([&](std::uint32_t reg) {
    const Operand operand = space.operand(reg);
    const bool fixed = stack_ && operand == Operand::reg32(kStackPointer);
    if (space.is_pred(reg) == predicates && !fixed && !is_temporary(operand)) order.push_back(reg);
  });
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return uses[a] / length[a] < uses[b] / length[b];
  });
  if (order.empty()) {
    throw UserError(
        function_.where,
        "'" + function_.name + "' does not fit the register limit; allow more registers per thread");
  }
  std::uint32_t freed = 0;
  for (const std::uint32_t reg : order) {
    if (freed >= units) break;
    const Operand operand = space.operand(reg);
    freed += predicates ? 1 : space.cost(reg);
    if (predicates) {
      spill_predicate(operand);
    } else {
      spill_one(operand);
    }
  }
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

/// Where to load what `next` reads: a call's target before the stack pointer moves to the called function's
/// frame.
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
      if (source != nullptr && defines) continue;  // computed again at each use
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

void Spiller::spill_predicate(const Operand& reg) {
  const Operand home = new_reg32(function_);  // 0 or 1
  for (Block& block : graph_.blocks) {
    std::vector<Instruction> code;
    code.reserve(block.code.size());
    for (Instruction inst : block.code) {
      bool defines = false;
      for_each_def(inst, [&](const Operand& dst) { defines = defines || dst.reg == reg.reg; });
      defines = defines && std::any_of(inst.dst.begin(), inst.dst.end(), [&](const Operand& dst) {
                  return dst.kind == Operand::Kind::Pred && dst.reg == reg.reg;
                });
      bool reads = defines && keeps_old_value(inst);
      for_each_use(inst, [&](const Operand& operand) {
        reads = reads || (operand.kind == Operand::Kind::Pred && operand.reg == reg.reg);
      });
      if (!reads && !defines) {
        code.push_back(inst);
        continue;
      }
      const Operand fresh = new_pred(function_);
      temporaries_.push_back(fresh);
      if (reads) {
        Instruction test = make(Opcode::Setp, Type::U32, inst);
        test.guard = {};
        test.compare = isa::Compare::NE;
        test.dst[0] = fresh;
        test.src[0] = home;
        test.src[1] = Operand::immediate(0);
        code.push_back(test);
      }
      replace_uses(inst, reg, [&] { return fresh; });
      for (Operand& dst : inst.dst) {
        if (dst.kind == Operand::Kind::Pred && dst.reg == reg.reg) dst.reg = fresh.reg;
      }
      code.push_back(inst);
      if (defines) {
        Instruction keep = make(Opcode::Selp, Type::B32, inst);
        keep.guard = {};
        keep.dst[0] = home;
        keep.src[0] = Operand::immediate(1);
        keep.src[1] = Operand::immediate(0);
        keep.src[2] = Operand::pred(fresh.reg);
        code.push_back(keep);
      }
    }
    block.code = std::move(code);
  }
}

}  // namespace gpumux::ptx
