// Contexts: the device's primary one, which is the run time's, too, and those that a program makes. All share
// the device's streams; each has the memory that was allocated in it, which goes with it.
#pragma once

#include "driver/abi.hpp"

namespace gpumux::driver {

struct Context;

/// cuInit was called, or the run time used.
[[nodiscard]] bool is_initialized();
/// This thread's; nullptr: none.
[[nodiscard]] Context* current_context();
/// Success: there is a current context that has not been destroyed.
[[nodiscard]] Result check_context();
/// As memory has it (cudart/allocations.hpp); nullptr for the primary one.
[[nodiscard]] const void* owner_of(const Context* context);
[[nodiscard]] Context* context_of(const void* owner);

}  // namespace gpumux::driver
