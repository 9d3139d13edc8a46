// Arrays, for the driver.
#pragma once

#include <cstddef>

namespace gpumux::cudart {

/// 0 for what is no array.
[[nodiscard]] std::size_t texel_bytes_of(void* array);

}  // namespace gpumux::cudart
