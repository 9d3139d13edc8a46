// Programs that call the driver in addition to the run time.
#include <dlfcn.h>

#include "tests/program/calls/program.hpp"

namespace {

const Kernel add_kernel("add");

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
  CHECK(cudaGetFuncBySymbol(&kernel, &add_kernel));
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

/// cudaFree(0) stands for cuInit in many programs.
void driver_after_free() {
  void* const library = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  EXPECT(library != nullptr);
  const auto allocate = driver(library, "cuMemAlloc_v2", Call<std::uint64_t*, std::size_t>());
  const auto free = driver(library, "cuMemFree_v2", Call<std::uint64_t>());
  std::uint64_t memory = 0;
  EXPECT_SAME(allocate(&memory, 4), 3);  // CUDA_ERROR_NOT_INITIALIZED
  CHECK(cudaFree(nullptr));
  CHECK(allocate(&memory, 4));
  CHECK(free(memory));
}

const Case driver_case("driver", with_the_driver);
const Case after_free_case("driver-after-free", driver_after_free);

}  // namespace
