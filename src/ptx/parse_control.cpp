// Control flow, calls, barriers, fences and communication inside a warp.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.hpp"
#include "ptx/parser.hpp"

namespace gpumux::ptx {

using isa::AtomicOp;
using isa::BarMode;

/// True if the instruction names the participating lanes (.sync). Otherwise all lanes that execute it
/// together participate.
bool Parser::takes_members(Statement& s) const {
  if (s.modifiers.take("sync")) return true;
  constexpr std::uint32_t kFirstWithout = 70;
  const bool late = module_.version_major > 6 || (module_.version_major == 6 && module_.version_minor >= 4);
  if (module_.sm >= kFirstWithout && late)
    fail(s.opcode,
         fmt::format("'{0}': use {1}.sync; targets from sm_70 on have no {1} without it since PTX 6.4",
                     opcode_text(s), s.opcode.text));
  return false;
}

void Parser::op_shfl(Statement& s) {
  using isa::ShflMode;
  static constexpr std::pair<std::string_view, ShflMode> kModes[] = {
      {"up", ShflMode::Up}, {"down", ShflMode::Down}, {"bfly", ShflMode::Bfly}, {"idx", ShflMode::Idx}};
  Instruction& inst = s.inst;
  inst.op = Opcode::Shfl;
  const bool names_members = takes_members(s);
  inst.shfl = s.modifiers.take_from(kModes, ShflMode::None);
  if (inst.shfl == ShflMode::None) fail(s.opcode, "shfl.sync needs .up, .down, .bfly or .idx");
  inst.type = want_type(s, {Type::B32});
  finish_modifiers(s);
  const std::size_t operands = names_members ? 5 : 4;
  want_args(s, operands, operands);
  Arg first = s.args[0];
  const std::vector<Arg> second = std::move(first.pair);
  first.pair.clear();
  inst.dst[0] = destination(first, inst.type);
  if (!second.empty()) inst.dst[1] = destination(second[0], Type::Pred);
  inst.src[0] = source(s.args[1], inst.type);
  for (std::size_t i = 2; i < operands; ++i) inst.src[i - 1] = source(s.args[i], Type::B32);
  emit(inst);
}

void Parser::op_vote(Statement& s) {
  using isa::VoteMode;
  static constexpr std::pair<std::string_view, VoteMode> kModes[] = {
      {"all", VoteMode::All}, {"any", VoteMode::Any}, {"uni", VoteMode::Uni}, {"ballot", VoteMode::Ballot}};
  Instruction& inst = s.inst;
  inst.op = Opcode::Vote;
  const bool names_members = takes_members(s);
  inst.vote = s.modifiers.take_from(kModes, VoteMode::None);
  if (inst.vote == VoteMode::None) fail(s.opcode, "vote.sync needs .all, .any, .uni or .ballot");
  inst.type = inst.vote == VoteMode::Ballot ? want_type(s, {Type::B32}) : want_type(s, {Type::Pred});
  finish_modifiers(s);
  const std::size_t operands = names_members ? 3 : 2;
  want_args(s, operands, operands);
  inst.dst[0] = destination(s.args[0], inst.type);
  inst.src[0] = predicate(s.args[1]);
  if (names_members) inst.src[1] = source(s.args[2], Type::B32);
  emit(inst);
}

void Parser::op_match(Statement& s) {
  using isa::MatchMode;
  static constexpr std::pair<std::string_view, MatchMode> kModes[] = {{"any", MatchMode::Any},
                                                                      {"all", MatchMode::All}};
  Instruction& inst = s.inst;
  inst.op = Opcode::Match;
  inst.match = s.modifiers.take_from(kModes, MatchMode::None);
  if (inst.match == MatchMode::None || !s.modifiers.take("sync")) {
    fail(s.opcode, "expected match.any.sync or match.all.sync");
  }
  inst.type = want_type(s, {Type::B32, Type::B64});
  finish_modifiers(s);
  want_args(s, 3, 3);
  Arg first = s.args[0];
  const std::vector<Arg> second = std::move(first.pair);
  first.pair.clear();
  if (!second.empty() && inst.match == MatchMode::Any) no_pair(s.args[0]);
  inst.dst[0] = destination(first, Type::B32);
  if (!second.empty()) inst.dst[1] = destination(second[0], Type::Pred);
  inst.src[0] = source(s.args[1], inst.type);
  inst.src[1] = source(s.args[2], Type::B32);
  emit(inst);
}

void Parser::op_redux(Statement& s) {
  static constexpr std::pair<std::string_view, AtomicOp> kOps[] = {
      {"add", AtomicOp::Add}, {"min", AtomicOp::Min}, {"max", AtomicOp::Max},
      {"and", AtomicOp::And}, {"or", AtomicOp::Or},   {"xor", AtomicOp::Xor}};
  Instruction& inst = s.inst;
  inst.op = Opcode::Redux;
  inst.atomic = s.modifiers.take_from(kOps, AtomicOp::None);
  if (!s.modifiers.take("sync") || inst.atomic == AtomicOp::None) {
    fail(s.opcode, "expected redux.sync with .add, .min, .max, .and, .or or .xor");
  }
  const bool arithmetic =
      inst.atomic == AtomicOp::Add || inst.atomic == AtomicOp::Min || inst.atomic == AtomicOp::Max;
  inst.type = want_type(s, arithmetic ? TypeSet{Type::U32, Type::S32} : TypeSet{Type::B32});
  finish_modifiers(s);
  want_args(s, 3, 3);
  inst.dst[0] = destination(s.args[0], inst.type);
  inst.src[0] = source(s.args[1], inst.type);
  inst.src[1] = source(s.args[2], Type::B32);
  emit(inst);
}

void Parser::op_bar(Statement& s) {
  Instruction& inst = s.inst;
  s.modifiers.take("cta");
  for (const Modifiers::Item& item : s.modifiers.items()) {
    if (item.token.text == "cluster")
      fail(item.token, "thread block clusters (barrier.cluster) are not supported");
  }
  if (s.modifiers.take("warp")) {
    if (!s.modifiers.take("sync")) fail(s.opcode, "expected bar.warp.sync");
    finish_modifiers(s);
    want_args(s, 1, 1);
    inst.op = Opcode::BarWarp;
    inst.src[0] = source(s.args[0], Type::B32);
    return emit(inst);
  }
  inst.op = Opcode::Bar;
  s.modifiers.take("aligned");
  bool reduces = false;
  if (s.modifiers.take("sync")) {
    inst.bar = BarMode::Sync;
  } else if (s.modifiers.take("arrive")) {
    inst.bar = BarMode::Arrive;
  } else if (s.modifiers.take("red")) {
    reduces = true;
    static constexpr std::pair<std::string_view, BarMode> kModes[] = {
        {"popc", BarMode::RedPopc}, {"and", BarMode::RedAnd}, {"or", BarMode::RedOr}};
    inst.bar = s.modifiers.take_from(kModes, BarMode::None);
    if (inst.bar == BarMode::None)
      fail(s.opcode, fmt::format("'{}' needs .popc, .and or .or", opcode_text(s)));
    inst.type = inst.bar == BarMode::RedPopc ? want_type(s, {Type::U32}) : want_type(s, {Type::Pred});
  } else {
    fail(s.opcode, fmt::format("'{}' needs .sync, .arrive, .red or .warp.sync", opcode_text(s)));
  }
  finish_modifiers(s);
  std::size_t at = 0;
  if (reduces) {
    want_args(s, 3, 4);
    inst.dst[0] = destination(s.args[at++], inst.type);
  } else {
    want_args(s, inst.bar == BarMode::Arrive ? 2 : 1, 2);
  }
  const Arg& number = s.args[at++];
  inst.src[0] = source(number, Type::U32);
  if (inst.src[0].kind == Operand::Kind::Imm && inst.src[0].imm > 15) {
    fail(number.at, fmt::format("barrier {}; a block has barriers 0 to 15", inst.src[0].imm));
  }
  if (s.args.size() - at > (reduces ? 1U : 0U)) {
    const Arg& threads = s.args[at++];
    inst.src[1] = source(threads, Type::U32);
    if (inst.src[1].kind == Operand::Kind::Imm &&
        (inst.src[1].imm % kWarpSize != 0 || inst.src[1].imm == 0)) {
      fail(threads.at,
           fmt::format("{} threads at a barrier; the number is a multiple of 32", inst.src[1].imm));
    }
  }
  if (reduces) inst.src[2] = predicate(s.args[at]);
  emit(inst);
}

void Parser::op_membar(Statement& s) {
  Instruction& inst = s.inst;
  inst.op = Opcode::Membar;
  if (s.opcode.text == "fence") {
    if (s.modifiers.take("proxy")) {
      // Fences between access paths, of which there is only one here. They order accesses like a fence of GPU
      // scope.
      for (const char* kind : {"alias", "async", "async::generic", "async.global", "async.shared::cta"}) {
        s.modifiers.take(kind);
      }
      s.modifiers.take("global");
      s.modifiers.take("shared::cta");
      inst.shift = 1;
      finish_modifiers(s);
      want_args(s, 0, 0);
      return emit(inst);
    }
    s.modifiers.take("mbarrier_init");  // with .release.cluster: ordered like all other accesses
    if (!s.modifiers.take("sc") && !s.modifiers.take("acq_rel") && !s.modifiers.take("acquire")) {
      s.modifiers.take("release");
    }
  }
  if (s.modifiers.take("cta")) {
    inst.shift = 0;
  } else if (s.modifiers.take("gl") || s.modifiers.take("gpu") || s.modifiers.take("cluster")) {
    inst.shift = 1;
  } else if (s.modifiers.take("sys")) {
    inst.shift = 2;
  } else {
    fail(s.opcode, fmt::format("'{}' needs a scope: .cta, {} or .sys", opcode_text(s),
                               s.opcode.text == "fence" ? ".gpu" : ".gl"));
  }
  finish_modifiers(s);
  want_args(s, 0, 0);
  emit(inst);
}

void Parser::op_nanosleep(Statement& s) {
  s.inst.op = Opcode::Nanosleep;
  s.inst.type = want_type(s, {Type::U32});
  finish_modifiers(s);
  want_args(s, 1, 1);
  s.inst.src[0] = source(s.args[0], Type::U32);
  emit(s.inst);
}

void Parser::op_bra(Statement& s) {
  s.inst.op = Opcode::Bra;
  s.inst.uniform = s.modifiers.take("uni");
  finish_modifiers(s);
  want_args(s, 1, 1);
  const Arg& label = s.args[0];
  if (label.kind != Arg::Kind::Name || label.negated || label.offset != 0) fail(label.at, "expected a label");
  use_label(label.at, function_->code.size(), isa::kNoTarget);
  emit(s.inst);
}

void Parser::op_brx(Statement& s) {
  s.inst.op = Opcode::BrxIdx;
  if (!s.modifiers.take("idx")) fail(s.opcode, "expected brx.idx");
  s.inst.uniform = s.modifiers.take("uni");
  finish_modifiers(s);
  want_args(s, 2, 2);
  s.inst.src[0] = source(s.args[0], Type::U32);
  const Arg& table = s.args[1];
  const Variable* variable = table.kind == Arg::Kind::Name ? find(table.at.text) : nullptr;
  if (variable == nullptr || variable->kind != Variable::Kind::BranchTable) {
    fail(table.at, fmt::format("'{}' is not a list of .branchtargets that stands before", table.at.text));
  }
  s.inst.call = variable->index;
  emit(s.inst);
}

/// Registers or numbers that a call passes, and their slot.
struct Parser::CallValue {
  std::uint32_t slot = 0;
  bool result = false;
  Type type = Type::None;
  std::vector<Operand> operands;
};

std::vector<Arg> Parser::parse_call_list(std::string_view after) {
  std::vector<Arg> list;
  expect('(', after);
  if (accept(')')) return list;
  do {
    list.push_back(parse_arg());
  } while (accept(','));
  expect(')', "the parameters");
  return list;
}

std::uint32_t Parser::call_slot(const Arg& arg, const ParamShape* formal, bool result,
                                std::vector<CallValue>& values) {
  const bool named = arg.kind == Arg::Kind::Name || arg.kind == Arg::Kind::Vector;
  const Variable* variable = named ? find(arg.at.text) : nullptr;
  if (variable != nullptr && variable->kind == Variable::Kind::Slot) return variable->index;
  const bool is_value = variable != nullptr && (variable->kind == Variable::Kind::Register ||
                                                variable->kind == Variable::Kind::Vector);
  const bool sink = result && arg.kind == Arg::Kind::Sink;
  const bool number = !result && arg.kind == Arg::Kind::Number;
  if (!is_value && !sink && !number) {
    fail(arg.at, fmt::format("'{}' is not a .param variable{}; a call passes those", arg.at.text,
                             result ? " or register" : ", register or number"));
  }
  if (formal == nullptr && !is_value)
    fail(arg.at,
         "a call that passes this needs to know the function's parameters; a .callprototype gives them");
  const ValueShape shape =
      formal == nullptr
          ? ValueShape{variable->type, arg.component.empty() ? variable->elements : std::uint8_t{1}}
      : formal->is_register() ? formal->in_register
                              : ValueShape{formal->type};
  if (formal != nullptr && !formal->is_register() && formal->is_array && !sink)
    fail(arg.at, fmt::format("'{}' is passed where the function has an array in .param", arg.at.text));
  const std::uint32_t bytes = formal != nullptr          ? formal->bytes
                              : shape.type == Type::Pred ? 4
                                                         : shape.elements * isa::width_bytes(shape.type);
  const auto slot = static_cast<std::uint32_t>(function_->slots.size());
  function_->slots.push_back({std::string(arg.at.text), bytes, formal != nullptr ? formal->align : bytes});
  if (sink) return slot;
  const std::vector<Arg> parts = arg.kind == Arg::Kind::Vector ? arg.elements : std::vector<Arg>{arg};
  if (parts.size() != shape.elements)
    fail(arg.at, fmt::format("'{}' has {} element{}; the function's parameter has {}", arg.at.text,
                             parts.size(), parts.size() == 1 ? "" : "s", shape.elements));
  CallValue value{slot, result, shape.type, {}};
  const bool byte = isa::width_bits(shape.type) == 8;  // bytes are in wider registers
  for (const Arg& part : parts) {
    const Operand operand = result ? destination(part, shape.type, byte) : source(part, shape.type, byte);
    if ((operand.kind == Operand::Kind::Reg64) != (isa::width_bits(shape.type) == 64) &&
        operand.is_register())
      fail(part.at, fmt::format("'{}' has another width than the function's parameter", part.at.text));
    value.operands.push_back(operand);
  }
  values.push_back(std::move(value));
  return slot;
}

void Parser::op_call(Statement& s) {
  s.inst.op = Opcode::Call;
  s.inst.uniform = s.modifiers.take("uni");
  finish_modifiers(s);
  isa::CallSite site;
  std::vector<Arg> results;
  std::vector<Arg> arguments;
  const Signature* signature = nullptr;
  if (peek().is('(')) {
    results = parse_call_list("'call'");
    expect(',', "the results of a call");
  }
  const Token callee = expect_name("the name of a function");
  if (accept(',')) {
    if (peek().is('(')) {
      arguments = parse_call_list("'call'");
      if (accept(',')) signature = prototype_of(expect_name("the name of a prototype"));
    } else {
      signature = prototype_of(expect_name("the name of a prototype"));
    }
  }
  const Variable* variable = find(callee.text);
  if (variable != nullptr && variable->kind == Variable::Kind::Function) {
    const auto known = signatures_.find(callee.text);
    if (known != signatures_.end()) signature = &known->second;
  }
  std::vector<CallValue> values;
  const auto slots = [&](const std::vector<Arg>& given, bool result) {
    static const std::vector<ParamShape> kNone;
    const std::vector<ParamShape>& formals = signature == nullptr ? kNone
                                             : result             ? signature->results
                                                                  : signature->arguments;
    std::vector<std::uint32_t> list;
    for (std::size_t i = 0; i < given.size(); ++i) {
      const ParamShape* const formal = i < formals.size() ? &formals[i] : nullptr;
      const std::uint32_t slot = call_slot(given[i], formal, result, values);
      if (formal != nullptr && formal->is_open) {
        function_->slots[slot].open = true;
        most_open_bytes_ = std::max(most_open_bytes_, function_->slots[slot].bytes);
      }
      list.push_back(slot);
    }
    return list;
  };
  site.results = slots(results, true);
  site.arguments = slots(arguments, false);
  if (variable != nullptr && variable->kind == Variable::Kind::Register) {
    Arg arg;
    arg.kind = Arg::Kind::Name;
    arg.at = callee;
    site.pointer = register_operand(arg, *variable, Type::U64, false);
  } else if (variable == nullptr || variable->kind != Variable::Kind::Function) {
    if (!aliases_.contains(std::string(callee.text))) fail(callee, unknown_name("function", callee));
    site.callee = std::string(callee.text);
  } else {
    site.callee = std::string(callee.text);
  }
  s.inst.call = static_cast<std::uint32_t>(function_->calls.size());
  if (!site.callee.empty()) {
    calls_.push_back({callee, static_cast<std::uint32_t>(module_.functions.size() - 1), s.inst.call});
  }
  function_->calls.push_back(std::move(site));
  for (const CallValue& value : values)
    if (!value.result) copy_slot(false, s.inst, value.slot, value.type, value.operands);
  emit(s.inst);
  // The call's own guard is written last.
  const auto is_guard = [&s](const CallValue& value) {
    return value.type == Type::Pred && s.inst.guard.kind == Operand::Kind::Pred &&
           value.operands[0].reg == s.inst.guard.reg;
  };
  for (const bool guard : {false, true}) {
    for (const CallValue& value : values)
      if (value.result && is_guard(value) == guard)
        copy_slot(true, s.inst, value.slot, value.type, value.operands);
  }
}

const Signature* Parser::prototype_of(const Token& name) {
  const Variable* variable = find(name.text);
  if (variable == nullptr || variable->kind != Variable::Kind::Prototype) {
    fail(name, fmt::format("'{}' is not a .callprototype that stands before", name.text));
  }
  return &prototypes_[variable->index];
}

/// setmaxnreg has no effect: registers limit residency only before a block starts, and code keeps its own
/// number.
void Parser::op_register_limit(Statement& s) {
  s.inst.op = Opcode::Nop;
  const bool known = s.modifiers.take("inc") || s.modifiers.take("dec");
  if (!known || !s.modifiers.take("sync") || !s.modifiers.take("aligned"))
    fail(s.opcode, fmt::format("'{}': expected setmaxnreg.inc.sync.aligned or setmaxnreg.dec.sync.aligned",
                               opcode_text(s)));
  want_type(s, {Type::U32});
  finish_modifiers(s);
  want_args(s, 1, 1);
  const Arg& count = s.args[0];
  constexpr std::uint64_t kLeast = 24;
  constexpr std::uint64_t kMost = 256;
  const std::uint64_t value = count.kind == Arg::Kind::Number ? count.at.bits : 0;
  if (count.at.kind != Token::Kind::Integer || count.minus || value < kLeast || value > kMost ||
      value % 8 != 0)
    fail(count.at, fmt::format("setmaxnreg takes a multiple of 8 from {} to {}", kLeast, kMost));
  emit(s.inst);
}

void Parser::op_simple(Statement& s) {
  Instruction& inst = s.inst;
  if (s.opcode.text == "ret") {
    inst.op = Opcode::Ret;
    inst.uniform = s.modifiers.take("uni");
    if (!register_results_.empty()) store_register_results(inst);
  } else if (s.opcode.text == "exit") {
    inst.op = Opcode::Exit;
  } else if (s.opcode.text == "griddepcontrol") {
    inst.op = Opcode::Nop;  // nothing to wait for: kernels of a stream do not overlap
    if (!s.modifiers.take("wait") && !s.modifiers.take("launch_dependents")) {
      fail(s.opcode, "griddepcontrol needs .wait or .launch_dependents");
    }
  } else if (s.opcode.text == "pmevent") {
    inst.op = Opcode::Nop;  // counts events for a hardware profiler, which does not exist
    s.modifiers.take("mask");
    finish_modifiers(s);
    want_args(s, 1, 1);
    return emit(inst);
  } else {
    inst.op = Opcode::Trap;  // a breakpoint without a debugger ends the kernel
  }
  finish_modifiers(s);
  want_args(s, 0, 0);
  emit(inst);
}

}  // namespace gpumux::ptx
