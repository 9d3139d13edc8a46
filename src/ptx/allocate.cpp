// Colours the interference graph in order of definition. The colours of a move's partners are preferred, so
// copies need no coalescing pass: a move between registers of the same colour is removed.
#include "ptx/allocate.hpp"

#include <algorithm>
#include <array>
#include <bitset>

#include "base/error.hpp"
#include "ptx/calls.hpp"
#include "ptx/liveness.hpp"
#include "ptx/operands.hpp"
#include "ptx/spill.hpp"

namespace gpumux::ptx {

using isa::Instruction;
using isa::Opcode;
using isa::Operand;

std::uint32_t register_limit(const isa::Function& function, std::uint32_t max_registers) {
  constexpr std::uint32_t kRegisterFile = 65536;  // 32-bit registers per SM, Kepler to Hopper
  constexpr std::uint32_t kGranularity = 8;
  std::uint32_t limit = max_registers;
  if (function.max_registers != 0) limit = std::min(limit, function.max_registers);
  if (function.max_threads != 0) {
    const std::uint32_t threads = (function.max_threads + kWarpSize - 1) / kWarpSize * kWarpSize *
                                  std::max(1U, function.min_blocks_per_sm);
    limit = std::min(limit, kRegisterFile / threads / kGranularity * kGranularity);
  }
  return std::clamp(limit, 16U, 255U);
}

namespace {

constexpr std::uint16_t kNoColor = 0xffff;

struct Interference {
  std::vector<std::vector<std::uint32_t>> neighbours;
  std::vector<std::vector<std::uint32_t>> moves;  // partners of register moves
  std::vector<std::uint32_t> order;               // registers in order of first definition or entry
};

/// True if destinations must not overlap with sources. Register rows of different widths overlap in part, and
/// these instructions may write results before they have read all sources.
bool needs_apart(const Instruction& inst) {
  // Mma reads all sources before it writes, like the hardware, which accumulates in place.
  if (inst.op == Opcode::Mma) return false;
  unsigned results = 0;
  bool narrow = false;
  bool wide = false;
  const auto look = [&](const Operand& operand) {
    narrow = narrow || operand.kind == Operand::Kind::Reg32;
    wide = wide || operand.kind == Operand::Kind::Reg64;
  };
  for_each_def(inst, [&](const Operand& operand) {
    look(operand);
    results += operand.kind != Operand::Kind::Pred ? 1 : 0;
  });
  for_each_use(inst, look);
  return results > 1 || (narrow && wide) || inst.op == Opcode::Shfl || inst.op == Opcode::MovMatrix ||
         inst.op == Opcode::Match || inst.op == Opcode::Redux || inst.op == Opcode::Atom;
}

Interference build_interference(const FlowGraph& graph, const RegisterSpace& space, const Liveness& live) {
  Interference result;
  result.neighbours.resize(space.size());
  result.moves.resize(space.size());
  const auto connect = [&](std::uint32_t a, std::uint32_t b) {
    if (a == b || space.is_pred(a) != space.is_pred(b)) return;
    result.neighbours[a].push_back(b);
    result.neighbours[b].push_back(a);
  };
  std::vector<bool> listed(space.size(), false);
  const auto list = [&](std::uint32_t reg) {
    if (!listed[reg]) result.order.push_back(reg);
    listed[reg] = true;
  };
  // A register that is live into the entry is undefined on some path. Such registers interfere with each
  // other.
  std::vector<std::uint32_t> entry;
  live.in(0).for_each([&](std::uint32_t reg) { entry.push_back(reg); });
  for (std::size_t i = 0; i < entry.size(); ++i) {
    list(entry[i]);
    for (std::size_t k = 0; k < i; ++k) connect(entry[i], entry[k]);
  }
  for (const BlockId id : graph.order) {
    const auto& code = graph.blocks[id].code;
    live.walk(graph, id, [&](std::size_t index, const BitSet& after) {
      const Instruction& inst = code[index];
      const bool is_move = inst.op == Opcode::Mov && inst.src[0].is_register() && inst.dst[0].is_register() &&
                           inst.src[0].kind == inst.dst[0].kind && !inst.src[0].negate;
      const std::uint32_t moved = is_move ? space.index(inst.src[0]) : isa::kNoTarget;
      for_each_def(inst, [&](const Operand& dst) {
        const std::uint32_t reg = space.index(dst);
        after.for_each([&](std::uint32_t other) {
          if (other != moved) connect(reg, other);
        });
        for_each_def(inst, [&](const Operand& other) { connect(reg, space.index(other)); });
        if (needs_apart(inst)) {
          for_each_use(inst, [&](const Operand& other) { connect(reg, space.index(other)); });
        }
        if (is_move) {
          result.moves[reg].push_back(moved);
          result.moves[moved].push_back(reg);
        }
      });
    });
    for (const Instruction& inst : code) {
      for_each_def(inst, [&](const Operand& dst) { list(space.index(dst)); });
    }
  }
  for (auto& neighbours : result.neighbours) {
    std::sort(neighbours.begin(), neighbours.end());
    neighbours.erase(std::unique(neighbours.begin(), neighbours.end()), neighbours.end());
  }
  return result;
}

struct Coloring {
  std::vector<std::uint16_t> color;
  std::uint32_t registers = 0;
  std::uint32_t predicates = 0;
  std::uint32_t failed = isa::kNoTarget;  // a register that could not be placed
};

/// Assigns colours. `spread`: cycles through the registers instead of taking the lowest free one, so that a
/// result seldom waits for the last reader or writer of its register.
Coloring assign_colors(const Interference& graph, const RegisterSpace& space,
                       const std::vector<std::uint32_t>& order, std::uint32_t limit, bool stack,
                       bool spread = false) {
  std::uint32_t cursor = 0;
  Coloring result;
  result.color.assign(space.size(), kNoColor);
  const auto note = [&](std::uint32_t reg) {
    const std::uint32_t end = result.color[reg] + std::max(1U, space.cost(reg));
    auto& top = space.is_pred(reg) ? result.predicates : result.registers;
    top = std::max(top, end);
  };
  if (stack) {
    const std::uint32_t pointer = space.index(Operand::reg32(kStackPointer));
    result.color[pointer] = 0;
    note(pointer);
  }
  for (const std::uint32_t reg : order) {
    if (result.color[reg] != kNoColor) continue;
    std::bitset<256> taken;
    if (stack && !space.is_pred(reg)) taken.set(0);
    for (const std::uint32_t other : graph.neighbours[reg]) {
      const std::uint16_t color = result.color[other];
      if (color == kNoColor) continue;
      taken.set(color);
      if (space.is_wide(other)) taken.set(color + 1U);
    }
    const bool wide = space.is_wide(reg);
    const std::uint32_t size = space.is_pred(reg) ? kPredicateRegisters : limit;
    const auto fits = [&](std::uint32_t color) {
      return color + (wide ? 2 : 1) <= size && !taken[color] &&
             (!wide || (color % 2 == 0 && !taken[color + 1]));
    };
    std::uint32_t chosen = kNoColor;
    for (const std::uint32_t partner : graph.moves[reg]) {
      const std::uint16_t color = result.color[partner];
      if (color != kNoColor && fits(color)) {
        chosen = color;
        break;
      }
    }
    const std::uint32_t step = wide ? 2 : 1;
    const std::uint32_t start = spread && !space.is_pred(reg) ? (cursor + step - 1) / step * step : 0;
    for (std::uint32_t color = start; chosen == kNoColor && color < size; color += step) {
      if (fits(color)) chosen = color;
    }
    for (std::uint32_t color = 0; chosen == kNoColor && color < start; color += step) {
      if (fits(color)) chosen = color;
    }
    if (!space.is_pred(reg) && chosen != kNoColor) cursor = chosen + step;
    if (chosen == kNoColor) {
      result.failed = reg;
      return result;
    }
    result.color[reg] = static_cast<std::uint16_t>(chosen);
    note(reg);
  }
  return result;
}

/// The simplification order of Chaitin and Briggs: registers of low degree come last.
std::vector<std::uint32_t> simplification_order(const Interference& graph, const RegisterSpace& space) {
  std::vector<std::uint32_t> degree(space.size(), 0);
  std::uint32_t top = 0;
  for (const std::uint32_t reg : graph.order) {
    for (const std::uint32_t other : graph.neighbours[reg]) {
      degree[reg] += std::max(1U, space.cost(other)) * (space.is_wide(reg) ? 2U : 1U);
    }
    top = std::max(top, degree[reg]);
  }
  std::vector<std::vector<std::uint32_t>> bucket(top + 1);
  for (const std::uint32_t reg : graph.order) bucket[degree[reg]].push_back(reg);
  std::vector<bool> done(space.size(), false);
  std::vector<std::uint32_t> order;
  for (std::uint32_t level = 0; level <= top;) {
    if (bucket[level].empty()) {
      ++level;
      continue;
    }
    const std::uint32_t reg = bucket[level].back();
    bucket[level].pop_back();
    if (done[reg] || degree[reg] != level) continue;
    done[reg] = true;
    order.push_back(reg);
    for (const std::uint32_t other : graph.neighbours[reg]) {
      if (done[other]) continue;
      degree[other] -= std::max(1U, space.cost(reg)) * (space.is_wide(other) ? 2U : 1U);
      bucket[degree[other]].push_back(other);
      level = std::min(level, degree[other]);
    }
  }
  std::reverse(order.begin(), order.end());
  return order;
}

/// A thread's share of the registers of a full SM. Fewer registers than this do not increase occupancy.
constexpr std::uint32_t kFreeRegisters = 32;

/// The number of registers over which values are spread: two fifths more than are live at once, like ptxas,
/// as long as this does not reduce occupancy.
std::uint32_t spread_registers(std::uint32_t pressure, std::uint32_t limit) {
  const std::uint32_t spread = std::min(kFreeRegisters, (pressure * 7 / 5 + 1) / 2 * 2);
  return std::min(limit, std::max(pressure, spread));
}

void rewrite(FlowGraph& graph, const RegisterSpace& space, const Coloring& coloring, bool keep_moves) {
  const auto map = [&](Operand& operand) { operand.reg = coloring.color[space.index(operand)]; };
  for (Block& block : graph.blocks) {
    std::vector<Instruction> code;
    code.reserve(block.code.size());
    for (Instruction inst : block.code) {
      for_each_use(inst, [&](Operand& operand) {
        // A register that is read but never written may have no colour. Register 0 is used for it.
        if (coloring.color[space.index(operand)] == kNoColor) {
          operand.reg = 0;
        } else {
          map(operand);
        }
      });
      for_each_def(inst, map);
      if (!keep_moves && inst.op == Opcode::Mov && inst.src[0] == inst.dst[0]) continue;
      code.push_back(inst);
    }
    block.code = std::move(code);
  }
}

}  // namespace

std::uint32_t max_pressure(const FlowGraph& graph, const isa::Function& function) {
  const RegisterSpace space(function);
  return measure_pressure(graph, space, Liveness(graph, space)).registers;
}

void allocate_registers(FlowGraph& graph, isa::Function& function, std::uint32_t limit, bool stack,
                        bool keep_moves) {
  Spiller spiller(graph, function, stack);
  std::uint32_t aim = limit;  // lowered if colouring fails although the pressure fits
  for (int round = 0;; ++round) {
    GPUMUX_CHECK(round < 2000);
    const RegisterSpace space(function);
    const Liveness live(graph, space);
    const Pressure pressure = measure_pressure(graph, space, live, true);
    if (!pressure.crowded.empty()) {
      spiller.spill_predicates(pressure.crowded);
      continue;
    }
    if (pressure.registers > aim) {
      spiller.spill(pressure.at_registers, pressure.registers - aim, false);
      continue;
    }
    const Interference interference = build_interference(graph, space, live);
    std::uint32_t wanted = spread_registers(pressure.registers, limit);
    Coloring best = assign_colors(interference, space, interference.order, wanted, stack, true);
    for (int more = 0;
         more < 2 && best.failed != isa::kNoTarget && wanted + 2 <= std::min(limit, kFreeRegisters); ++more) {
      wanted += 2;  // register pairs leave gaps
      best = assign_colors(interference, space, interference.order, wanted, stack, true);
    }
    if (best.failed != isa::kNoTarget) {
      best = assign_colors(interference, space, interference.order, limit, stack);
    }
    if (best.failed != isa::kNoTarget || best.registers > wanted) {
      const std::vector<std::uint32_t> order = simplification_order(interference, space);
      Coloring other = assign_colors(interference, space, order, limit, stack);
      if (other.failed == isa::kNoTarget &&
          (best.failed != isa::kNoTarget || other.registers < best.registers)) {
        best = std::move(other);
      }
    }
    if (best.failed != isa::kNoTarget) {
      BitSet candidates(space.size());
      candidates.set(best.failed);
      for (const std::uint32_t reg : interference.neighbours[best.failed]) candidates.set(reg);
      spiller.spill(candidates, 1, space.is_pred(best.failed));
      if (aim > 12) --aim;
      continue;
    }
    rewrite(graph, space, best, keep_moves);
    function.num_reg32 = best.registers;
    function.num_reg64 = 0;
    function.num_pred = best.predicates;
    function.physical = true;
    return;
  }
}

}  // namespace gpumux::ptx
