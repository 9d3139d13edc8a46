// Exact conversion between the core clock and a slower or faster domain.
#pragma once

#include <cstdint>
#include <numeric>

#include "base/types.hpp"

namespace gpumux::machine {

__extension__ using Wide = unsigned __int128;

/// A clock domain whose tick n happens in core cycle ceil(n * core / domain). Frequencies are taken as
/// whole kHz, so the ratio is an exact fraction.
class ClockDomain {
 public:
  ClockDomain(double core_mhz, double domain_mhz) {
    core_ = static_cast<std::uint64_t>(core_mhz * 1000 + 0.5);
    domain_ = static_cast<std::uint64_t>(domain_mhz * 1000 + 0.5);
    const std::uint64_t divisor = std::gcd(core_, domain_);
    core_ /= divisor;
    domain_ /= divisor;
  }
  /// Core cycle in which tick n of the domain falls.
  [[nodiscard]] Cycle to_core(std::uint64_t tick) const {
    return static_cast<Cycle>((static_cast<Wide>(tick) * core_ + domain_ - 1) / domain_);
  }
  /// First tick of the domain at or after a core cycle.
  [[nodiscard]] std::uint64_t tick_at(Cycle cycle) const {
    return static_cast<std::uint64_t>((static_cast<Wide>(cycle) * domain_ + core_ - 1) / core_);
  }
  [[nodiscard]] bool same() const { return core_ == domain_; }
  /// Domain ticks per core cycle.
  [[nodiscard]] double ratio() const { return static_cast<double>(domain_) / static_cast<double>(core_); }

 private:
  std::uint64_t core_;
  std::uint64_t domain_;
};

}  // namespace gpumux::machine
