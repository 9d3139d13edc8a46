// Host memory that the program registers, so that kernels and host share it.
#include <sys/mman.h>

#include <cstdint>
#include <cstdlib>
#include <memory>

#include "tests/program/calls/program.hpp"

namespace {

const Kernel add_kernel("add");
const Kernel spin_kernel("spin");

constexpr int kMapped = 2;  // cudaHostRegisterMapped
constexpr std::size_t kPage = 4096;

struct Attributes {
  int type = 0, device = 0;
  void* on_device = nullptr;
  void* on_host = nullptr;
  long more[8] = {};
};

float* mapped(void* host) {
  void* device = nullptr;
  CHECK(cudaHostGetDevicePointer(&device, host, 0));
  return static_cast<float*>(device);
}

/// Of so many pages, zero.
float* pages(std::size_t count) {
  void* const got = std::aligned_alloc(kPage, count * kPage);
  std::memset(got, 0, count * kPage);
  return static_cast<float*>(got);
}

/// A program that has its data before it registers it: no page begins where they do, and others' lie behind.
void registered() {
  const int n = 3000;
  float* const around = pages(10);
  float* const a = around + 100;
  float* const b = a + n;
  for (int i = 0; i < n; ++i) a[i] = static_cast<float>(i), b[i] = 3;
  around[0] = 11;
  b[n] = 12;
  EXPECT_SAME(cudaHostUnregister(a), 713);
  CHECK(cudaHostRegister(a, 2 * n * 4, kMapped));
  EXPECT_SAME(cudaHostRegister(a, 4, 0), 712);
  EXPECT_SAME(cudaHostRegister(a - 10, 44, 0), 712);
  EXPECT_SAME(cudaHostRegister(b + n - 1, 40, 0), 712);
  EXPECT_SAME(cudaHostRegister(a, 0, 0), 1);
  EXPECT_SAME(cudaHostRegister(nullptr, 4, 0), 1);
  EXPECT_SAME(cudaHostRegister(a, 4, 16), 1);
  for (int i = 0; i < n; ++i) EXPECT_SAME(a[i], static_cast<float>(i));
  EXPECT_SAME(around[0], 11.0F);
  EXPECT_SAME(b[n], 12.0F);

  // By the device's address: what the host writes is there, and it sees what kernels write.
  a[7] = 70;
  EXPECT(mapped(b) == mapped(a) + n);
  float* const sum = device<float>(n);
  CHECK(launch(add_kernel, {12}, {256}, 0, nullptr, mapped(a), mapped(b), mapped(b), n));
  CHECK(launch(add_kernel, {12}, {256}, 0, nullptr, mapped(b), mapped(b), sum, n));
  CHECK(cudaDeviceSynchronize());
  EXPECT_SAME(b[7], 73.0F);
  EXPECT_SAME(b[n - 1], static_cast<float>(n + 2));
  EXPECT_SAME(b[n], 12.0F);
  // By the host's.
  CHECK(launch(add_kernel, {12}, {256}, 0, nullptr, a, b, a, n));
  CHECK(cudaDeviceSynchronize());
  EXPECT_SAME(a[8], 19.0F);

  // Copies take their turn in the stream, as those of pinned memory do.
  Stream stream = nullptr;
  CHECK(cudaStreamCreateWithFlags(&stream, 1));
  CHECK(launch(spin_kernel, {1}, {1}, 0, stream, reinterpret_cast<int*>(mapped(around + 200)), 2000));
  CHECK(launch(add_kernel, {12}, {256}, 0, stream, b, b, a, n));
  CHECK(cudaMemcpyAsync(sum, a, n * 4, kHostToDevice, stream));
  CHECK(cudaMemcpyAsync(b, sum, n * 4, kDefault, stream));
  EXPECT_SAME(b[7], 73.0F);
  CHECK(cudaStreamSynchronize(stream));
  EXPECT_SAME(b[7], 146.0F);
  CHECK(cudaMemset(a, 0, 40));
  EXPECT_SAME(a[9], 0.0F);
  EXPECT_SAME(a[10], 26.0F);

  Attributes attributes;
  CHECK(cudaPointerGetAttributes(&attributes, a + 5));
  EXPECT_SAME(attributes.type, 1);
  EXPECT(attributes.on_host == a + 5);
  EXPECT(attributes.on_device == mapped(a) + 5);
  CHECK(cudaPointerGetAttributes(&attributes, mapped(a) + 5));
  EXPECT(attributes.on_host == a + 5);
  unsigned flags = 0;
  CHECK(cudaHostGetFlags(&flags, a));
  EXPECT_SAME(flags, 2U);
  EXPECT_SAME(cudaFreeHost(mapped(a)), 1);
  EXPECT_SAME(cudaFree(mapped(a)), 1);

  // Private again, with what is there.
  float* const was = mapped(a);
  std::size_t before = 0, after = 0, total = 0;
  CHECK(cudaMemGetInfo(&before, &total));
  EXPECT_SAME(cudaHostUnregister(b), 713);
  CHECK(cudaHostUnregister(a));
  CHECK(cudaMemGetInfo(&after, &total));
  EXPECT(after - before >= 2 * n * 4);
  EXPECT_SAME(b[7], 146.0F);
  EXPECT_SAME(around[0], 11.0F);
  b[7] = 1;
  EXPECT_SAME(b[7], 1.0F);
  void* none = nullptr;
  EXPECT_SAME(cudaHostGetDevicePointer(&none, a, 0), 1);
  CHECK(cudaPointerGetAttributes(&attributes, a));
  EXPECT_SAME(attributes.type, 0);
  EXPECT_SAME(cudaMemcpy(sum, was, 4, kDeviceToDevice), 1);
  // And once more, what was neighbours' before; now it may be freed.
  CHECK(cudaHostRegister(around, 10 * kPage, kMapped));
  CHECK(launch(add_kernel, {1}, {32}, 0, nullptr, mapped(around), mapped(around), mapped(around), 1));
  CHECK(cudaDeviceSynchronize());
  EXPECT_SAME(around[0], 22.0F);
  CHECK(cudaHostUnregister(around));
  std::free(around);
}

/// Memory that cannot become the device's is registered for copies.
void registered_for_copies() {
  float values[64] = {};
  values[3] = 4;
  CHECK(cudaHostRegister(values, sizeof(values), kMapped));
  void* none = nullptr;
  EXPECT_SAME(cudaHostGetDevicePointer(&none, values, 0), 801);
  float* const on_device = device<float>(64);
  CHECK(cudaMemcpy(on_device, values, sizeof(values), kDefault));
  values[3] = 0;
  CHECK(cudaMemcpy(values, on_device, sizeof(values), kDefault));
  EXPECT_SAME(values[3], 4.0F);
  CHECK(cudaHostUnregister(values));

  void* const shared = mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  CHECK(cudaHostRegister(shared, kPage, kMapped));
  EXPECT_SAME(cudaHostGetDevicePointer(&none, shared, 0), 801);
  // Two on one page.
  float* const page = pages(1);
  CHECK(cudaHostRegister(page, 100, kMapped));
  CHECK(cudaHostRegister(page + 100, 100, kMapped));
  EXPECT(mapped(page) != page);
  EXPECT_SAME(cudaHostGetDevicePointer(&none, page + 100, 0), 801);
  void* pinned = nullptr;
  CHECK(cudaMallocHost(&pinned, 100));
  EXPECT_SAME(cudaHostRegister(pinned, 100, 0), 712);
}

const Case registered_case("registered", registered);
const Case copies_case("registered_for_copies", registered_for_copies);

}  // namespace
