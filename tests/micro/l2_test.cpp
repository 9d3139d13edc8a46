// L2 slices: hit latency and bandwidth, and the resources of a miss. Each resource runs out after exactly the
// number in the machine file.
#include <cmath>

#include "micro/partition_bench.hpp"

namespace gpumux::micro {
namespace {

class Slices : public Preset {
 protected:
  static constexpr Cycle kStart = 1000;
  /// L2 cycle of the tag access of a request whose last flit is at the port at `arrival`, all being idle.
  [[nodiscard]] std::uint64_t tags(Cycle arrival) const {
    const Way way(config_);
    const Cycle through = way.to_core(config_.clocks.noc, way.tick_at(config_.clocks.noc, arrival));
    return way.tick_at(config_.clocks.l2, through) + config_.l2.latency - 1;
  }
  /// A machine in which only MSHRs, merge lists and lines can run out, and DRAM takes long.
  [[nodiscard]] MachineConfig patient() const {
    MachineConfig config = config_;
    config.l2.miss_queue = config.dram.queue = config.dram.return_queue = 2048;
    config.l2.input_queue = 2048;
    config.dram.fixed_latency = 3000;
    return config;
  }
  /// L2 cycle in which the first of several reads of whole lines, whose tags are read in `tick`, has its
  /// data.
  [[nodiscard]] static std::uint64_t filled(const MachineConfig& config, std::uint64_t tick,
                                            std::uint32_t bytes = kLineBytes) {
    const Way way(config);
    const std::uint64_t end = way.tick_at(config.clocks.dram, way.to_core(config.clocks.l2, tick) + 1) +
                              way.dram_clocks(Way::Row::Closed, bytes);
    const Cycle at = way.to_core(config.clocks.dram, end) + config.dram.fixed_latency;
    return way.tick_at(config.clocks.l2, at) + way.beats(bytes);
  }
};

TEST_P(Slices, HitBandwidthIsTheDataPortsOrTheInjectionPorts) {
  // Hits of whole lines, a request per network cycle. The tags wait for the data port and for a place among
  // the replies, which is free when a reply's first flit has entered the injection port.
  constexpr std::uint32_t kReads = 100;
  config_.l2.input_queue = 2 * kReads;
  PartitionBench bench(config_);
  const std::vector<std::uint64_t> lines = bench.lines(kReads);
  for (const std::uint64_t line : lines) bench.partition.preload_line(line, 0);
  for (std::uint32_t i = 0; i < kReads; ++i)
    bench.give(kStart + i, bench.request(RequestKind::Read, lines[i]), static_cast<SmId>(i % config_.sms));
  bench.run(kStart);
  bench.finish();

  const Way way(config_);
  const double noc = config_.clocks.noc, l2 = config_.clocks.l2;
  std::vector<Cycle> enters;  // core cycle of each reply's first flit
  std::uint64_t tag_free = 0, port_free = 0, stalled = 0;
  for (std::uint32_t i = 0; i < kReads; ++i) {
    const std::uint64_t wanted = std::max(tags(kStart + i), tag_free);
    std::uint64_t access = wanted;
    if (i >= config_.l2.output_queue)
      access = std::max(access, way.tick_at(l2, enters[i - config_.l2.output_queue]));
    stalled += access - wanted;
    tag_free = access + way.beats(kLineBytes);
    const std::uint64_t first = std::max(way.tick_at(noc, way.to_core(l2, tag_free)), port_free);
    port_free = first + flits(kLineBytes);
    enters.push_back(way.to_core(noc, first));
    EXPECT_EQ(bench.replies[i].time, way.to_core(noc, port_free - 1) + network_latency()) << i;
  }
  EXPECT_EQ(bench.counters().stall_network, stalled);
  EXPECT_EQ(bench.counters().l2_misses, 0U);
}

TEST_P(Slices, MshrsRunOutAfterTheirNumber) {
  const MachineConfig config = patient();
  const std::uint32_t mshrs = config.l2.mshr_entries;
  for (const bool more : {false, true}) {
    PartitionBench bench(config);
    const std::vector<std::uint64_t> lines = bench.lines(mshrs + (more ? 1 : 0));
    // The first long before the others, so that nothing disturbs its fetch.
    constexpr Cycle kOthers = kStart + 500;
    for (std::size_t i = 0; i < lines.size(); ++i)
      bench.give(i == 0 ? kStart : kOthers, bench.request(RequestKind::Read, lines[i]));
    bench.run(kStart);
    bench.finish();
    // Requests pass the port one per network cycle; the tags take one per L2 cycle.
    std::uint64_t tick = tags(kOthers);
    for (std::uint32_t i = 1; i < mshrs; ++i) tick = std::max(tick + 1, tags(kOthers + i));
    EXPECT_EQ(bench.counters().l2_reservation_failures, more ? filled(config, tags(kStart)) - tick : 0U);
    EXPECT_EQ(bench.counters().stall_controller, 0U);
  }
}

TEST_P(Slices, AnMshrMergesAsManyAsItsList) {
  const MachineConfig config = patient();
  const std::uint32_t merges = config.l2.mshr_merges;
  for (const bool more : {false, true}) {
    PartitionBench bench(config);
    const std::vector<std::uint64_t> lines = bench.lines(1);
    for (std::uint32_t i = 0; i < merges + (more ? 1 : 0); ++i)
      bench.give(kStart, bench.request(RequestKind::Read, lines[0]));
    bench.run(kStart);
    bench.finish();
    std::uint64_t tick = tags(kStart);
    const std::uint64_t data = filled(config, tick);
    for (std::uint32_t i = 1; i <= merges; ++i) tick = std::max(tick + 1, tags(kStart + i));
    EXPECT_EQ(bench.counters().l2_reservation_failures, more ? data - tick : 0U);
    EXPECT_EQ(bench.counters().dram_reads, kLineBytes / config.dram.burst_bytes);
    if (more) continue;
    // The data goes to one waiter a cycle.
    const Way way(config);
    std::uint64_t port_free = 0;
    for (std::uint32_t i = 0; i < merges; ++i) {
      const Cycle ready = way.to_core(config.clocks.l2, data + i);
      port_free = std::max(way.tick_at(config.clocks.noc, ready), port_free) + flits(kLineBytes);
      EXPECT_EQ(bench.replies[i].time, way.to_core(config.clocks.noc, port_free - 1) + network_latency());
    }
  }
}

TEST_P(Slices, DataGoesToOneWaiterACycle) {
  // Reads of one sector: short replies, so that the port is no slower than the waiters where flits are large.
  const MachineConfig config = patient();
  const Way way(config);
  PartitionBench bench(config);
  const std::vector<std::uint64_t> lines = bench.lines(1);
  for (std::uint32_t i = 0; i < config.l2.mshr_merges; ++i) {
    MemRequest r = bench.request(RequestKind::Read, lines[0]);
    r.sectors = 1;
    bench.give(kStart, r);
  }
  bench.run(kStart);
  bench.finish();
  const std::uint64_t data = filled(config, tags(kStart), config.l2.sectored ? kSectorBytes : kLineBytes);
  std::uint64_t port_free = 0;
  for (std::uint32_t i = 0; i < config.l2.mshr_merges; ++i) {
    const std::uint64_t ready = way.tick_at(config.clocks.noc, way.to_core(config.clocks.l2, data + i));
    port_free = std::max(ready, port_free) + flits(kSectorBytes);
    EXPECT_EQ(bench.replies[i].time, way.to_core(config.clocks.noc, port_free - 1) + network_latency());
  }
}

TEST_P(Slices, ASetReservesAsManyLinesAsItHasWays) {
  const MachineConfig config = patient();
  const std::uint32_t ways = config.l2.ways;
  ASSERT_LT(ways, config.l2.mshr_entries);
  PartitionBench bench(config);
  const std::vector<std::uint64_t> lines = bench.lines(ways + 1, true);
  constexpr Cycle kOthers = kStart + 500;
  for (std::size_t i = 0; i < lines.size(); ++i)
    bench.give(i == 0 ? kStart : kOthers, bench.request(RequestKind::Read, lines[i]));
  bench.run(kStart);
  bench.finish();
  std::uint64_t tick = tags(kOthers);
  for (std::uint32_t i = 1; i < ways; ++i) tick = std::max(tick + 1, tags(kOthers + i));
  const std::uint64_t data = filled(config, tags(kStart));
  // Data of the first line frees its way; without reservation at the miss, nothing waits.
  EXPECT_EQ(bench.counters().l2_reservation_failures,
            config.l2.allocate == arch::Allocate::OnMiss ? data - tick : std::uint64_t{0});
}

TEST_P(Slices, ABlockedChannelBacksUpToTheNetworkThroughEveryQueue) {
  // One place for returned data, and data that takes for ever: the first read completes, no other begins.
  // Then the DRAM queue, the miss queue, the pipeline with the slice's input queue and the port's buffer fill
  // up.
  MachineConfig config = config_;
  config.l2.mshr_entries = 2048;
  config.dram.return_queue = 1;
  config.dram.fixed_latency = 100'000;
  const std::uint64_t units = config.l2.sectored ? 4 : 1;
  const std::uint64_t queued =
      (config.dram.queue + units - 1) / units;  // a sector fetched takes a place each
  const std::uint64_t misses = 1 + queued + config.l2.miss_queue;
  const std::uint64_t inside = misses + config.l2.latency + config.l2.input_queue;
  const std::uint64_t taken = inside + config.noc.output_buffer_flits;
  PartitionBench bench(config);
  for (const std::uint64_t line : bench.lines(taken + 10))
    bench.give(kStart, bench.request(RequestKind::Read, line));
  bench.run(kStart + 20'000);
  EXPECT_EQ(bench.counters().l2_misses, misses * units);
  EXPECT_EQ(bench.counters().requests, taken);
  EXPECT_EQ(bench.credits.size(), taken);
  EXPECT_EQ(bench.partition.requests_inside(), taken + 10);
  // The slice waits with its head for the miss queue, and with the miss queue's for the DRAM queue.
  const arch::PartitionCounters before = bench.counters();
  const Way way(config);
  bench.run(bench.now + 8000);
  const std::uint64_t cycles =
      way.tick_at(config.clocks.l2, bench.now) - way.tick_at(config.clocks.l2, bench.now - 8000);
  EXPECT_EQ(bench.counters().l2_reservation_failures - before.l2_reservation_failures, cycles);
  EXPECT_EQ(bench.counters().stall_controller - before.stall_controller, cycles);
}

TEST_P(Slices, AMissWaitsForAPlaceInTheDramQueue) {
  // A queue for one line: the next is sent in the cycle of the column command that leaves a place, the line's
  // last, or that of its first sector where sectors are fetched.
  MachineConfig config = config_;
  const arch::DramConfig& d = config.dram;
  config.dram.queue = config.l2.sectored ? 4 : 1;
  const Way way(config);
  PartitionBench bench(config);
  const std::vector<std::uint64_t> lines = bench.lines(2);
  for (const std::uint64_t line : lines) bench.give(kStart, bench.request(RequestKind::Read, line));
  bench.run(kStart);
  bench.finish();
  const std::uint64_t opened =
      way.tick_at(config.clocks.dram, way.to_core(config.clocks.l2, tags(kStart)) + 1) + d.RCD;
  const std::uint64_t columns =
      config.l2.sectored ? std::max(1U, kSectorBytes / d.burst_bytes) : kLineBytes / d.burst_bytes;
  const std::uint64_t freed = opened + (columns - 1) * std::max(d.CCD, d.CCDL);
  const std::uint64_t sent = way.tick_at(config.clocks.l2, way.to_core(config.clocks.dram, freed));
  const std::uint64_t missed = std::max(tags(kStart) + 1, tags(kStart + 1));
  EXPECT_EQ(bench.counters().stall_controller, sent - missed);
}

TEST_P(Slices, EachFreeSectorOfTheDramQueueTakesAnotherSlicesMiss) {
  // A line's sectors fill the queue; two slices wait with a sector each. Their places are free with the
  // line's column commands: two at once where a command moves two sectors, and in one cycle of a slow L2.
  MachineConfig config = config_;
  config.clocks.core = config.clocks.noc = config.clocks.dram = 1000;
  config.l2.sectored = true;
  config.l2.slices_per_partition = 2;
  config.dram.queue = 4;
  const arch::DramConfig& d = config.dram;
  for (const double l2_mhz : {1000, 250}) {
    config.clocks.l2 = l2_mhz;
    const Way way(config);
    const auto tags_in = [&](Cycle arrival) {
      return way.tick_at(config.clocks.l2, arrival) + config.l2.latency - 1;
    };
    PartitionBench bench(config);
    const std::vector<std::uint64_t> lines = bench.lines(2);
    const std::uint64_t other = bench.lines(1, false, 1)[0];
    bench.give(kStart, bench.request(RequestKind::Read, lines[0]));
    for (const auto& [time, line] : {std::pair{kStart + 4, lines[1]}, std::pair{kStart + 8, other}}) {
      MemRequest r = bench.request(RequestKind::Read, line);
      r.sectors = 1;
      bench.give(time, r);
    }
    bench.run(kStart);
    bench.finish();
    const Cycle opened = way.to_core(config.clocks.l2, tags_in(kStart)) + 1 + d.RCD;
    std::uint64_t stalled = 0;
    for (std::uint32_t nth = 1; nth <= 2; ++nth) {
      const std::uint32_t column = (nth * kSectorBytes + d.burst_bytes - 1) / d.burst_bytes;
      const std::uint64_t missed = tags_in(kStart + nth * 4);
      const std::uint64_t sent =
          way.tick_at(config.clocks.l2, opened + (column - 1) * std::max(d.CCD, d.CCDL));
      ASSERT_LT(missed, sent);
      stalled += sent - missed;
    }
    EXPECT_EQ(bench.counters().stall_controller, stalled) << l2_mhz << " MHz";
  }
}

TEST_P(Slices, TheSliceThatSentLastMaySendWithAnother) {
  // Three sectors fill the queue; slice 0 then waits with a sector, slice 1 with two. They take turns, 1 0 1,
  // as places become free: one with the first column command, and where a command moves two sectors the
  // others together, so that both slices send in that cycle.
  MachineConfig config = config_;
  config.clocks.core = config.clocks.noc = config.clocks.dram = config.clocks.l2 = 1000;
  config.l2.sectored = true;
  config.l2.slices_per_partition = 2;
  config.dram.queue = 3;
  const arch::DramConfig& d = config.dram;
  PartitionBench bench(config);
  const std::vector<std::uint64_t> own = bench.lines(2);
  const std::vector<std::uint64_t> others = bench.lines(2, false, 1);
  const auto give = [&](Cycle time, std::uint64_t line, std::uint8_t sectors) {
    MemRequest r = bench.request(RequestKind::Read, line);
    r.sectors = sectors;
    bench.give(time, r);
  };
  give(kStart, own[0], 0b1101);
  give(kStart + 3, own[1], 1);
  give(kStart + 3, others[0], 1);
  give(kStart + 4, others[1], 1);
  bench.run(kStart);
  bench.finish();
  const Cycle access = kStart + config.l2.latency - 1;
  std::vector<Cycle> sent;  // with the place that each takes
  for (Cycle column = access + 1 + d.RCD, first = 0; first < kLineBytes; first += d.burst_bytes) {
    std::uint32_t freed = 0;
    for (Cycle byte = first; byte < first + d.burst_bytes; byte += kSectorBytes)
      freed += 0b1101U >> (byte / kSectorBytes) & 1U;
    sent.insert(sent.end(), freed, column);
    if (freed != 0) column += std::max(d.CCD, d.CCDL);
  }
  ASSERT_EQ(sent.size(), 3U);
  const Cycle missed = access + 3;
  const Cycle stalled = (sent[0] - missed) + (sent[1] - missed) + (sent[2] - (sent[0] + 1));
  EXPECT_EQ(bench.counters().stall_controller, stalled);
}

TEST_P(Slices, RepliesWithoutCreditsBackUpToTheOutputQueue) {
  const auto loop = static_cast<std::uint32_t>(std::floor(
      static_cast<double>(2 * network_latency()) * config_.clocks.noc / config_.clocks.core + 1e-9));
  const std::uint32_t length = flits(kLineBytes);
  const std::uint32_t credits =
      (config_.noc.input_buffer_flits + loop + length) * config_.l2.slices_per_partition;
  const std::uint32_t sent = credits / length;
  PartitionBench bench(config_);
  bench.give_credits = false;
  for (const std::uint64_t line : bench.lines(sent + config_.l2.output_queue + 20)) {
    bench.partition.preload_line(line, 0);
    bench.give(kStart, bench.request(RequestKind::Read, line));
  }
  bench.run(kStart + 20'000);
  EXPECT_EQ(bench.replies.size(), sent);
  EXPECT_EQ(bench.counters().replies, sent + config_.l2.output_queue);
  // Credits for one packet, less what is left over, let one packet go, and one access follow.
  const std::uint32_t needed = length - credits % length;
  const Cycle due = bench.now + 5;
  if (needed > 1)
    bench.partition.mailbox().credits_in.push_back({due, static_cast<std::uint16_t>(needed - 1), 0, 0});
  bench.run(due + 200);
  EXPECT_EQ(bench.replies.size(), sent);
  const Cycle last = bench.now + 5;
  bench.partition.mailbox().credits_in.push_back({last, 1, 0, 0});
  bench.run(last + 1000);
  ASSERT_EQ(bench.replies.size(), sent + 1);
  EXPECT_EQ(bench.replies.back().time, last + (length - 1) + network_latency());
  EXPECT_EQ(bench.counters().replies, sent + 1 + config_.l2.output_queue);
}

TEST_P(Slices, AtomicsOnALineFollowEachOther) {
  // As many SMs as there are places among the replies, each with `lanes` operations; on one line they take
  // their turns, on lines of their own they do not.
  const Way way(config_);
  const std::uint32_t sms = std::min(config_.l2.output_queue, 8U);
  for (const std::uint32_t lanes : {8U, 32U}) {
    for (const bool one_line : {true, false}) {
      PartitionBench bench(config_);
      const std::vector<std::uint64_t> lines = bench.lines(sms);
      const std::uint32_t length = flits(lanes * 4);
      for (std::uint32_t i = 0; i < sms; ++i) {
        bench.partition.preload_line(lines[i], 0);
        MemRequest r = bench.request(RequestKind::Atomic, lines[one_line ? 0 : i], lanes * 4);
        r.operations = static_cast<std::uint8_t>(lanes);
        bench.give(kStart + i * 8, r, static_cast<SmId>(i));
      }
      bench.run(kStart);
      bench.finish();
      ASSERT_EQ(bench.replies.size(), sms);
      std::uint64_t done = 0, tag_free = 0, port_free = 0, busy = 0;
      for (std::uint32_t i = 0; i < sms; ++i) {
        const std::uint64_t access = std::max(tags(kStart + i * 8), tag_free);
        tag_free = access + way.beats(lanes * 4);
        const std::uint64_t start = std::max(one_line ? std::max(access, done) : access, busy);
        if (config_.l2.atomics_per_cycle != 0) busy = start + lanes / config_.l2.atomics_per_cycle;
        done = start + std::uint64_t{lanes} * config_.l2.atomic_interval;
        const std::uint64_t flit =
            std::max(way.tick_at(config_.clocks.noc, way.to_core(config_.clocks.l2, done)), port_free);
        port_free = flit + length;
        EXPECT_EQ(bench.replies[i].time, way.to_core(config_.clocks.noc, port_free - 1) + network_latency())
            << i;
      }
      EXPECT_EQ(bench.counters().atomics, sms * lanes);
    }
  }
}

TEST_P(Slices, ThePortTakesOneFlitACycleFromAllSms) {
  // Writes of whole lines from many SMs that arrive together: each passes in its turn, by number of SM.
  constexpr std::uint32_t kWrites = 12;
  config_.l2.input_queue = 2 * kWrites;
  PartitionBench bench(config_);
  const std::vector<std::uint64_t> lines = bench.lines(kWrites);
  for (std::uint32_t i = kWrites; i-- > 0;)
    bench.give(kStart, bench.request(RequestKind::Write, lines[i], kLineBytes), static_cast<SmId>(i));
  bench.run(kStart);
  bench.finish();
  const Way way(config_);
  const std::uint64_t first = way.tick_at(config_.clocks.noc, kStart);
  ASSERT_EQ(bench.credits.size(), kWrites);
  for (std::uint32_t i = 0; i < kWrites; ++i) {
    EXPECT_EQ(bench.credits[i].to, i);
    EXPECT_EQ(bench.credits[i].time,
              way.to_core(config_.clocks.noc, first + i * flits(kLineBytes)) + network_latency());
  }
}

GPUMUX_ON_EVERY_PRESET(Slices);

}  // namespace
}  // namespace gpumux::micro
