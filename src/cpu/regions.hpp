// Maps the addresses of a trace to lines within the range of one application.
#pragma once

#include <fmt/core.h>

#include <cstdint>
#include <vector>

#include "base/error.hpp"
#include "base/types.hpp"

namespace gpumux::cpu {

/// Maps addresses to lines. Programs spread their memory over 2^47 B and more, but an application has 2^40 B.
/// Regions of 4 GiB are therefore numbered in the order in which the program first uses them, as for GPU
/// traces. Neighbours within a region stay neighbours, and the numbers do not depend on timing.
class Regions {
 public:
  /// `first_line`: the number of the first line.
  explicit Regions(std::uint64_t first_line) : first_line_(first_line) {}
  /// Line of an address. Throws UserError if the trace touches more than 256 regions.
  std::uint64_t line(std::uint64_t address) {
    if (address >> kShift != last_) find(address >> kShift);
    return last_base_ + (address & kWithin) / kLineBytes;
  }

 private:
  static constexpr unsigned kShift = 32;
  static constexpr std::uint64_t kWithin = (std::uint64_t{1} << kShift) - 1;
  static constexpr std::size_t kMost = std::size_t{1} << (kAppShift - kShift);
  void find(std::uint64_t region) {
    std::size_t index = 0;
    while (index < known_.size() && known_[index] != region) ++index;
    if (index == known_.size()) {
      if (index == kMost) {
        throw UserError(
            fmt::format("a CPU trace touches more than {} regions of 4 GiB; the last at address {:#x}", kMost,
                        region << kShift));
      }
      known_.push_back(region);
    }
    last_ = region;
    last_base_ = first_line_ + (static_cast<std::uint64_t>(index) << kShift) / kLineBytes;
  }
  std::uint64_t first_line_;
  std::uint64_t last_ = ~std::uint64_t{0};
  std::uint64_t last_base_ = 0;
  std::vector<std::uint64_t> known_;
};

}  // namespace gpumux::cpu
