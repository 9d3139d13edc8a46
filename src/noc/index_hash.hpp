// Index hashes that choose partitions and cache sets.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "arch/choices.hpp"

namespace gpumux::noc {

/// Maps a number, split into a low digit and a high part, to one of `count` places. For each high part the
/// low digits are permuted, so no two numbers with the same high part collide.
///   linear: the low digit.
///   xor:    the low digit xor the high part's digits folded together. If count is no power of two:
///           the sum of the low digit and the folded digits, modulo count.
///   ipoly:  the remainder of the number, as a polynomial over GF(2), by a primitive polynomial of degree
///           log2(count). Strides that are powers of two spread evenly. If count is no power of two: the sum
///           of the low digit and the high part's remainder by the polynomial for the next power of two,
///           modulo count. Source: Rau, "Pseudo-randomly interleaved memory", ISCA 1991.
/// A rotation then renames the places: by xor under xor and ipoly if count is a power of two, otherwise by a
/// sum.
class IndexHash {
 public:
  /// `key` names the setting in error messages ("l2.partition_hash"). Throws UserError for ipoly
  /// with a count above 65536.
  IndexHash(arch::IndexFunction function, std::uint32_t count, const std::string& key);

  [[nodiscard]] std::uint32_t permute(std::uint32_t low, std::uint64_t high, std::uint32_t rotation) const {
    switch (kind_) {
      case Kind::Linear: break;
      case Kind::XorPower: return low ^ fold(high) ^ rotation;
      case Kind::Xor: low = wrap(low + fold_digits(high)); break;
      case Kind::Ipoly: return low ^ remainder(high) ^ rotation;
      case Kind::IpolySum: low = (low + remainder(high)) % count_; break;
    }
    return wrap(low + rotation);
  }
  /// The rotation of an application. Rotations of up to `count` applications are distinct and well spread.
  [[nodiscard]] std::uint32_t rotation(std::uint32_t app) const;

 private:
  enum class Kind : std::uint8_t { Linear, Xor, XorPower, Ipoly, IpolySum };
  [[nodiscard]] std::uint32_t wrap(std::uint32_t n) const { return n >= count_ ? n - count_ : n; }
  [[nodiscard]] std::uint32_t fold(std::uint64_t high) const {
    if (bits_ == 0) return 0;
    std::uint64_t folded = 0;
    for (; high != 0; high >>= bits_) folded ^= high;
    return static_cast<std::uint32_t>(folded) & (count_ - 1);
  }
  [[nodiscard]] std::uint32_t fold_digits(std::uint64_t high) const;
  [[nodiscard]] std::uint32_t remainder(std::uint64_t high) const {
    std::uint32_t n = 0;
    for (std::size_t byte = 0; high != 0; ++byte, high >>= 8U) n ^= table_[byte][high & 0xffU];
    return n;
  }

  Kind kind_ = Kind::Linear;
  std::uint32_t count_;
  std::uint32_t bits_ = 0;
  std::vector<std::array<std::uint16_t, 256>> table_;  // ipoly: remainder of each value of
                                                       // each byte of the high part
};

}  // namespace gpumux::noc
