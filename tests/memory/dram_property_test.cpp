// The event-driven channel against the clock-by-clock reference, command by command, on random traffic.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/hash.hpp"
#include "memory/dram_reference.hpp"
#include "tests/sanitized.hpp"

namespace gpumux::test {
namespace {

using arch::DramConfig;
using dram::Tick;

struct Pattern {
  std::uint32_t lines;   // requests fall in so many lines
  std::uint32_t gap;     // mean clocks between arrivals
  std::uint32_t pause;   // once in 64 arrivals, so many clocks more
  std::uint32_t writes;  // of 8
  bool sequential;
};

void compare(const DramConfig& config, bool reads_by_sector, const Pattern& pattern, std::uint64_t seed) {
  Random random(seed);
  dram::Channel channel(config, reads_by_sector);
  ReferenceChannel reference(config, reads_by_sector);
  std::vector<dram::Command> ours;
  std::vector<dram::Command> theirs;
  channel.set_trace(&ours);
  std::vector<dram::Channel::Completion> our_reads;
  std::vector<dram::Channel::Completion> their_reads;
  std::uint32_t pushed = 0;
  std::uint64_t line = 0;
  Tick next_arrival = 3;
  const std::uint32_t total = 400;
  Tick now = 0;
  for (; (pushed < total || channel.size() > 0) && now < 400'000; ++now) {
    if (pushed < total && now >= next_arrival && !channel.full()) {
      ASSERT_FALSE(reference.full());
      dram::Request r;
      line = pattern.sequential && random.below(16) != 0 ? line + 1 : random.below(pattern.lines);
      r.local_line = line % pattern.lines;
      r.token = pushed;
      r.sectors = static_cast<std::uint8_t>(pattern.sequential ? 15 : 1 + random.below(15));
      r.write = random.below(8) < pattern.writes;
      channel.push(r, now);
      reference.push(r);
      ++pushed;
      next_arrival = now + random.below(2 * pattern.gap + 1) + (random.below(64) == 0 ? pattern.pause : 0);
      next_arrival = std::max(next_arrival, now + (random.below(2) == 0 ? 0 : 1));
      if (next_arrival == now) {  // a second one in the same clock
        --now;
        continue;
      }
    }
    const Tick hold = static_cast<Tick>(random.below(12));
    if (channel.next() == now) {
      dram::Channel::Completion completion;
      if (channel.step(completion)) {
        our_reads.push_back(completion);
        channel.release_return(completion.end + hold);
      }
    }
    const std::size_t before = their_reads.size();
    reference.step(now, theirs, their_reads);
    if (their_reads.size() > before) reference.returned.push_back(their_reads.back().end + hold);
    ASSERT_FALSE(channel.size() > 0 && channel.next() <= now);
    ASSERT_EQ(channel.full(), reference.full()) << "clock " << now;
  }
  ASSERT_EQ(pushed, total);
  // The idle channel's refreshes are seen late, so compare up to the last common command.
  const std::size_t count = std::min(ours.size(), theirs.size());
  ASSERT_GE(count, total);
  for (std::size_t i = 0; i < count; ++i) {
    ASSERT_EQ(ours[i], theirs[i]) << "command " << i << " at clock " << ours[i].tick << " / "
                                  << theirs[i].tick << " kind " << static_cast<int>(ours[i].kind) << " / "
                                  << static_cast<int>(theirs[i].kind) << " bank " << ours[i].bank << " / "
                                  << theirs[i].bank;
  }
  for (std::size_t i = count; i < theirs.size(); ++i) {
    ASSERT_TRUE(theirs[i].kind == dram::CommandKind::Refresh ||
                theirs[i].kind == dram::CommandKind::Precharge);
  }
  ASSERT_EQ(ours.size(), count);
  ASSERT_EQ(our_reads.size(), their_reads.size());
  for (std::size_t i = 0; i < our_reads.size(); ++i) {
    ASSERT_EQ(our_reads[i].token, their_reads[i].token);
    ASSERT_EQ(our_reads[i].end, their_reads[i].end);
  }
}

// run() stops where step() finds a place, and issues the same commands.
void compare_run(const DramConfig& config, bool reads_by_sector, const Pattern& pattern, std::uint64_t seed) {
  Random random(seed);
  dram::Channel stepped(config, reads_by_sector);
  dram::Channel run(config, reads_by_sector);
  std::vector<dram::Command> by_step;
  std::vector<dram::Command> by_run;
  stepped.set_trace(&by_step);
  run.set_trace(&by_run);
  const auto taken = [](const dram::Channel::Completion& c) { return c.end + c.token * 7 % 12; };
  const auto step = [&] {
    dram::Channel::Completion completion;
    if (stepped.step(completion)) stepped.release_return(taken(completion));
  };
  Tick now = 0;
  for (std::uint32_t token = 0; token < 400; ++token) {
    now += random.below(2 * pattern.gap + 1);
    while (stepped.next() < now || stepped.full()) step();
    dram::Channel::Completion completion;
    while (run.full() && run.run(dram::kNoTick, completion)) {
      if (completion.sectors != 0) run.release_return(taken(completion));
    }
    while (run.run(now, completion, random.below(2) == 0)) {
      if (completion.sectors != 0) run.release_return(taken(completion));
    }
    ASSERT_EQ(run.last(), stepped.last());
    ASSERT_EQ(run.full(), stepped.full());
    now = std::max(now, stepped.last() + 1);
    dram::Request r;
    r.local_line = pattern.sequential ? token : random.below(pattern.lines);
    r.token = token;
    r.sectors = static_cast<std::uint8_t>(1 + random.below(15));
    r.write = random.below(8) < pattern.writes;
    stepped.push(r, now);
    run.push(r, now);
  }
  ASSERT_EQ(by_step, by_run);
}

TEST(DramProperty, CommandsEqualThoseOfTheReference) {
  const Pattern patterns[] = {
      {1U << 20U, 1, 0, 0, true},      {1U << 20U, 4, 0, 2, false}, {1U << 12U, 2, 300, 4, true},
      {1U << 10U, 30, 0, 3, false},    {256, 6, 2000, 2, false},    {1U << 16U, 0, 0, 1, true},
      {1U << 20U, 60, 9000, 4, false},
  };
  std::uint64_t seed = 1;
  for (std::uint32_t variant = 0; variant < test::rounds(48); ++variant) {
    const bool reads_by_sector = variant % 10 >= 6;
    Random random(variant + 100);
    DramConfig c;
    switch (variant % 4) {
      case 0: break;                                       // GDDR5, 64 B bursts of two clocks
      case 1: c.bus_bytes = 3, c.burst_bytes = 32; break;  // 8/3 clocks
      case 2:
        c.bus_bytes = 16, c.transfers_per_clock = 2, c.separate_row_bus = true, c.CCD = 1, c.CCDL = 2,
        c.RRD = 3;
        c.WL = 2, c.CDLR = 3, c.WR = 10, c.RTPL = 3, c.queue = 64;
        break;
      default: c.bus_bytes = 6, c.transfers_per_clock = 1.5, c.burst_bytes = 64; break;  // 64/9 clocks
    }
    if (variant % 4 == 0) c.burst_bytes = 64;
    if (variant % 3 == 1) c.FAW = 23 + random.below(20);
    if (variant % 5 == 2) c.REFI = 500 + random.below(900), c.RFC = 60 + random.below(40);
    if (variant % 7 == 3)
      c.write_high_watermark = 8 + random.below(5), c.write_low_watermark = random.below(8);
    if (variant % 6 == 5) c.scheduler = arch::DramOrder::Fcfs;
    if (variant % 8 == 6) c.return_queue = 1 + random.below(4);
    if (variant % 10 == 2) c.return_queue = 1;
    if (variant % 9 == 4) c.banks = 6, c.bank_groups = 1 + random.below(3);
    if (variant % 11 == 8) c.queue = 1 + random.below(3);
    if (variant % 12 == 7) c.burst_bytes = 16;
    for (const Pattern& pattern : patterns) {
      SCOPED_TRACE(fmt::format("variant {}, seed {}", variant, seed));
      compare(c, reads_by_sector, pattern, seed);
      compare_run(c, reads_by_sector, pattern, seed++);
      if (HasFatalFailure()) return;
    }
  }
}

TEST(DramProperty, AddressMapIsABijection) {
  for (const std::uint32_t banks : {1U, 6U, 16U}) {
    for (const std::uint32_t groups : {1U, 2U}) {
      if (banks % groups != 0) continue;
      DramConfig c;
      c.banks = banks;
      c.bank_groups = groups;
      const dram::AddressMap map(c);
      std::vector<std::uint32_t> lines_of_row(std::size_t{banks} * 64, 0);
      const std::uint32_t lines = banks * 64 * (c.row_bytes / kLineBytes);
      for (std::uint64_t line = 0; line < lines; ++line) {
        const auto place = map.locate(line);
        ASSERT_LT(place.bank, banks);
        ASSERT_LT(place.row, 64U);
        ASSERT_EQ(place.group, place.bank / (banks / groups));
        ++lines_of_row[place.row * banks + place.bank];
      }
      for (const std::uint32_t count : lines_of_row) ASSERT_EQ(count, c.row_bytes / kLineBytes);
    }
  }
}

}  // namespace
}  // namespace gpumux::test
