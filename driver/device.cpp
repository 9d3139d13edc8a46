// The simulated machine as the driver's only device, number 0.
#include <algorithm>
#include <cstring>
#include <string_view>

#include "cudart/api.hpp"
#include "driver/call.hpp"

namespace gpumux::driver {
namespace {

template <class Function>
Result of_device(DeviceNumber device, const Function& call) {
  return initialized([&] { return device == 0 ? call() : Error::InvalidDevice; });
}
const program::DeviceDescription& description() { return Session::get().device(); }

Result get_uuid(cudart::Uuid* uuid, DeviceNumber device) {
  return of_device(device, [=] {
    if (uuid == nullptr) return Error::InvalidValue;
    *uuid = {"gpumux"};
    return Error::Success;
  });
}

}  // namespace

GPUMUX_DRIVER_API Result cuDeviceGet(DeviceNumber* device, int ordinal) {
  return of_device(ordinal, [=] {
    if (device == nullptr) return Error::InvalidValue;
    *device = 0;
    return Error::Success;
  });
}
GPUMUX_DRIVER_API Result cuDeviceGetCount(int* count) {
  return initialized([=] {
    if (count == nullptr) return Error::InvalidValue;
    *count = 1;
    return Error::Success;
  });
}
GPUMUX_DRIVER_API Result cuDeviceGetName(char* name, int length, DeviceNumber device) {
  return of_device(device, [=] {
    if (name == nullptr || length <= 0) return Error::InvalidValue;
    const std::string_view whole = description().name.data();
    name[whole.copy(name, static_cast<std::size_t>(length) - 1)] = '\0';
    return Error::Success;
  });
}
GPUMUX_DRIVER_API Result cuDeviceGetAttribute(int* value, int attribute, DeviceNumber device) {
  return initialized([=] { return cudart::cudaDeviceGetAttribute(value, attribute, device); });
}
GPUMUX_DRIVER_API Result cuDeviceTotalMem_v2(std::size_t* bytes, DeviceNumber device) {
  return of_device(device, [=] {
    if (bytes == nullptr) return Error::InvalidValue;
    *bytes = description().total_memory;
    return Error::Success;
  });
}
GPUMUX_DRIVER_API Result cuDeviceGetUuid(cudart::Uuid* uuid, DeviceNumber device) {
  return get_uuid(uuid, device);
}
GPUMUX_DRIVER_API Result cuDeviceGetUuid_v2(cudart::Uuid* uuid, DeviceNumber device) {
  return get_uuid(uuid, device);
}
GPUMUX_DRIVER_API Result cuDeviceComputeCapability(int* major, int* minor, DeviceNumber device) {
  return of_device(device, [=] {
    if (major == nullptr || minor == nullptr) return Error::InvalidValue;
    *major = static_cast<int>(description().capability / 10);
    *minor = static_cast<int>(description().capability % 10);
    return Error::Success;
  });
}
GPUMUX_DRIVER_API Result cuDeviceGetProperties(DeviceProperties* properties, DeviceNumber device) {
  return of_device(device, [=] {
    if (properties == nullptr) return Error::InvalidValue;
    // CUdevice_attribute numbers in the order of the structure's members.
    constexpr int kAttributes[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14};
    int values[std::size(kAttributes)] = {};
    static_assert(sizeof(values) == sizeof(*properties));
    for (std::size_t i = 0; i < std::size(kAttributes); ++i) {
      const Error error = cudart::cudaDeviceGetAttribute(&values[i], kAttributes[i], device);
      if (error != Error::Success) return error;
    }
    std::memcpy(properties, values, sizeof(values));
    return Error::Success;
  });
}
GPUMUX_DRIVER_API Result cuDeviceGetPCIBusId(char* text, int length, DeviceNumber device) {
  return initialized([=] { return cudart::cudaDeviceGetPCIBusId(text, length, device); });
}
GPUMUX_DRIVER_API Result cuDeviceGetByPCIBusId(DeviceNumber* device, const char* text) {
  return initialized([=] { return cudart::cudaDeviceGetByPCIBusId(device, text); });
}
GPUMUX_DRIVER_API Result cuDeviceCanAccessPeer(int* can, DeviceNumber device, DeviceNumber) {
  return initialized([=] { return cudart::cudaDeviceCanAccessPeer(can, device, device); });
}
GPUMUX_DRIVER_API Result cuDeviceGetExecAffinitySupport(int* supported, int, DeviceNumber device) {
  return of_device(device, [=] {
    *supported = 0;
    return Error::Success;
  });
}
GPUMUX_DRIVER_API Result cuDeviceGetDefaultMemPool(void** pool, DeviceNumber device) {
  return of_device(device, [=] { return cudart::cudaDeviceGetDefaultMemPool(pool, device); });
}
GPUMUX_DRIVER_API Result cuDeviceGetMemPool(void** pool, DeviceNumber device) {
  return of_device(device, [=] { return cudart::cudaDeviceGetMemPool(pool, device); });
}
GPUMUX_DRIVER_API Result cuDeviceSetMemPool(DeviceNumber device, void* pool) {
  return of_device(device, [=] { return cudart::cudaDeviceSetMemPool(device, pool); });
}

// Marks for a profiler, which have no effect.
GPUMUX_DRIVER_API Result cuProfilerStart() {
  return in_context([] { return Error::Success; });
}
GPUMUX_DRIVER_API Result cuProfilerStop() {
  return in_context([] { return Error::Success; });
}

}  // namespace gpumux::driver
