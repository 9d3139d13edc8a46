// Microbenchmarks of one GPU: latencies in SM cycles, throughputs per SM and cycle, bandwidths in GB/s, launches.
// Usage: micro OUT.json. Footprints and orders of the probes are those of src/trace/probe.cpp.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "common.cuh"

namespace {

int sms = 0;
std::uint64_t* scratch = nullptr;  // what kernels write, so that nothing is removed
constexpr int kScratch = 1 << 20;

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// ---- latencies -----------------------------------------------------------------------------------------------------

// One thread follows pointers: `warm` loads, then `timed`. cached: L1 is used.
template <bool kCached>
__global__ void chase(std::uint64_t start, long long warm, long long timed, std::uint64_t* out) {
  std::uint64_t p = start;
  const auto follow = [&](long long n) {
#pragma unroll 1
    for (long long i = 0; i < n; i += 16) {
#pragma unroll
      for (int k = 0; k < 16; ++k) {
        if (kCached) asm volatile("ld.global.ca.u64 %0, [%0];" : "+l"(p)::"memory");
        else asm volatile("ld.global.cg.u64 %0, [%0];" : "+l"(p)::"memory");
      }
    }
  };
  follow(warm);
  const unsigned long long t0 = global_ns();
  const long long c0 = clock64();
  follow(timed);
  const long long c1 = clock64();
  const unsigned long long t1 = global_ns();
  out[0] = c1 - c0;
  out[1] = t1 - t0;
  out[2] = p;
}

// Cycles of each of `lines` single loads past L1, on the SM that is wanted; the buffer is in L2 after the first pass.
__global__ void single_loads(const std::uint64_t* data, int lines, unsigned wanted_sm, std::uint32_t* cycles,
                             unsigned long long* sum) {
  if (sm_number() != wanted_sm) return;
  std::uint64_t use = 0;
  unsigned long long total = 0;
  for (int pass = 0; pass < 2; ++pass) {
    total = 0;
#pragma unroll 1
    for (int i = 0; i < lines; ++i) {
      std::uint64_t value;
      const std::uint64_t* at = data + std::size_t{16} * i;
      const unsigned c0 = clock();
      asm volatile("ld.global.cg.u64 %0, [%1];" : "=l"(value) : "l"(at) : "memory");
      if (value != 0) use += value + clock();  // never: the branch waits for the value
      const unsigned c1 = clock();
      total += c1 - c0;
      if (pass == 1 && cycles != nullptr) cycles[i] = c1 - c0;
    }
  }
  sum[wanted_sm] = total + use;
}

// Each kind: kSteps dependent instructions by one warp, unrolled.
constexpr int kSteps = 1024;
enum Chain {
  kFma, kAddF, kMulF, kFmaD, kAddD, kMadI, kAddI, kLogic, kShift, kEx2, kRsqrt, kRcp, kSin, kLg2, kHfma2, kShuffle, kAtomGlobal,
  kBarrier, kVote, kMinI, kMulHi, kCvt, kPopc, kDivF, kSqrtF, kLoadConst
};
struct ChainInfo { Chain chain; const char* name; };
constexpr ChainInfo kChains[] = {
    {kFma, "fma.rn.f32"}, {kAddF, "add.f32"}, {kMulF, "mul.f32"}, {kFmaD, "fma.rn.f64"}, {kAddD, "add.f64"}, {kMadI, "mad.lo.s32"},
    {kAddI, "add.s32"}, {kLogic, "xor.b32, add.s32"}, {kShift, "shl.b32 by a register"}, {kEx2, "ex2.approx.ftz.f32"},
    {kRsqrt, "rsqrt.approx.ftz.f32"}, {kRcp, "rcp.approx.ftz.f32 and add.f32"}, {kSin, "sin.approx.ftz.f32"}, {kLg2, "lg2.approx.ftz.f32"},
    {kHfma2, "fma.rn.f16x2"}, {kShuffle, "shfl.sync.idx"},
    {kAtomGlobal, "atom.global.add.u32"}, {kBarrier, "bar.sync of one warp"}, {kVote, "vote.sync.ballot"}, {kMinI, "min.s32"},
    {kMulHi, "mul.hi.u32"}, {kCvt, "cvt f32 to s32 and back"}, {kPopc, "popc.b32"}, {kDivF, "div.rn.f32"}, {kSqrtF, "sqrt.rn.f32"},
    {kLoadConst, "ld.const.u32"}};

__constant__ std::uint32_t const_words[1024];
__device__ std::uint32_t atomic_word[64];

template <Chain C>
__global__ void latency(float a, float b, double da, double db, int ia, int ib, std::uint64_t* out) {
  float x = a + threadIdx.x;
  double d = da + threadIdx.x;
  int v = ia + threadIdx.x, w = ib;
  unsigned h = 0x3c003c00u;
  const std::uint32_t zero = 0;
  std::uint32_t* global_at = atomic_word;
  long long c0 = 0, c1 = 0;
  for (int round = 0; round < 3; ++round) {
    __syncwarp();
    c0 = clock64();
#pragma unroll 1
    for (int outer = 0; outer < kSteps / 64; ++outer) {
#pragma unroll
      for (int k = 0; k < 64; ++k) {
        if (C == kFma) asm volatile("fma.rn.f32 %0, %0, %1, %2;" : "+f"(x) : "f"(b), "f"(a));
        if (C == kAddF) asm volatile("add.rn.f32 %0, %0, %1;" : "+f"(x) : "f"(b));
        if (C == kMulF) asm volatile("mul.rn.f32 %0, %0, %1;" : "+f"(x) : "f"(b));
        if (C == kFmaD) asm volatile("fma.rn.f64 %0, %0, %1, %2;" : "+d"(d) : "d"(db), "d"(da));
        if (C == kAddD) asm volatile("add.rn.f64 %0, %0, %1;" : "+d"(d) : "d"(db));
        if (C == kMadI) asm volatile("mad.lo.s32 %0, %0, %1, %2;" : "+r"(v) : "r"(w), "r"(ia));
        if (C == kAddI) {  // sums of the last two, so that three-input additions save nothing
          if (k % 2 == 0) asm volatile("add.s32 %0, %0, %1;" : "+r"(v) : "r"(w));
          else asm volatile("add.s32 %0, %0, %1;" : "+r"(w) : "r"(v));
        }
        if (C == kLogic) {
          if (k % 2 == 0) asm volatile("add.s32 %0, %0, %1;" : "+r"(v) : "r"(w));
          else asm volatile("xor.b32 %0, %0, %1;" : "+r"(v) : "r"(ia));
        }
        if (C == kShift) asm volatile("shl.b32 %0, %1, %0;" : "+r"(v) : "r"(w));
        if (C == kEx2) asm volatile("ex2.approx.ftz.f32 %0, %0;" : "+f"(x));
        if (C == kRsqrt) asm volatile("rsqrt.approx.ftz.f32 %0, %0;" : "+f"(x));
        if (C == kRcp) asm volatile("rcp.approx.ftz.f32 %0, %0; add.rn.f32 %0, %0, %1;" : "+f"(x) : "f"(b));
        if (C == kSin) asm volatile("sin.approx.ftz.f32 %0, %0;" : "+f"(x));
        if (C == kLg2) asm volatile("lg2.approx.ftz.f32 %0, %0;" : "+f"(x));
        if (C == kHfma2) asm volatile("fma.rn.f16x2 %0, %0, %1, %1;" : "+r"(h) : "r"(w));
        if (C == kShuffle) asm volatile("shfl.sync.idx.b32 %0, %0, %0, 31, 0xffffffff;" : "+r"(v));
        if (C == kAtomGlobal) {
          std::uint32_t got;
          asm volatile("atom.global.add.u32 %0, [%1], %2;" : "=r"(got) : "l"(global_at), "r"(zero) : "memory");
          global_at += got;
        }
        if (C == kBarrier) asm volatile("bar.sync 0;" ::: "memory");
        if (C == kVote) asm volatile("{.reg .pred p; setp.ne.s32 p, %0, %1; vote.sync.ballot.b32 %0, p, 0xffffffff;}" : "+r"(v) : "r"(w));
        if (C == kMinI) {
          if (k % 2 == 0) asm volatile("min.s32 %0, %0, %1;" : "+r"(v) : "r"(w));
          else asm volatile("max.s32 %0, %0, %1;" : "+r"(v) : "r"(ia));
        }
        if (C == kMulHi) asm volatile("mul.hi.u32 %0, %0, %1;" : "+r"(v) : "r"(w));
        if (C == kCvt) asm volatile("{.reg .f32 f; cvt.rn.f32.s32 f, %0; cvt.rzi.s32.f32 %0, f;}" : "+r"(v));
        if (C == kPopc) asm volatile("popc.b32 %0, %0;" : "+r"(v));
        if (C == kDivF) asm volatile("div.rn.f32 %0, %0, %1;" : "+f"(x) : "f"(b));
        if (C == kSqrtF) asm volatile("sqrt.rn.f32 %0, %0;" : "+f"(x));
        if (C == kLoadConst) v = const_words[v & 1023];
      }
    }
    c1 = clock64();
  }
  if (threadIdx.x == 0) out[0] = c1 - c0;
  out[2 + threadIdx.x] = static_cast<std::uint64_t>(x) + static_cast<std::uint64_t>(d) + v + w + h +
                         reinterpret_cast<std::uint64_t>(global_at);
}

// The last steps of a chase in shared memory start from words that point to themselves.
__global__ void shared_chase(int stride_words, std::uint64_t* out) {
  __shared__ std::uint32_t words[4096];
  const auto base = static_cast<std::uint32_t>(__cvta_generic_to_shared(words));
  for (int i = threadIdx.x; i < 4096; i += blockDim.x) words[i] = base + 4 * ((i + stride_words) % 4096);
  __syncthreads();
  std::uint32_t p = base + 4 * threadIdx.x;
  long long c0 = 0, c1 = 0;
  for (int round = 0; round < 2; ++round) {
    c0 = clock64();
#pragma unroll 1
    for (int outer = 0; outer < kSteps / 64; ++outer) {
#pragma unroll
      for (int k = 0; k < 64; ++k) asm volatile("ld.shared.u32 %0, [%0];" : "+r"(p)::"memory");
    }
    c1 = clock64();
  }
  if (threadIdx.x == 0) out[0] = c1 - c0;
  out[2 + threadIdx.x] = p;
}

// The same through a pointer to a word that holds its own address, for atomics in shared memory.
__global__ void shared_atomic_chase(std::uint32_t zero, std::uint64_t* out) {
  __shared__ std::uint32_t words[32];
  const auto base = static_cast<std::uint32_t>(__cvta_generic_to_shared(words));
  words[threadIdx.x] = base + 4 * threadIdx.x;
  __syncthreads();
  std::uint32_t p = base + 4 * threadIdx.x;
  long long c0 = 0, c1 = 0;
  for (int round = 0; round < 2; ++round) {
    c0 = clock64();
#pragma unroll 1
    for (int outer = 0; outer < kSteps / 64; ++outer) {
#pragma unroll
      for (int k = 0; k < 64; ++k) asm volatile("atom.shared.add.u32 %0, [%0], %1;" : "+r"(p) : "r"(zero) : "memory");
    }
    c1 = clock64();
  }
  if (threadIdx.x == 0) out[0] = c1 - c0;
  out[2 + threadIdx.x] = p;
}

// ---- throughputs ---------------------------------------------------------------------------------------------------

enum Flow { tFma, tAddF, tMulF, tFmaD, tAddI, tMadI, tLogic, tShift, tEx2, tRsqrt, tHfma2, tShuffle, tCvt, tPopc, tMinI, tMixFI, tAtomShared };
struct FlowInfo { Flow flow; const char* name; };
constexpr FlowInfo kFlows[] = {{tFma, "fma.rn.f32"}, {tAddF, "add.f32"}, {tMulF, "mul.f32"}, {tFmaD, "fma.rn.f64"}, {tAddI, "add.s32"},
                               {tMadI, "mad.lo.s32"}, {tLogic, "xor.b32 and add.s32"}, {tShift, "shl.b32"}, {tEx2, "ex2.approx.ftz.f32"},
                               {tRsqrt, "rsqrt.approx.ftz.f32"}, {tHfma2, "fma.rn.f16x2"}, {tShuffle, "shfl.sync.idx"},
                               {tCvt, "cvt.rn.f32.s32"}, {tPopc, "popc.b32"}, {tMinI, "min.s32, max.s32"}, {tMixFI, "fma.rn.f32 and add.s32"},
                               {tAtomShared, "atom.shared.add.u32, an address a lane"}};

// A block of 1024 threads on each SM, kIlp independent chains a thread; out: cycles of each block from its first warp's
// begin to its last one's end.
constexpr int kIlp = 4;
constexpr int kFlowSteps = 32;
constexpr int kFlowRounds = 64;
template <Flow F>
__global__ void __launch_bounds__(1024) flow(float a, float b, double db, int ia, int ib, std::uint64_t* out) {
  __shared__ long long begin, end;
  __shared__ std::uint32_t words[1024];
  float x[kIlp];
  double d[kIlp];
  int v[kIlp], w[kIlp];
  unsigned h[kIlp];
  words[threadIdx.x] = 0;
  const auto at = static_cast<std::uint32_t>(__cvta_generic_to_shared(words)) + 4 * threadIdx.x;
#pragma unroll
  for (int i = 0; i < kIlp; ++i) { x[i] = a + i + threadIdx.x; d[i] = x[i]; v[i] = ia + i + threadIdx.x * 5; w[i] = ib + threadIdx.x; h[i] = w[i]; }
  if (threadIdx.x == 0) { begin = 0x7fffffffffffffffLL; end = 0; }
  __syncthreads();
  long long c0 = clock64();
#pragma unroll 1
  for (int outer = 0; outer < kFlowRounds; ++outer) {
#pragma unroll
    for (int k = 0; k < kFlowSteps; ++k) {
#pragma unroll
      for (int i = 0; i < kIlp; ++i) {
        if (F == tFma) asm volatile("fma.rn.f32 %0, %0, %1, %2;" : "+f"(x[i]) : "f"(b), "f"(a));
        if (F == tAddF) asm volatile("add.rn.f32 %0, %0, %1;" : "+f"(x[i]) : "f"(b));
        if (F == tMulF) asm volatile("mul.rn.f32 %0, %0, %1;" : "+f"(x[i]) : "f"(b));
        if (F == tFmaD) asm volatile("fma.rn.f64 %0, %0, %1, %1;" : "+d"(d[i]) : "d"(db));
        if (F == tAddI) {
          if (k % 2 == 0) asm volatile("add.s32 %0, %0, %1;" : "+r"(v[i]) : "r"(w[i]));
          else asm volatile("add.s32 %0, %0, %1;" : "+r"(w[i]) : "r"(v[i]));
        }
        if (F == tMadI) asm volatile("mad.lo.s32 %0, %0, %1, %2;" : "+r"(v[i]) : "r"(w[i]), "r"(ia));
        if (F == tLogic) {
          if (k % 2 == 0) asm volatile("add.s32 %0, %0, %1;" : "+r"(v[i]) : "r"(w[i]));
          else asm volatile("xor.b32 %0, %0, %1;" : "+r"(v[i]) : "r"(ia));
        }
        if (F == tShift) asm volatile("shl.b32 %0, %1, %0;" : "+r"(v[i]) : "r"(w[i]));
        if (F == tEx2) asm volatile("ex2.approx.ftz.f32 %0, %0;" : "+f"(x[i]));
        if (F == tRsqrt) asm volatile("rsqrt.approx.ftz.f32 %0, %0;" : "+f"(x[i]));
        if (F == tHfma2) asm volatile("fma.rn.f16x2 %0, %0, %1, %1;" : "+r"(h[i]) : "r"(ib));
        if (F == tShuffle) asm volatile("shfl.sync.idx.b32 %0, %0, %0, 31, 0xffffffff;" : "+r"(v[i]));
        if (F == tCvt) asm volatile("{.reg .f32 f; mov.b32 f, %0; cvt.rzi.s32.f32 %0, f;}" : "+r"(v[i]));
        if (F == tPopc) asm volatile("popc.b32 %0, %0;" : "+r"(v[i]));
        if (F == tMinI) {
          if (k % 2 == 0) asm volatile("min.s32 %0, %0, %1;" : "+r"(v[i]) : "r"(w[i]));
          else asm volatile("max.s32 %0, %0, %1;" : "+r"(v[i]) : "r"(ia));
        }
        if (F == tMixFI) {
          if (k % 2 == 0) asm volatile("fma.rn.f32 %0, %0, %1, %2;" : "+f"(x[i]) : "f"(b), "f"(a));
          else if (k % 4 == 1) asm volatile("add.s32 %0, %0, %1;" : "+r"(v[i]) : "r"(w[i]));
          else asm volatile("add.s32 %0, %0, %1;" : "+r"(w[i]) : "r"(v[i]));
        }
        if (F == tAtomShared) asm volatile("atom.shared.add.u32 %0, [%1], %0;" : "+r"(v[i]) : "r"(at) : "memory");
      }
    }
  }
  const long long c1 = clock64();
  atomicMin(&begin, c0);
  atomicMax(&end, c1);
  __syncthreads();
  std::uint64_t sum = 0;
#pragma unroll
  for (int i = 0; i < kIlp; ++i) sum += static_cast<std::uint64_t>(x[i]) + static_cast<std::uint64_t>(d[i]) + v[i] + w[i] + h[i];
  if (threadIdx.x == 0) out[blockIdx.x] = end - begin;
  out[gridDim.x + (blockIdx.x * 1024 + threadIdx.x) % 65536] = sum;
}

// When warps end that all do as many multiply-adds: together, or one after the other. A row a warp of the SM wanted:
// kernel, block, warp in its block, %warpid, cycles of its start and end.
struct WarpTime {
  int kernel, block, warp, place;
  long long start, end;
};
template <int Ilp>
__global__ void __launch_bounds__(1024) warp_order(int kernel, unsigned wanted_sm, float a, float b, WarpTime* out, unsigned* count) {
  float x[Ilp];
#pragma unroll
  for (int i = 0; i < Ilp; ++i) x[i] = a + i + threadIdx.x;
  // Blocks begin at different times: all wait for the same one.
  const long long c = clock64();
  const long long c0 = (c / (1 << 20) + 2) * (1 << 20);
  while (clock64() < c0) {}
#pragma unroll 1
  for (int outer = 0; outer < kFlowRounds * 4 / Ilp; ++outer) {
#pragma unroll
    for (int k = 0; k < kFlowSteps; ++k) {
#pragma unroll
      for (int i = 0; i < Ilp; ++i) asm volatile("fma.rn.f32 %0, %0, %1, %2;" : "+f"(x[i]) : "f"(b), "f"(a));
    }
  }
  const long long c1 = clock64();
  float sum = 0;
#pragma unroll
  for (int i = 0; i < Ilp; ++i) sum += x[i];
  if (threadIdx.x % 32 == 0 && sm_number() == wanted_sm) {
    unsigned place;
    asm volatile("mov.u32 %0, %%warpid;" : "=r"(place));
    out[atomicAdd(count, 1u)] = {kernel, static_cast<int>(blockIdx.x), static_cast<int>(threadIdx.x / 32), static_cast<int>(place), c0, c1};
  }
  if (sum == 12345.678f) out[0].kernel = 1;
}

// Bytes a cycle of loads from shared memory, `Word` a lane, conflict-free.
template <typename Word>
__global__ void __launch_bounds__(1024) shared_loads(std::uint64_t* out) {
  extern __shared__ std::uint32_t raw[];
  __shared__ long long begin, end;
  for (int i = threadIdx.x; i < 8192; i += 1024) raw[i] = i;
  if (threadIdx.x == 0) { begin = 0x7fffffffffffffffLL; end = 0; }
  __syncthreads();
  const auto base = static_cast<std::uint32_t>(__cvta_generic_to_shared(raw)) + sizeof(Word) * (threadIdx.x % 256);
  unsigned sum = 0;
  const long long c0 = clock64();
#pragma unroll 1
  for (int outer = 0; outer < 64; ++outer) {
#pragma unroll
    for (int k = 0; k < 8; ++k) {
      const std::uint32_t at = base + 512 * k + (outer & 1) * 16384;
      if (sizeof(Word) == 4) {
        unsigned v;
        asm volatile("ld.shared.u32 %0, [%1];" : "=r"(v) : "r"(at) : "memory");
        sum ^= v;
      } else {
        uint4 v;
        asm volatile("ld.shared.v4.u32 {%0,%1,%2,%3}, [%4];" : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "r"(at) : "memory");
        sum ^= v.x ^ v.y ^ v.z ^ v.w;
      }
    }
  }
  const long long c1 = clock64();
  atomicMin(&begin, c0);
  atomicMax(&end, c1);
  __syncthreads();
  if (threadIdx.x == 0) out[blockIdx.x] = end - begin;
  out[gridDim.x + (blockIdx.x * 1024 + threadIdx.x) % 65536] = sum;
}

// Each block reads the whole footprint, `rounds` times (probe "read"): sixteen loads in flight.
template <typename Word>
__global__ void __launch_bounds__(1024) read_all(const Word* data, long long words, int rounds, std::uint64_t* out) {
  constexpr int kLoads = sizeof(Word) == 16 ? 4 : 16;
  float sum = 0;
  const int n = static_cast<int>(words);
  for (int round = 0; round < rounds; ++round) {
    for (int i = threadIdx.x; i < n; i += kLoads * 1024) {
      Word v[kLoads];
#pragma unroll
      for (int k = 0; k < kLoads; ++k) v[k] = i + k * 1024 < n ? data[i + k * 1024] : Word{};
#pragma unroll
      for (int k = 0; k < kLoads; ++k) {
        if constexpr (sizeof(Word) == 16) sum += v[k].x + v[k].y + v[k].z + v[k].w;
        else sum += v[k];
      }
    }
    asm volatile("" ::: "memory");
  }
  if (sum == 12345.678f) out[threadIdx.x] = 1;
}

// The grid reads a set once a round, past L1.
__global__ void __launch_bounds__(512) read_set(const float4* data, long long words, int rounds, std::uint64_t* out) {
  float sum = 0;
  const long long step = static_cast<long long>(gridDim.x) * 512;
  for (int round = 0; round < rounds; ++round) {
    for (long long i = blockIdx.x * 512LL + threadIdx.x; i < words; i += 4 * step) {
      float4 v[4];
#pragma unroll
      for (int k = 0; k < 4; ++k) v[k] = i + k * step < words ? __ldcg(data + i + k * step) : float4{};
#pragma unroll
      for (int k = 0; k < 4; ++k) sum += v[k].x + v[k].y + v[k].z + v[k].w;
    }
  }
  if (sum == 12345.678f) out[threadIdx.x] = 1;
}

__global__ void __launch_bounds__(512) write_set(float4* data, long long words, int rounds, float value) {
  const long long step = static_cast<long long>(gridDim.x) * 512;
  for (int round = 0; round < rounds; ++round)
    for (long long i = blockIdx.x * 512LL + threadIdx.x; i < words; i += step) data[i] = float4{value, value, value, value + round};
}

// Streaming kernels of the probes: a double a thread.
__global__ void __launch_bounds__(1024) init(double* a, double s) { a[blockIdx.x * 1024LL + threadIdx.x] = s; }
__global__ void __launch_bounds__(1024) load(const double* a, double s, std::uint64_t* out) {
  if (a[blockIdx.x * 1024LL + threadIdx.x] == s) out[0] = 1;
}
__global__ void __launch_bounds__(1024) scale(double* a, const double* b, double s) {
  const long long i = blockIdx.x * 1024LL + threadIdx.x;
  a[i] = b[i] * s;
}
__global__ void __launch_bounds__(1024) triad(double* a, const double* b, const double* c, const double* d) {
  const long long i = blockIdx.x * 1024LL + threadIdx.x;
  a[i] = b[i] + c[i] * d[i];
}
__global__ void __launch_bounds__(512) copy4(float4* a, const float4* b) {
  const long long i = blockIdx.x * 2048LL + threadIdx.x;
  float4 v[4];
#pragma unroll
  for (int k = 0; k < 4; ++k) v[k] = b[i + 512 * k];
#pragma unroll
  for (int k = 0; k < 4; ++k) a[i + 512 * k] = v[k];
}

// Atomics on global memory: all of a warp on one word, or each lane on its own; `spread` words between the warps.
__global__ void __launch_bounds__(1024) atomics(unsigned* words, int rounds, int lane_step, int warp_step, unsigned mask) {
  const unsigned warp = blockIdx.x * 32 + threadIdx.x / 32;
  const unsigned at = (warp * warp_step + threadIdx.x % 32 * lane_step) & mask;
  for (int i = 0; i < rounds; ++i) atomicAdd(&words[at], 1u);
}

// ---- launches ------------------------------------------------------------------------------------------------------

__global__ void empty() {}
__global__ void stamp(unsigned long long* at) {
  at[0] = global_ns();
  const long long until = clock64() + 4000;
  while (clock64() < until) {}
  at[1] = global_ns();
}
__global__ void timer_steps(unsigned long long* at) {
  for (int i = 0; i < 2048; ++i) at[i] = global_ns();
}

template <int Ilp>
void warp_orders_of(Json& json) {
  WarpTime* times = nullptr;
  unsigned* number = nullptr;
  CHECK(cudaMalloc(&times, sizeof(WarpTime) * 256));
  CHECK(cudaMalloc(&number, 4));
  cudaStream_t streams[2];
  for (cudaStream_t& stream : streams) CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  struct { const char* what; int first_blocks, second_blocks, threads; } const cases[] = {
      {"a block of 32 warps", 1, 0, 1024}, {"two blocks of 32 warps", 2, 0, 1024}, {"eight blocks of 8 warps", 8, 0, 256},
      {"two kernels, each four blocks of 8 warps", 4, 4, 256}, {"two kernels, each 16 blocks of 2 warps", 16, 16, 64}};
  for (const auto& c : cases) {
    for (int i = 0; i < 2; ++i) {
      CHECK(cudaMemset(number, 0, 4));
      CHECK(cudaDeviceSynchronize());
      warp_order<Ilp><<<c.first_blocks * sms, c.threads, 0, streams[0]>>>(0, 5, 1.0f, 0.999f, times, number);
      if (c.second_blocks > 0) warp_order<Ilp><<<c.second_blocks * sms, c.threads, 0, streams[1]>>>(1, 5, 1.0f, 0.999f, times, number);
      CHECK(cudaDeviceSynchronize());
    }
    unsigned n = 0;
    CHECK(cudaMemcpy(&n, number, 4, cudaMemcpyDeviceToHost));
    std::vector<WarpTime> rows(std::min(n, 256u));
    CHECK(cudaMemcpy(rows.data(), times, sizeof(WarpTime) * rows.size(), cudaMemcpyDeviceToHost));
    std::string list;
    for (const WarpTime& r : rows) {
      char text[96];
      std::snprintf(text, sizeof text, "%s[%d, %d, %d, %d, %lld, %lld]", list.empty() ? "" : ", ", r.kernel, r.block, r.warp, r.place,
                    r.start - rows[0].start, r.end - rows[0].start);
      list += text;
    }
    json.row("{\"kind\": \"warp_order\", \"what\": \"%s\", \"chains\": %d, \"multiply_adds\": %d, "
             "\"columns\": \"kernel, block, warp, warpid, start, end\", \"rows\": [%s]}", c.what, Ilp, kFlowRounds * 4 * kFlowSteps, list.c_str());
  }
}
void warp_orders(Json& json) {
  warp_orders_of<1>(json);
  warp_orders_of<4>(json);
}

// Milliseconds of what `launch` does, the least of `times`.
template <typename Launch>
double best_ms(int times, Launch launch) {
  cudaEvent_t from, to;
  CHECK(cudaEventCreate(&from));
  CHECK(cudaEventCreate(&to));
  double best = 1e30;
  launch();
  for (int i = 0; i < times; ++i) {
    CHECK(cudaEventRecord(from));
    launch();
    CHECK(cudaEventRecord(to));
    CHECK(cudaEventSynchronize(to));
    CHECK(cudaGetLastError());
    float ms = 0;
    CHECK(cudaEventElapsedTime(&ms, from, to));
    best = std::min(best, static_cast<double>(ms));
  }
  CHECK(cudaEventDestroy(from));
  CHECK(cudaEventDestroy(to));
  return best;
}

template <Chain C>
double latency_of() {
  latency<C><<<1, 32>>>(1.0f, 0.999f, 1.0, 0.999, 3, 5, scratch);
  CHECK(cudaDeviceSynchronize());
  std::uint64_t cycles = 0;
  CHECK(cudaMemcpy(&cycles, scratch, 8, cudaMemcpyDeviceToHost));
  return static_cast<double>(cycles) / kSteps;
}

template <Flow F>
double flow_of() {
  for (int i = 0; i < 2; ++i) flow<F><<<sms, 1024>>>(1.0f, 0.999f, 0.999, 3, 5, scratch);
  CHECK(cudaDeviceSynchronize());
  std::vector<std::uint64_t> cycles(sms);
  CHECK(cudaMemcpy(cycles.data(), scratch, 8 * sms, cudaMemcpyDeviceToHost));
  std::vector<double> rates;
  for (const std::uint64_t c : cycles) rates.push_back(1024.0 * kIlp * kFlowSteps * kFlowRounds / static_cast<double>(c));
  return median(rates);
}

template <std::size_t... I>
void all_latencies(Json& json, std::index_sequence<I...>) {
  (json.row("{\"kind\": \"latency\", \"what\": \"%s\", \"cycles\": %.3f}", kChains[I].name, latency_of<kChains[I].chain>()), ...);
}
template <std::size_t... I>
void all_flows(Json& json, std::index_sequence<I...>) {
  (json.row("{\"kind\": \"throughput\", \"what\": \"%s\", \"lanes_per_cycle_per_sm\": %.2f}", kFlows[I].name, flow_of<kFlows[I].flow>()), ...);
}

// Lines of the footprint linked in steps of about the golden section, or in a random order.
void link_lines(std::uint64_t* device, std::uint64_t bytes, bool random, std::vector<std::uint64_t>& host) {
  const std::uint64_t lines = bytes / 128;
  host.assign(lines * 16, 0);
  const auto address = [&](std::uint64_t line) { return reinterpret_cast<std::uint64_t>(device + line * 16); };
  if (random) {
    std::vector<std::uint32_t> order(lines);
    std::iota(order.begin(), order.end(), 0u);
    std::uint64_t state = 88172645463325252ULL;
    for (std::uint64_t i = lines - 1; i > 0; --i) {
      state ^= state << 13; state ^= state >> 7; state ^= state << 17;
      std::swap(order[i], order[state % (i + 1)]);
    }
    for (std::uint64_t i = 0; i < lines; ++i) host[std::uint64_t{order[i]} * 16] = address(order[(i + 1) % lines]);
  } else {
    auto step = static_cast<std::uint64_t>(static_cast<double>(lines) * 0.6180339887);
    while (step > 1 && std::gcd(step, lines) != 1) --step;
    for (std::uint64_t i = 0; i < lines; ++i) host[i * 16] = address((i + step) % lines);
  }
  CHECK(cudaMemcpy(device, host.data(), lines * 128, cudaMemcpyHostToDevice));
}

void chases(Json& json) {
  std::uint64_t* data = nullptr;
  std::uint64_t* other = nullptr;
  const std::uint64_t most = 512ULL << 20;
  CHECK(cudaMalloc(&data, most));
  CHECK(cudaMalloc(&other, 256 << 20));
  std::vector<std::uint64_t> host;
  CHECK(cudaFuncSetAttribute(chase<true>, cudaFuncAttributePreferredSharedMemoryCarveout, 0));
  const int sizes_kb[] = {16, 32, 64, 96, 124, 128, 160, 192, 208, 224, 232, 240, 248, 256, 288, 320, 384, 512, 1024, 2048, 4096, 5120, 8192, 10240,
                          14336, 16384, 20480, 22528, 24576, 25600, 26624, 28672, 32768, 36864, 40960, 45056, 49152, 51200, 57344, 65536, 81920, 107520,
                          131072, 262144, 524288};
  for (const bool random : {false, true}) {
    for (const int kb : sizes_kb) {
      if (random && kb > 131072) continue;
      const std::uint64_t bytes = static_cast<std::uint64_t>(kb) << 10;
      const auto lines = static_cast<long long>(bytes / 128);
      link_lines(data, bytes, random, host);
      // What does not fit into L2 is never found there.
      const long long warm = bytes <= (64ULL << 20) ? (lines + 15) / 16 * 16 : 2048;
      const long long timed = std::max(1024LL, std::min(lines / 16 * 16, 8192LL));
      // The copy leaves some of a large set in L2.
      if (bytes > (40ULL << 20)) CHECK(cudaMemset(other, 0, 256 << 20));
      for (const bool cached : {true, false}) {
        if (!cached && kb > 1024) continue;
        if (cached) chase<true><<<1, 1>>>(reinterpret_cast<std::uint64_t>(data), warm, timed, scratch);
        else chase<false><<<1, 1>>>(reinterpret_cast<std::uint64_t>(data), warm, timed, scratch);
        CHECK(cudaDeviceSynchronize());
        std::uint64_t got[3];
        CHECK(cudaMemcpy(got, scratch, 24, cudaMemcpyDeviceToHost));
        json.row("{\"kind\": \"chase\", \"order\": \"%s\", \"l1\": %s, \"kb\": %d, \"cycles\": %.2f, \"ns\": %.2f}",
                 random ? "random" : "golden", cached ? "true" : "false", kb, static_cast<double>(got[0]) / timed,
                 static_cast<double>(got[1]) / timed);
      }
    }
  }
  // Near and far halves of L2: the mean of 4096 lines from each SM, and each line from four SMs.
  constexpr int kLines = 4096;
  std::uint32_t* cycles = nullptr;
  unsigned long long* sums = nullptr;
  CHECK(cudaMalloc(&cycles, kLines * 4));
  CHECK(cudaMalloc(&sums, 8 * sms));
  CHECK(cudaMemset(data, 0, most));
  std::string means;
  for (int sm = 0; sm < sms; ++sm) {
    single_loads<<<4 * sms, 1>>>(data, kLines, sm, cycles, sums);
    CHECK(cudaDeviceSynchronize());
    unsigned long long sum = 0;
    CHECK(cudaMemcpy(&sum, sums + sm, 8, cudaMemcpyDeviceToHost));
    char text[32];
    std::snprintf(text, sizeof text, "%s%.1f", sm == 0 ? "" : ", ", static_cast<double>(sum) / kLines);
    means += text;
    if (sm == 0 || sm == 1 || sm == 2 || sm == sms - 1) {
      std::vector<std::uint32_t> each(kLines);
      CHECK(cudaMemcpy(each.data(), cycles, kLines * 4, cudaMemcpyDeviceToHost));
      std::vector<int> bins(64);
      for (const std::uint32_t c : each) ++bins[std::min<std::uint32_t>(c / 10, 63)];
      std::string list;
      for (const int n : bins) list += (list.empty() ? "" : ", ") + std::to_string(n);
      json.row("{\"kind\": \"l2_histogram\", \"sm\": %d, \"cycles_per_bin\": 10, \"loads\": [%s]}", sm, list.c_str());
    }
  }
  json.row("{\"kind\": \"l2_mean_by_sm\", \"cycles\": [%s]}", means.c_str());
  CHECK(cudaFree(data));
  CHECK(cudaFree(cycles));
  CHECK(cudaFree(sums));
}

void bandwidths(Json& json) {
  float* data = nullptr;
  const std::uint64_t most = 4ULL << 30;
  CHECK(cudaMalloc(&data, most));
  CHECK(cudaMemset(data, 0x11, most));
  const auto out = scratch;
  CHECK(cudaFuncSetAttribute(read_all<float>, cudaFuncAttributePreferredSharedMemoryCarveout, 0));
  CHECK(cudaFuncSetAttribute(read_all<float4>, cudaFuncAttributePreferredSharedMemoryCarveout, 0));
  for (const int kb : {16, 28, 32, 64, 96, 124, 192, 224, 512, 1024, 2160, 5632, 10240, 16384, 20480}) {
    const long long bytes = static_cast<long long>(kb) << 10;
    const int rounds = static_cast<int>(std::max(4LL, (128LL << 20) / bytes));
    const double wide = best_ms(4, [&] { read_all<float4><<<sms, 1024>>>(reinterpret_cast<float4*>(data), bytes / 16, rounds, out); });
    const double narrow = best_ms(4, [&] { read_all<float><<<sms, 1024>>>(data, bytes / 4, rounds, out); });
    const double wide2 = best_ms(4, [&] { read_all<float4><<<sms, 1024>>>(reinterpret_cast<float4*>(data), bytes / 16, 2 * rounds, out); });
    const double narrow2 = best_ms(4, [&] { read_all<float><<<sms, 1024>>>(data, bytes / 4, 2 * rounds, out); });
    const double moved = static_cast<double>(bytes) * rounds * sms / 1e6;
    json.row("{\"kind\": \"read_all\", \"kb\": %d, \"gbs_4_bytes\": %.0f, \"gbs_16_bytes\": %.0f}", kb, moved / (narrow2 - narrow),
             moved / (wide2 - wide));
  }
  for (const int mb : {1, 2, 4, 6, 8, 12, 16, 20, 24, 28, 32, 36, 40, 44, 48, 56, 64, 96, 128, 256, 1024, 4096}) {
    const long long bytes = static_cast<long long>(mb) << 20;
    const int rounds = static_cast<int>(std::max(2LL, (1LL << 30) / bytes));
    const int grid = 4 * sms;
    const double one = best_ms(3, [&] { read_set<<<grid, 512>>>(reinterpret_cast<float4*>(data), bytes / 16, rounds, out); });
    const double two = best_ms(3, [&] { read_set<<<grid, 512>>>(reinterpret_cast<float4*>(data), bytes / 16, 2 * rounds, out); });
    const double w1 = best_ms(3, [&] { write_set<<<grid, 512>>>(reinterpret_cast<float4*>(data), bytes / 16, rounds, 1.0f); });
    const double w2 = best_ms(3, [&] { write_set<<<grid, 512>>>(reinterpret_cast<float4*>(data), bytes / 16, 2 * rounds, 1.0f); });
    const double moved = static_cast<double>(bytes) * rounds / 1e6;
    json.row("{\"kind\": \"set\", \"mb\": %d, \"read_gbs\": %.0f, \"write_gbs\": %.0f}", mb, moved / (two - one), moved / (w2 - w1));
  }
  for (const int mb : {64, 128, 512, 1024}) {
    const long long bytes = static_cast<long long>(mb) << 20;
    const auto n = static_cast<unsigned>(bytes / 8 / 1024);
    double* const a = reinterpret_cast<double*>(data);
    double* const b = a + bytes / 8;
    double* const c = b + bytes / 8;
    double* const d = c + bytes / 8;
    // The whole array less its half, as the probes do, and the whole alone.
    const auto report = [&](const char* what, int arrays, auto launch) {
      const double whole = best_ms(10, [&] { launch(n); });
      const double half = best_ms(10, [&] { launch(n / 2); });
      json.row("{\"kind\": \"stream\", \"what\": \"%s\", \"mb\": %d, \"gbs\": %.0f, \"gbs_difference\": %.0f}", what, mb,
               arrays * static_cast<double>(bytes) / 1e6 / whole, arrays * static_cast<double>(bytes) / 2e6 / (whole - half));
    };
    report("init", 1, [&](unsigned blocks) { init<<<blocks, 1024>>>(a, 3.0); });
    report("load", 1, [&](unsigned blocks) { load<<<blocks, 1024>>>(b, -77.0, out); });
    report("scale", 2, [&](unsigned blocks) { scale<<<blocks, 1024>>>(a, b, 0.5); });
    report("triad", 4, [&](unsigned blocks) { triad<<<blocks, 1024>>>(a, b, c, d); });
    report("copy of 16 bytes", 2, [&](unsigned blocks) {
      copy4<<<blocks / 4, 512>>>(reinterpret_cast<float4*>(a), reinterpret_cast<const float4*>(b));
    });
  }
  auto* const words = reinterpret_cast<unsigned*>(data);
  struct { const char* what; int lane_step, warp_step; unsigned mask; } const kinds[] = {
      {"all lanes on one word, one word of all warps", 0, 0, 0},
      {"each lane on its word of a line, one line of all warps", 1, 0, 31},
      {"each lane on its word of a line, a line for each warp", 1, 32, (1u << 22) - 1},
      {"each lane on a sector of its own, 16 MB", 8, 256, (1u << 22) - 1}};
  for (const auto& kind : kinds) {
    const int rounds = 64;
    const double ms = best_ms(3, [&] { atomics<<<2 * sms, 1024>>>(words, rounds, kind.lane_step, kind.warp_step, kind.mask); });
    json.row("{\"kind\": \"atomics\", \"what\": \"%s\", \"per_ns\": %.2f}", kind.what, 2.0 * sms * 1024 * rounds / (ms * 1e6));
  }
  CHECK(cudaFree(data));
}

void launches(Json& json) {
  const double many = best_ms(5, [] { for (int i = 0; i < 1000; ++i) empty<<<1, 32>>>(); });
  const double full = best_ms(5, [] { for (int i = 0; i < 1000; ++i) empty<<<132, 1024>>>(); });
  json.row("{\"kind\": \"launch\", \"what\": \"empty kernels one after another, us each\", \"us\": %.3f}", many);
  json.row("{\"kind\": \"launch\", \"what\": \"the same, a block of 1024 threads for each SM\", \"us\": %.3f}", full);
  unsigned long long* at = nullptr;
  constexpr int kMany = 400;
  CHECK(cudaMalloc(&at, 16 * 4096));
  for (int i = 0; i < kMany; ++i) stamp<<<1, 1>>>(at + 2 * i);
  CHECK(cudaDeviceSynchronize());
  for (int i = 0; i < kMany; ++i) stamp<<<1, 1>>>(at + 2 * i);
  CHECK(cudaDeviceSynchronize());
  std::vector<unsigned long long> host(2 * kMany);
  CHECK(cudaMemcpy(host.data(), at, 16 * kMany, cudaMemcpyDeviceToHost));
  std::vector<double> gaps;
  for (int i = 1; i < kMany; ++i) gaps.push_back(static_cast<double>(host[2 * i] - host[2 * i - 1]));
  json.row("{\"kind\": \"launch\", \"what\": \"end of a kernel to start of the next in its stream, by the global timer\", \"us\": %.3f}", median(gaps) / 1e3);
  cudaStream_t stream;
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  CHECK(cudaStreamCreate(&stream));
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  for (int i = 0; i < kMany; ++i) stamp<<<1, 1, 0, stream>>>(at + 2 * i);
  CHECK(cudaStreamEndCapture(stream, &graph));
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  for (int i = 0; i < 2; ++i) CHECK(cudaGraphLaunch(exec, stream));
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaMemcpy(host.data(), at, 16 * kMany, cudaMemcpyDeviceToHost));
  gaps.clear();
  for (int i = 1; i < kMany; ++i) gaps.push_back(static_cast<double>(host[2 * i] - host[2 * i - 1]));
  json.row("{\"kind\": \"launch\", \"what\": \"the same within a graph\", \"us\": %.3f}", median(gaps) / 1e3);
  timer_steps<<<1, 1>>>(at);
  CHECK(cudaDeviceSynchronize());
  host.resize(2048);
  CHECK(cudaMemcpy(host.data(), at, 8 * 2048, cudaMemcpyDeviceToHost));
  std::vector<double> steps;
  for (int i = 1; i < 2048; ++i) if (host[i] != host[i - 1]) steps.push_back(static_cast<double>(host[i] - host[i - 1]));
  json.row("{\"kind\": \"timer\", \"what\": \"median step of the global timer\", \"ns\": %.1f, \"readings\": 2048, \"steps\": %zu}",
           steps.empty() ? 0.0 : median(steps), steps.size());
  CHECK(cudaFree(at));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  Json json(argv[1]);
  cudaDeviceProp p;
  CHECK(cudaGetDeviceProperties(&p, 0));
  sms = p.multiProcessorCount;
  int sm_khz = 0, memory_khz = 0;
  CHECK(cudaDeviceGetAttribute(&sm_khz, cudaDevAttrClockRate, 0));
  CHECK(cudaDeviceGetAttribute(&memory_khz, cudaDevAttrMemoryClockRate, 0));
  json.row("{\"kind\": \"device\", \"name\": \"%s\", \"sms\": %d, \"l2_bytes\": %d, \"sm_mhz\": %d, \"memory_mhz\": %d, \"bus_bits\": %d, "
           "\"memory_bytes\": %zu, \"shared_per_sm\": %zu, \"shared_per_block\": %zu, \"reserved_shared_per_block\": %zu, \"registers_per_sm\": %d, "
           "\"threads_per_sm\": %d, \"blocks_per_sm\": %d}",
           p.name, p.multiProcessorCount, p.l2CacheSize, sm_khz / 1000, memory_khz / 1000, p.memoryBusWidth, p.totalGlobalMem,
           p.sharedMemPerMultiprocessor, p.sharedMemPerBlockOptin, p.reservedSharedMemPerBlock, p.regsPerMultiprocessor,
           p.maxThreadsPerMultiProcessor, p.maxBlocksPerMultiProcessor);
  CHECK(cudaMalloc(&scratch, kScratch * 8));
  all_latencies(json, std::make_index_sequence<sizeof kChains / sizeof *kChains>());
  for (const int stride : {32, 33}) {
    shared_chase<<<1, 1>>>(stride, scratch);
    CHECK(cudaDeviceSynchronize());
    std::uint64_t cycles = 0;
    CHECK(cudaMemcpy(&cycles, scratch, 8, cudaMemcpyDeviceToHost));
    json.row("{\"kind\": \"latency\", \"what\": \"ld.shared.u32, one thread, steps of %d words\", \"cycles\": %.3f}", stride, static_cast<double>(cycles) / kSteps);
  }
  for (const int threads : {1, 32}) {
    shared_atomic_chase<<<1, threads>>>(0, scratch);
    CHECK(cudaDeviceSynchronize());
    std::uint64_t cycles = 0;
    CHECK(cudaMemcpy(&cycles, scratch, 8, cudaMemcpyDeviceToHost));
    json.row("{\"kind\": \"latency\", \"what\": \"atom.shared.add.u32, %d lanes, a word each\", \"cycles\": %.3f}", threads, static_cast<double>(cycles) / kSteps);
  }
  all_flows(json, std::make_index_sequence<sizeof kFlows / sizeof *kFlows>());
  {
    std::vector<std::uint64_t> cycles(sms);
    for (const bool wide : {false, true}) {
      for (int i = 0; i < 2; ++i) {
        if (wide) shared_loads<uint4><<<sms, 1024, 32768>>>(scratch);
        else shared_loads<unsigned><<<sms, 1024, 32768>>>(scratch);
      }
      CHECK(cudaDeviceSynchronize());
      CHECK(cudaMemcpy(cycles.data(), scratch, 8 * sms, cudaMemcpyDeviceToHost));
      std::vector<double> rates;
      for (const std::uint64_t c : cycles) rates.push_back(1024.0 * 512 * (wide ? 16 : 4) / static_cast<double>(c));
      json.row("{\"kind\": \"throughput\", \"what\": \"ld.shared of %d bytes a lane\", \"bytes_per_cycle_per_sm\": %.1f}", wide ? 16 : 4, median(rates));
    }
  }
  warp_orders(json);
  launches(json);
  chases(json);
  bandwidths(json);
  // The clock under load: 30 ms of multiply-adds, by both clocks.
  for (int i = 0; i < 2; ++i) {
    const double ms = best_ms(1, [&] { for (int k = 0; k < 400; ++k) flow<tFma><<<sms, 1024>>>(1.0f, 0.999f, 0.999, 3, 5, scratch); });
    std::uint64_t cycles = 0;
    CHECK(cudaMemcpy(&cycles, scratch, 8, cudaMemcpyDeviceToHost));
    json.row("{\"kind\": \"clock\", \"what\": \"400 launches of multiply-adds\", \"ms\": %.3f, \"cycles_of_one\": %llu}", ms,
             static_cast<unsigned long long>(cycles));
  }
  return 0;
}
