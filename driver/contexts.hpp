// Contexts: the device's primary context, which the run time uses, too, and contexts that a program creates.
// All contexts share the device's streams. Memory belongs to the context in which it was allocated, and is
// freed with it.
#pragma once

#include "driver/abi.hpp"

namespace gpumux::driver {

struct Context;

/// True if cuInit was called or the run time was used.
[[nodiscard]] bool is_initialized();
/// The calling thread's current context, or nullptr.
[[nodiscard]] Context* current_context();
/// Success if there is a current context that has not been destroyed.
[[nodiscard]] Result check_context();
/// The owner of memory (cudart/allocations.hpp) for a context: nullptr for the primary context.
[[nodiscard]] const void* owner_of(const Context* context);
[[nodiscard]] Context* context_of(const void* owner);

}  // namespace gpumux::driver
