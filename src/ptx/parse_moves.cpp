// Moves, conversions, comparisons and selections.
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "ptx/parser.hpp"

namespace gpumux::ptx {

using isa::Rounding;

namespace {

Type bits_of(unsigned width) {
  return width == 64 ? Type::B64 : width == 32 ? Type::B32 : width == 16 ? Type::B16 : Type::B8;
}

Type signed_of(unsigned width) { return width == 64 ? Type::S64 : width == 32 ? Type::S32 : Type::S16; }

isa::BoolOp take_bool(Modifiers& modifiers) {
  static constexpr std::pair<std::string_view, isa::BoolOp> kTable[] = {
      {"and", isa::BoolOp::And}, {"or", isa::BoolOp::Or}, {"xor", isa::BoolOp::Xor}};
  return modifiers.take_from(kTable, isa::BoolOp::None);
}

}  // namespace

void Parser::mov_vector(Statement& s) {
  Instruction& inst = s.inst;
  const bool unpack = s.args[0].kind == Arg::Kind::Vector;
  const Arg& vector = unpack ? s.args[0] : s.args[1];
  const Arg& scalar = unpack ? s.args[1] : s.args[0];
  if (scalar.kind == Arg::Kind::Vector)
    fail(scalar.at, "mov packs or unpacks; one side is a single register");
  const std::size_t parts = vector.elements.size();
  const unsigned width = isa::width_bits(inst.type);
  if ((parts != 2 && parts != 4) || inst.type == Type::Pred || width / parts < 8) {
    fail(vector.at,
         fmt::format("a vector of {} elements does not make one .{}", parts, isa::name(inst.type)));
  }
  const Type part = bits_of(width / static_cast<unsigned>(parts));
  // 8-bit parts are in wider registers.
  const bool wider = part == Type::B8;
  inst.vector = static_cast<std::uint8_t>(parts);  // explicit, since null parts do not tell their number
  if (unpack) {
    inst.op = Opcode::Unpack;
    inst.src[0] = source(scalar, inst.type);
    for (std::size_t i = 0; i < parts; ++i) inst.dst[i] = destination(vector.elements[i], part, wider);
  } else {
    inst.op = Opcode::Pack;
    inst.dst[0] = destination(scalar, inst.type);
    for (std::size_t i = 0; i < parts; ++i) inst.src[i] = source(vector.elements[i], part, wider);
  }
  emit(inst);
}

/// Moves element by element. All elements are read before any is written.
void Parser::mov_elements(Statement& s, std::size_t count) {
  Instruction& inst = s.inst;
  const auto elements = [&](const Arg& arg) {
    // Special registers such as %tid are vectors, too.
    if (arg.kind == Arg::Kind::Name && arg.at.text[0] == '%' && find(arg.at.text) == nullptr && count == 4)
      return components(arg, count);
    if (arg.kind == Arg::Kind::Number) {  // the first element; all others are 0
      std::vector<Arg> numbers(count, arg);
      for (std::size_t i = 1; i < count; ++i) numbers[i].at.bits = 0;
      return numbers;
    }
    if (arg.kind != Arg::Kind::Vector || arg.elements.size() != count)
      fail(arg.at, fmt::format("'{}' moves a vector of {} elements", opcode_text(s), count));
    return arg.elements;
  };
  const std::vector<Arg> targets = elements(s.args[0]);
  const std::vector<Arg> sources = elements(s.args[1]);
  std::vector<Instruction> moves(count, inst);
  bool overlaps = false;
  for (std::size_t i = 0; i < count; ++i) {
    moves[i].dst[0] = destination(targets[i], inst.type);
    moves[i].src[0] = source(sources[i], inst.type);
  }
  for (std::size_t i = 0; i < count; ++i)
    for (std::size_t k = i + 1; k < count; ++k)
      overlaps = overlaps || (moves[i].dst[0] && moves[i].dst[0] == moves[k].src[0]);
  if (overlaps) {
    for (Instruction& move : moves) {
      Instruction copy = move;
      copy.dst[0] = isa::width_bits(inst.type) == 64 ? Operand::reg64(new_register(Type::B64))
                                                     : Operand::reg32(new_register(Type::B32));
      emit(copy);
      move.src[0] = copy.dst[0];
    }
  }
  for (const Instruction& move : moves)
    if (move.dst[0]) emit(move);
}

void Parser::op_mov(Statement& s) {
  static constexpr std::pair<std::string_view, std::size_t> kVectors[] = {{"v2", 2}, {"v4", 4}};
  Instruction& inst = s.inst;
  inst.op = Opcode::Mov;
  const bool halves = s.modifiers.take("b128");  // of two 64-bit registers
  const std::size_t count = halves ? 2 : s.modifiers.take_from(kVectors, std::size_t{1});
  inst.type = halves ? Type::B64 : want_type(s, TypeSet{Type::Pred} | kBits | kIntegers | kFloats);
  finish_modifiers(s);
  want_args(s, 2, 2);
  if (count > 1) return mov_elements(s, count);
  if (s.args[0].kind == Arg::Kind::Vector || s.args[1].kind == Arg::Kind::Vector) return mov_vector(s);
  inst.dst[0] = destination(s.args[0], inst.type);
  inst.src[0] = mov_source(s.args[1], inst.type);
  emit(inst);
}

void Parser::op_cvt(Statement& s) {
  for (const Modifiers::Item& item : s.modifiers.items()) {
    if (item.token.text == "tf32" || item.token.text == "e4m3x2" || item.token.text == "e5m2x2")
      return op_cvt_narrow(s);
  }
  if (s.modifiers.take("pack")) return op_cvt_pack_integers(s);
  if (s.args.size() == 3) return op_cvt_pack(s);
  static constexpr std::pair<std::string_view, Rounding> kRoundings[] = {
      {"rn", Rounding::RN},   {"rz", Rounding::RZ},   {"rm", Rounding::RM},
      {"rp", Rounding::RP},   {"rni", Rounding::RNI}, {"rzi", Rounding::RZI},
      {"rmi", Rounding::RMI}, {"rpi", Rounding::RPI}, {"rna", Rounding::RNA}};
  constexpr TypeSet kScalars = kInt8 | kIntegers | kSingles | kDoubles | TypeSet{Type::F16, Type::BF16};
  Instruction& inst = s.inst;
  inst.op = Opcode::Cvt;
  inst.rounding = s.modifiers.take_from(kRoundings, Rounding::None);
  inst.type = want_type(s, kScalars);
  inst.type2 = want_type(s, kScalars);
  inst.ftz = s.modifiers.take("ftz");
  inst.sat = s.modifiers.take("sat");
  const Clamps clamps = take_clamps(s);
  finish_modifiers(s);
  const bool to_float = isa::is_float(inst.type);
  const bool from_float = isa::is_float(inst.type2);
  const bool integral = inst.rounding >= Rounding::RNI && inst.rounding <= Rounding::RPI;
  const bool narrows = isa::width_bits(inst.type) < isa::width_bits(inst.type2) ||
                       (isa::width_bits(inst.type) == isa::width_bits(inst.type2) && inst.type != inst.type2);
  if (inst.rounding == Rounding::RNA) {
    fail(s.opcode, fmt::format("'{}': .rna is not supported", opcode_text(s)));
  }
  if (from_float && !to_float && !integral) {
    fail(s.opcode, fmt::format("'{}' needs .rni, .rzi, .rmi or .rpi", opcode_text(s)));
  }
  if (!from_float && to_float && (integral || inst.rounding == Rounding::None)) {
    fail(s.opcode, fmt::format("'{}' needs .rn, .rz, .rm or .rp", opcode_text(s)));
  }
  if (from_float && to_float && narrows && (integral || inst.rounding == Rounding::None)) {
    fail(s.opcode, fmt::format("'{}' needs .rn, .rz, .rm or .rp", opcode_text(s)));
  }
  if (!from_float && !to_float && inst.rounding != Rounding::None) {
    fail(s.opcode, fmt::format("'{}' takes no rounding", opcode_text(s)));
  }
  if (inst.ftz && inst.type != Type::F32 && inst.type2 != Type::F32) {
    fail(s.opcode, fmt::format("'{}': .ftz goes with .f32", opcode_text(s)));
  }
  want_args(s, 2, 2);
  inst.src[0] = s.args[1].kind == Arg::Kind::Name && find(s.args[1].at.text) == nullptr
                    ? mov_source(s.args[1], inst.type2)
                    : source(s.args[1], inst.type2, true);
  inst.dst[0] = destination(s.args[0], inst.type, true);
  // nvcc reads the low half of a 64-bit register by cvt.s64.s32. In final code, instructions read whole
  // registers.
  const auto low_half = [&] {
    if (inst.src[0].kind != Operand::Kind::Reg64 || isa::width_bits(inst.type2) == 64) return;
    Instruction half;
    half.op = Opcode::Cvt;
    half.type = Type::U32;
    half.type2 = Type::U64;
    half.dst[0] = Operand::reg32(new_register(Type::B32));
    half.src[0] = inst.src[0];
    half.line = inst.line;
    half.column = inst.column;
    inst.src[0] = half.dst[0];
    emit(half);
  };
  low_half();
  // A signed result narrower than its register is extended to the register's width.
  const Variable* variable = s.args[0].kind == Arg::Kind::Name ? find(s.args[0].at.text) : nullptr;
  const unsigned width = variable != nullptr ? isa::width_bits(variable->type) : isa::width_bits(inst.type);
  if (isa::is_signed(inst.type) && width > isa::width_bits(inst.type)) {
    if (from_float || inst.sat || isa::width_bits(inst.type2) < isa::width_bits(inst.type)) {
      const Operand result = inst.dst[0];
      const Type narrow = inst.type;
      inst.dst[0] = Operand::reg32(new_register(Type::B32));
      emit(inst);
      Instruction extend;
      extend.op = Opcode::Cvt;
      extend.guard = inst.guard;
      extend.type = signed_of(width);
      extend.type2 = narrow;
      extend.dst[0] = result;
      extend.src[0] = inst.dst[0];
      extend.line = inst.line;
      extend.column = inst.column;
      return emit(extend);
    }
    // The low bits of the source are the narrow value, so one conversion is sufficient.
    inst.type2 = inst.type;
    inst.type = signed_of(width);
    low_half();
  }
  emit(inst);
  clamp(s, clamps);
}

void Parser::op_cvt_pack(Statement& s) {
  Instruction& inst = s.inst;
  inst.op = Opcode::CvtPack2;
  static constexpr std::pair<std::string_view, Rounding> kRoundings[] = {{"rn", Rounding::RN},
                                                                         {"rz", Rounding::RZ}};
  inst.rounding = s.modifiers.take_from(kRoundings, Rounding::None);
  inst.type = want_type(s, {Type::F16x2, Type::BF16x2});
  inst.type2 = want_type(s, {Type::F32});
  const Clamps clamps = take_clamps(s);
  finish_modifiers(s);
  if (inst.rounding == Rounding::None) fail(s.opcode, fmt::format("'{}' needs .rn or .rz", opcode_text(s)));
  inst.dst[0] = destination(s.args[0], inst.type);
  inst.src[0] = source(s.args[1], Type::F32);
  inst.src[1] = source(s.args[2], Type::F32);
  emit(inst);
  clamp(s, clamps);
}

void Parser::op_cvta(Statement& s) {
  Instruction& inst = s.inst;
  inst.op = s.modifiers.take("to") ? Opcode::CvtaTo : Opcode::Cvta;
  inst.space = take_space(s);
  if (inst.space == Space::Generic) {
    fail(s.opcode, fmt::format("'{}' needs a state space such as .global", opcode_text(s)));
  }
  inst.type = want_type(s, {Type::U64});
  finish_modifiers(s);
  want_args(s, 2, 2);
  inst.dst[0] = destination(s.args[0], inst.type);
  inst.src[0] = mov_source(s.args[1], inst.type);
  emit(inst);
}

void Parser::op_isspacep(Statement& s) {
  Instruction& inst = s.inst;
  inst.op = Opcode::Isspacep;
  inst.space = take_space(s);
  if (inst.space == Space::Generic) fail(s.opcode, "isspacep needs a state space such as .global");
  finish_modifiers(s);
  want_args(s, 2, 2);
  inst.type = Type::U64;
  inst.dst[0] = destination(s.args[0], Type::Pred);
  inst.src[0] = source(s.args[1], Type::U64);
  emit(inst);
}

void Parser::op_set(Statement& s) {
  Instruction& inst = s.inst;
  inst.op = Opcode::Set;
  inst.type = want_type(s, TypeSet{Type::U32, Type::S32, Type::U16, Type::S16} | kHalves | kSingles);
  inst.type2 = want_type(s, kBits | kIntegers | kFloats);
  inst.compare = take_compare(s, inst.type2);
  inst.bool_op = take_bool(s.modifiers);
  if (isa::is_float(inst.type2) && inst.type2 != Type::F64) inst.ftz = s.modifiers.take("ftz");
  finish_modifiers(s);
  const std::size_t operands = inst.bool_op == isa::BoolOp::None ? 3 : 4;
  want_args(s, operands, operands);
  // set.eq.u32.f16x2 gives two 16-bit results in one word: the result has the width of the operands.
  inst.dst[0] = destination(s.args[0], inst.type);
  inst.src[0] = source(s.args[1], inst.type2);
  inst.src[1] = source(s.args[2], inst.type2);
  if (operands == 4) inst.src[2] = predicate(s.args[3]);
  emit(inst);
}

void Parser::op_setp(Statement& s) {
  Instruction& inst = s.inst;
  inst.op = Opcode::Setp;
  inst.type = want_type(s, kBits | kIntegers | kFloats);
  inst.compare = take_compare(s, inst.type);
  inst.bool_op = take_bool(s.modifiers);
  if (isa::is_float(inst.type) && inst.type != Type::F64) inst.ftz = s.modifiers.take("ftz");
  finish_modifiers(s);
  const std::size_t operands = inst.bool_op == isa::BoolOp::None ? 3 : 4;
  want_args(s, operands, operands);
  Arg first = s.args[0];
  const std::vector<Arg> second = std::move(first.pair);
  first.pair.clear();
  inst.dst[0] = destination(first, Type::Pred);
  if (!second.empty()) inst.dst[1] = destination(second[0], Type::Pred);
  inst.src[0] = source(s.args[1], inst.type);
  inst.src[1] = source(s.args[2], inst.type);
  if (operands == 4) inst.src[2] = predicate(s.args[3]);
  emit(inst);
}

void Parser::op_slct(Statement& s) {
  Instruction& inst = s.inst;
  inst.op = Opcode::Slct;
  inst.ftz = s.modifiers.take("ftz");
  inst.type = want_type(s, kBits | kIntegers | kSingles | kDoubles);
  inst.type2 = want_type(s, {Type::S32, Type::F32});
  finish_modifiers(s);
  if (inst.ftz && inst.type2 != Type::F32) fail(s.opcode, "slct.ftz goes with .f32");
  want_args(s, 4, 4);
  inst.dst[0] = destination(s.args[0], inst.type);
  inst.src[0] = source(s.args[1], inst.type);
  inst.src[1] = source(s.args[2], inst.type);
  inst.src[2] = source(s.args[3], inst.type2);
  emit(inst);
}

}  // namespace gpumux::ptx
