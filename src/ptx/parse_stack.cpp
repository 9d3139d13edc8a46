// alloca, stacksave, stackrestore. The alloca stack of a thread is part of the kernel's frame. Its current
// top is the local variable kStackTop, which has no address. The back end assigns a register or a word of the
// stack to it (inline.cpp, slots.cpp).
#include "base/text.hpp"
#include "ptx/calls.hpp"
#include "ptx/sequence.hpp"

namespace gpumux::ptx {
namespace {

constexpr TypeSet kAddresses{Type::U32, Type::U64};
constexpr std::uint64_t kDefaultAlign = 8;
/// An address beyond the stack. If an alloca exceeds the stack, its result is this address, and an access
/// faults.
constexpr std::uint64_t kNowhere = 0x7ff0'0000;

}  // namespace

Operand Parser::stack_top() {
  const auto function = static_cast<std::uint32_t>(module_.functions.size() - 1);
  for (std::size_t i = module_.symbols.size(); i-- > 0;) {
    const isa::Symbol& symbol = module_.symbols[i];
    if (!symbol.in_function || symbol.function != function) break;
    if (symbol.name == kStackTop) return Operand::symbol(static_cast<std::uint32_t>(i));
  }
  isa::Symbol symbol;
  symbol.kind = isa::Symbol::Kind::Local;
  symbol.name = kStackTop;
  symbol.in_function = true;
  symbol.function = function;
  module_.symbols.push_back(std::move(symbol));
  return Operand::symbol(static_cast<std::uint32_t>(module_.symbols.size() - 1));
}

void Parser::op_alloca(Statement& s) {
  const Type type = want_type(s, kAddresses);
  finish_modifiers(s);
  want_args(s, 2, 3);
  const Operand result = destination(s.args[0], type);
  Operand bytes = source(s.args[1], type);
  std::uint64_t align = kDefaultAlign;
  if (s.args.size() == 3) {
    align = immediate(s.args[2], Type::U32).imm;
    if (align == 0 || (align & (align - 1)) != 0 || align > kAllocaBytes)
      fail(s.args[2].at, fmt::format("alignment {} is not a power of two up to {}", align, kAllocaBytes));
  }
  Sequence seq(*this, s);
  const auto value = [](std::uint64_t bits) { return Operand::immediate(bits & 0xffff'ffffU); };
  if (type == Type::U64) {  // limited to an amount that still exceeds the stack
    const Operand most = seq.emit(Opcode::Min, Type::U64, seq.wide_word(), {bytes, value(kNowhere)});
    bytes = seq.op(Opcode::Cvt, Type::U32, most);
    function_->code.back().type2 = Type::U64;
  } else {
    bytes = seq.op(Opcode::Min, Type::U32, bytes, value(kNowhere));
  }
  const Operand at = stack_top();
  const Operand top = seq.op(Opcode::Ld, Type::U32, at);
  function_->code.back().space = Space::Local;
  const Operand begin =
      seq.op(Opcode::And, Type::B32, seq.op(Opcode::Add, Type::U32, top, value(align - 1)), value(0 - align));
  const Operand end = seq.op(Opcode::Add, Type::U32, begin, bytes);
  const Operand fits = seq.compare(Compare::LE, Type::U32, end, at);  // `at` as a value: the stack's end
  seq.emit(Opcode::St, Type::U32, {}, {at, seq.select(end, top, fits)});
  function_->code.back().space = Space::Local;
  const Operand found = seq.select(begin, value(kNowhere), fits);
  seq.emit(Opcode::Cvt, type, result, {found});
  function_->code.back().type2 = Type::U32;
}

void Parser::op_stacksave(Statement& s) {
  const Type type = want_type(s, kAddresses);
  finish_modifiers(s);
  want_args(s, 1, 1);
  const Operand result = destination(s.args[0], type);
  Sequence seq(*this, s);
  const Operand top = seq.op(Opcode::Ld, Type::U32, stack_top());
  function_->code.back().space = Space::Local;
  seq.emit(Opcode::Cvt, type, result, {top});
  function_->code.back().type2 = Type::U32;
}

void Parser::op_stackrestore(Statement& s) {
  const Type type = want_type(s, kAddresses);
  finish_modifiers(s);
  want_args(s, 1, 1);
  const Operand saved = source(s.args[0], type);
  Sequence seq(*this, s);
  const Operand top = seq.op(Opcode::Cvt, Type::U32, saved);
  function_->code.back().type2 = type;
  seq.emit(Opcode::St, Type::U32, {}, {stack_top(), top});
  function_->code.back().space = Space::Local;
}

}  // namespace gpumux::ptx
