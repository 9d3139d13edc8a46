// Bits of a number that lie apart, as a number of their own, without an instruction that only some hosts
// have.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "base/error.hpp"

namespace gpumux::noc {

class BitField {
 public:
  /// Of `mask`'s bits the lowest is bit 0.
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
    std::uint64_t result = 0;
    for (unsigned i = 0; i < count_; ++i) result |= (x >> runs_[i].from & runs_[i].ones) << runs_[i].to;
    return result;
  }
  [[nodiscard]] std::uint64_t deposit(std::uint64_t x) const {
    std::uint64_t result = 0;
    for (unsigned i = 0; i < count_; ++i) result |= (x >> runs_[i].to & runs_[i].ones) << runs_[i].from;
    return result;
  }

 private:
  struct Run {
    std::uint64_t ones = 0;
    unsigned from = 0;  // its lowest bit in the mask
    unsigned to = 0;    // and in the field
  };
  std::array<Run, 32> runs_{};  // alternate bits are the most
  unsigned count_ = 0;
};

}  // namespace gpumux::noc
