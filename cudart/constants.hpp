// Constants lie in a bank that is not part of device memory. For copies and fills by address they have places
// in a range of addresses at which this process has nothing; kernels that are given one fault.
#pragma once

#include <cstddef>
#include <optional>

#include "session.hpp"

namespace gpumux::cudart {

/// nullptr: there is no more room for constants.
[[nodiscard]] void* place_constant(const program::VariableDescription& variable);

struct ConstantPlace {
  program::VariableDescription variable;
  std::size_t offset;  // bytes
};
/// Which constant a pointer points into.
[[nodiscard]] std::optional<ConstantPlace> constant_at(const void* pointer);

}  // namespace gpumux::cudart
