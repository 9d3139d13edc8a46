// Video instructions: arithmetic on bytes, half words and words of 32-bit registers with wider intermediate
// results (PTX ISA 9.0, sections 9.7.17 and 9.7.18). They become sequences of other instructions, as in
// compilers for sm_30 and later.
#include <optional>

#include "ptx/sequence.hpp"

namespace gpumux::ptx {
namespace {

using isa::Compare;

constexpr TypeSet kVideoWords{Type::U32, Type::S32};

/// A part of a register: "b3", "h0", or nothing for all of it.
struct VideoPart {
  unsigned first = 0;  // lowest bit
  unsigned width = 32;
};
std::optional<VideoPart> part_of(std::string_view text) {
  if (text.empty()) return VideoPart{};
  if (text.size() != 2 || text[1] < '0') return std::nullopt;
  const auto number = static_cast<unsigned>(text[1] - '0');
  if (text[0] == 'b' && number < 4) return VideoPart{number * 8, 8};
  if (text[0] == 'h' && number < 2) return VideoPart{number * 16, 16};
  return std::nullopt;
}

template <class Fail>
VideoPart wanted_part(std::string_view text, const Fail& fail) {
  const std::optional<VideoPart> found = part_of(text);
  if (!found) fail(fmt::format("'.{}' is none of the parts .b0 to .b3, .h0 and .h1", text));
  return *found;
}

/// A selection of parts from both sources, lowest first, such as "h10" or "b7654". Empty if the text is no
/// selection.
std::vector<unsigned> selected(std::string_view text, unsigned parts) {
  std::vector<unsigned> numbers;
  if (text.size() != parts + 1 || text[0] != (parts == 2 ? 'h' : 'b')) return {};
  for (std::size_t i = text.size() - 1; i > 0; --i) {
    if (text[i] < '0' || static_cast<unsigned>(text[i] - '0') >= 2 * parts) return {};
    numbers.push_back(static_cast<unsigned>(text[i] - '0'));
  }
  return numbers;
}

/// A bit mask of the written parts of the result, such as "h1" or "b310". 0 if the text is no such mask.
unsigned written(std::string_view text, unsigned parts) {
  if (text.empty()) return (1U << parts) - 1;
  if (text.size() < 2 || text.size() > parts + 1 || text[0] != (parts == 2 ? 'h' : 'b')) return 0;
  unsigned mask = 0;
  for (const char digit : text.substr(1)) {
    const unsigned bit = digit < '0' ? 32U : static_cast<unsigned>(digit - '0');
    if (bit >= parts || (mask & ((2U << bit) - 1)) != 0) return 0;  // digits must decrease
    mask |= 1U << bit;
  }
  return mask;
}

struct Range {
  std::uint64_t low;
  std::uint64_t high;
};
Range range_of(bool is_signed, unsigned width) {
  if (!is_signed) return {0, (std::uint64_t{1} << width) - 1};
  const std::uint64_t half = std::uint64_t{1} << (width - 1);
  return {0 - half, half - 1};
}

}  // namespace

Operand Parser::video_source(const Arg& arg, Type type) {
  Arg plain = arg;
  plain.component = {};
  return source(plain, type);
}

/// A register or a part of it as a 64-bit number, so that intermediate results cannot overflow.
Operand Parser::video_number(const Statement& s, const Arg& arg, Type type) {
  const VideoPart chosen = wanted_part(arg.component, [&](const std::string& what) { fail(arg.at, what); });
  Operand word = video_source(arg, type);
  Sequence seq(*this, s);
  if (chosen.width != 32)
    word = seq.op3(Opcode::Bfe, type, word, constant(chosen.first), constant(chosen.width));
  const Operand wide =
      seq.emit(Opcode::Cvt, type == Type::S32 ? Type::S64 : Type::U64, seq.wide_word(), {word});
  function_->code.back().type2 = type;
  return wide;
}

void Parser::op_video(Statement& s) {
  const std::string_view name = s.opcode.text;
  const bool compares = name == "vset";
  const bool shifts = name == "vshl" || name == "vshr";
  const Type result_type = compares ? Type::U32 : want_type(s, kVideoWords);
  const Type a_type = want_type(s, kVideoWords);
  const Type b_type = shifts ? want_type(s, {Type::U32}) : want_type(s, kVideoWords);
  const Compare how = compares ? take_compare(s, Type::S32) : Compare::None;
  const bool saturates = !compares && s.modifiers.take("sat");
  const bool wraps = shifts && s.modifiers.take("wrap");
  if (shifts && !wraps && !s.modifiers.take("clamp"))
    fail(s.opcode, fmt::format("'{}' needs .clamp or .wrap", opcode_text(s)));
  static constexpr std::pair<std::string_view, Opcode> kSecond[] = {
      {"add", Opcode::Add}, {"min", Opcode::Min}, {"max", Opcode::Max}};
  const Opcode second = s.modifiers.take_from(kSecond, Opcode::Nop);
  finish_modifiers(s);
  want_args(s, second == Opcode::Nop ? 3 : 4, 4);
  const bool merges = !s.args[0].component.empty();
  if ((merges && second != Opcode::Nop) || (s.args.size() == 4) != (merges || second != Opcode::Nop)) {
    fail(s.opcode,
         fmt::format("'{}' takes a third source with a part of the result, or with .add, .min or .max",
                     opcode_text(s)));
  }
  const VideoPart of_result =
      wanted_part(s.args[0].component, [&](const std::string& what) { fail(s.args[0].at, what); });
  Arg plain_result = s.args[0];
  plain_result.component = {};
  const Operand result = destination(plain_result, Type::B32);
  Sequence seq(*this, s);
  const auto op64 = [&](Opcode op, Type type, Operand a, Operand b) {
    return seq.emit(op, type, seq.wide_word(), {a, b});
  };
  const Operand a = video_number(s, s.args[1], a_type);
  const Operand b = video_number(s, s.args[2], b_type);
  Operand middle;
  if (name == "vadd") {
    middle = op64(Opcode::Add, Type::S64, a, b);
  } else if (name == "vsub") {
    middle = op64(Opcode::Sub, Type::S64, a, b);
  } else if (name == "vabsdiff") {
    middle = seq.emit(Opcode::Abs, Type::S64, seq.wide_word(), {op64(Opcode::Sub, Type::S64, a, b)});
  } else if (name == "vmin" || name == "vmax") {
    middle = op64(name == "vmin" ? Opcode::Min : Opcode::Max, Type::S64, a, b);
  } else if (compares) {
    const Operand holds = seq.compare(how, Type::S64, a, b);
    middle = seq.emit(Opcode::Selp, Type::B64, seq.wide_word(), {constant(1), constant(0), holds});
  } else {
    const Operand amount = seq.emit(Opcode::Cvt, Type::U32, Operand::reg32(new_register(Type::B32)), {b});
    function_->code.back().type2 = Type::U64;
    const Operand limited = wraps ? seq.op(Opcode::And, Type::B32, amount, constant(31))
                                  : seq.op(Opcode::Min, Type::U32, amount, constant(32));
    middle =
        name == "vshl" ? op64(Opcode::Shl, Type::B64, a, limited) : op64(Opcode::Shr, Type::S64, a, limited);
  }
  if (saturates) {
    const Range range = range_of(result_type == Type::S32, of_result.width);
    middle = op64(Opcode::Max, Type::S64, middle, constant(range.low));
    middle = op64(Opcode::Min, Type::S64, middle, constant(range.high));
  }
  const bool ends = !merges && second == Opcode::Nop;
  const Operand narrow =
      seq.emit(Opcode::Cvt, Type::U32, ends ? result : Operand::reg32(new_register(Type::B32)), {middle});
  function_->code.back().type2 = Type::U64;
  if (ends) return;
  const Operand c = source(s.args[3], Type::B32);
  if (merges) {
    seq.emit(Opcode::Bfi, Type::B32, result,
             {narrow, c, constant(of_result.first), constant(of_result.width)});
  } else {
    seq.emit(second, result_type, result, {narrow, c});
  }
}

void Parser::op_vmad(Statement& s) {
  const Type types[3] = {want_type(s, kVideoWords), want_type(s, kVideoWords),
                         want_type(s, kVideoWords)};  // types of d, a, b
  const bool adds_one = s.modifiers.take("po");
  const bool saturates = s.modifiers.take("sat");
  const unsigned shift = s.modifiers.take("shr7") ? 7U : s.modifiers.take("shr15") ? 15U : 0U;
  finish_modifiers(s);
  want_args(s, 4, 4);
  const auto negated = [&](std::size_t i) { return s.args[i].minus && s.args[i].kind == Arg::Kind::Name; };
  const bool of_product = negated(1) != negated(2);
  const bool of_addend = negated(3);
  if ((of_product || of_addend) && (adds_one || of_product == of_addend))
    fail(s.opcode, fmt::format("'{}' negates the product or what it adds, without .po", opcode_text(s)));
  const bool of_signed = types[1] == Type::S32 || types[2] == Type::S32;
  const bool result_signed = of_signed || of_product || of_addend;
  const Operand result = destination(s.args[0], types[0]);
  const Operand a = video_number(s, s.args[1], types[1]);
  const Operand b = video_number(s, s.args[2], types[2]);
  Operand c = source(s.args[3], Type::B32);
  Sequence seq(*this, s);
  const auto op64 = [&](Opcode op, Type type, Operand x, Operand y) {
    return seq.emit(op, type, seq.wide_word(), {x, y});
  };
  Operand sum = op64(Opcode::MulLo, Type::S64, a, b);
  // The product of two unsigned numbers uses all 64 bits. The signed result has one bit less, far above the
  // saturation limit.
  if (!of_signed && result_signed && saturates)
    sum = op64(Opcode::Min, Type::U64, sum, constant(std::uint64_t{1} << 62U));
  if (of_addend) c = seq.op(Opcode::Not, Type::B32, c);
  const Operand addend = seq.emit(Opcode::Cvt, result_signed ? Type::S64 : Type::U64, seq.wide_word(), {c});
  function_->code.back().type2 = result_signed ? Type::S32 : Type::U32;
  if (of_product) {
    sum = op64(Opcode::Sub, Type::S64, addend, sum);
  } else {
    sum = op64(Opcode::Add, Type::S64, sum, addend);
    if (adds_one || of_addend) sum = op64(Opcode::Add, Type::S64, sum, constant(1));
  }
  const Type wide = result_signed ? Type::S64 : Type::U64;
  if (shift != 0) sum = op64(Opcode::Shr, wide, sum, constant(shift));
  if (saturates) {
    const Range range = range_of(result_signed, 32);
    if (result_signed) sum = op64(Opcode::Max, wide, sum, constant(range.low));
    sum = op64(Opcode::Min, wide, sum, constant(range.high));
  }
  seq.emit(Opcode::Cvt, Type::U32, result, {sum});
  function_->code.back().type2 = Type::U64;
}

void Parser::op_video_simd(Statement& s) {
  const unsigned parts = s.opcode.text.ends_with('4') ? 4 : 2;
  const unsigned width = 32 / parts;
  const std::string_view name = s.opcode.text.substr(0, s.opcode.text.size() - 1);
  const bool compares = name == "vset";
  const Type result_type = compares ? Type::U32 : want_type(s, kVideoWords);
  const Type a_type = want_type(s, kVideoWords);
  const Type b_type = want_type(s, kVideoWords);
  const Compare how = compares ? take_compare(s, Type::S32) : Compare::None;
  const bool saturates = !compares && s.modifiers.take("sat");
  const bool sum = s.modifiers.take("add");
  finish_modifiers(s);
  want_args(s, 4, 4);
  const unsigned mask = written(s.args[0].component, parts);
  if (mask == 0) fail(s.args[0].at, fmt::format("'.{}' names no parts of the result", s.args[0].component));
  const auto selection = [&](const Arg& arg, unsigned first) {
    std::vector<unsigned> numbers = selected(arg.component, parts);
    if (arg.component.empty())
      for (unsigned i = 0; i < parts; ++i) numbers.push_back(first + i);
    if (numbers.empty())
      fail(arg.at, fmt::format("'.{}' names no {} parts of the two sources", arg.component, parts));
    return numbers;
  };
  const std::vector<unsigned> of_a = selection(s.args[1], 0);
  const std::vector<unsigned> of_b = selection(s.args[2], parts);
  Arg plain_result = s.args[0];
  plain_result.component = {};
  const Operand result = destination(plain_result, Type::B32);
  const Operand words[2] = {video_source(s.args[1], Type::B32), video_source(s.args[2], Type::B32)};
  const Operand c = source(s.args[3], Type::B32);
  Sequence seq(*this, s);
  const auto extract = [&](unsigned number, Type type) {
    return seq.op3(Opcode::Bfe, type, words[number / parts], constant(number % parts * width),
                   constant(width));
  };
  Operand total = c;
  for (unsigned i = 0; i < parts; ++i) {
    if ((mask >> i & 1U) == 0) continue;
    const Operand a = extract(of_a[i], a_type);
    const Operand b = extract(of_b[i], b_type);
    Operand middle;
    if (name == "vadd") {
      middle = seq.op(Opcode::Add, Type::S32, a, b);
    } else if (name == "vsub") {
      middle = seq.op(Opcode::Sub, Type::S32, a, b);
    } else if (name == "vmin" || name == "vmax") {
      middle = seq.op(name == "vmin" ? Opcode::Min : Opcode::Max, Type::S32, a, b);
    } else if (name == "vabsdiff") {
      if (sum && !saturates) {
        total = seq.op3(Opcode::Sad, Type::S32, a, b, total);
        continue;
      }
      middle = seq.op3(Opcode::Sad, Type::S32, a, b, constant(0));
    } else if (name == "vavrg") {  // rounds up from 0 on, down below 0
      const Operand both = seq.op(Opcode::Add, Type::S32, a, b);
      const Operand sign = seq.op(Opcode::Shr, Type::S32, both, constant(31));
      const Operand rounded =
          seq.op(Opcode::Add, Type::S32, seq.op(Opcode::Add, Type::S32, both, constant(1)), sign);
      middle = seq.op(Opcode::Shr, Type::S32, rounded, constant(1));
    } else {
      middle = seq.select(constant(1), constant(0), seq.compare(how, Type::S32, a, b));
    }
    if (saturates) {
      const Range range = range_of(result_type == Type::S32, width);
      middle = seq.op(Opcode::Max, Type::S32, middle, constant(range.low & 0xffff'ffffU));
      middle = seq.op(Opcode::Min, Type::S32, middle, constant(range.high));
    }
    total = sum ? seq.op(Opcode::Add, Type::U32, total, middle)
                : seq.op4(Opcode::Bfi, Type::B32, middle, total, constant(i * width), constant(width));
  }
  seq.emit(Opcode::Mov, Type::B32, result, {total});
}

}  // namespace gpumux::ptx
