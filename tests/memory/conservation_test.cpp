// Properties of whole partitions under random traffic: every request is answered once, credits return, and
// results depend neither on the length of windows nor on skipping.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "base/hash.hpp"
#include "memory/rig.hpp"

namespace gpumux::test {
namespace {

using arch::MachineConfig;
using arch::MemRequest;
using arch::RequestKind;

/// Random reads, writes (whole and partial, with and without acknowledgement) and atomics.
Rig::Generate random_traffic(std::uint64_t seed, std::uint32_t per_sm, std::uint32_t lines) {
  return [=](SmId sm, std::uint32_t number) -> std::optional<MemRequest> {
    if (number >= per_sm) return std::nullopt;
    Random random(seed ^ (std::uint64_t{sm} << 32U | number));
    MemRequest r;
    r.app = static_cast<AppId>(random.below(2));
    r.line = (std::uint64_t{r.app} + 1) << 33U | random.below(lines);
    r.tag = number;
    r.kernel = 3;
    r.sectors = static_cast<std::uint8_t>(1 + random.below(15));
    const auto bytes = static_cast<std::uint32_t>(std::popcount(r.sectors)) * kSectorBytes;
    switch (random.below(8)) {
      case 0:
      case 1:
        r.kind = RequestKind::Write;
        r.data_bytes = static_cast<std::uint8_t>(random.below(2) == 0 ? bytes : 1 + random.below(bytes));
        r.wants_reply = random.below(2) == 0;
        break;
      case 2:
        r.kind = RequestKind::Atomic;
        r.operations = static_cast<std::uint8_t>(1 + random.below(32));
        r.data_bytes = static_cast<std::uint8_t>(4 * std::min<std::uint32_t>(r.operations, bytes / 4));
        r.wants_reply = random.below(2) == 0;
        break;
      case 3: r.kind = RequestKind::InstructionFetch; break;
      default: break;
    }
    return r;
  };
}

std::vector<std::pair<std::string, MachineConfig>> machines() {
  std::vector<std::pair<std::string, MachineConfig>> all;
  const auto add = [&](const std::string& name, auto change) {
    MachineConfig config = plain_config();
    config.sms = 5;
    config.l2.partitions = 2;
    config.l2.slices_per_partition = 2;
    config.l2.slice_bytes = 4096;
    config.l2.ways = 4;
    change(config);
    all.emplace_back(name, config);
  };
  const auto tiny = [](MachineConfig& c) {
    c.l2.mshr_entries = c.l2.mshr_merges = c.l2.miss_queue = c.l2.input_queue = c.l2.output_queue = 1;
    c.dram.queue = c.dram.return_queue = 1;
    c.noc.input_buffer_flits = c.noc.output_buffer_flits = 1;
  };
  add("plain", [](MachineConfig&) {});
  add("clocks", [](MachineConfig& c) { c.clocks = {1400, 1400, 700, 924}; });
  add("fast_l2", [](MachineConfig& c) { c.clocks = {700, 1300, 1132, 1850}; });
  add("sectored", [](MachineConfig& c) { c.l2.sectored = true; });
  add("sectored_hashed", [](MachineConfig& c) {
    c.l2.sectored = true;
    c.l2.index = c.l2.partition_hash = arch::IndexFunction::Ipoly;
    c.dram.separate_row_bus = true;
  });
  add("on_fill", [](MachineConfig& c) { c.l2.allocate = arch::Allocate::OnFill; });
  add("on_fill_sectored", [](MachineConfig& c) {
    c.l2.allocate = arch::Allocate::OnFill;
    c.l2.sectored = true;
  });
  add("tiny", tiny);
  add("tiny_sectored", [&](MachineConfig& c) { tiny(c), c.l2.sectored = true; });
  add("tiny_on_fill", [&](MachineConfig& c) { tiny(c), c.l2.allocate = arch::Allocate::OnFill; });
  add("tiny_on_fill_sectored",
      [&](MachineConfig& c) { tiny(c), c.l2.allocate = arch::Allocate::OnFill, c.l2.sectored = true; });
  add("one_way", [&](MachineConfig& c) { tiny(c), c.l2.ways = 1, c.l2.slice_bytes = 128; });
  add("fcfs", [](MachineConfig& c) { c.dram.scheduler = arch::DramOrder::Fcfs; });
  add("watermarks",
      [](MachineConfig& c) { c.dram.write_high_watermark = 12, c.dram.write_low_watermark = 4; });
  add("refresh", [](MachineConfig& c) { c.dram.REFI = 400, c.dram.RFC = 60, c.dram.FAW = 30; });
  add("three_partitions",
      [](MachineConfig& c) { c.l2.partitions = 3, c.l2.partition_hash = arch::IndexFunction::Xor; });
  return all;
}

struct Outcome {
  std::vector<std::tuple<Cycle, SmId, std::uint32_t>> replies;
  std::vector<std::uint64_t> counters;
  friend bool operator==(const Outcome&, const Outcome&) = default;
};

std::vector<std::uint64_t> values(const arch::PartitionCounters& c) {
  std::vector<std::uint64_t> list;
#define GPUMUX_FIELD(field, unit, description) list.push_back(c.field);
  GPUMUX_PARTITION_COUNTERS(GPUMUX_FIELD)
#undef GPUMUX_FIELD
  return list;
}

Outcome outcome_of(const MachineConfig& config, std::uint64_t seed, Cycle window, bool skip, Cycle cycles) {
  Rig rig(config, random_traffic(seed, 150, 400), window);
  rig.skip = skip;
  rig.run(cycles);
  Outcome outcome;
  for (const Seen& seen : rig.replies) outcome.replies.emplace_back(seen.time, seen.reply.sm, seen.reply.tag);
  std::sort(outcome.replies.begin(), outcome.replies.end());
  outcome.counters = values(rig.counters());
  return outcome;
}

TEST(Conservation, EveryRequestIsAnsweredOnceAndCreditsComeBack) {
  for (const auto& [name, config] : machines()) {
    for (const Cycle delay : {0U, 40U}) {
      SCOPED_TRACE(name + (delay != 0 ? " with slow SMs" : ""));
      Rig rig(config, random_traffic(11 + delay, 300, 300));
      rig.reply_delay = delay;
      ASSERT_TRUE(rig.run_until_done(3'000'000)) << rig.describe_waits();
      EXPECT_EQ(rig.sent, 300U * config.sms);
      EXPECT_EQ(rig.replies.size(), rig.expected);
      std::map<std::pair<SmId, std::uint32_t>, int> count;
      for (const Seen& seen : rig.replies) ++count[{seen.reply.sm, seen.reply.tag}];
      EXPECT_EQ(count.size(), rig.replies.size());
      EXPECT_EQ(rig.counters().requests, rig.sent);
      EXPECT_EQ(rig.counters().replies, rig.expected);
      EXPECT_TRUE(rig.credits_restored());
      EXPECT_EQ(rig.describe_waits(), "");
    }
  }
}

TEST(Conservation, WindowLengthAndSkippingDoNotShow) {
  for (const auto& [name, config] : machines()) {
    SCOPED_TRACE(name);
    // Stopped in the middle of the work as well, where stalls are in progress.
    for (const Cycle cycles : {900U, 30'000U}) {
      const Outcome reference = outcome_of(config, 5, 1, false, cycles);
      const Cycle longest = noc::Network(config).window;
      for (const Cycle window : {Cycle{1}, Cycle{3}, longest}) {
        EXPECT_EQ(outcome_of(config, 5, window, true, cycles), reference) << "window " << window;
        EXPECT_EQ(outcome_of(config, 5, window, false, cycles), reference)
            << "window " << window << ", no skip";
      }
    }
  }
}

}  // namespace
}  // namespace gpumux::test
