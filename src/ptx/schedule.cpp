#include "ptx/schedule.hpp"

#include <algorithm>
#include <vector>

#include "ptx/liveness.hpp"
#include "ptx/operands.hpp"

namespace gpumux::ptx {

using isa::Instruction;
using isa::Opcode;
using isa::Operand;
using isa::Space;

namespace {

/// Cycles until a dependent instruction can issue, from published microbenchmarks of Volta and Turing,
/// rounded. Global loads count as L2 hits.
unsigned latency(const Instruction& inst) {
  if (isa::is_special_function(inst.op)) return 20;
  switch (inst.op) {
    case Opcode::Ld:
    case Opcode::Atom:
      switch (inst.space) {
        case Space::Shared: return 24;
        case Space::Const:
        case Space::Param: return 12;
        default: return 200;
      }
    case Opcode::LdMatrix: return 24;
    case Opcode::Tex:
    case Opcode::SurfLd: return 200;
    case Opcode::Mma: return 24;  // at least 20 cycles on all GPUs
    case Opcode::MovMatrix:
    case Opcode::Shfl:
    case Opcode::Match: return 20;
    case Opcode::Div:
    case Opcode::Rem: return 100;
    case Opcode::Cvt: return isa::is_float(inst.type) || isa::is_float(inst.type2) ? 14 : 5;
    case Opcode::Mov: return inst.src[0].kind == Operand::Kind::Special ? 12 : 4;
    default: return inst.type == isa::Type::F64 ? 8 : 4;
  }
}

bool is_load(const Instruction& inst) {
  return inst.op == Opcode::Ld || inst.op == Opcode::Tex || inst.op == Opcode::SurfLd ||
         inst.op == Opcode::LdMatrix;
}

bool is_access(const Instruction& inst) {
  return is_load(inst) || inst.op == Opcode::St || inst.op == Opcode::StMatrix || inst.op == Opcode::Atom ||
         inst.op == Opcode::Red || inst.op == Opcode::SurfSt || inst.op == Opcode::SurfRed;
}

bool writes_memory(const Instruction& inst) { return is_access(inst) && !is_load(inst); }

/// True for a barrier: memory accesses and exchanges between lanes do not move across it, arithmetic does.
bool is_fence(const Instruction& inst) { return inst.op == Opcode::Bar; }

/// True for an instruction across which no instruction moves.
bool is_wall(const Instruction& inst) {
  if (inst.is_volatile || inst.acquire_release) return true;
  switch (inst.op) {
    case Opcode::BarWarp:
    case Opcode::Membar:
    case Opcode::Nanosleep:
    case Opcode::CpAsync:
    case Opcode::CpAsyncCommit:
    case Opcode::CpAsyncWait:
    case Opcode::Mbarrier:
    case Opcode::Call:
    case Opcode::Ret:
    case Opcode::Exit:
    case Opcode::Trap:
    case Opcode::Bra:
    case Opcode::BrxIdx:
    case Opcode::Syscall: return true;
    default: break;
  }
  // Reading a clock marks a point in time.
  return std::any_of(inst.src.begin(), inst.src.end(), [](const Operand& operand) {
    if (operand.kind != Operand::Kind::Special) return false;
    const auto which = static_cast<isa::Special>(operand.reg);
    return which >= isa::Special::Clock && which <= isa::Special::GlobalTimerHi;
  });
}

/// True for an exchange between lanes. Such instructions keep their order.
bool is_collective(const Instruction& inst) {
  return inst.op == Opcode::Shfl || inst.op == Opcode::Vote || inst.op == Opcode::Match ||
         inst.op == Opcode::Redux || inst.op == Opcode::Activemask;
}

bool spaces_disjoint(const Instruction& a, const Instruction& b) {
  const auto is = [](const Instruction& inst, Space space) { return inst.space == space; };
  if (is(a, Space::Generic) || is(b, Space::Generic)) {
    const Instruction& other = is(a, Space::Generic) ? b : a;
    return is(other, Space::Const) || is(other, Space::Param);
  }
  return a.space != b.space;
}

}  // namespace

bool must_keep_order(const Instruction& first, const Instruction& second, bool same_base) {
  if (!writes_memory(first) && !writes_memory(second)) return false;
  // A kernel may write memory that its textures have read, but must not read by a texture what it has
  // written.
  if (second.op == Opcode::Tex) return false;
  if (first.op == Opcode::Tex) return second.space == Space::Global || second.space == Space::Generic;
  if (spaces_disjoint(first, second)) return false;
  // Writes keep their order. Moving them gains nothing, and lanes of a warp may write the same bytes.
  if (writes_memory(first) && writes_memory(second)) return true;
  const auto read_only = [](const Instruction& inst) {
    return inst.op == Opcode::Ld &&
           (inst.cache == isa::CacheOp::NC || inst.space == Space::Const || inst.space == Space::Param);
  };
  if (read_only(first) || read_only(second)) return false;
  // Lanes of a matrix access use the addresses of other lanes, and surfaces are addressed by coordinates. So
  // equal bases prove nothing for them.
  const auto by_address = [](const Instruction& inst) {
    return inst.op != Opcode::LdMatrix && inst.op != Opcode::StMatrix &&
           inst.geometry == isa::TextureGeometry::None;
  };
  if (same_base && first.target == second.target && by_address(first) && by_address(second)) {
    const std::int64_t first_end = first.offset + first.vector * isa::width_bytes(first.type);
    const std::int64_t second_end = second.offset + second.vector * isa::width_bytes(second.type);
    if (first_end <= second.offset || second_end <= first.offset) return false;
  }
  // Distinct variables do not overlap.
  if (first.src[0].kind == Operand::Kind::Symbol && second.src[0].kind == Operand::Kind::Symbol &&
      first.src[0].reg != second.src[0].reg) {
    return false;
  }
  return true;
}

namespace {

class BlockScheduler {
 public:
  BlockScheduler(std::vector<Instruction>& code, const RegisterSpace& space, const BitSet& live_in,
                 const BitSet& live_out, const RegisterTarget& target)
      : code_(code), space_(space), live_in_(live_in), live_out_(live_out), target_(target) {}

  void run() {
    std::size_t begin = 0;
    // Regions between walls are scheduled. Walls keep their place.
    std::vector<Instruction> result;
    result.reserve(code_.size());
    after_ = BitSet(space_.size());
    std::vector<BitSet> live_at;  // live registers after each region
    std::vector<std::pair<std::size_t, std::size_t>> regions;
    for (std::size_t i = 0; i <= code_.size(); ++i) {
      if (i == code_.size() || is_wall(code_[i])) {
        regions.emplace_back(begin, i);
        begin = i + 1;
      }
    }
    live_at.resize(regions.size());
    BitSet live = live_out_;
    std::size_t index = code_.size();
    for (std::size_t r = regions.size(); r-- > 0;) {
      while (index > regions[r].second) step_liveness(space_, code_[--index], live);
      live_at[r] = live;
    }
    BitSet at = live_in_;
    for (std::size_t r = 0; r < regions.size(); ++r) {
      const auto [first, last] = regions[r];
      schedule_region(first, last, at, live_at[r], result);
      at = live_at[r];
      if (last < code_.size()) {
        result.push_back(code_[last]);
        // Registers that are live after the wall.
        for_each_def(code_[last], [&](const Operand& dst) { at.set(space_.index(dst)); });
      }
    }
    code_ = std::move(result);
  }

 private:
  struct Node {
    std::vector<std::pair<std::uint32_t, unsigned>> after;  // dependent, cycles
    std::uint32_t waits = 0;
    unsigned ready = 0;    // cycle at which all inputs are available
    unsigned height = 0;   // cycles to the region's end
    unsigned to_load = 0;  // 1: a long load that no store delays, or an instruction for its address
    bool held_back = false;
    unsigned stretch = 0;  // fences before it in the region
  };

  void build(std::size_t first, std::size_t last) {
    const std::uint32_t count = static_cast<std::uint32_t>(last - first);
    nodes_.assign(count, Node{});
    const auto edge = [&](std::uint32_t from, std::uint32_t to, unsigned cycles) {
      nodes_[from].after.emplace_back(to, cycles);
      ++nodes_[to].waits;
    };
    std::vector<std::uint32_t> writer(space_.size(), isa::kNoTarget);
    std::vector<std::uint32_t> version(space_.size(), 0);
    std::vector<std::vector<std::uint32_t>> readers(space_.size());
    std::vector<std::uint32_t> accesses;
    std::vector<std::uint32_t> base_version(count, 0);
    std::uint32_t collective = isa::kNoTarget;
    std::uint32_t fence = isa::kNoTarget;
    unsigned stretch = 0;
    for (std::uint32_t i = 0; i < count; ++i) {
      const Instruction& inst = code_[first + i];
      nodes_[i].stretch = stretch;
      const auto read = [&](const Operand& operand) {
        const std::uint32_t reg = space_.index(operand);
        if (writer[reg] != isa::kNoTarget && writer[reg] != i) {
          edge(writer[reg], i, latency(code_[first + writer[reg]]));
        }
        readers[reg].push_back(i);
      };
      for_each_use(inst, read);
      if (is_access(inst) && inst.src[0].is_register()) base_version[i] = version[space_.index(inst.src[0])];
      if (keeps_old_value(inst)) for_each_def(inst, read);
      for_each_def(inst, [&](const Operand& operand) {
        const std::uint32_t reg = space_.index(operand);
        for (const std::uint32_t reader : readers[reg]) {
          if (reader != i) edge(reader, i, 0);
        }
        if (writer[reg] != isa::kNoTarget && writer[reg] != i) edge(writer[reg], i, 1);
        readers[reg].clear();
        writer[reg] = i;
        ++version[reg];
      });
      if (is_fence(inst)) {
        for (const std::uint32_t other : accesses) edge(other, i, 0);
        if (collective != isa::kNoTarget) edge(collective, i, 0);
        if (fence != isa::kNoTarget) edge(fence, i, 1);
        accesses.clear();
        collective = isa::kNoTarget;
        fence = i;
        ++stretch;
      } else if (fence != isa::kNoTarget && (is_access(inst) || is_collective(inst))) {
        edge(fence, i, 1);
      }
      if (is_access(inst)) {
        for (const std::uint32_t other : accesses) {
          const Instruction& before = code_[first + other];
          const bool same_base = before.src[0] == inst.src[0] && base_version[other] == base_version[i];
          if (must_keep_order(before, inst, same_base)) {
            edge(other, i, writes_memory(before) ? 1 : 0);
            nodes_[i].held_back = true;
          }
        }
        accesses.push_back(i);
      }
      if (is_collective(inst)) {
        if (collective != isa::kNoTarget) edge(collective, i, 1);
        collective = i;
      }
    }
    for (std::uint32_t i = count; i-- > 0;) {
      Node& node = nodes_[i];
      const Instruction& inst = code_[first + i];
      node.to_load = is_load(inst) && latency(inst) >= 100 && !node.held_back ? 1 : 0;
      for (const auto& [to, cycles] : node.after) {
        node.height = std::max(node.height, nodes_[to].height + std::max(1U, cycles));
        node.to_load = std::max(node.to_load, nodes_[to].to_load != 0 && cycles > 1 ? 1U : 0U);
      }
    }
  }

  /// Change of the number of live 32-bit registers if `inst` is issued now.
  int pressure_change(const Instruction& inst) const {
    int change = 0;
    for_each_def(inst, [&](const Operand& dst) {
      const std::uint32_t reg = space_.index(dst);
      if (!live_.test(reg)) change += static_cast<int>(space_.cost(reg));
    });
    BitSetSmall seen;
    for_each_use(inst, [&](const Operand& src) {
      const std::uint32_t reg = space_.index(src);
      if (!seen.add(reg)) return;
      if (remaining_[reg] == 1U && !after_.test(reg)) change -= static_cast<int>(space_.cost(reg));
    });
    return change;
  }

  /// The distinct registers that one instruction reads.
  struct BitSetSmall {
    std::array<std::uint32_t, std::tuple_size_v<decltype(Instruction::src)> + 1> items{};
    std::size_t count = 0;
    bool add(std::uint32_t reg) {
      for (std::size_t i = 0; i < count; ++i) {
        if (items[i] == reg) return false;
      }
      items[count++] = reg;
      return true;
    }
  };

  /// Length of the longest sequence of instructions without a barrier.
  [[nodiscard]] std::size_t longest_stretch(std::size_t first, std::size_t last) const {
    std::size_t longest = 0;
    for (std::size_t begin = first; begin < last;) {
      std::size_t end = begin;
      while (end < last && !is_fence(code_[end])) ++end;
      longest = std::max(longest, end - begin);
      begin = end + 1;
    }
    return longest;
  }

  void schedule_region(std::size_t first, std::size_t last, const BitSet& live_before,
                       const BitSet& live_after, std::vector<Instruction>& result) {
    const std::uint32_t count = static_cast<std::uint32_t>(last - first);
    if (count <= 1) {
      if (count == 1) result.push_back(code_[first]);
      return;
    }
    build(first, last);
    region_target_ = longest_stretch(first, last) >= kLongRegion ? target_.long_region : target_.usual;
    after_ = live_after;
    live_ = live_before;
    remaining_.assign(space_.size(), 0);
    for (std::size_t i = first; i < last; ++i) {
      BitSetSmall seen;
      for_each_use(code_[i], [&](const Operand& src) {
        const std::uint32_t reg = space_.index(src);
        if (seen.add(reg)) ++remaining_[reg];
      });
    }
    int pressure = 0;
    live_.for_each([&](std::uint32_t reg) { pressure += static_cast<int>(space_.cost(reg)); });
    std::vector<std::uint32_t> ready;
    for (std::uint32_t i = 0; i < count; ++i) {
      if (nodes_[i].waits == 0) ready.push_back(i);
    }
    unsigned cycle = 0;
    stretch_ = 0;
    fill_left_ = kShadowFill;
    while (!ready.empty()) {
      const std::size_t pick = choose(first, ready, cycle, pressure);
      const std::uint32_t i = ready[pick];
      ready.erase(ready.begin() + static_cast<std::ptrdiff_t>(pick));
      const Instruction& inst = code_[first + i];
      if (is_fence(inst)) {
        stretch_ = nodes_[i].stretch + 1;
        fill_left_ = kShadowFill;
      } else if (nodes_[i].stretch > stretch_) {
        --fill_left_;
      }
      pressure += pressure_change(inst);
      BitSetSmall seen;
      for_each_use(inst, [&](const Operand& src) {
        const std::uint32_t reg = space_.index(src);
        if (!seen.add(reg)) return;
        if (--remaining_[reg] == 0 && !after_.test(reg)) live_.clear(reg);
      });
      for_each_def(inst, [&](const Operand& dst) {
        const std::uint32_t reg = space_.index(dst);
        if (remaining_[reg] != 0 || after_.test(reg)) {
          live_.set(reg);
        } else if (!live_.test(reg)) {
          pressure -= static_cast<int>(space_.cost(reg));  // result is not read
        }
      });
      cycle = std::max(cycle, nodes_[i].ready) + 1;
      for (const auto& [to, cycles] : nodes_[i].after) {
        nodes_[to].ready = std::max(nodes_[to].ready, cycle - 1 + cycles);
        if (--nodes_[to].waits == 0) ready.push_back(to);
      }
      result.push_back(inst);
    }
  }

  /// Limit for instructions that are moved up across the next barrier to fill the latency of loads. ptxas
  /// moves no more than this, since moving lengthens live ranges. Instructions that define predicates are not
  /// moved, because predicates are scarce.
  static constexpr unsigned kShadowFill = 4;
  static constexpr unsigned kShadowCycles = 8;
  enum class Turn : std::uint8_t { Now, Fill, Later };
  Turn turn(std::size_t first, std::uint32_t i) const {
    if (nodes_[i].stretch <= stretch_) return Turn::Now;
    bool predicate = false;
    for_each_def(code_[first + i],
                 [&](const Operand& dst) { predicate = predicate || dst.kind == Operand::Kind::Pred; });
    return predicate || fill_left_ == 0 ? Turn::Later : Turn::Fill;
  }

  /// Selects the next instruction. Below the register target: long loads and instructions for their
  /// addresses, then the earliest ready instruction, then the longest path to the end. At the target: the
  /// instruction that frees most registers.
  std::size_t choose(std::size_t first, const std::vector<std::uint32_t>& ready, unsigned cycle,
                     int pressure) const {
    std::size_t best = 0;
    const auto better = [&](std::uint32_t a, std::uint32_t b) {
      const Turn turn_a = turn(first, a);
      const Turn turn_b = turn(first, b);
      if ((turn_a == Turn::Later) != (turn_b == Turn::Later)) return turn_b == Turn::Later;
      const Instruction& inst_a = code_[first + a];
      const Instruction& inst_b = code_[first + b];
      const int change_a = pressure_change(inst_a);
      const int change_b = pressure_change(inst_b);
      const int limit = static_cast<int>(region_target_);
      const bool over_a = change_a > 0 && pressure + change_a > limit;
      const bool over_b = change_b > 0 && pressure + change_b > limit;
      if (over_a != over_b) return over_b;
      if (over_a) {  // both exceed the target: keep the original order, which needs no more
        return change_a != change_b ? change_a < change_b : a < b;
      }
      const unsigned load_a = turn_a == Turn::Now ? nodes_[a].to_load : 0;
      const unsigned load_b = turn_b == Turn::Now ? nodes_[b].to_load : 0;
      if (load_a != load_b) return load_a > load_b;
      const auto wait_of = [&](std::uint32_t i, Turn when) {
        const unsigned wait = nodes_[i].ready > cycle ? nodes_[i].ready - cycle : 0;
        return when == Turn::Now ? wait : std::max(wait, kShadowCycles);
      };
      const unsigned wait_a = wait_of(a, turn_a);
      const unsigned wait_b = wait_of(b, turn_b);
      if (wait_a != wait_b) return wait_a < wait_b;
      if (nodes_[a].height != nodes_[b].height) return nodes_[a].height > nodes_[b].height;
      if (change_a != change_b) return change_a < change_b;
      return a < b;
    };
    for (std::size_t i = 1; i < ready.size(); ++i) {
      if (better(ready[i], ready[best])) best = i;
    }
    return best;
  }

  std::vector<Instruction>& code_;
  const RegisterSpace& space_;
  const BitSet& live_in_;
  const BitSet& live_out_;
  RegisterTarget target_;
  std::uint32_t region_target_ = 0;
  std::vector<Node> nodes_;
  unsigned stretch_ = 0;                  // number of issued fences
  unsigned fill_left_ = 0;                // instructions that may still be moved up across the next fence
  std::vector<std::uint32_t> remaining_;  // by register: readers that have not issued
  BitSet live_;
  BitSet after_;
};

}  // namespace

void schedule(FlowGraph& graph, const isa::Function& function, const RegisterTarget& target) {
  const RegisterSpace space(function);
  const Liveness live(graph, space);
  for (BlockId id = 0; id < graph.blocks.size(); ++id) {
    BlockScheduler(graph.blocks[id].code, space, live.in(id), live.out(id), target).run();
  }
}

}  // namespace gpumux::ptx
