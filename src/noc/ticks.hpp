// Exact conversions between core cycles and the ticks of another clock, without 128-bit division.
#pragma once

#include <cstdint>
#include <numeric>

#include "base/types.hpp"
#include "noc/divider.hpp"

namespace gpumux::noc {

/// Converts between core cycles and ticks of another clock domain. Tick n of the domain happens in core
/// cycle ceil(n * core / domain). Frequencies are rounded to whole kHz, so the ratio is an exact fraction.
/// Exact for times below 2^40.
class Ticks {
 public:
  Ticks(double core_mhz, double domain_mhz) {
    core_ = static_cast<std::uint64_t>(core_mhz * 1000 + 0.5);
    domain_ = static_cast<std::uint64_t>(domain_mhz * 1000 + 0.5);
    const std::uint64_t divisor = std::gcd(core_, domain_);
    core_ /= divisor;
    domain_ /= divisor;
    by_core_ = Divider(core_);
    by_domain_ = Divider(domain_);
  }
  [[nodiscard]] Cycle to_core(std::uint64_t tick) const {
    return core_ == domain_ ? tick : by_domain_.quotient(tick * core_ + domain_ - 1);
  }
  /// First tick that happens in the core cycle or later. tick_at(c) <= n exactly when c <=
  /// to_core(n), so a time that is converted to core cycles and back stays the same. (In real time
  /// the tick may be up to a cycle before.)
  [[nodiscard]] std::uint64_t tick_at(Cycle cycle) const {
    if (core_ == domain_ || cycle == 0) return cycle;
    return by_core_.quotient((cycle - 1) * domain_) + 1;
  }

 private:
  std::uint64_t core_ = 1;
  std::uint64_t domain_ = 1;
  Divider by_core_;
  Divider by_domain_;
};

}  // namespace gpumux::noc
