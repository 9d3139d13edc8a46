// Arithmetic and bit operations.
#include "ptx/parser.hpp"
#include "ptx/sequence.hpp"

namespace gpumux::ptx {
namespace {

enum Allowed : unsigned {
  kRound = 1,  // .rn .rz .rm .rp
  kFtz = 2,
  kSat = 4,
  kApprox = 8,
  kFull = 16,
  kNan = 32,
  kExact = 64  // a rounding, .approx or .full must be given
};

/// A rule for an opcode. Operands have one letter each, the result first: t the instruction's type, u .u32, p
/// a predicate.
struct Rule {
  std::string_view name;
  Opcode op;
  TypeSet types;
  std::string_view operands;
  unsigned allowed;
};

constexpr TypeSet kPredAndBits = TypeSet{Type::Pred} | kBits;
constexpr TypeSet kWords{Type::B32, Type::B64};
constexpr TypeSet kHalfAndSingle = kHalves | kSingles;

const Rule kRules[] = {
    {"abs", Opcode::Abs, kSigned, "tt", 0},
    {"abs", Opcode::Abs, kFloats, "tt", kFtz},
    {"neg", Opcode::Neg, kSigned, "tt", 0},
    {"neg", Opcode::Neg, kFloats, "tt", kFtz},
    {"min", Opcode::Min, kIntegers, "ttt", 0},
    {"min", Opcode::Min, kHalfAndSingle, "ttt", kFtz | kNan},
    {"min", Opcode::Min, kDoubles, "ttt", 0},
    {"max", Opcode::Max, kIntegers, "ttt", 0},
    {"max", Opcode::Max, kHalfAndSingle, "ttt", kFtz | kNan},
    {"max", Opcode::Max, kDoubles, "ttt", 0},
    {"fma", Opcode::Fma, kHalfAndSingle, "tttt", kRound | kFtz | kSat | kExact},
    {"fma", Opcode::Fma, kDoubles, "tttt", kRound | kExact},
    {"div", Opcode::Div, kIntegers, "ttt", 0},
    {"div", Opcode::Div, kSingles, "ttt", kRound | kApprox | kFull | kFtz | kExact},
    {"div", Opcode::Div, kDoubles, "ttt", kRound | kExact},
    {"rem", Opcode::Rem, kIntegers, "ttt", 0},
    {"rcp", Opcode::Rcp, kSingles | kDoubles, "tt", kRound | kApprox | kFtz | kExact},
    {"sqrt", Opcode::Sqrt, kSingles | kDoubles, "tt", kRound | kApprox | kFtz | kExact},
    {"rsqrt", Opcode::Rsqrt, kSingles | kDoubles, "tt", kApprox | kFtz | kExact},
    {"sin", Opcode::Sin, kSingles, "tt", kApprox | kFtz | kExact},
    {"cos", Opcode::Cos, kSingles, "tt", kApprox | kFtz | kExact},
    {"lg2", Opcode::Lg2, kSingles, "tt", kApprox | kFtz | kExact},
    {"ex2", Opcode::Ex2, kHalfAndSingle, "tt", kApprox | kFtz | kExact},
    {"tanh", Opcode::Tanh, kHalfAndSingle, "tt", kApprox | kExact},
    {"copysign", Opcode::Copysign, kSingles | kDoubles, "ttt", 0},
    {"sad", Opcode::Sad, kIntegers, "tttt", 0},
    {"and", Opcode::And, kPredAndBits, "ttt", 0},
    {"or", Opcode::Or, kPredAndBits, "ttt", 0},
    {"xor", Opcode::Xor, kPredAndBits, "ttt", 0},
    {"not", Opcode::Not, kPredAndBits, "tt", 0},
    {"cnot", Opcode::Cnot, kBits, "tt", 0},
    {"shl", Opcode::Shl, kBits, "ttu", 0},
    {"shr", Opcode::Shr, kBits | kIntegers, "ttu", 0},
    {"popc", Opcode::Popc, kWords, "ut", 0},
    {"clz", Opcode::Clz, kWords, "ut", 0},
    {"brev", Opcode::Brev, kWords, "tt", 0},
    {"bfe", Opcode::Bfe, {Type::U32, Type::U64, Type::S32, Type::S64}, "ttuu", 0},
    {"bfi", Opcode::Bfi, kWords, "tttuu", 0},
    {"selp", Opcode::Selp, kBits | kIntegers | kSingles | kDoubles, "tttp", 0},
    {"activemask", Opcode::Activemask, {Type::B32}, "t", 0},
};

}  // namespace

Operand Parser::carry_register() {
  // The condition code's carry flag is one virtual predicate per function.
  if (!carry_) carry_ = Operand::pred(new_register(Type::Pred));
  return carry_;
}

void Parser::op_table(Statement& s) {
  // The type selects one of the opcode's rules. If none matches, the first rule produces the error.
  Modifiers probe = s.modifiers;
  const Type type = probe.take_type();
  const Rule* rule = nullptr;
  TypeSet all{};
  for (const Rule& candidate : kRules) {
    if (candidate.name != s.opcode.text) continue;
    all = all | candidate.types;
    if (rule == nullptr && candidate.types.has(type)) rule = &candidate;
  }
  Instruction& inst = s.inst;
  inst.type = want_type(s, all);
  GPUMUX_CHECK(rule != nullptr);
  inst.op = rule->op;
  if ((rule->allowed & kRound) != 0) inst.rounding = take_rounding(s);
  if ((rule->allowed & kApprox) != 0) inst.approx = s.modifiers.take("approx");
  if ((rule->allowed & kFull) != 0) inst.full = s.modifiers.take("full");
  if ((rule->allowed & kFtz) != 0) inst.ftz = s.modifiers.take("ftz");
  if ((rule->allowed & kSat) != 0) inst.sat = s.modifiers.take("sat");
  if ((rule->allowed & kNan) != 0) inst.nan = s.modifiers.take("NaN");
  constexpr TypeSet kClampable = kHalves | TypeSet{Type::S32};
  const bool can_clamp = inst.op == Opcode::Min || inst.op == Opcode::Max || inst.op == Opcode::Fma;
  const bool relu = can_clamp && kClampable.has(inst.type) && s.modifiers.take("relu");
  const bool of_signs = (rule->allowed & kNan) != 0 && s.modifiers.take("xorsign");
  if (of_signs && !s.modifiers.take("abs"))
    fail(s.opcode, fmt::format("'{}' needs .abs with .xorsign", opcode_text(s)));
  finish_modifiers(s);
  const int ways =
      (inst.rounding != isa::Rounding::None ? 1 : 0) + (inst.approx ? 1 : 0) + (inst.full ? 1 : 0);
  if ((rule->allowed & kExact) != 0 && ways != 1) {
    fail(s.opcode, fmt::format("'{}' needs one rounding{}{}", opcode_text(s),
                               (rule->allowed & kApprox) != 0 ? " or .approx" : "",
                               (rule->allowed & kFull) != 0 ? " or .full" : ""));
  }
  want_args(s, rule->operands.size(), rule->operands.size());
  const auto operand_type = [&](char letter) {
    return letter == 'u' ? Type::U32 : letter == 'p' ? Type::Pred : inst.type;
  };
  inst.dst[0] = destination(s.args[0], operand_type(rule->operands[0]));
  for (std::size_t i = 1; i < rule->operands.size(); ++i) {
    inst.src[i - 1] = source(s.args[i], operand_type(rule->operands[i]));
  }
  if (of_signs) return sign_of_product(s);
  emit(inst);
  if (relu) clamp_to_zero(s);
}

void Parser::op_add_sub(Statement& s) {
  Instruction& inst = s.inst;
  const bool chained = s.opcode.text.ends_with('c');
  inst.op = s.opcode.text.starts_with("add") ? Opcode::Add : Opcode::Sub;
  constexpr TypeSet kCarry{Type::U32, Type::S32, Type::U64, Type::S64};
  inst.type = want_type(s, chained ? kCarry : kIntegers | kFloats);
  inst.carry_in = chained;
  if (kCarry.has(inst.type)) inst.carry_out = s.modifiers.take("cc");
  if (isa::is_float(inst.type)) {
    inst.rounding = take_rounding(s);
    if (inst.type != Type::F64) {
      inst.ftz = s.modifiers.take("ftz");
      inst.sat = s.modifiers.take("sat");
    }
  } else if (inst.type == Type::S32 && !chained && !inst.carry_out) {
    inst.sat = s.modifiers.take("sat");
  }
  finish_modifiers(s);
  want_args(s, 3, 3);
  inst.dst[0] = destination(s.args[0], inst.type);
  inst.src[0] = source(s.args[1], inst.type);
  inst.src[1] = source(s.args[2], inst.type);
  if (inst.carry_in) inst.src[2] = carry_register();
  if (inst.carry_out) inst.dst[1] = carry_register();
  emit(inst);
}

void Parser::op_mul_mad(Statement& s) {
  Instruction& inst = s.inst;
  const bool mad = s.opcode.text != "mul";
  inst.carry_in = s.opcode.text == "madc";
  constexpr TypeSet kCarry{Type::U32, Type::S32, Type::U64, Type::S64};
  inst.type = want_type(s, inst.carry_in ? kCarry : kIntegers | kFloats);
  Type result = inst.type;
  if (isa::is_float(inst.type)) {
    inst.op = mad ? Opcode::Fma : Opcode::Mul;
    inst.rounding = take_rounding(s);
    if (mad && inst.rounding == isa::Rounding::None) {
      fail(s.opcode, fmt::format("'{}' needs a rounding such as .rn", opcode_text(s)));
    }
    if (inst.type != Type::F64) {
      inst.ftz = s.modifiers.take("ftz");
      inst.sat = s.modifiers.take("sat");
    }
  } else {
    const bool wide = s.modifiers.take("wide");
    const bool high = !wide && s.modifiers.take("hi");
    if (!wide && !high && !s.modifiers.take("lo")) {
      fail(s.opcode, fmt::format("'{}' needs .lo, .hi or .wide", opcode_text(s)));
    }
    if (wide) {
      static const std::map<Type, Type> kTwice = {
          {Type::U16, Type::U32}, {Type::S16, Type::S32}, {Type::U32, Type::U64}, {Type::S32, Type::S64}};
      const auto found = kTwice.find(inst.type);
      if (found == kTwice.end() || inst.carry_in) {
        fail(s.opcode, fmt::format("'{}': .wide takes 16 and 32 bit types", opcode_text(s)));
      }
      result = found->second;
      inst.op = mad ? Opcode::MadWide : Opcode::MulWide;
    } else {
      inst.op = high ? (mad ? Opcode::MadHi : Opcode::MulHi) : (mad ? Opcode::MadLo : Opcode::MulLo);
      if (mad && kCarry.has(inst.type)) inst.carry_out = s.modifiers.take("cc");
      if (mad && high && inst.type == Type::S32 && !inst.carry_in) inst.sat = s.modifiers.take("sat");
    }
  }
  finish_modifiers(s);
  want_args(s, mad ? 4 : 3, mad ? 4 : 3);
  inst.dst[0] = destination(s.args[0], result);
  inst.src[0] = source(s.args[1], inst.type);
  inst.src[1] = source(s.args[2], inst.type);
  if (mad) inst.src[2] = source(s.args[3], result);
  if (inst.carry_in) inst.src[3] = carry_register();
  if (inst.carry_out) inst.dst[1] = carry_register();
  emit(inst);
}

void Parser::op_mul24(Statement& s) {
  Instruction& inst = s.inst;
  const bool mad = s.opcode.text == "mad24";
  inst.op = mad ? Opcode::Mad24 : Opcode::Mul24;
  inst.type = want_type(s, {Type::U32, Type::S32});
  const bool high = s.modifiers.take("hi");
  if (!high && !s.modifiers.take("lo")) fail(s.opcode, fmt::format("'{}' needs .lo or .hi", opcode_text(s)));
  inst.shift = high ? 1 : 0;
  if (mad && high && inst.type == Type::S32) inst.sat = s.modifiers.take("sat");
  finish_modifiers(s);
  want_args(s, mad ? 4 : 3, mad ? 4 : 3);
  inst.dst[0] = destination(s.args[0], inst.type);
  for (std::size_t i = 1; i < s.args.size(); ++i) inst.src[i - 1] = source(s.args[i], inst.type);
  emit(inst);
}

void Parser::op_dot_product(Statement& s) {
  Instruction& inst = s.inst;
  const bool two = s.opcode.text == "dp2a";
  inst.op = two ? Opcode::Dp2a : Opcode::Dp4a;
  if (two) {
    const bool high = s.modifiers.take("hi");
    if (!high && !s.modifiers.take("lo"))
      fail(s.opcode, fmt::format("'{}' needs .lo or .hi", opcode_text(s)));
    inst.shift = high ? 1 : 0;
  }
  inst.type = want_type(s, {Type::U32, Type::S32});
  inst.type2 = want_type(s, {Type::U32, Type::S32});
  finish_modifiers(s);
  want_args(s, 4, 4);
  inst.dst[0] = destination(s.args[0], Type::B32);
  for (std::size_t i = 1; i < 4; ++i) inst.src[i - 1] = source(s.args[i], Type::B32);
  emit(inst);
}

void Parser::op_testp(Statement& s) {
  using isa::TestpMode;
  static constexpr std::pair<std::string_view, TestpMode> kModes[] = {
      {"finite", TestpMode::Finite}, {"infinite", TestpMode::Infinite},
      {"number", TestpMode::Number}, {"notanumber", TestpMode::NotANumber},
      {"normal", TestpMode::Normal}, {"subnormal", TestpMode::Subnormal}};
  Instruction& inst = s.inst;
  inst.op = Opcode::Testp;
  inst.testp = s.modifiers.take_from(kModes, TestpMode::None);
  if (inst.testp == TestpMode::None) {
    fail(s.opcode, "testp needs .finite, .infinite, .number, .notanumber, .normal or .subnormal");
  }
  inst.type = want_type(s, kSingles | kDoubles);
  finish_modifiers(s);
  want_args(s, 2, 2);
  inst.dst[0] = destination(s.args[0], Type::Pred);
  inst.src[0] = source(s.args[1], inst.type);
  emit(inst);
}

void Parser::op_lop3(Statement& s) {
  Instruction& inst = s.inst;
  inst.op = Opcode::Lop3;
  static constexpr std::pair<std::string_view, Opcode> kBooleans[] = {
      {"and", Opcode::And}, {"or", Opcode::Or}, {"xor", Opcode::Xor}};
  const Opcode with = s.modifiers.take_from(kBooleans, Opcode::Nop);
  const bool tests = with != Opcode::Nop;
  inst.type = want_type(s, {Type::B32});
  finish_modifiers(s);
  want_args(s, tests ? 6 : 5, tests ? 6 : 5);
  Arg result = s.args[0];
  if (tests) {
    if (result.pair.empty()) fail(result.at, "lop3 with .and, .or or .xor writes a pair: register|predicate");
    result.pair.clear();
  }
  inst.dst[0] = destination(result, inst.type);
  if (tests && !inst.dst[0]) inst.dst[0] = Operand::reg32(new_register(Type::B32));
  for (std::size_t i = 1; i < 4; ++i) inst.src[i - 1] = source(s.args[i], inst.type);
  const Arg& table = s.args[4];
  if (table.kind != Arg::Kind::Number || table.at.kind != Token::Kind::Integer || table.minus ||
      table.at.bits > 255) {
    fail(table.at, "the table of lop3 is a number from 0 to 255");
  }
  inst.shift = static_cast<std::uint8_t>(table.at.bits);
  if (!tests) return emit(inst);
  const Operand holds = destination(s.args[0].pair[0], Type::Pred);
  const Operand other = predicate(s.args[5]);
  emit(inst);
  Sequence seq(*this, s);
  const Operand set = seq.compare(isa::Compare::NE, Type::B32, inst.dst[0], Operand::immediate(0));
  if (holds) seq.emit(with, Type::Pred, holds, {set, other});
}

void Parser::op_shf(Statement& s) {
  Instruction& inst = s.inst;
  inst.op = Opcode::Shf;
  const bool right = s.modifiers.take("r");
  if (!right && !s.modifiers.take("l")) fail(s.opcode, "shf needs .l or .r");
  const bool clamp = s.modifiers.take("clamp");
  if (!clamp && !s.modifiers.take("wrap")) fail(s.opcode, "shf needs .clamp or .wrap");
  inst.shift = static_cast<std::uint8_t>((right ? 1 : 0) | (clamp ? 2 : 0));
  inst.type = want_type(s, {Type::B32});
  finish_modifiers(s);
  want_args(s, 4, 4);
  inst.dst[0] = destination(s.args[0], inst.type);
  inst.src[0] = source(s.args[1], inst.type);
  inst.src[1] = source(s.args[2], inst.type);
  inst.src[2] = source(s.args[3], Type::U32);
  emit(inst);
}

void Parser::op_prmt(Statement& s) {
  static constexpr std::pair<std::string_view, int> kModes[] = {{"f4e", 1}, {"b4e", 2}, {"rc8", 3},
                                                                {"ecl", 4}, {"ecr", 5}, {"rc16", 6}};
  Instruction& inst = s.inst;
  inst.op = Opcode::Prmt;
  inst.type = want_type(s, {Type::B32});
  inst.shift = static_cast<std::uint8_t>(s.modifiers.take_from(kModes, 0));
  finish_modifiers(s);
  want_args(s, 4, 4);
  inst.dst[0] = destination(s.args[0], inst.type);
  for (std::size_t i = 1; i < 4; ++i) inst.src[i - 1] = source(s.args[i], inst.type);
  emit(inst);
}

void Parser::op_bfind(Statement& s) {
  Instruction& inst = s.inst;
  inst.op = Opcode::Bfind;
  inst.shift = s.modifiers.take("shiftamt") ? 1 : 0;
  inst.type = want_type(s, {Type::U32, Type::S32, Type::U64, Type::S64});
  finish_modifiers(s);
  want_args(s, 2, 2);
  inst.dst[0] = destination(s.args[0], Type::U32);
  inst.src[0] = source(s.args[1], inst.type);
  emit(inst);
}

}  // namespace gpumux::ptx
