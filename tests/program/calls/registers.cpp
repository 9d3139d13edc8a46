// Numbers of registers of kernels that have machine code in addition to PTX.
#include "tests/program/calls/program.hpp"

namespace {

const Kernel add_kernel("add");
const Kernel total_kernel("total");

struct Attributes {
  std::size_t shared = 0, constant = 0, local = 0;
  int threads = 0, registers = 0, more[38] = {};
};

/// By register_all(), add has 255.
void registers() {
  Attributes attributes;
  CHECK(cudaFuncGetAttributes(&attributes, &add_kernel));
  EXPECT_SAME(attributes.registers, 255);
  EXPECT_SAME(attributes.threads, 256);
  int blocks = -1;
  CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, &add_kernel, 128, 0));
  EXPECT_SAME(blocks, 2);
  CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, &add_kernel, 512, 0));
  EXPECT_SAME(blocks, 0);
  const int n = 4096;
  auto* const sums = device<float>(n);
  CHECK(cudaMemset(sums, 0, n * sizeof(float)));
  EXPECT_SAME(launch(add_kernel, {1}, {512}, 0, nullptr, sums, sums, sums, n), 701);
  CHECK(launch(add_kernel, {n / 256}, {256}, 0, nullptr, sums, sums, sums, n));
  CHECK(cudaDeviceSynchronize());
}

void registers_of_units() {
  Attributes attributes;
  CHECK(cudaFuncGetAttributes(&attributes, &total_kernel));
  EXPECT_SAME(attributes.registers, 200);
}

const Case registers_case("registers", registers, Packing::BesideMachineCode);
const Case units_case("units-registers", registers_of_units, Case::Units::All);

}  // namespace
