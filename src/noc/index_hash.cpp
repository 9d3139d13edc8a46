#include "noc/index_hash.hpp"

#include <bit>
#include <numeric>

#include "base/error.hpp"

namespace gpumux::noc {

namespace {

// Primitive polynomials by degree, 0 to 16. Bit n is the coefficient of x^n.
constexpr std::array<std::uint32_t, 17> kPolynomials = {1,      0x3,    0x7,    0xb,    0x13,   0x25,
                                                        0x43,   0x83,   0x11d,  0x211,  0x409,  0x805,
                                                        0x1053, 0x201b, 0x4443, 0x8003, 0x1100b};

}  // namespace

IndexHash::IndexHash(arch::IndexFunction function, std::uint32_t count, const std::string& key)
    : count_(count) {
  if (count == 0) throw UserError(fmt::format("{}: there is nothing to choose from (count 0)", key));
  const bool power = std::has_single_bit(count);
  bits_ = power ? static_cast<std::uint32_t>(std::countr_zero(count)) : 0;
  if (function == arch::IndexFunction::Linear) {
    kind_ = Kind::Linear;
  } else if (function == arch::IndexFunction::Xor) {
    kind_ = power ? Kind::XorPower : Kind::Xor;
  } else {
    // If count is no power of two, use the degree of the next power of two.
    const std::uint32_t places = std::bit_ceil(count);
    const auto degree = static_cast<std::uint32_t>(std::countr_zero(places));
    if (degree >= kPolynomials.size())
      throw UserError(fmt::format("{} = \"ipoly\" chooses among at most 65536, not {}", key, count));
    kind_ = power ? Kind::Ipoly : Kind::IpolySum;
    // table_[b] is for byte b of the high part, which stands for x^(bits + 8 b) and above.
    table_.resize(8);
    std::uint32_t power_of_x = 1 % places;
    const auto times_x = [&](std::uint32_t p) {
      p <<= 1U;
      return (p & places) != 0 ? p ^ kPolynomials[degree] : p;
    };
    for (std::uint32_t i = 0; i < degree; ++i) power_of_x = times_x(power_of_x);
    for (auto& table : table_) {
      table.fill(0);
      for (unsigned bit = 0; bit < 8; ++bit) {
        for (unsigned value = 0; value < 256; ++value) {
          if ((value >> bit & 1U) != 0) table[value] ^= static_cast<std::uint16_t>(power_of_x);
        }
        if (degree > 0) power_of_x = times_x(power_of_x);
      }
    }
  }
}

std::uint32_t IndexHash::fold_digits(std::uint64_t high) const {
  std::uint64_t sum = 0;
  for (; high != 0; high /= count_) sum += high % count_;
  return static_cast<std::uint32_t>(sum % count_);
}

std::uint32_t IndexHash::rotation(std::uint32_t app) const {
  // The step is near the golden section and coprime to count, so that rotations repeat only after `count`
  // applications and lie far apart.
  auto step = static_cast<std::uint32_t>(count_ * 0.6180339887);
  while (step > 1 && std::gcd(step, count_) != 1) --step;
  if (step == 0) step = 1;
  return static_cast<std::uint32_t>(std::uint64_t{app} * step % count_);
}

}  // namespace gpumux::noc
