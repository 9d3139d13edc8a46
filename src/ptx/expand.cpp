// Expansion of divisions and roots. The sequences follow P. Markstein, "IA-64 and Elementary Functions"
// (2000), chapters 8 and 9: an approximation, Newton's iteration, and a last step with the exact residual,
// which an fma computes. Integer division uses a float reciprocal in the same way, with an estimate that is
// never too large.
#include "ptx/expand.hpp"

#include <bit>
#include <utility>

#include "ptx/operands.hpp"

namespace gpumux::ptx {

using isa::Function;
using isa::Instruction;
using isa::Opcode;
using isa::Operand;
using isa::Type;

namespace {

constexpr std::uint64_t kOneF32 = 0x3f80'0000U;
constexpr std::uint64_t kHalfF32 = 0x3f00'0000U;
constexpr std::uint64_t kOneF64 = 0x3ff0'0000'0000'0000U;
constexpr std::uint64_t kHalfF64 = 0x3fe0'0000'0000'0000U;

class Sequence {
 public:
  Sequence(Function& function, const Instruction& origin, Expansion& result)
      : function_(function), origin_(origin), out_(result) {}

  bool expand() {
    if (origin_.guard || !origin_.dst[0] || origin_.approx || origin_.full) return false;
    if (origin_.type == Type::F32 || origin_.type == Type::F64) {
      if (origin_.rounding != isa::Rounding::RN) return false;
      wide_ = origin_.type == Type::F64;
      float_type_ = origin_.type;
      switch (origin_.op) {
        case Opcode::Div: return divide();
        case Opcode::Rcp: return reciprocal();
        case Opcode::Sqrt: return root();
        default: return false;
      }
    }
    if (origin_.op != Opcode::Div && origin_.op != Opcode::Rem) return false;
    const bool remainder = origin_.op == Opcode::Rem;
    switch (origin_.type) {
      case Type::U32: divide_u32(origin_.src[0], origin_.src[1], origin_.dst[0], remainder); return true;
      case Type::S32: divide_s32(remainder); return true;
      case Type::U64:
      case Type::S64: divide_64(remainder); return true;
      default: return false;
    }
  }

 private:
  Operand fresh(bool wide) { return wide ? new_reg64(function_) : new_reg32(function_); }

  Instruction& add(Opcode op, Type type, const Operand& dst, std::initializer_list<Operand> src) {
    Instruction inst = make(op, type, origin_);
    inst.dst[0] = dst;
    std::size_t i = 0;
    for (const Operand& operand : src) inst.src[i++] = operand;
    if (isa::is_float(type) && (op == Opcode::Fma || op == Opcode::Mul)) inst.rounding = isa::Rounding::RN;
    out_.fast.push_back(inst);
    return out_.fast.back();
  }
  Operand fma(const Operand& a, const Operand& b, const Operand& c) {
    const Operand d = fresh(wide_);
    add(Opcode::Fma, float_type_, d, {a, b, c});
    return d;
  }
  Operand mul(const Operand& a, const Operand& b) {
    const Operand d = fresh(wide_);
    add(Opcode::Mul, float_type_, d, {a, b});
    return d;
  }
  Operand negate(const Operand& a) {
    const Operand d = fresh(wide_);
    add(Opcode::Neg, float_type_, d, {a});
    return d;
  }
  Operand estimate(Opcode op, const Operand& a) {
    const Operand d = fresh(wide_);
    Instruction& inst = add(op, float_type_, d, {a});
    inst.approx = true;
    inst.ftz = wide_;  // the hardware's form for f64
    return d;
  }
  [[nodiscard]] Operand one() const { return Operand::immediate(wide_ ? kOneF64 : kOneF32); }
  [[nodiscard]] Operand half() const { return Operand::immediate(wide_ ? kHalfF64 : kHalfF32); }

  /// Adds a test a COMPARE b to the condition `ok`.
  void require(isa::Compare how, const Operand& a, const Operand& b) {
    const Operand ok = new_pred(function_);
    Instruction& test = add(Opcode::Setp, Type::U32, ok, {a, b});
    test.compare = how;
    if (out_.ok) {
      test.bool_op = isa::BoolOp::And;
      test.src[2] = out_.ok;
    }
    out_.ok = ok;
  }

  /// Sets `ok` to: |a| is in [2^-60, 2^60], for f64 in [2^-500, 2^500]. Then no step leaves the normal range,
  /// and residuals are exact. For roots (`sign_clear`), the sign must be clear as well. For `divisor` in f64,
  /// a mantissa whose lower word is all ones is excluded, because the iteration for the reciprocal ends one
  /// unit off if all mantissa bits are ones.
  bool check(const Operand& a, bool sign_clear, bool divisor = false) {
    constexpr std::uint32_t kFirst32 = 67;  // biased exponents
    constexpr std::uint32_t kCount32 = 120;
    constexpr std::uint32_t kFirst64 = 523;
    constexpr std::uint32_t kCount64 = 1000;
    const std::uint32_t first = wide_ ? kFirst64 << 20U : kFirst32 << 23U;
    const std::uint32_t count = wide_ ? kCount64 << 20U : kCount32 << 23U;
    if (a.kind == Operand::Kind::Imm) {
      const std::uint32_t bits = static_cast<std::uint32_t>(wide_ ? a.imm >> 32U : a.imm);
      if (wide_ && divisor && (a.imm & 0xffff'ffffU) == 0xffff'ffffU) return false;
      return (sign_clear ? bits : bits & 0x7fff'ffffU) - first < count;
    }
    Operand word = a;
    if (wide_) {
      word = new_reg32(function_);
      const Operand low = divisor ? new_reg32(function_) : Operand{};
      Instruction& unpack = add(Opcode::Unpack, Type::B64, low, {a});
      unpack.vector = 2;
      unpack.dst[1] = word;
      if (divisor) require(isa::Compare::NE, low, Operand::immediate(0xffff'ffffU));
    }
    const Operand shifted = new_reg32(function_);
    if (sign_clear) {
      add(Opcode::Add, Type::U32, shifted, {word, Operand::immediate((~first + 1U) & 0xffff'ffffU)});
    } else {  // doubling drops the sign
      add(Opcode::Lea, Type::U32, shifted, {Operand::immediate((~(first << 1U) + 1U) & 0xffff'ffffU), word})
          .shift = 1;
    }
    require(isa::Compare::LT, shifted, Operand::immediate(sign_clear ? count : std::uint64_t{count} << 1U));
    return true;
  }

  /// 1 / b with an error slightly above half a unit in the last place, and -b.
  std::pair<Operand, Operand> refined_reciprocal(const Operand& b) {
    const Operand minus = negate(b);
    const Operand r = estimate(Opcode::Rcp, b);
    const Operand e = fma(minus, r, one());
    if (!wide_) return {fma(r, e, r), minus};
    const Operand r1 = fma(r, fma(e, e, e), r);
    return {fma(r1, fma(minus, r1, one()), r1), minus};
  }

  bool divide() {
    const Operand a = origin_.src[0];
    const Operand b = origin_.src[1];
    if (!check(b, false, true) || !check(a, false)) return abandon();
    const auto [r, minus] = refined_reciprocal(b);
    Operand q = mul(a, r);
    if (!wide_) q = fma(fma(minus, q, a), r, q);
    add(Opcode::Fma, float_type_, origin_.dst[0], {fma(minus, q, a), r, q});
    return true;
  }

  bool reciprocal() {
    const Operand b = origin_.src[0];
    if (!check(b, false, true)) return abandon();
    const auto [r, minus] = refined_reciprocal(b);
    add(Opcode::Fma, float_type_, origin_.dst[0], {r, fma(minus, r, one()), r});
    return true;
  }

  bool root() {
    const Operand a = origin_.src[0];
    if (!check(a, true)) return abandon();
    Operand y = estimate(Opcode::Rsqrt, a);
    if (wide_) {  // y (1 + e/2 + 3/8 e^2), e = 1 - a y^2
      constexpr std::uint64_t kThreeEighths = 0x3fd8'0000'0000'0000U;
      const Operand e = fma(negate(a), mul(y, y), one());
      y = fma(fma(e, Operand::immediate(kThreeEighths), half()), mul(y, e), y);
    }
    const Operand h = mul(y, half());
    Operand g = mul(a, y);
    if (wide_) g = fma(fma(negate(g), g, a), h, g);
    add(Opcode::Fma, float_type_, origin_.dst[0], {fma(negate(g), g, a), h, g});
    return true;
  }

  bool abandon() {
    out_ = Expansion{};
    return false;
  }

  /// Unsigned division: x ~ 2^32 / b from a float reciprocal that is slightly too small, one Newton step in
  /// integers, q = high(x a), and at most two corrections.
  void divide_u32(const Operand& a, const Operand& b, const Operand& dst, bool remainder) {
    constexpr std::uint64_t kScale = 0x0fff'fffe;  // 2^32 minus two units in the last place
    const auto reg = [&] { return new_reg32(function_); };
    const Operand as_float = reg();
    Instruction& to_float = add(Opcode::Cvt, Type::F32, as_float, {b});
    to_float.type2 = Type::U32;
    to_float.rounding = isa::Rounding::RP;
    const Operand inverse = reg();
    add(Opcode::Rcp, Type::F32, inverse, {as_float}).approx = true;
    const Operand scaled = reg();
    add(Opcode::Add, Type::U32, scaled, {inverse, Operand::immediate(kScale)});
    const Operand x = reg();
    Instruction& to_int = add(Opcode::Cvt, Type::U32, x, {scaled});
    to_int.type2 = Type::F32;
    to_int.rounding = isa::Rounding::RZI;
    const Operand minus = reg();
    add(Opcode::Neg, Type::S32, minus, {b});
    const Operand error = reg();
    add(Opcode::MulLo, Type::U32, error, {minus, x});
    const Operand better = reg();
    add(Opcode::MadHi, Type::U32, better, {x, error, x});
    const Operand q = reg();
    add(Opcode::MulHi, Type::U32, q, {better, a});
    const Operand r = reg();
    add(Opcode::MadLo, Type::U32, r, {minus, q, a});
    for (int step = 0; step < 2; ++step) {
      const Operand large = new_pred(function_);
      add(Opcode::Setp, Type::U32, large, {r, b}).compare = isa::Compare::GE;
      if (!(step == 1 && !remainder)) add(Opcode::Sub, Type::U32, r, {r, b}).guard = large;
      if (!remainder) add(Opcode::Add, Type::U32, q, {q, Operand::immediate(1)}).guard = large;
    }
    const Operand zero = new_pred(function_);
    add(Opcode::Setp, Type::U32, zero, {b, Operand::immediate(0)}).compare = isa::Compare::EQ;
    add(Opcode::Selp, Type::B32, dst, {Operand::immediate(0xffff'ffffU), remainder ? r : q, zero});
  }

  void divide_s32(bool remainder) {
    const Operand a = new_reg32(function_);
    const Operand b = new_reg32(function_);
    add(Opcode::Abs, Type::S32, a, {origin_.src[0]});
    add(Opcode::Abs, Type::S32, b, {origin_.src[1]});
    const Operand result = new_reg32(function_);
    divide_u32(a, b, result, remainder);
    Operand sign = origin_.src[0];
    if (!remainder) {
      sign = new_reg32(function_);
      add(Opcode::Xor, Type::B32, sign, {origin_.src[0], origin_.src[1]});
    }
    const Operand negative = new_pred(function_);
    add(Opcode::Setp, Type::S32, negative, {sign, Operand::immediate(0)}).compare = isa::Compare::LT;
    // Division by zero gives all ones, whatever the sign.
    const Operand flip = new_pred(function_);
    Instruction& test = add(Opcode::Setp, Type::S32, flip, {origin_.src[1], Operand::immediate(0)});
    test.compare = isa::Compare::NE;
    test.bool_op = isa::BoolOp::And;
    test.src[2] = negative;
    add(Opcode::Neg, Type::S32, result, {result}).guard = flip;
    add(Opcode::Mov, Type::B32, origin_.dst[0], {result});
  }

  /// 64-bit division with a fast path for small operands, the usual case: 32-bit division.
  void divide_64(bool remainder) {
    const auto split = [&](const Operand& value) {
      const Operand lo = new_reg32(function_);
      const Operand hi = new_reg32(function_);
      Instruction& unpack = add(Opcode::Unpack, Type::B64, lo, {value});
      unpack.vector = 2;
      unpack.dst[1] = hi;
      return std::pair{lo, hi};
    };
    const auto [a_lo, a_hi] = split(origin_.src[0]);
    const auto [b_lo, b_hi] = split(origin_.src[1]);
    const Operand high = new_reg32(function_);
    add(Opcode::Or, Type::B32, high, {a_hi, b_hi});
    const Operand high_is_zero = new_pred(function_);
    add(Opcode::Setp, Type::U32, high_is_zero, {high, Operand::immediate(0)}).compare = isa::Compare::EQ;
    out_.ok = new_pred(function_);  // division by zero gives all 64 bits set, by the slow path
    Instruction& test = add(Opcode::Setp, Type::U32, out_.ok, {b_lo, Operand::immediate(0)});
    test.compare = isa::Compare::NE;
    test.bool_op = isa::BoolOp::And;
    test.src[2] = high_is_zero;
    const Operand result = new_reg32(function_);
    divide_u32(a_lo, b_lo, result, remainder);
    add(Opcode::Pack, Type::B64, origin_.dst[0], {result, Operand::immediate(0)}).vector = 2;
  }

  Function& function_;
  const Instruction& origin_;
  Expansion& out_;
  bool wide_ = false;
  Type float_type_ = Type::F32;
};

}  // namespace

bool expand_instruction(Function& function, const Instruction& inst, Expansion& result) {
  result = Expansion{};
  return Sequence(function, inst, result).expand();
}

void expand_arithmetic(FlowGraph& graph, Function& function) {
  const std::size_t originals = graph.blocks.size();
  for (BlockId first = 0; first < originals; ++first) {
    BlockId id = first;
    for (std::size_t i = 0; i < graph.blocks[id].code.size(); ++i) {
      Instruction inst = graph.blocks[id].code[i];
      std::vector<Instruction> copies;
      for (Operand& operand : inst.src) {  // the slow path reads sources after the fast path's result
        if (!operand.is_register() || operand != inst.dst[0]) continue;
        const bool wide = operand.kind == Operand::Kind::Reg64;
        Instruction copy = make(Opcode::Mov, wide ? Type::B64 : Type::B32, inst);
        copy.src[0] = operand;
        copy.dst[0] = operand = wide ? new_reg64(function) : new_reg32(function);
        copies.push_back(copy);
      }
      Expansion expansion;
      if (!expand_instruction(function, inst, expansion)) continue;
      auto& code = graph.blocks[id].code;
      std::vector<Instruction> rest(code.begin() + static_cast<std::ptrdiff_t>(i) + 1, code.end());
      code.resize(i);
      code.insert(code.end(), copies.begin(), copies.end());
      code.insert(code.end(), expansion.fast.begin(), expansion.fast.end());
      if (!expansion.ok) {
        i = code.size() - 1;
        code.insert(code.end(), rest.begin(), rest.end());
        continue;
      }
      const BlockId tail = graph.add_block(id);
      const BlockId slow = graph.add_block(graph.order.back());
      Instruction branch = make(Opcode::Bra, Type::None, inst);
      branch.guard = expansion.ok;
      branch.guard.negate = true;
      branch.target = slow;
      Block& head = graph.blocks[id];
      Block& behind = graph.blocks[tail];
      head.code.push_back(branch);
      behind.code = std::move(rest);
      behind.next = head.next;
      behind.uniform_next = head.uniform_next;
      behind.no_unroll = head.no_unroll;
      head.next = tail;
      graph.blocks[slow].code.push_back(inst);
      graph.blocks[slow].next = tail;
      id = tail;
      i = static_cast<std::size_t>(-1);  // continue at the tail's first instruction
    }
  }
}

}  // namespace gpumux::ptx
