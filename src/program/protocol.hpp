// Protocol between the run-time library in a CUDA program's process (cudart/) and gpumux, over a socket.
// There is one request and its answer at a time. Both sides are of one build on one machine, so records are
// sent as they are in memory. This header includes nothing else of either side.
#pragma once

#include <array>
#include <cstdint>

namespace gpumux::program {

/// Version of the protocol, sent in Hello. Builds of other versions have records of other sizes.
inline constexpr std::uint32_t kProtocolVersion = 6;
/// Environment variables of the program: the numbers of the inherited socket and of the file that backs
/// device memory.
inline constexpr const char* kSocketVariable = "GPUMUX_CUDART_SOCKET";
inline constexpr const char* kMemoryVariable = "GPUMUX_CUDART_MEMORY";
/// Sizes in bytes of the two parts of that file: device memory, then the staging buffer. Copies from and to
/// memory that only the program can access go through the staging buffer.
inline constexpr std::uint64_t kDeviceBytes = std::uint64_t{1} << 36U;
inline constexpr std::uint64_t kStagingBytes = std::uint64_t{1} << 26U;

/// The error codes of CUDA's run time that gpumux uses, with their numbers (cudaError_t).
enum class Error : std::int32_t {
  Success = 0,
  InvalidValue = 1,
  MemoryAllocation = 2,
  InitializationError = 3,
  InvalidConfiguration = 9,
  InvalidSymbol = 13,
  InvalidMemcpyDirection = 21,
  MissingConfiguration = 52,
  InvalidDeviceFunction = 98,
  NoDevice = 100,
  InvalidDevice = 101,
  InvalidKernelImage = 200,
  NoKernelImageForDevice = 209,
  InvalidPtx = 218,
  InvalidResourceHandle = 400,
  SymbolNotFound = 500,
  NotReady = 600,
  IllegalAddress = 700,
  LaunchOutOfResources = 701,
  Assert = 710,
  MisalignedAddress = 716,
  LaunchFailure = 719,
  CooperativeLaunchTooLarge = 720,
  NotSupported = 801,
  Unknown = 999,
};

enum class Call : std::uint32_t {
  Hello,
  LoadModule,
  FindKernel,
  FindVariable,
  Allocate,
  Free,
  FreeInStream,
  Transfer,
  Fill,
  WriteConstant,
  ReadConstant,
  Launch,
  ActiveBlocks,
  CreateStream,
  SetStreamPriority,
  DestroyStream,
  QueryStream,
  WaitForStream,
  StreamWaitsForEvent,
  CreateEvent,
  DestroyEvent,
  RecordEvent,
  QueryEvent,
  IsEventOver,
  WaitForEvent,
  ElapsedTime,
  WaitForDevice,
  MemoryInfo,
  CreateArray,
  CopyBox,
  CreateTexture,
  DestroyTexture,
  CreateSurface,
  DestroySurface,
  BeginBody,
  EndBody,
  EnqueueCondition,
  MapHost,
  UnmapHost,
  TakeRegisters,
  KernelNames,
  LimitPendingLaunches,
  RefusedLibrary,   // tail: name of the library
  HostOrderVaries,  // the order of the threads' calls depends on their speed
  Finish,           // normal end of the process, which waits for its work
  RefusedLaunch,    // tail: the unsupported feature
};

/// Header of a request. The arguments follow, then `tail_bytes` bytes.
struct RequestHead {
  Call call;
  std::uint32_t argument_bytes;
  std::uint64_t tail_bytes;
};
/// Header of an answer. The result follows, then the text that kernels have printed, then `tail_bytes` bytes.
struct AnswerHead {
  Error error;
  std::uint32_t result_bytes;
  std::uint64_t printed_bytes;
  std::uint64_t tail_bytes;
};

/// Limit in bytes for the tail of a request or answer. Larger sizes are an error of the sender.
inline constexpr std::uint64_t kMostTailBytes = std::uint64_t{1} << 32U;

struct Nothing {};

struct HelloArguments {
  std::uint32_t protocol;
  std::uint32_t driver_version;  // 13000
  std::int64_t process;
};
/// The simulated machine as a CUDA device, and the range of its memory. Units: bytes, MHz, bits.
struct DeviceDescription {
  std::uint64_t memory_base;
  std::uint64_t memory_bytes;
  std::array<char, 256> name;
  std::uint64_t total_memory;
  std::uint64_t constant_bytes;
  double core_mhz;
  double dram_mhz;
  std::uint32_t dram_bus_bits;
  std::uint32_t l2_bytes;
  std::uint32_t sms;
  std::uint32_t max_threads_per_sm;
  std::uint32_t max_blocks_per_sm;
  std::uint32_t registers_per_sm;
  std::uint32_t shared_bytes_per_sm;
  std::uint32_t shared_bytes_per_block;  // default limit
  std::uint32_t shared_bytes_most;       // limit after a kernel has requested more
  std::uint32_t l1_caches_global;
  std::uint32_t capability;  // 75
  std::uint32_t sp_lanes_per_dp_lane;
  std::uint64_t heap_bytes;  // for malloc in kernels
};

enum class ModuleImage : std::uint32_t { FatBinary, Ptx, MachineCode };
/// Loads a part of a module. The tail is the image.
struct LoadModuleArguments {
  std::uint32_t part;   // index of this part, from 0
  std::uint32_t parts;  // number of parts: the translation units of relocatable device code
  std::uint32_t module;
  ModuleImage image;
  /// Nonzero: the program gets the error InvalidPtx for invalid PTX, and a message in the answer. Zero:
  /// invalid PTX ends the run.
  std::uint32_t heard;
  std::uint32_t check_only;  // only checks, loads nothing
};
/// Takes the kernels' register counts from the machine code that nvcc linked from a module's translation
/// units. The tail is its fat binary.
struct TakeRegistersArguments {
  std::uint32_t module;
};
struct LoadModuleResult {
  std::uint32_t module;
};

/// Asks for the names of all kernels. The answer has each name with a newline at its end.
struct KernelNamesArguments {
  std::uint32_t module;
};

/// Looks up a kernel. The tail is its name.
struct FindKernelArguments {
  std::uint32_t module;
};
struct KernelParameter {
  std::uint32_t offset;
  std::uint32_t bytes;
};
/// A kernel's properties. KernelParameter records follow.
struct KernelDescription {
  std::uint32_t kernel;
  std::uint32_t parameters;
  std::uint32_t parameter_bytes;
  std::uint32_t registers;
  std::uint32_t shared_bytes;  // static
  std::uint32_t local_bytes;   // per thread
  std::uint32_t constant_bytes;
  std::uint32_t max_threads;
  std::uint32_t ptx_version;  // 75 for compute_75
};

/// Looks up a variable. The tail is its name.
struct FindVariableArguments {
  std::uint32_t module;
  std::uint32_t managed;  // the host can access it, too
};
struct VariableDescription {
  std::uint64_t address;  // 0 for a constant, which has no address
  std::uint64_t bytes;
  std::uint32_t variable;  // for WriteConstant and ReadConstant
};

enum class MemoryKind : std::uint32_t { Device, Pinned, Managed };
struct AllocateArguments {
  std::uint64_t bytes;
  MemoryKind kind;
};
struct AllocateResult {
  std::uint64_t address;
};
struct FreeArguments {
  std::uint64_t address;
  std::uint32_t stream;  // FreeInStream: free after this stream's earlier work; kAllStreams: all streams'
};

inline constexpr std::uint32_t kAllStreams = ~std::uint32_t{0};
/// Maps registered host memory: kernels can use its host address, too. Its device memory is part of one
/// allocation.
struct MapHostArguments {
  std::uint64_t host;
  std::uint64_t bytes;
  std::uint64_t device;
};
struct UnmapHostArguments {
  std::uint64_t host;
};

enum class Direction : std::uint32_t { ToDevice, FromDevice, OnDevice };
/// Copies `rows` rows of `row_bytes`. The host's side is memory that both sides map, or the start of the
/// staging buffer. Staged bytes to the device are read before the answer. Staged bytes from the device are
/// there after the answer of a blocking call.
struct TransferArguments {
  std::uint64_t to;
  std::uint64_t from;
  std::uint64_t row_bytes;
  std::uint64_t rows;
  std::uint64_t to_pitch;
  std::uint64_t from_pitch;
  Direction direction;
  std::uint32_t stream;
  std::uint32_t blocking;
  std::uint32_t staged;
};
struct FillArguments {
  std::uint64_t to;
  std::uint64_t row_bytes;
  std::uint64_t rows;
  std::uint64_t pitch;
  std::uint32_t value;
  std::uint32_t value_bytes;  // 1, 2 or 4; row_bytes is a multiple
  std::uint32_t stream;
};
/// Writes to a constant. The tail has the bytes.
struct WriteConstantArguments {
  std::uint64_t offset;
  std::uint32_t variable;
  std::uint32_t stream;
  std::uint32_t blocking;
};
/// Reads a constant. The answer has the bytes.
struct ReadConstantArguments {
  std::uint64_t offset;
  std::uint64_t bytes;
  std::uint32_t variable;
  std::uint32_t stream;
};

struct Extent {
  std::uint32_t x, y, z;
};
/// Priorities of streams are CUDA's with the sign changed: 0 is the lowest.
inline constexpr std::uint32_t kGreatestPriority = 5;
inline constexpr std::uint32_t kStreamsPriority = ~std::uint32_t{0};
/// Launches a kernel. The tail has the parameters in the kernel's layout.
struct LaunchArguments {
  Extent grid;
  Extent block;
  std::uint32_t kernel;
  std::uint32_t shared_bytes;  // dynamic
  std::uint32_t stream;
  std::uint32_t cooperative;
  std::uint64_t heap_bytes;  // for malloc in kernels
  std::uint32_t priority;    // kStreamsPriority: the priority of the stream
};
/// Limits the pending launches of kernels by kernels.
struct LimitPendingLaunchesArguments {
  std::uint64_t launches;
};
struct ActiveBlocksArguments {
  std::uint32_t kernel;
  std::uint32_t threads;
  std::uint64_t shared_bytes;  // dynamic
};
struct ActiveBlocksResult {
  std::uint32_t blocks;
};

/// Creates a stream. Streams have numbers. Number 0 is the default stream, with which blocking streams are
/// ordered.
struct CreateStreamArguments {
  std::uint32_t non_blocking;
  std::uint32_t priority;
  std::uint32_t of_body;  // used only by calls between BeginBody and EndBody
};
struct CreateEventArguments {
  std::uint32_t of_body;
};
/// Number of a body. The calls between BeginBody and EndBody form a body (runtime::Host): work in
/// non-blocking streams that were created for it.
struct BodyNumber {
  std::uint32_t body;
};
enum class ConditionKind : std::uint32_t { If, While, Switch };
/// Enqueues a condition. The tail has the numbers of its bodies.
struct EnqueueConditionArguments {
  std::uint64_t word;  // address of 4 bytes
  ConditionKind kind;
  std::uint32_t stream;
};
/// Sets a stream's priority for later launches.
struct SetStreamPriorityArguments {
  std::uint32_t stream;
  std::uint32_t priority;
};
struct StreamNumber {
  std::uint32_t stream;
};
struct EventNumber {
  std::uint32_t event;
};
/// Result of IsEventOver. In contrast to QueryEvent, this call lets no time pass, however often it is
/// repeated.
struct EventState {
  std::uint32_t over;
};
struct EventInStream {
  std::uint32_t event;
  std::uint32_t stream;
};
struct ElapsedTimeArguments {
  std::uint32_t begin;
  std::uint32_t end;
};
struct ElapsedTimeResult {
  double milliseconds;  // simulated
};
/// A shape in texels (workload::ArrayShape). The answer has the array's address, which Free takes.
struct ArrayDescription {
  std::uint32_t kind;  // 0 signed, 1 unsigned, 2 float
  std::uint32_t bits;
  std::uint32_t channels;
  std::uint32_t width;
  std::uint32_t height;
  std::uint32_t depth;
  std::uint32_t layers;
};
/// Creates an array, or a mipmap whose levels are stored one after the other.
struct CreateArrayArguments {
  ArrayDescription shape;
  std::uint32_t levels;
};
/// One side of a copy: a position in an array, with its first byte at x, row and slice, or linear memory.
struct ArrayPlace {
  std::uint64_t address;
  ArrayDescription shape;
  std::uint32_t in_array;
  std::uint64_t x;
  std::uint32_t row;
  std::uint32_t slice;
  std::uint64_t pitch;
  std::uint64_t slice_pitch;
};
/// The memory of the side of a copy that is not in an array, and its way.
enum class BoxSide : std::uint32_t {
  OnDevice,    // device memory, or another array
  ToDevice,    // memory that both sides map, to the device over the link
  FromDevice,  // memory that both sides map, from the device over the link
  Sent,        // bytes without gaps in the request's tail
  Answered     // bytes in the answer, which is sent when the copy is complete
};
/// Copies `slices` times `rows` rows of `bytes`.
struct CopyBoxArguments {
  ArrayPlace to;    // unused for Answered
  ArrayPlace from;  // unused for Sent
  std::uint64_t bytes;
  std::uint32_t rows;
  std::uint32_t slices;
  BoxSide side;
  std::uint32_t stream;
  std::uint32_t blocking;
};
enum class TextureKind : std::uint32_t { Linear, Pitch2D, Array, Cube, LayeredCube };
struct SurfaceArguments {
  std::uint64_t address;
  ArrayDescription shape;
};
struct TextureArguments {
  std::uint64_t address;
  std::uint64_t pitch_bytes;
  ArrayDescription shape;
  TextureKind kind;
  std::array<std::uint32_t, 3> address_modes;  // 0 wrap, 1 clamp, 2 mirror, 3 border
  std::uint32_t filter;                        // 0 point, 1 linear
  std::uint32_t read;                          // 0 element type, 1 normalized float
  std::uint32_t normalized;
  std::array<float, 4> border;
  std::uint32_t levels;  // 1: no mipmap
  std::uint32_t level_filter;
  float level_bias;
  float least_level;
  float most_level;
};
struct TextureHandle {
  std::uint64_t handle;
};
struct MemoryInfoResult {
  std::uint64_t free;
  std::uint64_t total;
};

}  // namespace gpumux::program
