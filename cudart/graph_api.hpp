// Run-time functions of graphs that implement functions of the driver.
#pragma once

#include "abi.hpp"
#include "session.hpp"

namespace gpumux::cudart {

/// cudaGraphInstantiateParams.
struct InstantiateParams {
  unsigned long long flags;
  StreamHandle upload;
  void* node;  // the node with an error
  int result;  // cudaGraphInstantiateResult
};
/// cudaGraphExecUpdateResultInfo.
struct UpdateResult {
  int result;
  void* node;
  void* from;
};

extern "C" {
Error cudaDeviceGetGraphMemAttribute(int device, int which, void* value);
Error cudaDeviceGraphMemTrim(int device);
Error cudaDeviceSetGraphMemAttribute(int device, int which, void* value);
Error cudaGraphAddChildGraphNode(void** made, void* graph, void* const* after, std::size_t count,
                                 void* child);
Error cudaGraphAddEmptyNode(void** made, void* graph, void* const* after, std::size_t count);
Error cudaGraphAddEventRecordNode(void** made, void* graph, void* const* after, std::size_t count,
                                  EventHandle event);
Error cudaGraphAddEventWaitNode(void** made, void* graph, void* const* after, std::size_t count,
                                EventHandle event);
Error cudaGraphAddHostNode(void** made, void* graph, void* const* after, std::size_t count,
                           const HostNode* of);
Error cudaGraphAddKernelNode(void** made, void* graph, void* const* after, std::size_t count,
                             const KernelNode* of);
Error cudaGraphAddMemAllocNode(void** made, void* graph, void* const* after, std::size_t count,
                               AllocationNode* of);
Error cudaGraphAddMemFreeNode(void** made, void* graph, void* const* after, std::size_t count, void* pointer);
Error cudaGraphAddMemcpyNode(void** made, void* graph, void* const* after, std::size_t count,
                             const Copy3D* of);
Error cudaGraphAddMemsetNode(void** made, void* graph, void* const* after, std::size_t count,
                             const MemsetNode* of);
Error cudaGraphChildGraphNodeGetGraph(void* node, void** graph);
Error cudaGraphConditionalHandleCreate(std::uint64_t* made, void* handle, unsigned first, unsigned flags);
Error cudaGraphDebugDotPrint(void* handle, const char* path, unsigned flags);
Error cudaGraphDestroyNode(void* handle);
Error cudaGraphEventRecordNodeGetEvent(void* node, EventHandle* event);
Error cudaGraphEventRecordNodeSetEvent(void* node, EventHandle event);
Error cudaGraphEventWaitNodeGetEvent(void* node, EventHandle* event);
Error cudaGraphEventWaitNodeSetEvent(void* node, EventHandle event);
Error cudaGraphExecChildGraphNodeSetParams(void* handle, void* node, void* with);
Error cudaGraphExecEventRecordNodeSetEvent(void* plan, void* node, EventHandle event);
Error cudaGraphExecEventWaitNodeSetEvent(void* plan, void* node, EventHandle event);
Error cudaGraphExecGetFlags(void* handle, unsigned long long* flags);
Error cudaGraphExecHostNodeSetParams(void* plan, void* node, const HostNode* params);
Error cudaGraphExecKernelNodeSetParams(void* plan, void* node, const KernelNode* params);
Error cudaGraphExecMemcpyNodeSetParams(void* plan, void* node, const Copy3D* params);
Error cudaGraphExecMemsetNodeSetParams(void* plan, void* node, const MemsetNode* params);
Error cudaGraphExecNodeSetParams(void* plan, void* node, const GraphNodeParams* params);
Error cudaGraphExecUpdate(void* handle, void* from, UpdateResult* result);
Error cudaGraphGetRootNodes(void* handle, void** nodes, std::size_t* count);
Error cudaGraphHostNodeGetParams(void* node, HostNode* out);
Error cudaGraphHostNodeSetParams(void* node, const HostNode* params);
Error cudaGraphInstantiateWithParams(void** made, void* graph, InstantiateParams* params);
Error cudaGraphKernelNodeCopyAttributes(void* to, void* from);
Error cudaGraphKernelNodeGetAttribute(void* node, int attribute, void* value);
Error cudaGraphKernelNodeGetParams(void* handle, KernelNode* out);
Error cudaGraphKernelNodeSetAttribute(void* node, int attribute, const void* value);
Error cudaGraphKernelNodeSetParams(void* node, const KernelNode* params);
Error cudaGraphMemAllocNodeGetParams(void* node, AllocationNode* out);
Error cudaGraphMemFreeNodeGetParams(void* node, void* out);
Error cudaGraphMemcpyNodeSetParams(void* node, const Copy3D* params);
Error cudaGraphMemsetNodeGetParams(void* node, MemsetNode* out);
Error cudaGraphMemsetNodeSetParams(void* node, const MemsetNode* params);
Error cudaGraphNodeFindInClone(void** found, void* original, void* clone);
Error cudaGraphNodeGetEnabled(void* handle, void* node, unsigned* enabled);
Error cudaGraphNodeSetEnabled(void* handle, void* node, unsigned enabled);
Error cudaGraphNodeSetParams(void* node, const GraphNodeParams* params);
Error cudaGraphReleaseUserObject(void* handle, void* of, unsigned count);
Error cudaGraphRetainUserObject(void* handle, void* of, unsigned count, unsigned flags);
Error cudaStreamBeginCaptureToGraph(StreamHandle stream, void* graph, void* const* after, const void*,
                                    std::size_t count, int);
Error cudaStreamBeginCaptureToGraph_ptsz(StreamHandle stream, void* graph, void* const* after, const void*,
                                         std::size_t count, int);
Error cudaStreamGetCaptureInfo(StreamHandle stream, int* status, unsigned long long* number, void** graph,
                               void* const** after, const void** data, std::size_t* count);
Error cudaStreamGetCaptureInfo_ptsz(StreamHandle stream, int* status, unsigned long long* number,
                                    void** graph, void* const** after, const void** data, std::size_t* count);
Error cudaUserObjectCreate(void** made, void* object, void (*destroy)(void*), unsigned references,
                           unsigned flags);
Error cudaUserObjectRelease(void* handle, unsigned count);
Error cudaUserObjectRetain(void* handle, unsigned count);
}

}  // namespace gpumux::cudart
