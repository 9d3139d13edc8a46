// The event-driven partition against the cycle-by-cycle reference, on random machines and traffic, with
// windows of any length.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <map>
#include <tuple>

#include "base/hash.hpp"
#include "dram/channel.hpp"
#include "l2/partition.hpp"
#include "memory/l2_reference.hpp"
#include "tests/sanitized.hpp"

namespace gpumux::test {
namespace {

using arch::Credit;
using arch::MachineConfig;
using arch::MemReply;
using arch::MemRequest;
using arch::PartitionCounters;
using arch::RequestKind;

template <typename T>
T one_of(Random& random, std::initializer_list<T> values) {
  return values.begin()[random.below(static_cast<std::uint32_t>(values.size()))];
}

/// Any that machine files may describe, small so that all of it fills.
MachineConfig draw_machine(Random& random) {
  MachineConfig c;
  c.sms = 1 + random.below(8);
  c.clocks = one_of<arch::ClocksConfig>(random, {{1000, 1000, 1000, 1000},
                                                 {1000, 1000, 300, 1000},
                                                 {1400, 1400, 700, 924},
                                                 {1132, 1132, 1132, 850},
                                                 {1000, 1300, 700, 900},
                                                 {700, 1300, 1132, 1850},
                                                 {1000, 900, 2000, 500}});
  c.noc.flit_bytes = one_of(random, {16U, 32U, 40U, 64U});
  c.noc.header_bytes = one_of(random, {0U, 8U});
  c.noc.latency = 1 + random.below(8);
  const std::uint32_t line_flits =
      (c.noc.header_bytes + kLineBytes + c.noc.flit_bytes - 1) / c.noc.flit_bytes;
  c.noc.input_buffer_flits = line_flits + one_of(random, {0U, 0U, 3U, 40U});
  c.noc.output_buffer_flits = line_flits + one_of(random, {0U, 1U, 8U});

  arch::L2Config& l2 = c.l2;
  l2.partitions = one_of(random, {1U, 1U, 2U, 4U});
  l2.slices_per_partition = one_of(random, {1U, 2U, 4U});
  l2.partition_hash =
      one_of(random, {arch::IndexFunction::Linear, arch::IndexFunction::Xor, arch::IndexFunction::Ipoly});
  l2.interleave_bytes = one_of(random, {128U, 256U, 1024U});
  l2.ways = one_of(random, {1U, 2U, 3U, 4U, 9U});
  l2.index =
      one_of(random, {arch::IndexFunction::Linear, arch::IndexFunction::Xor, arch::IndexFunction::Ipoly});
  const std::uint32_t sets =
      l2.index == arch::IndexFunction::Linear ? 1 + random.below(5) : one_of(random, {1U, 2U, 4U, 16U});
  l2.slice_bytes = sets * l2.ways * kLineBytes;
  l2.sectored = random.below(2) == 0;
  l2.allocate = one_of(random, {arch::Allocate::OnMiss, arch::Allocate::OnFill});
  l2.mshr_entries = one_of(random, {1U, 2U, 4U, 16U});
  l2.mshr_merges = one_of(random, {1U, 2U, 4U, 16U});
  l2.miss_queue = one_of(random, {1U, 2U, 3U, 8U});
  l2.input_queue = one_of(random, {1U, 2U, 8U});
  l2.output_queue = one_of(random, {1U, 2U, 4U, 16U});
  l2.latency = one_of(random, {1U, 2U, 5U, 20U, 60U});
  l2.port_bytes = one_of(random, {8U, 20U, 32U, 64U, 1024U});
  l2.atomic_interval = one_of(random, {1U, 3U, 10U});
  l2.atomics_per_cycle = one_of(random, {0U, 1U, 3U});

  arch::DramConfig& d = c.dram;
  d.banks = one_of(random, {1U, 4U, 6U});
  d.bank_groups = one_of(random, {1U, d.banks, d.banks > 1 ? 2U : 1U});
  d.row_bytes = one_of(random, {128U, 256U, 1024U});
  d.burst_bytes = one_of(random, {16U, 32U, 64U});
  d.queue = one_of(random, {1U, 2U, 5U, 16U});
  d.return_queue = one_of(random, {1U, 2U, 100U});
  d.fixed_latency = one_of(random, {0U, 7U, 150U});
  d.separate_row_bus = random.below(2) == 0;
  if (random.below(4) == 0) d.scheduler = arch::DramOrder::Fcfs;
  if (random.below(4) == 0) d.REFI = 400 + random.below(300), d.RFC = 100 + random.below(100);
  if (random.below(4) == 0) {
    d.write_high_watermark = 1 + random.below(d.queue);
    d.write_low_watermark = random.below(d.write_high_watermark);
  }
  return c;
}

struct L2Pattern {
  std::uint32_t inside;   // requests at most in the partition at once
  std::uint32_t gap;      // mean cycles between arrivals; 0: several in one
  std::uint32_t pause;    // once in 64 arrivals, so many cycles more
  std::uint32_t writes;   // of 8
  std::uint32_t atomics;  // likewise
  std::uint32_t partial;  // of 8 writes, those that leave a part of their sectors
  std::uint32_t few;      // of 8 requests, those to the first six lines
  std::uint32_t lines;    // in all
  std::uint32_t sets;     // that these lie in
  std::uint32_t hold;     // cycles that an SM keeps a reply's credits, at most
  bool closed;            // at times SMs give none back
  bool preloads;          // host copies leave lines in the caches
};

L2Pattern draw_pattern(Random& random) {
  L2Pattern p{};
  p.inside = one_of(random, {2U, 12U, 60U, 400U});
  p.gap = one_of(random, {0U, 0U, 1U, 6U, 40U});
  p.pause = one_of(random, {0U, 60U, 900U});
  p.writes = one_of(random, {0U, 2U, 4U});
  p.atomics = one_of(random, {0U, 1U, 3U});
  p.partial = one_of(random, {0U, 4U, 8U});
  p.few = one_of(random, {0U, 3U, 6U});
  p.lines = one_of(random, {4U, 30U, 300U});
  p.sets = one_of(random, {1U, 2U, 1000U});
  p.hold = one_of(random, {0U, 20U, 200U});
  p.closed = random.below(4) == 0;
  p.preloads = random.below(3) == 0;
  return p;
}

/// All slices wait for places of the DRAM queue, several of which come free between two L2 cycles.
void crowd_the_channel(MachineConfig& c, L2Pattern& p) {
  c.clocks.l2 = c.clocks.core * 0.3;
  c.l2.sectored = true;
  c.l2.slices_per_partition = 4;
  c.l2.mshr_entries = 16;
  c.l2.miss_queue = 8;
  c.dram.queue = 5;
  c.dram.return_queue = 100;
  c.dram.burst_bytes = std::max(c.dram.burst_bytes, 32U);
  c.dram.write_high_watermark = c.dram.write_low_watermark = 0;
  p.inside = 400;
  p.gap = p.pause = p.hold = 0;
  p.lines = 300;
  p.sets = 1000;
  p.few = 0;
}

/// Fills evict each other's lines while the miss queue is full.
void crowd_the_sets(MachineConfig& c, L2Pattern& p) {
  c.l2.allocate = arch::Allocate::OnFill;
  c.l2.sectored = true;
  c.l2.ways = 1;
  c.l2.slice_bytes = kLineBytes;
  c.l2.slices_per_partition = 1;
  c.l2.mshr_entries = c.l2.mshr_merges = 16;
  c.l2.miss_queue = 3;
  c.dram.queue = 5;
  c.dram.write_high_watermark = c.dram.write_low_watermark = 0;
  c.dram.fixed_latency = 150;
  p.inside = 60;
  p.gap = p.pause = 0;
  p.writes = 6;
  p.partial = 8;
  p.few = 6;
  p.lines = 12;
}

std::vector<std::uint64_t> draw_lines(const L2Pattern& pattern, const noc::PartitionMap& map, PartitionId id,
                                      Random& random) {
  std::vector<std::uint64_t> lines;
  while (lines.size() < pattern.lines) {
    const auto app = static_cast<AppId>(random.below(2));
    std::uint64_t within = random.below(1U << 16U);
    if (random.below(8) == 0) within |= std::uint64_t{1} << 32U;
    const std::uint64_t line = first_line_of(app) | within;
    const noc::PartitionMap::Place place = map.locate(line);
    if (place.partition == id && map.set_of(place.slice_line, app) < pattern.sets) lines.push_back(line);
  }
  return lines;
}

/// What comes to a partition, and what the reference makes of it.
struct Course {
  std::vector<MemRequest> requests;  // by time, SM and order of sending
  std::vector<Credit> credits;       // for replies, by time
  std::map<Cycle, std::uint64_t> preloads;

  std::vector<MemReply> replies;
  std::vector<Credit> freed;  // for requests
  std::vector<ReferencePartition::Sent> sent;
  struct Snapshot {  // at the end of a cycle
    PartitionCounters counters;
    std::array<arch::MemoryCounters, 2> apps;
    std::array<std::uint64_t, 4> evictions;  // victim * 2 + culprit
    std::uint32_t replies, freed, sent, inside;
    bool idle;
  };
  std::vector<Snapshot> at;
};

Course simulate_reference(const MachineConfig& config, const L2Pattern& pattern, PartitionId id,
                          std::uint64_t seed, ReferencePartition& reference) {
  Random random(seed);
  const noc::PartitionMap map(config);
  const noc::Network network(config);
  const std::vector<std::uint64_t> lines = draw_lines(pattern, map, id, random);
  Course course;
  std::map<Cycle, std::vector<std::uint16_t>> due;  // credits, by cycle
  constexpr std::uint32_t kRequests = 350;
  constexpr Cycle kLimit = 300'000;
  std::uint32_t tag = 0;
  std::size_t seen = 0;
  Cycle next = 5;
  Cycle closed_until = 0;
  std::vector<MemRequest> arrivals;
  for (Cycle now = 0; now < kLimit; ++now) {
    if (pattern.preloads && random.below(400) == 0 && tag < kRequests) {
      course.preloads[now] = lines[random.below(static_cast<std::uint32_t>(lines.size()))];
      reference.preload(course.preloads[now]);
    }
    arrivals.clear();
    while (tag < kRequests && now >= next && reference.inside() + arrivals.size() < pattern.inside) {
      MemRequest r;
      const auto pool = static_cast<std::uint32_t>(lines.size());
      r.line = lines[random.below(random.below(8) < pattern.few ? std::min(pool, 6U) : pool)];
      r.time = now;
      r.tag = tag++;
      r.sm = static_cast<SmId>(random.below(config.sms));
      r.partition = id;
      r.kernel = static_cast<arch::KernelSlot>(random.below(4));
      r.app = ReferencePartition::app_of(r.line);
      r.sectors = random.below(3) == 0 ? 15 : static_cast<std::uint8_t>(1 + random.below(15));
      const auto bytes = static_cast<std::uint32_t>(std::popcount(r.sectors)) * kSectorBytes;
      const std::uint32_t kind = random.below(8);
      if (kind < pattern.writes) {
        r.kind = RequestKind::Write;
        const bool partial = random.below(8) < pattern.partial;
        r.data_bytes = static_cast<std::uint8_t>(partial ? 1 + random.below(bytes) : bytes);
        r.wants_reply = random.below(2) == 0;
      } else if (kind < pattern.writes + pattern.atomics) {
        r.kind = RequestKind::Atomic;
        r.operations = static_cast<std::uint8_t>(1 + random.below(32));
        r.rounds = static_cast<std::uint8_t>(random.below(r.operations + 1U));
        r.data_bytes = static_cast<std::uint8_t>(1 + random.below(bytes));
        r.wants_reply = random.below(2) == 0;
      } else if (kind == 7) {
        r.kind = RequestKind::InstructionFetch;
      }
      r.flits = network.flits(r.data_bytes) & 0x3fU;
      arrivals.push_back(r);
      next = now + random.below(2 * pattern.gap + 1) + (random.below(64) == 0 ? pattern.pause : 0);
      if (pattern.gap == 0 && random.below(3) != 0) next = now + 1;
    }
    std::stable_sort(arrivals.begin(), arrivals.end(),
                     [](const MemRequest& a, const MemRequest& b) { return a.sm < b.sm; });
    course.requests.insert(course.requests.end(), arrivals.begin(), arrivals.end());
    std::uint32_t flits = 0;
    const auto came = due.find(now);
    if (came != due.end()) {
      for (const std::uint16_t credit : came->second) {
        flits += credit;
        course.credits.push_back({now, credit, id, 0});
      }
    }
    reference.step(now, arrivals, came != due.end(), flits);
    if (pattern.closed && random.below(1000) == 0) closed_until = now + random.below(1500);
    for (; seen < reference.replies.size(); ++seen) {
      const MemReply& reply = reference.replies[seen];
      const Cycle kept = std::max(reply.time + random.below(pattern.hold + 1), closed_until);
      due[kept + network.latency].push_back(reply.flits);
    }
    course.at.push_back({reference.counters(),
                         {reference.counters(AppId{0}), reference.counters(AppId{1})},
                         {reference.evictions(0, 0), reference.evictions(0, 1), reference.evictions(1, 0),
                          reference.evictions(1, 1)},
                         static_cast<std::uint32_t>(reference.replies.size()),
                         static_cast<std::uint32_t>(reference.credits.size()),
                         static_cast<std::uint32_t>(reference.sent.size()),
                         static_cast<std::uint32_t>(reference.inside()),
                         reference.idle()});
    const bool all_credits = due.empty() || due.rbegin()->first <= now;
    if (tag == kRequests && reference.idle() && all_credits) break;
  }
  EXPECT_LT(course.at.size(), kLimit) << "the reference does not come to an end";
  course.replies = reference.replies;
  course.freed = reference.credits;
  course.sent = reference.sent;
  return course;
}

auto values(const MemReply& r) {
  return std::tuple(Cycle{r.time}, r.tag, r.sm, static_cast<unsigned>(r.kind), unsigned{r.sectors},
                    unsigned{r.flits});
}
auto values(const Credit& c) { return std::tuple(c.time, c.to, c.flits, c.from); }

/// The counters that differ, in words.
std::string differences(const PartitionCounters& ours, const PartitionCounters& theirs) {
  std::string text;
#define GPUMUX_FIELD(field, unit, description) \
  if (ours.field != theirs.field)              \
    text += fmt::format("{} {}, by the reference {}; ", #field, ours.field, theirs.field);
  GPUMUX_PARTITION_COUNTERS(GPUMUX_FIELD)
#undef GPUMUX_FIELD
  return text;
}
std::string differences(const arch::MemoryCounters& ours, const arch::MemoryCounters& theirs) {
  std::string text;
#define GPUMUX_FIELD(field, unit, description) \
  if (ours.field != theirs.field)              \
    text += fmt::format("{} {}, by the reference {}; ", #field, ours.field, theirs.field);
  GPUMUX_MEMORY_COUNTERS(GPUMUX_FIELD)
#undef GPUMUX_FIELD
  return text;
}

/// A partition that is given the same, and what it has made of it.
class Subject {
 public:
  Subject(const MachineConfig& config, PartitionId id, const Course& course)
      : course_(course), map_(config), partition_(config, id, map_), box_(partition_.mailbox()) {
    partition_.channel().set_request_trace(&sent_);
  }

  /// In windows of up to `longest` cycles, with messages up to `early` cycles before their time.
  void run_windows(Cycle longest, Cycle early, bool sleep, Random& random) {
    Cycle next = 0;
    Cycle next_preload = 0;
    for (Cycle now = 0; now < course_.at.size() && !testing::Test::HasFatalFailure();) {
      const auto preload = course_.preloads.find(now);
      if (preload != course_.preloads.end())
        partition_.preload_line(preload->second, ReferencePartition::app_of(preload->second));
      const auto following = course_.preloads.upper_bound(now);
      next_preload = following == course_.preloads.end() ? course_.at.size() : following->first;
      const Cycle to = std::min(now + 1 + random.below(static_cast<std::uint32_t>(longest)), next_preload);
      next = std::min(next,
                      give(to + (early > 0 ? random.below(static_cast<std::uint32_t>(early)) : 0), random));
      if (!sleep || next < to) next = partition_.run(now, to);
      ASSERT_GE(next, to);
      take();
      compare_window(to);
      now = to;
    }
  }

  /// As far ahead as it can be, asked for every `longest` cycles at least.
  void run_ahead(Cycle longest, Random& random) {
    Cycle next = 0;
    Cycle done = 0;
    for (Cycle now = 0; now < course_.at.size() && !testing::Test::HasFatalFailure();) {
      const Cycle to =
          std::min<Cycle>(now + 1 + random.below(static_cast<std::uint32_t>(longest)), course_.at.size());
      next = std::min(next, give(to + random.below(100), random));
      const Cycle end = random.below(3) == 0 ? to + random.below(64) : Cycle{course_.at.size()};
      if (next < std::min(end, partition_.lookahead(to))) {
        const std::size_t before = replies_.size();
        next = partition_.run({.begin = now, .end = std::max(end, to), .messages = to});
        take();
        for (std::size_t i = before; i < replies_.size(); ++i) ASSERT_GT(replies_[i].time, done);
        ASSERT_GE(partition_.done(), to);
        done = partition_.done();
        // What is simulated is there.
        const Cycle seen = std::min<Cycle>(done, course_.at.size());
        ASSERT_GE(replies_.size(), course_.at[seen - 1].replies);
        ASSERT_GE(sent_.size(), course_.at[seen - 1].sent);
      }
      now = to;
    }
    partition_.settle(course_.at.size());
  }

  void compare_all() {
    ASSERT_EQ(replies_.size(), course_.replies.size());
    for (std::size_t i = 0; i < replies_.size(); ++i) {
      ASSERT_EQ(values(replies_[i]), values(course_.replies[i])) << "reply " << i;
    }
    std::vector<Credit> theirs = course_.freed;
    const auto earlier = [](const Credit& a, const Credit& b) { return values(a) < values(b); };
    std::sort(freed_.begin(), freed_.end(), earlier);
    std::sort(theirs.begin(), theirs.end(), earlier);
    ASSERT_EQ(freed_.size(), theirs.size());
    for (std::size_t i = 0; i < freed_.size(); ++i) {
      ASSERT_EQ(values(freed_[i]), values(theirs[i])) << "credit " << i;
    }
    compare_sent(course_.sent.size());
    ASSERT_EQ(sent_.size(), course_.sent.size());
    compare_counters(course_.at.back());
    ASSERT_TRUE(partition_.idle());
    ASSERT_NO_THROW(partition_.check_drained());
  }

 private:
  /// What arrives before `until`, with the SMs in any order. Returns the earliest time.
  Cycle give(Cycle until, Random& random) {
    Cycle first = kNever;
    const std::size_t before = box_.in.size();
    for (; given_ < course_.requests.size() && course_.requests[given_].time < until; ++given_) {
      box_.in.push_back(course_.requests[given_]);
      first = std::min(first, course_.requests[given_].time);
    }
    const std::uint32_t key = random.below(8);
    std::stable_sort(box_.in.begin() + static_cast<std::ptrdiff_t>(before), box_.in.end(),
                     [&](const MemRequest& a, const MemRequest& b) { return (a.sm ^ key) < (b.sm ^ key); });
    for (; credited_ < course_.credits.size() && course_.credits[credited_].time < until; ++credited_) {
      box_.credits_in.push_back(course_.credits[credited_]);
      first = std::min(first, course_.credits[credited_].time);
    }
    return first;
  }
  void take() {
    replies_.insert(replies_.end(), box_.out.begin(), box_.out.end());
    freed_.insert(freed_.end(), box_.credits_out.begin(), box_.credits_out.end());
    box_.out.clear();
    box_.credits_out.clear();
  }
  void compare_sent(std::size_t count) {
    for (; compared_sent_ < std::min(count, sent_.size()); ++compared_sent_) {
      const auto& [tick, slice, theirs] = course_.sent[compared_sent_];
      const dram::Request& ours = sent_[compared_sent_].request;
      const std::uint32_t our_slice = ours.write ? slice : ours.token >> 16U;
      ASSERT_EQ(std::tuple(sent_[compared_sent_].tick, our_slice, ours.local_line, unsigned{ours.sectors},
                           ours.write, unsigned{ours.app}, unsigned{ours.kernel}),
                std::tuple(tick, slice, theirs.local_line, unsigned{theirs.sectors}, theirs.write,
                           unsigned{theirs.app}, unsigned{theirs.kernel}))
          << "request " << compared_sent_ << " to DRAM";
    }
  }
  void compare_counters(const Course::Snapshot& there) {
    ASSERT_EQ(differences(partition_.counters(), there.counters), "");
    for (AppId app = 0; app < 2; ++app) {
      ASSERT_EQ(differences(partition_.counters(app), there.apps[app]), "")
          << "application " << unsigned{app};
      for (AppId culprit = 0; culprit < 2; ++culprit) {
        ASSERT_EQ(partition_.counters(app, culprit).l2_evictions, there.evictions[app * 2U + culprit])
            << "of application " << unsigned{app} << " by " << unsigned{culprit};
      }
    }
  }
  /// All that has happened before cycle `to`.
  void compare_window(Cycle to) {
    const Course::Snapshot& there = course_.at[to - 1];
    compare_sent(there.sent);
    for (; compared_replies_ < std::min<std::size_t>(there.replies, replies_.size()); ++compared_replies_) {
      ASSERT_EQ(values(replies_[compared_replies_]), values(course_.replies[compared_replies_]))
          << "reply " << compared_replies_ << ", before cycle " << to;
    }
    compare_counters(there);
    if (testing::Test::HasFatalFailure()) FAIL() << "before cycle " << to;
    ASSERT_EQ(replies_.size(), there.replies) << "before cycle " << to;
    ASSERT_EQ(freed_.size(), there.freed) << "before cycle " << to;
    ASSERT_EQ(sent_.size(), there.sent) << "before cycle " << to;
    std::size_t early = 0;
    for (std::size_t i = given_; i > 0 && course_.requests[i - 1].time >= to; --i) ++early;
    ASSERT_EQ(partition_.requests_inside(), there.inside + early) << "before cycle " << to;
    if (early == 0) {
      ASSERT_EQ(partition_.idle(), there.idle) << "before cycle " << to;
    }
  }

  const Course& course_;
  noc::PartitionMap map_;
  l2::Partition partition_;
  arch::PartitionMailbox& box_;
  std::vector<MemReply> replies_;
  std::vector<Credit> freed_;
  std::vector<dram::Arrival> sent_;
  std::size_t given_ = 0, credited_ = 0;
  std::size_t compared_replies_ = 0, compared_sent_ = 0;
};

TEST(L2Property, RepliesRequestsToDramAndCountersEqualThoseOfTheReference) {
  EventCounts events{};
  for (std::uint32_t seed = 1; seed <= test::rounds(200); ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Random random(seed);
    MachineConfig config = draw_machine(random);
    L2Pattern pattern = draw_pattern(random);
    if (seed % 8 == 0) crowd_the_sets(config, pattern);
    if (seed % 8 == 4) crowd_the_channel(config, pattern);
    const auto id = static_cast<PartitionId>(random.below(config.l2.partitions));
    const noc::PartitionMap map(config);
    ReferencePartition reference(config, id, map);
    const Course course = simulate_reference(config, pattern, id, seed, reference);
    for (std::size_t e = 0; e < events.size(); ++e) events[e] += reference.events[e];
    const auto compare = [&](const char* windows, auto&& simulate) {
      if (HasFatalFailure()) return;
      SCOPED_TRACE(windows);
      Subject subject(config, id, course);
      simulate(subject);
      if (!HasFatalFailure()) subject.compare_all();
    };
    compare("cycle by cycle", [&](Subject& s) { s.run_windows(1, 0, false, random); });
    compare("short windows", [&](Subject& s) { s.run_windows(24, 50, true, random); });
    compare("long windows", [&](Subject& s) { s.run_windows(3000, 0, true, random); });
    // Copies come between windows that all have reached.
    if (!pattern.preloads) {
      compare("ahead", [&](Subject& s) { s.run_ahead(100, random); });
      compare("a little ahead", [&](Subject& s) { s.run_ahead(5, random); });
    }
    if (HasFailure()) return;
  }
  if (test::kSanitized) return;  // too few seeds for what is rare
  for (std::size_t e = 0; e < events.size(); ++e) EXPECT_GE(events[e], 10U) << kEventNames[e];
}

}  // namespace
}  // namespace gpumux::test
