// Properties of the device, occupancy, and invalid calls.
#include "tests/program/calls/program.hpp"

namespace {

const Kernel look_kernel("look");
const Kernel sum_kernel("sum_shared");

void properties() {
  int count = 0;
  CHECK(cudaGetDeviceCount(&count));
  EXPECT_SAME(count, 1);
  CHECK(cudaSetDevice(0));
  EXPECT_SAME(cudaSetDevice(1), 101);
  EXPECT_SAME(cudaGetLastError(), 101);
  std::vector<char> of(1008 + 8, 'x');
  CHECK(cudaGetDeviceProperties(of.data(), 0));
  const auto number = [&](std::size_t at) {  // at its place in CUDA 13's structure
    int value = 0;
    std::memcpy(&value, of.data() + at, sizeof(value));
    return value;
  };
  EXPECT_SAME(of[1008], 'x');
  std::printf("%s: %d SMs, %d.%d, warps of %d, %d threads, block %d shared, %d bits, %d L2, %d blocks\n",
              of.data(), number(384), number(360), number(364), number(308), number(604), number(296),
              number(592), number(596), number(688));
  int value = 0;
  CHECK(cudaDeviceGetAttribute(&value, 16, 0));
  EXPECT_SAME(value, number(384));
  CHECK(cudaDeviceGetAttribute(&value, 97, 0));
  EXPECT_SAME(value, number(672));
}

void occupancy() {
  int blocks = 0;
  CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, &sum_kernel, 1024, 0));
  std::printf("%d blocks of 1024", blocks);
  CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, &sum_kernel, 32, 40 << 10));
  std::printf(", %d with 40 KB each\n", blocks);
  struct {
    std::size_t shared, constant, local;
    int threads, registers, ptx, binary, caches, dynamic, carve_out, more[32];
  } attributes{};
  CHECK(cudaFuncGetAttributes(&attributes, &look_kernel));
  EXPECT_SAME(attributes.threads, 1024);
  EXPECT_SAME(attributes.ptx, 75);
  EXPECT_SAME(attributes.constant, 16U);
  EXPECT(attributes.registers > 3);
}

void errors() {
  int* const out = device<int>(1);
  EXPECT_SAME(launch(sum_kernel, {1}, {1025}, 0, nullptr, out), 9);
  EXPECT_SAME(cudaPeekAtLastError(), 9);
  EXPECT_SAME(cudaGetLastError(), 9);
  EXPECT_SAME(cudaGetLastError(), 0);
  EXPECT_SAME(launch(sum_kernel, {0}, {1}, 0, nullptr, out), 9);
  EXPECT_SAME(launch(sum_kernel, {1}, {32}, 60 << 10, nullptr, out),
              1);  // more than a block has without asking
  CHECK(cudaFuncSetAttribute(&sum_kernel, 8, 60 << 10));
  CHECK(launch(sum_kernel, {1}, {32}, 60 << 10, nullptr, out));
  void* arguments[] = {const_cast<int**>(&out)};
  EXPECT_SAME(cudaLaunchCooperativeKernel(&sum_kernel, {1000000}, {1024}, arguments, 0, nullptr), 720);
  CHECK(cudaLaunchCooperativeKernel(&sum_kernel, {2}, {32}, arguments, 128, nullptr));
  EXPECT_SAME(cudaLaunchKernel(&counter, {1}, {1}, arguments, 0, nullptr), 98);
  void* much = &much;
  EXPECT_SAME(cudaMalloc(&much, std::size_t{1} << 40U), 2);
  EXPECT(much == nullptr);
  EXPECT_SAME(cudaFree(&much), 1);
  EXPECT_SAME(cudaStreamSynchronize(&much), 400);
  EXPECT(std::string(cudaGetErrorName(700)) == "cudaErrorIllegalAddress");
  EXPECT(std::string(cudaGetErrorString(2)) == "out of memory");
  for (int i = 0; i < 2; ++i) EXPECT_SAME(cudaIpcGetMemHandle(nullptr, nullptr), 801);
}

const Case properties_case("properties", properties);
const Case occupancy_case("occupancy", occupancy);
const Case errors_case("errors", errors);

}  // namespace
