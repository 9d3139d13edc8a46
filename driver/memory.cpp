// Allocations, and attributes of pointers. Memory belongs to the context in which it was allocated.
#include "cudart/allocations.hpp"

#include <cstring>

#include "cudart/api.hpp"
#include "driver/call.hpp"

namespace gpumux::driver {
namespace {

using program::MemoryKind;

/// Allocates by `call`, which stores the address in its argument.
template <class Function>
Result allocate(DevicePointer* address, std::size_t bytes, const Function& call) {
  return in_context([&] {
    if (address == nullptr || bytes == 0) return Error::InvalidValue;
    void* pointer = nullptr;
    const Error error = call(&pointer);
    if (error != Error::Success) return error;
    cudart::own(pointer, owner_of(current_context()));
    *address = reinterpret_cast<DevicePointer>(pointer);
    return Error::Success;
  });
}

Result allocate_host(void** pointer, std::size_t bytes, unsigned flags) {
  DevicePointer address = 0;
  const Result result = pointer == nullptr ? Result::InvalidValue : allocate(&address, bytes, [=](void** to) {
    return cudart::cudaHostAlloc(to, bytes, flags);
  });
  if (result == Result::Success) *pointer = pointer_to(address);
  return result;
}

Result register_host(void* pointer, std::size_t bytes, unsigned flags) {
  return in_context([=] { return cudart::cudaHostRegister(pointer, bytes, flags); });
}

Result prefetch(DevicePointer address, std::size_t bytes) {
  return in_context([=] { return cudart::cudaMemPrefetchAsync(pointer_to(address), bytes); });
}

template <class T>
void put(void* to, const T& value) {
  *static_cast<T*>(to) = value;
}

/// Writes a CUpointer_attribute. Returns false for an unknown attribute.
bool put_attribute(void* to, int attribute, const cudart::AllocationInfo& of, const void* pointer) {
  const bool on_host = of.kind == MemoryKind::Pinned;
  switch (attribute) {
    case 1: put(to, context_of(of.owner)); return true;
    case 2: put(to, on_host ? MemoryType::Host : MemoryType::Device); return true;
    case 3: put(to, pointer); return true;
    case 4: put(to, of.kind == MemoryKind::Device ? nullptr : pointer); return true;
    case 6: put(to, false); return true;                      // copies always block
    case 7: put(to, std::uint64_t{of.address}); return true;  // an identifier of the memory
    case 8: put(to, of.kind == MemoryKind::Managed); return true;
    case 9: put(to, 0); return true;  // device
    case 10: put(to, false); return true;
    case 11: put(to, std::uint64_t{of.address}); return true;
    case 12: put(to, of.bytes); return true;
    case 13: put(to, true); return true;
    default: return false;
  }
}
std::size_t bytes_of(int attribute) {
  switch (attribute) {
    case 2:
    case 9: return sizeof(int);
    case 6:
    case 8:
    case 10:
    case 13: return sizeof(bool);
    default: return sizeof(std::uint64_t);
  }
}

}  // namespace

GPUMUX_DRIVER_API Result cuMemAlloc_v2(DevicePointer* address, std::size_t bytes) {
  return allocate(address, bytes, [=](void** to) { return cudart::cudaMalloc(to, bytes); });
}
GPUMUX_DRIVER_API Result cuMemAllocPitch_v2(DevicePointer* address, std::size_t* pitch, std::size_t width,
                                            std::size_t height, unsigned element_bytes) {
  if (pitch == nullptr || (element_bytes != 4 && element_bytes != 8 && element_bytes != 16))
    return Result::InvalidValue;
  return allocate(address, width * height,
                  [=](void** to) { return cudart::cudaMallocPitch(to, pitch, width, height); });
}
GPUMUX_DRIVER_API Result cuMemAllocManaged(DevicePointer* address, std::size_t bytes, unsigned flags) {
  return allocate(address, bytes, [=](void** to) { return cudart::cudaMallocManaged(to, bytes, flags); });
}
GPUMUX_DRIVER_API Result cuMemAllocHost(void** pointer, std::size_t bytes) {
  return allocate_host(pointer, bytes, 0);
}
GPUMUX_DRIVER_API Result cuMemAllocHost_v2(void** pointer, std::size_t bytes) {
  return allocate_host(pointer, bytes, 0);
}
GPUMUX_DRIVER_API Result cuMemHostAlloc(void** pointer, std::size_t bytes, unsigned flags) {
  return allocate_host(pointer, bytes, flags);
}
GPUMUX_DRIVER_BOTH(cuMemAllocAsync, _ptsz,
                   (DevicePointer * address, std::size_t bytes, cudart::StreamHandle stream),
                   (static_cast<void>(per_thread), allocate(address, bytes, [=](void** to) {
                      return cudart::cudaMallocAsync(to, bytes, stream);
                    })))
GPUMUX_DRIVER_BOTH(cuMemAllocFromPoolAsync, _ptsz,
                   (DevicePointer * address, std::size_t bytes, void* pool, cudart::StreamHandle stream),
                   (static_cast<void>(per_thread), allocate(address, bytes, [=](void** to) {
                      return cudart::cudaMallocFromPoolAsync(to, bytes, pool, stream);
                    })))
GPUMUX_DRIVER_API Result cuMemFree_v2(DevicePointer address) {
  return in_context([=] { return cudart::cudaFree(pointer_to(address)); });
}
GPUMUX_DRIVER_API Result cuMemFreeHost(void* pointer) {
  return in_context([=] { return cudart::cudaFreeHost(pointer); });
}
GPUMUX_DRIVER_BOTH(cuMemFreeAsync, _ptsz, (DevicePointer address, cudart::StreamHandle stream),
                   in_context([=] {
                     return per_thread ? cudart::cudaFreeAsync_ptsz(pointer_to(address), stream)
                                       : cudart::cudaFreeAsync(pointer_to(address), stream);
                   }))

GPUMUX_DRIVER_API Result cuMemHostRegister(void* pointer, std::size_t bytes, unsigned flags) {
  return register_host(pointer, bytes, flags);
}
GPUMUX_DRIVER_API Result cuMemHostRegister_v2(void* pointer, std::size_t bytes, unsigned flags) {
  return register_host(pointer, bytes, flags);
}
GPUMUX_DRIVER_API Result cuMemHostUnregister(void* pointer) {
  return in_context([=] { return cudart::cudaHostUnregister(pointer); });
}
GPUMUX_DRIVER_API Result cuMemHostGetDevicePointer_v2(DevicePointer* address, void* host, unsigned flags) {
  return in_context([=] {
    void* pointer = nullptr;
    if (address == nullptr) return Error::InvalidValue;
    const Error error = cudart::cudaHostGetDevicePointer(&pointer, host, flags);
    *address = reinterpret_cast<DevicePointer>(pointer);
    return error;
  });
}
GPUMUX_DRIVER_API Result cuMemHostGetFlags(unsigned* flags, void* host) {
  return in_context([=] { return cudart::cudaHostGetFlags(flags, host); });
}

GPUMUX_DRIVER_API Result cuMemGetInfo_v2(std::size_t* free, std::size_t* total) {
  return in_context([=] { return cudart::cudaMemGetInfo(free, total); });
}
GPUMUX_DRIVER_API Result cuMemGetAddressRange_v2(DevicePointer* first, std::size_t* bytes,
                                                 DevicePointer address) {
  return with_context([=] {
    const auto found = cudart::allocation_at(pointer_to(address));
    if (!found) return Result::NotFound;
    if (first != nullptr) *first = found->address;
    if (bytes != nullptr) *bytes = found->bytes;
    return Result::Success;
  });
}

GPUMUX_DRIVER_API Result cuPointerGetAttribute(void* data, int attribute, DevicePointer address) {
  return initialized([=] {
    const void* const pointer = pointer_to(address);
    const auto found = cudart::allocation_at(pointer);
    const bool put = data != nullptr && found && put_attribute(data, attribute, *found, pointer);
    return put ? Error::Success : Error::InvalidValue;
  });
}
GPUMUX_DRIVER_API Result cuPointerGetAttributes(unsigned count, const int* attributes, void** data,
                                                DevicePointer address) {
  return initialized([=] {
    const void* const pointer = pointer_to(address);
    const auto found = cudart::allocation_at(pointer);
    for (unsigned i = 0; i < count; ++i) {
      if (found) {
        if (!put_attribute(data[i], attributes[i], *found, pointer)) return Error::InvalidValue;
        continue;
      }
      // Memory that CUDA does not know. Attributes of it are no error here.
      std::memset(data[i], 0, bytes_of(attributes[i]));
      if (attributes[i] == 9) put(data[i], -2);
    }
    return Error::Success;
  });
}

// Hints, which have no effect (cudart/allocations.cpp). Versions differ in how they name a device.
GPUMUX_DRIVER_API Result cuMemPrefetchAsync(DevicePointer address, std::size_t bytes) {
  return prefetch(address, bytes);
}
GPUMUX_DRIVER_API Result cuMemPrefetchAsync_ptsz(DevicePointer address, std::size_t bytes) {
  return prefetch(address, bytes);
}
GPUMUX_DRIVER_API Result cuMemPrefetchAsync_v2(DevicePointer address, std::size_t bytes) {
  return prefetch(address, bytes);
}
GPUMUX_DRIVER_API Result cuMemPrefetchAsync_v2_ptsz(DevicePointer address, std::size_t bytes) {
  return prefetch(address, bytes);
}
GPUMUX_DRIVER_API Result cuMemAdvise(DevicePointer address, std::size_t bytes) {
  return prefetch(address, bytes);
}
GPUMUX_DRIVER_API Result cuMemAdvise_v2(DevicePointer address, std::size_t bytes) {
  return prefetch(address, bytes);
}
GPUMUX_DRIVER_API Result cuStreamAttachMemAsync(cudart::StreamHandle, DevicePointer address,
                                                std::size_t bytes, unsigned) {
  return prefetch(address, bytes);
}
GPUMUX_DRIVER_API Result cuStreamAttachMemAsync_ptsz(cudart::StreamHandle, DevicePointer address,
                                                     std::size_t bytes, unsigned) {
  return prefetch(address, bytes);
}

GPUMUX_DRIVER_API Result cuMemPoolCreate(void** pool, const void* properties) {
  return initialized([=] { return cudart::cudaMemPoolCreate(pool, properties); });
}
GPUMUX_DRIVER_API Result cuMemPoolDestroy(void* pool) {
  return initialized([=] { return cudart::cudaMemPoolDestroy(pool); });
}
GPUMUX_DRIVER_API Result cuMemPoolTrimTo(void* pool, std::size_t bytes) {
  return initialized([=] { return cudart::cudaMemPoolTrimTo(pool, bytes); });
}
GPUMUX_DRIVER_API Result cuMemPoolSetAttribute(void* pool, int attribute, void* value) {
  return initialized([=] { return cudart::cudaMemPoolSetAttribute(pool, attribute, value); });
}
GPUMUX_DRIVER_API Result cuMemPoolGetAttribute(void* pool, int attribute, void* value) {
  return initialized([=] { return cudart::cudaMemPoolGetAttribute(pool, attribute, value); });
}
GPUMUX_DRIVER_API Result cuMemPoolSetAccess(void* pool, const void* access, std::size_t count) {
  return initialized([=] { return cudart::cudaMemPoolSetAccess(pool, access, count); });
}

}  // namespace gpumux::driver
