// Launches and occupancy.
#include "cudart/launch.hpp"

#include <algorithm>

#include "cudart/api.hpp"
#include "cudart/modules.hpp"
#include "driver/call.hpp"

namespace gpumux::driver {
namespace {

using cudart::Arguments;
using cudart::Dim3;
using cudart::Kernel;
using cudart::StreamHandle;

Result launch(const Kernel* kernel, Dim3 grid, Dim3 block, unsigned shared_bytes, StreamHandle stream,
              void** parameters, void** extra, bool cooperative, bool per_thread) {
  return in_context([=] {
    Arguments arguments{parameters, {}};
    if (!cudart::read_extra(extra, arguments)) return Error::InvalidValue;
    return cudart::launch(kernel, grid, block, shared_bytes, stream, arguments, cooperative, per_thread);
  });
}

Result launch(const LaunchConfig* config, const Kernel* kernel, void** parameters, void** extra,
              bool per_thread) {
  return in_context([=] {
    Arguments arguments{parameters, {}};
    if (config == nullptr || !cudart::read_extra(extra, arguments)) return Error::InvalidValue;
    const cudart::LaunchConfig of{config->grid,   config->block,      config->shared_bytes,
                                  config->stream, config->attributes, config->attribute_count};
    return cudart::launch(&of, kernel, arguments, per_thread);
  });
}

Result active_blocks(int* blocks, const Kernel* kernel, int threads, std::size_t shared_bytes) {
  return initialized([=] {
    return cudart::cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, kernel, threads, shared_bytes);
  });
}

/// Computes the block size with the most resident threads per SM. Among equally good sizes, the largest.
Result best_block(int* least_grid, int* block, const Kernel* kernel, std::size_t (*shared_bytes_of)(int),
                  std::size_t shared_bytes, int limit) {
  return initialized([=] {
    constexpr int kWarp = 32;
    cudart::FunctionAttributes of;
    if (least_grid == nullptr || block == nullptr) return Error::InvalidValue;
    if (const Error error = cudart::cudaFuncGetAttributes(&of, kernel); error != Error::Success) return error;
    const int most = limit > 0 ? std::min(limit, of.max_threads) : of.max_threads;
    int best_threads = 0;
    for (int threads = most; threads > 0; threads = (threads - 1) / kWarp * kWarp) {
      int blocks = 0;
      const std::size_t shared = shared_bytes_of != nullptr ? shared_bytes_of(threads) : shared_bytes;
      const Error error =
          cudart::cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, threads, shared);
      if (error != Error::Success) return error;
      if (blocks * threads <= best_threads) continue;
      best_threads = blocks * threads;
      *block = threads;
      *least_grid = blocks * static_cast<int>(Session::get().device().sms);
    }
    return best_threads > 0 ? Error::Success : Error::InvalidValue;
  });
}

}  // namespace

GPUMUX_DRIVER_BOTH(cuLaunchKernel, _ptsz,
                   (const Kernel* kernel, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                    unsigned block_y, unsigned block_z, unsigned shared_bytes, StreamHandle stream,
                    void** parameters, void** extra),
                   launch(kernel, {grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared_bytes, stream,
                          parameters, extra, false, per_thread))
GPUMUX_DRIVER_BOTH(cuLaunchCooperativeKernel, _ptsz,
                   (const Kernel* kernel, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                    unsigned block_y, unsigned block_z, unsigned shared_bytes, StreamHandle stream,
                    void** parameters),
                   launch(kernel, {grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared_bytes, stream,
                          parameters, nullptr, true, per_thread))
GPUMUX_DRIVER_BOTH(cuLaunchKernelEx, _ptsz,
                   (const LaunchConfig* config, const Kernel* kernel, void** parameters, void** extra),
                   launch(config, kernel, parameters, extra, per_thread))

GPUMUX_DRIVER_API Result cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const Kernel* kernel,
                                                                     int threads, std::size_t shared_bytes) {
  return active_blocks(blocks, kernel, threads, shared_bytes);
}
GPUMUX_DRIVER_API Result cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    int* blocks, const Kernel* kernel, int threads, std::size_t shared_bytes, unsigned) {
  return active_blocks(blocks, kernel, threads, shared_bytes);
}
GPUMUX_DRIVER_API Result cuOccupancyMaxPotentialBlockSize(int* least_grid, int* block, const Kernel* kernel,
                                                          std::size_t (*shared_bytes_of)(int),
                                                          std::size_t shared_bytes, int limit) {
  return best_block(least_grid, block, kernel, shared_bytes_of, shared_bytes, limit);
}
GPUMUX_DRIVER_API Result cuOccupancyMaxPotentialBlockSizeWithFlags(int* least_grid, int* block,
                                                                   const Kernel* kernel,
                                                                   std::size_t (*shared_bytes_of)(int),
                                                                   std::size_t shared_bytes, int limit,
                                                                   unsigned) {
  return best_block(least_grid, block, kernel, shared_bytes_of, shared_bytes, limit);
}

}  // namespace gpumux::driver
