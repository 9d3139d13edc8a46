// Bookkeeping of memory that the program has allocated.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "session.hpp"

namespace gpumux::cudart {

/// The allocation that contains an address.
struct AllocationInfo {
  std::uintptr_t address;
  std::size_t bytes;
  program::MemoryKind kind;
  const void* owner;  // context of the driver; nullptr: the primary context
};
[[nodiscard]] std::optional<AllocationInfo> allocation_at(const void* pointer);
void own(const void* pointer, const void* owner);
/// Frees all memory of a context. Waits for the device if there is any.
void free_all_of(const void* owner);

/// Adds or removes addresses that belong to graphs (graph_memory.hpp).
void note_of_graph(std::uintptr_t address, std::size_t bytes);
void forget_of_graph(std::uintptr_t address);

/// True for pinned host memory, which copies with cudaMemcpyDefault treat as host memory.
[[nodiscard]] bool is_pinned(const void* pointer);

}  // namespace gpumux::cudart
