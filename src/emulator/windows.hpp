// Generic addresses: which window a state space has. Global addresses are generic addresses.
#pragma once

#include "isa/instruction.hpp"
#include "workload/device_memory.hpp"

namespace gpumux::emulator {

inline constexpr Address kConstWindow = Address{0x7d} << 40U;

constexpr Address window_of(isa::Space space) {
  switch (space) {
    case isa::Space::Shared: return workload::DeviceMemory::kSharedWindow;
    case isa::Space::Local: return workload::DeviceMemory::kLocalWindow;
    case isa::Space::Const: return kConstWindow;
    default: return 0;
  }
}

/// The space of a generic address; anything outside the windows is global.
constexpr isa::Space space_of(Address address) {
  constexpr Address kSize = workload::DeviceMemory::kWindowBytes;
  if (address - window_of(isa::Space::Shared) < kSize) return isa::Space::Shared;
  if (address - window_of(isa::Space::Local) < kSize) return isa::Space::Local;
  if (address - kConstWindow < kSize) return isa::Space::Const;
  return isa::Space::Global;
}

}  // namespace gpumux::emulator
