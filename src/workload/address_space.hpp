// Device addresses that are fixed in advance, for a program that ran elsewhere.
#pragma once

#include <cstdint>
#include <string>

#include "base/types.hpp"

namespace gpumux::workload {

/// The address range of an application. The program sees addresses from `base` on, whatever its index in the
/// run. Caches see the application's own range.
struct AddressSpace {
  Address base = 0;        // a nonzero multiple of 2^kAppShift
  Address placed_end = 0;  // allocations without a given address are placed behind this address
};

/// A .global variable of a module, with its address.
struct PlacedVariable {
  std::string name;
  Address address = 0;
  std::uint64_t bytes = 0;
  friend bool operator==(const PlacedVariable&, const PlacedVariable&) = default;
};

}  // namespace gpumux::workload
