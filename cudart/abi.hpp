// Types of CUDA's run-time interface as documented, with their layout on x86-64 Linux.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gpumux::cudart {

struct Dim3 {
  unsigned x, y, z;
};

using StreamHandle = void*;  // cudaStream_t
using EventHandle = void*;   // cudaEvent_t

/// cudaStreamLegacy and cudaStreamPerThread.
inline constexpr std::uintptr_t kLegacyStream = 1;
inline constexpr std::uintptr_t kPerThreadStream = 2;

/// cudaMemcpyKind.
enum class MemcpyKind : int { HostToHost, HostToDevice, DeviceToHost, DeviceToDevice, Default };

/// cudaFuncAttributes. It has 144 bytes in CUDA 13, and only the first 52 in the oldest versions.
struct FunctionAttributes {
  std::size_t shared_bytes;
  std::size_t constant_bytes;
  std::size_t local_bytes;
  int max_threads;
  int registers;
  int ptx_version;
  int binary_version;
  int caches_global;
  int max_dynamic_shared_bytes;
  int preferred_shared_carveout;
};

/// cudaFuncAttribute.
inline constexpr int kMaxDynamicSharedSize = 8;
inline constexpr int kPreferredCarveout = 9;

/// cudaPointerAttributes. CUDA 13 has more members at the end.
struct PointerAttributes {
  int type;  // 0 host memory of no concern to CUDA, 1 pinned, 2 device, 3 managed
  int device;
  void* device_pointer;
  void* host_pointer;
};

/// cudaLaunchConfig_t.
struct LaunchConfig {
  Dim3 grid;
  Dim3 block;
  std::size_t shared_bytes;
  StreamHandle stream;
  const struct LaunchAttribute* attributes;
  unsigned attribute_count;
};
struct LaunchAttribute {
  int id;
  int unused;
  unsigned char value[64];
};
inline constexpr int kAttributeCooperative = 2;
inline constexpr int kAttributeClusterDimension = 4;
inline constexpr int kAttributeProgrammaticStreamSerialization = 6;
inline constexpr int kAttributePriority = 8;

struct Extent {
  std::size_t width, height, depth;
};
struct Position {
  std::size_t x, y, z;
};
struct PitchedPointer {
  void* pointer;
  std::size_t pitch;
  std::size_t width, height;  // logical extents of an allocation
};
/// cudaMemcpy3DParms.
struct Copy3D {
  void* from_array;
  Position from_at;
  PitchedPointer from;
  void* to_array;
  Position to_at;
  PitchedPointer to;
  Extent extent;
  MemcpyKind kind;
};

/// cudaMemcpy3DPeerParms.
struct PeerCopy3D {
  void* from_array;
  Position from_at;
  PitchedPointer from;
  int from_device;
  void* to_array;
  Position to_at;
  PitchedPointer to;
  int to_device;
  Extent extent;
};

/// cudaChannelFormatDesc. `kind`: 0 signed integers, 1 unsigned integers, 2 floats.
struct ChannelFormat {
  int bits[4];
  int kind;
};
inline constexpr unsigned kArrayLayered = 1;
inline constexpr unsigned kArraySurface = 2;
inline constexpr unsigned kArrayCubemap = 4;
inline constexpr unsigned kArrayTextureGather = 8;

/// cudaResourceDesc.
struct LinearResource {
  void* pointer;
  ChannelFormat format;
  std::size_t bytes;
};
struct PitchResource {
  void* pointer;
  ChannelFormat format;
  std::size_t width, height, pitch;
};
inline constexpr int kResourceArray = 0;
inline constexpr int kResourceMipmapped = 1;
inline constexpr int kResourceLinear = 2;
inline constexpr int kResourcePitch2D = 3;
struct ResourceDescription {
  int type;
  union {
    void* array;  // or a mipmapped array
    LinearResource linear;
    PitchResource pitched;
  } of;
};

/// cudaResourceViewDesc without its reserved members.
struct ResourceView {
  int format;  // 0: the format of the array
  std::size_t width, height, depth;
  unsigned first_level, last_level;
  unsigned first_layer, last_layer;
};

/// cudaTextureDesc.
struct TextureDescription {
  int address_modes[3];  // 0 wrap, 1 clamp, 2 mirror, 3 border
  int filter;            // 0 point, 1 linear
  int read;              // 0 element type, 1 normalized float
  int srgb;
  float border[4];
  int normalized;
  unsigned anisotropy;
  int level_filter;
  float level_bias;
  float least_level, most_level;
  int no_trilinear_optimization;
  int seamless_cube;
};

/// cudaKernelNodeParams, cudaMemsetParams and cudaHostNodeParams.
struct KernelNode {
  void* function;
  Dim3 grid;
  Dim3 block;
  unsigned shared_bytes;
  void** parameters;
  void** extra;
};
struct MemsetNode {
  void* to;
  std::size_t pitch;
  unsigned value;
  unsigned element_bytes;
  std::size_t width, height;  // in elements
};
struct HostNode {
  void (*function)(void*);
  void* data;
};
/// cudaMemAllocNodeParams.
struct AllocationNode {
  int type;
  int handle_types;
  int location[2];
  void* security;
  std::size_t most;
  unsigned short usage;
  unsigned char reserved[54];
  const void* accesses;
  std::size_t access_count;
  std::size_t bytes;
  void* pointer;  // output
};
/// cudaConditionalNodeParams.
struct ConditionNode {
  std::uint64_t handle;
  int kind;  // 0 if, 1 while, 2 switch
  unsigned bodies;
  void** graphs;  // output
};
/// cudaGraphNodeParams.
struct GraphNodeParams {
  int type;
  int reserved[3];
  union {
    long long words[29];
    KernelNode kernel;
    struct {
      int flags;
      int reserved[3];
      Copy3D copy;
    } memcpy;
    MemsetNode memset;
    HostNode host;
    void* graph;  // of a child graph node
    EventHandle event;
    AllocationNode allocation;
    void* pointer;  // address to free
    ConditionNode condition;
  } of;
  long long more_reserved;
};
static_assert(sizeof(AllocationNode) == 120 && sizeof(GraphNodeParams) == 256);

/// cudaUUID_t
struct Uuid {
  char bytes[16];
};

}  // namespace gpumux::cudart
