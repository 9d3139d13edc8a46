// A CUDA program as nvcc would have made it of kernels.cu, without nvcc: `calls CASE` does what CASE says,
// checks it, and ends with 0. tests/program runs it under gpumux.
#include <dlfcn.h>
#include <unistd.h>

#include <csignal>
#include <functional>
#include <map>
#include <thread>

#include "tests/program/calls/cuda.hpp"
#include "tests/program/calls/units.hpp"

namespace {

// What stands for kernels and variables on the host.
char add_stub, total_stub, mix_stub, look_stub, say_stub, spin_stub, sum_stub, wild_stub, stray_stub,
    misplaced_stub, claim_stub, double_stub, fetch_stub;
int table[4];
int counter;
int offset;
int seen;
int* shared_word;  // set by the run time
void** handle;
std::string binary;
std::vector<std::string> unit_binaries;
Wrapper wrapper;

void register_all(Packing packing) {
  const std::string ptx = file_text(GPUMUX_SOURCE_DIR "/tests/program/calls/kernels.ptx") + '\0';
  // One for a GPU that is too new, which must not be taken where there is another.
  std::string entries = fat_entry(1, 120, "no PTX at all", packing);
  entries += fat_entry(1, 75, ptx, packing);
  if (packing == Packing::MachineCodeOnly) entries = fat_entry(2, 90, "ELF", Packing::Raw);
  binary = fat_binary(entries);
  wrapper.binary = binary.data();
  handle = __cudaRegisterFatBinary(&wrapper);
  const auto kernel = [](char& stub, const char* name) {
    __cudaRegisterFunction(handle, &stub, const_cast<char*>(name), name, -1, nullptr, nullptr, nullptr,
                           nullptr, nullptr);
  };
  kernel(add_stub, "add");
  kernel(mix_stub, "mix");
  kernel(look_stub, "look");
  kernel(say_stub, "say");
  kernel(spin_stub, "spin");
  kernel(sum_stub, "sum_shared");
  kernel(wild_stub, "wild");
  kernel(stray_stub, "stray");
  kernel(misplaced_stub, "misplaced");
  kernel(claim_stub, "claim");
  kernel(double_stub, "double_surface");
  kernel(fetch_stub, "fetch");
  __cudaRegisterVar(handle, reinterpret_cast<char*>(table), nullptr, "table", 0, sizeof(table), 1, 0);
  __cudaRegisterVar(handle, reinterpret_cast<char*>(&counter), nullptr, "counter", 0, sizeof(counter), 0, 0);
  __cudaRegisterManagedVar(handle, reinterpret_cast<void**>(&shared_word), nullptr, "shared_word", 0, 4, 0,
                           0);
  __cudaRegisterFatBinaryEnd(handle);
}

/// kernel<<<grid, block, shared, stream>>>(arguments...), as nvcc 13 does it.
template <class... Arguments>
int launch(char& stub, Dim grid, Dim block, std::size_t shared, Stream stream, Arguments... arguments) {
  if (__cudaPushCallConfiguration(grid, block, shared, stream) != 0) return -1;
  void* pointers[] = {&arguments...};
  void* kernel = nullptr;
  if (const int error = __cudaGetKernel(&kernel, &stub); error != 0) return error;
  CHECK(__cudaPopCallConfiguration(&grid, &block, &shared, &stream));
  return __cudaLaunchKernel(kernel, grid, block, pointers, shared, stream);
}

template <class T>
T* device(std::size_t count) {
  void* pointer = nullptr;
  CHECK(cudaMalloc(&pointer, count * sizeof(T)));
  return static_cast<T*>(pointer);
}

/// Adds two vectors and looks at the sum.
void add(int n) {
  std::vector<float> a(n), b(n), c(n, -1);
  for (int i = 0; i < n; ++i) a[i] = static_cast<float>(i), b[i] = static_cast<float>(2 * i);
  auto* const da = device<float>(n);
  auto* const db = device<float>(n);
  auto* const dc = device<float>(n);
  const std::size_t bytes = n * sizeof(float);
  CHECK(cudaMemcpy(da, a.data(), bytes, kHostToDevice));
  CHECK(cudaMemcpy(db, b.data(), bytes, kHostToDevice));
  CHECK(launch(add_stub, {static_cast<unsigned>(n + 255) / 256}, {256}, 0, nullptr, da, db, dc, n));
  CHECK(cudaMemcpy(c.data(), dc, bytes, kDeviceToHost));
  for (int i = 0; i < n; ++i) EXPECT_SAME(c[i], 3.0F * static_cast<float>(i));
  for (float* pointer : {da, db, dc}) CHECK(cudaFree(pointer));
}

void vector_add() {
  add(10000);
  std::printf("sums are right\n");
}

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
  CHECK(launch(look_stub, {1}, {4}, 0, nullptr, out));
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

void parameters() {
  struct Pair {
    short first;
    double second;
  };
  int* const out = device<int>(1);
  CHECK(launch(mix_stub, {1}, {1}, 0, nullptr, static_cast<char>(5), Pair{12, 3.5}, out));
  int seen = 0;
  CHECK(cudaMemcpy(&seen, out, 4, kDeviceToHost));
  EXPECT_SAME(seen, 5123);
  // The older way, and shared memory of a size that the launch says.
  void* arguments[] = {const_cast<int**>(&out)};
  CHECK(cudaLaunchKernel(&sum_stub, {1}, {64}, arguments, 64 * 4, nullptr));
  CHECK(cudaMemcpy(&seen, out, 4, kDeviceToHost));
  EXPECT_SAME(seen, 64 * 63 / 2);
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
  CHECK(launch(add_stub, {4}, {256}, 0, nullptr, a, b, b + n, n));
  CHECK(cudaDeviceSynchronize());
  for (int i = 0; i < n; ++i) EXPECT_SAME(b[n + i], static_cast<float>(i) + 1);

  // In stream order: what a copy to pinned memory brings, the next one takes from there.
  float* const on_device = device<float>(n);
  Stream stream = nullptr;
  CHECK(cudaStreamCreate(&stream));
  CHECK(launch(spin_stub, {1}, {1}, 0, stream, on_device, 2000));
  CHECK(cudaMemcpyAsync(on_device, a, n * 4, kDefault, stream));
  CHECK(cudaMemcpyAsync(b, on_device, n * 4, kDeviceToHost, stream));
  CHECK(cudaMemcpyAsync(on_device, b, n * 4, kHostToDevice, stream));
  CHECK(launch(add_stub, {4}, {256}, 0, stream, on_device, b, b + n, n));
  EXPECT_SAME(b[0], 1.0F);  // nothing of it has happened yet
  CHECK(cudaStreamSynchronize(stream));
  for (int i = 0; i < n; ++i) EXPECT_SAME(b[n + i], 2 * static_cast<float>(i));
  // What is not pinned is taken at once, though its turn comes later.
  std::vector<float> pageable(n, 5);
  CHECK(launch(spin_stub, {1}, {1}, 0, stream, reinterpret_cast<int*>(a), 2000));
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
  CHECK(launch(spin_stub, {1}, {1}, 0, stream, static_cast<int*>(in_stream), 2000));
  CHECK(cudaFreeAsync(in_stream, stream));
  CHECK(cudaMemGetInfo(&during, &total));
  EXPECT_SAME(during, before - (1 << 20));
  CHECK(cudaStreamSynchronize(stream));
  CHECK(cudaMemGetInfo(&after, &total));
  EXPECT_SAME(after, before);
}

float milliseconds(Event begin, Event end) {
  float time = -1;
  CHECK(cudaEventElapsedTime(&time, begin, end));
  return time;
}

/// Time is simulated time: two kernels in two streams take as long as one.
void streams() {
  Stream streams[2];
  Event events[3];
  for (Stream& stream : streams) CHECK(cudaStreamCreate(&stream));
  for (Event& event : events) CHECK(cudaEventCreate(&event));
  int* const words = device<int>(64);
  const int rounds = 20000;
  float missing = 0;
  EXPECT_SAME(cudaEventElapsedTime(&missing, events[0], events[1]), 400);
  EXPECT_SAME(cudaGetLastError(), 400);
  CHECK(cudaEventRecord(events[0], nullptr));
  CHECK(launch(spin_stub, {1}, {1}, 0, nullptr, words, rounds));
  CHECK(cudaEventRecord(events[1], nullptr));
  EXPECT_SAME(cudaEventElapsedTime(&missing, events[0], events[1]), 600);
  CHECK(cudaEventSynchronize(events[1]));
  const float one = milliseconds(events[0], events[1]);
  EXPECT(one > 0);

  // Side by side: both begin after what the default stream has, and the default stream waits for both.
  CHECK(cudaEventRecord(events[0], nullptr));
  CHECK(launch(spin_stub, {1}, {1}, 0, streams[0], words, rounds));
  CHECK(launch(spin_stub, {1}, {1}, 0, streams[1], words + 32, rounds));
  CHECK(cudaEventRecord(events[1], nullptr));
  CHECK(cudaEventSynchronize(events[1]));
  const float two = milliseconds(events[0], events[1]);
  EXPECT(two > 0.9F * one && two < 1.2F * one);

  // One after the other, by an event.
  CHECK(cudaEventRecord(events[0], streams[0]));
  CHECK(launch(spin_stub, {1}, {1}, 0, streams[0], words, rounds));
  CHECK(cudaEventRecord(events[1], streams[0]));
  CHECK(cudaStreamWaitEvent(streams[1], events[1], 0));
  CHECK(launch(spin_stub, {1}, {1}, 0, streams[1], words, rounds));
  CHECK(cudaEventRecord(events[2], streams[1]));
  EXPECT_SAME(cudaEventQuery(events[2]), 600);
  int asked = 1;
  while (cudaEventQuery(events[2]) == 600) ++asked;
  EXPECT(asked < 10);
  CHECK(cudaStreamQuery(streams[1]));
  const float in_turn = milliseconds(events[0], events[2]);
  EXPECT(in_turn > 1.8F * one);

  // The legacy default stream comes after a blocking one, and not after one that does not block.
  Stream apart;
  CHECK(cudaStreamCreateWithFlags(&apart, 1));
  unsigned flags = 0;
  CHECK(cudaStreamGetFlags(apart, &flags));
  EXPECT_SAME(flags, 1U);
  CHECK(cudaStreamGetFlags(streams[0], &flags));
  EXPECT_SAME(flags, 0U);
  CHECK(cudaEventRecord(events[0], apart));
  CHECK(launch(spin_stub, {1}, {1}, 0, apart, words, rounds));
  CHECK(cudaEventRecord(events[1], nullptr));
  CHECK(cudaDeviceSynchronize());
  EXPECT(milliseconds(events[0], events[1]) < 0.1F * one);
  CHECK(cudaEventRecord(events[0], streams[0]));
  CHECK(launch(spin_stub, {1}, {1}, 0, streams[0], words, rounds));
  CHECK(cudaEventRecord(events[1], nullptr));
  CHECK(cudaDeviceSynchronize());
  EXPECT(milliseconds(events[0], events[1]) > 0.9F * one);

  int called = 0;
  CHECK(cudaLaunchHostFunc(
      streams[0], [](void* data) { *static_cast<int*>(data) = 1; }, &called));
  CHECK(cudaStreamSynchronize(streams[0]));
  EXPECT_SAME(called, 1);
  for (Stream& stream : streams) CHECK(cudaStreamDestroy(stream));
  EXPECT_SAME(cudaStreamSynchronize(streams[0]), 400);
  std::printf("one %.6f two %.6f in turn %.6f\n", one, two, in_turn);
}

void printing() {
  std::printf("before\n");
  CHECK(launch(say_stub, {2}, {1}, 0, nullptr, 42));
  std::printf("launched\n");
  CHECK(cudaDeviceSynchronize());
  std::printf("after\n");
}

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
  CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, &sum_stub, 1024, 0));
  std::printf("%d blocks of 1024", blocks);
  CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, &sum_stub, 32, 40 << 10));
  std::printf(", %d with 40 KB each\n", blocks);
  struct {
    std::size_t shared, constant, local;
    int threads, registers, ptx, binary, caches, dynamic, carve_out, more[32];
  } attributes{};
  CHECK(cudaFuncGetAttributes(&attributes, &look_stub));
  EXPECT_SAME(attributes.threads, 1024);
  EXPECT_SAME(attributes.ptx, 75);
  EXPECT_SAME(attributes.constant, 16U);
  EXPECT(attributes.registers > 3);
}

void errors() {
  int* const out = device<int>(1);
  EXPECT_SAME(launch(sum_stub, {1}, {1025}, 0, nullptr, out), 9);
  EXPECT_SAME(cudaPeekAtLastError(), 9);
  EXPECT_SAME(cudaGetLastError(), 9);
  EXPECT_SAME(cudaGetLastError(), 0);
  EXPECT_SAME(launch(sum_stub, {0}, {1}, 0, nullptr, out), 9);
  EXPECT_SAME(launch(sum_stub, {1}, {32}, 60 << 10, nullptr, out),
              1);  // more than a block has without asking
  CHECK(cudaFuncSetAttribute(&sum_stub, 8, 60 << 10));
  CHECK(launch(sum_stub, {1}, {32}, 60 << 10, nullptr, out));
  void* arguments[] = {const_cast<int**>(&out)};
  EXPECT_SAME(cudaLaunchCooperativeKernel(&sum_stub, {1000000}, {1024}, arguments, 0, nullptr), 720);
  CHECK(cudaLaunchCooperativeKernel(&sum_stub, {2}, {32}, arguments, 128, nullptr));
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

std::uint64_t surface(void* array) {
  Resource of;
  of.array = array;
  std::uint64_t made = 0;
  CHECK(cudaCreateSurfaceObject(&made, &of));
  return made;
}

/// Arrays: copies in the order of streams, what kernels write by surfaces and textures fetch, and mipmaps.
void arrays() {
  constexpr unsigned kSurface = 2;
  const Format words = {{32, 0, 0, 0}, 0};
  const int kWidth = 8, kHeight = 4, kRow = 4 * kWidth, n = kWidth * kHeight;
  void *array = nullptr, *other = nullptr, *pointer = nullptr;
  CHECK(cudaMallocArray(&array, &words, kWidth, kHeight, kSurface));
  CHECK(cudaMallocArray(&other, &words, kWidth, kHeight, 0));
  CHECK(cudaMallocHost(&pointer, n * 4));
  auto* const pinned = static_cast<int*>(pointer);
  std::vector<int> pageable(n), back(n, -1);
  for (int i = 0; i < n; ++i) pinned[i] = i, pageable[i] = 100 + i;
  Stream stream = nullptr;
  CHECK(cudaStreamCreate(&stream));

  // Behind a kernel: the bytes of pinned memory are taken when their turn comes, others at the call.
  int* const word = device<int>(n);
  CHECK(launch(spin_stub, {1}, {1}, 0, stream, word, 2000));
  CHECK(cudaMemcpy2DToArrayAsync(array, 0, 0, pinned, kRow, kRow, kHeight, kHostToDevice, stream));
  CHECK(cudaMemcpy2DToArrayAsync(array, 8, 1, pageable.data(), kRow, 8, 2, kHostToDevice, stream));
  pinned[0] = 7;
  pageable[0] = 7;
  const std::uint64_t writable = surface(array);
  CHECK(launch(double_stub, {1}, {kWidth, kHeight}, 0, stream, writable));
  CHECK(cudaMemcpy2DFromArrayAsync(pinned, kRow, array, 0, 0, kRow, kHeight, kDeviceToHost, stream));
  EXPECT_SAME(pinned[1], 1);  // nothing of it has happened yet
  CHECK(cudaStreamSynchronize(stream));
  const auto expected = [&](int i) {
    const int x = i % kWidth, y = i / kWidth;
    const bool patched = (x == 2 || x == 3) && (y == 1 || y == 2);
    if (i == 0) return 14;
    if (!patched) return 2 * i;
    const int from = (y - 1) * kWidth + (x - 2);
    return 2 * (100 + from);
  };
  for (int i = 0; i < n; ++i) EXPECT_SAME(pinned[i], expected(i));

  // Between arrays, to a texture, and back in runs of bytes that begin and end within rows.
  CHECK(cudaMemcpy2DArrayToArray(other, 0, 0, array, 0, 0, kRow, kHeight, kDeviceToDevice));
  Resource of;
  of.array = other;
  std::uint64_t texture = 0;
  const Sampling sampling;
  CHECK(cudaCreateTextureObject(&texture, &of, &sampling, nullptr));
  CHECK(launch(fetch_stub, {1}, {kWidth, kHeight}, 0, nullptr, texture, word));
  CHECK(cudaMemcpy(back.data(), word, n * 4, kDeviceToHost));
  for (int i = 0; i < n; ++i) EXPECT_SAME(back[i], expected(i));
  CHECK(cudaMemcpyFromArray(back.data(), array, 20, 1, 15 * 4, kDeviceToHost));
  for (int i = 0; i < 15; ++i) EXPECT_SAME(back[i], expected(13 + i));
  CHECK(cudaMemcpyToArray(array, 28, 0, pageable.data(), 10 * 4, kHostToDevice));
  CHECK(cudaMemcpy2DFromArray(back.data(), kRow, array, 0, 0, kRow, kHeight, kDeviceToHost));
  for (int i = 7; i < 17; ++i) EXPECT_SAME(back[i], pageable[i - 7]);
  EXPECT_SAME(back[17], expected(17));
  Resource told;
  CHECK(cudaGetTextureObjectResourceDesc(&told, texture));
  EXPECT(told.array == other);

  // Beyond an array, of no surface, and what no handle is.
  EXPECT_SAME(cudaMemcpy2DToArray(array, 4, 0, pageable.data(), kRow, kRow, 1, kHostToDevice), 1);
  EXPECT_SAME(cudaMemcpy2DFromArray(back.data(), kRow, array, 0, 1, kRow, kHeight, kDeviceToHost), 1);
  std::uint64_t none = 0;
  EXPECT_SAME(cudaCreateSurfaceObject(&none, &of), 1);
  EXPECT_SAME(cudaDestroySurfaceObject(texture), 1);
  CHECK(cudaDestroySurfaceObject(writable));
  EXPECT_SAME(cudaDestroySurfaceObject(writable), 1);
  CHECK(cudaDestroyTextureObject(texture));
  EXPECT_SAME(cudaFreeArray(&array), 1);
  // A cube map has squares.
  EXPECT_SAME(cudaMalloc3DArray(&pointer, &words, {8, 4, 6}, 4), 1);
  EXPECT_SAME(cudaMalloc3DArray(&pointer, &words, {8, 8, 5}, 4), 1);
  CHECK(cudaMalloc3DArray(&pointer, &words, {8, 8, 6}, 4));
  CHECK(cudaFreeArray(pointer));

  void *mipmap = nullptr, *level = nullptr;
  CHECK(cudaMallocMipmappedArray(&mipmap, &words, {8, 4, 0}, 9, kSurface));  // no more than four
  EXPECT_SAME(cudaGetMipmappedArrayLevel(&level, mipmap, 4), 1);
  for (unsigned i = 0; i < 4; ++i) {
    CHECK(cudaGetMipmappedArrayLevel(&level, mipmap, i));
    Extent extent;
    CHECK(cudaArrayGetInfo(nullptr, &extent, nullptr, level));
    EXPECT_SAME(extent.width, 8U >> i);
    const unsigned height = i < 2 ? 4U >> i : 1U;
    EXPECT_SAME(extent.height, height);
    const std::vector<int> texels(32, 5 + static_cast<int>(i));
    CHECK(cudaMemcpy2DToArray(level, 0, 0, texels.data(), extent.width * 4, extent.width * 4, height,
                              kHostToDevice));
    CHECK(launch(double_stub, {1}, {8U >> i, height}, 0, nullptr, surface(level)));
  }
  for (unsigned i = 0; i < 4; ++i) {  // none lies where another does
    CHECK(cudaGetMipmappedArrayLevel(&level, mipmap, i));
    CHECK(cudaMemcpy2DFromArray(back.data(), 4, level, 0, 0, 4, 1, kDeviceToHost));
    EXPECT_SAME(back[0], 2 * (5 + static_cast<int>(i)));
  }
  EXPECT_SAME(cudaFreeArray(level), 1);
  CHECK(cudaFreeMipmappedArray(mipmap));
  EXPECT_SAME(cudaGetMipmappedArrayLevel(&level, mipmap, 0), 1);
  CHECK(cudaFreeArray(array));
  CHECK(cudaFreeArray(other));
}

template <class... Parameters>
using Call = int (*)(Parameters...);
template <class... Parameters>
Call<Parameters...> driver(void* library, const char* name, Call<Parameters...>) {
  void* const found = ::dlsym(library, name);
  EXPECT(found != nullptr);
  return reinterpret_cast<Call<Parameters...>>(found);
}

/// Calls of CUDA's driver, which the program loads for itself, between those of the run time.
void with_the_driver() {
  void* const library = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  EXPECT(library != nullptr);
  const auto init = driver(library, "cuInit", Call<unsigned>());
  const auto current = driver(library, "cuCtxGetCurrent", Call<void**>());
  const auto retain = driver(library, "cuDevicePrimaryCtxRetain", Call<void**, int>());
  const auto allocate = driver(library, "cuMemAlloc_v2", Call<std::uint64_t*, std::size_t>());
  const auto free = driver(library, "cuMemFree_v2", Call<std::uint64_t>());
  const auto record = driver(library, "cuEventRecord", Call<Event, Stream>());
  const auto launch_kernel = driver(library, "cuLaunchKernel",
                                    Call<void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                                         unsigned, Stream, void**, void**>());
  void* context = &context;
  void* primary = nullptr;
  CHECK(init(0));
  CHECK(current(&context));
  EXPECT(context == nullptr);
  CHECK(cudaDeviceSynchronize());  // makes the primary context current
  CHECK(current(&context));
  CHECK(retain(&primary, 0));
  EXPECT(context != nullptr && context == primary);

  // A kernel and a stream of the run time, memory of the driver, events of both.
  const int n = 1000;
  std::uint64_t memory = 0;
  CHECK(allocate(&memory, 2 * n * 4));
  auto* const a = reinterpret_cast<float*>(memory);
  auto* const b = device<float>(n);
  std::vector<float> values(n, 2);
  Stream stream = nullptr;
  Event events[2];
  CHECK(cudaStreamCreate(&stream));
  for (Event& event : events) CHECK(cudaEventCreate(&event));
  CHECK(cudaMemcpy(a, values.data(), n * 4, kHostToDevice));
  CHECK(cudaMemcpyAsync(b, values.data(), n * 4, kHostToDevice, stream));
  void* kernel = nullptr;
  CHECK(cudaGetFuncBySymbol(&kernel, &add_stub));
  float* to = a + n;
  int count = n;
  const float* second = b;
  const float* first = a;
  void* arguments[] = {&first, &second, &to, &count};
  CHECK(cudaEventRecord(events[0], stream));
  CHECK(launch_kernel(kernel, 4, 1, 1, 256, 1, 1, 0, stream, arguments, nullptr));
  CHECK(record(events[1], stream));
  CHECK(cudaStreamSynchronize(stream));
  EXPECT(milliseconds(events[0], events[1]) > 0);
  CHECK(cudaMemcpy(values.data(), to, n * 4, kDeviceToHost));
  for (const float value : values) EXPECT_SAME(value, 4.0F);
  CHECK(free(reinterpret_cast<std::uintptr_t>(b)));
  CHECK(cudaFree(a));
  // What fails there is no last error here.
  EXPECT_SAME(free(memory), 1);
  EXPECT_SAME(cudaPeekAtLastError(), 0);
  void* found = nullptr;
  int status = -1;
  CHECK(cudaGetDriverEntryPoint("cuMemFree", &found, 0, &status));
  EXPECT(found == reinterpret_cast<void*>(free) && status == 0);
  std::printf("one device\n");
}

/// nvcc -rdc=true: a kernel whose function and variable another unit has, which the host sets.
void units() {
  int* const out = device<int>(1);
  const int seven = 7;
  CHECK(cudaMemcpyToSymbol(&offset, &seven, sizeof(seven), 0, kHostToDevice));
  CHECK(launch(total_stub, {1}, {1}, 0, nullptr, out));
  int total = 0;
  CHECK(cudaMemcpy(&total, out, sizeof(total), kDeviceToHost));
  int calls = 0;
  CHECK(cudaMemcpyFromSymbol(&calls, &seen, sizeof(calls), 0, kDeviceToHost));
  std::printf("%d %d\n", total, calls);
}

void register_units(bool all) {
  // The last is NVIDIA's own, which nvcc links to code without machine code, and which nobody needs here.
  for (const char* text : {kTotalUnit, all ? kTwiceUnit : kTwiceUnitWithoutOffset, kDeviceRuntimeUnit})
    unit_binaries.push_back(fat_binary(fat_entry(1, 75, std::string(text) + '\0', Packing::Zstd)));
  static std::vector<const void*> linked;
  for (const std::string& unit : unit_binaries) linked.push_back(unit.data());
  linked.push_back(nullptr);
  binary = fat_binary("");
  wrapper.version = 2;
  wrapper.binary = binary.data();
  wrapper.linked = linked.data();
  handle = __cudaRegisterFatBinary(&wrapper);
  __cudaRegisterFunction(handle, &total_stub, const_cast<char*>("total"), "total", -1, nullptr, nullptr,
                         nullptr, nullptr, nullptr);
  __cudaRegisterVar(handle, reinterpret_cast<char*>(&offset), nullptr, "offset", 0, 4, 0, 0);
  __cudaRegisterVar(handle, reinterpret_cast<char*>(&seen), nullptr, "seen", 0, 4, 0, 0);
  __cudaRegisterFatBinaryEnd(handle);
}

/// What kernels print shows the order of the launches, which does not depend on how long each thread takes to
/// come to them.
void threads() {
  constexpr int kThreads = 4;
  std::vector<std::thread> all;
  for (int number = 0; number < kThreads; ++number) {
    all.emplace_back([number] {
      for (int i = 0; i < 3; ++i) {
        volatile double busy = 1;
        for (int k = 0; k < 300000 * (kThreads - number); ++k) busy = busy * 1.0001;
        CHECK(launch(say_stub, {1}, {1}, 0, nullptr, 10 * number + i));
      }
    });
  }
  for (std::thread& each : all) each.join();
  CHECK(cudaDeviceSynchronize());
}

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
  CHECK(launch(spin_stub, {1}, {1}, 0, other, device<int>(1), 1 << 16));  // ends with it, on time
  CHECK(launch(wild_stub, {4}, {128}, 0, nullptr, out));
  CHECK(launch(sum_stub, {1}, {128}, 512, nullptr, out));  // never begins
  expect_lasting(700);
}

void misplaced() {
  CHECK(launch(misplaced_stub, {2}, {96}, 0, nullptr, device<char>(512)));
  expect_lasting(716);
}

void claim() {
  CHECK(launch(claim_stub, {3}, {96}, 0, nullptr, 200));
  expect_lasting(710);
}

/// What lies on the same page of 2 MB as an allocation, before and behind it, can be read, as on a GPU.
void stray() {
  int* const in = device<int>(1);
  int* const out = device<int>(1);
  for (const int index : {-128, 1000}) {
    for (int i = 0; i < 2; ++i) CHECK(launch(stray_stub, {1}, {1}, 0, nullptr, in, out, index));
    CHECK(cudaDeviceSynchronize());
  }
  CHECK(launch(stray_stub, {1}, {1}, 0, nullptr, in, out, 1 << 20));
  expect_lasting(700);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string name = argc > 1 ? argv[1] : "";
  const std::map<std::string, std::function<void()>> cases = {
      {"add", vector_add},
      {"copies", copies},
      {"symbols", symbols},
      {"parameters", parameters},
      {"shared", shared_memory},
      {"streams", streams},
      {"print", printing},
      {"properties", properties},
      {"occupancy", occupancy},
      {"errors", errors},
      {"threads", threads},
      {"arrays", arrays},
      {"wild", wild},
      {"misplaced", misplaced},
      {"claim", claim},
      {"stray", stray},
      {"driver", with_the_driver},
      {"nothing", [] { cudaSetDevice(0); }},
      {"code", [] { std::exit(7); }},
      {"signal",
       [] {
         vector_add();
         std::raise(SIGSEGV);
       }},
      {"lz4", vector_add},
      {"machine-code", vector_add},
      {"raw", vector_add},
      {"units", units},
      {"units-without", units},
      {"fork",
       [] {
         vector_add();
         if (::fork() == 0) ::_exit(cudaDeviceSynchronize() == 3 ? 0 : 1);
       }},
  };
  const auto found = cases.find(name);
  if (found == cases.end()) return 99;
  if (name.starts_with("units")) {
    register_units(name == "units");
    found->second();
    __cudaUnregisterFatBinary(handle);
    return 0;
  }
  register_all(name == "lz4"            ? Packing::Lz4
               : name == "raw"          ? Packing::Raw
               : name == "machine-code" ? Packing::MachineCodeOnly
                                        : Packing::Zstd);
  found->second();
  __cudaUnregisterFatBinary(handle);
  return 0;
}
