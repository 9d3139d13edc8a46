// Timelines: each block and each kernel occurs once, with its place and times, in a format that trace viewers
// read.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "arch/config_file.hpp"
#include "experiment/run.hpp"
#include "experiment/timeline_output.hpp"
#include "machine/recorder.hpp"
#include "policy/fake_control.hpp"

namespace gpumux {
namespace {

using nlohmann::json;

experiment::RunSpec spec_of(const char* policy) {
  experiment::RunSpec spec;
  spec.machine = arch::load_machine("dai18-maxwell");
  spec.apps = {experiment::builtin_app("hotspot"), experiment::builtin_app("pathfinder")};
  spec.policy = policy::parse_choice(policy);
  spec.cycles = 30'011;
  spec.timeline = true;
  return spec;
}

std::string trace_of(const experiment::RunSpec& spec) {
  return experiment::timeline_json(experiment::simulate(spec), spec.machine.clocks.core);
}

class TimelineOf : public testing::TestWithParam<const char*> {};

TEST_P(TimelineOf, BlocksAndKernelsAgreeWithTheCounters) {
  const experiment::RunSpec spec = spec_of(GetParam());
  const experiment::RunResult result = experiment::simulate(spec);
  const arch::Timeline& timeline = result.timeline.value();
  std::vector<std::uint64_t> ended(result.apps.size(), 0);
  std::map<std::pair<SmId, std::uint16_t>, Cycle> free_at;
  std::set<std::pair<std::uint32_t, std::uint64_t>> seen;
  std::vector<Cycle> last_end(timeline.kernels.size(), 0);
  for (const arch::Timeline::Block& block : timeline.blocks) {
    const arch::Timeline::Kernel& kernel = timeline.kernels.at(block.kernel);
    EXPECT_TRUE(seen.insert({block.kernel, block.index}).second);
    EXPECT_LT(block.sm, spec.machine.sms);
    EXPECT_LT(block.place, spec.machine.sm.max_blocks);
    EXPECT_GE(block.begin, kernel.arrival);
    EXPECT_GE(block.begin, kernel.first_block);
    Cycle& free = free_at[{block.sm, block.place}];
    EXPECT_GE(block.begin, free) << "two blocks in one slot";
    free = block.end;
    if (block.end == kNever) continue;
    EXPECT_LE(block.end, result.cycles);
    EXPECT_GT(block.end, block.begin);
    ++ended[kernel.app];
    last_end[block.kernel] = std::max(last_end[block.kernel], block.end);
  }
  for (std::size_t i = 0; i < result.apps.size(); ++i)
    EXPECT_EQ(ended[i], result.apps[i].counters.blocks_completed);
  for (std::size_t k = 0; k < timeline.kernels.size(); ++k) {
    const arch::Timeline::Kernel& kernel = timeline.kernels[k];
    EXPECT_GE(kernel.arrival, kernel.submitted + spec.machine.runtime.kernel_launch_latency);
    if (kernel.end != kNever) {
      EXPECT_EQ(kernel.end, last_end[k]);
    }
  }
  EXPECT_EQ(timeline.blocks_left_out, 0U);
}

TEST_P(TimelineOf, IsTheSameForThreadsAndWithoutSkippingAndChangesNothing) {
  experiment::RunSpec spec = spec_of(GetParam());
  spec.series = 1000;
  const std::string one = trace_of(spec);
  spec.threads = 3;
  EXPECT_EQ(one, trace_of(spec));
  spec.threads = 1;
  spec.no_skip = true;
  EXPECT_EQ(one, trace_of(spec));
  spec.no_skip = spec.timeline = false;
  experiment::RunResult plain = experiment::simulate(spec);
  spec.timeline = true;
  experiment::RunResult recorded = experiment::simulate(spec);
  plain.wall_seconds = recorded.wall_seconds = 0;
  EXPECT_EQ(experiment::result_json(plain, {}, {}), experiment::result_json(recorded, {}, {}));
}

INSTANTIATE_TEST_SUITE_P(Policies, TimelineOf, testing::Values("sequential", "even", "spatial"),
                         [](const testing::TestParamInfo<const char*>& policy) {
                           return std::string(policy.param);
                         });

/// What Perfetto and chrome://tracing ask of an event, and that spans of a track do not overlap.
void expect_readable(const json& trace) {
  std::map<std::pair<int, int>, std::uint64_t> free_at;  // ns
  std::set<int> named;
  const auto ns = [](const json& us) {
    return static_cast<std::uint64_t>(std::llround(us.get<double>() * 1000));
  };
  for (const json& event : trace.at("traceEvents")) {
    const std::string kind = event.at("ph");
    ASSERT_TRUE(kind == "X" || kind == "M" || kind == "C") << kind;
    EXPECT_TRUE(event.at("name").is_string());
    const int process = event.at("pid");
    if (kind == "M") {
      const bool names = event.at("name") == "process_name";
      EXPECT_TRUE(!names || named.insert(process).second);
      continue;
    }
    EXPECT_TRUE(named.contains(process));
    EXPECT_GE(event.at("ts").get<double>(), 0);
    if (kind == "C") continue;
    std::uint64_t& free = free_at[{process, event.at("tid").get<int>()}];
    EXPECT_GE(ns(event.at("ts")), free);
    free = ns(event.at("ts")) + ns(event.at("dur"));
  }
}

// A run may end when blocks have been placed that have not begun.
TEST(Timeline, NoSpanIsLongerThanTheRun) {
  for (const Cycle cycles : {1U, 3U, 4U, 5U, 9U}) {
    experiment::RunSpec spec = spec_of("even");
    spec.cycles = spec.machine.runtime.kernel_launch_latency + cycles;
    const experiment::RunResult result = experiment::simulate(spec);
    const json trace = json::parse(experiment::timeline_json(result, spec.machine.clocks.core));
    expect_readable(trace);
    for (const json& event : trace["traceEvents"]) {
      if (event["ph"] != "X") continue;
      EXPECT_LE(event["dur"].get<double>() * spec.machine.clocks.core, static_cast<double>(spec.cycles) + 1);
    }
  }
}

TEST(Timeline, TheTraceHasWhatWasRecorded) {
  experiment::RunSpec spec = spec_of("even");
  spec.series = 1000;
  const experiment::RunResult result = experiment::simulate(spec);
  const json trace = json::parse(experiment::timeline_json(result, spec.machine.clocks.core));
  expect_readable(trace);
  std::size_t kernels = 0;
  std::size_t blocks = 0;
  std::size_t stalls = 0;
  std::size_t counters = 0;
  for (const json& event : trace["traceEvents"]) {
    if (event["ph"] == "C") ++counters;
    if (event["ph"] != "X") continue;
    const std::string category = event["cat"];
    (category == "kernel" ? kernels : category == "block" ? blocks : stalls) += 1;
    const json& args = event["args"];
    EXPECT_NEAR(event["ts"].get<double>(), args["begin_cycle"].get<double>() / spec.machine.clocks.core,
                0.001);
  }
  EXPECT_EQ(kernels, result.timeline->kernels.size());
  EXPECT_EQ(blocks, result.timeline->blocks.size());
  EXPECT_EQ(stalls, result.timeline->stalls.size());
  EXPECT_GT(counters, 100U);
  EXPECT_EQ(trace["otherData"]["cycles"], result.cycles);

  const json joined =
      json::parse(experiment::join_timelines({experiment::timeline_json(result, spec.machine.clocks.core),
                                              experiment::timeline_json(result, spec.machine.clocks.core)}));
  expect_readable(joined);
  EXPECT_EQ(joined["traceEvents"].size(), 2 * trace["traceEvents"].size());
  EXPECT_EQ(joined["otherData"]["runs"].size(), 2U);
}

// By hand: 2 SMs, intervals of 100 cycles and a last one of 50.
TEST(Timeline, StallsAreIntervalsThatStallInMoreThanAFifth) {
  machine::Recorder recorder({.series_interval = 100, .timeline = true}, 4);
  EXPECT_TRUE(recorder.wants_stalls());
  const auto sample = [&](Cycle now, const std::vector<std::uint64_t>& total) {
    recorder.keep_stalls(now, total);
    recorder.keep(now, {});
  };
  sample(100, {21, 20});    // a fifth is not more than a fifth
  sample(200, {121, 20});   // goes on
  sample(300, {141, 120});  // 20 and 100
  sample(400, {170, 120});  // begins anew
  sample(450, {181, 130});  // 11 and 10 of 50
  const std::vector<arch::Timeline::Stall>& stalls = recorder.timeline().stalls;
  ASSERT_EQ(stalls.size(), 3U);
  const auto is = [&](std::size_t i, SmId sm, Cycle begin, Cycle end, std::uint64_t cycles) {
    return stalls[i].sm == sm && stalls[i].begin == begin && stalls[i].end == end &&
           stalls[i].cycles == cycles;
  };
  EXPECT_TRUE(is(0, 0, 0, 200, 121));
  EXPECT_TRUE(is(1, 1, 200, 300, 100));
  EXPECT_TRUE(is(2, 0, 300, 450, 40));
  EXPECT_FALSE(machine::Recorder({.series_interval = 100}, 4).wants_stalls());
  EXPECT_FALSE(machine::Recorder({.timeline = true}, 4).wants_stalls());
}

// On one SM they follow from the series: also where kernels end and their places are used again.
TEST(Timeline, StallsAreThoseOfTheSeries) {
  std::size_t spans = 0;
  for (const char* name : {"spmv:rows=256", "backprop", "kmeans", "stencil"}) {
    experiment::RunSpec spec = spec_of("even");
    spec.machine = arch::load_machine("dai18-maxwell", {"sms=1"});
    spec.apps = {experiment::builtin_app(name), experiment::builtin_app("lud")};
    spec.cycles = 100'011;
    spec.series = 200;
    const experiment::RunResult result = experiment::simulate(spec);
    std::vector<arch::Timeline::Stall> expected;
    for (std::size_t k = 0; k < result.series.samples.size(); ++k) {
      const Cycle begin = k * spec.series;
      const Cycle end = std::min(begin + spec.series, result.cycles);
      std::uint64_t stalled = 0;
      for (const arch::KernelCounters& app : result.series.samples[k].apps) stalled += app.lsu_stall_cycles;
      EXPECT_LE(stalled, end - begin);
      if (5 * stalled <= end - begin) continue;
      if (expected.empty() || expected.back().end != begin) expected.push_back({0, begin, begin, 0});
      expected.back().end = end;
      expected.back().cycles += stalled;
    }
    const std::vector<arch::Timeline::Stall>& stalls = result.timeline.value().stalls;
    spans += stalls.size();
    ASSERT_EQ(stalls.size(), expected.size()) << name;
    for (std::size_t i = 0; i < stalls.size(); ++i) {
      EXPECT_EQ(stalls[i].begin, expected[i].begin);
      EXPECT_EQ(stalls[i].end, expected[i].end);
      EXPECT_EQ(stalls[i].cycles, expected[i].cycles);
    }
  }
  EXPECT_GT(spans, 6U);  // they begin and end
}

TEST(Timeline, BlocksBeyondTheMostAreCounted) {
  machine::Recorder recorder({.timeline = true}, 4);
  const policy::FakeControl view(2);
  policy::RunningKernel kernel;
  kernel.blocks_total = 3'000'000;
  recorder.kernel_arrived(view, kernel, {.grid = {3'000'000, 1, 1}, .block = {64, 1, 1}});
  constexpr std::uint64_t kBlocks = arch::Timeline::kMaxBlocks + 5;
  for (std::uint64_t i = 0; i < kBlocks; ++i) {
    const auto residency = static_cast<std::uint32_t>(i % 4);  // two on each SM
    const policy::BlockPlace place{static_cast<SmId>(residency / 2),
                                   static_cast<std::uint16_t>(residency % 2), residency};
    recorder.block_began(view, kernel, i, place, 10 * i);
    recorder.block_ended(view, kernel, place, 10 * i + 7);
  }
  const arch::Timeline& timeline = recorder.timeline();
  EXPECT_EQ(timeline.blocks.size(), arch::Timeline::kMaxBlocks);
  EXPECT_EQ(timeline.blocks_left_out, 5U);
  EXPECT_EQ(timeline.blocks[7].sm, 1U);
  EXPECT_EQ(timeline.blocks[7].place, 1U);
  EXPECT_EQ(timeline.blocks.back().end, timeline.blocks.back().begin + 7);  // not of a later one
  EXPECT_EQ(timeline.kernels[0].grid.x, 3'000'000U);
  EXPECT_EQ(timeline.kernels[0].block.x, 64U);
  EXPECT_EQ(timeline.kernels[0].end, kNever);
}

TEST(Timeline, NamesAreEscaped) {
  experiment::RunResult result;
  result.machine = "m\"";
  result.policy = "p\\";
  result.cycles = 100;
  result.apps.resize(1);
  result.apps[0].app = "a\n\"b\"\xff";
  result.timeline.emplace();
  result.timeline->kernels.push_back({"k<\"\t\\>", 0, 0, {4, 2, 1}, {32, 1, 1}, 10, 12, 14, kNever});
  result.timeline->blocks.push_back({0, 3, 7, 2, 14, kNever});
  const json trace = json::parse(experiment::timeline_json(result, 1000));
  expect_readable(trace);
  bool found = false;
  for (const json& event : trace["traceEvents"]) {
    if (event["ph"] != "X") continue;
    EXPECT_EQ(event["name"], "k<\"\t\\>");
    found = found || event["cat"] == "kernel";
    if (event["cat"] != "kernel") continue;
    EXPECT_EQ(event["dur"], 0.09);  // to the end of the run
    EXPECT_TRUE(event["args"]["end_cycle"].is_null());
    EXPECT_EQ(event["args"]["grid"], "4x2x1");
  }
  EXPECT_TRUE(found);
}

}  // namespace
}  // namespace gpumux
