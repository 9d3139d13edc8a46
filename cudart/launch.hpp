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

/// A launch with these arguments, whose values are taken now.
Error launch_work(const void* function, Dim3 grid, Dim3 block, std::size_t shared_bytes, void** arguments,
                  Work& work);

}  // namespace gpumux::cudart
