// Virtual memory management: physical memory that the program creates and maps at addresses that it has
// reserved (cuMemCreate and related functions). Kernels access it by the same translation as registered
// memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "session.hpp"

namespace gpumux::cudart {

/// Granularity in bytes of physical memory sizes and of mapped addresses.
inline constexpr std::size_t kMappingGranularity = std::size_t{2} << 20U;

/// CUmemAccess_flags.
enum class Access : int { None = 0, Read = 1, ReadWrite = 3 };

/// CUmemGenericAllocationHandle; 0: none.
using PhysicalHandle = std::uint64_t;

Error create_physical(std::size_t bytes, PhysicalHandle& handle);
/// Releases a handle. The memory is freed when its last mapping is gone, too.
Error release_physical(PhysicalHandle handle);
/// Gets a further handle of the memory that is mapped at `pointer`, which must be released separately.
Error retain_physical(const void* pointer, PhysicalHandle& handle);
[[nodiscard]] bool is_physical(PhysicalHandle handle);

/// Reserves addresses. `alignment`: a power of two, or 0. `wanted`: the preferred start, used if it is free.
Error reserve_addresses(std::size_t bytes, std::size_t alignment, std::uintptr_t wanted,
                        std::uintptr_t& address);
Error free_addresses(std::uintptr_t address, std::size_t bytes);
/// Maps the start of this memory. The mapping is not accessible until set_access().
Error map_physical(std::uintptr_t address, std::size_t bytes, PhysicalHandle handle);
// Operations on a range that consists of whole mappings.
Error unmap_physical(std::uintptr_t address, std::size_t bytes);
Error set_access(std::uintptr_t address, std::size_t bytes, Access access);

struct Mapped {
  std::uintptr_t address = 0;
  std::size_t bytes = 0;
  std::uintptr_t device = 0;  // device address of the first byte
  Access access = Access::None;
};
/// The mapping that contains the address, or nothing.
[[nodiscard]] std::optional<Mapped> mapped_at(const void* pointer);
/// True for an address in the range of possible reservations, mapped or not.
[[nodiscard]] bool is_virtual(const void* pointer);
/// The number of bytes, of `bytes` from `pointer` on, that are in the same mapping. Adjacent mappings may be
/// in different places of device memory. For any other memory, `bytes`.
[[nodiscard]] std::size_t bytes_in_one_mapping(const void* pointer, std::size_t bytes);

}  // namespace gpumux::cudart
