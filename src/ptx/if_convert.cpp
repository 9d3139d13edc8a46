// If-conversion of triangles and diamonds. Source: J. R. Allen et al., "Conversion of Control Dependence to
// Data Dependence" (POPL 1983), for predicated machines.
#include "ptx/if_convert.hpp"

#include <algorithm>

#include "ptx/liveness.hpp"
#include "ptx/operands.hpp"

namespace gpumux::ptx {

using isa::Function;
using isa::Instruction;
using isa::Opcode;
using isa::Operand;
using isa::Type;

namespace {

/// True for work of scarce units (special functions, f64, exact division), for which skipping is worth a
/// branch. ptxas keeps such branches as well. Converting them would make cutcp run a quarter longer, because
/// its cut-off test would save nothing.
bool is_costly(const Instruction& inst) {
  if (isa::is_special_function(inst.op)) return true;
  switch (inst.op) {
    case Opcode::Div:
    case Opcode::Rem: return true;
    case Opcode::Ld:
    case Opcode::St:
    case Opcode::Mov:
    case Opcode::Selp: return false;
    default: return inst.type == Type::F64 || inst.type2 == Type::F64;
  }
}

bool is_plain_access(const Instruction& inst) {
  if (inst.op == Opcode::Tex) return true;
  return (inst.op == Opcode::Ld || inst.op == Opcode::St) && !inst.is_volatile && !inst.acquire_release;
}

/// A branch and its two sides. `taken` or `other` is kNoBlock if that side leads directly to `join`.
struct Shape {
  BlockId taken = kNoBlock;
  BlockId other = kNoBlock;
  BlockId join = kNoBlock;
};

class Converter {
 public:
  Converter(FlowGraph& graph, Function& function, const IfConversionLimits& limits)
      : graph_(graph),
        function_(function),
        limits_(limits),
        space_(function),
        live_(graph, space_),
        before_(predecessors(graph)),
        used_(graph.blocks.size(), false) {}

  /// One round over the graph. Each block takes part in at most one conversion. So the computed liveness
  /// stays valid, since conversions only shrink liveness at the starts of blocks.
  bool run() {
    bool changed = false;
    for (BlockId id = 0; id < graph_.blocks.size(); ++id) {
      const Shape shape = find(id);
      if (shape.join == kNoBlock) continue;
      convert(id, shape);
      changed = true;
    }
    return changed;
  }

 private:
  /// True if the block has `from` as its only predecessor, has one successor, and all its instructions can be
  /// guarded.
  bool is_side(BlockId id, BlockId from, const Operand& guard) const {
    const Block& block = graph_.blocks[id];
    if (id == from || used_[id] || before_[id].size() != 1 || block.next == kNoBlock) return false;
    return std::all_of(block.code.begin(), block.code.end(), [&](const Instruction& inst) {
      return (is_pure(inst) || is_plain_access(inst)) && !is_costly(inst) && !defines(inst, guard);
    });
  }

  [[nodiscard]] std::size_t size(BlockId id) const {
    return id == kNoBlock ? 0 : graph_.blocks[id].code.size();
  }

  Shape find(BlockId id) const {
    const Block& block = graph_.blocks[id];
    if (used_[id] || block.code.empty() || block.code.back().op != Opcode::Bra) return {};
    const Instruction& branch = block.code.back();
    const BlockId taken = branch.target;
    const BlockId other = block.next;
    if (taken == other || taken == id || other == id) return {};
    const bool taken_side = is_side(taken, id, branch.guard);
    const bool other_side = is_side(other, id, branch.guard);
    Shape shape;
    if (other_side && graph_.blocks[other].next == taken) {
      shape = {kNoBlock, other, taken};
    } else if (taken_side && graph_.blocks[taken].next == other) {
      shape = {taken, kNoBlock, other};
    } else if (taken_side && other_side && graph_.blocks[taken].next == graph_.blocks[other].next) {
      shape = {taken, other, graph_.blocks[taken].next};
    } else {
      return {};
    }
    if (shape.join == id || shape.join == shape.taken || shape.join == shape.other) return {};
    const bool both = shape.taken != kNoBlock && shape.other != kNoBlock;
    if (size(shape.taken) + size(shape.other) > (both ? limits_.both_sides : limits_.one_side)) return {};
    return shape;
  }

  void convert(BlockId id, const Shape& shape) {
    const Operand condition = graph_.blocks[id].code.back().guard;
    Operand inverse = condition;
    inverse.negate = !inverse.negate;
    graph_.blocks[id].code.pop_back();
    // Lanes that skip the first side execute the second side, or go to the join. Lanes that skip the second
    // side go to the join. Registers that are dead there may be overwritten.
    if (shape.other != kNoBlock) {
      append(id, shape.other, inverse, live_.in(shape.taken != kNoBlock ? shape.taken : shape.join));
    }
    if (shape.taken != kNoBlock) append(id, shape.taken, condition, live_.in(shape.join));
    Block& block = graph_.blocks[id];
    block.next = shape.join;
    block.uniform_next = true;
    used_[id] = true;
    for (const BlockId side : {shape.taken, shape.other}) {
      if (side == kNoBlock) continue;
      used_[side] = true;
      graph_.blocks[side].code.clear();
    }
  }

  void append(BlockId id, BlockId side, const Operand& guard, const BitSet& needed) {
    auto& code = graph_.blocks[id].code;
    std::vector<std::pair<Operand, Operand>> both;  // old guard, and its conjunction with `guard`
    for (Instruction inst : graph_.blocks[side].code) {
      bool dead = true;  // in lanes that skip this side
      for_each_def(inst, [&](const Operand& dst) { dead = dead && !needed.test(space_.index(dst)); });
      if (!dead || !is_pure(inst)) {
        const bool kept = keeps_old_value(inst);
        if (!inst.guard) {
          inst.guard = guard;
        } else {
          inst.guard = conjunction(inst, guard, both, code);
        }
        inst.reconverge = dead && !kept ? kOldValueDead : isa::kNoTarget;
      }
      for_each_def(inst, [&](const Operand& dst) {
        both.erase(std::remove_if(both.begin(), both.end(),
                                  [&](const auto& entry) {
                                    return dst.kind == Operand::Kind::Pred && entry.first.reg == dst.reg;
                                  }),
                   both.end());
      });
      code.push_back(inst);
    }
  }

  Operand conjunction(const Instruction& like, const Operand& guard,
                      std::vector<std::pair<Operand, Operand>>& known, std::vector<Instruction>& code) {
    for (const auto& [own, result] : known) {
      if (own == like.guard) return result;
    }
    Instruction both = make(Opcode::And, Type::Pred, like);
    both.guard = {};
    both.dst[0] = new_pred(function_);
    both.src[0] = guard;
    both.src[1] = like.guard;
    code.push_back(both);
    known.emplace_back(like.guard, both.dst[0]);
    return both.dst[0];
  }

  FlowGraph& graph_;
  Function& function_;
  IfConversionLimits limits_;
  RegisterSpace space_;  // numbers of the registers before conversion
  Liveness live_;
  std::vector<std::vector<BlockId>> before_;
  std::vector<bool> used_;
};

}  // namespace

bool convert_branches(FlowGraph& graph, Function& function, const IfConversionLimits& limits) {
  constexpr int kRounds = 6;  // nesting depth of conversions
  bool any = false;
  for (int round = 0; round < kRounds; ++round) {
    if (!Converter(graph, function, limits).run()) break;
    simplify_flow(graph);
    any = true;
  }
  return any;
}

}  // namespace gpumux::ptx
