// Memory that the program maps itself: physical memory that it has created, at addresses that it has reserved
// (cuMemCreate and its relatives). Kernels find it there by the translation that registered memory has.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "session.hpp"

namespace gpumux::cudart {

/// Sizes of physical memory, and addresses at which it is mapped, are multiples of this.
inline constexpr std::size_t kMappingGranularity = std::size_t{2} << 20U;

/// CUmemAccess_flags.
enum class Access : int { None = 0, Read = 1, ReadWrite = 3 };

/// CUmemGenericAllocationHandle; 0: none.
using PhysicalHandle = std::uint64_t;

Error create_physical(std::size_t bytes, PhysicalHandle& handle);
/// The memory goes when its last mapping has.
Error release_physical(PhysicalHandle handle);
/// Of the memory that is mapped at `pointer`; to be released once more.
Error retain_physical(const void* pointer, PhysicalHandle& handle);
[[nodiscard]] bool is_physical(PhysicalHandle handle);

/// `alignment`: a power of two, or 0. `wanted`: where the addresses are to begin if they are free.
Error reserve_addresses(std::size_t bytes, std::size_t alignment, std::uintptr_t wanted,
                        std::uintptr_t& address);
Error free_addresses(std::uintptr_t address, std::size_t bytes);
/// The first bytes of this memory. They are accessible to nobody until set_access().
Error map_physical(std::uintptr_t address, std::size_t bytes, PhysicalHandle handle);
// Of a range that whole mappings fill.
Error unmap_physical(std::uintptr_t address, std::size_t bytes);
Error set_access(std::uintptr_t address, std::size_t bytes, Access access);

struct Mapped {
  std::uintptr_t address = 0;
  std::size_t bytes = 0;
  std::uintptr_t device = 0;  // where the first byte lies in device memory
  Access access = Access::None;
};
/// What is mapped where a pointer points; nothing: it is no such address, or nothing is mapped there.
[[nodiscard]] std::optional<Mapped> mapped_at(const void* pointer);
/// An address that can be reserved, whether or not something is mapped there.
[[nodiscard]] bool is_virtual(const void* pointer);
/// Of `bytes` from a pointer on, those of the same mapping: what lies next to each other there may lie apart
/// in device memory. All for any other memory.
[[nodiscard]] std::size_t bytes_in_one_mapping(const void* pointer, std::size_t bytes);

}  // namespace gpumux::cudart
