// Calls for several devices on a machine with one device. And fills and copies of variables in all variants
// of the API, including default streams per thread.
#include "tests/program/calls/program.hpp"

namespace {

constexpr int kInvalidValue = 1;
constexpr int kInvalidDevice = 101;
constexpr int kPeerAccessNotEnabled = 705;

const Kernel add_kernel("add");

void peers() {
  int can = 7;
  CHECK(cudaDeviceCanAccessPeer(&can, 0, 0));
  EXPECT_SAME(can, 0);
  EXPECT_SAME(cudaDeviceCanAccessPeer(&can, 0, 1), kInvalidDevice);
  EXPECT_SAME(cudaDeviceEnablePeerAccess(0, 0), kInvalidDevice);
  EXPECT_SAME(cudaDeviceEnablePeerAccess(1, 0), kInvalidDevice);
  EXPECT_SAME(cudaDeviceEnablePeerAccess(0, 1), kInvalidValue);
  EXPECT_SAME(cudaDeviceDisablePeerAccess(0), kPeerAccessNotEnabled);
  EXPECT_SAME(cudaDeviceDisablePeerAccess(3), kInvalidDevice);
  EXPECT_SAME(cudaDeviceGetP2PAttribute(&can, 2, 0, 0), kInvalidDevice);
  EXPECT_SAME(cudaDeviceGetP2PAttribute(nullptr, 2, 0, 0), kInvalidValue);

  char text[32] = {};
  int device = 7;
  CHECK(cudaDeviceGetPCIBusId(text, sizeof(text), 0));
  CHECK(cudaDeviceGetByPCIBusId(&device, text));
  EXPECT_SAME(device, 0);
  CHECK(cudaDeviceGetByPCIBusId(&device, "0000:01:00"));
  CHECK(cudaDeviceGetByPCIBusId(&device, "01:00.0"));
  EXPECT_SAME(cudaDeviceGetByPCIBusId(&device, "0000:02:00.0"), kInvalidDevice);
  EXPECT_SAME(cudaDeviceGetByPCIBusId(&device, "card"), kInvalidValue);
  CHECK(cudaDeviceGetSharedMemConfig(&device));
  EXPECT_SAME(device, 1);
  CHECK(cudaCtxResetPersistingL2Cache());
  const char* name = nullptr;
  CHECK(cudaFuncGetName(&name, &add_kernel));
  EXPECT(name == std::string("add"));
  EXPECT_SAME(cudaFuncGetName(&name, text), 98);  // no kernel

  // Two slices of three rows of eight bytes, into the middle of a larger box.
  std::vector<char> there(48), back(2 * 5 * 16, 1);
  for (int i = 0; i < 48; ++i) there[i] = static_cast<char>(i);
  char* const from = ::device<char>(48);
  char* const to = ::device<char>(back.size());
  CHECK(cudaMemcpy(from, there.data(), 48, kHostToDevice));
  PeerCopy copy;
  copy.from = {from, 8, 8, 3};
  copy.to = {to, 16, 16, 5};
  copy.to_at = {4, 1, 0};
  copy.extent = {8, 3, 2};
  for (int way = 0; way < 4; ++way) {
    CHECK(cudaMemset(to, 0x7f, back.size()));
    CHECK(way == 0   ? cudaMemcpy3DPeer(&copy)
          : way == 1 ? cudaMemcpy3DPeerAsync(&copy, nullptr)
          : way == 2 ? cudaMemcpy3DPeer_ptds(&copy)
                     : cudaMemcpy3DPeerAsync_ptsz(&copy, nullptr));
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemcpy(back.data(), to, back.size(), kDeviceToHost));
    for (int i = 0; i < 160; ++i) {
      const int x = i % 16 - 4, y = i / 16 % 5 - 1, z = i / 80;
      const bool inside = x >= 0 && x < 8 && y >= 0 && y < 3;
      EXPECT_SAME(back[i], inside ? z * 24 + y * 8 + x : 0x7f);
    }
  }
  copy.to_device = 1;
  EXPECT_SAME(cudaMemcpy3DPeer(&copy), kInvalidDevice);
  EXPECT_SAME(cudaMemcpy3DPeer(nullptr), kInvalidValue);
}

/// Rows that are longer than their pitch, and slices that are higher than their box, lie within each other.
void pitches() {
  constexpr int kInvalidPitch = 12;
  std::vector<char> host(512);
  char* const a = device<char>(512);
  char* const b = device<char>(512);
  for (const int kind : {kHostToDevice, kDeviceToHost, kDeviceToDevice, kDefault}) {
    char* const to = kind == kDeviceToHost ? host.data() : a;
    const char* const from = kind == kHostToDevice ? host.data() : b;
    CHECK(cudaMemcpy2D(to, 16, from, 16, 16, 3, kind));
    EXPECT_SAME(cudaMemcpy2D(to, 15, from, 16, 16, 3, kind), kInvalidPitch);
    EXPECT_SAME(cudaMemcpy2D(to, 16, from, 15, 16, 3, kind), kInvalidPitch);
  }
  EXPECT_SAME(cudaMemset2D(a, 15, 0, 16, 3), kInvalidValue);
  EXPECT_SAME(cudaMemset3D({a, 15, 16, 3}, 0, {16, 1, 2}), kInvalidValue);
  EXPECT_SAME(cudaMemset3D({a, 16, 16, 2}, 0, {16, 3, 2}), kInvalidValue);
  CHECK(cudaMemset3D({a, 16, 16, 2}, 0, {16, 3, 1}));

  PeerCopy right;
  right.from = {b, 16, 16, 3};
  right.to = {a, 16, 16, 3};
  right.extent = {16, 3, 2};
  CHECK(cudaMemcpy3DPeer(&right));
  const auto wrong = [&](const auto& change) {
    PeerCopy of = right;
    change(of);
    return cudaMemcpy3DPeer(&of);
  };
  EXPECT_SAME(wrong([](PeerCopy& of) { of.from.pitch = 15; }), kInvalidPitch);
  EXPECT_SAME(wrong([](PeerCopy& of) { of.to.pitch = 15; }), kInvalidPitch);
  EXPECT_SAME(wrong([](PeerCopy& of) { of.to_at.x = 1; }), kInvalidPitch);
  EXPECT_SAME(wrong([](PeerCopy& of) { of.from.height = 2; }), kInvalidValue);
  EXPECT_SAME(wrong([](PeerCopy& of) { of.to_at.y = 1; }), kInvalidValue);
  EXPECT_SAME(wrong([](PeerCopy& of) { of.extent.depth = 1, of.to.height = 1; }), 0);

  void* array = nullptr;
  const Format bytes{{8, 0, 0, 0}, 1};
  CHECK(cudaMallocArray(&array, &bytes, 16, 3, 0));
  EXPECT_SAME(cudaMemcpy2DToArray(array, 0, 0, host.data(), 15, 16, 3, kHostToDevice), kInvalidPitch);
  EXPECT_SAME(cudaMemcpy2DFromArray(host.data(), 15, array, 0, 0, 16, 3, kDeviceToHost), kInvalidPitch);
  CHECK(cudaFreeArray(array));
  for (char* memory : {a, b}) CHECK(cudaFree(memory));
}

void per_thread() {
  char* const memory = device<char>(2 * 4 * 32);
  std::vector<char> back(2 * 4 * 32);
  const Pitched box{memory, 32, 10, 4};
  const auto fill = [&](int way, int value) {
    switch (way) {
      case 0: return cudaMemset3D(box, value, {10, 3, 2});
      case 1: return cudaMemset3D_ptds(box, value, {10, 3, 2});
      case 2: return cudaMemset3DAsync(box, value, {10, 3, 2}, nullptr);
      case 3: return cudaMemset3DAsync_ptsz(box, value, {10, 3, 2}, nullptr);
      case 4: return cudaMemset2D_ptds(memory, 32, value, 10, 3);
      default: return cudaMemset2DAsync_ptsz(memory, 32, value, 10, 3, nullptr);
    }
  };
  for (int way = 0; way < 6; ++way) {
    CHECK(cudaMemset(memory, 0, back.size()));
    CHECK(fill(way, 40 + way));
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemcpy(back.data(), memory, back.size(), kDeviceToHost));
    for (int i = 0; i < 256; ++i) {
      const bool inside = i % 32 < 10 && i / 32 % 4 < 3 && (way < 4 || i < 128);
      EXPECT_SAME(back[i], inside ? 40 + way : 0);
    }
  }

  int values[2] = {5, 6};
  CHECK(cudaMemcpyToSymbolAsync_ptsz(table, values, sizeof(values), 4, kHostToDevice, nullptr));
  CHECK(cudaMemcpyFromSymbolAsync_ptsz(values, table, sizeof(values), 8, kDeviceToHost, nullptr));
  CHECK(cudaStreamSynchronize_ptsz(nullptr));
  EXPECT_SAME(values[0], 6);
  EXPECT_SAME(values[1], 4);
  EXPECT_SAME(cudaMemcpyToSymbolAsync_ptsz(table, values, 8, 12, kHostToDevice, nullptr), kInvalidValue);

  int called = 0;
  const Callback count = [](Stream, int error, void* data) {
    *static_cast<int*>(data) += error == 0 ? 1 : 100;
  };
  CHECK(cudaStreamAddCallback_ptsz(nullptr, count, &called, 0));
  CHECK(cudaDeviceSynchronize());
  EXPECT_SAME(called, 1);

  // The null stream is another one with default streams per thread.
  unsigned long long ids[3] = {};
  Stream stream = nullptr;
  CHECK(cudaStreamCreate(&stream));
  CHECK(cudaStreamGetId(nullptr, &ids[0]));
  CHECK(cudaStreamGetId_ptsz(nullptr, &ids[1]));
  CHECK(cudaStreamGetId(stream, &ids[2]));
  EXPECT(ids[0] != ids[1] && ids[0] != ids[2] && ids[1] != ids[2]);
  EXPECT_SAME(cudaStreamGetId(stream, nullptr), kInvalidValue);
  int number = 7;
  CHECK(cudaStreamGetDevice(stream, &number));
  EXPECT_SAME(number, 0);
}

const Case peers_case("peers", peers);
const Case per_thread_case("per-thread", per_thread);
const Case pitches_case("pitches", pitches);

}  // namespace
