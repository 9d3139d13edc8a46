// Metrics, worked out by hand.
#include <gtest/gtest.h>

#include "experiment/run.hpp"

namespace gpumux::experiment {
namespace {

TEST(Metrics, OfTwoApplications) {
  const Metrics m = metrics({50, 30}, {100, 40});  // normalized 0.5 and 0.75
  ASSERT_EQ(m.normalized_ipc.size(), 2U);
  EXPECT_DOUBLE_EQ(*m.normalized_ipc[0], 0.5);
  EXPECT_DOUBLE_EQ(*m.normalized_ipc[1], 0.75);
  EXPECT_DOUBLE_EQ(*m.weighted_speedup, 1.25);
  EXPECT_DOUBLE_EQ(*m.stp, 1.25);
  EXPECT_DOUBLE_EQ(*m.antt, (2.0 + 4.0 / 3.0) / 2);
  EXPECT_DOUBLE_EQ(*m.fairness, 0.5 / 0.75);
}

TEST(Metrics, OfThreeDoNotDependOnOrder) {
  const Metrics m = metrics({10, 40, 30}, {100, 40, 60});  // 0.1, 1, 0.5
  const Metrics n = metrics({30, 10, 40}, {60, 100, 40});
  EXPECT_DOUBLE_EQ(*m.fairness, 0.1);
  EXPECT_DOUBLE_EQ(*m.antt, (10.0 + 1.0 + 2.0) / 3);
  EXPECT_DOUBLE_EQ(*m.fairness, *n.fairness);
  EXPECT_DOUBLE_EQ(*m.antt, *n.antt);
  EXPECT_DOUBLE_EQ(*m.weighted_speedup, *n.weighted_speedup);
}

TEST(Metrics, AloneEverythingIsOne) {
  const Metrics m = metrics({77.5}, {77.5});
  EXPECT_EQ(m.weighted_speedup, 1.0);
  EXPECT_EQ(m.antt, 1.0);
  EXPECT_EQ(m.stp, 1.0);
  EXPECT_EQ(m.fairness, 1.0);
}

TEST(Metrics, WithoutProgressInCompanyTurnaroundIsUndefined) {
  const Metrics m = metrics({100, 0}, {100, 40});
  EXPECT_EQ(m.normalized_ipc[1], 0.0);
  EXPECT_EQ(m.weighted_speedup, 1.0);
  EXPECT_EQ(m.fairness, 0.0);
  EXPECT_FALSE(m.antt);
}

TEST(Metrics, WithoutProgressAtAllFairnessIsUndefinedToo) {
  const Metrics m = metrics({0, 0}, {100, 40});
  EXPECT_EQ(m.weighted_speedup, 0.0);
  EXPECT_FALSE(m.fairness);
  EXPECT_FALSE(m.antt);
}

TEST(Metrics, WithoutProgressAloneAllAreUndefined) {
  const Metrics m = metrics({100, 5}, {100, 0});
  EXPECT_EQ(m.normalized_ipc[0], 1.0);
  EXPECT_FALSE(m.normalized_ipc[1]);
  EXPECT_FALSE(m.weighted_speedup);
  EXPECT_FALSE(m.stp);
  EXPECT_FALSE(m.antt);
  EXPECT_FALSE(m.fairness);
}

TEST(Metrics, OfNothingAreUndefined) {
  const Metrics m = metrics({}, {});
  EXPECT_FALSE(m.weighted_speedup);
  EXPECT_FALSE(m.antt);
}

}  // namespace
}  // namespace gpumux::experiment
