// What differs between NVIDIA's run times 12 and 13, for which the two libraries stand: a few structures and
// signatures. All else of both is in libcuda.so.1, which they bring with them: unversioned there, it serves
// programs that ask for a version, as what is preloaded does.
#include "cudart/versioned.hpp"

#include "cudart/session.hpp"

namespace gpumux::cudart {
namespace {

constexpr int kMajor = GPUMUX_CUDART_MAJOR;  // from CMakeLists.txt

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
GPUMUX_CUDART_API Error cudaGetDeviceProperties(void* properties, int device) {
  return gpumux_get_device_properties(properties, device, kMajor);
}
// Data of each edge in between, which nobody has who does not use programmatic launches.
GPUMUX_CUDART_API Error cudaGraphAddDependencies(void* graph, void* const* from, void* const* to, const void*,
                                                 std::size_t count) {
  return gpumux_graph_add_dependencies(graph, from, to, count);
}
#else
GPUMUX_CUDART_API Error cudaGetDeviceProperties_v2(void* properties, int device) {
  return gpumux_get_device_properties(properties, device, kMajor);
}
GPUMUX_CUDART_API Error cudaGraphAddDependencies(void* graph, void* const* from, void* const* to,
                                                 std::size_t count) {
  return gpumux_graph_add_dependencies(graph, from, to, count);
}
#endif

}  // namespace gpumux::cudart
