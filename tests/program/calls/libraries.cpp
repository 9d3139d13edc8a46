// Libraries of kernels that the run time loads, and calls about kernels, streams and the device.
#include "tests/program/calls/program.hpp"

namespace {

const Kernel mix_kernel("mix");
const Kernel sum_kernel("sum_shared");

void libraries() {
  const std::string ptx = file_text(GPUMUX_SOURCE_DIR "/tests/program/calls/kernels.ptx");
  void* library = nullptr;
  CHECK(cudaLibraryLoadData(&library, ptx.c_str(), nullptr, nullptr, 0, nullptr, nullptr, 0));
  void* kernel = nullptr;
  CHECK(cudaLibraryGetKernel(&kernel, library, "sum_shared"));
  int* const out = device<int>(1);
  void* arguments[] = {const_cast<int**>(&out)};
  CHECK(cudaLaunchKernel(kernel, {1}, {32}, arguments, 32 * 4, nullptr));
  int sum = 0;
  CHECK(cudaMemcpy(&sum, out, 4, kDeviceToHost));
  EXPECT_SAME(sum, 32 * 31 / 2);
  EXPECT_SAME(cudaLibraryGetKernel(&kernel, library, "nothing"), 500);
  unsigned count = 0;
  CHECK(cudaLibraryGetKernelCount(&count, library));
  EXPECT(count > 5);
  std::vector<void*> all(count);
  CHECK(cudaLibraryEnumerateKernels(all.data(), count, library));
  const char* name = nullptr;
  CHECK(cudaFuncGetName(&name, all.front()));
  EXPECT(name == std::string("add"));
  void* address = nullptr;
  std::size_t bytes = 0;
  CHECK(cudaLibraryGetGlobal(&address, &bytes, library, "counter"));
  EXPECT_SAME(bytes, 4U);
  int five = 0;
  CHECK(cudaMemcpy(&five, address, 4, kDeviceToHost));
  EXPECT_SAME(five, 5);
  CHECK(cudaKernelSetAttributeForDevice(all.front(), 8, 1024, 0));
  EXPECT_SAME(cudaKernelSetAttributeForDevice(all.front(), 8, 1024, 1), 101);
  CHECK(cudaLibraryUnload(library));
  EXPECT_SAME(cudaLibraryUnload(library), 400);
  EXPECT_SAME(cudaLibraryLoadFromFile(&library, "nothing.ptx", nullptr, nullptr, 0, nullptr, nullptr, 0),
              301);
  CHECK(cudaLibraryLoadFromFile(&library, GPUMUX_SOURCE_DIR "/tests/program/calls/kernels.ptx", nullptr,
                                nullptr, 0, nullptr, nullptr, 0));
}

void questions() {
  std::size_t offset = 0, bytes = 0;
  CHECK(cudaFuncGetParamInfo(&mix_kernel, 1, &offset, &bytes));
  EXPECT_SAME(offset, 8U);
  EXPECT_SAME(bytes, 16U);
  EXPECT_SAME(cudaFuncGetParamInfo(&mix_kernel, 3, &offset, &bytes), 1);
  // 64 KB of shared memory: four blocks have 16 KB each, and one no more than a block may have.
  CHECK(cudaOccupancyAvailableDynamicSMemPerBlock(&bytes, &sum_kernel, 4, 32));
  EXPECT_SAME(bytes, 16384U);
  CHECK(cudaOccupancyAvailableDynamicSMemPerBlock(&bytes, &sum_kernel, 1, 32));
  EXPECT_SAME(bytes, 65536U);
  EXPECT_SAME(cudaOccupancyAvailableDynamicSMemPerBlock(&bytes, &sum_kernel, 2, 1024), 1);
  Stream streams[2] = {};
  unsigned long long ids[3] = {};
  for (int i = 0; i < 2; ++i) {
    CHECK(cudaStreamCreate(&streams[i]));
    CHECK(cudaStreamGetId(streams[i], &ids[i]));
  }
  CHECK(cudaStreamGetId(nullptr, &ids[2]));
  EXPECT(ids[0] != ids[1] && ids[0] != ids[2] && ids[1] != ids[2]);
  int number = 5;
  CHECK(cudaStreamGetDevice(streams[0], &number));
  EXPECT_SAME(number, 0);
  EXPECT_SAME(cudaStreamGetDevice(&number, &number), 400);
  char text[32];
  CHECK(cudaDeviceGetPCIBusId(text, sizeof(text), 0));
  EXPECT(text == std::string("0000:01:00.0"));
  number = 5;
  CHECK(cudaDeviceGetByPCIBusId(&number, text));
  EXPECT_SAME(number, 0);
  CHECK(cudaDeviceGetByPCIBusId(&number, "01:00.0"));
  EXPECT_SAME(cudaDeviceGetByPCIBusId(&number, "0000:02:00.0"), 101);
  EXPECT_SAME(cudaDeviceGetByPCIBusId(&number, "here"), 1);
  CHECK(cudaDeviceGetAttribute(&number, 33, 0));
  EXPECT_SAME(number, 1);
  CHECK(cudaDeviceGetAttribute(&number, 91, 0));
  EXPECT_SAME(number, 1);
  EXPECT_SAME(cudaDeviceEnablePeerAccess(1, 0), 101);

  PeerCopy copy;
  int* const memory = device<int>(64);
  copy.from = {memory, 16, 16, 4};
  copy.to = {memory + 32, 16, 16, 4};
  copy.extent = {8, 4, 2};
  CHECK(cudaMemset(memory, 0, 256));
  CHECK(cudaMemset3DAsync(copy.from, 0x11, copy.extent, streams[0]));
  CHECK(cudaMemcpy3DPeer(&copy));
  int back[64] = {};
  CHECK(cudaMemcpy(back, memory, 256, kDeviceToHost));
  for (int i = 0; i < 64; ++i) EXPECT_SAME(back[i], i % 4 < 2 ? 0x11111111 : 0);
  copy.to_device = 1;
  EXPECT_SAME(cudaMemcpy3DPeer(&copy), 101);
}

const Case libraries_case("libraries", libraries);
const Case questions_case("questions", questions);

}  // namespace
