// Copies to shared memory without registers (cp.async), and barrier objects in shared memory (mbarrier). PTX
// ISA 9.0, sections 9.7.9.25 and 9.7.13.15.
#include "ptx/parser.hpp"

namespace gpumux::ptx {

using isa::CacheOp;
using isa::MbarrierMode;

namespace {

/// True for an integer in the instruction's text, from 0 to `most`.
bool is_number(const Arg& arg, std::uint64_t most) {
  return arg.kind == Arg::Kind::Number && arg.at.kind == Token::Kind::Integer && !arg.minus && !arg.negated &&
         arg.at.bits <= most;
}

constexpr std::uint32_t kMostGroups = 1U << 20U;

}  // namespace

void Parser::take_cache_policy(Statement& s) {
  // A cache policy selects which lines to keep. The caches of this machine have policies of their own, so it
  // is ignored.
  if (!s.modifiers.take("L2::cache_hint")) return;
  if (s.args.empty()) want_args(s, 1, 1);
  static_cast<void>(source(s.args.back(), Type::B64));
  s.args.pop_back();
}

void Parser::op_createpolicy(Statement& s) {
  // The policy is a number that nothing reads.
  const bool range = s.modifiers.take("range");
  const bool fractional = !range && s.modifiers.take("fractional");
  const bool convert = !range && !fractional && s.modifiers.take("cvt");
  if (!range && !fractional && !convert)
    fail(s.opcode, fmt::format("'{}' needs .fractional, .range or .cvt", opcode_text(s)));
  if (range) s.modifiers.take("global");
  if (convert && !s.modifiers.take("L2")) fail(s.opcode, fmt::format("'{}' needs .L2", opcode_text(s)));
  for (const char* priority :
       {"L2::evict_last", "L2::evict_normal", "L2::evict_first", "L2::evict_unchanged"}) {
    if (!convert) s.modifiers.take(priority);
  }
  want_type(s, {Type::B64});
  finish_modifiers(s);
  want_args(s, range ? 4 : fractional ? 1 : 2, range ? 4 : 2);
  s.inst.op = Opcode::Mov;
  s.inst.type = Type::B64;
  s.inst.dst[0] = destination(s.args[0], Type::B64);
  for (std::size_t i = 1; i < s.args.size(); ++i) {
    if (range && i == 1) {
      if (s.args[i].kind != Arg::Kind::Address) fail(s.args[i].at, "expected an address in [ ]");
    } else {
      static_cast<void>(source(s.args[i], convert ? Type::B64 : range ? Type::B32 : Type::F32));
    }
  }
  s.inst.src[0] = Operand::immediate(0);
  emit(s.inst);
}

void Parser::op_cp(Statement& s) {
  Instruction& inst = s.inst;
  if (!s.modifiers.take("async")) fail(s.opcode, fmt::format("'{}' needs .async", opcode_text(s)));
  if (s.modifiers.take("commit_group")) {
    inst.op = Opcode::CpAsyncCommit;
    finish_modifiers(s);
    want_args(s, 0, 0);
    return emit(inst);
  }
  if (s.modifiers.take("wait_group")) {
    inst.op = Opcode::CpAsyncWait;
    finish_modifiers(s);
    want_args(s, 1, 1);
    if (!is_number(s.args[0], kMostGroups))
      fail(s.args[0].at,
           fmt::format("cp.async.wait_group takes a number of groups from 0 to {}", kMostGroups));
    inst.offset = static_cast<std::int64_t>(s.args[0].at.bits);
    return emit(inst);
  }
  if (s.modifiers.take("wait_all")) {  // also waits for the open group
    finish_modifiers(s);
    want_args(s, 0, 0);
    inst.op = Opcode::CpAsyncCommit;
    emit(inst);
    inst.op = Opcode::CpAsyncWait;
    inst.offset = 0;
    return emit(inst);
  }
  if (s.modifiers.take("mbarrier")) {
    if (!s.modifiers.take("arrive")) fail(s.opcode, "expected cp.async.mbarrier.arrive");
    inst.op = Opcode::Mbarrier;
    inst.mbarrier = MbarrierMode::ArriveCopies;
    inst.shift = s.modifiers.take("noinc") ? isa::kMbarrierNoinc : 0;
    mbarrier_space(s);
    finish_modifiers(s);
    want_args(s, 1, 1);
    address(s, s.args[0]);
    return emit(inst);
  }
  copy_async(s);
}

void Parser::copy_async(Statement& s) {
  Instruction& inst = s.inst;
  inst.op = Opcode::CpAsync;
  const bool all_levels = s.modifiers.take("ca");
  if (!all_levels && !s.modifiers.take("cg"))
    fail(s.opcode, fmt::format("'{}' needs .ca or .cg", opcode_text(s)));
  inst.cache = all_levels ? CacheOp::CA : CacheOp::CG;
  if (!s.modifiers.take("shared") && !s.modifiers.take("shared::cta"))
    fail(s.opcode, fmt::format("'{}' copies to .shared from .global", opcode_text(s)));
  if (!s.modifiers.take("global"))
    fail(s.opcode, fmt::format("'{}' copies to .shared from .global", opcode_text(s)));
  for (const char* hint : {"L2::64B", "L2::128B", "L2::256B"}) s.modifiers.take(hint);
  take_cache_policy(s);
  finish_modifiers(s);
  want_args(s, 3, 4);
  const Arg& size = s.args[2];
  const bool possible =
      is_number(size, 16) && (size.at.bits == 16 || (all_levels && (size.at.bits == 4 || size.at.bits == 8)));
  if (!possible)
    fail(size.at, fmt::format("'{}' copies {} bytes", opcode_text(s), all_levels ? "4, 8 or 16" : "16"));
  inst.type = size.at.bits == 8 ? Type::B64 : Type::B32;
  inst.vector = size.at.bits == 16 ? 4 : 1;

  inst.space = Space::Global;
  address(s, s.args[1]);
  Operand from = inst.src[0];
  const std::int64_t offset = inst.offset;
  if (from.kind == Operand::Kind::Symbol) {
    from.imm += static_cast<std::uint64_t>(offset);
  } else if (!from) {
    from = Operand::immediate(static_cast<std::uint64_t>(offset));
  } else if (offset != 0) {  // the instruction has an offset only for its destination
    Instruction add;
    add.op = Opcode::Add;
    add.type = Type::S64;
    add.guard = inst.guard;
    add.line = inst.line;
    add.column = inst.column;
    add.src[0] = from;
    add.src[1] = Operand::immediate(static_cast<std::uint64_t>(offset));
    add.dst[0] = from = Operand::reg64(new_register(Type::B64));
    emit(add);
  }
  inst.space = Space::Shared;
  inst.src[0] = {};
  inst.offset = 0;
  address(s, s.args[0]);
  inst.src[1] = from;
  if (s.args.size() == 4) {
    const Arg& limit = s.args[3];
    const Variable* variable = limit.kind == Arg::Kind::Name ? find(limit.at.text) : nullptr;
    const bool ignores =
        limit.negated ||
        (variable != nullptr && variable->kind == Variable::Kind::Register && variable->type == Type::Pred);
    if (ignores) {
      inst.src[3] = predicate(limit);
    } else {
      inst.src[2] = source(limit, Type::U32);
      if (inst.src[2].kind == Operand::Kind::Imm && inst.src[2].imm > size.at.bits)
        fail(limit.at,
             fmt::format("'{}' reads at most the {} bytes that it copies", opcode_text(s), size.at.bits));
    }
  }
  emit(inst);
}

void Parser::mbarrier_space(Statement& s) {
  s.inst.type = Type::B64;
  s.inst.space = take_space(s);
  if (s.inst.space != Space::Shared && s.inst.space != Space::Generic)
    fail(s.opcode, fmt::format("'{}': an mbarrier lies in .shared", opcode_text(s)));
  want_type(s, {Type::B64});
}

void Parser::op_mbarrier(Statement& s) {
  static constexpr std::pair<std::string_view, MbarrierMode> kModes[] = {
      {"init", MbarrierMode::Init},          {"inval", MbarrierMode::Inval},
      {"arrive", MbarrierMode::Arrive},      {"arrive_drop", MbarrierMode::ArriveDrop},
      {"test_wait", MbarrierMode::TestWait}, {"try_wait", MbarrierMode::TryWait},
      {"expect_tx", MbarrierMode::ExpectTx}, {"complete_tx", MbarrierMode::CompleteTx}};
  Instruction& inst = s.inst;
  if (s.modifiers.take("pending_count")) {
    inst.op = Opcode::MbarrierPending;
    inst.type = want_type(s, {Type::B64});
    finish_modifiers(s);
    want_args(s, 2, 2);
    inst.dst[0] = destination(s.args[0], Type::B32);
    inst.src[0] = source(s.args[1], Type::B64);
    return emit(inst);
  }
  inst.op = Opcode::Mbarrier;
  // arrive.expect_tx has two of the names. The first one determines the mode.
  const bool drops = s.modifiers.take("arrive_drop");
  const bool arrives = drops || s.modifiers.take("arrive");
  inst.mbarrier = drops     ? MbarrierMode::ArriveDrop
                  : arrives ? MbarrierMode::Arrive
                            : s.modifiers.take_from(kModes, MbarrierMode::None);
  const bool waits = inst.mbarrier == MbarrierMode::TestWait || inst.mbarrier == MbarrierMode::TryWait;
  const bool bytes = inst.mbarrier == MbarrierMode::ExpectTx || inst.mbarrier == MbarrierMode::CompleteTx;
  if (inst.mbarrier == MbarrierMode::None) {
    fail(s.opcode, fmt::format("'{}' needs .init, .inval, .arrive, .arrive_drop, .expect_tx, .complete_tx, "
                               ".test_wait, .try_wait or .pending_count",
                               opcode_text(s)));
  }
  if (arrives && s.modifiers.take("expect_tx")) inst.shift |= isa::kMbarrierExpectTx;
  if (arrives && inst.shift == 0 && s.modifiers.take("noComplete")) inst.shift |= isa::kMbarrierNoComplete;
  if (waits && s.modifiers.take("parity")) inst.shift |= isa::kMbarrierParity;
  if (arrives || waits || bytes) {  // no effect, since accesses to shared memory are observed in order
    if (!s.modifiers.take(waits ? "acquire" : "release")) s.modifiers.take("relaxed");
    take_scope(s);
  }
  mbarrier_space(s);
  finish_modifiers(s);
  switch (inst.mbarrier) {
    case MbarrierMode::Init:
    case MbarrierMode::ExpectTx:
    case MbarrierMode::CompleteTx:
      want_args(s, 2, 2);
      address(s, s.args[0]);
      inst.src[1] = source(s.args[1], Type::U32);
      break;
    case MbarrierMode::Inval:
      want_args(s, 1, 1);
      address(s, s.args[0]);
      break;
    case MbarrierMode::TestWait:
    case MbarrierMode::TryWait: {
      const bool hint = inst.mbarrier == MbarrierMode::TryWait;
      want_args(s, 3, hint ? 4 : 3);
      inst.dst[0] = destination(s.args[0], Type::Pred);
      address(s, s.args[1]);
      inst.src[1] = source(s.args[2], (inst.shift & isa::kMbarrierParity) != 0 ? Type::U32 : Type::B64);
      // The maximum time for which hardware may suspend the thread. Threads are never suspended here.
      if (s.args.size() == 4) static_cast<void>(source(s.args[3], Type::U32));
      break;
    }
    default: {
      const bool counts = inst.shift != 0;
      want_args(s, counts ? 3 : 2, 3);
      inst.dst[0] = destination(s.args[0], Type::B64);
      address(s, s.args[1]);
      if (s.args.size() == 3) inst.src[1] = source(s.args[2], Type::U32);
      break;
    }
  }
  emit(inst);
}

}  // namespace gpumux::ptx
