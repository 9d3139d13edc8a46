#include "ptx/idempotence.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>

#include <fmt/core.h>

#include "ptx/liveness.hpp"
#include "ptx/operands.hpp"
#include "ptx/optimize.hpp"

namespace gpumux::ptx {

using isa::Function;
using isa::Instruction;
using isa::Module;
using isa::Opcode;
using isa::Operand;
using isa::Space;
using isa::Symbol;

namespace {

// The possible origins of an address: a set of these numbers and of those that Bases assigns after them.
constexpr std::uint32_t kAnything = 0;  // any global address
constexpr std::uint32_t kOwn = 1;       // shared or local memory of the block, reset at a restart
constexpr std::uint32_t kReadOnly = 2;  // constant memory and the kernel's parameters
constexpr std::uint32_t kFirstBuffer = 3;

constexpr std::uint32_t kNoEnd = std::numeric_limits<std::uint32_t>::max();

/// Numbers the buffers that the kernel's code names.
class Bases {
 public:
  Bases(const Module& module, const Function& kernel) : module_(module), kernel_(kernel) {}

  std::uint32_t parameter(std::uint64_t offset) { return number(offset, parameters_); }
  std::uint32_t symbol(std::uint32_t index) {
    switch (module_.symbols[index].kind) {
      case Symbol::Kind::Shared:
      case Symbol::Kind::ExternShared:
      case Symbol::Kind::Local: return kOwn;
      case Symbol::Kind::Const: return kReadOnly;
      case Symbol::Kind::Global: return number(index, symbols_);
      case Symbol::Kind::Function: break;
    }
    return kAnything;
  }
  [[nodiscard]] std::uint32_t count() const { return next_; }
  [[nodiscard]] std::string name(const BitSet& set) const {
    std::string text;
    const auto add = [&](const std::string& what) { text += (text.empty() ? "" : " or ") + what; };
    for (const auto& [offset, base] : parameters_)
      if (set.test(base)) add(parameter_name(offset));
    for (const auto& [index, base] : symbols_)
      if (set.test(base)) add("variable " + module_.symbols[index].name);
    if (set.test(kAnything)) add("an address from memory");
    return text;
  }

 private:
  template <typename Key>
  std::uint32_t number(Key key, std::map<Key, std::uint32_t>& known) {
    const auto [found, added] = known.emplace(key, next_);
    if (added) ++next_;
    return found->second;
  }
  [[nodiscard]] std::string parameter_name(std::uint64_t offset) const {
    for (const isa::Param& param : kernel_.params) {
      if (offset < param.offset || offset >= std::uint64_t{param.offset} + param.bytes) continue;
      const std::uint64_t inside = offset - param.offset;
      return inside == 0 ? "parameter " + param.name : fmt::format("parameter {}+{}", param.name, inside);
    }
    return fmt::format("the parameter at {}", offset);
  }

  const Module& module_;
  const Function& kernel_;
  std::map<std::uint64_t, std::uint32_t> parameters_;  // by offset in the constant bank
  std::map<std::uint32_t, std::uint32_t> symbols_;
  std::uint32_t next_ = kFirstBuffer;
};

bool is_64_bit_integer(isa::Type type) {
  return type == isa::Type::B64 || type == isa::Type::U64 || type == isa::Type::S64;
}

/// Calls visit(instruction) for all instructions in layout order.
template <typename Visit>
void for_each_instruction(const FlowGraph& graph, Visit visit) {
  for (const BlockId id : graph.order)
    for (const Instruction& inst : graph.blocks[id].code) visit(inst);
}

/// For each register, the buffers into which its value may point, on any path. This is precise enough, since
/// a register of virtual code is rarely reused for another purpose.
class Provenance {
 public:
  /// Numbers all buffers that the code names. Must be called first, for all code of a kernel.
  static void name_bases(const AnalysedCode& code, Bases& bases) {
    for_each_instruction(*code.graph, [&](const Instruction& inst) {
      for (std::size_t i = 0; i < inst.src.size(); ++i) static_cast<void>(base_of(bases, inst, i));
    });
  }
  Provenance(const AnalysedCode& code, Bases& bases) : bases_(bases), space_(*code.function) {
    sets_.assign(space_.size(), BitSet(bases_.count()));
    for (bool changed = true; changed;) {
      changed = false;
      for_each_instruction(*code.graph, [&](const Instruction& inst) {
        for_each_def(inst, [&](const Operand& dst) {
          if (dst.kind != Operand::Kind::Pred)
            changed = sets_[space_.index(dst)].merge(of_result(inst)) || changed;
        });
      });
    }
  }

  /// The possible buffers in global memory of an access by Ld, St, Atom or Red, or of the reads of a CpAsync.
  /// Empty if the access is not to global memory. A surface's memory is identified by its handle.
  [[nodiscard]] BitSet accessed(const Instruction& inst) const {
    BitSet global(bases_.count());
    const bool copies = inst.op == Opcode::CpAsync;
    if (!copies && inst.space != Space::Global && inst.space != Space::Generic) return global;
    const BitSet from = of(inst, copies ? 1 : 0);
    bool known = false;
    from.for_each([&](std::uint32_t base) {
      known = true;
      if (base != kOwn && base != kReadOnly) global.set(base);
    });
    if (!known) global.set(kAnything);
    return global;
  }

 private:
  /// The buffer that a source other than a register names.
  static std::optional<std::uint32_t> base_of(Bases& bases, const Instruction& inst, std::size_t index) {
    const Operand& operand = inst.src[index];
    if (operand.kind == Operand::Kind::Symbol) return bases.symbol(operand.reg);
    if (operand.kind != Operand::Kind::Const) return std::nullopt;
    // The address of a parameter, or its value, which is a pointer only if it has 64 bits.
    const bool address = inst.op == Opcode::Ld || inst.op == Opcode::Cvta;
    if (address) {
      if (inst.op == Opcode::Ld && inst.space == Space::Param && is_64_bit_integer(inst.type)) {
        const std::uint64_t first = operand.imm + static_cast<std::uint64_t>(inst.offset);
        for (std::uint64_t i = 1; i < inst.vector; ++i) static_cast<void>(bases.parameter(first + 8 * i));
        return bases.parameter(first);
      }
      if (inst.space == Space::Param || inst.op == Opcode::Cvta) return kReadOnly;
      return bases.parameter(operand.imm);  // base of a load: the parameter's value
    }
    const bool is_base =
        index == 0 && (inst.op == Opcode::St || inst.op == Opcode::Atom || inst.op == Opcode::Red ||
                       inst.op == Opcode::SurfSt || inst.op == Opcode::SurfRed);
    if (!is_base && source_width(inst, index) != 64 && inst.op != Opcode::CvtaTo) return std::nullopt;
    return bases.parameter(operand.imm);
  }
  [[nodiscard]] BitSet of(const Instruction& inst, std::size_t index) const {
    const Operand& operand = inst.src[index];
    if (operand.kind == Operand::Kind::Reg32 || operand.kind == Operand::Kind::Reg64)
      return sets_[space_.index(operand)];
    BitSet set(bases_.count());
    if (const auto base = base_of(bases_, inst, index)) set.set(*base);
    return set;
  }
  [[nodiscard]] BitSet of_result(const Instruction& inst) const {
    BitSet set(bases_.count());
    switch (inst.op) {
      case Opcode::Ld:
      case Opcode::SurfLd:
        if (inst.space == Space::Param && inst.src[0].kind == Operand::Kind::Const) {
          if (!is_64_bit_integer(inst.type)) return set;
          const std::uint64_t first = inst.src[0].imm + static_cast<std::uint64_t>(inst.offset);
          for (std::uint64_t i = 0; i < inst.vector; ++i) set.set(bases_.parameter(first + 8 * i));
          return set;
        }
        [[fallthrough]];
      case Opcode::Atom:
        if (is_64_bit_integer(inst.type)) set.set(kAnything);
        return set;
      case Opcode::Call:
      case Opcode::Syscall: set.set(kAnything); return set;
      case Opcode::Cvta:
        if (inst.space == Space::Shared || inst.space == Space::Local) {
          set.set(kOwn);
        } else if (inst.space == Space::Const || inst.space == Space::Param) {
          set.set(kReadOnly);
        } else {
          set = of(inst, 0);
        }
        return set;
      case Opcode::Cvt:
        // A narrower value is an index or a part of a pointer, which no longer refers to the buffer.
        if (isa::width_bits(inst.type) == 64 && isa::width_bits(inst.type2) == 64) set = of(inst, 0);
        return set;
      case Opcode::Sub: return of(inst, 0);  // a distance from a pointer is no pointer
      case Opcode::MadLo:
      case Opcode::MadWide: return of(inst, 2);
      case Opcode::Lea:
        set = of(inst, 0);
        if (inst.shift == 0 && !inst.wide) set.merge(of(inst, 1));
        return set;
      // A scaled or masked value is an index.
      case Opcode::Shl:
      case Opcode::Shr:
      case Opcode::MulLo:
      case Opcode::MulHi:
      case Opcode::MulWide:
      case Opcode::MadHi:
      case Opcode::Mul24:
      case Opcode::Mad24:
      case Opcode::Div:
      case Opcode::Rem:
      case Opcode::Bfe: return set;
      // Elements of matrices have at most 32 bits or are floats, so they are no pointers.
      case Opcode::LdMatrix:
      case Opcode::MovMatrix:
      case Opcode::Mma: return set;
      default: break;
    }
    if (isa::is_float(inst.type)) return set;
    for (std::size_t i = 0; i < inst.src.size(); ++i) set.merge(of(inst, i));
    return set;
  }

  Bases& bases_;
  RegisterSpace space_;
  std::vector<BitSet> sets_;  // by register
};

bool is_block_barrier(const Instruction& inst) {
  // A barrier of some warps orders only these warps, and a guarded one may be skipped. Neither counts.
  return inst.op == Opcode::Bar && inst.bar != isa::BarMode::Arrive && !inst.src[1] && !inst.guard;
}

/// By basic block: the number of barriers of the whole block that a thread has passed at its start, on the
/// shortest and on the longest path. kNoEnd if a loop on the path has a barrier.
struct Passed {
  std::vector<std::uint32_t> least;
  std::vector<std::uint32_t> most;
};

Passed passed_barriers(const FlowGraph& graph) {
  const std::vector<BlockId> order = reverse_post_order(graph);
  std::vector<std::uint32_t> inside(graph.blocks.size(), 0);
  std::uint32_t all = 0;
  for (const BlockId id : order) {
    inside[id] = static_cast<std::uint32_t>(
        std::count_if(graph.blocks[id].code.begin(), graph.blocks[id].code.end(), is_block_barrier));
    all += inside[id];
  }
  Passed passed{std::vector<std::uint32_t>(graph.blocks.size(), kNoEnd),
                std::vector<std::uint32_t>(graph.blocks.size(), 0)};
  passed.least[0] = 0;
  for (bool changed = true; changed;) {
    changed = false;
    for (const BlockId id : order) {
      const std::uint32_t least = passed.least[id] == kNoEnd ? kNoEnd : passed.least[id] + inside[id];
      // More than the number of barriers: some of them are in a loop.
      std::uint32_t most = passed.most[id] == kNoEnd ? kNoEnd : passed.most[id] + inside[id];
      if (most > all) most = kNoEnd;
      for (const BlockId next : successors(graph, id)) {
        if (least < passed.least[next]) {
          passed.least[next] = least;
          changed = true;
        }
        if (most > passed.most[next]) {
          passed.most[next] = most;
          changed = true;
        }
      }
    }
  }
  return passed;
}

/// The earliest load from a buffer.
struct FirstRead {
  std::uint32_t barriers = kNoEnd;  // minimum number of barriers passed
  std::uint32_t line = 0;
  void see(std::uint32_t passed, std::uint32_t at) {
    if (line != 0 && passed >= barriers) return;
    barriers = passed;
    line = at;
  }
  void see(const FirstRead& other) {
    if (other.line != 0) see(other.barriers, other.line);
  }
};

}  // namespace

void mark_hazards(const Module& module, std::span<const AnalysedCode> code) {
  Bases bases(module, *code.front().function);
  for (const AnalysedCode& part : code) Provenance::name_bases(part, bases);
  std::vector<Provenance> provenance;
  for (const AnalysedCode& part : code) provenance.emplace_back(part, bases);

  // If one part of the code calls another, the order is unknown.
  const bool ordered = code.size() == 1;
  const Passed passed = ordered ? passed_barriers(*code.front().graph) : Passed{};
  const auto walk = [&](auto visit) {
    for (std::size_t p = 0; p < code.size(); ++p) {
      for (const BlockId id : code[p].graph->order) {
        std::uint32_t behind = 0;
        for (Instruction& inst : code[p].graph->blocks[id].code) {
          const auto after = [&](std::uint32_t begin) { return begin == kNoEnd ? kNoEnd : begin + behind; };
          visit(*code[p].function, provenance[p], inst, ordered ? after(passed.least[id]) : 0,
                ordered ? after(passed.most[id]) : kNoEnd);
          behind += is_block_barrier(inst) ? 1 : 0;
        }
      }
    }
  };
  std::vector<FirstRead> reads(bases.count());
  FirstRead any;
  walk([&](const Function&, const Provenance& from, const Instruction& inst, std::uint32_t least,
           std::uint32_t) {
    if (inst.op != Opcode::Ld && inst.op != Opcode::Prefetch && inst.op != Opcode::CpAsync &&
        inst.op != Opcode::SurfLd)
      return;
    from.accessed(inst).for_each([&](std::uint32_t base) {
      reads[base].see(least, inst.line);
      any.see(least, inst.line);
    });
  });
  walk([&](Function& function, const Provenance& from, Instruction& inst, std::uint32_t, std::uint32_t most) {
    const bool atomic = inst.op == Opcode::Atom || inst.op == Opcode::Red || inst.op == Opcode::SurfRed;
    if (!atomic && inst.op != Opcode::St && inst.op != Opcode::SurfSt) return;
    const BitSet to = from.accessed(inst);
    FirstRead read = reads[kAnything];
    bool global = false;
    to.for_each([&](std::uint32_t base) {
      global = true;
      read.see(base == kAnything ? any : reads[base]);
    });
    if (!global || (!atomic && (read.line == 0 || read.barriers > most))) return;
    inst.hazard = static_cast<std::uint32_t>(function.hazards.size());
    if (atomic) {
      function.hazards.push_back({isa::Hazard::Kind::Atomic, {}, 0});
    } else {
      function.hazards.push_back({isa::Hazard::Kind::Overwrite, bases.name(to), read.line});
    }
  });
}

void insert_notices(FlowGraph& graph) {
  for (Block& block : graph.blocks) {
    std::vector<Instruction> code;
    for (const Instruction& inst : block.code) {
      if (inst.hazard != isa::kNoTarget) {
        Instruction notice = make(Opcode::Notify, isa::Type::U32, inst);
        notice.space = Space::Global;
        code.push_back(notice);
      }
      code.push_back(inst);
    }
    block.code = std::move(code);
  }
}

std::vector<HazardPoint> hazard_points(const Function& code) {
  std::vector<HazardPoint> points;
  for (std::uint32_t pc = 0; pc < code.code.size(); ++pc) {
    const Instruction& inst = code.code[pc];
    if (inst.hazard != isa::kNoTarget) points.push_back({pc, inst.line, code.hazards[inst.hazard]});
  }
  return points;
}

bool is_idempotent(const Function& code) {
  return std::all_of(code.code.begin(), code.code.end(),
                     [](const Instruction& inst) { return inst.hazard == isa::kNoTarget; });
}

std::string to_text(const isa::Hazard& hazard) {
  if (hazard.kind == isa::Hazard::Kind::Atomic) return "an atomic";
  return fmt::format("a store to {}, which line {} may have read", hazard.where, hazard.read_line);
}

}  // namespace gpumux::ptx
