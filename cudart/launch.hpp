// Interface of launches for other parts of the library.
#pragma once

#include <string_view>

#include "graphs.hpp"

namespace gpumux::cudart {

/// Arguments of a kernel: either a pointer to each argument, or all of them in the kernel's layout.
struct Arguments {
  void** pointers = nullptr;
  std::string_view packed;
};
Error launch(const void* function, Dim3 grid, Dim3 block, std::size_t shared_bytes, StreamHandle stream,
             const Arguments& arguments, bool cooperative, bool per_thread);
/// Like cudaLaunchKernelExC.
Error launch(const LaunchConfig* config, const void* function, const Arguments& arguments, bool per_thread);

/// Adds the arguments in the `extra` list of a driver launch. Returns false if both kinds of arguments are
/// given or the list is malformed.
bool read_extra(void** extra, Arguments& arguments);

/// Enqueues a described launch. `priority`: as in program::LaunchArguments.
Error enqueue(const KernelContent& of, std::uint32_t stream, std::uint32_t priority);

}  // namespace gpumux::cudart
