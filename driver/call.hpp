// Common parts of all functions of the driver. The functions are extern "C", use a function of the run time
// wherever possible, and do not change the run time's last error.
#pragma once

#include "cudart/session.hpp"
#include "driver/abi.hpp"
#include "driver/contexts.hpp"

#define GPUMUX_DRIVER_API GPUMUX_CUDART_API

/// Defines a function and its variant (_ptsz or _ptds) in which the null stream is the calling thread's. The
/// body can use `per_thread`.
#define GPUMUX_DRIVER_BOTH(name, suffix, parameters, ...)            \
  GPUMUX_DRIVER_API gpumux::driver::Result name parameters {         \
    constexpr bool per_thread = false;                               \
    return __VA_ARGS__;                                              \
  }                                                                  \
  GPUMUX_DRIVER_API gpumux::driver::Result name##suffix parameters { \
    constexpr bool per_thread = true;                                \
    return __VA_ARGS__;                                              \
  }

namespace gpumux::driver {

using cudart::Session;
using program::Error;

[[nodiscard]] Result result_of(Error error);

/// Runs `call`, which returns an Error, if cuInit was called.
template <class Function>
Result initialized(const Function& call) {
  const cudart::DriverCall here;
  if (!is_initialized()) return Result::NotInitialized;
  return result_of(call());
}
/// Runs `call`, which returns an Error, if a valid context is current.
template <class Function>
Result in_context(const Function& call) {
  const cudart::DriverCall here;
  if (const Result result = check_context(); result != Result::Success) return result;
  return result_of(call());
}
/// Runs `call`, which returns a Result, if a valid context is current.
template <class Function>
Result with_context(const Function& call) {
  const cudart::DriverCall here;
  const Result result = check_context();
  return result == Result::Success ? call() : result;
}

inline void* pointer_to(DevicePointer address) { return reinterpret_cast<void*>(address); }

}  // namespace gpumux::driver
