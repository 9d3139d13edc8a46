// Run-time functions that implement functions of the driver.
#pragma once

#include "abi.hpp"
#include "session.hpp"

namespace gpumux::cudart {

extern "C" {
const char* cudaGetErrorString(Error error);
Error cudaDeviceSynchronize();
Error cudaDeviceGetLimit(std::size_t* value, int limit);
Error cudaDeviceSetLimit(int limit, std::size_t value);
Error cudaDeviceGetAttribute(int* value, int attribute, int device);
Error cudaDeviceGetPCIBusId(char* text, int length, int device);
Error cudaDeviceGetByPCIBusId(int* device, const char* text);
Error cudaDeviceCanAccessPeer(int* can, int device, int other);
Error cudaDeviceGetStreamPriorityRange(int* least, int* greatest);

Error cudaDeviceGetDefaultMemPool(void** pool, int device);
Error cudaDeviceGetMemPool(void** pool, int device);
Error cudaDeviceSetMemPool(int device, void* pool);
Error cudaMemPoolCreate(void** pool, const void* properties);
Error cudaMemPoolDestroy(void* pool);
Error cudaMemPoolTrimTo(void* pool, std::size_t bytes);
Error cudaMemPoolSetAttribute(void* pool, int attribute, void* value);
Error cudaMemPoolGetAttribute(void* pool, int attribute, void* value);
Error cudaMemPoolSetAccess(void* pool, const void* access, std::size_t count);

Error cudaMalloc(void** pointer, std::size_t bytes);
Error cudaMallocPitch(void** pointer, std::size_t* pitch, std::size_t width, std::size_t height);
Error cudaMallocManaged(void** pointer, std::size_t bytes, unsigned flags);
Error cudaMallocAsync(void** pointer, std::size_t bytes, StreamHandle stream);
Error cudaMallocFromPoolAsync(void** pointer, std::size_t bytes, void* pool, StreamHandle stream);
Error cudaHostAlloc(void** pointer, std::size_t bytes, unsigned flags);
Error cudaFree(void* pointer);
Error cudaFreeHost(void* pointer);
Error cudaFreeAsync(void* pointer, StreamHandle stream);
Error cudaFreeAsync_ptsz(void* pointer, StreamHandle stream);
Error cudaHostRegister(void* pointer, std::size_t bytes, unsigned flags);
Error cudaHostUnregister(void* pointer);
Error cudaHostGetDevicePointer(void** device, void* host, unsigned flags);
Error cudaHostGetFlags(unsigned* flags, void* host);
Error cudaMemGetInfo(std::size_t* free, std::size_t* total);
Error cudaMemPrefetchAsync(const void* pointer, std::size_t bytes);

Error cudaStreamCreateWithFlags(StreamHandle* stream, unsigned flags);
Error cudaStreamCreateWithPriority(StreamHandle* stream, unsigned flags, int priority);
Error cudaStreamGetFlags(StreamHandle stream, unsigned* flags);
Error cudaStreamGetAttribute(StreamHandle stream, int attribute, void* value);
Error cudaStreamSetAttribute(StreamHandle stream, int attribute, const void* value);
Error cudaStreamCopyAttributes(StreamHandle to, StreamHandle from);
Error cudaStreamGetPriority(StreamHandle stream, int* priority);
Error cudaStreamGetFlags(StreamHandle stream, unsigned* flags);
Error cudaStreamGetId(StreamHandle stream, unsigned long long* id);
Error cudaStreamGetId_ptsz(StreamHandle stream, unsigned long long* id);
Error cudaStreamDestroy(StreamHandle stream);
Error cudaStreamSynchronize(StreamHandle stream);
Error cudaStreamSynchronize_ptsz(StreamHandle stream);
Error cudaStreamQuery(StreamHandle stream);
Error cudaStreamQuery_ptsz(StreamHandle stream);
Error cudaStreamWaitEvent(StreamHandle stream, EventHandle event, unsigned flags);
Error cudaStreamWaitEvent_ptsz(StreamHandle stream, EventHandle event, unsigned flags);
Error cudaStreamBeginCapture(StreamHandle stream, int mode);
Error cudaStreamBeginCapture_ptsz(StreamHandle stream, int mode);
Error cudaStreamEndCapture(StreamHandle stream, void** graph);
Error cudaStreamEndCapture_ptsz(StreamHandle stream, void** graph);
Error cudaStreamIsCapturing(StreamHandle stream, int* status);
Error cudaStreamIsCapturing_ptsz(StreamHandle stream, int* status);
Error cudaThreadExchangeStreamCaptureMode(int* mode);
Error cudaLaunchHostFunc(StreamHandle stream, void (*function)(void*), void* data);
Error cudaLaunchHostFunc_ptsz(StreamHandle stream, void (*function)(void*), void* data);
Error cudaEventCreateWithFlags(EventHandle* event, unsigned flags);
Error cudaEventDestroy(EventHandle event);
Error cudaEventRecord(EventHandle event, StreamHandle stream);
Error cudaEventRecord_ptsz(EventHandle event, StreamHandle stream);
Error cudaEventSynchronize(EventHandle event);
Error cudaEventQuery(EventHandle event);
Error cudaEventElapsedTime(float* milliseconds, EventHandle begin, EventHandle end);

Error cudaGraphCreate(void** graph, unsigned flags);
Error cudaGraphDestroy(void* graph);
Error cudaGraphClone(void** made, void* graph);
Error cudaGraphGetNodes(void* graph, void** nodes, std::size_t* count);
Error cudaGraphNodeGetType(void* node, int* type);
Error cudaGraphInstantiateWithFlags(void** plan, void* graph, unsigned long long flags);
Error cudaGraphExecDestroy(void* plan);
Error cudaGraphUpload(void* plan, StreamHandle stream);
Error cudaGraphLaunch(void* plan, StreamHandle stream);
Error cudaGraphLaunch_ptsz(void* plan, StreamHandle stream);

Error cudaFuncGetAttributes(FunctionAttributes* attributes, const void* function);
Error cudaFuncSetAttribute(const void* function, int attribute, int value);
Error cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* function, int threads,
                                                    std::size_t shared_bytes);

Error cudaMalloc3DArray(void** array, const ChannelFormat* format, Extent extent, unsigned flags);
Error cudaFreeArray(void* array);
Error cudaArrayGetInfo(ChannelFormat* format, Extent* extent, unsigned* flags, void* array);
Error cudaMemcpyToArray(void* array, std::size_t x, std::size_t row, const void* from, std::size_t count,
                        MemcpyKind kind);
Error cudaCreateTextureObject(std::uint64_t* texture, const ResourceDescription* resource,
                              const TextureDescription* settings, const ResourceView* view);
Error cudaDestroyTextureObject(std::uint64_t texture);
}

}  // namespace gpumux::cudart
