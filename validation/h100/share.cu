// How kernels behave when they share a GPU: each alone, and pairs of them under three ways of sharing.
// Usage: share OUT.json [QUICK]
//
// Kernels are those of benchmarks/ (bodies.cuh). They run in two forms:
//   plain    the usual grid; two of them in two streams: the hardware's own block scheduler, "leftover".
//   workers  blocks that stay on their SM and take one block of the grid after another. Each SM keeps as many as are
//            wanted of each kernel ("even": half of every SM), or none ("spatial": half of the SMs); the others leave at
//            once. All begin together, go round the grid for a fixed number of cycles, and say how many blocks they did.
#include <algorithm>
#include <cmath>
#include <memory>

#include "common.cuh"
#include "bodies.cuh"

namespace {

int sms = 0;
cudaDeviceProp device;

struct Stamp {
  unsigned long long start, end;  // ns of the global timer
};

struct Worker {
  unsigned long long start, end;  // ns
  long long cycles;
  unsigned done, sm;
};

struct Control {
  unsigned* slots;    // [sms], blocks that have come to an SM
  unsigned* arrived;  // of all kernels of the run
  unsigned expected;
  unsigned per_sm, first_sm, end_sm;
  long long cycles;  // 0: each block of the grid once
  Worker* workers;   // [SMs of the kernel * per_sm]
  unsigned* late;    // workers that waited in vain for the others
};

template <typename Kernel>
__global__ void plain(Kernel kernel, Stamp* stamp, unsigned last_blocks) {
  const unsigned blocks = gridDim.x * gridDim.y;
  const unsigned block = blockIdx.y * gridDim.x + blockIdx.x;
  const bool first = threadIdx.x == 0 && threadIdx.y == 0;
  if (block < 132 && first) atomicMin(&stamp->start, global_ns());
  kernel(blockIdx, gridDim);
  if (block + last_blocks >= blocks) {
    __syncthreads();
    if (first) atomicMax(&stamp->end, global_ns());
  }
}

// As many blocks fit on an SM as of the plain form.
template <typename Kernel>
__global__ void __launch_bounds__(Kernel::kThreads, Kernel::kBlocks) work(Kernel kernel, dim3 grid, Control control) {
  __shared__ unsigned slot;
  __shared__ bool more;
  const bool first = threadIdx.x == 0 && threadIdx.y == 0;
  const unsigned sm = sm_number();
  const bool mine = sm >= control.first_sm && sm < control.end_sm;
  if (!mine) return;
  if (first) slot = atomicAdd(&control.slots[sm], 1u);
  __syncthreads();
  if (slot >= control.per_sm) return;
  const unsigned width = control.end_sm - control.first_sm;
  const unsigned worker = slot * width + sm - control.first_sm;
  const unsigned workers = width * control.per_sm;
  long long begin = 0;
  unsigned long long begin_ns = 0;
  if (first) {
    __threadfence();
    atomicAdd(control.arrived, 1u);
    const long long patience = clock64() + 40'000'000;
    while (*reinterpret_cast<volatile unsigned*>(control.arrived) < control.expected) {
      if (clock64() > patience) {
        atomicAdd(control.late, 1u);
        break;
      }
      __nanosleep(100);
    }
    begin_ns = global_ns();
    begin = clock64();
  }
  __syncthreads();
  const unsigned blocks = grid.x * grid.y;
  unsigned done = 0;
  for (unsigned block = worker;;) {
    if (control.cycles == 0) {
      if (block >= blocks) break;
    } else if (block >= blocks) {
      block = worker;
    }
    const unsigned y = block / grid.x;
    kernel(uint3{block - y * grid.x, y, 0}, grid);
    ++done;
    block += workers;
    if (first) more = control.cycles == 0 || clock64() - begin < control.cycles;
    __syncthreads();
    if (!more) break;
    __syncthreads();
  }
  if (first) {
    control.workers[worker] = {begin_ns, global_ns(), clock64() - begin, done, sm};
  }
}

// ---- the kernels ---------------------------------------------------------------------------------------------------

__global__ void fill(float* at, std::size_t count, float low, float high, unsigned seed) {
  for (std::size_t i = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x; i < count; i += static_cast<std::size_t>(gridDim.x) * blockDim.x) {
    unsigned h = static_cast<unsigned>(i) * 2654435761u + seed;
    h ^= h >> 15; h *= 2246822519u; h ^= h >> 13; h *= 3266489917u; h ^= h >> 16;
    at[i] = low + (high - low) * (static_cast<float>(h >> 8) / 16777216.0f);
  }
}
__global__ void fill_words(unsigned* at, std::size_t count, unsigned below, unsigned seed) {
  for (std::size_t i = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x; i < count; i += static_cast<std::size_t>(gridDim.x) * blockDim.x) {
    unsigned h = static_cast<unsigned>(i) * 2654435761u + seed;
    h ^= h >> 15; h *= 2246822519u; h ^= h >> 13; h *= 3266489917u; h ^= h >> 16;
    at[i] = below == 0 ? h : h % below;
  }
}

float* floats(std::size_t count, float low = 0.0f, float high = 1.0f) {
  static unsigned seed = 1;
  float* at = nullptr;
  CHECK(cudaMalloc(&at, count * 4));
  fill<<<1056, 256>>>(at, count, low, high, ++seed);
  CHECK(cudaGetLastError());
  return at;
}
unsigned* integers(std::size_t count, unsigned below) {
  unsigned* at = nullptr;
  CHECK(cudaMalloc(&at, count * 4));
  fill_words<<<1056, 256>>>(at, count, below, 7);
  CHECK(cudaGetLastError());
  return at;
}

struct Add {
  static constexpr int kThreads = 256, kBlocks = 8;
  const float *a, *b;
  float* sum;
  int loops;
  __device__ void operator()(uint3 block, dim3 grid) const { add_::add_loops(block, grid, a, b, sum, 1.0f + 0x1p-12f, loops); }
};
template <int Words>
struct Stream {
  static constexpr int kThreads = 256, kBlocks = 8;
  const float* in;
  float* out;
  __device__ void operator()(uint3 block, dim3 grid) const { stream_::stream<Words>(block, grid, in, out); }
};
struct Sgemm {
  static constexpr int kThreads = 128, kBlocks = 8;
  const float *a, *b;
  float* c;
  int m, n, k;
  __device__ void operator()(uint3 block, dim3 grid) const { sgemm_::sgemm_nt(block, grid, a, m, b, n, c, m, k, 1.25f, 0.75f); }
};
struct Transpose {
  static constexpr int kThreads = 256, kBlocks = 8;
  float* out;
  const float* in;
  int width, height;
  __device__ void operator()(uint3 block, dim3 grid) const { transpose_::transpose_tiles(block, grid, out, in, width, height); }
};
struct Hotspot {
  static constexpr int kThreads = 256, kBlocks = 8;
  const float *power, *from;
  float* to;
  int size;
  __device__ void operator()(uint3 block, dim3 grid) const {
    hotspot_::calculate_temp(block, grid, 2, power, from, to, size, size, 2, 0.5f, 1.0f, 1.0f, 5.0f, 0.01f);
  }
};
struct Pathfinder {
  static constexpr int kThreads = 256, kBlocks = 8;
  const int *wall, *from;
  int* to;
  int columns;
  __device__ void operator()(uint3 block, dim3 grid) const { pathfinder_::dynproc(block, grid, 20, wall, from, to, columns, 1, 20); }
};
struct Nn {
  static constexpr int kThreads = 256, kBlocks = 8;
  const nn_::Place* places;
  float* distance;
  int count;
  __device__ void operator()(uint3 block, dim3 grid) const { nn_::distances(block, grid, places, distance, count, 12.5f, 30.25f); }
};
struct BlackScholes {
  static constexpr int kThreads = 128, kBlocks = 16;
  float *call, *put;
  const float *price, *strike, *years;
  int options;
  __device__ void operator()(uint3 block, dim3 grid) const {
    blackscholes_::black_scholes(block, grid, call, put, price, strike, years, 0.02f, 0.3f, options);
  }
};
struct MriQ {
  static constexpr int kThreads = 256, kBlocks = 8;
  const float *x, *y, *z;
  float *real, *imaginary;
  int samples;
  __device__ void operator()(uint3 block, dim3 grid) const { mri_q_::compute_q(block, grid, samples, x, y, z, real, imaginary); }
};
struct Histogram {
  static constexpr int kThreads = 192, kBlocks = 8;
  unsigned* partial;
  const unsigned* words;
  int count;
  __device__ void operator()(uint3 block, dim3 grid) const { histogram_::count_bytes(block, grid, partial, words, count); }
};
struct Product {
  static constexpr int kThreads = 256, kBlocks = 8;
  const float *a, *b;
  float* e;
  int ni, nj, nk;
  __device__ void operator()(uint3 block, dim3 grid) const { mm3_::mm3_first(block, grid, a, b, e, ni, nj, nk); }
};

// A kernel with its arguments and grid, whatever its type.
class Kernel {
 public:
  virtual ~Kernel() = default;
  virtual void plain_run(cudaStream_t stream, Stamp* stamp) = 0;
  virtual void work_run(cudaStream_t stream, const Control& control) = 0;
  std::string name;
  dim3 grid, block;
  int plain_registers = 0, work_registers = 0;
  std::size_t shared = 0;
  int pad = 0;  // bytes of dynamic shared memory of workers
  int plain_most = 0, most = 0, half = 0;  // blocks an SM: of the plain form, of workers, of workers on half an SM
  [[nodiscard]] unsigned threads() const { return block.x * block.y; }
  [[nodiscard]] double blocks() const { return static_cast<double>(grid.x) * grid.y; }
};

// Two kernels share an SM only if its L1 and shared memory are split in a way that suits both, and the driver splits it as
// each kernel needs, whatever its preference. So workers ask for shared memory that they do not use: as many blocks as fit
// take 96 KB, the split is 100 KB of shared memory for every kernel, and half of the blocks take half of it.
constexpr int kCarveout = 44;
constexpr int kSharedOfSm = 96 * 1024;

template <typename K>
class KernelOf final : public Kernel {
 public:
  KernelOf(const char* the_name, K kernel, dim3 the_grid, dim3 the_block) : kernel_(kernel) {
    name = the_name;
    grid = the_grid;
    block = the_block;
    CHECK(cudaFuncSetAttribute(plain<K>, cudaFuncAttributePreferredSharedMemoryCarveout, kCarveout));
    CHECK(cudaFuncSetAttribute(work<K>, cudaFuncAttributePreferredSharedMemoryCarveout, kCarveout));
    cudaFuncAttributes a;
    CHECK(cudaFuncGetAttributes(&a, plain<K>));
    plain_registers = a.numRegs;
    CHECK(cudaFuncGetAttributes(&a, work<K>));
    work_registers = a.numRegs;
    shared = a.sharedSizeBytes;
    const int warps = (threads() + 31) / 32;
    const int block_registers = (work_registers * 32 + 255) / 256 * 256 * warps;
    const auto fit = [&](int parts) {
      int n = device.maxThreadsPerMultiProcessor / parts / (32 * warps);
      n = std::min(n, device.regsPerMultiprocessor / parts / block_registers);
      n = std::min(n, device.maxBlocksPerMultiProcessor / parts);
      return std::min(n, static_cast<int>(100 * 1024 / parts / (shared + 1024)));
    };
    CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&plain_most, plain<K>, static_cast<int>(threads()), 0));
    int by_device = 0;
    CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&by_device, work<K>, static_cast<int>(threads()), 0));
    most = std::min(fit(1), by_device);
    // Shared memory is given in whole pieces of a row of it: parts of one size, or of half of it, fill each other's gaps.
    most = std::min(most, K::kBlocks);
    half = std::min(fit(2), most / 2);
    pad = (kSharedOfSm / 2 / half - 1024 - static_cast<int>(shared)) / 128 * 128;
    CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&by_device, work<K>, static_cast<int>(threads()), pad));
    if (by_device < 2 * half) std::fprintf(stderr, "%s: %d blocks fit\n", the_name, by_device);
    most = std::min(most, 2 * half);
  }
  void plain_run(cudaStream_t stream, Stamp* stamp) override {
    plain<K><<<grid, block, 0, stream>>>(kernel_, stamp, static_cast<unsigned>(sms * plain_most));
    CHECK(cudaGetLastError());
  }
  void work_run(cudaStream_t stream, const Control& control) override {
    work<K><<<static_cast<unsigned>(sms * 96), block, static_cast<std::size_t>(pad), stream>>>(kernel_, grid, control);
    CHECK(cudaGetLastError());
  }

 private:
  K kernel_;
};

std::vector<std::unique_ptr<Kernel>> kernels;
template <typename K>
Kernel* add_kernel(const char* name, K kernel, dim3 grid, dim3 block) {
  kernels.push_back(std::make_unique<KernelOf<K>>(name, kernel, grid, block));
  return kernels.back().get();
}

// ---- runs ----------------------------------------------------------------------------------------------------------

cudaStream_t streams[2];
constexpr int kMostWorkers = 132 * 64;
struct Buffers {
  unsigned* slots;
  Worker* workers;
} buffers[2];
unsigned* flags = nullptr;  // arrived, late
Stamp* stamps = nullptr;

struct Part {
  Kernel* kernel;
  int per_sm;
  int first_sm, end_sm;
};

struct Rate {
  double blocks_per_us = 0;
  double mhz = 0;
  double ms = 0;  // from the first worker's start to the last one's end
  unsigned late = 0;
  unsigned long long start = 0, end = 0;
  double missing = 0;  // workers that never came
};

std::vector<Rate> run_workers(const std::vector<Part>& parts, long long cycles) {
  CHECK(cudaMemset(flags, 0, 8));
  unsigned expected = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    CHECK(cudaMemset(buffers[i].slots, 0, sizeof(unsigned) * sms));
    CHECK(cudaMemset(buffers[i].workers, 0, sizeof(Worker) * kMostWorkers));
    expected += static_cast<unsigned>((parts[i].end_sm - parts[i].first_sm) * parts[i].per_sm);
  }
  CHECK(cudaDeviceSynchronize());
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const Part& p = parts[i];
    p.kernel->work_run(streams[i], {buffers[i].slots, flags, expected, static_cast<unsigned>(p.per_sm), static_cast<unsigned>(p.first_sm),
                                    static_cast<unsigned>(p.end_sm), cycles, buffers[i].workers, flags + 1});
  }
  CHECK(cudaDeviceSynchronize());
  unsigned got[2];
  CHECK(cudaMemcpy(got, flags, 8, cudaMemcpyDeviceToHost));
  std::vector<Rate> rates;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto n = static_cast<std::size_t>((parts[i].end_sm - parts[i].first_sm) * parts[i].per_sm);
    std::vector<Worker> workers(n);
    CHECK(cudaMemcpy(workers.data(), buffers[i].workers, sizeof(Worker) * n, cudaMemcpyDeviceToHost));
    Rate rate;
    rate.start = ~0ULL;
    rate.late = got[1];
    double mhz = 0;
    std::size_t counted = 0;
    for (const Worker& w : workers) {
      if (w.end == 0) { rate.missing += 1; continue; }
      rate.start = std::min(rate.start, w.start);
      rate.end = std::max(rate.end, w.end);
      if (w.done == 0 || w.end <= w.start) continue;
      const double us = static_cast<double>(w.end - w.start) / 1e3;
      rate.blocks_per_us += w.done / us;
      mhz += static_cast<double>(w.cycles) / us;
      ++counted;
    }
    rate.mhz = counted == 0 ? 0 : mhz / static_cast<double>(counted);
    rate.ms = static_cast<double>(rate.end - rate.start) / 1e6;
    rates.push_back(rate);
  }
  return rates;
}

// The run in the middle of `times`, by the first part's rate.
std::vector<Rate> middle_run(const std::vector<Part>& parts, long long cycles, int times) {
  std::vector<std::vector<Rate>> all;
  for (int i = 0; i < times; ++i) all.push_back(run_workers(parts, cycles));
  std::sort(all.begin(), all.end(), [&](const auto& x, const auto& y) {
    return cycles == 0 ? x[0].ms < y[0].ms : x[0].blocks_per_us < y[0].blocks_per_us;
  });
  return all[all.size() / 2];
}

// Plain launches, one after the other from the host; ns from the first one's start to each one's start and end.
struct Times {
  double start_ms = 0, end_ms = 0;
};
std::vector<Times> run_plain(const std::vector<Kernel*>& what, bool one_stream = false) {
  Stamp host[2] = {{~0ULL, 0}, {~0ULL, 0}};
  CHECK(cudaMemcpy(stamps, host, sizeof host, cudaMemcpyHostToDevice));
  CHECK(cudaDeviceSynchronize());
  for (std::size_t i = 0; i < what.size(); ++i) what[i]->plain_run(streams[one_stream ? 0 : i], stamps + i);
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaMemcpy(host, stamps, sizeof host, cudaMemcpyDeviceToHost));
  unsigned long long first = ~0ULL;
  for (std::size_t i = 0; i < what.size(); ++i) first = std::min(first, host[i].start);
  std::vector<Times> times;
  for (std::size_t i = 0; i < what.size(); ++i)
    times.push_back({static_cast<double>(host[i].start - first) / 1e6, static_cast<double>(host[i].end - first) / 1e6});
  return times;
}
std::vector<Times> middle_plain(const std::vector<Kernel*>& what, int times) {
  std::vector<std::vector<Times>> all;
  for (int i = 0; i < times; ++i) all.push_back(run_plain(what));
  std::sort(all.begin(), all.end(), [](const auto& x, const auto& y) { return x[0].end_ms < y[0].end_ms; });
  return all[all.size() / 2];
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  const bool quick = argc > 2;
  const int times = quick ? 1 : 5;
  const int pair_times = quick ? 1 : 3;
  Json json(argv[1]);
  CHECK(cudaGetDeviceProperties(&device, 0));
  sms = device.multiProcessorCount;
  for (cudaStream_t& stream : streams) CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  for (Buffers& b : buffers) {
    CHECK(cudaMalloc(&b.slots, sizeof(unsigned) * sms));
    CHECK(cudaMalloc(&b.workers, sizeof(Worker) * kMostWorkers));
  }
  CHECK(cudaMalloc(&flags, 8));
  CHECK(cudaMalloc(&stamps, 2 * sizeof(Stamp)));

  // Grids for a few ms alone; what is read and written does not fit into L2.
  const unsigned add_blocks = 1 << 20;
  const float* add_a = floats(std::size_t{add_blocks} * 256, 0.5f, 1.0f);
  const float* add_b = floats(std::size_t{add_blocks} * 256, 0.5f, 1.0f);
  float* add_sum = floats(std::size_t{add_blocks} * 256);
  const unsigned stream_blocks = 1 << 20;
  const float* stream_in = floats(std::size_t{stream_blocks} * 256 * 4, -1.0f, 1.0f);
  float* stream_out = floats(std::size_t{stream_blocks} * 256 * 4);
  add_kernel("add10", Add{add_a, add_b, add_sum, 10}, add_blocks, 256);
  add_kernel("add20", Add{add_a, add_b, add_sum, 20}, add_blocks, 256);
  add_kernel("stream1", Stream<1>{stream_in, stream_out}, stream_blocks, 256);
  add_kernel("stream3", Stream<3>{stream_in, stream_out}, stream_blocks, 256);
  {
    const int m = 4096, n = 8192, k = 512;
    add_kernel("sgemm", Sgemm{floats(std::size_t{4096} * 512), floats(std::size_t{8192} * 512), floats(std::size_t{4096} * 8192), m, n, k},
               dim3(m / 128, n / 16), dim3(16, 8));
  }
  add_kernel("transpose", Transpose{floats(std::size_t{1} << 28), floats(std::size_t{1} << 28), 16384, 16384}, dim3(1024, 1024), dim3(16, 16));
  {
    const int size = 16384;
    const unsigned side = (size + 11) / 12;
    add_kernel("hotspot", Hotspot{floats(std::size_t{1} << 28, 0, 0.003f), floats(std::size_t{1} << 28, 323, 343), floats(std::size_t{1} << 28), size},
               dim3(side, side), dim3(16, 16));
  }
  {
    const int columns = 1 << 25;
    auto* wall = reinterpret_cast<int*>(integers(std::size_t{columns} * 21, 10));
    auto* from = reinterpret_cast<int*>(integers(columns, 10));
    auto* to = reinterpret_cast<int*>(integers(columns, 10));
    add_kernel("pathfinder", Pathfinder{wall, from, to, columns}, (columns + 215) / 216, 256);
  }
  {
    const int count = 1 << 28;
    auto* places = reinterpret_cast<nn_::Place*>(floats(std::size_t{2} * count, -90, 90));
    add_kernel("nn", Nn{places, floats(count), count}, count / 256, 256);
  }
  {
    const int options = 1 << 27;
    add_kernel("blackscholes", BlackScholes{floats(options), floats(options), floats(options, 5, 30), floats(options, 1, 100), floats(options, 0.25f, 10), options},
               options / 512, 128);
  }
  {
    const unsigned voxels = 1u << 23;
    std::vector<float> samples(4096);
    for (std::size_t i = 0; i < samples.size(); ++i) samples[i] = i % 4 == 3 ? 0.5f : -8.0f + 16.0f * static_cast<float>(i * 7919 % 4096) / 4096;
    CHECK(cudaMemcpyToSymbol(mri_q_::samples, samples.data(), samples.size() * 4));
    const float *x = floats(voxels, -0.5f, 0.5f), *y = floats(voxels, -0.5f, 0.5f), *z = floats(voxels, -0.5f, 0.5f);
    float *real = floats(voxels), *imaginary = floats(voxels);
    add_kernel("mri-q96", MriQ{x, y, z, real, imaginary, 96}, voxels / 256, 256);    // 1.5 KB of samples
    add_kernel("mri-q512", MriQ{x, y, z, real, imaginary, 512}, voxels / 256, 256);  // 8 KB
  }
  {
    const unsigned blocks = 163840;
    const int words = static_cast<int>(blocks) * 192 * 32;
    add_kernel("histogram", Histogram{integers(std::size_t{blocks} * 256, 1), integers(words, 0), words}, blocks, 192);
  }
  {
    const int ni = 8192, nj = 16384, nk = 64;
    add_kernel("3mm-first", Product{floats(std::size_t{1} << 20), floats(std::size_t{1} << 20), floats(std::size_t{1} << 28), ni, nj, nk},
               dim3(nj / 32, ni / 8), dim3(32, 8));
  }
  CHECK(cudaDeviceSynchronize());
  const auto count = kernels.size();

  // Alone. The first run of each is not counted.
  constexpr long long kCycles = 8'000'000;
  std::vector<double> plain_ms(count), full_rate(count);
  for (std::size_t i = 0; i < count; ++i) {
    Kernel* const k = kernels[i].get();
    run_plain({k});
    plain_ms[i] = middle_plain({k}, times)[0].end_ms;
    run_workers({{k, k->most, 0, sms}}, kCycles);
    const Rate full = middle_run({{k, k->most, 0, sms}}, kCycles, times)[0];
    const Rate half = middle_run({{k, k->half, 0, sms}}, kCycles, times)[0];
    const Rate some = middle_run({{k, k->most, 0, sms / 2}}, kCycles, times)[0];
    full_rate[i] = full.blocks_per_us;
    json.row("{\"kind\": \"alone\", \"kernel\": \"%s\", \"grid\": [%u, %u], \"threads\": %u, \"registers\": %d, \"worker_registers\": %d, "
             "\"shared\": %zu, \"plain_blocks_per_sm\": %d, \"blocks_per_sm\": %d, \"half_blocks_per_sm\": %d, \"plain_ms\": %.4f, "
             "\"plain_blocks_per_us\": %.3f, \"blocks_per_us\": %.3f, \"half_of_each_sm\": %.3f, \"half_of_the_sms\": %.3f, \"mhz\": %.1f, "
             "\"late\": %u, \"missing\": %.0f}",
             k->name.c_str(), k->grid.x, k->grid.y, k->threads(), k->plain_registers, k->work_registers, k->shared, k->plain_most, k->most,
             k->half, plain_ms[i], k->blocks() / plain_ms[i] / 1e3, full.blocks_per_us, half.blocks_per_us, some.blocks_per_us, full.mhz,
             full.late + half.late + some.late, full.missing + half.missing + some.missing);
  }

  // Pairs: rates beside each other over rates alone, either one first, and turnaround of plain launches.
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t j = i + 1; j < count; ++j) {
      Kernel* const a = kernels[i].get();
      Kernel* const b = kernels[j].get();
      const auto even = middle_run({{a, a->half, 0, sms}, {b, b->half, 0, sms}}, kCycles, pair_times);
      auto reverse = middle_run({{b, b->half, 0, sms}, {a, a->half, 0, sms}}, kCycles, pair_times);
      std::swap(reverse[0], reverse[1]);
      const auto spatial = middle_run({{a, a->most, 0, sms / 2}, {b, b->most, sms / 2, sms}}, kCycles, pair_times);
      const auto ab = middle_plain({a, b}, pair_times);
      const auto ba = middle_plain({b, a}, pair_times);
      json.row("{\"kind\": \"pair\", \"a\": \"%s\", \"b\": \"%s\", \"even\": [%.4f, %.4f], \"even_b_first\": [%.4f, %.4f], \"even_mhz\": [%.1f, %.1f], \"spatial\": [%.4f, %.4f], "
               "\"late\": %u, \"missing\": %.0f, \"leftover_ab\": {\"start_b\": %.4f, \"end_a\": %.4f, \"end_b\": %.4f}, "
               "\"leftover_ba\": {\"start_a\": %.4f, \"end_b\": %.4f, \"end_a\": %.4f}, \"alone_ms\": [%.4f, %.4f]}",
               a->name.c_str(), b->name.c_str(), full_rate[i] / even[0].blocks_per_us, full_rate[j] / even[1].blocks_per_us, full_rate[i] / reverse[0].blocks_per_us, full_rate[j] / reverse[1].blocks_per_us, even[0].mhz,
               even[1].mhz, full_rate[i] / spatial[0].blocks_per_us, full_rate[j] / spatial[1].blocks_per_us, even[0].late + reverse[0].late + spatial[0].late,
               even[0].missing + even[1].missing + reverse[0].missing + reverse[1].missing + spatial[0].missing + spatial[1].missing, ab[1].start_ms, ab[0].end_ms, ab[1].end_ms,
               ba[1].start_ms, ba[0].end_ms, ba[1].end_ms, plain_ms[i], plain_ms[j]);
    }
  }

  // Table 5.2 of awatramani17: each block once, four blocks of each kernel on an SM. Streams have as many blocks as make
  // the time of three words alone 0.708 of that of the shorter add alone, as in the thesis.
  for (const int loops_of_10 : {10, 30}) {
    const unsigned blocks = static_cast<unsigned>(sms) * 8 * 200;
    KernelOf<Add> base("add", Add{add_a, add_b, add_sum, loops_of_10}, blocks, 256);
    const double base_ms = middle_run({{&base, 8, 0, sms}}, 0, times)[0].ms;
    KernelOf<Stream<3>> three("stream3", Stream<3>{stream_in, stream_out}, blocks, 256);
    const double three_ms = middle_run({{&three, 8, 0, sms}}, 0, times)[0].ms;
    const unsigned stream_grid = std::max(1u, static_cast<unsigned>(blocks * 0.708 * base_ms / three_ms / (sms * 8))) * static_cast<unsigned>(sms) * 8;
    for (const int factor : {1, 2}) {
      KernelOf<Add> add("add", Add{add_a, add_b, add_sum, loops_of_10 * factor}, blocks, 256);
      const double add_ms = middle_run({{&add, 8, 0, sms}}, 0, times)[0].ms;
      const double add4_ms = middle_run({{&add, 4, 0, sms}}, 0, times)[0].ms;
      const auto with = [&](int words, Kernel& stream) {
        if (stream_grid > stream_blocks) return;
        const double stream_ms = middle_run({{&stream, 8, 0, sms}}, 0, times)[0].ms;
        const double stream4_ms = middle_run({{&stream, 4, 0, sms}}, 0, times)[0].ms;
        const auto both = middle_run({{&add, 4, 0, sms}, {&stream, 4, 0, sms}}, 0, times);
        const auto reverse = middle_run({{&stream, 4, 0, sms}, {&add, 4, 0, sms}}, 0, times);
        const auto span = [](const std::vector<Rate>& r) {
          return (static_cast<double>(std::max(r[0].end, r[1].end)) - static_cast<double>(std::min(r[0].start, r[1].start))) / 1e6;
        };
        const double together = span(both);
        const double sequential = add_ms + stream_ms;
        const double most = sequential / std::max(add_ms, stream_ms);
        json.row("{\"kind\": \"table5_2\", \"loops\": %d, \"words\": %d, \"add_blocks\": %u, \"stream_blocks\": %u, \"add_ms\": %.4f, \"stream_ms\": %.4f, "
                 "\"add_4_blocks_ms\": %.4f, \"stream_4_blocks_ms\": %.4f, \"interleaved_ms\": %.4f, \"add_end_ms\": %.4f, \"stream_end_ms\": %.4f, "
                 "\"max_speedup\": %.4f, \"achieved_speedup\": %.4f, \"efficiency\": %.4f, \"stream_first_ms\": %.4f, \"stream_first_add_end_ms\": %.4f, "
                 "\"stream_first_stream_end_ms\": %.4f, \"stream_first_efficiency\": %.4f, \"late\": %u}",
                 loops_of_10 * factor, words, blocks, stream_grid, add_ms, stream_ms, add4_ms, stream4_ms, together, both[0].ms, both[1].ms, most,
                 sequential / together, sequential / together / most, span(reverse), reverse[1].ms, reverse[0].ms, sequential / span(reverse) / most,
                 both[0].late + reverse[0].late);
      };
      KernelOf<Stream<1>> s1("s1", Stream<1>{stream_in, stream_out}, stream_grid, 256);
      KernelOf<Stream<2>> s2("s2", Stream<2>{stream_in, stream_out}, stream_grid, 256);
      KernelOf<Stream<3>> s3("s3", Stream<3>{stream_in, stream_out}, stream_grid, 256);
      KernelOf<Stream<4>> s4("s4", Stream<4>{stream_in, stream_out}, stream_grid, 256);
      with(1, s1);
      with(2, s2);
      with(3, s3);
      with(4, s4);
    }
  }
  return 0;
}
