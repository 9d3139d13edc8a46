// Host memory that the program has registered (cudaHostRegister). Its pages become pages of device memory, so
// that kernels and host share them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "session.hpp"

namespace gpumux::cudart {

struct Registration {
  std::uintptr_t host = 0;  // first byte as given by the program
  std::size_t bytes = 0;
  unsigned flags = 0;
  std::uintptr_t device = 0;      // device address of the first byte; 0: not accessible to kernels
  const char* obstacle = "";      // reason why it is not accessible
  std::uintptr_t allocation = 0;  // device allocation that holds its pages
};

/// The registration that contains the address, a host or a device address, or nullptr.
[[nodiscard]] const Registration* registration_at(const void* pointer);

/// The device address of `bytes` bytes in registered memory, or in the program's own mappings (mappings.hpp).
/// For all other memory, `pointer` itself.
[[nodiscard]] void* device_view(void* pointer, std::size_t bytes);
[[nodiscard]] inline const void* device_view(const void* pointer, std::size_t bytes) {
  return device_view(const_cast<void*>(pointer), bytes);
}

}  // namespace gpumux::cudart
