// Modifiers that change a result: .relu, .satfinite, .xorsign, and packing of integers with saturation.
#include "ptx/sequence.hpp"

namespace gpumux::ptx {
namespace {

Operand value(std::uint32_t bits) { return Operand::immediate(bits); }

}  // namespace

void Parser::clamp_to_zero(const Statement& s) {
  const Instruction& inst = s.inst;
  Sequence seq(*this, s);
  seq.emit(Opcode::Max, inst.type, inst.dst[0], {inst.dst[0], value(0)});
  if (isa::is_float(inst.type)) function_->code.back().nan = true;  // NaN stays NaN
}

Parser::Clamps Parser::take_clamps(Statement& s) const {
  // Only for conversions from f32 to 16-bit floats.
  if (!kHalves.has(s.inst.type) || s.inst.type2 != Type::F32) return {};
  return {s.modifiers.take("relu"), s.modifiers.take("satfinite")};
}

void Parser::clamp(const Statement& s, Clamps clamps) {
  const Instruction& inst = s.inst;
  if (clamps.to_finite) {
    // Infinity becomes the largest finite number. NaN is kept.
    const bool brain = inst.type == Type::BF16 || inst.type == Type::BF16x2;
    const bool pair = isa::width_bits(inst.type) == 32;
    const std::uint32_t largest = (brain ? 0x7f7fU : 0x7bffU) * (pair ? 0x10001U : 1U);
    const std::uint32_t sign = pair ? 0x8000'8000U : 0x8000U;
    Sequence seq(*this, s);
    seq.emit(Opcode::Min, inst.type, inst.dst[0], {inst.dst[0], value(largest)});
    function_->code.back().nan = true;
    seq.emit(Opcode::Max, inst.type, inst.dst[0], {inst.dst[0], value(largest | sign)});
    function_->code.back().nan = true;
  }
  if (clamps.to_zero) clamp_to_zero(s);
}

void Parser::op_cvt_pack_integers(Statement& s) {
  // Packs two integers, saturated to fewer bits. With at most eight bits each, a third source is shifted up
  // to make room for them.
  struct Narrow {
    bool is_signed = false;
    unsigned bits = 0;
  };
  static constexpr std::pair<std::string_view, Narrow> kNarrow[] = {
      {"s16", {true, 16}}, {"u16", {false, 16}}, {"s8", {true, 8}}, {"u8", {false, 8}},
      {"s4", {true, 4}},   {"u4", {false, 4}},   {"s2", {true, 2}}, {"u2", {false, 2}}};
  if (!s.modifiers.take("sat")) fail(s.opcode, fmt::format("'{}' needs .sat", opcode_text(s)));
  const Narrow narrow = s.modifiers.take_from(kNarrow, Narrow{});
  if (narrow.bits == 0)
    fail(s.opcode, fmt::format("'{}' packs .s16, .u16, .s8, .u8, .s4, .u4, .s2 or .u2", opcode_text(s)));
  want_type(s, {Type::S32});
  const bool joins = narrow.bits < 16;
  if (joins) want_type(s, {Type::B32});
  finish_modifiers(s);
  want_args(s, joins ? 4 : 3, joins ? 4 : 3);
  const Operand result = destination(s.args[0], Type::B32);
  Sequence seq(*this, s);
  const std::uint32_t high = (1U << (narrow.bits - (narrow.is_signed ? 1U : 0U))) - 1;
  const std::uint32_t low = narrow.is_signed ? ~high : 0;
  const auto saturated = [&](const Arg& arg) {
    const Operand above = seq.op(Opcode::Max, Type::S32, source(arg, Type::S32), value(low));
    return seq.op(Opcode::Min, Type::S32, above, value(high));
  };
  const Operand upper = saturated(s.args[1]);
  const Operand lower = saturated(s.args[2]);
  const Operand width = value(narrow.bits);
  if (!joins) {
    seq.emit(Opcode::Bfi, Type::B32, result, {upper, lower, width, width});
    return;
  }
  const Operand rest = seq.op(Opcode::Shl, Type::B32, source(s.args[3], Type::B32), value(2 * narrow.bits));
  const Operand both = seq.op4(Opcode::Bfi, Type::B32, upper, rest, width, width);
  seq.emit(Opcode::Bfi, Type::B32, result, {lower, both, value(0), width});
}

void Parser::sign_of_product(const Statement& s) {
  // min and max of magnitudes, with the sign of the product. NaN has no sign.
  const Instruction& inst = s.inst;
  Sequence seq(*this, s);
  const auto one = [&](Type type, Operand result, Operand a, Operand b) {
    const bool half = isa::width_bits(type) == 16;
    const Type bits = half ? Type::B16 : Type::B32;
    const auto fresh = [&] { return Operand::reg32(new_register(type)); };
    const Operand magnitudes[2] = {seq.emit(Opcode::Abs, type, fresh(), {a}),
                                   seq.emit(Opcode::Abs, type, fresh(), {b})};
    const Operand chosen = seq.emit(inst.op, type, fresh(), {magnitudes[0], magnitudes[1]});
    function_->code.back().ftz = inst.ftz;
    function_->code.back().nan = inst.nan;
    const Operand differing = seq.emit(Opcode::Xor, bits, fresh(), {a, b});
    const Operand sign =
        seq.emit(Opcode::And, bits, fresh(), {differing, value(half ? 0x8000U : 0x8000'0000U)});
    const Operand with_sign = seq.emit(Opcode::Or, bits, fresh(), {chosen, sign});
    const Operand is_nan = seq.compare(Compare::NAN_, type, chosen, chosen);
    seq.emit(Opcode::Selp, bits, result, {chosen, with_sign, is_nan});
  };
  const bool pair = inst.type == Type::F16x2 || inst.type == Type::BF16x2;
  if (!pair) return one(inst.type, inst.dst[0], inst.src[0], inst.src[1]);
  const Type part_type = inst.type == Type::F16x2 ? Type::F16 : Type::BF16;
  Operand parts[2][2];  // operand, half
  for (int i = 0; i < 2; ++i) {
    for (Operand& part : parts[i]) part = Operand::reg32(new_register(Type::B16));
    seq.emit(Opcode::Unpack, Type::B32, parts[i][0], {inst.src[static_cast<std::size_t>(i)]});
    function_->code.back().dst[1] = parts[i][1];
    function_->code.back().vector = 2;
  }
  for (int half = 0; half < 2; ++half) one(part_type, parts[0][half], parts[0][half], parts[1][half]);
  seq.emit(Opcode::Pack, Type::B32, inst.dst[0], {parts[0][0], parts[0][1]});
  function_->code.back().vector = 2;
}

}  // namespace gpumux::ptx
