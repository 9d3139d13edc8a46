// CUDA graphs, as the headers of CUDA 13 declare them.
#pragma once

#include "tests/program/calls/cuda.hpp"

using Graph = void*;
using GraphNode = void*;
using GraphExec = void*;

struct KernelParams {
  const void* function = nullptr;
  Dim grid, block;
  unsigned shared = 0;
  void** arguments = nullptr;
  void** extra = nullptr;
};
struct FillParams {
  void* to = nullptr;
  std::size_t pitch = 0;
  unsigned value = 0, element = 1;
  std::size_t width = 1, height = 1;
};
struct AllocationParams {
  int type = 1, handles = 0, location = 1, device = 0;
  void* security = nullptr;
  std::size_t most = 0;
  char reserved[56] = {};
  const void* accesses = nullptr;
  std::size_t access_count = 0;
  std::size_t bytes = 0;
  void* pointer = nullptr;
};
struct ConditionParams {
  std::uint64_t handle = 0;
  int kind = 0;  // 0: if, 1: while, 2: switch
  unsigned size = 1;
  Graph* bodies = nullptr;
};
/// cudaGraphNodeParams of a kernel node or a conditional node.
template <class Of>
struct NodeParams {
  int type;
  int reserved[3] = {};
  Of of;
  char more[240 - sizeof(Of)] = {};
};
struct UpdateInfo {
  int result = -1;
  GraphNode node = nullptr, from = nullptr;
};

extern "C" {
int cudaGraphCreate(Graph* graph, unsigned flags);
int cudaGraphDestroy(Graph graph);
int cudaGraphClone(Graph* clone, Graph graph);
int cudaGraphNodeFindInClone(GraphNode* node, GraphNode original, Graph clone);
int cudaGraphGetNodes(Graph graph, GraphNode* nodes, std::size_t* count);
int cudaGraphGetRootNodes(Graph graph, GraphNode* nodes, std::size_t* count);
int cudaGraphGetEdges(Graph graph, GraphNode* from, GraphNode* to, void* data, std::size_t* count);
int cudaGraphNodeGetDependencies(GraphNode node, GraphNode* nodes, void* data, std::size_t* count);
int cudaGraphNodeGetDependentNodes(GraphNode node, GraphNode* nodes, void* data, std::size_t* count);
int cudaGraphNodeGetType(GraphNode node, int* type);
int cudaGraphAddDependencies(Graph graph, const GraphNode* from, const GraphNode* to, const void* data,
                             std::size_t count);
int cudaGraphRemoveDependencies(Graph graph, const GraphNode* from, const GraphNode* to, const void* data,
                                std::size_t count);
int cudaGraphDestroyNode(GraphNode node);
int cudaGraphAddNode(GraphNode* node, Graph graph, const GraphNode* after, const void* data,
                     std::size_t count, void* params);
int cudaGraphAddKernelNode(GraphNode* node, Graph graph, const GraphNode* after, std::size_t count,
                           const KernelParams* params);
int cudaGraphAddEmptyNode(GraphNode* node, Graph graph, const GraphNode* after, std::size_t count);
int cudaGraphAddMemsetNode(GraphNode* node, Graph graph, const GraphNode* after, std::size_t count,
                           const FillParams* params);
int cudaGraphAddMemcpyNode1D(GraphNode* node, Graph graph, const GraphNode* after, std::size_t count,
                             void* to, const void* from, std::size_t bytes, int kind);
int cudaGraphAddMemcpyNodeToSymbol(GraphNode* node, Graph graph, const GraphNode* after, std::size_t count,
                                   const void* symbol, const void* from, std::size_t bytes,
                                   std::size_t offset, int kind);
int cudaGraphAddChildGraphNode(GraphNode* node, Graph graph, const GraphNode* after, std::size_t count,
                               Graph child);
int cudaGraphChildGraphNodeGetGraph(GraphNode node, Graph* child);
int cudaGraphAddEventRecordNode(GraphNode* node, Graph graph, const GraphNode* after, std::size_t count,
                                Event event);
int cudaGraphAddEventWaitNode(GraphNode* node, Graph graph, const GraphNode* after, std::size_t count,
                              Event event);
int cudaGraphEventRecordNodeGetEvent(GraphNode node, Event* event);
int cudaGraphAddMemAllocNode(GraphNode* node, Graph graph, const GraphNode* after, std::size_t count,
                             AllocationParams* params);
int cudaGraphAddMemFreeNode(GraphNode* node, Graph graph, const GraphNode* after, std::size_t count,
                            void* pointer);
int cudaGraphMemAllocNodeGetParams(GraphNode node, AllocationParams* params);
int cudaGraphMemFreeNodeGetParams(GraphNode node, void* pointer);
int cudaDeviceGetGraphMemAttribute(int device, int attribute, void* value);
int cudaDeviceSetGraphMemAttribute(int device, int attribute, void* value);
int cudaDeviceGraphMemTrim(int device);
int cudaGraphConditionalHandleCreate(std::uint64_t* handle, Graph graph, unsigned first, unsigned flags);
int cudaGraphKernelNodeGetParams(GraphNode node, KernelParams* params);
int cudaGraphKernelNodeSetParams(GraphNode node, const KernelParams* params);
int cudaGraphKernelNodeSetAttribute(GraphNode node, int attribute, const void* value);
int cudaGraphKernelNodeGetAttribute(GraphNode node, int attribute, void* value);
int cudaGraphMemsetNodeGetParams(GraphNode node, FillParams* params);
int cudaGraphMemsetNodeSetParams(GraphNode node, const FillParams* params);
int cudaGraphInstantiate(GraphExec* exec, Graph graph, unsigned long long flags);
int cudaGraphExecDestroy(GraphExec exec);
int cudaGraphExecGetFlags(GraphExec exec, unsigned long long* flags);
int cudaGraphExecUpdate(GraphExec exec, Graph graph, UpdateInfo* info);
int cudaGraphExecKernelNodeSetParams(GraphExec exec, GraphNode node, const KernelParams* params);
int cudaGraphExecMemsetNodeSetParams(GraphExec exec, GraphNode node, const FillParams* params);
int cudaGraphExecMemcpyNodeSetParams1D(GraphExec exec, GraphNode node, void* to, const void* from,
                                       std::size_t bytes, int kind);
int cudaGraphNodeSetEnabled(GraphExec exec, GraphNode node, unsigned enabled);
int cudaGraphLaunch(GraphExec exec, Stream stream);
int cudaGraphDebugDotPrint(Graph graph, const char* path, unsigned flags);
int cudaStreamBeginCapture(Stream stream, int mode);
int cudaStreamBeginCaptureToGraph(Stream stream, Graph graph, const GraphNode* after, const void* data,
                                  std::size_t count, int mode);
int cudaStreamEndCapture(Stream stream, Graph* graph);
int cudaStreamGetCaptureInfo(Stream stream, int* status, unsigned long long* id, Graph* graph,
                             const GraphNode** after, const void** data, std::size_t* count);
int cudaStreamUpdateCaptureDependencies(Stream stream, GraphNode* nodes, const void* data, std::size_t count,
                                        unsigned flags);
int cudaUserObjectCreate(void** object, void* of, void (*destroy)(void*), unsigned count, unsigned flags);
int cudaUserObjectRelease(void* object, unsigned count);
int cudaGraphRetainUserObject(Graph graph, void* object, unsigned count, unsigned flags);
int cudaStreamCreateWithPriority(Stream* stream, unsigned flags, int priority);
int cudaStreamGetPriority(Stream stream, int* priority);
int cudaStreamSetAttribute(Stream stream, int attribute, const void* value);
int cudaDeviceGetStreamPriorityRange(int* least, int* greatest);
int cudaLaunchKernelExC(const void* config, const void* function, void** arguments);
}
