// Integer kernels like those of public suites (tests/ptx/suite): memory, atomics, warp functions, calls,
// divergence. The emulator runs them with and without the optimising back end; results must be equal.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <set>

#include "base/hash.hpp"
#include "benchmarks/suite_device.hpp"

namespace gpumux {
namespace {

using testing_support::SuiteDevice;

/// The parameter is CompileOptions::optimize.
class IntegerSuite : public testing::TestWithParam<int> {
 protected:
  Random random_{7};
  std::vector<std::int32_t> ints(std::size_t count, std::int32_t low, std::uint32_t range) {
    std::vector<std::int32_t> values(count);
    for (std::int32_t& value : values) value = low + static_cast<std::int32_t>(random_.below(range));
    return values;
  }
};

TEST_P(IntegerSuite, Scan) {
  SuiteDevice device("scan", GetParam());
  const std::vector<std::int32_t> in = ints(2 * 256, -50, 100);
  const Address out = device.zeros<std::int32_t>(in.size());
  const Address sums = device.zeros<std::int32_t>(2);
  device.launch("scan_block", {2}, {128}, (256 + 8) * 4, device.upload(in), out, sums);
  std::vector<std::int32_t> wanted;
  std::vector<std::int32_t> wanted_sums;
  for (std::size_t block = 0; block < 2; ++block) {
    std::int32_t sum = 0;
    for (std::size_t i = 0; i < 256; ++i) {
      wanted.push_back(sum);
      sum += in[block * 256 + i];
    }
    wanted_sums.push_back(sum);
  }
  EXPECT_EQ(device.download<std::int32_t>(out, in.size()), wanted);
  EXPECT_EQ(device.download<std::int32_t>(sums, 2), wanted_sums);
}

TEST_P(IntegerSuite, Histogram) {
  SuiteDevice device("histogram", GetParam());
  std::vector<std::uint32_t> words(3000);
  std::vector<std::uint32_t> wanted(256);
  for (std::uint32_t& word : words) {
    word = static_cast<std::uint32_t>(random_.next()) & 0x3f0fffff;
    for (unsigned shift = 0; shift < 32; shift += 8) ++wanted[word >> shift & 0xffU];
  }
  const Address bins = device.zeros<std::uint32_t>(256);
  device.launch("histogram256", {4}, {256}, 0, device.upload(words), 3000, bins);
  EXPECT_EQ(device.download<std::uint32_t>(bins, 256), wanted);
}

TEST_P(IntegerSuite, Extremes) {
  SuiteDevice device("histogram", GetParam());
  const std::vector<std::int32_t> values = ints(500, -1000, 2000);
  std::vector<std::uint32_t> wanted(8);
  for (const std::int32_t value : values) {
    wanted[static_cast<std::uint32_t>(value) >> 5U & 7U] |= 1U << (static_cast<std::uint32_t>(value) & 31U);
  }
  const Address low = device.upload(std::vector<std::int32_t>{99'999});
  const Address high = device.upload(std::vector<std::int32_t>{-99'999});
  const Address seen = device.zeros<std::uint32_t>(8);
  device.launch("extremes", {2}, {256}, 0, device.upload(values), 500, low, high, seen);
  EXPECT_EQ(device.download<std::int32_t>(low, 1)[0], *std::min_element(values.begin(), values.end()));
  EXPECT_EQ(device.download<std::int32_t>(high, 1)[0], *std::max_element(values.begin(), values.end()));
  EXPECT_EQ(device.download<std::uint32_t>(seen, 8), wanted);
}

TEST_P(IntegerSuite, NeedlemanWunsch) {
  SuiteDevice device("needleman_wunsch", GetParam());
  constexpr int kTiles = 3;
  constexpr int kColumns = 16 * kTiles + 1;
  constexpr int kPenalty = 3;
  const std::vector<std::int32_t> similarity = ints(kColumns * kColumns, -4, 10);
  std::vector<std::int32_t> score(kColumns * kColumns);
  const auto at = [](int r, int c) {
    const int index = r * kColumns + c;
    return static_cast<std::size_t>(index);
  };
  for (int i = 0; i < kColumns; ++i) score[at(i, 0)] = score[at(0, i)] = -kPenalty * i;
  const Address device_score = device.upload(score);
  const Address device_similarity = device.upload(similarity);
  for (int diagonal = 0; diagonal < 2 * kTiles - 1; ++diagonal) {
    const int first = std::max(0, diagonal - kTiles + 1);
    const int last = std::min(diagonal, kTiles - 1);
    device.launch("align_tiles", {static_cast<std::uint32_t>(last - first + 1)}, {16}, 0, device_similarity,
                  device_score, kColumns, kPenalty, diagonal, first);
  }
  for (int r = 1; r < kColumns; ++r) {
    for (int c = 1; c < kColumns; ++c) {
      score[at(r, c)] = std::max({score[at(r - 1, c - 1)] + similarity[at(r, c)],
                                  score[at(r, c - 1)] - kPenalty, score[at(r - 1, c)] - kPenalty});
    }
  }
  EXPECT_EQ(device.download<std::int32_t>(device_score, score.size()), score);
}

TEST_P(IntegerSuite, BitonicSort) {
  SuiteDevice device("bitonic_sort", GetParam());
  std::vector<std::uint32_t> keys(1024);
  std::vector<std::uint32_t> values(1024);
  for (std::uint32_t i = 0; i < 1024; ++i) {
    keys[i] = (random_.below(1U << 20U) << 10U) | i;  // all different, so that the order is unique
    values[i] = keys[i] ^ 0xabcdefU;
  }
  const Address device_keys = device.upload(keys);
  const Address device_values = device.upload(values);
  device.launch("bitonic_sort", {2}, {256}, 0, device_keys, device_values);
  std::sort(keys.begin(), keys.begin() + 512);
  std::sort(keys.begin() + 512, keys.end());
  for (std::uint32_t i = 0; i < 1024; ++i) values[i] = keys[i] ^ 0xabcdefU;
  EXPECT_EQ(device.download<std::uint32_t>(device_keys, 1024), keys);
  EXPECT_EQ(device.download<std::uint32_t>(device_values, 1024), values);
}

TEST_P(IntegerSuite, Compaction) {
  SuiteDevice device("compaction", GetParam());
  const std::vector<std::int32_t> in = ints(450, 0, 100);
  const Address out = device.zeros<std::int32_t>(512);
  const Address kept = device.zeros<std::int32_t>(2);
  device.launch("compact", {2}, {256}, 0, device.upload(in), 450, 60, out, kept);
  std::vector<std::int32_t> wanted(512);
  std::vector<std::int32_t> wanted_kept(2);
  for (std::size_t i = 0; i < in.size(); ++i) {
    if (in[i] > 60) wanted[i / 256 * 256 + static_cast<std::size_t>(wanted_kept[i / 256]++)] = in[i];
  }
  EXPECT_EQ(device.download<std::int32_t>(kept, 2), wanted_kept);
  EXPECT_EQ(device.download<std::int32_t>(out, 512), wanted);
}

TEST_P(IntegerSuite, WarpVotesOfPartOfAWarp) {
  SuiteDevice device("compaction", GetParam());
  std::vector<std::int32_t> in = ints(3 * 32, 1, 50);
  for (std::size_t lane = 0; lane < 32; ++lane) {
    in[32 + lane] = -2;             // no vote, no odd number
    if (lane >= 24) in[lane] = -1;  // gone before the vote
  }
  const Address out = device.zeros<std::int32_t>(in.size());
  device.launch("warp_votes", {3}, {32}, 0, device.upload(in), out);
  std::vector<std::int32_t> wanted(in.size());
  for (std::size_t warp = 0; warp < 3; ++warp) {
    int all = 1;
    int any = 0;
    int odd = 0;
    int leader = -1;
    for (std::size_t lane = 0; lane < 24; ++lane) {
      const std::int32_t value = in[warp * 32 + lane];
      all &= value > 0;
      any |= value > 0;
      if (value % 2 != 0) {
        ++odd;
        if (leader < 0) leader = static_cast<int>(lane);
      }
    }
    const std::int32_t chosen = in[warp * 32 + static_cast<std::size_t>(std::max(leader, 0))];
    for (std::size_t lane = 0; lane < 24; ++lane) {
      wanted[warp * 32 + lane] = all * 1'000'000 + any * 100'000 + chosen * 100 + odd;
    }
  }
  EXPECT_EQ(device.download<std::int32_t>(out, in.size()), wanted);
}

std::uint64_t mix(std::uint64_t x) {
  x ^= x >> 33U;
  x *= 0xff51afd7ed558ccdULL;
  x ^= x >> 33U;
  x *= 0xc4ceb9fe1a85ec53ULL;
  return x ^ x >> 33U;
}

std::uint64_t high_product(std::uint64_t a, std::uint64_t b) {
  const std::uint64_t a0 = a & 0xffffffffU;
  const std::uint64_t a1 = a >> 32U;
  const std::uint64_t b0 = b & 0xffffffffU;
  const std::uint64_t b1 = b >> 32U;
  const std::uint64_t middle = a1 * b0 + (a0 * b0 >> 32U);
  const std::uint64_t other = a0 * b1 + (middle & 0xffffffffU);
  return a1 * b1 + (middle >> 32U) + (other >> 32U);
}

TEST_P(IntegerSuite, Hash64) {
  SuiteDevice device("hash64", GetParam());
  constexpr std::uint64_t kDivisor = 1'000'000'007ULL * 3;
  std::vector<std::uint64_t> in(100);
  std::vector<std::uint64_t> wanted;
  for (std::uint64_t& value : in) value = random_.next();
  in[0] = 0;
  for (const std::uint64_t value : in) {
    const std::uint64_t x = mix(value);
    const std::uint64_t turned = std::rotl(x, 17);
    const auto x_signed = static_cast<std::int64_t>(x);
    const std::int64_t halves = x_signed / -3 + x_signed % 1'000'003;
    wanted.push_back((turned / kDivisor) ^ (x % kDivisor) ^ high_product(x, turned) ^
                     static_cast<std::uint64_t>(halves) ^ static_cast<std::uint64_t>(std::countl_zero(x)) ^
                     (static_cast<std::uint64_t>(std::popcount(x)) << 32U));
  }
  const Address out = device.zeros<std::uint64_t>(100);
  device.launch("hash_values", {4}, {32}, 0, device.upload(in), out, kDivisor, 100);
  EXPECT_EQ(device.download<std::uint64_t>(out, 100), wanted);
}

TEST_P(IntegerSuite, HashTable) {
  SuiteDevice device("hash64", GetParam());
  std::vector<std::uint64_t> keys(200);
  for (std::uint64_t& key : keys) key = 1 + random_.below(120);  // with repeats
  const Address table = device.zeros<std::uint64_t>(131);
  device.launch("table_insert", {2}, {128}, 0, device.upload(keys), table, 131U, 200);
  std::multiset<std::uint64_t> got;
  for (const std::uint64_t key : device.download<std::uint64_t>(table, 131)) {
    if (key != 0) got.insert(key);
  }
  const std::set<std::uint64_t> wanted(keys.begin(), keys.end());
  EXPECT_EQ(got, std::multiset<std::uint64_t>(wanted.begin(), wanted.end()));
}

TEST_P(IntegerSuite, StructParameters) {
  struct Scale {
    char kind;
    double factor;
    std::int16_t offset;
  };
  struct Window {
    std::int32_t first[3];
    std::int32_t last[3];
  };
  struct Buffers {
    Address in;
    Address out;
    std::uint8_t weight[5];
  };
  SuiteDevice device("struct_params", GetParam());
  constexpr int kSide = 9;
  std::vector<float> in(kSide * kSide * kSide);
  for (float& value : in) value = static_cast<float>(random_.below(100));
  const Window window{{1, 2, 3}, {7, 6, 8}};
  for (const char kind : {'m', 'a'}) {
    const Buffers buffers{device.upload(in), device.zeros<float>(in.size()), {1, 2, 3, 4, 5}};
    device.launch("scale_window", {1}, {8, 8, 8}, 0, Scale{kind, 2.5, -7}, window, kSide, buffers);
    std::vector<float> wanted(in.size());
    for (int z = 3; z <= 8; ++z) {
      for (int y = 2; y <= 6; ++y) {
        for (int x = 1; x <= 7; ++x) {
          const int index = (z * kSide + y) * kSide + x;
          const auto at = static_cast<std::size_t>(index);
          wanted[at] = kind == 'm' ? in[at] * 2.5F * static_cast<float>((x + y + z) % 5 + 1) : in[at] - 7;
        }
      }
    }
    EXPECT_EQ(device.download<float>(buffers.out, in.size()), wanted) << kind;
  }
}

TEST_P(IntegerSuite, FunctionPointers) {
  SuiteDevice device("function_pointers", GetParam());
  const std::vector<std::int32_t> which = ints(64, 0, 4);
  std::vector<float> a(64);
  std::vector<float> b(64);
  std::vector<float> wanted(64);
  for (std::size_t i = 0; i < 64; ++i) {
    a[i] = static_cast<float>(random_.below(8));
    b[i] = static_cast<float>(random_.below(6));
    const float results[] = {a[i] + b[i], a[i] * b[i], std::max(a[i], b[i]), std::pow(a[i], b[i])};
    wanted[i] = results[which[i]];
  }
  const Address out = device.zeros<float>(64);
  device.launch("apply", {2}, {32}, 0, device.upload(which), device.upload(a), device.upload(b), out, 64);
  EXPECT_EQ(device.download<float>(out, 64), wanted);
}

TEST_P(IntegerSuite, Recursion) {
  SuiteDevice device("function_pointers", GetParam());
  const Address out = device.zeros<std::int32_t>(32);
  device.launch("recurse", {1}, {32}, 0, out);
  std::vector<std::int32_t> wanted;
  for (std::int32_t i = 0; i < 32; ++i) {
    const std::int32_t n = i % 5;
    wanted.push_back(i % 3 == 0 ? n + 1 : i % 3 == 1 ? n + 2 : 2 * n + 3);
  }
  EXPECT_EQ(device.download<std::int32_t>(out, 32), wanted);
}

/// What the kernel `interpret` does for one thread, with arithmetic that wraps.
std::int32_t interpret(const std::vector<std::uint8_t>& code, std::int32_t input, std::uint32_t thread) {
  auto a = static_cast<std::uint32_t>(input);
  std::uint32_t b = thread;
  const auto length = static_cast<std::uint32_t>(code.size());
  std::uint32_t pc = thread % length;
  std::uint32_t steps = 0;
  for (; steps < 40; ++steps) {
    switch (code[pc]) {
      case 0: a += b; break;
      case 1: b -= a; break;
      case 2: a ^= b << 3U; break;
      case 3: b *= 7; break;
      case 4:
        if (static_cast<std::int32_t>(b) > static_cast<std::int32_t>(a)) a = b;
        break;
      case 5: b = a & 0xffU; break;
      case 6: a = ~a; break;
      case 7: std::swap(a, b); break;
      case 8: pc += a & 1U; break;
      case 9: a >>= 2U; break;
      case 10: b = static_cast<std::uint32_t>(std::popcount(a)); break;
      case 11: pc = (pc + (b & 3U)) % length; break;
      default: steps = 100; break;
    }
    pc = pc + 1 >= length ? 0 : pc + 1;
  }
  return static_cast<std::int32_t>(a + 31 * b + steps);
}

TEST_P(IntegerSuite, SwitchTable) {
  SuiteDevice device("switch_table", GetParam());
  std::vector<std::uint8_t> code(29);
  for (std::uint8_t& op : code) op = static_cast<std::uint8_t>(random_.below(12));
  code[20] = 12;  // ends the program
  const std::vector<std::int32_t> in = ints(150, -1000, 2000);
  const Address out = device.zeros<std::int32_t>(150);
  device.launch("interpret", {3}, {64}, 0, device.upload(code), device.upload(in), out, 29, 150);
  std::vector<std::int32_t> wanted;
  for (std::uint32_t i = 0; i < 150; ++i) wanted.push_back(interpret(code, in[i], i));
  EXPECT_EQ(device.download<std::int32_t>(out, 150), wanted);
}

TEST_P(IntegerSuite, LocalArrays) {
  SuiteDevice device("local_arrays", GetParam());
  constexpr std::size_t kWidth = 20;
  std::vector<std::int16_t> values(64 * kWidth);
  for (std::int16_t& value : values) value = static_cast<std::int16_t>(random_.next());
  const Address out = device.zeros<std::int16_t>(values.size());
  device.launch("sort_each", {2}, {32}, 0, device.upload(values), out, static_cast<std::int32_t>(kWidth));
  for (std::size_t i = 0; i < values.size(); i += kWidth) {
    std::sort(values.begin() + static_cast<std::ptrdiff_t>(i),
              values.begin() + static_cast<std::ptrdiff_t>(i + kWidth));
  }
  EXPECT_EQ(device.download<std::int16_t>(out, values.size()), values);
}

TEST_P(IntegerSuite, LocksAndTickets) {
  SuiteDevice device("atomics", GetParam());
  std::vector<double> in(4 * 64);
  double sum = 0;
  for (double& value : in) {
    value = random_.below(1000);  // whole numbers: the order of additions does not matter
    sum += value;
  }
  const Address total = device.zeros<double>(1);
  const Address locks = device.zeros<std::int32_t>(5);
  const Address counts = device.zeros<std::int32_t>(5);
  const Address last = device.upload(std::vector<std::int32_t>{-1});
  device.launch("accumulate", {4}, {64}, 0, device.upload(in), total, locks, counts, last, 5);
  EXPECT_EQ(device.download<double>(total, 1)[0], sum);
  EXPECT_EQ(device.download<std::int32_t>(locks, 5), std::vector<std::int32_t>(5));
  EXPECT_EQ(device.download<std::int32_t>(counts, 5), (std::vector<std::int32_t>{52, 51, 51, 51, 51}));
  const std::int32_t block = device.download<std::int32_t>(last, 1)[0];
  EXPECT_GE(block, 0);
  EXPECT_LT(block, 4);
}

INSTANTIATE_TEST_SUITE_P(Optimize, IntegerSuite, testing::Values(0, 1));

}  // namespace
}  // namespace gpumux
