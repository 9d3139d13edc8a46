// A reference for matrix products, element by element: the values of number formats as doubles, and sums as
// tensor cores compute them. Independent of the code in emulator/matrix_arithmetic.hpp, which cites the
// sources.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "base/hash.hpp"

namespace gpumux::emulator::test {

/// A binary floating-point format.
struct FloatFormat {
  int exponent_bits;
  int fraction_bits;
  bool finite_top = false;                                                    // e4m3: NaN, but no infinity
  [[nodiscard]] int least() const { return 2 - (1 << (exponent_bits - 1)); }  // least normal exponent
  [[nodiscard]] double value(std::uint64_t bits) const {
    const std::uint64_t fraction = bits & ((1ULL << fraction_bits) - 1);
    const int biased = static_cast<int>(bits >> fraction_bits) & ((1 << exponent_bits) - 1);
    const bool top = biased == (1 << exponent_bits) - 1;
    const double sign = ((bits >> (fraction_bits + exponent_bits)) & 1U) != 0 ? -1 : 1;
    if (top && (!finite_top || fraction == (1ULL << fraction_bits) - 1)) {
      return fraction == 0 ? sign * std::numeric_limits<double>::infinity()
                           : std::numeric_limits<double>::quiet_NaN();
    }
    const double significand =
        std::ldexp(static_cast<double>(fraction), -fraction_bits) + (biased == 0 ? 0 : 1);
    return sign * std::ldexp(significand, std::max(biased, 1) - 1 + least());
  }
  /// The exponent of a value in this format. Subnormal numbers have the exponent of the least normal number.
  [[nodiscard]] int exponent(double value) const { return std::max(std::ilogb(value), least()); }
};
inline constexpr FloatFormat kF16{5, 10}, kBF16{8, 7}, kTF32{8, 10}, kF32{8, 23}, kE4M3Format{4, 3, true},
    kE5M2Format{5, 2};

/// The bits of x in f16, rounded to nearest even.
inline std::uint32_t half_bits(double x) {
  if (std::isnan(x)) return 0x7fff;
  const std::uint32_t sign = std::signbit(x) ? 0x8000 : 0;
  x = std::abs(x);
  if (x == 0) return sign;
  const int e = std::isinf(x) ? 16 : kF16.exponent(x);
  if (e > 15) return sign | 0x7c00;
  const double units = std::nearbyint(std::ldexp(x, 10 - e));  // 1024 to 2048; less for subnormal numbers
  // Rounding up to 2048 carries into the exponent, which can make infinity.
  return sign | static_cast<std::uint32_t>((e + 14) * 1024 + static_cast<int>(units));
}

/// The bits of x in f32, truncated to `fraction` bits of the fraction.
inline std::uint32_t single_bits(double x, int fraction) {
  if (std::isnan(x)) return 0x7fffffff;
  const std::uint32_t sign = std::signbit(x) && x != 0 ? 0x80000000U : 0;
  x = std::abs(x);
  if (x == 0) return 0;
  const int e = std::isinf(x) ? 128 : kF32.exponent(x);
  if (e > 127) return sign | 0x7f800000U;
  const auto units = static_cast<std::uint32_t>(std::trunc(std::ldexp(x, fraction - e))) << (23 - fraction);
  return sign | ((static_cast<std::uint32_t>(e + 126) << 23U) + units);
}

/// Computes C plus the products in groups, as tensor cores do. Returns the bits of D.
struct SumOf {
  int group = 8;
  int bits = 24;
  int result_bits = 23;
  FloatFormat a = kF16, b = kF16;
  bool c_half = false;
  bool d_half = false;

  [[nodiscard]] std::uint32_t operator()(const std::vector<double>& x, const std::vector<double>& y,
                                         std::uint32_t c) const {
    bool half = c_half;
    for (std::size_t first = 0; first < x.size(); first += static_cast<std::size_t>(group)) {
      const std::size_t end = std::min(x.size(), first + static_cast<std::size_t>(group));
      const FloatFormat& of_c = half ? kF16 : kF32;
      std::vector<std::pair<double, int>> terms{{of_c.value(c), of_c.exponent(of_c.value(c))}};
      double plain = terms[0].first;  // for infinities and NaN
      for (std::size_t k = first; k < end; ++k) {
        plain += x[k] * y[k];
        // The exponent of a product that is not finite is not used.
        const bool finite = std::isfinite(x[k]) && std::isfinite(y[k]);
        terms.emplace_back(x[k] * y[k], finite ? a.exponent(x[k]) + b.exponent(y[k]) : 0);
      }
      double sum = plain;
      if (std::isfinite(std::abs(plain)) || all_finite(x, y, first, end, terms[0].first)) {
        int top = -100000;
        for (const auto& [value, exponent] : terms)
          if (value != 0) top = std::max(top, exponent);
        sum = 0;
        for (const auto& [value, exponent] : terms)
          if (value != 0) sum += std::trunc(std::ldexp(value, bits - top));
        sum = std::ldexp(sum, top - bits);
      }
      c = d_half ? half_bits(sum == 0 ? 0 : sum) : single_bits(sum, result_bits);
      half = d_half;
    }
    return c;
  }

 private:
  static bool all_finite(const std::vector<double>& x, const std::vector<double>& y, std::size_t first,
                         std::size_t end, double c) {
    bool finite = std::isfinite(c);
    for (std::size_t k = first; k < end; ++k) finite = finite && std::isfinite(x[k]) && std::isfinite(y[k]);
    return finite;
  }
};

using Matrix = std::vector<std::vector<std::uint64_t>>;  // by row, then column: the bits of each element

/// The element type of a factor.
struct Element {
  std::string name;
  unsigned width;
  const FloatFormat* format = nullptr;  // nullptr for integers and f64
};
inline const Element kHalfElement{"f16", 16, &kF16}, kBfloatElement{"bf16", 16, &kBF16},
    kTensorElement{"tf32", 32, &kTF32}, kDoubleElement{"f64", 64}, kS8{"s8", 8}, kU8{"u8", 8}, kS4{"s4", 4},
    kU4{"u4", 4}, kB1{"b1", 1}, kE4M3Element{"e4m3", 8, &kE4M3Format}, kE5M2Element{"e5m2", 8, &kE5M2Format};

/// A form of the mma instruction: a product of matrices with its modifiers.
struct Form {
  unsigned m, n, k;
  const Element* a;
  const Element* b;
  std::string d, c;      // types
  std::string before{};  // modifiers before and behind the types
  std::string behind{};
  [[nodiscard]] std::string opcode() const {
    return "mma.sync.aligned.m" + std::to_string(m) + "n" + std::to_string(n) + "k" + std::to_string(k) +
           ".row.col" + before + "." + d + "." + a->name + "." + b->name + "." + c + behind;
  }
};

/// Random elements and sums for tests.
class Values {
 public:
  explicit Values(std::uint64_t seed) : random_(seed) {}
  /// A random element. Most are near one, so that the terms of a sum have similar exponents; a few have
  /// special values.
  std::uint64_t next(const Element& e) {
    const std::uint64_t any = random_.next();
    if (e.width == 64) {
      const double x = std::ldexp(static_cast<double>(static_cast<std::int64_t>(any)),
                                  -62 - static_cast<int>(random_.below(8)));
      return std::bit_cast<std::uint64_t>(x);
    }
    const std::uint64_t mask = e.width == 64 ? ~0ULL : (1ULL << e.width) - 1;
    if (e.format == nullptr) return random_.below(8) == 0 ? (1ULL << (e.width - 1)) & mask : any & mask;
    const unsigned unused = e.width == 32 ? 13 : 0;  // low bits of tf32 that are not used
    return (with(*e.format, any) << unused) | (any >> 50U & ((1ULL << unused) - 1));
  }
  std::uint64_t sum(const std::string& type) {
    const std::uint64_t any = random_.next();
    if (type == "f64") return next(kDoubleElement);
    if (type == "s32") return random_.below(4) == 0 ? 0x7fffffffU - (any & 0xffU) : any & 0xffffffffU;
    return with(type == "f16" ? kF16 : kF32, any);
  }

 private:
  std::uint64_t with(const FloatFormat& f, std::uint64_t any) {
    const unsigned width = static_cast<unsigned>(f.exponent_bits + f.fraction_bits) + 1;
    const std::uint64_t bits = any & ((1ULL << width) - 1);
    const std::uint64_t kind = random_.below(64);
    if (kind < 4) return bits & ~((1ULL << (width - 1)) - 1);                               // zeros
    if (kind < 8) return bits & ((1ULL << (width - 1)) | ((1ULL << f.fraction_bits) - 1));  // subnormal
    if (kind < 20) return bits & ~((1ULL << f.fraction_bits) - 1);  // powers of two, and infinity
    if (kind < 22) return bits;
    const std::uint64_t bias = (1ULL << (f.exponent_bits - 1)) - 1;
    const std::uint64_t exponent = bias + random_.below(5) - 2;
    return (bits & ((1ULL << (width - 1)) | ((1ULL << f.fraction_bits) - 1))) | exponent << f.fraction_bits;
  }
  Random random_;
};

inline std::int64_t integer(std::uint64_t bits, const Element& e) {
  if (e.name[0] != 's') return static_cast<std::int64_t>(bits);
  return static_cast<std::int64_t>(bits << (64 - e.width)) >> (64 - e.width);
}

inline SumOf rule(const Form& f) {
  SumOf sum;
  sum.a = *f.a->format;
  sum.b = *f.b->format;
  if (f.a->width == 32) sum.group = 4;
  if (f.a->width == 8) {
    sum.group = 16;
    sum.bits = 13;
    sum.result_bits = 13;
  }
  sum.c_half = f.c == "f16";
  sum.d_half = f.d == "f16";
  return sum;
}

/// The bits of an element of D.
inline std::uint64_t expected(const Form& f, const Matrix& a, const Matrix& b, std::uint64_t c, unsigned row,
                              unsigned column) {
  if (f.a->format != nullptr) {
    std::vector<double> x, y;
    const unsigned unused = f.a->width == 32 ? 13 : 0;
    for (unsigned k = 0; k < f.k; ++k) {
      x.push_back(f.a->format->value(a[row][k] >> unused));
      y.push_back(f.b->format->value(b[k][column] >> unused));
    }
    return rule(f)(x, y, static_cast<std::uint32_t>(c));
  }
  if (f.a->width == 64) {
    double sum = std::bit_cast<double>(c);
    for (unsigned k = 0; k < f.k; ++k)
      sum = std::fma(std::bit_cast<double>(a[row][k]), std::bit_cast<double>(b[k][column]), sum);
    return std::bit_cast<std::uint64_t>(sum);
  }
  std::int64_t sum = static_cast<std::int32_t>(c);
  for (unsigned k = 0; k < f.k; ++k) {
    const std::int64_t x = integer(a[row][k], *f.a);
    const std::int64_t y = integer(b[k][column], *f.b);
    sum += f.a->width > 1 ? x * y : (f.before + f.behind).find("xor") != std::string::npos ? x ^ y : x & y;
  }
  if ((f.before + f.behind).find("satfinite") != std::string::npos)
    sum = std::clamp<std::int64_t>(sum, INT32_MIN, INT32_MAX);
  return static_cast<std::uint32_t>(sum);
}

}  // namespace gpumux::emulator::test
