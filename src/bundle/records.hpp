// The records of a bundle: the calls by which a CUDA program used its GPU, in their order. docs/bundles.md
// describes the file byte by byte, bundle/writer.hpp writes it, bundle/reader.hpp reads it.
//
// Records are calls of runtime::Host. Implicit rules of CUDA's run time (the legacy default stream waits for
// all other streams, a cudaMemcpy from pageable memory waits) are recorded as events, waits and
// synchronisations. Streams, events, modules and copies from the device are numbered in the order of their
// creation. Stream 0 exists from the start.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/types.hpp"
#include "runtime/host.hpp"
#include "workload/address_space.hpp"
#include "workload/texture.hpp"

namespace gpumux::bundle {

/// The bytes of a copy, divided into pieces of kPieceBytes (the last may be shorter). The file stores each
/// distinct piece once.
inline constexpr std::uint64_t kPieceBytes = std::uint64_t{256} << 10U;
struct Content {
  std::uint64_t bytes = 0;
  std::vector<std::uint32_t> pieces;  // piece numbers in order
  friend bool operator==(const Content&, const Content&) = default;
};

/// The 128-bit XXH3 hash of some bytes.
struct Digest {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  friend bool operator==(const Digest&, const Digest&) = default;
};

/// Loads a module, which gets the next module number. `name`: the name of its PTX in messages, one line.
/// `variables`: its .global variables with their recorded addresses.
struct LoadModule {
  std::string name;
  Content ptx;
  std::vector<workload::PlacedVariable> variables;
};
struct Allocate {
  Address address = 0;  // a multiple of 256
  std::uint64_t bytes = 0;
};
struct Free {
  Address address = 0;
};
struct CopyToDevice {
  Address to = 0;
  Content from;
  runtime::StreamId stream = 0;
};
/// Copies bytes from the device. A later Result holds a digest of the bytes, once the host could know them.
struct CopyFromDevice {
  Address from = 0;
  std::uint64_t bytes = 0;
  runtime::StreamId stream = 0;
};
struct CopyOnDevice {
  Address to = 0;
  Address from = 0;
  std::uint64_t bytes = 0;
  runtime::StreamId stream = 0;
};
/// Copies from linear memory to an array, whose texels are stored in tiles (workload::TextureArray).
struct CopyToArray {
  workload::TextureArray to;
  Address from = 0;
  runtime::StreamId stream = 0;
};
struct Fill {
  Address to = 0;
  std::uint8_t value = 0;
  std::uint64_t bytes = 0;
  runtime::StreamId stream = 0;
};
/// Copies to a variable by name. A .const variable has no address.
struct CopyToSymbol {
  std::uint32_t module = 0;
  std::string symbol;
  std::uint64_t offset = 0;
  Content from;
  runtime::StreamId stream = 0;
};
/// A write of the host to memory that it shares with the device (managed, pinned). Acts at once, in no
/// stream, without using the link.
struct HostWrite {
  Address to = 0;
  Content from;
};
/// Copies between device memory and memory that is shared with the host, over the link in this direction.
struct CopyPinned {
  runtime::HostCopy direction = runtime::HostCopy::ToDevice;
  Address to = 0;
  Address from = 0;
  std::uint64_t bytes = 0;
  runtime::StreamId stream = 0;
};
struct CreateTexture {
  workload::TextureResource resource;
  workload::TextureSettings settings;
  std::uint64_t handle = 0;  // the recorded handle, which kernels have among their parameters
};
struct DestroyTexture {
  std::uint64_t handle = 0;
};
struct Launch {
  std::uint32_t module = 0;
  std::string kernel;  // name in the PTX
  Dim3 grid;
  Dim3 block;
  std::uint32_t shared_bytes = 0;  // dynamic
  bool cooperative = false;        // all blocks must be resident together
  std::string parameters;          // all parameters, in the layout of the kernel's .param list
  runtime::StreamId stream = 0;
  std::uint64_t heap_bytes = 0;  // heap for malloc in kernels; 0: the machine's default
  std::uint8_t priority = 0;     // 0 in a plain Launch record
};
/// A launch with a nonzero priority.
struct LaunchWithPriority {
  Launch launch;
};
struct CreateStream {};
struct CreateEvent {};
struct RecordEvent {
  runtime::EventId event = 0;
  runtime::StreamId stream = 0;
};
struct StreamWaitEvent {
  runtime::StreamId stream = 0;
  runtime::EventId event = 0;
};
/// A wait of the host.
struct Synchronize {
  enum class What : std::uint8_t { Device, Stream, Event };
  What what = What::Device;
  std::uint32_t id = 0;  // number of the stream or event; 0 for the device
};
/// The host's computing time between two calls.
struct HostTime {
  std::uint64_t ns = 0;
};
/// The digest of the bytes of the `copy`-th CopyFromDevice or CopyFromBox (from 0). Recorded when the copy's
/// stream was synchronised.
struct Result {
  std::uint64_t copy = 0;
  Digest digest;
};

/// Creates a texture object of a mipmap. `resource` has the mipmap's first level.
struct CreateMipmapTexture {
  CreateTexture texture;
};
struct CreateSurface {
  workload::TextureArray array;
  std::uint64_t handle = 0;
};
/// Copies to a box of an array. The bytes in `from` have no gaps.
struct CopyToBox {
  workload::BoxEnd to;
  workload::BoxSize size;
  Content from;
  runtime::StreamId stream = 0;
};
/// Copies from a box of an array. Numbered together with CopyFromDevice, and also followed by a Result.
struct CopyFromBox {
  workload::BoxEnd from;
  workload::BoxSize size;
  runtime::StreamId stream = 0;
};
/// Copies between two boxes, at least one of which is in an array.
struct CopyBox {
  workload::BoxEnd to;
  workload::BoxEnd from;
  workload::BoxSize size;
  std::optional<runtime::HostCopy> link;
  runtime::StreamId stream = 0;
};

/// Records between BeginBody and EndBody form a body, which gets the next body number (Host::begin_body()).
struct BeginBody {};
struct EndBody {};
struct EnqueueCondition {
  runtime::Condition condition;
  runtime::StreamId stream = 0;
};

/// Maps device memory at a host address as well, so that kernels can use the host's address.
struct MapHost {
  Address host = 0;
  std::uint64_t bytes = 0;
  Address device = 0;
};
/// Ends the mapping that starts at this host address.
struct UnmapHost {
  Address host = 0;
};

/// Sets the registers per thread that blocks of a kernel occupy on an SM.
struct SetRegisters {
  std::uint32_t module = 0;
  std::string kernel;
  std::uint32_t registers = 0;
};

/// Limits the number of pending launches of kernels by kernels from here on.
struct LimitLaunches {
  std::uint64_t launches = 0;
};

/// The order of kinds is that of their numbers in the file, so new kinds are appended.
using Record =
    std::variant<LoadModule, Allocate, Free, CopyToDevice, CopyFromDevice, CopyOnDevice, CopyToArray, Fill,
                 CopyToSymbol, HostWrite, CreateTexture, DestroyTexture, Launch, CreateStream, CreateEvent,
                 RecordEvent, StreamWaitEvent, Synchronize, HostTime, Result, CopyPinned, CreateMipmapTexture,
                 CreateSurface, CopyToBox, CopyFromBox, CopyBox, LaunchWithPriority, BeginBody, EndBody,
                 EnqueueCondition, MapHost, UnmapHost, SetRegisters, LimitLaunches>;

/// Limits of a bundle. Bundles beyond them are refused, for reading and for writing.
inline constexpr std::uint64_t kMostAddresses = std::uint64_t{1}
                                                << 36U;   // bytes of an address space and of a copy
inline constexpr std::uint32_t kMostBoxRows = 1U << 17U;  // per slice; also slices per box
inline constexpr std::uint32_t kMostModules = 1U << 16U;
inline constexpr std::uint64_t kMostPtx = std::uint64_t{256} << 20U;        // bytes of all modules together
inline constexpr std::uint32_t kMostVariables = 1U << 16U;                  // per module
inline constexpr std::uint64_t kMostAllocations = 1U << 20U;                // at a time
inline constexpr std::uint64_t kMostHostAddress = std::uint64_t{1} << 57U;  // five levels of page tables
inline constexpr std::uint64_t kMostHostPieces = 1U << 16U;                 // at a time
inline constexpr std::uint32_t kMostStreams = 1U << 16U;
inline constexpr std::uint32_t kMostEvents = 1U << 22U;
inline constexpr std::uint32_t kMostBodies = 1U << 20U;
inline constexpr std::uint32_t kMostBranches = 1U << 16U;  // bodies of a condition
inline constexpr std::uint32_t kMostName = 1U << 16U;      // bytes of a kernel, module or variable name
inline constexpr std::uint32_t kMostParameters = 32764;    // bytes, as CUDA 12.1 and later allow
inline constexpr std::uint64_t kMostPendingLaunches = std::uint64_t{1} << 40U;
inline constexpr std::uint32_t kMostShared = 1U << 20U;
inline constexpr std::uint64_t kMostHostTime = std::uint64_t{1} << 50U;     // ns: 13 days
inline constexpr std::uint64_t kMostRecordBytes = std::uint64_t{1} << 30U;  // of all records, unpacked

}  // namespace gpumux::bundle
