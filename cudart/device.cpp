// The simulated machine as CUDA's only device, number 0.
#include <array>
#include <cstdio>
#include <cstring>
#include <span>

#include "abi.hpp"
#include "device.hpp"
#include "session.hpp"
#include "version.hpp"
#include "versioned.hpp"

namespace gpumux::cudart {
namespace {

constexpr int kMostThreads = 1024;  // per block
constexpr int kMostGridX = 0x7fff'ffff;
constexpr int kMostGridYZ = 65535;
constexpr int kMostBlockZ = 64;
constexpr int kWarp = 32;
constexpr int kTextureAlignment = 512;
constexpr int kTexturePitch = 32;
/// The PCI location that the device reports: domain, bus, device and function.
constexpr unsigned kPciBus = 1;
constexpr const char* kPciAddress = "0000:01:00.0";

/// Writes the members of a structure one after the other, with the compiler's alignment.
class MemberWriter {
 public:
  explicit MemberWriter(std::span<std::byte> to) : to_(to) {}
  template <class T>
  void put(const T& value) {
    at_ = (at_ + alignof(T) - 1) / alignof(T) * alignof(T);
    std::memcpy(to_.data() + at_, &value, sizeof(T));
    at_ += sizeof(T);
  }
  void put_int(std::uint64_t value) { put(static_cast<int>(value)); }
  void put_size(std::uint64_t value) { put(static_cast<std::size_t>(value)); }
  void put_zeros(int count) {
    for (int i = 0; i < count; ++i) put(0);
  }

 private:
  std::span<std::byte> to_;
  std::size_t at_ = 0;
};

/// Fills cudaDeviceProp: 1008 bytes in CUDA 13, or 1032 bytes with additional members in CUDA 12 (`old`).
/// Members are 0 for missing features and for features without a limit, such as surfaces.
constexpr std::size_t kPropertyBytes = 1008;
constexpr std::size_t kOldPropertyBytes = 1032;

void describe(std::span<std::byte> to, bool old) {
  const program::DeviceDescription& of = Session::get().device();
  MemberWriter write(to);
  write.put(of.name);
  write.put(std::array<char, 16>{'g', 'p', 'u', 'm', 'u', 'x'});  // uuid
  write.put(std::array<char, 8>{});                               // luid
  write.put_int(0);                                               // node mask of the LUID
  write.put_size(of.total_memory);
  write.put_size(of.shared_bytes_per_block);
  write.put_int(of.registers_per_sm);  // per block
  write.put_int(kWarp);
  write.put_size(0x7fff'ffff);  // largest pitch
  write.put_int(kMostThreads);
  write.put(std::array<int, 3>{kMostThreads, kMostThreads, kMostBlockZ});
  write.put(std::array<int, 3>{kMostGridX, kMostGridYZ, kMostGridYZ});
  const auto khz = [](double mhz) { return static_cast<std::uint64_t>(mhz * 1e3); };
  if (old) write.put_int(khz(of.core_mhz));
  write.put_size(of.constant_bytes);
  write.put_int(of.capability / 10);
  write.put_int(of.capability % 10);
  write.put_size(kTextureAlignment);
  write.put_size(kTexturePitch);
  if (old) write.put_int(1);  // copies can overlap kernels
  write.put_int(of.sms);
  if (old) write.put_int(0);  // no limit on run time
  write.put_int(0);           // integrated
  write.put_int(1);           // maps host memory
  if (old) write.put_int(0);  // compute mode
  write.put_int(131072);      // textures: 1D
  write.put_int(0);           // mipmapped
  if (old) write.put_int(1U << 28U);
  write.put(std::array<int, 2>{131072, 65536});
  write.put_zeros(2);  // mipmapped textures
  write.put(std::array<int, 3>{131072, 65000, 2097120});
  write.put_zeros(2);  // gathered textures
  write.put(std::array<int, 3>{16384, 16384, 16384});
  write.put_zeros(3 + 1);  // alternate 3D, cube maps
  write.put(std::array<int, 2>{32768, 2048});
  write.put(std::array<int, 3>{32768, 32768, 2048});
  write.put_zeros(2);                          // layered cube maps
  write.put_zeros(1 + 2 + 3 + 2 + 3 + 1 + 2);  // surfaces
  write.put_size(kTextureAlignment);
  write.put_int(1);  // concurrent kernels
  write.put_int(0);  // ECC
  write.put_int(kPciBus);
  write.put_zeros(2);  // PCI device, domain
  write.put_int(0);    // TCC driver
  write.put_int(2);    // copy engines
  write.put_int(1);    // unified addressing
  if (old) write.put_int(khz(of.dram_mhz));
  write.put_int(of.dram_bus_bits);
  write.put_int(of.l2_bytes);
  write.put_int(0);  // persisting L2
  write.put_int(of.max_threads_per_sm);
  write.put_int(1);  // stream priorities
  write.put_int(of.l1_caches_global);
  write.put_int(1);  // L1 caches local memory
  write.put_size(of.shared_bytes_per_sm);
  write.put_int(of.registers_per_sm);
  write.put_int(1);    // managed memory
  write.put_zeros(2);  // multi-GPU boards
  write.put_int(0);    // native atomics on host memory
  if (old) write.put_int(of.sp_lanes_per_dp_lane);
  write.put_int(0);  // pageable memory access
  write.put_int(1);  // concurrent managed access
  write.put_int(0);  // compute preemption
  write.put_int(1);  // host pointers of registered memory
  write.put_int(1);  // cooperative launch
  if (old) write.put_int(0);
  write.put_size(of.shared_bytes_most);
  write.put_zeros(1);  // uses the host's page tables
  write.put_zeros(1);  // direct managed memory access from the host
  write.put_int(of.max_blocks_per_sm);
  write.put_int(0);    // size of an access policy window
  write.put_size(0);   // shared memory per block reserved by CUDA
  write.put_int(1);    // registration of host memory
  write.put_zeros(3);  // read-only registration, sparse arrays, timeline semaphores
  write.put_int(1);    // memory pools
}

/// The value of a cudaDeviceAttr, 0 for attributes that are not modelled.
int attribute_value(int attribute) {
  const program::DeviceDescription& of = Session::get().device();
  const auto number = [](std::uint64_t value) { return static_cast<int>(value); };
  switch (attribute) {
    case 1: return kMostThreads;
    case 2:
    case 3: return kMostThreads;
    case 4: return kMostBlockZ;
    case 5: return kMostGridX;
    case 6:
    case 7: return kMostGridYZ;
    case 8: return number(of.shared_bytes_per_block);
    case 9: return number(of.constant_bytes);
    case 10: return kWarp;
    case 11: return 0x7fff'ffff;
    case 12: return number(of.registers_per_sm);
    case 13: return static_cast<int>(of.core_mhz * 1e3);
    case 14: return kTextureAlignment;
    case 15: return 1;  // copies can overlap kernels
    case 16: return number(of.sms);
    case 19:
      return 1;  // maps host memory
    // Textures: 1D, 2D, 3D, layered 2D.
    case 21:
    case 22: return 131072;
    case 23: return 65536;
    case 24:
    case 25:
    case 26: return 16384;
    case 27:
    case 28: return 32768;
    case 29: return 2048;
    case 30: return kTextureAlignment;
    case 31: return 1;  // concurrent kernels
    case 33: return static_cast<int>(kPciBus);
    case 36: return static_cast<int>(of.dram_mhz * 1e3);
    case 37: return number(of.dram_bus_bits);
    case 38: return number(of.l2_bytes);
    case 39: return number(of.max_threads_per_sm);
    case 40: return 2;      // copy engines
    case 41: return 1;      // unified addressing
    case 42: return 32768;  // layered 1D textures
    case 43: return 2048;
    case 51: return kTexturePitch;
    case 75: return number(of.capability / 10);
    case 76: return number(of.capability % 10);
    case 79: return number(of.l1_caches_global);
    case 80: return 1;
    case 81: return number(of.shared_bytes_per_sm);
    case 82: return number(of.registers_per_sm);
    case 83: return 1;  // managed memory
    case 87: return number(of.sp_lanes_per_dp_lane);
    case 89: return 1;  // concurrent managed access
    case 91: return 1;  // host pointers of registered memory
    case 95: return 1;  // cooperative launch
    case 97: return number(of.shared_bytes_most);
    case 99: return 1;   // registration of host memory
    case 102: return 1;  // virtual memory management
    case 106: return number(of.max_blocks_per_sm);
    case 115: return 1;  // memory pools
    default: return 0;
  }
}

/// Checks the number of a device in a call. Only number 0 exists.
Error of_device(int device) {
  const Error error = connected();
  if (error != Error::Success) return error;
  return device == 0 ? Error::Success : Error::InvalidDevice;
}

}  // namespace

std::array<std::size_t, kLimits>& limits() {
  // Defaults of CUDA's documentation, except for the heap, whose size the machine defines.
  static std::array<std::size_t, kLimits> all = {
      1024, 1U << 20U, static_cast<std::size_t>(Session::get().device().heap_bytes), 0, 2048};
  return all;
}

GPUMUX_CUDART_API Error cudaGetDeviceCount(int* count) {
  const Error error = connected();
  *count = error == Error::Success ? 1 : 0;
  return returned(error);
}
GPUMUX_CUDART_API Error cudaGetDevice(int* device) {
  *device = 0;
  return returned(connected());
}
GPUMUX_CUDART_API Error cudaSetDevice(int device) { return returned(of_device(device)); }
GPUMUX_CUDART_API Error cudaInitDevice(int device, unsigned, unsigned) { return returned(of_device(device)); }
GPUMUX_CUDART_API Error cudaChooseDevice(int* device, const void*) {
  *device = 0;
  return returned(connected());
}
GPUMUX_CUDART_API Error cudaSetValidDevices(int* devices, int count) {
  for (int i = 0; i < count; ++i)
    if (devices[i] != 0) return returned(Error::InvalidDevice);
  return returned(connected());
}
// Flags select how the host waits. Waiting costs no simulated time.
GPUMUX_CUDART_API Error cudaSetDeviceFlags(unsigned) { return returned(connected()); }
GPUMUX_CUDART_API Error cudaGetDeviceFlags(unsigned* flags) {
  *flags = 0;
  return returned(connected());
}
GPUMUX_CUDART_API Error gpumux_get_device_properties(void* properties, int device, int major) {
  if (properties == nullptr) return returned(Error::InvalidValue);
  if (const Error error = of_device(device); error != Error::Success) return returned(error);
  const bool old = major < 13;
  const std::size_t bytes = old ? kOldPropertyBytes : kPropertyBytes;
  std::memset(properties, 0, bytes);
  describe({static_cast<std::byte*>(properties), bytes}, old);
  return Error::Success;
}
GPUMUX_CUDART_API Error cudaDeviceGetAttribute(int* value, int attribute, int device) {
  if (value == nullptr) return returned(Error::InvalidValue);
  if (const Error error = of_device(device); error != Error::Success) return returned(error);
  *value = attribute_value(attribute);
  return Error::Success;
}
GPUMUX_CUDART_API Error cudaDeviceGetPCIBusId(char* text, int length, int device) {
  if (text == nullptr || length <= 0) return returned(Error::InvalidValue);
  const Error error = of_device(device);
  if (error == Error::Success) std::snprintf(text, static_cast<std::size_t>(length), "%s", kPciAddress);
  return returned(error);
}
// Domain and function may be missing in the text.
GPUMUX_CUDART_API Error cudaDeviceGetByPCIBusId(int* device, const char* text) {
  if (device == nullptr || text == nullptr) return returned(Error::InvalidValue);
  unsigned domain = 0, bus = 0, slot = 0, function = 0;
  const bool whole = std::sscanf(text, "%x:%x:%x.%x", &domain, &bus, &slot, &function) >= 3;
  if (!whole) domain = 0;
  if (!whole && std::sscanf(text, "%x:%x.%x", &bus, &slot, &function) < 2)
    return returned(Error::InvalidValue);
  if (const Error error = connected(); error != Error::Success) return returned(error);
  if (domain != 0 || bus != kPciBus || slot != 0 || function != 0) return returned(Error::InvalidDevice);
  *device = 0;
  return Error::Success;
}
GPUMUX_CUDART_API Error cudaDriverGetVersion(int* version) {
  *version = kDriverVersion;
  return Error::Success;
}
// The machine divides L1 and shared memory, so this setting has no effect (docs/machines.md).
GPUMUX_CUDART_API Error cudaDeviceSetCacheConfig(int) { return returned(connected()); }
GPUMUX_CUDART_API Error cudaDeviceGetCacheConfig(int* config) {
  *config = 0;
  return returned(connected());
}
GPUMUX_CUDART_API Error cudaDeviceSetSharedMemConfig(int) { return returned(connected()); }
GPUMUX_CUDART_API Error cudaDeviceGetSharedMemConfig(int* config) {
  if (config == nullptr) return returned(Error::InvalidValue);
  *config = 1;  // banks of four bytes
  return returned(connected());
}
// The simulated L2 has no persisting accesses.
GPUMUX_CUDART_API Error cudaCtxResetPersistingL2Cache() { return returned(connected()); }

GPUMUX_CUDART_API Error cudaDeviceReset() {
  Session& session = Session::get();
  const std::scoped_lock lock(session.lock());
  if (const Error error = session.connect(); error != Error::Success) return returned(error);
  return returned(session.call(Call::WaitForDevice, program::Nothing{}));
}

// cudaLimit: 0 stack per thread and 1 buffer of printf, which are unlimited; 2 heap for malloc in kernels; 4
// pending launches of kernels by kernels.
GPUMUX_CUDART_API Error cudaDeviceSetLimit(int limit, std::size_t value) {
  if (const Error error = connected(); error != Error::Success) return returned(error);
  const auto number = static_cast<std::size_t>(limit);
  if (number >= kLimits || number == kSyncDepthLimit)
    return returned(not_supported("cudaDeviceSetLimit of this limit"));
  if (number == kPendingLimit) {
    Session& session = Session::get();
    const std::scoped_lock lock(session.lock());
    const Error error =
        session.call(Call::LimitPendingLaunches, program::LimitPendingLaunchesArguments{value});
    if (error != Error::Success) return returned(error);
  }
  limits()[number] = value;
  return Error::Success;
}
GPUMUX_CUDART_API Error cudaDeviceGetLimit(std::size_t* value, int limit) {
  if (const Error error = connected(); error != Error::Success) return returned(error);
  const auto number = static_cast<std::size_t>(limit);
  if (number >= kLimits || number == kSyncDepthLimit)
    return returned(not_supported("cudaDeviceGetLimit of this limit"));
  *value = limits()[number];
  return Error::Success;
}

// Marks for a profiler, which have no effect.
GPUMUX_CUDART_API Error cudaProfilerStart() { return Error::Success; }
GPUMUX_CUDART_API Error cudaProfilerStop() { return Error::Success; }

}  // namespace gpumux::cudart
