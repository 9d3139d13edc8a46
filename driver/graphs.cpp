// Graphs and captures: those of the run time.
#include "cudart/graph.hpp"

#include "cudart/api.hpp"
#include "cudart/graph_api.hpp"
#include "cudart/versioned.hpp"
#include "driver/call.hpp"
#include "driver/copies.hpp"

namespace gpumux::driver {
namespace {

using cudart::StreamHandle;

/// CUDA_KERNEL_NODE_PARAMS of version 2.
struct KernelNode {
  cudart::KernelNode of;
  void* kernel;  // used if the function is null
  Context* context;
};
cudart::KernelNode run_time(const KernelNode& params) {
  cudart::KernelNode of = params.of;
  if (of.function == nullptr) of.function = params.kernel;
  return of;
}
/// CUDA_MEMCPY_NODE_PARAMS in CUgraphNodeParams.
struct CopyNode {
  int flags;
  int reserved;
  Context* context;
  Copy3D copy;
};

/// Converts CUgraphNodeParams to the run time's structure. Only kernel and copy nodes differ.
Error run_time(const cudart::GraphNodeParams& params, cudart::GraphNodeParams& out) {
  out = params;
  const void* const union_of = &params.of;
  switch (static_cast<cudart::NodeType>(params.type)) {
    case cudart::NodeType::Kernel:
      out.of.kernel = run_time(*static_cast<const KernelNode*>(union_of));
      return Error::Success;
    case cudart::NodeType::Memcpy:
      return describe_copy(&static_cast<const CopyNode*>(union_of)->copy, out.of.memcpy.copy);
    default: return Error::Success;
  }
}
Error add_node(void** made, void* graph, void* const* after, std::size_t count,
               cudart::GraphNodeParams* params) {
  if (params == nullptr) return Error::InvalidValue;
  cudart::GraphNodeParams of;
  if (const Error error = run_time(*params, of); error != Error::Success) return error;
  const Error error = cudart::gpumux_graph_add_node(made, graph, after, count, &of);
  // These have output members.
  if (params->type == static_cast<int>(cudart::NodeType::MemAlloc) ||
      params->type == static_cast<int>(cudart::NodeType::Conditional))
    *params = of;
  return error;
}
template <class Set>
Error set_node(const cudart::GraphNodeParams* params, const Set& set) {
  if (params == nullptr) return Error::InvalidValue;
  cudart::GraphNodeParams of;
  const Error error = run_time(*params, of);
  return error == Error::Success ? set(&of) : error;
}
template <class Set>
Error set_kernel(const KernelNode* params, const Set& set) {
  if (params == nullptr) return Error::InvalidValue;
  const cudart::KernelNode of = run_time(*params);
  return set(&of);
}
template <class Set>
Error set_copy(const Copy3D* params, const Set& set) {
  cudart::Copy3D of;
  const Error error = describe_copy(params, of);
  return error == Error::Success ? set(&of) : error;
}

Result begin_capture(StreamHandle stream, int mode, bool per_thread) {
  return in_context([=] {
    return per_thread ? cudart::cudaStreamBeginCapture_ptsz(stream, mode)
                      : cudart::cudaStreamBeginCapture(stream, mode);
  });
}
Result begin_capture_to(StreamHandle stream, void* graph, void* const* after, const void* data,
                        std::size_t count, int mode, bool per_thread) {
  return in_context([=] {
    return per_thread ? cudart::cudaStreamBeginCaptureToGraph_ptsz(stream, graph, after, data, count, mode)
                      : cudart::cudaStreamBeginCaptureToGraph(stream, graph, after, data, count, mode);
  });
}
Result capture_info(StreamHandle stream, int* status, unsigned long long* number, void** graph,
                    void* const** after, const void** data, std::size_t* count, bool per_thread) {
  return in_context([=] {
    return per_thread
               ? cudart::cudaStreamGetCaptureInfo_ptsz(stream, status, number, graph, after, data, count)
               : cudart::cudaStreamGetCaptureInfo(stream, status, number, graph, after, data, count);
  });
}
Result update_dependencies(StreamHandle stream, void* const* nodes, std::size_t count, unsigned flags,
                           bool per_thread) {
  return in_context([=] {
    return cudart::gpumux_stream_update_capture_dependencies(stream, nodes, count, flags, per_thread ? 1 : 0);
  });
}

}  // namespace

GPUMUX_DRIVER_BOTH(cuStreamBeginCapture, _ptsz, (StreamHandle stream), begin_capture(stream, 0, per_thread))
GPUMUX_DRIVER_BOTH(cuStreamBeginCapture_v2, _ptsz, (StreamHandle stream, int mode),
                   begin_capture(stream, mode, per_thread))
GPUMUX_DRIVER_BOTH(cuStreamEndCapture, _ptsz, (StreamHandle stream, void** graph), in_context([=] {
                     return per_thread ? cudart::cudaStreamEndCapture_ptsz(stream, graph)
                                       : cudart::cudaStreamEndCapture(stream, graph);
                   }))
GPUMUX_DRIVER_BOTH(cuStreamIsCapturing, _ptsz, (StreamHandle stream, int* status), in_context([=] {
                     return per_thread ? cudart::cudaStreamIsCapturing_ptsz(stream, status)
                                       : cudart::cudaStreamIsCapturing(stream, status);
                   }))
GPUMUX_DRIVER_API Result cuThreadExchangeStreamCaptureMode(int* mode) {
  return initialized([=] { return cudart::cudaThreadExchangeStreamCaptureMode(mode); });
}

GPUMUX_DRIVER_API Result cuGraphCreate(void** graph, unsigned flags) {
  return initialized([=] { return cudart::cudaGraphCreate(graph, flags); });
}
GPUMUX_DRIVER_API Result cuGraphDestroy(void* graph) {
  return initialized([=] { return cudart::cudaGraphDestroy(graph); });
}
GPUMUX_DRIVER_API Result cuGraphClone(void** made, void* graph) {
  return initialized([=] { return cudart::cudaGraphClone(made, graph); });
}
GPUMUX_DRIVER_API Result cuGraphGetNodes(void* graph, void** nodes, std::size_t* count) {
  return initialized([=] { return cudart::cudaGraphGetNodes(graph, nodes, count); });
}
GPUMUX_DRIVER_API Result cuGraphNodeGetType(void* node, int* type) {
  return initialized([=] { return cudart::cudaGraphNodeGetType(node, type); });
}
GPUMUX_DRIVER_API Result cuGraphInstantiateWithFlags(void** plan, void* graph, unsigned long long flags) {
  return in_context([=] { return cudart::cudaGraphInstantiateWithFlags(plan, graph, flags); });
}
GPUMUX_DRIVER_API Result cuGraphExecDestroy(void* plan) {
  return initialized([=] { return cudart::cudaGraphExecDestroy(plan); });
}
GPUMUX_DRIVER_BOTH(cuGraphUpload, _ptsz, (void* plan, StreamHandle stream),
                   (static_cast<void>(per_thread),
                    in_context([=] { return cudart::cudaGraphUpload(plan, stream); })))
GPUMUX_DRIVER_BOTH(cuGraphLaunch, _ptsz, (void* plan, StreamHandle stream), in_context([=] {
                     return per_thread ? cudart::cudaGraphLaunch_ptsz(plan, stream)
                                       : cudart::cudaGraphLaunch(plan, stream);
                   }))

GPUMUX_DRIVER_API Result cuGraphAddEmptyNode(void** made, void* graph, void* const* after,
                                             std::size_t count) {
  return initialized([=] { return cudart::cudaGraphAddEmptyNode(made, graph, after, count); });
}
GPUMUX_DRIVER_API Result cuGraphAddChildGraphNode(void** made, void* graph, void* const* after,
                                                  std::size_t count, void* child) {
  return initialized([=] { return cudart::cudaGraphAddChildGraphNode(made, graph, after, count, child); });
}
GPUMUX_DRIVER_API Result cuGraphAddHostNode(void** made, void* graph, void* const* after, std::size_t count,
                                            const cudart::HostNode* of) {
  return initialized([=] { return cudart::cudaGraphAddHostNode(made, graph, after, count, of); });
}
GPUMUX_DRIVER_API Result cuGraphAddEventRecordNode(void** made, void* graph, void* const* after,
                                                   std::size_t count, cudart::EventHandle event) {
  return initialized([=] { return cudart::cudaGraphAddEventRecordNode(made, graph, after, count, event); });
}
GPUMUX_DRIVER_API Result cuGraphAddEventWaitNode(void** made, void* graph, void* const* after,
                                                 std::size_t count, cudart::EventHandle event) {
  return initialized([=] { return cudart::cudaGraphAddEventWaitNode(made, graph, after, count, event); });
}
GPUMUX_DRIVER_API Result cuGraphAddMemAllocNode(void** made, void* graph, void* const* after,
                                                std::size_t count, cudart::AllocationNode* of) {
  return initialized([=] { return cudart::cudaGraphAddMemAllocNode(made, graph, after, count, of); });
}
GPUMUX_DRIVER_API Result cuGraphAddMemFreeNode(void** made, void* graph, void* const* after,
                                               std::size_t count, DevicePointer pointer) {
  return initialized(
      [=] { return cudart::cudaGraphAddMemFreeNode(made, graph, after, count, pointer_to(pointer)); });
}
GPUMUX_DRIVER_API Result cuGraphAddMemsetNode(void** made, void* graph, void* const* after, std::size_t count,
                                              const cudart::MemsetNode* of, Context*) {
  return in_context([=] { return cudart::cudaGraphAddMemsetNode(made, graph, after, count, of); });
}
GPUMUX_DRIVER_API Result cuGraphMemsetNodeGetParams(void* node, cudart::MemsetNode* of) {
  return initialized([=] { return cudart::cudaGraphMemsetNodeGetParams(node, of); });
}
GPUMUX_DRIVER_API Result cuGraphMemsetNodeSetParams(void* node, const cudart::MemsetNode* of) {
  return initialized([=] { return cudart::cudaGraphMemsetNodeSetParams(node, of); });
}
GPUMUX_DRIVER_API Result cuGraphExecMemsetNodeSetParams(void* plan, void* node, const cudart::MemsetNode* of,
                                                        Context*) {
  return initialized([=] { return cudart::cudaGraphExecMemsetNodeSetParams(plan, node, of); });
}
GPUMUX_DRIVER_API Result cuGraphHostNodeGetParams(void* node, cudart::HostNode* of) {
  return initialized([=] { return cudart::cudaGraphHostNodeGetParams(node, of); });
}
GPUMUX_DRIVER_API Result cuGraphHostNodeSetParams(void* node, const cudart::HostNode* of) {
  return initialized([=] { return cudart::cudaGraphHostNodeSetParams(node, of); });
}
GPUMUX_DRIVER_API Result cuGraphExecHostNodeSetParams(void* plan, void* node, const cudart::HostNode* of) {
  return initialized([=] { return cudart::cudaGraphExecHostNodeSetParams(plan, node, of); });
}
GPUMUX_DRIVER_API Result cuGraphEventRecordNodeGetEvent(void* node, cudart::EventHandle* event) {
  return initialized([=] { return cudart::cudaGraphEventRecordNodeGetEvent(node, event); });
}
GPUMUX_DRIVER_API Result cuGraphEventRecordNodeSetEvent(void* node, cudart::EventHandle event) {
  return initialized([=] { return cudart::cudaGraphEventRecordNodeSetEvent(node, event); });
}
GPUMUX_DRIVER_API Result cuGraphExecEventRecordNodeSetEvent(void* plan, void* node,
                                                            cudart::EventHandle event) {
  return initialized([=] { return cudart::cudaGraphExecEventRecordNodeSetEvent(plan, node, event); });
}
GPUMUX_DRIVER_API Result cuGraphEventWaitNodeGetEvent(void* node, cudart::EventHandle* event) {
  return initialized([=] { return cudart::cudaGraphEventWaitNodeGetEvent(node, event); });
}
GPUMUX_DRIVER_API Result cuGraphEventWaitNodeSetEvent(void* node, cudart::EventHandle event) {
  return initialized([=] { return cudart::cudaGraphEventWaitNodeSetEvent(node, event); });
}
GPUMUX_DRIVER_API Result cuGraphExecEventWaitNodeSetEvent(void* plan, void* node, cudart::EventHandle event) {
  return initialized([=] { return cudart::cudaGraphExecEventWaitNodeSetEvent(plan, node, event); });
}
GPUMUX_DRIVER_API Result cuGraphMemAllocNodeGetParams(void* node, cudart::AllocationNode* of) {
  return initialized([=] { return cudart::cudaGraphMemAllocNodeGetParams(node, of); });
}
GPUMUX_DRIVER_API Result cuGraphMemFreeNodeGetParams(void* node, void* pointer) {
  return initialized([=] { return cudart::cudaGraphMemFreeNodeGetParams(node, pointer); });
}
GPUMUX_DRIVER_API Result cuGraphChildGraphNodeGetGraph(void* node, void** graph) {
  return initialized([=] { return cudart::cudaGraphChildGraphNodeGetGraph(node, graph); });
}
GPUMUX_DRIVER_API Result cuGraphExecChildGraphNodeSetParams(void* plan, void* node, void* child) {
  return initialized([=] { return cudart::cudaGraphExecChildGraphNodeSetParams(plan, node, child); });
}
GPUMUX_DRIVER_API Result cuGraphKernelNodeCopyAttributes(void* to, void* from) {
  return initialized([=] { return cudart::cudaGraphKernelNodeCopyAttributes(to, from); });
}
GPUMUX_DRIVER_API Result cuGraphKernelNodeGetAttribute(void* node, int attribute, void* value) {
  return initialized([=] { return cudart::cudaGraphKernelNodeGetAttribute(node, attribute, value); });
}
GPUMUX_DRIVER_API Result cuGraphKernelNodeSetAttribute(void* node, int attribute, const void* value) {
  return initialized([=] { return cudart::cudaGraphKernelNodeSetAttribute(node, attribute, value); });
}
GPUMUX_DRIVER_API Result cuGraphDestroyNode(void* node) {
  return initialized([=] { return cudart::cudaGraphDestroyNode(node); });
}
GPUMUX_DRIVER_API Result cuGraphNodeFindInClone(void** found, void* original, void* clone) {
  return initialized([=] { return cudart::cudaGraphNodeFindInClone(found, original, clone); });
}
GPUMUX_DRIVER_API Result cuGraphGetRootNodes(void* graph, void** nodes, std::size_t* count) {
  return initialized([=] { return cudart::cudaGraphGetRootNodes(graph, nodes, count); });
}
GPUMUX_DRIVER_API Result cuGraphNodeSetEnabled(void* plan, void* node, unsigned enabled) {
  return initialized([=] { return cudart::cudaGraphNodeSetEnabled(plan, node, enabled); });
}
GPUMUX_DRIVER_API Result cuGraphNodeGetEnabled(void* plan, void* node, unsigned* enabled) {
  return initialized([=] { return cudart::cudaGraphNodeGetEnabled(plan, node, enabled); });
}
GPUMUX_DRIVER_API Result cuGraphExecUpdate_v2(void* plan, void* graph, cudart::UpdateResult* result) {
  return initialized([=] { return cudart::cudaGraphExecUpdate(plan, graph, result); });
}
GPUMUX_DRIVER_API Result cuGraphExecGetFlags(void* plan, unsigned long long* flags) {
  return initialized([=] { return cudart::cudaGraphExecGetFlags(plan, flags); });
}
GPUMUX_DRIVER_API Result cuGraphDebugDotPrint(void* graph, const char* path, unsigned flags) {
  return initialized([=] { return cudart::cudaGraphDebugDotPrint(graph, path, flags); });
}
GPUMUX_DRIVER_API Result cuDeviceGetGraphMemAttribute(DeviceNumber device, int attribute, void* value) {
  return initialized([=] { return cudart::cudaDeviceGetGraphMemAttribute(device, attribute, value); });
}
GPUMUX_DRIVER_API Result cuDeviceSetGraphMemAttribute(DeviceNumber device, int attribute, void* value) {
  return initialized([=] { return cudart::cudaDeviceSetGraphMemAttribute(device, attribute, value); });
}
GPUMUX_DRIVER_API Result cuDeviceGraphMemTrim(DeviceNumber device) {
  return initialized([=] { return cudart::cudaDeviceGraphMemTrim(device); });
}
GPUMUX_DRIVER_API Result cuUserObjectCreate(void** made, void* object, void (*destroy)(void*),
                                            unsigned references, unsigned flags) {
  return initialized([=] { return cudart::cudaUserObjectCreate(made, object, destroy, references, flags); });
}
GPUMUX_DRIVER_API Result cuUserObjectRetain(void* object, unsigned count) {
  return initialized([=] { return cudart::cudaUserObjectRetain(object, count); });
}
GPUMUX_DRIVER_API Result cuUserObjectRelease(void* object, unsigned count) {
  return initialized([=] { return cudart::cudaUserObjectRelease(object, count); });
}
GPUMUX_DRIVER_API Result cuGraphRetainUserObject(void* graph, void* object, unsigned count, unsigned flags) {
  return initialized([=] { return cudart::cudaGraphRetainUserObject(graph, object, count, flags); });
}
GPUMUX_DRIVER_API Result cuGraphReleaseUserObject(void* graph, void* object, unsigned count) {
  return initialized([=] { return cudart::cudaGraphReleaseUserObject(graph, object, count); });
}
GPUMUX_DRIVER_API Result cuGraphConditionalHandleCreate(std::uint64_t* made, void* graph, Context*,
                                                        unsigned first, unsigned flags) {
  return initialized([=] { return cudart::cudaGraphConditionalHandleCreate(made, graph, first, flags); });
}

// Variants with edge data, which is ignored: all dependencies are plain.
GPUMUX_DRIVER_API Result cuGraphAddDependencies(void* graph, void* const* from, void* const* to,
                                                std::size_t count) {
  return initialized([=] { return cudart::gpumux_graph_add_dependencies(graph, from, to, count); });
}
GPUMUX_DRIVER_API Result cuGraphAddDependencies_v2(void* graph, void* const* from, void* const* to,
                                                   const void*, std::size_t count) {
  return initialized([=] { return cudart::gpumux_graph_add_dependencies(graph, from, to, count); });
}
GPUMUX_DRIVER_API Result cuGraphRemoveDependencies(void* graph, void* const* from, void* const* to,
                                                   std::size_t count) {
  return initialized([=] { return cudart::gpumux_graph_remove_dependencies(graph, from, to, count); });
}
GPUMUX_DRIVER_API Result cuGraphRemoveDependencies_v2(void* graph, void* const* from, void* const* to,
                                                      const void*, std::size_t count) {
  return initialized([=] { return cudart::gpumux_graph_remove_dependencies(graph, from, to, count); });
}
GPUMUX_DRIVER_API Result cuGraphGetEdges(void* graph, void** from, void** to, std::size_t* count) {
  return initialized([=] { return cudart::gpumux_graph_get_edges(graph, from, to, count); });
}
GPUMUX_DRIVER_API Result cuGraphGetEdges_v2(void* graph, void** from, void** to, void*, std::size_t* count) {
  return initialized([=] { return cudart::gpumux_graph_get_edges(graph, from, to, count); });
}
GPUMUX_DRIVER_API Result cuGraphNodeGetDependencies(void* node, void** nodes, std::size_t* count) {
  return initialized([=] { return cudart::gpumux_graph_node_get_dependencies(node, nodes, count); });
}
GPUMUX_DRIVER_API Result cuGraphNodeGetDependencies_v2(void* node, void** nodes, void*, std::size_t* count) {
  return initialized([=] { return cudart::gpumux_graph_node_get_dependencies(node, nodes, count); });
}
GPUMUX_DRIVER_API Result cuGraphNodeGetDependentNodes(void* node, void** nodes, std::size_t* count) {
  return initialized([=] { return cudart::gpumux_graph_node_get_dependent_nodes(node, nodes, count); });
}
GPUMUX_DRIVER_API Result cuGraphNodeGetDependentNodes_v2(void* node, void** nodes, void*,
                                                         std::size_t* count) {
  return initialized([=] { return cudart::gpumux_graph_node_get_dependent_nodes(node, nodes, count); });
}

GPUMUX_DRIVER_API Result cuGraphAddKernelNode_v2(void** made, void* graph, void* const* after,
                                                 std::size_t count, const KernelNode* params) {
  return in_context([=] {
    return set_kernel(params, [=](const cudart::KernelNode* of) {
      return cudart::cudaGraphAddKernelNode(made, graph, after, count, of);
    });
  });
}
GPUMUX_DRIVER_API Result cuGraphKernelNodeGetParams_v2(void* node, KernelNode* params) {
  return in_context([=] {
    if (params == nullptr) return Error::InvalidValue;
    *params = {{}, nullptr, current_context()};
    return cudart::cudaGraphKernelNodeGetParams(node, &params->of);
  });
}
GPUMUX_DRIVER_API Result cuGraphKernelNodeSetParams_v2(void* node, const KernelNode* params) {
  return initialized([=] {
    return set_kernel(
        params, [=](const cudart::KernelNode* of) { return cudart::cudaGraphKernelNodeSetParams(node, of); });
  });
}
GPUMUX_DRIVER_API Result cuGraphExecKernelNodeSetParams_v2(void* plan, void* node, const KernelNode* params) {
  return initialized([=] {
    return set_kernel(params, [=](const cudart::KernelNode* of) {
      return cudart::cudaGraphExecKernelNodeSetParams(plan, node, of);
    });
  });
}
GPUMUX_DRIVER_API Result cuGraphAddMemcpyNode(void** made, void* graph, void* const* after, std::size_t count,
                                              const Copy3D* params, Context*) {
  return in_context([=] {
    return set_copy(params, [=](const cudart::Copy3D* of) {
      return cudart::cudaGraphAddMemcpyNode(made, graph, after, count, of);
    });
  });
}
GPUMUX_DRIVER_API Result cuGraphMemcpyNodeSetParams(void* node, const Copy3D* params) {
  return initialized([=] {
    return set_copy(params,
                    [=](const cudart::Copy3D* of) { return cudart::cudaGraphMemcpyNodeSetParams(node, of); });
  });
}
GPUMUX_DRIVER_API Result cuGraphExecMemcpyNodeSetParams(void* plan, void* node, const Copy3D* params,
                                                        Context*) {
  return initialized([=] {
    return set_copy(params, [=](const cudart::Copy3D* of) {
      return cudart::cudaGraphExecMemcpyNodeSetParams(plan, node, of);
    });
  });
}
GPUMUX_DRIVER_API Result cuGraphAddNode(void** made, void* graph, void* const* after, std::size_t count,
                                        cudart::GraphNodeParams* params) {
  return in_context([=] { return add_node(made, graph, after, count, params); });
}
GPUMUX_DRIVER_API Result cuGraphAddNode_v2(void** made, void* graph, void* const* after, const void*,
                                           std::size_t count, cudart::GraphNodeParams* params) {
  return in_context([=] { return add_node(made, graph, after, count, params); });
}
GPUMUX_DRIVER_API Result cuGraphNodeSetParams(void* node, const cudart::GraphNodeParams* params) {
  return initialized([=] {
    return set_node(
        params, [=](const cudart::GraphNodeParams* of) { return cudart::cudaGraphNodeSetParams(node, of); });
  });
}
GPUMUX_DRIVER_API Result cuGraphExecNodeSetParams(void* plan, void* node,
                                                  const cudart::GraphNodeParams* params) {
  return initialized([=] {
    return set_node(params, [=](const cudart::GraphNodeParams* of) {
      return cudart::cudaGraphExecNodeSetParams(plan, node, of);
    });
  });
}
GPUMUX_DRIVER_BOTH(cuGraphInstantiateWithParams, _ptsz,
                   (void** made, void* graph, cudart::InstantiateParams* params),
                   (static_cast<void>(per_thread),
                    in_context([=] { return cudart::cudaGraphInstantiateWithParams(made, graph, params); })))

GPUMUX_DRIVER_BOTH(cuStreamBeginCaptureToGraph, _ptsz,
                   (StreamHandle stream, void* graph, void* const* after, const void* data, std::size_t count,
                    int mode),
                   begin_capture_to(stream, graph, after, data, count, mode, per_thread))
GPUMUX_DRIVER_BOTH(cuStreamGetCaptureInfo, _ptsz,
                   (StreamHandle stream, int* status, unsigned long long* number),
                   capture_info(stream, status, number, nullptr, nullptr, nullptr, nullptr, per_thread))
GPUMUX_DRIVER_BOTH(cuStreamGetCaptureInfo_v2, _ptsz,
                   (StreamHandle stream, int* status, unsigned long long* number, void** graph,
                    void* const** after, std::size_t* count),
                   capture_info(stream, status, number, graph, after, nullptr, count, per_thread))
GPUMUX_DRIVER_BOTH(cuStreamGetCaptureInfo_v3, _ptsz,
                   (StreamHandle stream, int* status, unsigned long long* number, void** graph,
                    void* const** after, const void** data, std::size_t* count),
                   capture_info(stream, status, number, graph, after, data, count, per_thread))
GPUMUX_DRIVER_BOTH(cuStreamUpdateCaptureDependencies, _ptsz,
                   (StreamHandle stream, void* const* nodes, std::size_t count, unsigned flags),
                   update_dependencies(stream, nodes, count, flags, per_thread))
GPUMUX_DRIVER_BOTH(cuStreamUpdateCaptureDependencies_v2, _ptsz,
                   (StreamHandle stream, void* const* nodes, const void*, std::size_t count, unsigned flags),
                   update_dependencies(stream, nodes, count, flags, per_thread))

}  // namespace gpumux::driver
