// Memory pools: of which allocations count in which. Memory is the device's again as soon as the program has
// waited for the stream in which it was freed, so that thresholds and reuse have no effect.
#pragma once

#include <cstddef>
#include <cstdint>

#include "session.hpp"

namespace gpumux::cudart {

struct Pool;

/// That of cudaMallocAsync. For callers that hold the session's lock, as all of these.
[[nodiscard]] Pool* current_pool();
/// nullptr for what is no pool.
[[nodiscard]] Pool* pool_of(void* handle);
void count_in(Pool* pool, std::size_t bytes);
void count_out(Pool* pool, std::size_t bytes);

}  // namespace gpumux::cudart
