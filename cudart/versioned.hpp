// Functions of libcuda.so.1 for the libcudart.so of each version (versioned/).
#pragma once

#include <cstddef>

#include "abi.hpp"
#include "session.hpp"

namespace gpumux::cudart {

/// Like cudaGetDeviceProperties. `major`: 12 or 13, the version of the structure.
GPUMUX_CUDART_API Error gpumux_get_device_properties(void* properties, int device, int major);
/// Like cudaGraphAddDependencies, without edge data.
GPUMUX_CUDART_API Error gpumux_graph_add_dependencies(void* graph, void* const* from, void* const* to,
                                                      std::size_t count);
// Like CUDA's functions of these names, without edge data.
GPUMUX_CUDART_API Error gpumux_graph_remove_dependencies(void* graph, void* const* from, void* const* to,
                                                         std::size_t count);
GPUMUX_CUDART_API Error gpumux_graph_get_edges(void* graph, void** from, void** to, std::size_t* count);
GPUMUX_CUDART_API Error gpumux_graph_node_get_dependencies(void* node, void** nodes, std::size_t* count);
GPUMUX_CUDART_API Error gpumux_graph_node_get_dependent_nodes(void* node, void** nodes, std::size_t* count);
GPUMUX_CUDART_API Error gpumux_graph_add_node(void** made, void* graph, void* const* after, std::size_t count,
                                              GraphNodeParams* params);
GPUMUX_CUDART_API Error gpumux_stream_update_capture_dependencies(StreamHandle stream, void* const* nodes,
                                                                  std::size_t count, unsigned flags,
                                                                  int per_thread);
/// Like cudaGetDriverEntryPoint for this version of CUDA. Flag 2: variants with per-thread default streams.
GPUMUX_CUDART_API Error gpumux_get_entry_point(const char* name, void** function, int version,
                                               unsigned long long flags, int* found);

}  // namespace gpumux::cudart
