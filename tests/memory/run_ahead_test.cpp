// A partition that is simulated as far ahead as possible gives the same replies as a partition that is
// simulated window by window.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <tuple>

#include "memory/rig.hpp"

namespace gpumux::test {
namespace {

using arch::Credit;
using arch::MachineConfig;
using arch::MemReply;
using arch::MemRequest;
using arch::RequestKind;

constexpr std::uint64_t kAheadApp = std::uint64_t{1} << kAppLineShift;
/// The credit for a reply comes no earlier than that many windows after what the reply depends on.
constexpr Cycle kMostWindows = 12;

/// What arrives is fixed; the credit for a reply comes a time later that depends on the reply alone.
struct Traffic {
  std::vector<MemRequest> requests;  // by time
  Cycle end = 0;
};

Traffic traffic(const noc::Network& network, std::uint32_t seed, double load) {
  std::mt19937 random(seed);
  Traffic result;
  Cycle now = 0;
  for (std::uint32_t tag = 0; tag < 3000; ++tag) {
    // Bursts, and pauses in which everything drains.
    const bool pause = random() % 400 == 0;
    if (pause) now += 3000;
    if (std::generate_canonical<double, 20>(random) >= load) now += random() % 12;
    MemRequest r;
    const auto draw = static_cast<std::uint32_t>(random() % 10);
    r.kind = draw < 6 ? RequestKind::Read : draw < 9 ? RequestKind::Write : RequestKind::Atomic;
    r.line = kAheadApp + (random() % 4 == 0 ? random() % 8 : random() % 4000);
    r.sectors = static_cast<std::uint8_t>(1 + random() % 15);
    if (r.kind != RequestKind::Read) r.data_bytes = static_cast<std::uint8_t>(1 + random() % 128);
    if (r.kind == RequestKind::Atomic) r.operations = static_cast<std::uint8_t>(1 + random() % 32);
    r.flits = network.flits(r.kind == RequestKind::Read ? 0 : r.data_bytes) & 0x3fU;
    r.time = now + network.latency;
    r.tag = tag;
    r.sm = static_cast<SmId>(random() % 8);
    result.requests.push_back(r);
  }
  result.end = now + 400000;
  return result;
}

Credit credit_for(const MemReply& reply, const noc::Network& network, Cycle slowness) {
  const Cycle kept = slowness == 0 ? 0 : (reply.tag * 2654435761U >> 7U) % slowness;
  return {reply.time + (kMostWindows - 1) * network.latency + kept, reply.flits, 0, 0};
}

struct AheadOutcome {
  std::vector<std::tuple<Cycle, std::uint32_t, unsigned, unsigned>> replies;
  std::vector<std::tuple<Cycle, std::uint16_t, std::uint16_t>> credits;
  arch::PartitionCounters counters;

  void take(arch::PartitionMailbox& box) {
    for (const MemReply& r : box.out) replies.emplace_back(r.time, r.tag, r.sectors, r.flits);
    for (const Credit& c : box.credits_out) credits.emplace_back(c.time, c.flits, c.to);
    box.credits_out.clear();
  }
  void finish(const l2::Partition& partition) {
    std::sort(replies.begin(), replies.end());
    std::sort(credits.begin(), credits.end());
    counters = partition.counters();
  }
};

/// `stride`: the partition is asked to run after at most so many windows; 0: window by window.
AheadOutcome run(const MachineConfig& config, const Traffic& traffic, Cycle slowness, std::uint32_t stride) {
  const noc::PartitionMap map(config);
  const noc::Network network(config);
  l2::Partition partition(config, 0, map);
  arch::PartitionMailbox& box = partition.mailbox();
  AheadOutcome outcome;
  std::mt19937 random(stride);
  std::size_t given = 0;
  Cycle next = 0;
  for (Cycle now = 0; now < traffic.end;) {
    const Cycle windows = stride == 0 ? 1 : 1 + random() % stride;
    const Cycle to = now + windows * network.window;
    // Some messages are there before their time, as from SMs that are ahead.
    const Cycle until = stride == 0 ? to : to + random() % 100;
    for (; given < traffic.requests.size() && traffic.requests[given].time < until; ++given) {
      box.in.push_back(traffic.requests[given]);
      next = std::min(next, traffic.requests[given].time);
    }
    // Nor does it matter which SM's come first.
    std::stable_sort(box.in.begin(), box.in.end(),
                     [key = random()](const MemRequest& a, const MemRequest& b) {
                       return ((a.sm ^ key) & 7U) < ((b.sm ^ key) & 7U);
                     });
    if (stride == 0) {
      next = partition.run(now, to);
    } else {
      const Cycle end = random() % 3 == 0 ? to + random() % 64 : kNever;
      if (next < std::min(end, partition.lookahead(to)))
        next = partition.run({.begin = now, .end = end, .messages = to});
    }
    outcome.take(box);
    for (const MemReply& r : box.out) box.credits_in.push_back(credit_for(r, network, slowness));
    box.out.clear();
    now = to;
  }
  EXPECT_TRUE(partition.idle());
  partition.settle(traffic.end);
  outcome.finish(partition);
  return outcome;
}

using Case = std::tuple<unsigned, std::uint32_t, double>;  // slowness, seed, load
class RunAhead : public testing::TestWithParam<Case> {};

void expect_same(const MachineConfig& config, const Case& c) {
  const auto& [slowness, seed, load] = c;
  const Traffic t = traffic(noc::Network(config), seed, load);
  const AheadOutcome one = run(config, t, slowness, 0);
  for (const std::uint32_t stride : {1U, 2U, 12U}) {
    const AheadOutcome other = run(config, t, slowness, stride);
    ASSERT_EQ(one.replies.size(), other.replies.size());
    for (std::size_t i = 0; i < one.replies.size(); ++i)
      ASSERT_EQ(one.replies[i], other.replies[i]) << "reply " << i << ", stride " << stride;
    ASSERT_EQ(one.credits, other.credits);
#define GPUMUX_FIELD(field, unit, description) EXPECT_EQ(one.counters.field, other.counters.field) << #field;
    GPUMUX_PARTITION_COUNTERS(GPUMUX_FIELD)
#undef GPUMUX_FIELD
  }
}

TEST_P(RunAhead, AnswersTheSame) {
  MachineConfig config = plain_config();
  expect_same(config, GetParam());
}

TEST_P(RunAhead, AnswersTheSameWithFewCreditsAndShortQueues) {
  MachineConfig config = plain_config();
  config.noc.input_buffer_flits = 4;
  config.noc.output_buffer_flits = 8;
  config.l2.slices_per_partition = 2;
  config.l2.output_queue = 2;
  config.l2.input_queue = 2;
  config.l2.miss_queue = 2;
  config.l2.mshr_entries = 4;
  config.dram.queue = 4;
  expect_same(config, GetParam());
}

TEST_P(RunAhead, AnswersTheSameBehindACrowdedEntrance) {
  MachineConfig config = plain_config();
  config.noc.flit_bytes = 64;
  config.noc.input_buffer_flits = 8;
  config.noc.output_buffer_flits = 8;
  config.l2.slices_per_partition = 4;
  config.l2.latency = 120;
  config.l2.mshr_entries = 16;
  expect_same(config, GetParam());
}

TEST_P(RunAhead, AnswersTheSameOnOtherClocks) {
  MachineConfig config = plain_config();
  config.clocks.l2 = config.clocks.core * 0.7;
  config.clocks.noc = config.clocks.core * 1.3;
  config.clocks.dram = config.clocks.core * 0.9;
  config.l2.sectored = !config.l2.sectored;
  config.l2.latency = 120;
  config.l2.allocate = arch::Allocate::OnFill;
  config.noc.input_buffer_flits = 16;
  expect_same(config, GetParam());
}

TEST_P(RunAhead, AnswersTheSameWithAFastL2) {
  MachineConfig config = plain_config();
  config.clocks.l2 = config.clocks.core * 2;
  config.noc.input_buffer_flits = 1;
  config.l2.slices_per_partition = 4;
  config.l2.output_queue = 1;
  config.l2.sectored = true;
  expect_same(config, GetParam());
}

INSTANTIATE_TEST_SUITE_P(Traffic, RunAhead,
                         testing::Combine(testing::Values(0U, 30U, 400U), testing::Values(1U, 2U),
                                          testing::Values(0.3, 0.95, 1.0)));

}  // namespace
}  // namespace gpumux::test
