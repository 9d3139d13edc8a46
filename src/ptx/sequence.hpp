// Opcodes as short sequences of others, for the parse_*.cpp files that need them.
#pragma once

#include <algorithm>
#include <initializer_list>

#include "ptx/parser.hpp"

namespace gpumux::ptx {

/// Emits instructions under the guard and at the place of one statement.
class Parser::Sequence {
 public:
  Sequence(Parser& parser, const Statement& s) : parser_(parser), statement_(s) {}

  Operand emit(Opcode op, Type type, Operand dst, std::initializer_list<Operand> sources) {
    Instruction inst;
    inst.op = op;
    inst.type = type;
    inst.guard = statement_.inst.guard;
    inst.line = statement_.inst.line;
    inst.column = statement_.inst.column;
    inst.dst[0] = dst;
    std::copy(sources.begin(), sources.end(), inst.src.begin());
    parser_.emit(inst);
    return dst;
  }
  Operand op(Opcode opcode, Type type, Operand a, Operand b = {}) {
    return emit(opcode, type, word(), {a, b});
  }
  Operand op3(Opcode opcode, Type type, Operand a, Operand b, Operand c) {
    return emit(opcode, type, word(), {a, b, c});
  }
  Operand op4(Opcode opcode, Type type, Operand a, Operand b, Operand c, Operand d) {
    return emit(opcode, type, word(), {a, b, c, d});
  }
  Operand select(Operand a, Operand b, Operand p) { return emit(Opcode::Selp, Type::B32, word(), {a, b, p}); }
  void compare_into(Operand p, isa::Compare how, Type type, Operand a, Operand b) {
    emit(Opcode::Setp, type, p, {a, b});
    parser_.function_->code.back().compare = how;
  }
  Operand compare(isa::Compare how, Type type, Operand a, Operand b) {
    const Operand p = Operand::pred(parser_.new_register(Type::Pred));
    compare_into(p, how, type, a, b);
    return p;
  }

 private:
  Operand word() { return Operand::reg32(parser_.new_register(Type::B32)); }

  Parser& parser_;
  const Statement& statement_;
};

}  // namespace gpumux::ptx
