// Interface for kernels that launch kernels (CUDA dynamic parallelism).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/types.hpp"
#include "emulator/program.hpp"

namespace gpumux::emulator {

/// Error codes of cudaError_t.
enum class DeviceError : std::uint32_t {
  None = 0,
  InvalidValue = 1,
  MemoryAllocation = 2,
  InvalidConfiguration = 9,
  LaunchMaxDepthExceeded = 65,
  LaunchPendingCountExceeded = 69,
  InvalidDeviceFunction = 98,
  InvalidDevice = 101,
  UnsupportedLimit = 215,
  InvalidResourceHandle = 400,
  LaunchOutOfResources = 701,
  NotSupported = 801
};
/// Name and text of an error in CUDA.
[[nodiscard]] const char* error_name(std::uint32_t error);
[[nodiscard]] const char* error_text(std::uint32_t error);

/// cudaStream_t values with a predefined meaning in kernels.
struct DeviceStream {
  static constexpr std::uint64_t kNull = 0;    // stream of the block
  static constexpr std::uint64_t kLegacy = 1;  // stream of the block
  static constexpr std::uint64_t kPerThread = 2;
  static constexpr std::uint64_t kTailLaunch = 3;
  static constexpr std::uint64_t kFireAndForget = 4;
};

/// A calling thread.
struct DeviceThread {
  std::uint32_t grid = 0;    // LaunchConfig::ticket
  std::uint64_t block = 0;   // index in its grid
  std::uint32_t thread = 0;  // index in its block
};

/// The launches of kernels by kernels, for one run of an application. Not thread safe.
class DeviceRuntime {
 public:
  virtual ~DeviceRuntime() = default;

  /// A prepared launch.
  struct Prepared {
    LoadedModule* module = nullptr;
    const KernelInfo* kernel = nullptr;
    LaunchConfig config;  // without parameters
  };
  /// Allocates memory for the parameters of a launch, until take(). Returns 0 if there is no memory.
  [[nodiscard]] Address prepare(Prepared launch);
  /// Takes a prepared launch with its current parameters. Nothing if no launch was prepared at this address.
  [[nodiscard]] std::optional<Prepared> take(Address parameters);
  /// Number of bytes of parameters at this address.
  [[nodiscard]] std::uint32_t parameter_bytes(Address parameters) const {
    return prepared_.at(parameters).kernel->code.param_bytes;
  }
  /// A text in device memory.
  [[nodiscard]] Address text(const char* text);

  virtual DeviceError launch(const DeviceThread& by, std::uint64_t stream, Prepared launch) = 0;
  virtual DeviceError copy(const DeviceThread& by, std::uint64_t stream, Address to, Address from,
                           std::uint64_t bytes) = 0;
  virtual DeviceError fill(const DeviceThread& by, std::uint64_t stream, Address to, std::uint8_t value,
                           std::uint64_t bytes) = 0;
  virtual DeviceError create_stream(const DeviceThread& by, std::uint64_t& stream) = 0;
  virtual DeviceError destroy_stream(const DeviceThread& by, std::uint64_t stream) = 0;
  virtual DeviceError create_event(const DeviceThread& by, std::uint64_t& event) = 0;
  virtual DeviceError destroy_event(const DeviceThread& by, std::uint64_t event) = 0;
  virtual DeviceError record_event(const DeviceThread& by, std::uint64_t event, std::uint64_t stream) = 0;
  virtual DeviceError wait_event(const DeviceThread& by, std::uint64_t stream, std::uint64_t event) = 0;

  /// The value of a cudaDeviceAttr, or nothing for an unknown one.
  [[nodiscard]] virtual std::optional<std::int32_t> attribute(std::uint32_t attribute) const = 0;
  /// Limit of pending launches.
  [[nodiscard]] virtual std::uint64_t pending_limit() const = 0;
  /// Number of blocks of the kernel that fit on an SM.
  [[nodiscard]] virtual std::uint32_t occupancy(const KernelInfo& kernel, std::uint32_t threads,
                                                std::uint64_t shared_bytes) const = 0;

 protected:
  explicit DeviceRuntime(workload::DeviceMemory& memory) : memory_(memory) {}
  workload::DeviceMemory& memory_;

 private:
  std::map<Address, Prepared> prepared_;
  std::map<std::uint32_t, std::vector<Address>> free_;  // free parameter buffers by size in bytes
  std::map<const char*, Address> texts_;                // only for lookups
};

}  // namespace gpumux::emulator
