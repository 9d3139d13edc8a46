// The division of an SM: dominant resource fairness, water filling, quotas and sampled curves, worked out by
// hand.
#include <gtest/gtest.h>

#include <numeric>

#include "base/hash.hpp"
#include "policy/dominant_resource.hpp"
#include "policy/issue_quotas.hpp"
#include "policy/slicer_samples.hpp"
#include "policy/water_filling.hpp"

namespace gpumux::policy {
namespace {

using Blocks = std::vector<std::uint32_t>;

/// The SM of dai18: 65536 registers, 96 KB, 3072 threads, 16 blocks, 96 warps.
constexpr SmAmounts kSm = {65536, 98304, 3072, 16, 96};

Sharer sharer(std::uint64_t registers, std::uint64_t shared, std::uint64_t threads, std::uint32_t most) {
  return {{registers, shared, threads, 1, threads / 32}, most};
}

// dai18 table 2: bp has 256 threads of 12 registers (and 1152 bytes, rounded), sv 192 threads of 16.
const Sharer kBp = sharer(3072, 1152, 256, 12);
const Sharer kSv = sharer(3072, 0, 192, 16);

TEST(BlockDemand, RoundsAsTheMachineAllocates) {
  arch::SmConfig sm;
  sm.register_allocation_unit = 256;
  sm.shared_allocation_unit = 128;
  // 36 x 32 = 1152 registers per warp become 1280; 100 threads are 4 warps.
  EXPECT_EQ(block_demand(sm, {100, 36, 3076}), (SmAmounts{4 * 1280, 3200, 100, 1, 4}));
}

TEST(DominantResource, GivesOneBlockAfterAnotherToTheSmallestShare) {
  // The example that the original paper on the idea works out, with CPUs and memory as threads and registers:
  // 9 CPUs and 18 GB; a task of A takes 1 CPU and 4 GB, one of B 3 CPUs and 1 GB: 3 of A and 2 of B.
  const SmAmounts capacity = {18, 100, 9, 100, 100};
  const std::vector<Sharer> users = {sharer(4, 0, 1, 100), sharer(1, 0, 3, 100)};
  EXPECT_EQ(dominant_resource_fairness(capacity, users), (Blocks{3, 2}));
}

TEST(DominantResource, WorkedByHandOnAnSm) {
  // bp's dominant resource is threads, 1/12 per block; sv's are threads and slots alike, 1/16.
  // bp sv: 1 1 | sv 2 at 1/16 < 1/12 | bp 2 at 1/12 < 2/16 | sv 3 | bp 3 at 2/12 < 3/16 | sv 4 at 3/16 < 3/12
  // | sv 5 at tie 4/16 = 3/12: the first kernel, bp 4 | sv 5 | sv 6 at 5/16 < 4/12 | bp 5 at 4/12 < 6/16
  // | sv 7 | bp 6 at 5/12 < 7/16 | sv 8 at 7/16 < 6/12: 6 x 256 + 8 x 192 = 3072 threads.
  EXPECT_EQ(dominant_resource_fairness(kSm, {kBp, kSv}), (Blocks{6, 8}));
}

TEST(DominantResource, PassesOverWhatDoesNotFitOrHasNoMoreBlocks) {
  // The second kernel's grid fills two blocks per SM; the first takes the rest.
  EXPECT_EQ(dominant_resource_fairness(kSm, {kBp, sharer(3072, 0, 192, 2)}), (Blocks{10, 2}));
  // 40 KB each: one of them fits beside the other, then only the small one goes on.
  EXPECT_EQ(dominant_resource_fairness(kSm, {sharer(0, 40960, 64, 2), sharer(0, 57344, 64, 1)}),
            (Blocks{1, 1}));
  EXPECT_EQ(dominant_resource_fairness(kSm, {sharer(0, 49152, 64, 2), sharer(0, 57344, 64, 1)}), std::nullopt)
      << "no SM holds a block of each";
}

TEST(DominantResource, ThreeKernelsAndPropertiesOfAny) {
  Random random(7);
  for (int round = 0; round < 300; ++round) {
    std::vector<Sharer> sharers;
    const std::uint32_t kernels = 2 + random.below(3);
    for (std::uint32_t k = 0; k < kernels; ++k) {
      const std::uint64_t threads = 32 * (1 + random.below(16));
      sharers.push_back(
          sharer(threads * (8 + random.below(40)), random.below(16384), threads, 1 + random.below(16)));
    }
    const auto blocks = dominant_resource_fairness(kSm, sharers);
    const auto again = dominant_resource_fairness(kSm, sharers);
    EXPECT_EQ(blocks, again);
    if (!blocks) continue;
    EXPECT_TRUE(fit_together(kSm, sharers, *blocks));
    for (std::size_t i = 0; i < sharers.size(); ++i) {
      EXPECT_GE((*blocks)[i], 1U);
      EXPECT_LE((*blocks)[i], sharers[i].most);
      Blocks more = *blocks;
      ++more[i];
      EXPECT_TRUE(more[i] > sharers[i].most || !fit_together(kSm, sharers, more)) << "room is left";
    }
  }
}

/// bp grows nearly in proportion to its blocks; sv has its best at 4 and then falls (dai18 figure 3).
ScalabilityCurve bp_curve() {
  ScalabilityCurve curve = {10, 20, 30, 40, 50, 60, 70, 80, 94, 96, 98, 100};
  return curve;
}
ScalabilityCurve sv_curve() {
  ScalabilityCurve curve = {3, 6, 9, 10};
  while (curve.size() < 16) curve.push_back(curve.back() - 0.4);
  return curve;
}

TEST(WaterFilling, FindsTheSweetSpotOfFigure3) {
  // sv stops at its best, 4 blocks, and bp takes all threads that are left: 9 x 256 + 4 x 192 = 3072.
  const auto spot = water_filling(kSm, {kBp, kSv}, {bp_curve(), sv_curve()});
  ASSERT_TRUE(spot);
  EXPECT_EQ(spot->blocks, (Blocks{9, 4}));
  EXPECT_DOUBLE_EQ(spot->normalized[0], 0.94);
  EXPECT_DOUBLE_EQ(spot->normalized[1], 1.0);
  EXPECT_DOUBLE_EQ(spot->theoretical_weighted_speedup, 1.94);
  // The other order of the same kernels: the same partition.
  EXPECT_EQ(water_filling(kSm, {kSv, kBp}, {sv_curve(), bp_curve()})->blocks, (Blocks{4, 9}));
}

TEST(WaterFilling, SkipsPointsThatDoNotGrow) {
  // A dip at 2 and 3 blocks: from 1 it goes to 4 at once, if that fits.
  const ScalabilityCurve dips = {5, 4, 5, 8};
  const Sharer wide = sharer(0, 0, 512, 4);  // 6 fit together
  EXPECT_EQ(water_filling(kSm, {wide, wide}, {dips, {1, 2, 3, 4}})->blocks, (Blocks{1, 4}))
      << "4 and 2 would be 6, but the second is at 2/4 when the first, at 5/8, is asked: it goes to 3, then "
         "4";
  EXPECT_EQ(water_filling(kSm, {wide, wide}, {dips, {9, 10}})->blocks, (Blocks{4, 2}));
}

TEST(WaterFilling, OfEqualOnesTheGreaterGainGoesFirst) {
  const Sharer half = sharer(0, 0, 1024, 2);  // three fit
  // Both at one half; the second gains 0.5, the first 0.3 at its second point of three.
  const Sharer first = sharer(0, 0, 1024, 3);
  EXPECT_EQ(water_filling(kSm, {first, half}, {{5, 8, 10}, {5, 10}})->blocks, (Blocks{1, 2}));
  EXPECT_EQ(water_filling(kSm, {half, half}, {{5, 10}, {5, 10}})->blocks, (Blocks{2, 1}))
      << "a tie: the first";
}

TEST(WaterFilling, AFrozenKernelLeavesTheRestToTheOthers) {
  // The first has the lowest performance, but its second block does not fit beside one of the second kernel.
  const Sharer large = sharer(0, 65536, 64, 1);
  const Sharer small = sharer(0, 8192, 64, 12);
  const auto spot = water_filling(kSm, {{large.demand, 4}, small}, {{1, 2, 3, 4}, {1, 2, 3, 4, 5, 6, 7, 8}});
  EXPECT_EQ(spot->blocks, (Blocks{1, 4})) << "64 + 4 x 8 KB";
  EXPECT_FALSE(water_filling(kSm, {large, large}, {{1}, {1}})) << "no fit";
}

TEST(WaterFilling, NormalizesByTheMaximumOrByTheLastPoint) {
  const Sharer narrow = sharer(0, 0, 1024, 2);
  const std::vector<ScalabilityCurve> curves = {{4, 2}, {1, 2}};
  EXPECT_DOUBLE_EQ(water_filling(kSm, {narrow, narrow}, curves)->normalized[0], 1.0);
  EXPECT_DOUBLE_EQ(water_filling(kSm, {narrow, narrow}, curves, Normalize::Full)->normalized[0], 2.0);
}

TEST(WaterFilling, TakesKernelsThatNeverMoved) {
  const auto spot = water_filling(kSm, {kBp, kSv}, {{0, 0, 0}, {0, 1}});
  EXPECT_EQ(spot->blocks, (Blocks{1, 2}));
}

TEST(WaterFilling, PropertiesOfAnyCurves) {
  Random random(11);
  for (int round = 0; round < 300; ++round) {
    std::vector<Sharer> sharers;
    std::vector<ScalabilityCurve> curves;
    const std::uint32_t kernels = 2 + random.below(3);
    for (std::uint32_t k = 0; k < kernels; ++k) {
      const std::uint64_t threads = 32 * (1 + random.below(16));
      sharers.push_back(sharer(threads * 16, random.below(8192), threads, 1 + random.below(16)));
      ScalabilityCurve& curve = curves.emplace_back();
      for (int t = 0; t < 16; ++t) curve.push_back(random.below(100));
    }
    const auto spot = water_filling(kSm, sharers, curves);
    if (!spot) continue;
    EXPECT_TRUE(fit_together(kSm, sharers, spot->blocks));
    double sum = 0;
    for (std::size_t i = 0; i < sharers.size(); ++i) {
      EXPECT_LE(spot->blocks[i], sharers[i].most);
      EXPECT_LE(spot->normalized[i], 1.0);
      sum += spot->normalized[i];
      for (std::uint32_t t = 0; t + 1 < spot->blocks[i]; ++t)
        EXPECT_LE(curves[i][t], curves[i][spot->blocks[i] - 1]) << "pushed past its peak";
    }
    EXPECT_DOUBLE_EQ(sum, spot->theoretical_weighted_speedup);
  }
}

TEST(IssueQuotas, AreInProportionToTheSpeedAlone) {
  EXPECT_EQ(issue_quotas({3.2, 0.8}, 1000), (Blocks{1600, 400}));
  EXPECT_EQ(issue_quotas({3.2, 0.8, 0.0001}, 1000), (Blocks{1067, 267, 1})) << "never 0";
  EXPECT_EQ(issue_quotas({0}, 1), (Blocks{1}));
}

TEST(SamplePlan, EachRoundHasPointsOfTheWholeRangeAndNoSpareSm) {
  const SamplePlan plan = plan_all_points(4, {3, 2});
  ASSERT_EQ(plan.size(), 2U);
  EXPECT_EQ(plan[0], (std::vector<SamplePoint>{{0, 1}, {0, 3}, {1, 2}, {0, 3}}));
  EXPECT_EQ(plan[1], (std::vector<SamplePoint>{{0, 2}, {1, 1}, {0, 2}, {1, 1}}));
  EXPECT_EQ(plan_all_points(1, {1, 1, 1}).size(), 3U) << "more kernels than SMs";
}

TEST(SamplePlan, SmsStayWithTheirKernelsOverTheRounds) {
  const SamplePlan plan = plan_all_points(16, {16, 16});  // dai18: 32 points on 16 SMs
  ASSERT_EQ(plan.size(), 2U);
  for (std::size_t sm = 0; sm < 16; ++sm) {
    const SamplePoint first = plan[0][sm], second = plan[1][sm];
    EXPECT_EQ(first, (SamplePoint{sm / 8, static_cast<std::uint32_t>(1 + sm % 8 * 2)}));
    EXPECT_EQ(second, (SamplePoint{first.kernel, first.blocks + 1}));
  }
}

TEST(SamplePlan, HasEachPointWhateverTheSmsAndKernels) {
  for (std::uint32_t sms = 1; sms <= 17; ++sms) {
    for (const std::vector<std::uint32_t>& most :
         {Blocks{1}, Blocks{5, 16}, Blocks{16, 16, 15}, Blocks{1, 2, 3, 4}}) {
      std::vector<Blocks> seen;
      for (const std::uint32_t m : most) seen.emplace_back(m, 0);
      const SamplePlan plan = plan_all_points(sms, most);
      for (const std::vector<SamplePoint>& round : plan) {
        EXPECT_EQ(round.size(), sms);
        for (const SamplePoint& point : round) ++seen.at(point.kernel).at(point.blocks - 1);
      }
      for (const Blocks& kernel : seen)
        for (const std::uint32_t times : kernel) EXPECT_GT(times, 0U);
      const std::uint32_t points = std::accumulate(most.begin(), most.end(), 0U);
      EXPECT_EQ(plan.size(), (points + sms - 1) / sms);
    }
  }
}

TEST(SamplePlan, OneRoundSpreadsThePoints) {
  const SamplePlan plan = plan_one_round(16, {16, 4});
  ASSERT_EQ(plan.size(), 1U);
  Blocks first;
  Blocks second;
  for (const SamplePoint& point : plan[0]) (point.kernel == 0 ? first : second).push_back(point.blocks);
  EXPECT_EQ(first, (Blocks{1, 3, 5, 7, 10, 12, 14, 16}));
  EXPECT_EQ(second, (Blocks{1, 2, 3, 4, 1, 2, 3, 4}));
  EXPECT_EQ(plan_one_round(3, {5, 7})[0], (std::vector<SamplePoint>{{0, 1}, {0, 5}, {1, 7}}));
  EXPECT_EQ(plan_one_round(1, {5, 7})[0].size(), 1U);
}

TEST(Scaling, CorrectsWhatWaitsForMemory) {
  // Half of its cycles stalled on memory, 2 blocks where the average is 4: 10 x (1 + 0.5 x (4/2 - 1)) = 15.
  EXPECT_DOUBLE_EQ(scaled_ipc({{0, 2}, 10, 0.5}, 4, 1), 15);
  EXPECT_DOUBLE_EQ(scaled_ipc({{0, 8}, 10, 0.5}, 4, 1), 7.5);
  EXPECT_DOUBLE_EQ(scaled_ipc({{0, 2}, 10, 0}, 4, 1), 10) << "compute bound";
  EXPECT_DOUBLE_EQ(scaled_ipc({{0, 2}, 10, 0.5}, 4, 0), 10) << "not corrected";
  EXPECT_DOUBLE_EQ(scaled_ipc({{0, 8}, 10, 1}, 4, 3), 0);
}

TEST(SampledCurve, AveragesAndInterpolates) {
  SampledCurve samples;
  EXPECT_EQ(samples.curve(3), (ScalabilityCurve{1, 2, 3})) << "nothing is known";
  samples.add(4, 8);
  samples.add(2, 5);
  samples.add(2, 7);
  EXPECT_EQ(samples.curve(6), (ScalabilityCurve{3, 6, 7, 8, 8, 8}));
  EXPECT_EQ(samples.curve(1), (ScalabilityCurve{3}));
}

}  // namespace
}  // namespace gpumux::policy
