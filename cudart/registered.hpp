// Host memory that the program has registered (cudaHostRegister): its pages become pages of device memory, so
// that kernels and host share it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "session.hpp"

namespace gpumux::cudart {

struct Registration {
  std::uintptr_t host = 0;  // first byte, as the program named it
  std::size_t bytes = 0;
  unsigned flags = 0;
  std::uintptr_t device = 0;      // where kernels find the first byte; 0: they do not
  const char* obstacle = "";      // why not
  std::uintptr_t allocation = 0;  // which holds its pages; as the server has it
};

/// Of memory that a pointer points into, by the host's address or the device's; nullptr: none.
[[nodiscard]] const Registration* registration_at(const void* pointer);

/// The device's address of `bytes` bytes in registered memory, or in what the program has mapped itself
/// (mappings.hpp); `pointer` as it is for all other memory.
[[nodiscard]] void* device_view(void* pointer, std::size_t bytes);
[[nodiscard]] inline const void* device_view(const void* pointer, std::size_t bytes) {
  return device_view(const_cast<void*>(pointer), bytes);
}

}  // namespace gpumux::cudart
