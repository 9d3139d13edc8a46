// Types of CUDA's driver interface as documented, with their layout on x86-64 Linux.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cudart/abi.hpp"

namespace gpumux::driver {

/// CUresult. Errors that the run time has, too, have the same numbers there.
enum class Result : std::int32_t {
  Success = 0,
  InvalidValue = 1,
  OutOfMemory = 2,
  NotInitialized = 3,
  InvalidDevice = 101,
  InvalidImage = 200,
  InvalidContext = 201,
  UnsupportedLimit = 215,
  InvalidPtx = 218,
  FileNotFound = 301,
  InvalidHandle = 400,
  NotFound = 500,
  PrimaryContextActive = 708,
  ContextIsDestroyed = 709,
  NotSupported = 801,
};

using DeviceNumber = int;             // CUdevice
using DevicePointer = std::uint64_t;  // CUdeviceptr

/// CUctxCreateParams.
struct ContextParameters {
  const void* affinities;
  int affinity_count;
  const void* graphics;
};

/// CUDA_MEMCPY2D and CUDA_MEMCPY3D.
enum class MemoryType : int { Host = 1, Device, Array, Unified };
struct Copy2D {
  std::size_t from_x, from_y;
  MemoryType from_type;
  const void* from_host;
  DevicePointer from_device;
  void* from_array;
  std::size_t from_pitch;
  std::size_t to_x, to_y;
  MemoryType to_type;
  void* to_host;
  DevicePointer to_device;
  void* to_array;
  std::size_t to_pitch;
  std::size_t width, height;  // bytes, rows
};
struct Copy3D {
  std::size_t from_x, from_y, from_z, from_level;
  MemoryType from_type;
  const void* from_host;
  DevicePointer from_device;
  void* from_array;
  void* reserved0;
  std::size_t from_pitch, from_height;
  std::size_t to_x, to_y, to_z, to_level;
  MemoryType to_type;
  void* to_host;
  DevicePointer to_device;
  void* to_array;
  void* reserved1;
  std::size_t to_pitch, to_height;
  std::size_t width, height, depth;
};

/// CUmemLocation, CUmemAllocationProp and CUmemAccessDesc.
struct MemoryLocation {
  static constexpr int kDevice = 1;
  int type;
  int id;
};
struct MemoryProperties {
  static constexpr int kPinned = 1;
  int type;
  int handle_types;
  MemoryLocation location;
  void* security;
  unsigned char compression, direct_access;
  unsigned short usage;
  unsigned char reserved[4];
};
struct MemoryAccess {
  MemoryLocation location;
  int access;
};

/// CUlaunchConfig.
struct LaunchConfig {
  cudart::Dim3 grid;
  cudart::Dim3 block;
  unsigned shared_bytes;
  cudart::StreamHandle stream;
  const cudart::LaunchAttribute* attributes;
  unsigned attribute_count;
};

/// CUdevprop.
struct DeviceProperties {
  int max_threads;
  int max_block[3];
  int max_grid[3];
  int shared_bytes;
  int constant_bytes;
  int warp;
  int pitch;
  int registers;
  int clock_khz;
  int texture_alignment;
};

/// CUDA_ARRAY_DESCRIPTOR and CUDA_ARRAY3D_DESCRIPTOR. Formats: 1 to 3 are unsigned integers of 8, 16 and 32
/// bits, 8 to 10 signed integers, 0x20 float.
struct Array2D {
  std::size_t width, height;
  int format;
  unsigned channels;
};
struct Array3D {
  std::size_t width, height, depth;
  int format;
  unsigned channels;
  unsigned flags;
};

/// CUDA_RESOURCE_DESC. Its types have the same numbers in the run time.
struct LinearResource {
  DevicePointer pointer;
  int format;
  unsigned channels;
  std::size_t bytes;
};
struct PitchResource {
  DevicePointer pointer;
  int format;
  unsigned channels;
  std::size_t width, height, pitch;
};
struct ResourceDescription {
  int type;
  union {
    void* array;
    LinearResource linear;
    PitchResource pitched;
    int reserved[32];
  } of;
  unsigned flags;
};
/// The part of CUDA_TEXTURE_DESC that is used.
struct TextureDescription {
  int address_modes[3];
  int filter;
  unsigned flags;  // 1 no conversion of integers, 2 normalized coordinates, 0x10 sRGB
  unsigned anisotropy;
  int mipmap_filter;
  float mipmap[3];
  float border[4];
};
inline constexpr unsigned kReadAsInteger = 1;
inline constexpr unsigned kNormalizedCoordinates = 2;
inline constexpr unsigned kSrgb = 0x10;

}  // namespace gpumux::driver
