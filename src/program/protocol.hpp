// What the run-time library in a CUDA program's process (cudart/) and gpumux say to each other over a socket:
// a request, its answer, one at a time. Both are of one build, on one machine, so that records go as they lie
// in memory. This header knows nothing of the rest of either side.
#pragma once

#include <array>
#include <cstdint>

namespace gpumux::program {

/// Of both sides, in Hello: records of another build have other sizes.
inline constexpr std::uint32_t kProtocolVersion = 6;
/// Environment of the program: the numbers of the inherited socket, and of the file that backs device memory.
inline constexpr const char* kSocketVariable = "GPUMUX_CUDART_SOCKET";
inline constexpr const char* kMemoryVariable = "GPUMUX_CUDART_MEMORY";
/// Of that file: device memory, and behind it the staging buffer, through which the bytes of copies from and
/// to memory pass that the program alone has.
inline constexpr std::uint64_t kDeviceBytes = std::uint64_t{1} << 36U;
inline constexpr std::uint64_t kStagingBytes = std::uint64_t{1} << 26U;

/// The errors of CUDA's run time that this side of it knows, with their numbers (cudaError_t).
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
  RefusedLibrary,   // tail: its name
  HostOrderVaries,  // of the threads' calls, with how fast they compute
  Finish,           // the process ends in order: when its work has
  RefusedLaunch,    // tail: what it asked for that is not supported
};

/// In front of each request: then its arguments, then `tail` bytes.
struct RequestHead {
  Call call;
  std::uint32_t argument_bytes;
  std::uint64_t tail_bytes;
};
/// In front of each answer: then its result, then what kernels have printed, then `tail` bytes.
struct AnswerHead {
  Error error;
  std::uint32_t result_bytes;
  std::uint64_t printed_bytes;
  std::uint64_t tail_bytes;
};

/// No request or answer is longer: more is a fault of who sends it.
inline constexpr std::uint64_t kMostTailBytes = std::uint64_t{1} << 32U;

struct Nothing {};

struct HelloArguments {
  std::uint32_t protocol;
  std::uint32_t driver_version;  // 13000
  std::int64_t process;
};
/// The simulated machine as a device, and where its memory lies. Bytes, MHz, bits.
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
  std::uint32_t shared_bytes_per_block;  // without asking for more
  std::uint32_t shared_bytes_most;       // of a block
  std::uint32_t l1_caches_global;
  std::uint32_t capability;  // 75
  std::uint32_t sp_lanes_per_dp_lane;
  std::uint64_t heap_bytes;  // for malloc in kernels
};

enum class ModuleImage : std::uint32_t { FatBinary, Ptx, MachineCode };
/// The image follows.
struct LoadModuleArguments {
  std::uint32_t part;   // 0, 1, ...
  std::uint32_t parts;  // of the module: the translation units of relocatable device code
  std::uint32_t module;
  ModuleImage image;
  /// Whether the program hears of PTX that is wrong: InvalidPtx, and the answer has the message. Else it ends
  /// the run.
  std::uint32_t heard;
  std::uint32_t check_only;  // nothing is loaded
};
/// The fat binary follows whose machine code nvcc linked of a module's translation units: its kernels take
/// the registers that it says.
struct TakeRegistersArguments {
  std::uint32_t module;
};
struct LoadModuleResult {
  std::uint32_t module;
};

/// Answered with the names of all its kernels, each of which ends with a line's end.
struct KernelNamesArguments {
  std::uint32_t module;
};

/// The kernel's name follows.
struct FindKernelArguments {
  std::uint32_t module;
};
struct KernelParameter {
  std::uint32_t offset;
  std::uint32_t bytes;
};
/// Its parameters follow.
struct KernelDescription {
  std::uint32_t kernel;
  std::uint32_t parameters;
  std::uint32_t parameter_bytes;
  std::uint32_t registers;
  std::uint32_t shared_bytes;  // static
  std::uint32_t local_bytes;   // of a thread
  std::uint32_t constant_bytes;
  std::uint32_t max_threads;
  std::uint32_t ptx_version;  // 75 of compute_75
};

/// The variable's name follows.
struct FindVariableArguments {
  std::uint32_t module;
  std::uint32_t managed;  // the host sees it, too
};
struct VariableDescription {
  std::uint64_t address;  // 0: a constant, which has none
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
  std::uint32_t stream;  // FreeInStream: when its work so far has ended; kAllStreams: that of all
};

inline constexpr std::uint32_t kAllStreams = ~std::uint32_t{0};
/// Registered memory of the host: kernels find it at its address there, too. It lies in one allocation.
struct MapHostArguments {
  std::uint64_t host;
  std::uint64_t bytes;
  std::uint64_t device;
};
struct UnmapHostArguments {
  std::uint64_t host;
};

enum class Direction : std::uint32_t { ToDevice, FromDevice, OnDevice };
/// `rows` rows of `row_bytes` each. The host's side is memory that both sides see, or the staging buffer from
/// its begin on: what goes to the device is taken from there at once, and what comes from it is there after
/// the answer to a call that blocks.
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
  std::uint32_t value_bytes;  // 1, 2 or 4, of which a row has a multiple
  std::uint32_t stream;
};
/// The bytes follow.
struct WriteConstantArguments {
  std::uint64_t offset;
  std::uint32_t variable;
  std::uint32_t stream;
  std::uint32_t blocking;
};
/// The answer has the bytes.
struct ReadConstantArguments {
  std::uint64_t offset;
  std::uint64_t bytes;
  std::uint32_t variable;
  std::uint32_t stream;
};

struct Extent {
  std::uint32_t x, y, z;
};
/// Priorities are CUDA's with the sign changed: 0 is the least.
inline constexpr std::uint32_t kGreatestPriority = 5;
inline constexpr std::uint32_t kStreamsPriority = ~std::uint32_t{0};
/// The parameters follow, as the kernel has them.
struct LaunchArguments {
  Extent grid;
  Extent block;
  std::uint32_t kernel;
  std::uint32_t shared_bytes;  // dynamic
  std::uint32_t stream;
  std::uint32_t cooperative;
  std::uint64_t heap_bytes;  // for malloc in kernels
  std::uint32_t priority;    // kStreamsPriority: as the stream has it
};
/// Of kernels by kernels.
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

/// Streams have numbers; 0 is the default stream, with which those that block are ordered.
struct CreateStreamArguments {
  std::uint32_t non_blocking;
  std::uint32_t priority;
  std::uint32_t of_body;  // used by calls between BeginBody and EndBody alone
};
struct CreateEventArguments {
  std::uint32_t of_body;
};
/// What comes between BeginBody and EndBody is kept, as runtime::Host has it: work in non-blocking streams
/// made for it.
struct BodyNumber {
  std::uint32_t body;
};
enum class ConditionKind : std::uint32_t { If, While, Switch };
/// Numbers of bodies follow.
struct EnqueueConditionArguments {
  std::uint64_t word;  // address of 4 bytes
  ConditionKind kind;
  std::uint32_t stream;
};
/// Of launches from now on.
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
/// Of IsEventOver: as QueryEvent, but no time passes, however often it is asked.
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
/// A shape, in texels, as workload::ArrayShape has it; answered with its address, which Free takes.
struct ArrayDescription {
  std::uint32_t kind;  // 0 signed, 1 unsigned, 2 float
  std::uint32_t bits;
  std::uint32_t channels;
  std::uint32_t width;
  std::uint32_t height;
  std::uint32_t depth;
  std::uint32_t layers;
};
/// Of CreateArray: of a mipmap, the levels behind the first lie behind it.
struct CreateArrayArguments {
  ArrayDescription shape;
  std::uint32_t levels;
};
/// One side of a copy: of an array, with its first byte in x, row and slice; else linear memory.
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
/// Where the bytes are that are not in an array, and what they pass.
enum class BoxSide : std::uint32_t {
  OnDevice,    // in device memory, or another array
  ToDevice,    // in memory that both sides see, over the link
  FromDevice,  // the same the other way
  Sent,        // they follow the arguments, without gaps
  Answered     // they are in the answer, when the stream has come so far
};
/// `slices` times `rows` rows of `bytes`.
struct CopyBoxArguments {
  ArrayPlace to;    // not of Answered
  ArrayPlace from;  // not of Sent
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
  std::array<std::uint32_t, 3> address_modes;  // wrap, clamp, mirror, border
  std::uint32_t filter;                        // point, linear
  std::uint32_t read;                          // as it is, normalized float
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
