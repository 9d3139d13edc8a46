// Generic addresses: the window of each state space. Global addresses are equal to generic addresses.
#pragma once

#include "isa/instruction.hpp"
#include "workload/device_memory.hpp"

namespace gpumux::emulator {

inline constexpr Address kParamWindow = Address{0x7c} << 40U;  // a kernel's parameters, read only
inline constexpr Address kConstWindow = Address{0x7d} << 40U;
inline constexpr Address kFirstWindow = kParamWindow;  // all generic addresses below are global

constexpr Address window_of(isa::Space space) {
  switch (space) {
    case isa::Space::Shared: return workload::DeviceMemory::kSharedWindow;
    case isa::Space::Local: return workload::DeviceMemory::kLocalWindow;
    case isa::Space::Const: return kConstWindow;
    case isa::Space::Param: return kParamWindow;
    default: return 0;
  }
}

/// The value of a pointer to the function with this index, which is never null.
constexpr Address function_address(std::uint32_t index) { return (Address{index} + 1) * 16; }
/// The index of the function at this address, or an index that no function has.
constexpr Address function_at(Address address) { return address % 16 == 0 ? address / 16 - 1 : ~Address{0}; }

/// The space of a generic address. Addresses outside of all windows are global.
constexpr isa::Space space_of(Address address) {
  constexpr Address kSize = workload::DeviceMemory::kWindowBytes;
  if (address - window_of(isa::Space::Shared) < kSize) return isa::Space::Shared;
  if (address - window_of(isa::Space::Local) < kSize) return isa::Space::Local;
  if (address - kConstWindow < kSize) return isa::Space::Const;
  if (address - kParamWindow < kSize) return isa::Space::Param;
  return isa::Space::Global;
}

}  // namespace gpumux::emulator
