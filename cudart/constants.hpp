// Constants are in a bank that is not part of device memory. For copies and fills by address, they get places
// in a reserved address range where this process has no memory. A kernel that accesses such an address
// faults.
#pragma once

#include <cstddef>
#include <optional>

#include "session.hpp"

namespace gpumux::cudart {

/// Reserves addresses for a constant. Returns nullptr if there is no room.
[[nodiscard]] void* place_constant(const program::VariableDescription& variable);

struct ConstantPlace {
  program::VariableDescription variable;
  std::size_t offset;  // bytes
};
/// The constant that contains the address, or nothing.
[[nodiscard]] std::optional<ConstantPlace> constant_at(const void* pointer);

}  // namespace gpumux::cudart
