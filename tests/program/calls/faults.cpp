// Kernels with wrong addresses, failed assertions and traps.
#include "tests/program/calls/program.hpp"

namespace {

const Kernel spin_kernel("spin");
const Kernel sum_kernel("sum_shared");
const Kernel wild_kernel("wild");
const Kernel stray_kernel("stray");
const Kernel misplaced_kernel("misplaced");
const Kernel claim_kernel("claim");

/// After a fault of a kernel every call returns it, and so does the last error.
void expect_lasting(int error) {
  void* pointer = nullptr;
  for (int i = 0; i < 2; ++i) {
    EXPECT_SAME(cudaDeviceSynchronize(), error);
    EXPECT_SAME(cudaMalloc(&pointer, 4), error);
    EXPECT_SAME(cudaGetLastError(), error);
  }
}

void wild() {
  int* const out = device<int>(1);
  Stream other = nullptr;
  CHECK(cudaStreamCreate(&other));
  CHECK(launch(spin_kernel, {1}, {1}, 0, other, device<int>(1), 1 << 16));  // ends with it, on time
  CHECK(launch(wild_kernel, {4}, {128}, 0, nullptr, out));
  CHECK(launch(sum_kernel, {1}, {128}, 512, nullptr, out));  // never begins
  expect_lasting(700);
}

void misplaced() {
  CHECK(launch(misplaced_kernel, {2}, {96}, 0, nullptr, device<char>(512)));
  expect_lasting(716);
}

void claim() {
  CHECK(launch(claim_kernel, {3}, {96}, 0, nullptr, 200));
  expect_lasting(710);
}

/// What lies on the same page of 2 MB as an allocation, before and behind it, can be read, as on a GPU.
void stray() {
  int* const in = device<int>(1);
  int* const out = device<int>(1);
  for (const int index : {-128, 1000}) {
    for (int i = 0; i < 2; ++i) CHECK(launch(stray_kernel, {1}, {1}, 0, nullptr, in, out, index));
    CHECK(cudaDeviceSynchronize());
  }
  CHECK(launch(stray_kernel, {1}, {1}, 0, nullptr, in, out, 1 << 20));
  expect_lasting(700);
}

const Case wild_case("wild", wild);
const Case misplaced_case("misplaced", misplaced);
const Case claim_case("claim", claim);
const Case stray_case("stray", stray);

}  // namespace
