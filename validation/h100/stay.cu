// The kernels of share.cu as blocks that stay on their SM and take one block of the grid after another, for the simulator:
// stay.ptx is made by nvcc -ptx -arch=sm_75 stay.cu. gx, gy: the grid that is gone round, `rounds` times.
#include "bodies.cuh"

#define STAY(NAME, THREADS, BLOCKS, PARAMETERS, CALL)                                                                   \
  extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) stay_##NAME(unsigned gx, unsigned gy, unsigned rounds, PARAMETERS) { \
    const dim3 grid(gx, gy);                                                                                            \
    const unsigned blocks = gx * gy;                                                                                    \
    for (unsigned round = 0; round < rounds; ++round) {                                                                 \
      for (unsigned at = blockIdx.x; at < blocks; at += gridDim.x) {                                                    \
        const unsigned y = at / gx;                                                                                     \
        const uint3 block{at - y * gx, y, 0};                                                                           \
        CALL;                                                                                                           \
        __syncthreads();                                                                                                \
      }                                                                                                                 \
    }                                                                                                                   \
  }
#define LIST(...) __VA_ARGS__

STAY(add, 256, 8, LIST(const float* a, const float* b, float* sum, int loops), add_::add_loops(block, grid, a, b, sum, 1.0f + 0x1p-12f, loops))
STAY(stream1, 256, 8, LIST(const float* in, float* out), stream_::stream<1>(block, grid, in, out))
STAY(stream2, 256, 8, LIST(const float* in, float* out), stream_::stream<2>(block, grid, in, out))
STAY(stream4, 256, 8, LIST(const float* in, float* out), stream_::stream<4>(block, grid, in, out))
STAY(stream3, 256, 8, LIST(const float* in, float* out), stream_::stream<3>(block, grid, in, out))
STAY(sgemm, 128, 8, LIST(const float* a, const float* b, float* c, int m, int n, int k),
     sgemm_::sgemm_nt(block, grid, a, m, b, n, c, m, k, 1.25f, 0.75f))
STAY(transpose, 256, 8, LIST(float* out, const float* in, int width, int height), transpose_::transpose_tiles(block, grid, out, in, width, height))
STAY(hotspot, 256, 8, LIST(const float* power, const float* from, float* to, int size),
     hotspot_::calculate_temp(block, grid, 2, power, from, to, size, size, 2, 0.5f, 1.0f, 1.0f, 5.0f, 0.01f))
STAY(pathfinder, 256, 8, LIST(const int* wall, const int* from, int* to, int columns),
     pathfinder_::dynproc(block, grid, 20, wall, from, to, columns, 1, 20))
STAY(nn, 256, 8, LIST(const nn_::Place* places, float* distance, int count), nn_::distances(block, grid, places, distance, count, 12.5f, 30.25f))
STAY(blackscholes, 128, 16, LIST(float* call, float* put, const float* price, const float* strike, const float* years, int options),
     blackscholes_::black_scholes(block, grid, call, put, price, strike, years, 0.02f, 0.3f, options))
STAY(histogram, 192, 8, LIST(unsigned* partial, const unsigned* words, int count), histogram_::count_bytes(block, grid, partial, words, count))
STAY(product, 256, 8, LIST(const float* a, const float* b, float* e, int ni, int nj, int nk), mm3_::mm3_first(block, grid, a, b, e, ni, nj, nk))
