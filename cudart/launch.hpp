// Launches, for other parts of the library.
#pragma once

#include <string_view>

#include "graphs.hpp"

namespace gpumux::cudart {

/// Of a kernel: by a pointer to each, or all as the kernel has them.
struct Arguments {
  void** pointers = nullptr;
  std::string_view packed;
};
Error launch(const void* function, Dim3 grid, Dim3 block, std::size_t shared_bytes, StreamHandle stream,
             const Arguments& arguments, bool cooperative, bool per_thread);
/// As cudaLaunchKernelExC.
Error launch(const LaunchConfig* config, const void* function, const Arguments& arguments, bool per_thread);

/// Adds what `extra` of the driver's launches says; false: both are given, or it is not as it should be.
bool read_extra(void** extra, Arguments& arguments);

/// Of a launch that was described. `priority`: as LaunchArguments have it.
Error enqueue(const KernelContent& of, std::uint32_t stream, std::uint32_t priority);

}  // namespace gpumux::cudart
