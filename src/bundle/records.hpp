// What a bundle holds: the calls by which a CUDA program used its GPU, in their order. docs/bundles.md has
// the file, byte by byte; bundle/writer.hpp writes it, bundle/reader.hpp reads it.
//
// The calls are those of runtime::Host, at that level: what CUDA's run time says beside them (that the legacy
// default stream waits for all others, what a cudaMemcpy from pageable memory waits for) is there as events,
// waits and synchronisations. Streams, events, modules and copies from the device are numbered as they are
// made; stream 0 is there from the start.
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

/// Bytes that were copied: in pieces of kPieceBytes (the last may be shorter), each of which a file has once.
inline constexpr std::uint64_t kPieceBytes = std::uint64_t{256} << 10U;
struct Content {
  std::uint64_t bytes = 0;
  std::vector<std::uint32_t> pieces;  // numbers of pieces, in order
  friend bool operator==(const Content&, const Content&) = default;
};

/// XXH3's 128 bits of some bytes.
struct Digest {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  friend bool operator==(const Digest&, const Digest&) = default;
};

/// A module from here on has the next number. `name`: what messages about its PTX call it, one line.
/// `variables`: its .global variables, where they lay.
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
/// What came is a Result behind it, once it was known.
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
/// From linear memory to an array, whose texels lie in tiles (workload::TextureArray).
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
/// To a variable by name; a .const one has no address.
struct CopyToSymbol {
  std::uint32_t module = 0;
  std::string symbol;
  std::uint64_t offset = 0;
  Content from;
  runtime::StreamId stream = 0;
};
/// The host wrote memory that it shares with the device (managed, pinned): at once, in no stream, over no
/// link.
struct HostWrite {
  Address to = 0;
  Content from;
};
/// Between device memory and memory that it shares with the host, over the link in this direction.
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
  std::uint64_t handle = 0;  // what it got: kernels have it among their parameters
};
struct DestroyTexture {
  std::uint64_t handle = 0;
};
struct Launch {
  std::uint32_t module = 0;
  std::string kernel;  // its name in the PTX
  Dim3 grid;
  Dim3 block;
  std::uint32_t shared_bytes = 0;  // dynamic
  bool cooperative = false;        // all blocks are to be resident at once
  std::string parameters;          // all of the kernel's, as laid out by its .param list
  runtime::StreamId stream = 0;
  std::uint64_t heap_bytes = 0;  // for malloc in kernels; 0: as much as the machine says
  std::uint8_t priority = 0;     // 0 in a Launch by itself
};
/// One whose priority is not 0.
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
/// The host waited.
struct Synchronize {
  enum class What : std::uint8_t { Device, Stream, Event };
  What what = What::Device;
  std::uint32_t id = 0;  // of the stream or event; of the device 0
};
/// The host computed between two calls.
struct HostTime {
  std::uint64_t ns = 0;
};
/// What the `copy`-th CopyFromDevice of the bundle (from 0) brought, where the host could know it: the stream
/// was synchronised.
struct Result {
  std::uint64_t copy = 0;
  Digest digest;
};

/// A texture object of a mipmap; `resource` has its first level.
struct CreateMipmapTexture {
  CreateTexture texture;
};
struct CreateSurface {
  workload::TextureArray array;
  std::uint64_t handle = 0;
};
/// Of a box of an array, whose bytes lie in `from` without gaps.
struct CopyToBox {
  workload::BoxEnd to;
  workload::BoxSize size;
  Content from;
  runtime::StreamId stream = 0;
};
/// Numbered with CopyFromDevice, and with a Result as that has.
struct CopyFromBox {
  workload::BoxEnd from;
  workload::BoxSize size;
  runtime::StreamId stream = 0;
};
/// One end, or both, is an array.
struct CopyBox {
  workload::BoxEnd to;
  workload::BoxEnd from;
  workload::BoxSize size;
  std::optional<runtime::HostCopy> link;
  runtime::StreamId stream = 0;
};

/// What comes between the two is kept, as Host::begin_body() has it. A body from here on has the next number.
struct BeginBody {};
struct EndBody {};
struct EnqueueCondition {
  runtime::Condition condition;
  runtime::StreamId stream = 0;
};

/// Kernels find device memory at an address of the host, too, which has it there.
struct MapHost {
  Address host = 0;
  std::uint64_t bytes = 0;
  Address device = 0;
};
/// What began at this address of the host.
struct UnmapHost {
  Address host = 0;
};

/// Blocks of a kernel take so many registers per thread of an SM.
struct SetRegisters {
  std::uint32_t module = 0;
  std::string kernel;
  std::uint32_t registers = 0;
};

/// Launches of kernels by kernels that may be pending from here on.
struct LimitLaunches {
  std::uint64_t launches = 0;
};

/// The order is that of the kinds in a file: new ones go to the end.
using Record =
    std::variant<LoadModule, Allocate, Free, CopyToDevice, CopyFromDevice, CopyOnDevice, CopyToArray, Fill,
                 CopyToSymbol, HostWrite, CreateTexture, DestroyTexture, Launch, CreateStream, CreateEvent,
                 RecordEvent, StreamWaitEvent, Synchronize, HostTime, Result, CopyPinned, CreateMipmapTexture,
                 CreateSurface, CopyToBox, CopyFromBox, CopyBox, LaunchWithPriority, BeginBody, EndBody,
                 EnqueueCondition, MapHost, UnmapHost, SetRegisters, LimitLaunches>;

/// Limits of what a bundle may say; beyond them it is refused, written as well as read.
inline constexpr std::uint64_t kMostAddresses = std::uint64_t{1}
                                                << 36U;   // bytes of an address space, and of a copy
inline constexpr std::uint32_t kMostBoxRows = 1U << 17U;  // of a slice, and slices of a box
inline constexpr std::uint32_t kMostModules = 1U << 16U;
inline constexpr std::uint64_t kMostPtx = std::uint64_t{256} << 20U;        // bytes, of all modules together
inline constexpr std::uint32_t kMostVariables = 1U << 16U;                  // of a module
inline constexpr std::uint64_t kMostAllocations = 1U << 20U;                // at a time
inline constexpr std::uint64_t kMostHostAddress = std::uint64_t{1} << 57U;  // of five levels of page tables
inline constexpr std::uint64_t kMostHostPieces = 1U << 16U;                 // at a time
inline constexpr std::uint32_t kMostStreams = 1U << 16U;
inline constexpr std::uint32_t kMostEvents = 1U << 22U;
inline constexpr std::uint32_t kMostBodies = 1U << 20U;
inline constexpr std::uint32_t kMostBranches = 1U << 16U;  // bodies of a condition
inline constexpr std::uint32_t kMostName = 1U << 16U;      // bytes, of a kernel, module or variable
inline constexpr std::uint32_t kMostParameters = 32764;    // bytes, as CUDA 12.1 and later allow
inline constexpr std::uint64_t kMostPendingLaunches = std::uint64_t{1} << 40U;
inline constexpr std::uint32_t kMostShared = 1U << 20U;
inline constexpr std::uint64_t kMostHostTime = std::uint64_t{1} << 50U;     // ns: 13 days
inline constexpr std::uint64_t kMostRecordBytes = std::uint64_t{1} << 30U;  // of all records, unpacked

}  // namespace gpumux::bundle
