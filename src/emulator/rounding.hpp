// Exact rounding between number formats, bit by bit: the reference for every conversion, and the arithmetic
// of formats that the host lacks.
#pragma once

#include <bit>
#include <cfenv>
#include <cstdint>

#include "isa/instruction.hpp"

namespace gpumux::emulator {

/// A binary floating-point format: bits of precision including the hidden bit, and exponents of the smallest
/// and the largest normal number.
struct Format {
  int precision;
  int min_exponent;
  int max_exponent;
  [[nodiscard]] constexpr int fraction_bits() const { return precision - 1; }
  [[nodiscard]] constexpr int exponent_bits() const {
    return std::bit_width(static_cast<unsigned>(max_exponent)) + 1;
  }
  [[nodiscard]] constexpr std::uint64_t infinity() const {
    return static_cast<std::uint64_t>(2 * max_exponent + 1) << fraction_bits();
  }
  [[nodiscard]] constexpr std::uint64_t sign() const {
    return std::uint64_t{1} << (fraction_bits() + exponent_bits());
  }
};
inline constexpr Format kHalf{11, -14, 15};
inline constexpr Format kBfloat{8, -126, 127};
inline constexpr Format kSingle{24, -126, 127};
inline constexpr Format kDouble{53, -1022, 1023};

/// An exact number, mantissa * 2^exponent, or infinity or NaN.
struct Exact {
  enum class Kind : std::uint8_t { Finite, Infinity, NotANumber };
  Kind kind = Kind::Finite;
  bool negative = false;
  std::uint64_t mantissa = 0;  // 0: zero with the given sign
  int exponent = 0;
};

constexpr Exact decompose(std::uint64_t bits, const Format& format) {
  Exact value;
  value.negative = (bits & format.sign()) != 0;
  const std::uint64_t magnitude = bits & (format.sign() - 1);
  if (magnitude >= format.infinity()) {
    value.kind = magnitude == format.infinity() ? Exact::Kind::Infinity : Exact::Kind::NotANumber;
    return value;
  }
  const std::uint64_t fraction = magnitude & ((std::uint64_t{1} << format.fraction_bits()) - 1);
  const int biased = static_cast<int>(magnitude >> format.fraction_bits());
  value.mantissa = biased == 0 ? fraction : fraction | (std::uint64_t{1} << format.fraction_bits());
  value.exponent = (biased == 0 ? 1 : biased) - 1 + format.min_exponent - format.fraction_bits();
  return value;
}

/// value / 2^shift rounded to an integer, for shift >= 1.
constexpr std::uint64_t shift_rounded(std::uint64_t value, int shift, bool negative, isa::Rounding mode) {
  std::uint64_t quotient = 0;
  std::uint64_t rest = value != 0 ? 1 : 0;  // remainder, compared with half below; here less than half
  std::uint64_t half = 2;
  if (shift <= 63) {
    quotient = value >> shift;
    rest = value & ((std::uint64_t{1} << shift) - 1);
    half = std::uint64_t{1} << (shift - 1);
  } else if (shift == 64) {
    rest = value;
    half = std::uint64_t{1} << 63U;
  }
  bool up = false;
  switch (mode) {
    case isa::Rounding::RZ:
    case isa::Rounding::RZI: break;
    case isa::Rounding::RM:
    case isa::Rounding::RMI: up = negative && rest != 0; break;
    case isa::Rounding::RP:
    case isa::Rounding::RPI: up = !negative && rest != 0; break;
    case isa::Rounding::RNA: up = rest >= half; break;
    default: up = rest > half || (rest == half && (quotient & 1U) != 0); break;
  }
  return quotient + (up ? 1 : 0);
}

/// The bits of a finite value in `format`. Overflow gives infinity or the largest number, depending on the
/// mode.
constexpr std::uint64_t encode(const Exact& value, const Format& format, isa::Rounding mode) {
  const std::uint64_t sign = value.negative ? format.sign() : 0;
  if (value.mantissa == 0) return sign;
  const int leading = std::countl_zero(value.mantissa);
  const std::uint64_t mantissa = value.mantissa << leading;
  const int exponent = value.exponent - leading;
  const int top = exponent + 63;
  const bool subnormal = top < format.min_exponent;
  const int quantum = (subnormal ? format.min_exponent : top) - format.fraction_bits();
  const std::uint64_t rounded = shift_rounded(mantissa, quantum - exponent, value.negative, mode);
  std::uint64_t bits = rounded;
  if (!subnormal) {
    // By addition, a carry out of the fraction increments the exponent.
    bits = (static_cast<std::uint64_t>(top - format.min_exponent) << format.fraction_bits()) + rounded;
  }
  if (bits >= format.infinity()) {
    const bool to_largest = mode == isa::Rounding::RZ || (mode == isa::Rounding::RM && !value.negative) ||
                            (mode == isa::Rounding::RP && value.negative);
    bits = to_largest ? format.infinity() - 1 : format.infinity();
  }
  return sign | bits;
}

/// Sets the host's rounding mode for a scope.
class RoundingScope {
 public:
  explicit RoundingScope(isa::Rounding mode) {
    switch (mode) {
      case isa::Rounding::RZ: std::fesetround(FE_TOWARDZERO); break;
      case isa::Rounding::RM: std::fesetround(FE_DOWNWARD); break;
      case isa::Rounding::RP: std::fesetround(FE_UPWARD); break;
      default: break;
    }
  }
  ~RoundingScope() { std::fesetround(FE_TONEAREST); }
  RoundingScope(const RoundingScope&) = delete;
  RoundingScope& operator=(const RoundingScope&) = delete;
};

[[nodiscard]] inline bool rounds_to_nearest(isa::Rounding mode) {
  return mode == isa::Rounding::None || mode == isa::Rounding::RN;
}

}  // namespace gpumux::emulator
