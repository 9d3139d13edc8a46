// Copies, variables of the device, and memory that host and device share.
#include "tests/program/calls/program.hpp"

namespace {

const Kernel add_kernel("add");
const Kernel look_kernel("look");
const Kernel spin_kernel("spin");

/// More than the staging buffer holds at once, and rows of a matrix.
void copies() {
  const std::size_t n = (std::size_t{64} << 20U) / 4 + 12345;
  std::vector<int> there(n), back(n, 0);
  for (std::size_t i = 0; i < n; ++i) there[i] = static_cast<int>(i * 7);
  int* const on_device = device<int>(n);
  CHECK(cudaMemcpy(on_device, there.data(), n * 4, kHostToDevice));
  int* const other = device<int>(n);
  CHECK(cudaMemcpy(other, on_device, n * 4, kDeviceToDevice));
  CHECK(cudaMemcpy(back.data(), other, n * 4, kDefault));
  EXPECT(there == back);

  void* rows = nullptr;
  std::size_t pitch = 0;
  CHECK(cudaMallocPitch(&rows, &pitch, 10 * 4, 3));
  EXPECT(pitch >= 40);
  CHECK(cudaMemset2D(rows, pitch, 0x11, 40, 3));
  CHECK(cudaMemcpy2D(rows, pitch, there.data(), 80, 40, 2, kHostToDevice));  // every second ten
  std::vector<int> matrix(30, 0);
  CHECK(cudaMemcpy2D(matrix.data(), 40, rows, pitch, 40, 3, kDeviceToHost));
  for (int i = 0; i < 30; ++i) {
    const int expected = i < 10 ? i * 7 : i < 20 ? (i + 10) * 7 : 0x11111111;
    EXPECT_SAME(matrix[i], expected);
  }
  EXPECT_SAME(cudaMemcpy2D(matrix.data(), 8, rows, pitch, 40, 3, kDeviceToHost), 12);
  EXPECT_SAME(cudaMemset2D(rows, 8, 0x11, 40, 3), 1);
  CHECK(cudaMemset(on_device, 0xff, n * 4));
  CHECK(cudaMemcpy(back.data(), on_device, n * 4, kDeviceToHost));
  for (std::size_t i = 0; i < n; ++i) EXPECT_SAME(back[i], -1);
  // A copy from memory that is not the device's, and one beyond an allocation.
  EXPECT_SAME(cudaMemcpy(back.data(), there.data(), 4, kDeviceToHost), 1);
  EXPECT_SAME(cudaMemcpy(on_device, there.data(), n * 4 + 4, kHostToDevice), 1);
}

void symbols() {
  int* const out = device<int>(4);
  int seen[4] = {};
  EXPECT_SAME(__cudaInitModule(handle), 1);
  EXPECT(shared_word != nullptr);
  EXPECT_SAME(*shared_word, 7);  // managed: read by the host itself
  *shared_word = 8;
  const int values[2] = {30, 40};
  CHECK(cudaMemcpyToSymbol(table, values, sizeof(values), 2 * sizeof(int), kHostToDevice));
  const int six = 6;
  CHECK(cudaMemcpyToSymbol(&counter, &six, sizeof(six), 0, kHostToDevice));
  CHECK(launch(look_kernel, {1}, {4}, 0, nullptr, out));
  CHECK(cudaMemcpy(seen, out, sizeof(seen), kDeviceToHost));
  const int expected[4] = {861, 862, 890, 900};
  for (int i = 0; i < 4; ++i) EXPECT_SAME(seen[i], expected[i]);
  EXPECT_SAME(*shared_word, 9);
  int back[4] = {};
  CHECK(cudaMemcpyFromSymbol(back, table, sizeof(back), 0, kDeviceToHost));
  EXPECT_SAME(back[0], 1);
  EXPECT_SAME(back[3], 40);
  CHECK(cudaMemcpyFromSymbol(back, &counter, 4, 0, kDeviceToHost));
  EXPECT_SAME(back[0], 7);
  void* address = nullptr;
  std::size_t bytes = 0;
  CHECK(cudaGetSymbolAddress(&address, &counter));
  CHECK(cudaMemcpy(back, address, 4, kDeviceToHost));
  EXPECT_SAME(back[0], 7);
  CHECK(cudaGetSymbolSize(&bytes, table));
  EXPECT_SAME(bytes, 16U);
  EXPECT_SAME(cudaMemcpyToSymbol(table, values, sizeof(values), 12, kHostToDevice), 1);
  EXPECT_SAME(cudaGetSymbolSize(&bytes, values), 13);
}

/// Memory that host and device see at one address.
void shared_memory() {
  void* managed = nullptr;
  void* pinned = nullptr;
  const int n = 1000;
  CHECK(cudaMallocManaged(&managed, n * 4, 1));
  CHECK(cudaMallocHost(&pinned, 2 * n * 4));
  auto* const a = static_cast<float*>(managed);
  auto* const b = static_cast<float*>(pinned);
  for (int i = 0; i < n; ++i) a[i] = static_cast<float>(i), b[i] = 1, b[n + i] = 0;
  CHECK(launch(add_kernel, {4}, {256}, 0, nullptr, a, b, b + n, n));
  CHECK(cudaDeviceSynchronize());
  for (int i = 0; i < n; ++i) EXPECT_SAME(b[n + i], static_cast<float>(i) + 1);

  // In stream order: what a copy to pinned memory brings, the next one takes from there.
  float* const on_device = device<float>(n);
  Stream stream = nullptr;
  CHECK(cudaStreamCreate(&stream));
  CHECK(launch(spin_kernel, {1}, {1}, 0, stream, on_device, 2000));
  CHECK(cudaMemcpyAsync(on_device, a, n * 4, kDefault, stream));
  CHECK(cudaMemcpyAsync(b, on_device, n * 4, kDeviceToHost, stream));
  CHECK(cudaMemcpyAsync(on_device, b, n * 4, kHostToDevice, stream));
  CHECK(launch(add_kernel, {4}, {256}, 0, stream, on_device, b, b + n, n));
  EXPECT_SAME(b[0], 1.0F);  // nothing of it has happened yet
  CHECK(cudaStreamSynchronize(stream));
  for (int i = 0; i < n; ++i) EXPECT_SAME(b[n + i], 2 * static_cast<float>(i));
  // What is not pinned is taken at once, though its turn comes later.
  std::vector<float> pageable(n, 5);
  CHECK(launch(spin_kernel, {1}, {1}, 0, stream, reinterpret_cast<int*>(a), 2000));
  CHECK(cudaMemcpyAsync(on_device, pageable.data(), n * 4, kHostToDevice, stream));
  pageable.assign(n, 6);
  CHECK(cudaMemcpyAsync(pageable.data(), on_device, n * 4, kDeviceToHost, stream));
  EXPECT_SAME(pageable[n - 1], 5.0F);
  struct {
    int type, device;
    void *on_device, *on_host;
    long more[8];
  } attributes{};
  CHECK(cudaPointerGetAttributes(&attributes, b + 3));
  EXPECT_SAME(attributes.type, 1);
  CHECK(cudaPointerGetAttributes(&attributes, a));
  EXPECT_SAME(attributes.type, 3);
  CHECK(cudaPointerGetAttributes(&attributes, on_device));
  EXPECT_SAME(attributes.type, 2);
  CHECK(cudaPointerGetAttributes(&attributes, pageable.data()));
  EXPECT_SAME(attributes.type, 0);
  EXPECT_SAME(cudaFree(pinned), 1);
  CHECK(cudaFreeHost(pinned));
  CHECK(cudaFree(managed));
  void* in_stream = nullptr;
  std::size_t before = 0, during = 0, after = 0, total = 0;
  CHECK(cudaMemGetInfo(&before, &total));
  CHECK(cudaMallocAsync(&in_stream, 1 << 20, stream));
  CHECK(launch(spin_kernel, {1}, {1}, 0, stream, static_cast<int*>(in_stream), 2000));
  CHECK(cudaFreeAsync(in_stream, stream));
  CHECK(cudaMemGetInfo(&during, &total));
  EXPECT_SAME(during, before - (1 << 20));
  CHECK(cudaStreamSynchronize(stream));
  CHECK(cudaMemGetInfo(&after, &total));
  EXPECT_SAME(after, before);
}

const Case copies_case("copies", copies);
const Case symbols_case("symbols", symbols);
const Case shared_case("shared", shared_memory);

}  // namespace
