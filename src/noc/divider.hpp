// Division of 64-bit numbers by a divisor that is fixed at construction, without the divide instruction.
#pragma once

#include <bit>
#include <cstdint>

namespace gpumux::noc {

__extension__ using Wide = unsigned __int128;

class Divider {
 public:
  explicit Divider(std::uint64_t divisor = 1)
      : divisor_(divisor),
        // 2^64 / divisor, rounded down. Powers of two are divided by a shift instead.
        reciprocal_(divisor == 1 ? 0 : static_cast<std::uint64_t>((Wide{1} << 64U) / divisor)),
        shift_(std::has_single_bit(divisor) ? static_cast<std::int8_t>(std::countr_zero(divisor)) : -1) {}

  [[nodiscard]] std::uint64_t divisor() const { return divisor_; }

  [[nodiscard]] std::uint64_t quotient(std::uint64_t x) const {
    if (shift_ >= 0) return x >> static_cast<unsigned>(shift_);
    // The rounded-down reciprocal makes the estimate at most one too small.
    const auto estimate = static_cast<std::uint64_t>((Wide{x} * reciprocal_) >> 64U);
    return estimate + (x - estimate * divisor_ >= divisor_ ? 1 : 0);
  }
  [[nodiscard]] std::uint64_t remainder(std::uint64_t x) const { return x - quotient(x) * divisor_; }

 private:
  std::uint64_t divisor_;
  std::uint64_t reciprocal_;
  std::int8_t shift_;
};

}  // namespace gpumux::noc
