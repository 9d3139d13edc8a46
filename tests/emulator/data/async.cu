// Copies to shared memory, barriers that are objects, and pipelines of both, as CUDA's library has them. Made into
// PTX by regenerate.sh.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cuda/barrier>
#include <cuda/pipeline>
#include <cuda_pipeline.h>

namespace cg = cooperative_groups;

// One block of 64 threads: out[i] = sum of the components of in[i ^ 1].
extern "C" __global__ void barrier_copy(const float4* in, float* out) {
  __shared__ alignas(16) float4 tile[64];
#pragma nv_diag_suppress static_var_with_dynamic_init
  __shared__ cuda::barrier<cuda::thread_scope_block> bar;
  if (threadIdx.x == 0) init(&bar, blockDim.x);
  __syncthreads();
  cuda::memcpy_async(&tile[threadIdx.x], &in[threadIdx.x + blockIdx.x * blockDim.x], cuda::aligned_size_t<16>(16),
                     bar);
  bar.arrive_and_wait();
  const float4 v = tile[threadIdx.x ^ 1];
  out[threadIdx.x + blockIdx.x * blockDim.x] = v.x + v.y + v.z + v.w;
}

// 128 threads: out[i] = sum over c < n of in[128 c + 127 - i], two stages of a pipeline of the block.
extern "C" __global__ void pipeline_copy(const float* in, float* out, int n) {
  constexpr int kStages = 2;
  __shared__ float tile[kStages][128];
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, kStages> state;
  auto block = cg::this_thread_block();
  auto pipe = cuda::make_pipeline(block, &state);
  float sum = 0;
  for (int f = 0, c = 0; c < n; ++c) {
    for (; f < n && f < c + kStages; ++f) {
      pipe.producer_acquire();
      cuda::memcpy_async(block, tile[f % kStages], in + f * 128, cuda::aligned_size_t<16>(512), pipe);
      pipe.producer_commit();
    }
    pipe.consumer_wait();
    sum += tile[c % kStages][127 - threadIdx.x];
    pipe.consumer_release();
  }
  out[threadIdx.x] = sum;
}

// The same with the primitives, three stages and groups that may be empty.
extern "C" __global__ void primitives(const float* in, float* out, int n) {
  __shared__ float tile[3][128];
  float sum = 0;
  for (int f = 0; f < 2; ++f) {
    if (f < n) __pipeline_memcpy_async(&tile[f][threadIdx.x], in + f * 128 + threadIdx.x, 4);
    __pipeline_commit();
  }
  for (int c = 0; c < n; ++c) {
    if (c + 2 < n)
      __pipeline_memcpy_async(&tile[(c + 2) % 3][threadIdx.x], in + (c + 2) * 128 + threadIdx.x, 4);
    __pipeline_commit();
    __pipeline_wait_prior(2);
    __syncthreads();
    sum += tile[c % 3][127 - threadIdx.x];
    __syncthreads();
  }
  out[threadIdx.x] = sum;
}

// 32 threads: out[31 - i] = in[i], of which all but the first component is 0 from i = n on.
extern "C" __global__ void zero_fill(const float4* in, float4* out, int n) {
  __shared__ float4 tile[32];
  __pipeline_memcpy_async(&tile[threadIdx.x], in + threadIdx.x, 16, threadIdx.x < n ? 0 : 12);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();
  out[31 - threadIdx.x] = tile[threadIdx.x];
}

// 128 threads: out[128 i + t] = t i + data[127 - t] + i for i < 4. Half of them then drop out of the barrier, and
// out[512 + t] = 1000 + t for the others.
extern "C" __global__ void split_phase(const int* data, int* out) {
#pragma nv_diag_suppress static_var_with_dynamic_init
  __shared__ cuda::barrier<cuda::thread_scope_block> bar;
  __shared__ int s[128];
  if (threadIdx.x == 0) init(&bar, blockDim.x);
  __syncthreads();
  for (int i = 0; i < 4; ++i) {
    s[threadIdx.x] = data[threadIdx.x] + i;
    auto token = bar.arrive();
    const int own = threadIdx.x * i;
    bar.wait(std::move(token));
    out[threadIdx.x + i * 128] = own + s[127 - threadIdx.x];
    bar.arrive_and_wait();
  }
  if (threadIdx.x >= 64) {
    bar.arrive_and_drop();
    return;
  }
  s[threadIdx.x] = 1000 + threadIdx.x;
  bar.arrive_and_wait();
  s[threadIdx.x + 64] = s[63 - threadIdx.x];
  bar.arrive_and_wait();
  out[512 + threadIdx.x] = s[127 - threadIdx.x];
}
