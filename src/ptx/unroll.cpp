#include "ptx/unroll.hpp"

#include <algorithm>
#include <optional>

#include "ptx/liveness.hpp"
#include "ptx/operands.hpp"

namespace gpumux::ptx {

using isa::Compare;
using isa::Function;
using isa::Instruction;
using isa::Opcode;
using isa::Operand;
using isa::Type;

namespace {

constexpr std::size_t kLargestUnrolledBody = 120;  // instructions

/// A loop of one block: `do body while (counter CONTINUE bound)`, where the counter advances by `step`.
struct CountedLoop {
  BlockId block = kNoBlock;
  BlockId exit = kNoBlock;
  Operand counter;
  Operand bound;
  std::int64_t step = 0;
  Compare go_on = Compare::None;
  Type type = Type::S32;
};

Compare negated(Compare compare) {
  switch (compare) {
    case Compare::EQ: return Compare::NE;
    case Compare::NE: return Compare::EQ;
    case Compare::LT: return Compare::GE;
    case Compare::GE: return Compare::LT;
    case Compare::GT: return Compare::LE;
    case Compare::LE: return Compare::GT;
    default: return Compare::None;
  }
}

/// True if copies of the instruction may be executed separately. Lanes may leave the loop at different times
/// and then run in different copies. So instructions that need all lanes at once, or that order threads, must
/// not be copied.
bool may_be_copied(const Instruction& inst) {
  switch (inst.op) {
    case Opcode::Bar:
    case Opcode::BarWarp:
    case Opcode::Membar:
    case Opcode::Nanosleep:
    case Opcode::CpAsyncCommit:
    case Opcode::CpAsyncWait:
    case Opcode::Mbarrier:
    case Opcode::Shfl:
    case Opcode::Vote:
    case Opcode::Match:
    case Opcode::Redux:
    case Opcode::MovMatrix:
    case Opcode::Mma:
    case Opcode::LdMatrix:
    case Opcode::StMatrix:
    case Opcode::Activemask:
    case Opcode::Call:
    case Opcode::Syscall:
    case Opcode::Exit:
    case Opcode::Ret:
    case Opcode::Trap: return false;
    default: return !inst.is_volatile && !inst.acquire_release;
  }
}

std::optional<CountedLoop> find_counted_loop(const FlowGraph& graph, BlockId id) {
  const Block& block = graph.blocks[id];
  if (block.code.empty() || block.no_unroll || block.code.back().op != Opcode::Bra) return {};
  const Instruction& branch = block.code.back();
  CountedLoop loop;
  loop.block = id;
  const bool taken_loops = branch.target == id;
  if (taken_loops == (block.next == id)) return {};
  loop.exit = taken_loops ? block.next : branch.target;

  const auto& code = block.code;
  std::size_t test = code.size();
  for (std::size_t i = 0; i + 1 < code.size(); ++i) {
    if (!may_be_copied(code[i])) return {};
    if (defines(code[i], branch.guard)) {
      if (test != code.size()) return {};
      test = i;
    }
  }
  if (test == code.size()) return {};
  const Instruction& setp = code[test];
  if (setp.op != Opcode::Setp || setp.guard || setp.bool_op != isa::BoolOp::None || isa::is_float(setp.type))
    return {};
  const unsigned width = isa::width_bits(setp.type);
  if ((width != 32 && width != 64) || !setp.src[0].is_register() || setp.dst[1]) return {};
  loop.counter = setp.src[0];
  loop.bound = setp.src[1];
  loop.type = setp.type;
  const bool continues_on_true = taken_loops != branch.guard.negate;
  loop.go_on = continues_on_true ? setp.compare : negated(setp.compare);
  if (loop.bound.kind != Operand::Kind::Imm && loop.bound.kind != Operand::Kind::Const &&
      !loop.bound.is_register()) {
    return {};
  }
  std::size_t step = code.size();
  for (std::size_t i = 0; i < code.size(); ++i) {
    if (loop.bound.is_register() && defines(code[i], loop.bound)) return {};
    if (!defines(code[i], loop.counter)) continue;
    if (step != code.size()) return {};
    step = i;
  }
  if (step >= test) return {};
  const Instruction& add = code[step];
  if (add.op != Opcode::Add || add.guard || add.src[0] != loop.counter || isa::is_float(add.type) ||
      add.src[1].kind != Operand::Kind::Imm || add.carry_in || add.carry_out ||
      isa::width_bits(add.type) != width) {
    return {};
  }
  loop.step = width == 64 ? static_cast<std::int64_t>(add.src[1].imm)
                          : static_cast<std::int32_t>(static_cast<std::uint32_t>(add.src[1].imm));
  constexpr std::int64_t kLargestStep = 1 << 20;
  if (loop.step == 0 || loop.step > kLargestStep || loop.step < -kLargestStep) return {};
  switch (loop.go_on) {
    case Compare::NE: return loop;
    case Compare::LT:
    case Compare::LE: return loop.step > 0 ? std::optional(loop) : std::nullopt;
    case Compare::GT:
    case Compare::GE: return loop.step < 0 ? std::optional(loop) : std::nullopt;
    default: return {};
  }
}

/// The instruction outside of `loop` that sets `reg` (the last one in the graph's order), or nullptr.
const Instruction* initial_value(const FlowGraph& graph, const Operand& reg, BlockId loop) {
  const Instruction* found = nullptr;
  for (BlockId id = 0; id < graph.blocks.size(); ++id) {
    if (id == loop) continue;
    for (const Instruction& inst : graph.blocks[id].code) {
      if (defines(inst, reg)) found = &inst;
    }
  }
  return found;
}

/// True for the compiler's own remainder loop, whose counter starts as `n & 3` or similar, or its negation.
bool is_remainder_loop(const FlowGraph& graph, const CountedLoop& loop) {
  constexpr std::uint64_t kLargestRemainder = 15;
  const Instruction* source = initial_value(graph, loop.counter, loop.block);
  for (int step = 0; source != nullptr && step < 3; ++step) {
    if (source->op == Opcode::And && source->src[1].kind == Operand::Kind::Imm &&
        source->src[1].imm <= kLargestRemainder) {
      return true;
    }
    const bool passes_on = source->op == Opcode::Mov || source->op == Opcode::Neg ||
                           (source->op == Opcode::Sub && source->src[0] == Operand::immediate(0));
    const Operand& from = source->op == Opcode::Sub ? source->src[1] : source->src[0];
    if (!passes_on || !from.is_register()) return false;
    source = initial_value(graph, from, loop.block);
  }
  return false;
}

class Unroller {
 public:
  Unroller(FlowGraph& graph, Function& function, const CountedLoop& loop, std::uint32_t factor)
      : graph_(graph),
        function_(function),
        loop_(loop),
        factor_(factor),
        wide_(isa::width_bits(loop.type) == 64) {}

  void run() {
    std::vector<Instruction> body = copy_body();  // liveness is needed before the graph changes
    place_blocks();
    graph_.blocks[main_].code = std::move(body);
    add_tests();
  }

 private:
  void place_blocks() {
    // All edges into the loop first go to the check.
    const auto before = predecessors(graph_);
    check_ = static_cast<BlockId>(graph_.blocks.size());
    main_ = check_ + 1;
    leave_ = check_ + 2;
    graph_.blocks.resize(graph_.blocks.size() + 3);
    for (const BlockId from : before[loop_.block]) {
      if (from == loop_.block) continue;
      Block& block = graph_.blocks[from];
      if (block.next == loop_.block) block.next = check_;
      if (block.code.empty()) continue;
      Instruction& last = block.code.back();
      if (last.op == Opcode::Bra && last.target == loop_.block) last.target = check_;
      if (last.op == Opcode::BrxIdx) {
        auto& table = graph_.branch_tables[last.call];
        std::replace(table.begin(), table.end(), loop_.block, check_);
      }
    }
    const auto at = std::find(graph_.order.begin(), graph_.order.end(), loop_.block);
    graph_.order.insert(at, {check_, main_, leave_});
  }

  std::vector<Instruction> copy_body() {
    const RegisterSpace space(function_);
    const Liveness live(graph_, space);
    const Block& body = graph_.blocks[loop_.block];
    const BitSet& carried = live.in(loop_.block);
    const BitSet& behind = live.in(loop_.exit);
    std::vector<Instruction> code;
    for (std::int64_t copy = 0; copy < factor_; ++copy) {
      std::vector<std::pair<Operand, Operand>> names;  // for results that are used only within one iteration
      for (std::size_t i = 0; i + 1 < body.code.size(); ++i) {
        Instruction inst = body.code[i];
        const auto rename = [&](Operand& operand) {
          for (const auto& [old_name, new_name] : names) {
            if (old_name.kind == operand.kind && old_name.reg == operand.reg) {
              operand.reg = new_name.reg;
              return;
            }
          }
        };
        for_each_use(inst, rename);
        for_each_def(inst, [&](Operand& dst) {
          const std::uint32_t reg = space.index(dst);
          const bool is_test = body.code.back().guard.reg == dst.reg && dst.kind == Operand::Kind::Pred;
          if (carried.test(reg) || behind.test(reg) || is_test) return;
          const Operand old_name = dst;
          const bool known = std::any_of(names.begin(), names.end(), [&](const auto& pair) {
            return pair.first.kind == old_name.kind && pair.first.reg == old_name.reg;
          });
          if (!known) {
            names.emplace_back(old_name, dst.kind == Operand::Kind::Pred    ? new_pred(function_)
                                         : dst.kind == Operand::Kind::Reg64 ? new_reg64(function_)
                                                                            : new_reg32(function_));
          }
          rename(dst);
        });
        code.push_back(inst);
      }
    }
    return code;
  }

  Operand fresh() { return wide_ ? new_reg64(function_) : new_reg32(function_); }

  static Instruction compare(const Instruction& like, Compare how, Type type, const Operand& dst,
                             const Operand& a, const Operand& b) {
    Instruction inst = make(Opcode::Setp, type, like);
    inst.guard = {};
    inst.compare = how;
    inst.dst[0] = dst;
    inst.src[0] = a;
    inst.src[1] = b;
    return inst;
  }

  Instruction binary(Opcode op, const Instruction& like, const Operand& dst, const Operand& a,
                     const Operand& b) const {
    Instruction inst = make(op, wide_ ? Type::U64 : Type::U32, like);
    inst.guard = {};
    inst.dst[0] = dst;
    inst.src[0] = a;
    inst.src[1] = b;
    return inst;
  }

  void add_tests() {
    const Instruction branch = graph_.blocks[loop_.block].code.back();
    const Operand enough = new_pred(function_);
    auto& check = graph_.blocks[check_].code;
    auto& main = graph_.blocks[main_].code;
    const std::uint64_t mask = wide_ ? ~std::uint64_t{0} : 0xffff'ffffU;
    const auto imm = [&](std::int64_t value) {
      return Operand::immediate(static_cast<std::uint64_t>(value) & mask);
    };
    const Type unsigned_type = wide_ ? Type::U64 : Type::U32;
    Operand bound = loop_.bound;
    if (!bound.is_register()) {  // an instruction can have only one constant
      bound = fresh();
      Instruction mov = make(Opcode::Mov, wide_ ? Type::B64 : Type::B32, branch);
      mov.guard = {};
      mov.dst[0] = bound;
      mov.src[0] = loop_.bound;
      check.push_back(mov);
    }
    if (loop_.go_on == Compare::NE) {
      // The unsigned distance to the bound must cover all iterations of one round. Then only the last one can
      // reach the bound.
      const std::int64_t round = (loop_.step > 0 ? loop_.step : -loop_.step) * factor_;
      for (auto* code : {&check, &main}) {
        const Operand distance = fresh();
        code->push_back(loop_.step > 0 ? binary(Opcode::Sub, branch, distance, bound, loop_.counter)
                                       : binary(Opcode::Sub, branch, distance, loop_.counter, bound));
        code->push_back(compare(branch, Compare::GE, unsigned_type, enough, distance, imm(round)));
      }
    } else {
      // Tests that counter + (factor - 1) * step still satisfies the condition, by a limit derived from the
      // bound. The limit is checked once for overflow.
      const Operand limit = fresh();
      const Operand no_overflow = new_pred(function_);
      const bool up = loop_.step > 0;
      check.push_back(binary(Opcode::Add, branch, limit, bound, imm(-loop_.step * (factor_ - 1))));
      check.push_back(compare(branch, up ? Compare::LE : Compare::GE, loop_.type, no_overflow, limit, bound));
      check.push_back(compare(branch, loop_.go_on, loop_.type, enough, loop_.counter, limit));
      check.back().bool_op = isa::BoolOp::And;
      check.back().src[2] = no_overflow;
      main.push_back(compare(branch, loop_.go_on, loop_.type, enough, loop_.counter, limit));
    }
    Instruction jump = make(Opcode::Bra, Type::None, branch);
    jump.guard = enough;
    jump.target = main_;
    check.push_back(jump);
    main.push_back(jump);
    graph_.blocks[check_].next = loop_.block;
    graph_.blocks[main_].next = leave_;
    Block& leave = graph_.blocks[leave_];
    leave.code.push_back(branch);
    leave.next = graph_.blocks[loop_.block].next;
    graph_.blocks[main_].no_unroll = true;
    graph_.blocks[loop_.block].no_unroll = true;
  }

  FlowGraph& graph_;
  Function& function_;
  CountedLoop loop_;
  std::int64_t factor_;
  bool wide_;
  BlockId check_ = kNoBlock;
  BlockId main_ = kNoBlock;
  BlockId leave_ = kNoBlock;
};

}  // namespace

void unroll_loops(FlowGraph& graph, Function& function) {
  const std::size_t originals = graph.blocks.size();
  for (BlockId id = 0; id < originals; ++id) {
    const auto loop = find_counted_loop(graph, id);
    if (!loop || is_remainder_loop(graph, *loop)) continue;
    const auto& code = graph.blocks[id].code;
    const bool loads = std::any_of(code.begin(), code.end(), [](const Instruction& inst) {
      return inst.op == Opcode::Ld || inst.op == Opcode::Tex || inst.op == Opcode::SurfLd;
    });
    if (!loads) continue;
    std::uint32_t factor = 4;
    while (factor > 1 && code.size() * factor > kLargestUnrolledBody) factor /= 2;
    if (factor > 1) Unroller(graph, function, *loop, factor).run();
  }
}

}  // namespace gpumux::ptx
