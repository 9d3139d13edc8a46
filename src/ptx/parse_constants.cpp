// Constant expressions: operators on numbers, in operands, offsets and initial values.
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>
#include <utility>

#include "base/types.hpp"
#include "ptx/parser.hpp"

namespace gpumux::ptx {
namespace {

constexpr unsigned kMaxDepth = 64;  // limit for nested parentheses and unary operators

struct BinaryOperator {
  std::string_view text;
  unsigned level;  // higher levels bind tighter
};

// Longer operators first, since '<<' starts with '<'.
constexpr std::array<BinaryOperator, 18> kOperators{{{"||", 1},
                                                     {"&&", 2},
                                                     {"==", 6},
                                                     {"!=", 6},
                                                     {"<=", 7},
                                                     {">=", 7},
                                                     {"<<", 8},
                                                     {">>", 8},
                                                     {"|", 3},
                                                     {"^", 4},
                                                     {"&", 5},
                                                     {"<", 7},
                                                     {">", 7},
                                                     {"+", 9},
                                                     {"-", 9},
                                                     {"*", 10},
                                                     {"/", 10},
                                                     {"%", 10}}};

double as_double(const ConstantValue& value) { return std::bit_cast<double>(value.bits); }

ConstantValue of_real(double value) {
  return {ConstantValue::Kind::Real, std::bit_cast<std::uint64_t>(value)};
}

ConstantValue truth(bool value) { return {ConstantValue::Kind::Signed, value ? 1U : 0U}; }

/// Signed division. The lowest number divided by -1 is the lowest number.
std::uint64_t quotient(std::uint64_t a, std::uint64_t b) {
  if (b == ~std::uint64_t{0}) return 0 - a;
  return static_cast<std::uint64_t>(static_cast<std::int64_t>(a) / static_cast<std::int64_t>(b));
}

ConstantValue of_reals(std::string_view op, double a, double b) {
  if (op == "+") return of_real(a + b);
  if (op == "-") return of_real(a - b);
  if (op == "*") return of_real(a * b);
  if (op == "/") return of_real(a / b);
  if (op == "<") return truth(a < b);
  if (op == ">") return truth(a > b);
  if (op == "<=") return truth(a <= b);
  if (op == ">=") return truth(a >= b);
  return truth((a == b) == (op == "=="));
}

ConstantValue of_integers(std::string_view op, const ConstantValue& a, const ConstantValue& b) {
  using Of = ConstantValue::Kind;
  const bool is_unsigned = a.kind == Of::Unsigned || b.kind == Of::Unsigned;
  const Of kind = is_unsigned ? Of::Unsigned : Of::Signed;
  const bool less =
      is_unsigned ? a.bits < b.bits : static_cast<std::int64_t>(a.bits) < static_cast<std::int64_t>(b.bits);
  const std::uint64_t count = b.bits & 63U;
  if (op == "+") return {kind, a.bits + b.bits};
  if (op == "-") return {kind, a.bits - b.bits};
  if (op == "*") return {kind, a.bits * b.bits};
  if (op == "/") return {kind, is_unsigned ? a.bits / b.bits : quotient(a.bits, b.bits)};
  if (op == "%") return {Of::Unsigned, a.bits % b.bits};
  if (op == "&") return {kind, a.bits & b.bits};
  if (op == "|") return {kind, a.bits | b.bits};
  if (op == "^") return {kind, a.bits ^ b.bits};
  if (op == "<<") return {a.kind, a.bits << count};
  if (op == ">>") {
    const auto shifted = static_cast<std::uint64_t>(static_cast<std::int64_t>(a.bits) >> count);
    return {a.kind, a.kind == Of::Unsigned ? a.bits >> count : shifted};
  }
  if (op == "&&") return truth(a.bits != 0 && b.bits != 0);
  if (op == "||") return truth(a.bits != 0 || b.bits != 0);
  if (op == "<") return truth(less);
  if (op == ">") return truth(!less && a.bits != b.bits);
  if (op == "<=") return truth(less || a.bits == b.bits);
  if (op == ">=") return truth(!less);
  return truth((a.bits == b.bits) == (op == "=="));
}

}  // namespace

std::string_view Parser::binary_operator(unsigned& level) const {
  for (const BinaryOperator& op : kOperators) {
    if (!peek().is(op.text[0])) continue;
    const Token& second = peek(1);
    if (op.text.size() == 2 &&
        (!second.is(op.text[1]) || second.line != peek().line || second.column != peek().column + 1))
      continue;
    level = op.level;
    return op.text;
  }
  return {};
}

bool Parser::begins_expression() const {
  const auto ends_number = [this](std::size_t ahead) {
    // Tokens that can follow a number which is an operand by itself.
    const Token& after = peek(ahead);
    return after.kind != Token::Kind::Punct ||
           std::string_view(",;:]})(").find(after.text[0]) != std::string_view::npos;
  };
  std::size_t at = 0;
  if (peek(at).is('-') || peek(at).is('!') || peek(at).is('+')) ++at;
  const Token& token = peek(at);
  if (token.is('(') || token.is('~')) return true;
  if (at > 0 && (token.is('-') || token.is('!') || token.is('+'))) return true;
  if (token.kind == Token::Kind::Name) return token.text == "WARP_SZ" && (at > 0 || !ends_number(at + 1));
  return (token.kind == Token::Kind::Integer || token.kind == Token::Kind::Float64) && !ends_number(at + 1);
}

ConstantValue Parser::parse_constant_operand(unsigned depth) {
  if (depth > kMaxDepth) fail(peek(), "constant expression nested too deeply");
  using Of = ConstantValue::Kind;
  const Token at = next();
  const auto whole = [&](const ConstantValue& value) {
    if (value.kind == Of::Real) fail(at, "this operator of a constant expression takes integers");
    return value;
  };
  if (at.is('-')) {
    const ConstantValue value = parse_constant_operand(depth + 1);
    return value.kind == Of::Real ? of_real(-as_double(value)) : ConstantValue{value.kind, 0 - value.bits};
  }
  if (at.is('+')) return parse_constant_operand(depth + 1);
  if (at.is('!')) return truth(whole(parse_constant_operand(depth + 1)).bits == 0);
  if (at.is('~')) return {Of::Unsigned, ~whole(parse_constant_operand(depth + 1)).bits};
  if (at.is('(')) {
    const bool to_signed = peek().is_dot("s64");
    if (to_signed || peek().is_dot("u64")) {
      next();
      expect(')', "the type of a constant expression");
      return {to_signed ? Of::Signed : Of::Unsigned, whole(parse_constant_operand(depth + 1)).bits};
    }
    const ConstantValue value = parse_constant(0, depth + 1);
    expect(')', "a constant expression");
    return value;
  }
  if (at.kind == Token::Kind::Name && at.text == "WARP_SZ") return {Of::Signed, kWarpSize};
  if (at.kind == Token::Kind::Float64) return {Of::Real, at.bits};
  if (at.kind != Token::Kind::Integer) fail(at, "expected a number in a constant expression");
  const bool is_unsigned = at.text.ends_with('U') ||
                           at.bits > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  return {is_unsigned ? Of::Unsigned : Of::Signed, at.bits};
}

ConstantValue Parser::parse_constant(unsigned least_level, unsigned depth) {
  using Of = ConstantValue::Kind;
  ConstantValue value = parse_constant_operand(depth);
  while (true) {
    const Token at = peek();
    if (at.is('?') && least_level == 0) {
      if (value.kind == Of::Real) fail(at, "the condition of '?' is an integer");
      next();
      const ConstantValue yes = parse_constant(0, depth + 1);
      expect(':', "the first choice of '?'");
      const ConstantValue no = parse_constant(0, depth + 1);
      return value.bits != 0 ? yes : no;
    }
    unsigned level = 0;
    const std::string_view op = binary_operator(level);
    if (op.empty() || level < least_level) return value;
    pos_ += op.size();
    const ConstantValue right = parse_constant(level + 1, depth + 1);
    const bool reals = value.kind == Of::Real;
    if (reals != (right.kind == Of::Real))
      fail(at, fmt::format("'{}' of an integer and a float in a constant expression", op));
    const bool for_reals =
        op.size() == 1 ? std::string_view("+-*/<>").find(op) != std::string_view::npos : op[1] == '=';
    if (reals && !for_reals) fail(at, fmt::format("'{}' in a constant expression takes integers", op));
    if (!reals && (op == "/" || op == "%") && right.bits == 0)
      fail(at, "division by zero in a constant expression");
    value = reals ? of_reals(op, as_double(value), as_double(right)) : of_integers(op, value, right);
  }
}

Token Parser::parse_expression(unsigned least_level) {
  Token token = peek();
  const ConstantValue value = parse_constant(least_level, 0);
  token.kind = value.kind == ConstantValue::Kind::Real ? Token::Kind::Float64 : Token::Kind::Integer;
  token.bits = value.bits;
  return token;
}

}  // namespace gpumux::ptx
