// Sustained bandwidth under saturating traffic from all SMs.
#include <gtest/gtest.h>

#include "base/hash.hpp"
#include "dram/address_map.hpp"
#include "memory/rig.hpp"

namespace gpumux::test {
namespace {

using arch::MachineConfig;
using arch::MemRequest;
using arch::RequestKind;

constexpr std::uint64_t kApp = std::uint64_t{1} << kAppLineShift;

MemRequest line_read(std::uint64_t line) {
  MemRequest r;
  r.line = kApp + line;
  r.sectors = 15;
  return r;
}

/// Blocks of 8 lines handed to the SMs in turn, as a grid of thread blocks does it.
Rig::Generate stream(std::uint32_t sms) {
  return [sms](SmId sm, std::uint32_t n) -> std::optional<MemRequest> {
    return line_read((std::uint64_t{n / 8} * sms + sm) * 8 + n % 8);
  };
}

Rig::Generate random_reads(std::uint8_t sectors) {
  return [sectors](SmId sm, std::uint32_t n) -> std::optional<MemRequest> {
    MemRequest r = line_read(mix64(std::uint64_t{sm} << 32U | n) & 0xff'ffffU);
    r.sectors = sectors;
    return r;
  };
}

/// Lines of another row of bank 0 each, in all channels.
Rig::Generate one_bank(const MachineConfig& config) {
  const noc::PartitionMap map(config);
  const dram::AddressMap channel(config.dram);
  std::vector<std::uint64_t> lines;
  for (std::uint64_t line = 0; lines.size() < 20'000; line += 2) {
    if (channel.locate(map.local_line(kApp + line)).bank == 0) lines.push_back(line);
  }
  return [lines](SmId sm, std::uint32_t n) -> std::optional<MemRequest> {
    return line_read(lines[mix64(std::uint64_t{sm} << 32U | n) % lines.size()]);
  };
}

/// Two reads and a write in turn, in three arrays.
Rig::Generate copy(std::uint32_t sms) {
  return [sms](SmId sm, std::uint32_t n) -> std::optional<MemRequest> {
    const std::uint32_t k = n / 2;
    MemRequest r =
        line_read((std::uint64_t{k / 8} * sms + sm) * 8 + k % 8 + (n % 2 != 0 ? std::uint64_t{1} << 22U : 0));
    if (n % 2 != 0) {
      r.kind = RequestKind::Write;
      r.data_bytes = 128;
      r.wants_reply = true;
    }
    return r;
  };
}

/// Share of the channels' peak that is used between cycles 10000 and 40000.
double utilisation(const MachineConfig& config, Rig::Generate generate, std::uint32_t outstanding) {
  Rig rig(config, std::move(generate));
  rig.max_outstanding = outstanding;
  rig.run(10'000);
  const std::uint64_t before = rig.counters().dram_bytes;
  rig.run(30'000);
  const double bytes = static_cast<double>(rig.counters().dram_bytes - before);
  return bytes / (config.dram_peak_bytes_per_second() * 30'000 / (config.clocks.core * 1e6));
}

TEST(Bandwidth, Dai18) {
  const MachineConfig config = dai18_config();
  EXPECT_GE(utilisation(config, stream(config.sms), 128), 0.85);
  EXPECT_GE(utilisation(config, copy(config.sms), 128), 0.6);
  // A line takes 32/3 clocks of the bus: more than RRD, and 16 banks hide RC. So whole lines at random keep
  // the bus busy, as long as they spread over the banks. Within one bank each takes RC (40 clocks).
  EXPECT_GE(utilisation(config, random_reads(15), 128), 0.85);
  EXPECT_NEAR(utilisation(config, one_bank(config), 128), 32.0 / 3 / 40, 0.03);
}

TEST(Bandwidth, M2090) {
  MachineConfig config = dai18_config();
  config.clocks = {1300, 1300, 650, 924};
  config.l2 = {};
  config.dram = {};
  config.dram.burst_bytes = 64;
  EXPECT_GE(utilisation(config, stream(config.sms), 128), 0.85);
  EXPECT_GE(utilisation(config, copy(config.sms), 128), 0.6);
  // A line takes four clocks of the bus, its activation RRD: at most 4/6.
  const double random = utilisation(config, random_reads(15), 128);
  EXPECT_LE(random, 4.0 / 6);
  EXPECT_GE(random, 0.5);
}

TEST(Bandwidth, V100) {
  const MachineConfig config = v100_config();
  EXPECT_GE(utilisation(config, stream(config.sms), 256), 0.85);
  EXPECT_GE(utilisation(config, copy(config.sms), 256), 0.6);
  // A sector takes one clock of the bus, its activation RRD 3.
  const double random = utilisation(config, random_reads(1), 1024);
  EXPECT_LE(random, 1.0 / 3 + 0.01);
  EXPECT_GE(random, 0.25);
}

}  // namespace
}  // namespace gpumux::test
