// What libcuda.so.1 has for the libcudart.so of each version (versioned/).
#pragma once

#include <cstddef>

#include "session.hpp"

namespace gpumux::cudart {

/// As cudaGetDeviceProperties; `major`: 12 or 13, whose structure is to be filled.
GPUMUX_CUDART_API Error gpumux_get_device_properties(void* properties, int device, int major);
/// As cudaGraphAddDependencies, without data of edges.
GPUMUX_CUDART_API Error gpumux_graph_add_dependencies(void* graph, void* const* from, void* const* to,
                                                      std::size_t count);
/// As cudaGetDriverEntryPoint, of this version of CUDA; flag 2: of the default stream per thread.
GPUMUX_CUDART_API Error gpumux_get_entry_point(const char* name, void** function, int version,
                                               unsigned long long flags, int* found);

}  // namespace gpumux::cudart
