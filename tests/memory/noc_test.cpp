// Partition map, network parameters, ports, clocks.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/error.hpp"
#include "base/hash.hpp"
#include "noc/divider.hpp"
#include "noc/network.hpp"
#include "noc/partition_map.hpp"
#include "noc/port.hpp"

namespace gpumux::test {
namespace {

using arch::L2Config;
using noc::PartitionMap;

constexpr std::uint64_t kAppLine = std::uint64_t{1} << kAppLineShift;

std::vector<L2Config> map_configs() {
  std::vector<L2Config> all;
  for (const arch::IndexFunction hash :
       {arch::IndexFunction::Linear, arch::IndexFunction::Xor, arch::IndexFunction::Ipoly}) {
    for (const std::uint32_t partitions : {1U, 2U, 3U, 6U, 12U, 16U, 32U}) {
      for (const std::uint32_t slices : {1U, 2U, 3U}) {
        for (const std::uint32_t interleave : {128U, 256U, 384U, 2048U}) {
          L2Config c;
          c.partition_hash = hash;
          c.partitions = partitions;
          c.slices_per_partition = slices;
          c.interleave_bytes = interleave;
          all.push_back(c);
        }
      }
    }
  }
  return all;
}

TEST(PartitionMap, IsADenseBijection) {
  for (const L2Config& c : map_configs()) {
    SCOPED_TRACE(fmt::format("{} {}x{} by {}", arch::word(c.partition_hash), c.partitions,
                             c.slices_per_partition, c.interleave_bytes));
    const PartitionMap map(c);
    const std::uint64_t unit_lines = c.interleave_bytes / kLineBytes;
    const std::uint64_t units = std::uint64_t{c.partitions} * c.slices_per_partition;
    const std::uint64_t lines = units * unit_lines * 20;
    for (const std::uint64_t app : {1U, 2U, 5U, 16U}) {
      std::set<std::pair<PartitionId, std::uint64_t>> locals;
      std::set<std::tuple<PartitionId, std::uint32_t, std::uint64_t>> slice_lines;
      for (std::uint64_t n = 0; n < lines; ++n) {
        const std::uint64_t line = app * kAppLine + n;
        const auto place = map.locate(line);
        ASSERT_LT(place.partition, c.partitions);
        ASSERT_LT(place.slice, c.slices_per_partition);
        ASSERT_EQ(map.partition(line), place.partition);
        ASSERT_EQ(map.slice(line), place.slice);
        ASSERT_EQ(map.local_line(line), place.local_line);
        ASSERT_EQ(place.local_line >> kAppLineShift, app);
        // Dense: exactly the first numbers of each partition and slice are used.
        ASSERT_LT(place.local_line - app * kAppLine, lines / c.partitions);
        ASSERT_LT(place.slice_line, lines / units);
        ASSERT_EQ(map.local_line(place.slice_line, place.slice, static_cast<AppId>(app - 1)),
                  place.local_line);
        locals.insert({place.partition, place.local_line});
        slice_lines.insert({place.partition, place.slice, place.slice_line});
      }
      ASSERT_EQ(locals.size(), lines);
      ASSERT_EQ(slice_lines.size(), lines);
    }
    // The last lines of an address space as well.
    std::set<std::pair<PartitionId, std::uint64_t>> far;
    for (std::uint64_t line = 2 * kAppLine - lines; line < 2 * kAppLine; ++line) {
      ASSERT_LT(map.partition(line), c.partitions);
      far.insert({map.partition(line), map.local_line(line)});
    }
    ASSERT_EQ(far.size(), lines);
  }
}

TEST(PartitionMap, LinearGoesRoundThePartitions) {
  L2Config c;  // 6 partitions of 2 slices, 256 B
  const PartitionMap map(c);
  for (std::uint64_t unit = 0; unit < 24; ++unit) {
    EXPECT_EQ(map.partition(2 * unit), unit % 6);
    EXPECT_EQ(map.partition(2 * unit + 1), unit % 6);
    EXPECT_EQ(map.slice(2 * unit), unit / 6 % 2);
    EXPECT_EQ(map.local_line(2 * unit + 1), 2 * (unit / 6) + 1);
  }
}

/// Largest share of `count` lines, `stride` apart, that one slice gets, relative to an even split.
double imbalance(const PartitionMap& map, const L2Config& c, std::uint64_t first, std::uint64_t stride) {
  const std::uint32_t units = c.partitions * c.slices_per_partition;
  std::vector<std::uint32_t> load(units, 0);
  const std::uint32_t count = units * 64;
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto place = map.locate(first + i * stride);
    ++load[place.slice * c.partitions + place.partition];
  }
  return *std::max_element(load.begin(), load.end()) / 64.0;
}

TEST(PartitionMap, HashesSpreadPowersOfTwo) {
  L2Config c;
  c.partitions = 32;
  c.slices_per_partition = 2;
  c.partition_hash = arch::IndexFunction::Linear;
  const PartitionMap linear(c);
  c.partition_hash = arch::IndexFunction::Ipoly;
  const PartitionMap ipoly(c);
  c.partition_hash = arch::IndexFunction::Xor;
  const PartitionMap folded(c);
  EXPECT_EQ(imbalance(linear, c, kAppLine, 128), 64.0);  // all in one slice
  for (std::uint64_t stride = 2; stride <= 1U << 16U; stride *= 2) {
    EXPECT_EQ(imbalance(ipoly, c, kAppLine, stride), 1.0) << stride;
    EXPECT_LE(imbalance(folded, c, kAppLine, stride), 2.0) << stride;
  }
}

TEST(PartitionMap, IpolyOfOtherNumbersSpreadsStridesOfARound) {
  // 24 slices by 256 bytes: in steps of whole rounds a linear map stays in one slice.
  L2Config c;
  c.partitions = 12;
  c.slices_per_partition = 2;
  for (const std::uint64_t rounds : {1U, 2U, 8U, 64U}) {
    c.partition_hash = arch::IndexFunction::Linear;
    EXPECT_EQ(imbalance(PartitionMap(c), c, kAppLine, 48 * rounds), 24.0) << rounds;
    c.partition_hash = arch::IndexFunction::Ipoly;
    EXPECT_LE(imbalance(PartitionMap(c), c, kAppLine, 48 * rounds), 2.0) << rounds;
  }
}

TEST(PartitionMap, ApplicationsAreRenamedNotChanged) {
  for (const L2Config& c : map_configs()) {
    const PartitionMap map(c);
    // Which lines share a partition (and a slice) is the same for every application.
    Random random(7);
    for (int i = 0; i < 300; ++i) {
      const std::uint64_t a = random.below(1U << 20U);
      const std::uint64_t b = random.below(1U << 20U);
      const auto a1 = map.locate(kAppLine + a), b1 = map.locate(kAppLine + b);
      const auto a2 = map.locate(2 * kAppLine + a), b2 = map.locate(2 * kAppLine + b);
      ASSERT_EQ(a1.partition == b1.partition, a2.partition == b2.partition);
      ASSERT_EQ(a1.partition == b1.partition && a1.slice == b1.slice,
                a2.partition == b2.partition && a2.slice == b2.slice);
      ASSERT_EQ(a1.slice_line, a2.slice_line);
    }
  }
  // Two applications at the same addresses are not in the same partition at the same time.
  const L2Config c = [] {
    L2Config config;
    config.partitions = 16;
    config.slices_per_partition = 1;
    return config;
  }();
  const PartitionMap map(c);
  for (std::uint64_t app = 2; app <= 16; ++app) {
    EXPECT_NE(map.partition(kAppLine + 5), map.partition(app * kAppLine + 5)) << app;
  }
}

TEST(PartitionMap, RefusesWhatItCannotDo) {
  const auto refused = [](auto change) {
    L2Config c;
    change(c);
    EXPECT_THROW(PartitionMap{c}, UserError);
  };
  refused([](L2Config& c) {
    c.partition_hash = arch::IndexFunction::Ipoly;
    c.partitions = 65537;
  });
  refused([](L2Config& c) { c.interleave_bytes = 100; });
  refused([](L2Config& c) { c.interleave_bytes = 0; });
  refused([](L2Config& c) { c.partitions = 0; });
  refused([](L2Config& c) { c.slices_per_partition = 0; });
}

TEST(IndexHash, IpolyIsThePolynomialRemainder) {
  // Degree 4, x^4 + x + 1: long division by hand for 0b1'0000 -> 0b0011, 0b10'0000 -> 0b0110.
  const noc::IndexHash hash(arch::IndexFunction::Ipoly, 16, "test");
  EXPECT_EQ(hash.permute(0, 1, 0), 0b0011U);
  EXPECT_EQ(hash.permute(0, 2, 0), 0b0110U);
  EXPECT_EQ(hash.permute(5, 3, 0), 5U ^ 0b0101U);
  for (std::uint32_t count = 1; count <= 4096; count *= 2) {
    const noc::IndexHash any(arch::IndexFunction::Ipoly, count, "test");
    // By long division.
    Random random(count);
    const std::vector<std::uint32_t> polynomials = {1,    3,     7,     0xb,   0x13,  0x25,  0x43,
                                                    0x83, 0x11d, 0x211, 0x409, 0x805, 0x1053};
    const std::uint64_t p = polynomials[static_cast<std::size_t>(std::countr_zero(count))];
    for (int i = 0; i < 50; ++i) {
      const std::uint64_t value = random.next() >> 24U;
      std::uint64_t rest = value;
      for (int bit = 63; bit >= std::countr_zero(count); --bit) {
        if ((rest >> bit & 1U) != 0) rest ^= p << (bit - std::countr_zero(count));
      }
      EXPECT_EQ(any.permute(static_cast<std::uint32_t>(value % count), value / count, 0), rest);
    }
  }
}

TEST(Divider, EqualsTheDivideInstruction) {
  Random random(3);
  for (std::uint64_t d :
       {1ULL, 2ULL, 3ULL, 5ULL, 6ULL, 7ULL, 12ULL, 100ULL, 641ULL, 1ULL << 20U, 924'000ULL}) {
    const noc::Divider divider(d);
    for (int i = 0; i < 2000; ++i) {
      const std::uint64_t x = random.next() >> random.below(64);
      ASSERT_EQ(divider.quotient(x), x / d) << x << " / " << d;
      ASSERT_EQ(divider.remainder(x), x % d);
      ASSERT_EQ(divider.quotient(x / d * d), x / d);
      if (x >= d) {
        ASSERT_EQ(divider.quotient(x / d * d - 1), x / d - 1);
      }
    }
    ASSERT_EQ(divider.quotient(~0ULL), ~0ULL / d);
  }
}

TEST(Ticks, GoThereAndBack) {
  for (const auto& [core, domain] : {std::pair(1400.0, 924.0),
                                     {1400.0, 700.0},
                                     {700.0, 1850.0},
                                     {1132.0, 850.0},
                                     {1300.0, 1300.0},
                                     {732.0, 1300.5}}) {
    const auto core_khz = static_cast<noc::Wide>(std::llround(core * 1000));
    const auto domain_khz = static_cast<noc::Wide>(std::llround(domain * 1000));
    const auto to_core = [&](std::uint64_t tick) {  // in 128 bits
      return static_cast<Cycle>((tick * core_khz + domain_khz - 1) / domain_khz);
    };
    const noc::Ticks ticks(core, domain);
    Random random(1);
    for (int i = 0; i < 3000; ++i) {
      const std::uint64_t n = random.next() >> (24 + random.below(40));
      ASSERT_EQ(ticks.to_core(n), to_core(n));
      const std::uint64_t tick = ticks.tick_at(n);
      ASSERT_GE(to_core(tick), n);
      if (tick > 0) {
        ASSERT_LT(to_core(tick - 1), n);
      }
    }
  }
}

arch::MachineConfig network_config() {
  arch::MachineConfig config;
  config.clocks.core = 1000;
  config.clocks.noc = 1000;
  return config;
}

TEST(Network, ParametersInCoreCycles) {
  arch::MachineConfig config = network_config();  // latency 8, 32 B flits, 8 B header
  const noc::Network same(config);
  EXPECT_EQ(same.latency, 8U);
  EXPECT_EQ(same.window, 8U);
  EXPECT_EQ(same.flits(0), 1);
  EXPECT_EQ(same.flits(24), 1);
  EXPECT_EQ(same.flits(25), 2);
  EXPECT_EQ(same.flits(128), 5);
  EXPECT_EQ(same.port_cycles(5), 5U);
  EXPECT_EQ(same.request_credits, 8U + 16 + 5);
  EXPECT_EQ(same.reply_credits, (8U + 16 + 5) * 2);

  config.clocks.noc = 700;  // 10/7 core cycles each
  const noc::Network slow(config);
  EXPECT_EQ(slow.latency, 12U);  // ceil(80/7)
  EXPECT_EQ(slow.port_cycles(1), 2U);
  EXPECT_EQ(slow.port_cycles(7), 10U);
  config.noc.latency = 0;
  EXPECT_EQ(noc::Network(config).latency, 1U);
  config.noc.flit_bytes = 8;
  EXPECT_EQ(noc::Network(config).flits(128), 17);
  config.noc.header_bytes = 400;  // more than a size field holds
  EXPECT_THROW(noc::Network{config}, UserError);
  config.noc.flit_bytes = 0;
  EXPECT_THROW(noc::Network{config}, UserError);
}

TEST(Port, KeepsFractions) {
  const noc::Ticks clock(1000, 700);  // flit n at ceil(10 n / 7)
  noc::Port port(clock);
  std::vector<Cycle> lasts;
  for (int i = 0; i < 7; ++i) lasts.push_back(port.inject(0, 1).last);
  EXPECT_EQ(lasts, (std::vector<Cycle>{0, 2, 3, 5, 6, 8, 9}));
  EXPECT_EQ(port.inject(0, 5).first, 10U);
  EXPECT_EQ(port.free_at(), 18U);  // ceil(120/7)
  EXPECT_EQ(port.inject(100, 2).first, 100U);
}

TEST(Port, EjectionIsCutThrough) {
  const noc::Ticks clock(1000, 1000);
  noc::Port port(clock);
  // An idle port passes a packet as it arrives: its last flit is through when it comes.
  EXPECT_EQ(port.eject(20, 20, 5), 20U);
  // Two that end together share the port.
  EXPECT_EQ(port.eject(20, 20, 5), 25U);
  EXPECT_EQ(port.eject(26, 26, 1), 26U);
  EXPECT_EQ(port.eject(27, 40, 1), 40U);  // no space before 40
}

}  // namespace
}  // namespace gpumux::test
