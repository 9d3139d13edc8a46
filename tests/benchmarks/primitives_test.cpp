// Cooperative groups and CUB's primitives (tests/ptx/primitives), as nvcc compiles them for three
// architectures. Results must equal those of the host's own arithmetic, with and without the optimising back
// end.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>

#include "base/hash.hpp"
#include "benchmarks/suite_device.hpp"

namespace gpumux {
namespace {

using testing_support::SuiteDevice;

struct Target {
  int arch;
  int optimize;
};
void PrintTo(const Target& target, std::ostream* out) {
  *out << "sm_" << target.arch << "_O" << target.optimize;
}

class Primitives : public testing::TestWithParam<Target> {
 protected:
  [[nodiscard]] SuiteDevice device(const std::string& name) const {
    return SuiteDevice("../primitives/" + name + ".sm_" + std::to_string(GetParam().arch),
                       GetParam().optimize);
  }
  template <class T>
  std::vector<T> values(std::size_t count, std::uint32_t range) {
    std::vector<T> result(count);
    for (T& value : result) value = static_cast<T>(random_.below(range));
    return result;
  }
  Random random_{11};
};

TEST_P(Primitives, Tiles) {
  constexpr std::size_t kThreads = 96;
  constexpr std::size_t kResults = 12;
  const auto in = values<std::uint32_t>(kThreads, 1000);
  SuiteDevice gpu = device("tiles");
  for (const std::uint32_t size : {2U, 4U, 8U, 16U, 32U}) {
    const Address out = gpu.zeros<std::uint32_t>(kThreads * kResults);
    gpu.launch("tile" + std::to_string(size), {1}, {kThreads}, 0, gpu.upload(in), out);
    const auto got = gpu.download<std::uint32_t>(out, kThreads * kResults);
    for (std::size_t t = 0; t < kThreads; ++t) {
      const std::size_t first = t / size * size;
      const auto rank = static_cast<std::uint32_t>(t - first);
      const auto at = [&](std::uint32_t r) { return in[first + r]; };
      std::vector<std::uint32_t> wanted(kResults);
      wanted[2] = 1;
      wanted[5] = 1;
      std::int32_t least = std::numeric_limits<std::int32_t>::max();
      for (std::uint32_t r = 0; r < size; ++r) {
        wanted[0] |= (at(r) & 1U) << r;
        wanted[1] |= at(r) % 16 == 3 ? 1 : 0;
        wanted[2] &= at(r) % 16 != 3 ? 1 : 0;
        wanted[3] |= ((at(r) & 3U) == (at(rank) & 3U) ? 1U : 0U) << r;
        wanted[5] &= (at(r) & 4U) == (at(0) & 4U) ? 1 : 0;
        wanted[9] += at(r);
        least = std::min(least, static_cast<std::int32_t>(at(r)) - 500);
        if (r <= rank) wanted[11] += at(r);
      }
      wanted[4] = wanted[5] != 0 ? (size == 32 ? ~0U : (1U << size) - 1) : 0;
      wanted[6] = at(at(rank) % size);
      wanted[7] = rank + 1 < size ? at(rank + 1) : at(rank);
      wanted[8] = at(rank ^ (size / 2));
      wanted[10] = static_cast<std::uint32_t>(least);
      const auto from = got.begin() + static_cast<std::ptrdiff_t>(t * kResults);
      ASSERT_EQ(std::vector<std::uint32_t>(from, from + kResults), wanted)
          << "tile of " << size << ", thread " << t;
    }
  }
}

TEST_P(Primitives, CoalescedThreads) {
  constexpr std::size_t kThreads = 64;
  const auto in = values<std::uint32_t>(kThreads, 1000);
  SuiteDevice gpu = device("tiles");
  const Address out = gpu.zeros<std::uint32_t>(kThreads * 3);
  gpu.launch("odd_ones", {1}, {kThreads}, 0, gpu.upload(in), out);
  std::vector<std::uint32_t> wanted(kThreads * 3);
  for (std::size_t warp = 0; warp < kThreads; warp += 32) {
    std::uint32_t count = 0;
    std::uint32_t sum = 0;
    for (std::size_t t = warp; t < warp + 32; ++t) {
      if (in[t] % 2 == 0) continue;
      wanted[t * 3 + 1] = count++;
      sum += in[t];
    }
    for (std::size_t t = warp; t < warp + 32; ++t) {
      if (in[t] % 2 == 0) continue;
      wanted[t * 3] = count;
      wanted[t * 3 + 2] = sum;
    }
  }
  EXPECT_EQ(gpu.download<std::uint32_t>(out, wanted.size()), wanted);
}

TEST_P(Primitives, Labels) {
  constexpr std::size_t kThreads = 64;
  const auto in = values<std::uint32_t>(kThreads, 1000);
  SuiteDevice gpu = device("tiles");
  const Address out = gpu.zeros<std::uint32_t>(kThreads * 2);
  gpu.launch("by_label", {1}, {kThreads}, 0, gpu.upload(in), out);
  std::vector<std::uint32_t> wanted(kThreads * 2);
  for (std::size_t t = 0; t < kThreads; ++t) {
    for (std::size_t other = t / 32 * 32; other < t / 32 * 32 + 32; ++other) {
      if (in[other] % 5 != in[t] % 5) continue;
      ++wanted[t * 2];
      wanted[t * 2 + 1] += in[other];
    }
  }
  EXPECT_EQ(gpu.download<std::uint32_t>(out, wanted.size()), wanted);
}

TEST_P(Primitives, HalfOfEachTile) {
  const auto in = values<std::uint32_t>(32, 1000);
  SuiteDevice gpu = device("tiles");
  const Address out = gpu.zeros<std::uint32_t>(32);
  gpu.launch("half_tiles", {1}, {32}, 0, gpu.upload(in), out);
  std::vector<std::uint32_t> wanted(32);
  for (std::size_t t = 0; t < 32; ++t) {
    if (t % 8 >= 4) continue;
    wanted[t] = 16U << 16U;  // half of the 32 threads are in it
    for (std::size_t k = t / 8 * 8; k < t / 8 * 8 + 4; ++k) wanted[t] += (in[k] & 1U) << k;
  }
  EXPECT_EQ(gpu.download<std::uint32_t>(out, 32), wanted);
}

TEST_P(Primitives, CubWarps) {
  const auto in = values<std::int32_t>(128, 1000);
  SuiteDevice gpu = device("cub");
  for (const std::size_t size : {32, 16, 8, 4}) {
    const Address sums = gpu.zeros<std::int32_t>(128 / size);
    const Address scans = gpu.zeros<std::int32_t>(128);
    gpu.launch("warp" + std::to_string(size), {1}, {128}, 0, gpu.upload(in), sums, scans);
    std::vector<std::int32_t> wanted_sums(128 / size);
    std::vector<std::int32_t> wanted_scans(128);
    for (std::size_t t = 0; t < 128; ++t) {
      wanted_scans[t] = wanted_sums[t / size];
      wanted_sums[t / size] += in[t];
    }
    EXPECT_EQ(gpu.download<std::int32_t>(sums, 128 / size), wanted_sums) << size;
    EXPECT_EQ(gpu.download<std::int32_t>(scans, 128), wanted_scans) << size;
  }
}

TEST_P(Primitives, CubBlocks) {
  SuiteDevice gpu = device("cub");
  const auto in = values<std::int32_t>(256, 1000);
  const Address from = gpu.upload(in);
  const std::vector<std::int32_t> reduced = {*std::max_element(in.begin(), in.begin() + 128),
                                             std::accumulate(in.begin(), in.begin() + 100, 0)};
  for (const char* kernel : {"reduce_warps", "reduce_raking"}) {
    const Address out = gpu.zeros<std::int32_t>(2);
    gpu.launch(kernel, {1}, {128}, 0, from, out);
    EXPECT_EQ(gpu.download<std::int32_t>(out, 2), reduced) << kernel;
  }
  std::vector<std::int32_t> scanned(256);
  std::exclusive_scan(in.begin(), in.end(), scanned.begin(), 0);
  for (const char* kernel : {"scan_warps", "scan_raking"}) {
    const Address out = gpu.zeros<std::int32_t>(256);
    const Address total = gpu.zeros<std::int32_t>(1);
    gpu.launch(kernel, {1}, {128}, 0, from, out, total);
    EXPECT_EQ(gpu.download<std::int32_t>(out, 256), scanned) << kernel;
    EXPECT_EQ(gpu.download<std::int32_t>(total, 1).front(), std::accumulate(in.begin(), in.end(), 0))
        << kernel;
  }
  const auto keys = values<std::uint32_t>(256, 1U << 16U);
  std::vector<std::int32_t> order(256);
  std::iota(order.begin(), order.end(), 0);
  const Address device_keys = gpu.upload(keys);
  const Address device_order = gpu.upload(order);
  gpu.launch("sort_block", {1}, {128}, 0, device_keys, device_order);
  const auto key = [&](std::int32_t at) { return keys[static_cast<std::size_t>(at)] & 0xfffU; };
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return key(a) < key(b); });
  EXPECT_EQ(gpu.download<std::int32_t>(device_order, 256), order);
}

struct Empty {};  // a functor without state takes a byte

TEST_P(Primitives, CubDeviceReduce) {
  SuiteDevice gpu = device("cub_device");
  const auto in = values<std::int32_t>(10'007, 1000);
  const Address out = gpu.zeros<std::int32_t>(1);
  const auto count = static_cast<std::int32_t>(in.size());
  gpu.launch("reduce_tile", {1}, {256}, 0, gpu.upload(in), out, count, Empty{}, 5, Empty{});
  EXPECT_EQ(gpu.download<std::int32_t>(out, 1).front(), std::accumulate(in.begin(), in.end(), 5));
}

TEST_P(Primitives, CubDeviceScanOverManyBlocks) {
  // Threads of a block and items of its tile, by CUB's tuning for the architecture.
  const bool newest = GetParam().arch == 100;
  const std::uint32_t threads = newest ? 384 : 128;
  const std::uint32_t tile = newest ? 8448 : GetParam().arch == 90 ? 3072 : 1920;
  constexpr std::uint32_t kTiles = 5;
  SuiteDevice gpu = device("cub_device");
  const auto in = values<std::int32_t>(std::size_t{tile} * (kTiles - 1) + 321, 1000);
  const Address out = gpu.zeros<std::int32_t>(in.size());
  const Address state =
      gpu.zeros<std::uint64_t>(kTiles + 32);  // a descriptor per tile behind a warp's worth of padding
  struct InitialValue {                       // cub::detail::InputValue: at hand, or behind a pointer
    std::uint32_t is_pointer = 0;
    std::uint32_t padding = 0;
    std::int64_t value = 0;
  };
  gpu.launch("scan_init", {1}, {128}, 0, state, std::int32_t{kTiles});
  gpu.launch("scan", {kTiles}, {threads}, 0, gpu.upload(in), out, state, std::int32_t{0}, Empty{},
             InitialValue{}, static_cast<std::int32_t>(in.size()));
  std::vector<std::int32_t> wanted(in.size());
  std::exclusive_scan(in.begin(), in.end(), wanted.begin(), 0);
  EXPECT_EQ(gpu.download<std::int32_t>(out, in.size()), wanted);
}

TEST_P(Primitives, CubDeviceSortOfATile) {
  SuiteDevice gpu = device("cub_sort");
  auto keys = values<std::uint32_t>(1500, 1U << 31U);
  const Address out = gpu.zeros<std::uint32_t>(keys.size());
  gpu.launch("sort_tile", {1}, {256}, 0, gpu.upload(keys), out, Address{0}, Address{0},
             static_cast<std::uint32_t>(keys.size()), std::int32_t{0}, std::int32_t{32}, Empty{});
  std::sort(keys.begin(), keys.end());
  EXPECT_EQ(gpu.download<std::uint32_t>(out, keys.size()), keys);
}

INSTANTIATE_TEST_SUITE_P(Nvcc, Primitives,
                         testing::Values(Target{75, 1}, Target{75, 0}, Target{90, 1}, Target{90, 0},
                                         Target{100, 1}, Target{100, 0}),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace gpumux
