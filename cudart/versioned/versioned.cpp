// Differences between NVIDIA's run times 12 and 13, for the two libcudart libraries: a few structures and
// signatures. Everything else is common and in libcuda.so.1, which both libraries load. Its symbols have no
// versions, so they also serve programs that ask for a version, like a preloaded library.
#include "cudart/versioned.hpp"

#include "cudart/session.hpp"

#include <cstring>

namespace gpumux::cudart {
namespace {

constexpr int kMajor = GPUMUX_CUDART_MAJOR;  // from CMakeLists.txt

/// Clears cudaGraphEdgeData, 8 bytes each: plain dependencies.
void clear_edges(void* data, std::size_t count) {
  constexpr std::size_t kBytes = 8;
  std::memset(data, 0, kBytes * count);
}

}  // namespace

GPUMUX_CUDART_API Error cudaRuntimeGetVersion(int* version) {
  *version = kMajor * 1000;
  return Error::Success;
}

GPUMUX_CUDART_API Error cudaGetDriverEntryPoint(const char* name, void** function, unsigned long long flags,
                                                int* found) {
  return gpumux_get_entry_point(name, function, kMajor * 1000, flags, found);
}
GPUMUX_CUDART_API Error cudaGetDriverEntryPoint_ptsz(const char* name, void** function,
                                                     unsigned long long flags, int* found) {
  constexpr unsigned long long kPerThread = 2;
  return gpumux_get_entry_point(name, function, kMajor * 1000, flags | kPerThread, found);
}

#if GPUMUX_CUDART_MAJOR >= 13
GPUMUX_CUDART_API Error cudaStreamUpdateCaptureDependencies_ptsz(StreamHandle stream, void* const* nodes,
                                                                 const void*, std::size_t count,
                                                                 unsigned flags) {
  return gpumux_stream_update_capture_dependencies(stream, nodes, count, flags, 1);
}
GPUMUX_CUDART_API Error cudaGetDeviceProperties(void* properties, int device) {
  return gpumux_get_device_properties(properties, device, kMajor);
}
// CUDA 13: functions have an argument for edge data, which only programmatic launches use.
#define GPUMUX_EDGE_DATA(name) name
#else
GPUMUX_CUDART_API Error cudaGetDeviceProperties_v2(void* properties, int device) {
  return gpumux_get_device_properties(properties, device, kMajor);
}
// CUDA 12: variants with edge data have a suffix.
#define GPUMUX_EDGE_DATA(name) name##_v2
GPUMUX_CUDART_API Error cudaGraphAddDependencies(void* graph, void* const* from, void* const* to,
                                                 std::size_t count) {
  return gpumux_graph_add_dependencies(graph, from, to, count);
}
GPUMUX_CUDART_API Error cudaGraphRemoveDependencies(void* graph, void* const* from, void* const* to,
                                                    std::size_t count) {
  return gpumux_graph_remove_dependencies(graph, from, to, count);
}
GPUMUX_CUDART_API Error cudaGraphGetEdges(void* graph, void** from, void** to, std::size_t* count) {
  return gpumux_graph_get_edges(graph, from, to, count);
}
GPUMUX_CUDART_API Error cudaGraphNodeGetDependencies(void* node, void** nodes, std::size_t* count) {
  return gpumux_graph_node_get_dependencies(node, nodes, count);
}
GPUMUX_CUDART_API Error cudaGraphNodeGetDependentNodes(void* node, void** nodes, std::size_t* count) {
  return gpumux_graph_node_get_dependent_nodes(node, nodes, count);
}
GPUMUX_CUDART_API Error cudaGraphAddNode(void** made, void* graph, void* const* after, std::size_t count,
                                         GraphNodeParams* params) {
  return gpumux_graph_add_node(made, graph, after, count, params);
}
GPUMUX_CUDART_API Error cudaStreamUpdateCaptureDependencies(StreamHandle stream, void* const* nodes,
                                                            std::size_t count, unsigned flags) {
  return gpumux_stream_update_capture_dependencies(stream, nodes, count, flags, 0);
}
GPUMUX_CUDART_API Error cudaStreamUpdateCaptureDependencies_ptsz(StreamHandle stream, void* const* nodes,
                                                                 std::size_t count, unsigned flags) {
  return gpumux_stream_update_capture_dependencies(stream, nodes, count, flags, 1);
}
#endif

GPUMUX_CUDART_API Error GPUMUX_EDGE_DATA(cudaGraphAddDependencies)(void* graph, void* const* from,
                                                                   void* const* to, const void*,
                                                                   std::size_t count) {
  return gpumux_graph_add_dependencies(graph, from, to, count);
}
GPUMUX_CUDART_API Error GPUMUX_EDGE_DATA(cudaGraphRemoveDependencies)(void* graph, void* const* from,
                                                                      void* const* to, const void*,
                                                                      std::size_t count) {
  return gpumux_graph_remove_dependencies(graph, from, to, count);
}
GPUMUX_CUDART_API Error GPUMUX_EDGE_DATA(cudaGraphGetEdges)(void* graph, void** from, void** to, void* data,
                                                            std::size_t* count) {
  const Error error = gpumux_graph_get_edges(graph, from, to, count);
  if (error == Error::Success && data != nullptr && from != nullptr) clear_edges(data, *count);
  return error;
}
GPUMUX_CUDART_API Error GPUMUX_EDGE_DATA(cudaGraphNodeGetDependencies)(void* node, void** nodes, void* data,
                                                                       std::size_t* count) {
  const Error error = gpumux_graph_node_get_dependencies(node, nodes, count);
  if (error == Error::Success && data != nullptr && nodes != nullptr) clear_edges(data, *count);
  return error;
}
GPUMUX_CUDART_API Error GPUMUX_EDGE_DATA(cudaGraphNodeGetDependentNodes)(void* node, void** nodes, void* data,
                                                                         std::size_t* count) {
  const Error error = gpumux_graph_node_get_dependent_nodes(node, nodes, count);
  if (error == Error::Success && data != nullptr && nodes != nullptr) clear_edges(data, *count);
  return error;
}
GPUMUX_CUDART_API Error GPUMUX_EDGE_DATA(cudaGraphAddNode)(void** made, void* graph, void* const* after,
                                                           const void*, std::size_t count,
                                                           GraphNodeParams* params) {
  return gpumux_graph_add_node(made, graph, after, count, params);
}
GPUMUX_CUDART_API Error GPUMUX_EDGE_DATA(cudaStreamUpdateCaptureDependencies)(StreamHandle stream,
                                                                              void* const* nodes, const void*,
                                                                              std::size_t count,
                                                                              unsigned flags) {
  return gpumux_stream_update_capture_dependencies(stream, nodes, count, flags, 0);
}

}  // namespace gpumux::cudart
