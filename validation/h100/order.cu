// Which warps an SM's schedulers prefer: those that came first, or those in the lowest places. A row a warp of one SM.
// The first block of each SM does an eighth of the others' work; the ninth then takes its place while the others run.
// Usage: order OUT.json
#include <algorithm>

#include "common.cuh"

namespace {

struct Row {
  int block, warp, place;
  long long start, end;
};

__global__ void __launch_bounds__(256) work(unsigned wanted_sm, int first_short, int rounds, float a, float b, Row* out, unsigned* count) {
  float x[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) x[i] = a + i + threadIdx.x;
  const long long c0 = clock64();
  if (static_cast<int>(blockIdx.x) < first_short) rounds /= 8;
#pragma unroll 1
  for (int outer = 0; outer < rounds; ++outer) {
#pragma unroll
    for (int k = 0; k < 32; ++k) {
#pragma unroll
      for (int i = 0; i < 4; ++i) asm volatile("fma.rn.f32 %0, %0, %1, %2;" : "+f"(x[i]) : "f"(b), "f"(a));
    }
  }
  const long long c1 = clock64();
  if (threadIdx.x % 32 == 0 && sm_number() == wanted_sm) {
    unsigned place;
    asm volatile("mov.u32 %0, %%warpid;" : "=r"(place));
    out[atomicAdd(count, 1u)] = {static_cast<int>(blockIdx.x), static_cast<int>(threadIdx.x / 32), static_cast<int>(place), c0, c1};
  }
  if (x[0] + x[1] + x[2] + x[3] == 12345.678f) out[0].block = 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  Json json(argv[1]);
  cudaDeviceProp p;
  CHECK(cudaGetDeviceProperties(&p, 0));
  Row* rows = nullptr;
  unsigned* count = nullptr;
  CHECK(cudaMalloc(&rows, sizeof(Row) * 1024));
  CHECK(cudaMalloc(&count, 4));
  for (const unsigned sm : {0u, 5u, 70u}) {
    for (const int waves : {9, 16}) {
      for (int i = 0; i < 2; ++i) {
        CHECK(cudaMemset(count, 0, 4));
        work<<<waves * p.multiProcessorCount, 256>>>(sm, p.multiProcessorCount, 256, 1.0f, 0.999f, rows, count);
        CHECK(cudaDeviceSynchronize());
      }
      unsigned n = 0;
      CHECK(cudaMemcpy(&n, count, 4, cudaMemcpyDeviceToHost));
      std::vector<Row> got(std::min(n, 1024u));
      CHECK(cudaMemcpy(got.data(), rows, sizeof(Row) * got.size(), cudaMemcpyDeviceToHost));
      long long first = got[0].start;
      for (const Row& r : got) first = std::min(first, r.start);
      std::string list;
      for (const Row& r : got) {
        char text[96];
        std::snprintf(text, sizeof text, "%s[%d, %d, %d, %lld, %lld]", list.empty() ? "" : ", ", r.block, r.warp, r.place, r.start - first, r.end - first);
        list += text;
      }
      json.row("{\"sm\": %u, \"blocks_per_sm_in_all\": %d, \"columns\": \"block, warp, warpid, start, end\", \"rows\": [%s]}", sm, waves, list.c_str());
    }
  }
  return 0;
}
