// Memory that the program has allocated.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "session.hpp"

namespace gpumux::cudart {

/// Memory that a pointer points into.
struct AllocationInfo {
  std::uintptr_t address;
  std::size_t bytes;
  program::MemoryKind kind;
  const void* owner;  // the driver's context; nullptr: the primary one
};
[[nodiscard]] std::optional<AllocationInfo> allocation_at(const void* pointer);
void own(const void* pointer, const void* owner);
/// Waits for the device, if there is something to free.
void free_all_of(const void* owner);

/// Addresses that graphs have (graph_memory.hpp).
void note_of_graph(std::uintptr_t address, std::size_t bytes);
void forget_of_graph(std::uintptr_t address);

/// Pinned host memory, which copies of no stated kind take for the host's.
[[nodiscard]] bool is_pinned(const void* pointer);

}  // namespace gpumux::cudart
