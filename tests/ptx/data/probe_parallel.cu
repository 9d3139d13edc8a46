// Communication: atomics of all kinds and scopes, warp primitives, barriers, fences, cooperative groups,
// vector accesses, cache operators, half precision.
#include <cooperative_groups.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda/atomic>
namespace cg = cooperative_groups;

__global__ void atomics(int* i, unsigned* u, unsigned long long* l, float* f, double* d, unsigned short* h) {
  __shared__ int si;
  __shared__ unsigned long long sl;
  const int t = threadIdx.x;
  if (t == 0) si = 0, sl = 0;
  __syncthreads();
  int a = atomicAdd(i, t) + atomicSub(i, 1) + atomicMin(i, t) + atomicMax(i, t) + atomicExch(i, t) + atomicAnd(i, t) +
          atomicOr(i, t) + atomicXor(i, t) + atomicCAS(i, 1, t);
  unsigned b = atomicInc(u, t) + atomicDec(u, t) + atomicMin(u, t) + atomicMax(u, t) + atomicAdd(u, 1u);
  unsigned long long c = atomicAdd(l, 5ull) + atomicExch(l, 1ull) + atomicCAS(l, 1ull, 2ull) + atomicMax(l, 3ull) + atomicOr(l, 4ull);
  float e = atomicAdd(f, 1.0f) + atomicExch(f, 2.0f);
  double g = atomicAdd(d, 1.0);
  atomicAdd(&si, t);
  atomicAdd(&sl, 1ull);
  atomicCAS(&si, 3, 4);
  atomicAdd_system(i, 1);
  atomicAdd_block(i, 1);
  atomicCAS(h, static_cast<unsigned short>(1), static_cast<unsigned short>(t));
  atomicAdd(reinterpret_cast<__half2*>(f), __half2(1.0f, 2.0f));
  __syncthreads();
  i[t] = a + static_cast<int>(b + c + e + g) + si + static_cast<int>(sl);
}

__global__ void ordered(cuda::atomic<int, cuda::thread_scope_device>* a, cuda::atomic_ref<int, cuda::thread_scope_system> r, int* out) {
  const int t = threadIdx.x;
  a->store(t, cuda::memory_order_release);
  while (a->load(cuda::memory_order_acquire) < 3) __nanosleep(100);
  out[t] = a->fetch_add(1, cuda::memory_order_acq_rel) + r.fetch_max(3) + a->exchange(4, cuda::memory_order_relaxed);
  cuda::atomic_thread_fence(cuda::memory_order_seq_cst, cuda::thread_scope_device);
  __threadfence();
  __threadfence_block();
  __threadfence_system();
}

__global__ void warps(int* data, float* f) {
  const int t = threadIdx.x;
  const unsigned mask = __activemask();
  int v = data[t];
  v += __shfl_sync(mask, v, 3) + __shfl_up_sync(mask, v, 1) + __shfl_down_sync(mask, v, 2, 16) + __shfl_xor_sync(mask, v, t);
  f[t] += __shfl_xor_sync(0xffffffff, f[t], 1);
  if (__any_sync(mask, v > 3) && !__all_sync(mask, v < 5)) v += __ballot_sync(mask, v & 1);
  int same;
  v += __match_any_sync(mask, v) + __match_all_sync(mask, v, &same) + same;
  __syncwarp();
  v += __syncthreads_count(v > 1) + __syncthreads_and(v) + __syncthreads_or(v);
#if __CUDA_ARCH__ >= 800
  v += __reduce_add_sync(mask, v) + __reduce_max_sync(mask, v);
  v += __reduce_xor_sync(mask, static_cast<unsigned>(v));
#endif
  asm volatile("bar.sync 1, 64; bar.arrive 2, 128; barrier.sync 3; bar.warp.sync 0xffffffff;");
  asm volatile("membar.gl; fence.acq_rel.cta; fence.sc.sys;");
  cg::thread_block block = cg::this_thread_block();
  cg::thread_block_tile<16> tile = cg::tiled_partition<16>(block);
  v += tile.shfl_down(v, 1) + tile.any(v) + tile.thread_rank() + tile.meta_group_rank();
  cg::coalesced_group active = cg::coalesced_threads();
  v += active.size() + active.shfl(v, 0);
  block.sync();
  data[t] = v + clock() + static_cast<int>(clock64());
}

__global__ void accesses(const float4* __restrict__ in, float4* out, const uchar4* b, ushort2* s, double2* d, int* q, long long* l2) {
  const int t = threadIdx.x;
  float4 v = in[t];
  uchar4 c = b[t];
  out[t] = make_float4(v.x + c.x, v.y + c.y, v.z + c.z, v.w + c.w);
  s[t] = make_ushort2(c.x, c.y);
  d[t] = make_double2(v.x, v.y);
  q[t] = __ldcg(q + 1) + __ldca(q + 2) + __ldcs(q + 3) + __ldcv(q + 4) + __ldg(q + 5) + __ldlu(q + 6);
  __stcg(q + 7, 1);
  __stcs(q + 8, 2);
  __stwt(q + 9, 3);
  __stwb(q + 10, 4);
  *reinterpret_cast<longlong2*>(l2 + 2 * t) = make_longlong2(1, 2);
  volatile int* vq = q;
  vq[11] = vq[12];
  asm volatile("prefetch.global.L2 [%0]; prefetchu.L1 [%0];" ::"l"(q));
  int e;
  asm volatile("ld.global.nc.L1::no_allocate.L2::128B.b32 %0, [%1];" : "=r"(e) : "l"(q));
  asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(e) : "l"(q));
  q[13] = e + __isGlobal(q) + __isShared(q);
  char local[64];
  for (int k = 0; k < 64; ++k) local[k] = static_cast<char>(q[k]);
  q[14] = local[q[15] & 63];
}

__global__ void halves(__half* h, __half2* h2, __nv_bfloat16* b, __nv_bfloat162* b2, float* f, double* d, int* i) {
  const int t = threadIdx.x;
  __half x = h[t];
  h[t] = __hfma(x, x, __float2half(1.5f)) + hexp(x) * hsqrt(x) / h[t + 1] - __hmax(x, h[t + 2]);
  h2[t] = __hfma2(h2[t], h2[t + 1], h2[t + 2]) + __hmin2(h2[t], h2[t + 3]) + h2sin(h2[t]) + __heq2(h2[t], h2[t + 1]) + __habs2(__hneg2(h2[t]));
#if __CUDA_ARCH__ >= 800
  b[t] = __hadd(b[t], __float2bfloat16(2.0f)) * b[t + 1];
  b2[t] = __hfma2(b2[t], b2[t + 1], b2[t + 2]);
#endif
  f[t] = __half2float(h[t]) + __bfloat162float(b[t]) + __low2float(h2[t]);
  if (__hlt(x, h[t + 3]) || __hgt(x, h[t + 4]) || __hisnan(x)) f[t] += 1;
  i[t] = __half2int_rn(x) + __half2int_rz(x) + __half_as_short(x) + __half2int_ru(x);
  h[t + 5] = __int2half_rn(i[t]) + __ushort2half_rz(static_cast<unsigned short>(i[t])) + __double2half(d[t]);
  d[t] = __half2float(x);
}
