// Memory pools count the allocations that belong to them. Freed memory returns to the device as soon as the
// program has waited for the stream of the free. So thresholds and reuse have no effect.
#pragma once

#include <cstddef>
#include <cstdint>

#include "session.hpp"

namespace gpumux::cudart {

struct Pool;

/// The pool of cudaMallocAsync. Callers of this and all following functions must hold the session's lock.
[[nodiscard]] Pool* current_pool();
/// The pool with this handle, or nullptr.
[[nodiscard]] Pool* pool_of(void* handle);
void count_in(Pool* pool, std::size_t bytes);
void count_out(Pool* pool, std::size_t bytes);

}  // namespace gpumux::cudart
