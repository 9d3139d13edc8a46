// The code of a translation unit that nvcc compiled, by hand: declarations of the run time, which
// libcudart.so.13 exports, and the registration of a fat binary with PTX.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "tests/program/checks.hpp"
#include "tests/program/make_fat_binary.hpp"

using Stream = void*;
using Event = void*;
struct Dim {
  unsigned x = 1, y = 1, z = 1;
};
struct Format {
  int bits[4];
  int kind;  // 0: signed
};
struct Extent {
  std::size_t width = 0, height = 0, depth = 0;
};
struct Resource {  // an array as a texture's resource
  int type = 0;
  void* array = nullptr;
  char more[128] = {};
};
struct Sampling {
  int address[3] = {1, 1, 1};
  int filter = 0, read = 0, srgb = 0;
  float border[4] = {};
  int normalized = 0;
  unsigned anisotropy = 0;
  int level_filter = 0;
  float levels[3] = {};
  int more[2] = {};
};
struct Position {
  std::size_t x = 0, y = 0, z = 0;
};
struct Pitched {
  void* pointer = nullptr;
  std::size_t pitch = 0, width = 0, height = 0;
};
struct PeerCopy {
  void* from_array = nullptr;
  Position from_at;
  Pitched from;
  int from_device = 0;
  void* to_array = nullptr;
  Position to_at;
  Pitched to;
  int to_device = 0;
  Extent extent;
};
using Callback = void (*)(Stream, int, void*);
enum Kind { kHostToHost, kHostToDevice, kDeviceToHost, kDeviceToDevice, kDefault };

extern "C" {
void** __cudaRegisterFatBinary(void* wrapper);
void __cudaRegisterFatBinaryEnd(void** handle);
void __cudaUnregisterFatBinary(void** handle);
char __cudaInitModule(void** handle);
void __cudaRegisterFunction(void** handle, const char* host, char* device, const char* name, int threads,
                            void* tid, void* bid, void* block, void* grid, int* warp);
void __cudaRegisterVar(void** handle, char* host, char* device, const char* name, int ext, std::size_t bytes,
                       int constant, int global);
void __cudaRegisterManagedVar(void** handle, void** host, char* device, const char* name, int ext,
                              std::size_t bytes, int constant, int global);
unsigned __cudaPushCallConfiguration(Dim grid, Dim block, std::size_t shared, Stream stream);
int __cudaPopCallConfiguration(Dim* grid, Dim* block, std::size_t* shared, Stream* stream);
int __cudaGetKernel(void** kernel, const void* host);
int __cudaLaunchKernel(void* kernel, Dim grid, Dim block, void** arguments, std::size_t shared,
                       Stream stream);
int cudaLaunchKernel(const void* host, Dim grid, Dim block, void** arguments, std::size_t shared,
                     Stream stream);
int cudaLaunchCooperativeKernel(const void* host, Dim grid, Dim block, void** arguments, std::size_t shared,
                                Stream stream);
int cudaMalloc(void** pointer, std::size_t bytes);
int cudaMallocHost(void** pointer, std::size_t bytes);
int cudaMallocManaged(void** pointer, std::size_t bytes, unsigned flags);
int cudaMallocPitch(void** pointer, std::size_t* pitch, std::size_t width, std::size_t height);
int cudaMallocAsync(void** pointer, std::size_t bytes, Stream stream);
int cudaFree(void* pointer);
int cudaFreeHost(void* pointer);
int cudaFreeAsync(void* pointer, Stream stream);
int cudaMemcpy(void* to, const void* from, std::size_t bytes, int kind);
int cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, int kind, Stream stream);
int cudaMemcpy2D(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch, std::size_t width,
                 std::size_t height, int kind);
int cudaMemset(void* to, int value, std::size_t bytes);
int cudaMemset2D(void* to, std::size_t pitch, int value, std::size_t width, std::size_t height);
int cudaMemcpyToSymbol(const void* symbol, const void* from, std::size_t bytes, std::size_t offset, int kind);
int cudaMemcpyFromSymbol(void* to, const void* symbol, std::size_t bytes, std::size_t offset, int kind);
int cudaGetSymbolAddress(void** address, const void* symbol);
int cudaGetSymbolSize(std::size_t* bytes, const void* symbol);
int cudaHostRegister(void* pointer, std::size_t bytes, unsigned flags);
int cudaHostUnregister(void* pointer);
int cudaHostGetDevicePointer(void** device, void* host, unsigned flags);
int cudaHostGetFlags(unsigned* flags, void* host);
int cudaMemGetInfo(std::size_t* free, std::size_t* total);
int cudaPointerGetAttributes(void* attributes, const void* pointer);
int cudaDeviceSynchronize();
int cudaGetLastError();
int cudaPeekAtLastError();
const char* cudaGetErrorName(int error);
const char* cudaGetErrorString(int error);
int cudaStreamCreate(Stream* stream);
int cudaStreamCreateWithFlags(Stream* stream, unsigned flags);
int cudaStreamGetFlags(Stream stream, unsigned* flags);
int cudaStreamDestroy(Stream stream);
int cudaStreamSynchronize(Stream stream);
int cudaStreamQuery(Stream stream);
int cudaStreamWaitEvent(Stream stream, Event event, unsigned flags);
int cudaLaunchHostFunc(Stream stream, void (*function)(void*), void* data);
int cudaEventCreate(Event* event);
int cudaEventDestroy(Event event);
int cudaEventRecord(Event event, Stream stream);
int cudaEventSynchronize(Event event);
int cudaEventQuery(Event event);
int cudaEventElapsedTime(float* milliseconds, Event begin, Event end);
int cudaGetDeviceCount(int* count);
int cudaSetDevice(int device);
int cudaGetDeviceProperties(void* properties, int device);
int cudaDeviceGetAttribute(int* value, int attribute, int device);
int cudaFuncGetAttributes(void* attributes, const void* host);
int cudaFuncSetAttribute(const void* host, int attribute, int value);
int cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* host, int threads,
                                                  std::size_t shared);
int cudaGetFuncBySymbol(void** function, const void* host);
int cudaGetDriverEntryPoint(const char* name, void** function, unsigned long long flags, int* found);
int cudaMallocArray(void** array, const Format* format, std::size_t width, std::size_t height,
                    unsigned flags);
int cudaMalloc3DArray(void** array, const Format* format, Extent extent, unsigned flags);
int cudaFreeArray(void* array);
int cudaArrayGetInfo(Format* format, Extent* extent, unsigned* flags, void* array);
int cudaMemcpy2DToArray(void* array, std::size_t x, std::size_t y, const void* from, std::size_t pitch,
                        std::size_t width, std::size_t height, int kind);
int cudaMemcpy2DToArrayAsync(void* array, std::size_t x, std::size_t y, const void* from, std::size_t pitch,
                             std::size_t width, std::size_t height, int kind, Stream stream);
int cudaMemcpy2DFromArray(void* to, std::size_t pitch, void* array, std::size_t x, std::size_t y,
                          std::size_t width, std::size_t height, int kind);
int cudaMemcpy2DFromArrayAsync(void* to, std::size_t pitch, void* array, std::size_t x, std::size_t y,
                               std::size_t width, std::size_t height, int kind, Stream stream);
int cudaMemcpyToArray(void* array, std::size_t x, std::size_t y, const void* from, std::size_t bytes,
                      int kind);
int cudaMemcpyFromArray(void* to, void* array, std::size_t x, std::size_t y, std::size_t bytes, int kind);
int cudaMemcpy2DArrayToArray(void* to, std::size_t to_x, std::size_t to_y, void* from, std::size_t x,
                             std::size_t y, std::size_t width, std::size_t height, int kind);
int cudaMallocMipmappedArray(void** mipmap, const Format* format, Extent extent, unsigned levels,
                             unsigned flags);
int cudaGetMipmappedArrayLevel(void** array, void* mipmap, unsigned level);
int cudaFreeMipmappedArray(void* mipmap);
int cudaCreateTextureObject(std::uint64_t* texture, const Resource* resource, const Sampling* sampling,
                            const void* view);
int cudaDestroyTextureObject(std::uint64_t texture);
int cudaGetTextureObjectResourceDesc(Resource* resource, std::uint64_t texture);
int cudaCreateSurfaceObject(std::uint64_t* surface, const Resource* resource);
int cudaDestroySurfaceObject(std::uint64_t surface);
int cudaDeviceCanAccessPeer(int* can, int device, int peer);
int cudaDeviceEnablePeerAccess(int peer, unsigned flags);
int cudaDeviceDisablePeerAccess(int peer);
int cudaDeviceGetP2PAttribute(int* value, int attribute, int from, int to);
int cudaDeviceGetByPCIBusId(int* device, const char* text);
int cudaDeviceGetPCIBusId(char* text, int length, int device);
int cudaDeviceGetSharedMemConfig(int* config);
int cudaCtxResetPersistingL2Cache();
int cudaFuncGetName(const char** name, const void* function);
int cudaMemcpy3DPeer(const PeerCopy* of);
int cudaMemcpy3DPeerAsync(const PeerCopy* of, Stream stream);
int cudaMemcpy3DPeer_ptds(const PeerCopy* of);
int cudaMemcpy3DPeerAsync_ptsz(const PeerCopy* of, Stream stream);
int cudaMemset2D_ptds(void* to, std::size_t pitch, int value, std::size_t width, std::size_t height);
int cudaMemset2DAsync_ptsz(void* to, std::size_t pitch, int value, std::size_t width, std::size_t height,
                           Stream stream);
int cudaMemset3D(Pitched to, int value, Extent extent);
int cudaMemset3D_ptds(Pitched to, int value, Extent extent);
int cudaMemset3DAsync(Pitched to, int value, Extent extent, Stream stream);
int cudaMemset3DAsync_ptsz(Pitched to, int value, Extent extent, Stream stream);
int cudaMemcpyToSymbolAsync(const void* symbol, const void* from, std::size_t bytes, std::size_t offset,
                            int kind, Stream stream);
int cudaMemcpyToSymbolAsync_ptsz(const void* symbol, const void* from, std::size_t bytes, std::size_t offset,
                                 int kind, Stream stream);
int cudaMemcpyFromSymbolAsync_ptsz(void* to, const void* symbol, std::size_t bytes, std::size_t offset,
                                   int kind, Stream stream);
int cudaStreamSynchronize_ptsz(Stream stream);
int cudaStreamAddCallback_ptsz(Stream stream, Callback function, void* data, unsigned flags);
int cudaStreamGetId(Stream stream, unsigned long long* id);
int cudaStreamGetId_ptsz(Stream stream, unsigned long long* id);
int cudaStreamGetDevice(Stream stream, int* device);
int cudaLibraryLoadData(void** library, const void* code, const int* options, void** values, unsigned count,
                        const int* library_options, void** library_values, unsigned library_count);
int cudaLibraryLoadFromFile(void** library, const char* file, const int* options, void** values,
                            unsigned count, const int* library_options, void** library_values,
                            unsigned library_count);
int cudaLibraryUnload(void* library);
int cudaLibraryGetKernel(void** kernel, void* library, const char* name);
int cudaLibraryGetKernelCount(unsigned* count, void* library);
int cudaLibraryEnumerateKernels(void** kernels, unsigned count, void* library);
int cudaLibraryGetGlobal(void** address, std::size_t* bytes, void* library, const char* name);
int cudaKernelSetAttributeForDevice(void* kernel, int attribute, int value, int device);
int cudaFuncGetParamInfo(const void* function, std::size_t index, std::size_t* offset, std::size_t* bytes);
int cudaOccupancyAvailableDynamicSMemPerBlock(std::size_t* bytes, const void* function, int blocks,
                                              int threads);
int cudaIpcGetMemHandle(void* handle, void* pointer);
}

#define CHECK(call)                                                                  \
  do {                                                                               \
    const int error_ = (call);                                                       \
    if (error_ != 0) {                                                               \
      std::printf("line %d: %s: %s\n", __LINE__, #call, cudaGetErrorString(error_)); \
      std::exit(1);                                                                  \
    }                                                                                \
  } while (false)

struct Wrapper {
  std::uint32_t magic = 0x466243b1;
  std::uint32_t version = 1;
  const void* binary = nullptr;
  const void* linked = nullptr;
};
