// Device addresses that are known beforehand: those of a program that ran elsewhere.
#pragma once

#include <cstdint>
#include <string>

#include "base/types.hpp"

namespace gpumux::workload {

/// Where an application's addresses lie. The program sees addresses from `base` on, whichever application of
/// the run it is; caches see them in the application's own range.
struct AddressSpace {
  Address base = 0;        // a multiple of 2^kAppShift that is not 0
  Address placed_end = 0;  // allocations that are given no address lie behind this one
};

/// A .global variable of a module, and where it lies.
struct PlacedVariable {
  std::string name;
  Address address = 0;
  std::uint64_t bytes = 0;
  friend bool operator==(const PlacedVariable&, const PlacedVariable&) = default;
};

}  // namespace gpumux::workload
