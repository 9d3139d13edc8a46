// Gathers the bits that a mask selects into a compact number, and spreads them again. Works without the pext
// and pdep instructions, which not all hosts have.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "base/error.hpp"

namespace gpumux::noc {

class BitField {
 public:
  /// The lowest bit set in `mask` becomes bit 0 of the compact number.
  explicit BitField(std::uint64_t mask = 0) {
    for (unsigned to = 0; mask != 0;) {
      const auto from = static_cast<unsigned>(std::countr_zero(mask));
      const auto length = static_cast<unsigned>(std::countr_one(mask >> from));
      const std::uint64_t ones = length == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << length) - 1;
      GPUMUX_CHECK(count_ < runs_.size());
      runs_[count_++] = {ones, from, to};
      mask &= ~(ones << from);
      to += length;
    }
  }
  [[nodiscard]] std::uint64_t extract(std::uint64_t x) const {
    const std::uint64_t first = runs_[0].extract(x) | runs_[1].extract(x);
    return count_ <= kAtOnce ? first : first | extract_rest(x);
  }
  [[nodiscard]] std::uint64_t deposit(std::uint64_t x) const {
    const std::uint64_t first = runs_[0].deposit(x) | runs_[1].deposit(x);
    return count_ <= kAtOnce ? first : first | deposit_rest(x);
  }

 private:
  struct Run {
    std::uint64_t ones = 0;
    unsigned from = 0;  // lowest bit of the run in the mask
    unsigned to = 0;    // lowest bit of the run in the compact number
    [[nodiscard]] std::uint64_t extract(std::uint64_t x) const { return (x >> from & ones) << to; }
    [[nodiscard]] std::uint64_t deposit(std::uint64_t x) const { return (x >> to & ones) << from; }
  };
  // Runs that are extracted without a loop. Most fields have no more runs.
  static constexpr unsigned kAtOnce = 2;

  [[gnu::noinline]] [[nodiscard]] std::uint64_t extract_rest(std::uint64_t x) const {
    std::uint64_t result = 0;
    for (unsigned i = kAtOnce; i < count_; ++i) result |= runs_[i].extract(x);
    return result;
  }
  [[gnu::noinline]] [[nodiscard]] std::uint64_t deposit_rest(std::uint64_t x) const {
    std::uint64_t result = 0;
    for (unsigned i = kAtOnce; i < count_; ++i) result |= runs_[i].deposit(x);
    return result;
  }

  std::array<Run, 32> runs_{};  // 32 runs: the most that a 64-bit mask has (alternate bits)
  unsigned count_ = 0;
};

}  // namespace gpumux::noc
