// Virtual memory management: physical memory, address reservations, and mappings between them.
#include "cudart/mappings.hpp"
#include "driver/call.hpp"

namespace gpumux::driver {
namespace {

using cudart::Access;
using cudart::PhysicalHandle;

/// Checks the properties of memory: it must be on device 0, without a handle for other processes.
Error check(const MemoryProperties* of) {
  if (of == nullptr || of->type != MemoryProperties::kPinned) return Error::InvalidValue;
  if (of->location.type != MemoryLocation::kDevice)
    return cudart::not_supported("cuMemCreate of memory of the host");
  if (of->location.id != 0) return Error::InvalidDevice;
  if (of->handle_types != 0) return cudart::not_supported("cuMemCreate of memory for other processes");
  return Error::Success;
}

bool is_device(const MemoryLocation& location) {
  return location.type == MemoryLocation::kDevice && location.id == 0;
}

}  // namespace

GPUMUX_DRIVER_API Result cuMemGetAllocationGranularity(std::size_t* granularity, const MemoryProperties* of,
                                                       int option) {
  return initialized([=] {
    if (granularity == nullptr || option < 0 || option > 1) return Error::InvalidValue;
    if (const Error error = check(of); error != Error::Success) return error;
    *granularity = cudart::kMappingGranularity;
    return Error::Success;
  });
}
GPUMUX_DRIVER_API Result cuMemCreate(PhysicalHandle* handle, std::size_t bytes, const MemoryProperties* of,
                                     unsigned long long flags) {
  return initialized([=] {
    if (handle == nullptr || flags != 0) return Error::InvalidValue;
    if (const Error error = check(of); error != Error::Success) return error;
    return cudart::create_physical(bytes, *handle);
  });
}
GPUMUX_DRIVER_API Result cuMemRelease(PhysicalHandle handle) {
  return initialized([=] { return cudart::release_physical(handle); });
}
GPUMUX_DRIVER_API Result cuMemRetainAllocationHandle(PhysicalHandle* handle, void* pointer) {
  return initialized(
      [=] { return handle == nullptr ? Error::InvalidValue : cudart::retain_physical(pointer, *handle); });
}
GPUMUX_DRIVER_API Result cuMemGetAllocationPropertiesFromHandle(MemoryProperties* of, PhysicalHandle handle) {
  return initialized([=] {
    if (of == nullptr || !cudart::is_physical(handle)) return Error::InvalidValue;
    *of = {};
    of->type = MemoryProperties::kPinned;
    of->location = {MemoryLocation::kDevice, 0};
    return Error::Success;
  });
}

GPUMUX_DRIVER_API Result cuMemAddressReserve(DevicePointer* address, std::size_t bytes, std::size_t alignment,
                                             DevicePointer wanted, unsigned long long flags) {
  return initialized([=] {
    if (address == nullptr || flags != 0) return Error::InvalidValue;
    std::uintptr_t reserved = 0;
    const Error error = cudart::reserve_addresses(bytes, alignment, wanted, reserved);
    *address = reserved;
    return error;
  });
}
GPUMUX_DRIVER_API Result cuMemAddressFree(DevicePointer address, std::size_t bytes) {
  return initialized([=] { return cudart::free_addresses(address, bytes); });
}
// The offset must be 0, as documented.
GPUMUX_DRIVER_API Result cuMemMap(DevicePointer address, std::size_t bytes, std::size_t offset,
                                  PhysicalHandle handle, unsigned long long flags) {
  return initialized([=] {
    return offset != 0 || flags != 0 ? Error::InvalidValue : cudart::map_physical(address, bytes, handle);
  });
}
GPUMUX_DRIVER_API Result cuMemUnmap(DevicePointer address, std::size_t bytes) {
  return initialized([=] { return cudart::unmap_physical(address, bytes); });
}
GPUMUX_DRIVER_API Result cuMemSetAccess(DevicePointer address, std::size_t bytes,
                                        const MemoryAccess* accesses, std::size_t count) {
  return initialized([=] {
    if (accesses == nullptr || count == 0) return Error::InvalidValue;
    for (std::size_t i = 0; i < count; ++i) {
      const auto access = static_cast<Access>(accesses[i].access);
      if (access != Access::None && access != Access::Read && access != Access::ReadWrite)
        return Error::InvalidValue;
      if (!is_device(accesses[i].location)) return Error::InvalidDevice;
    }
    for (std::size_t i = 0; i < count; ++i) {
      const Error error = cudart::set_access(address, bytes, static_cast<Access>(accesses[i].access));
      if (error != Error::Success) return error;
    }
    return Error::Success;
  });
}
GPUMUX_DRIVER_API Result cuMemGetAccess(unsigned long long* access, const MemoryLocation* location,
                                        DevicePointer address) {
  return initialized([=] {
    const std::scoped_lock lock(Session::get().lock());
    const auto mapped = cudart::mapped_at(pointer_to(address));
    if (access == nullptr || location == nullptr || !mapped) return Error::InvalidValue;
    if (!is_device(*location)) return Error::InvalidDevice;
    *access = static_cast<unsigned long long>(mapped->access);
    return Error::Success;
  });
}

}  // namespace gpumux::driver
