// Helper for parse*.cpp: emits several instructions for one PTX instruction.
#pragma once

#include <algorithm>
#include <initializer_list>

#include "ptx/parser.hpp"

namespace gpumux::ptx {

using isa::Compare;

[[nodiscard]] inline Operand constant(std::uint64_t bits) { return Operand::immediate(bits); }

/// Emits instructions with the guard and location of a statement.
class Parser::Sequence {
 public:
  Sequence(Parser& parser, const Statement& s) : parser_(parser), statement_(s) {}

  /// Adds an instruction without operands. The caller must complete it before the next call.
  Instruction& add(Opcode op, Type type) {
    Instruction inst;
    inst.op = op;
    inst.type = type;
    inst.guard = statement_.inst.guard;
    inst.line = statement_.inst.line;
    inst.column = statement_.inst.column;
    parser_.emit(inst);
    return parser_.function_->code.back();
  }
  Operand emit(Opcode op, Type type, Operand dst, std::initializer_list<Operand> sources) {
    Instruction& inst = add(op, type);
    inst.dst[0] = dst;
    std::copy(sources.begin(), sources.end(), inst.src.begin());
    return dst;
  }
  Operand word() { return Operand::reg32(parser_.new_register(Type::B32)); }
  Operand wide_word() { return Operand::reg64(parser_.new_register(Type::B64)); }
  Operand op(Opcode opcode, Type type, Operand a, Operand b = {}, Operand c = {}) {
    return emit(opcode, type, word(), {a, b, c});
  }
  Operand op3(Opcode opcode, Type type, Operand a, Operand b, Operand c) {
    return emit(opcode, type, word(), {a, b, c});
  }
  Operand op4(Opcode opcode, Type type, Operand a, Operand b, Operand c, Operand d) {
    return emit(opcode, type, word(), {a, b, c, d});
  }
  Operand select(Operand a, Operand b, Operand p) { return emit(Opcode::Selp, Type::B32, word(), {a, b, p}); }
  void compare_into(Operand p, Compare how, Type type, Operand a, Operand b) {
    emit(Opcode::Setp, type, p, {a, b});
    parser_.function_->code.back().compare = how;
  }
  Operand compare(Compare how, Type type, Operand a, Operand b) {
    const Operand p = Operand::pred(parser_.new_register(Type::Pred));
    compare_into(p, how, type, a, b);
    return p;
  }

 private:
  Parser& parser_;
  const Statement& statement_;
};

}  // namespace gpumux::ptx
