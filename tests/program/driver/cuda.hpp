// The declarations of cuda.h that main.cpp needs, by hand. libcuda.so.1 exports the functions.
#pragma once

#include <cstddef>
#include <cstdint>

using Context = void*;
using Module = void*;
using Function = void*;
using Address = std::uint64_t;

struct Config {
  unsigned grid[3];
  unsigned block[3];
  unsigned shared;
  void* stream;
  void* attributes;
  unsigned attribute_count;
};
struct Copy2D {
  std::size_t from_x, from_y;
  int from_type;
  const void* from_host;
  Address from_device;
  void* from_array;
  std::size_t from_pitch;
  std::size_t to_x, to_y;
  int to_type;
  void* to_host;
  Address to_device;
  void* to_array;
  std::size_t to_pitch;
  std::size_t width, height;
};
struct ArrayShape {
  std::size_t width, height;
  int format;
  unsigned channels;
};

/// CUmemLocation. The next two structures are CUmemAllocationProp and CUmemAccessDesc.
struct Location {
  int type = 1;
  int id = 0;
};
struct MemoryProperties {
  int type = 1;
  int handle_types = 0;
  Location location;
  void* more[2] = {};
};
struct MemoryAccess {
  Location location;
  int access = 3;
};

/// CUDA_KERNEL_NODE_PARAMS of version 2.
struct KernelNode {
  Function function = nullptr;
  unsigned grid[3] = {1, 1, 1};
  unsigned block[3] = {1, 1, 1};
  unsigned shared = 0;
  void** parameters = nullptr;
  void** extra = nullptr;
  void* kernel = nullptr;
  void* context = nullptr;
};
/// CUgraphNodeParams of a conditional node.
struct ConditionNode {
  int type = 13;
  int reserved[3] = {};
  std::uint64_t handle = 0;
  int kind = 0;
  unsigned size = 1;
  void** graphs = nullptr;
  char more[216] = {};
};

extern "C" {
int cuInit(unsigned flags);
int cuDriverGetVersion(int* version);
int cuGetErrorName(int error, const char** name);
int cuGetErrorString(int error, const char** text);
int cuGetProcAddress_v2(const char* name, void** function, int version, std::uint64_t flags, int* found);
int cuDeviceGet(int* device, int ordinal);
int cuDeviceGetCount(int* count);
int cuDeviceGetName(char* name, int length, int device);
int cuDeviceGetAttribute(int* value, int attribute, int device);
int cuDeviceTotalMem_v2(std::size_t* bytes, int device);
int cuDeviceComputeCapability(int* major, int* minor, int device);
int cuDeviceGetProperties(int* properties, int device);
int cuDevicePrimaryCtxRetain(Context* context, int device);
int cuDevicePrimaryCtxRelease_v2(int device);
int cuDevicePrimaryCtxGetState(int device, unsigned* flags, int* active);
int cuCtxCreate_v2(Context* context, unsigned flags, int device);
int cuCtxCreate_v4(Context* context, void* parameters, unsigned flags, int device);
int cuCtxDestroy_v2(Context context);
int cuCtxSetCurrent(Context context);
int cuCtxGetCurrent(Context* context);
int cuCtxPushCurrent_v2(Context context);
int cuCtxPopCurrent_v2(Context* context);
int cuCtxGetDevice(int* device);
int cuCtxSynchronize();
int cuCtxGetLimit(std::size_t* value, int limit);
int cuCtxSetLimit(int limit, std::size_t value);
int cuCtxGetCacheConfig(int* config);
int cuModuleLoad(Module* module, const char* file);
int cuModuleLoadData(Module* module, const void* image);
int cuModuleLoadDataEx(Module* module, const void* image, unsigned count, int* options, void** values);
int cuModuleLoadFatBinary(Module* module, const void* binary);
int cuModuleUnload(Module module);
int cuModuleGetFunction(Function* function, Module module, const char* name);
int cuModuleGetGlobal_v2(Address* address, std::size_t* bytes, Module module, const char* name);
int cuLibraryLoadData(void** library, const void* code, int* options, void** values, unsigned count,
                      int* library_options, void** library_values, unsigned library_count);
int cuLibraryGetKernel(void** kernel, void* library, const char* name);
int cuLibraryGetGlobal(Address* address, std::size_t* bytes, void* library, const char* name);
int cuLibraryUnload(void* library);
int cuKernelGetFunction(Function* function, void* kernel);
int cuLinkCreate_v2(unsigned count, int* options, void** values, void** link);
int cuLinkAddData_v2(void* link, int type, void* data, std::size_t bytes, const char* name, unsigned count,
                     int* options, void** values);
int cuLinkAddFile_v2(void* link, int type, const char* file, unsigned count, int* options, void** values);
int cuLinkComplete(void* link, void** image, std::size_t* bytes);
int cuLinkDestroy(void* link);
int cuFuncGetAttribute(int* value, int attribute, Function function);
int cuFuncSetAttribute(Function function, int attribute, int value);
int cuFuncGetName(const char** name, Function function);
int cuFuncGetParamInfo(Function function, std::size_t index, std::size_t* offset, std::size_t* bytes);
int cuMemAlloc_v2(Address* address, std::size_t bytes);
int cuMemAlloc(Address* address, std::size_t bytes);
int cuMemAllocPitch_v2(Address* address, std::size_t* pitch, std::size_t width, std::size_t height,
                       unsigned element);
int cuMemAllocManaged(Address* address, std::size_t bytes, unsigned flags);
int cuMemHostAlloc(void** pointer, std::size_t bytes, unsigned flags);
int cuMemHostGetDevicePointer_v2(Address* address, void* pointer, unsigned flags);
int cuMemFree_v2(Address address);
int cuMemFreeHost(void* pointer);
int cuMemGetInfo_v2(std::size_t* free, std::size_t* total);
int cuMemGetAddressRange_v2(Address* first, std::size_t* bytes, Address address);
int cuPointerGetAttribute(void* data, int attribute, Address address);
int cuPointerGetAttributes(unsigned count, int* attributes, void** data, Address address);
int cuMemcpy(Address to, Address from, std::size_t bytes);
int cuMemcpyHtoD_v2(Address to, const void* from, std::size_t bytes);
int cuMemcpyDtoH_v2(void* to, Address from, std::size_t bytes);
int cuMemcpyDtoD_v2(Address to, Address from, std::size_t bytes);
int cuMemcpyHtoDAsync_v2(Address to, const void* from, std::size_t bytes, void* stream);
int cuMemcpyDtoHAsync_v2(void* to, Address from, std::size_t bytes, void* stream);
int cuMemcpy2D_v2(const Copy2D* of);
int cuMemsetD8_v2(Address to, unsigned char value, std::size_t count);
int cuMemsetD16_v2(Address to, unsigned short value, std::size_t count);
int cuMemsetD32_v2(Address to, unsigned value, std::size_t count);
int cuMemsetD32Async(Address to, unsigned value, std::size_t count, void* stream);
int cuMemsetD2D32_v2(Address to, std::size_t pitch, unsigned value, std::size_t width, std::size_t height);
int cuMemGetAllocationGranularity(std::size_t* granularity, const MemoryProperties* of, int option);
int cuMemCreate(std::uint64_t* handle, std::size_t bytes, const MemoryProperties* of,
                unsigned long long flags);
int cuMemRelease(std::uint64_t handle);
int cuMemRetainAllocationHandle(std::uint64_t* handle, void* pointer);
int cuMemGetAllocationPropertiesFromHandle(MemoryProperties* of, std::uint64_t handle);
int cuMemAddressReserve(Address* address, std::size_t bytes, std::size_t alignment, Address wanted,
                        unsigned long long flags);
int cuMemAddressFree(Address address, std::size_t bytes);
int cuMemMap(Address address, std::size_t bytes, std::size_t offset, std::uint64_t handle,
             unsigned long long flags);
int cuMemUnmap(Address address, std::size_t bytes);
int cuMemSetAccess(Address address, std::size_t bytes, const MemoryAccess* accesses, std::size_t count);
int cuMemGetAccess(unsigned long long* access, const Location* location, Address address);
int cuArrayCreate_v2(void** array, const ArrayShape* shape);
int cuArrayGetDescriptor_v2(ArrayShape* shape, void* array);
int cuArrayDestroy(void* array);
int cuStreamCreate(void** stream, unsigned flags);
int cuStreamDestroy_v2(void* stream);
int cuStreamSynchronize(void* stream);
int cuStreamQuery(void* stream);
int cuStreamWaitEvent(void* stream, void* event, unsigned flags);
int cuStreamBeginCapture_v2(void* stream, int mode);
int cuStreamEndCapture(void* stream, void** graph);
int cuGraphInstantiateWithFlags(void** plan, void* graph, unsigned long long flags);
int cuGraphLaunch(void* plan, void* stream);
int cuGraphCreate(void** graph, unsigned flags);
int cuGraphDestroy(void* graph);
int cuGraphExecDestroy(void* plan);
int cuGraphAddKernelNode_v2(void** node, void* graph, void* const* after, std::size_t count,
                            const KernelNode* params);
int cuGraphKernelNodeGetParams_v2(void* node, KernelNode* params);
int cuGraphExecKernelNodeSetParams_v2(void* plan, void* node, const KernelNode* params);
int cuGraphAddNode_v2(void** node, void* graph, void* const* after, const void* data, std::size_t count,
                      void* params);
int cuGraphAddDependencies_v2(void* graph, void* const* from, void* const* to, const void* data,
                              std::size_t count);
int cuGraphConditionalHandleCreate(std::uint64_t* handle, void* graph, void* context, unsigned first,
                                   unsigned flags);
int cuStreamCreateWithPriority(void** stream, unsigned flags, int priority);
int cuStreamGetPriority(void* stream, int* priority);
int cuLaunchHostFunc(void* stream, void (*function)(void*), void* data);
int cuEventCreate(void** event, unsigned flags);
int cuEventDestroy_v2(void* event);
int cuEventRecord(void* event, void* stream);
int cuEventSynchronize(void* event);
int cuEventQuery(void* event);
int cuEventElapsedTime(float* milliseconds, void* begin, void* end);
int cuLaunchKernel(Function function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                   unsigned block_y, unsigned block_z, unsigned shared, void* stream, void** parameters,
                   void** extra);
int cuLaunchKernelEx(const Config* config, Function function, void** parameters, void** extra);
int cuLaunchCooperativeKernel(Function function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                              unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                              void* stream, void** parameters);
int cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, Function function, int threads,
                                                std::size_t shared);
int cuOccupancyMaxPotentialBlockSize(int* grid, int* block, Function function, std::size_t (*shared_of)(int),
                                     std::size_t shared, int limit);
int cuGetExportTable(const void** table, const void* id);
int cuIpcGetMemHandle(void* handle, Address address);
}
