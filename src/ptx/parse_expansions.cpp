// Opcodes that are parsed to short sequences of other instructions.
#include <algorithm>

#include "ptx/parser.hpp"
#include "ptx/sequence.hpp"

namespace gpumux::ptx {
void Parser::op_fns(Statement& s) {
  // "Find the n-th set bit": a binary search by popc. On hardware it is a library sequence, too.
  want_type(s, {Type::B32});
  finish_modifiers(s);
  want_args(s, 4, 4);
  const Operand result = destination(s.args[0], Type::B32);
  const Operand mask = source(s.args[1], Type::B32);
  const Operand base = source(s.args[2], Type::B32);
  const Operand offset = source(s.args[3], Type::S32);
  Sequence seq(*this, s);
  // Downward searches become upward searches of the reversed mask. Offset 0 tests only the bit at the base.
  const Operand down = seq.compare(Compare::LT, Type::S32, offset, constant(0));
  const Operand here = seq.compare(Compare::EQ, Type::S32, offset, constant(0));
  const Operand mirrored = seq.op(Opcode::Brev, Type::B32, mask);
  const Operand from_top = seq.op(Opcode::Sub, Type::S32, constant(31), base);
  const Operand start = seq.select(from_top, base, down);
  const Operand negative = seq.op(Opcode::Sub, Type::S32, constant(0), offset);
  const Operand distance = seq.select(constant(1), seq.select(negative, offset, down), here);
  const Operand oriented = seq.select(mirrored, mask, down);
  const Operand shifted = seq.op(Opcode::Shr, Type::U32, oriented, start);
  const Operand one = seq.op(Opcode::And, Type::B32, shifted, constant(1));
  const Operand candidates = seq.op(Opcode::Shl, Type::B32, seq.select(one, shifted, here), start);
  const Operand total = seq.op(Opcode::Popc, Type::B32, candidates);
  const Operand found = seq.compare(Compare::LE, Type::U32, distance, total);
  Operand rest = candidates;
  Operand wanted = distance;
  Operand position = constant(0);
  for (const std::uint32_t half : {16U, 8U, 4U, 2U, 1U}) {
    const Operand low = seq.op(Opcode::And, Type::B32, rest, constant((1U << half) - 1));
    const Operand count = seq.op(Opcode::Popc, Type::B32, low);
    const Operand above = seq.compare(Compare::GT, Type::U32, wanted, count);
    wanted = seq.select(seq.op(Opcode::Sub, Type::U32, wanted, count), wanted, above);
    position = seq.select(seq.op(Opcode::Add, Type::U32, position, constant(half)), position, above);
    rest = seq.select(seq.op(Opcode::Shr, Type::U32, rest, constant(half)), rest, above);
  }
  const Operand from_end = seq.op(Opcode::Sub, Type::U32, constant(31), position);
  const Operand upright = seq.select(from_end, position, down);
  seq.emit(Opcode::Selp, Type::B32, result, {upright, constant(0xffff'ffffU), found});
}

void Parser::op_bmsk(Statement& s) {
  const bool wrap = s.modifiers.take("wrap");
  if (!wrap && !s.modifiers.take("clamp")) fail(s.opcode, "bmsk needs .clamp or .wrap");
  want_type(s, {Type::B32});
  finish_modifiers(s);
  want_args(s, 3, 3);
  const Operand result = destination(s.args[0], Type::B32);
  Operand first = source(s.args[1], Type::B32);
  Operand width = source(s.args[2], Type::B32);
  Sequence seq(*this, s);
  if (wrap) {
    first = seq.op(Opcode::And, Type::B32, first, constant(31));
    width = seq.op(Opcode::And, Type::B32, width, constant(31));
  }
  // shl gives 0 for shifts from 32 on, so full widths and positions beyond the end are correct.
  const Operand end = seq.op(Opcode::Shl, Type::B32, constant(1), width);
  const Operand ones = seq.op(Opcode::Sub, Type::U32, end, constant(1));
  seq.emit(Opcode::Shl, Type::B32, result, {ones, first});
}

void Parser::op_szext(Statement& s) {
  const bool wrap = s.modifiers.take("wrap");
  if (!wrap && !s.modifiers.take("clamp")) fail(s.opcode, "szext needs .clamp or .wrap");
  const Type type = want_type(s, {Type::U32, Type::S32});
  finish_modifiers(s);
  want_args(s, 3, 3);
  const Operand result = destination(s.args[0], type);
  const Operand number = source(s.args[1], type);
  const Operand width = source(s.args[2], Type::U32);
  Sequence seq(*this, s);
  const Operand bits = wrap ? seq.op(Opcode::And, Type::B32, width, constant(31))
                            : seq.op(Opcode::Min, Type::U32, width, constant(32));
  seq.emit(Opcode::Bfe, type, result, {number, constant(0), bits});
}

void Parser::op_elect(Statement& s) {
  // The leader is the lowest lane of the mask. Hardware may select another one.
  if (!s.modifiers.take("sync")) fail(s.opcode, "expected elect.sync");
  finish_modifiers(s);
  want_args(s, 2, 2);
  Arg first = s.args[0];
  if (first.pair.empty()) fail(first.at, "elect.sync writes a pair: register|predicate");
  const Operand elected = destination(first.pair[0], Type::Pred);
  first.pair.clear();
  const Operand result = destination(first, Type::B32);
  const Operand mask = source(s.args[1], Type::B32);
  Sequence seq(*this, s);
  const Operand leader = seq.op(Opcode::Clz, Type::B32, seq.op(Opcode::Brev, Type::B32, mask));
  const Operand lane = seq.op(Opcode::Mov, Type::U32, Operand::special(isa::Special::LaneId));
  if (result) seq.emit(Opcode::Mov, Type::B32, result, {leader});
  if (elected) seq.compare_into(elected, Compare::EQ, Type::U32, lane, leader);
}

void Parser::op_packed_integers(Statement& s) {
  // Two 16-bit operations in one register (sm_90 and later): unpacked, computed separately, and packed.
  const bool is_signed = s.modifiers.take("s16x2");
  if (!is_signed) s.modifiers.take("u16x2");
  const Type type = is_signed ? Type::S16 : Type::U16;
  const std::string_view name = s.opcode.text;
  if (name != "add" && name != "min" && name != "max") {
    fail(s.opcode, fmt::format("'{}': packed integers go with add, min and max", opcode_text(s)));
  }
  const bool relu = is_signed && name != "add" && s.modifiers.take("relu");
  finish_modifiers(s);
  want_args(s, 3, 3);
  const Operand result = destination(s.args[0], Type::B32);
  const Operand sources[2] = {source(s.args[1], Type::B32), source(s.args[2], Type::B32)};
  Sequence seq(*this, s);
  Operand part[2][2];  // operand, half
  for (int i = 0; i < 2; ++i) {
    part[i][0] = Operand::reg32(new_register(Type::B16));
    part[i][1] = Operand::reg32(new_register(Type::B16));
    seq.emit(Opcode::Unpack, Type::B32, part[i][0], {sources[i]});
    function_->code.back().dst[1] = part[i][1];
    function_->code.back().vector = 2;
  }
  const Opcode op = name == "add" ? Opcode::Add : name == "min" ? Opcode::Min : Opcode::Max;
  for (int half = 0; half < 2; ++half) {
    seq.emit(op, type, part[0][half], {part[0][half], part[1][half]});
    if (relu) seq.emit(Opcode::Max, type, part[0][half], {part[0][half], constant(0)});
  }
  seq.emit(Opcode::Pack, Type::B32, result, {part[0][0], part[0][1]});
  function_->code.back().vector = 2;
}

void Parser::op_packed_singles(Statement& s) {
  // Two f32 operations in a 64-bit register (sm_100): unpacked, computed separately, and packed.
  s.modifiers.take("f32x2");
  const std::string_view name = s.opcode.text;
  const bool fused = name == "fma";
  if (!fused && name != "add" && name != "sub" && name != "mul")
    fail(s.opcode, fmt::format("'{}': pairs of f32 go with add, sub, mul and fma", opcode_text(s)));
  const isa::Rounding rounding = take_rounding(s);
  if (fused && rounding == isa::Rounding::None)
    fail(s.opcode, fmt::format("'{}' needs a rounding such as .rn", opcode_text(s)));
  const bool flushes = s.modifiers.take("ftz");
  finish_modifiers(s);
  const std::size_t sources = fused ? 3 : 2;
  want_args(s, sources + 1, sources + 1);
  const Operand result = destination(s.args[0], Type::B64);
  Sequence seq(*this, s);
  Operand part[3][2];  // operand, half
  for (std::size_t i = 0; i < sources; ++i) {
    const Operand whole = source(s.args[i + 1], Type::B64);
    for (Operand& half : part[i]) half = Operand::reg32(new_register(Type::F32));
    seq.emit(Opcode::Unpack, Type::B64, part[i][0], {whole});
    function_->code.back().dst[1] = part[i][1];
    function_->code.back().vector = 2;
  }
  const Opcode op = fused           ? Opcode::Fma
                    : name == "add" ? Opcode::Add
                    : name == "sub" ? Opcode::Sub
                                    : Opcode::Mul;
  for (int half = 0; half < 2; ++half) {
    const Operand sum = Operand::reg32(new_register(Type::F32));
    seq.emit(op, Type::F32, sum, {part[0][half], part[1][half], part[2][half]});
    function_->code.back().rounding = rounding;
    function_->code.back().ftz = flushes;
    part[0][half] = sum;
  }
  seq.emit(Opcode::Pack, Type::B64, result, {part[0][0], part[0][1]});
  function_->code.back().vector = 2;
}

}  // namespace gpumux::ptx
