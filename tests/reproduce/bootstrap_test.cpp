// Bootstrap intervals of means over workloads, against the values that statistics predicts.
#include "reproduce/bootstrap.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "base/hash.hpp"

namespace gpumux::reproduce {
namespace {

std::vector<std::string> names(std::size_t count) {
  std::vector<std::string> all;
  for (std::size_t i = 0; i < count; ++i) all.push_back("workload " + std::to_string(i));
  return all;
}

TEST(Bootstrap, OfAMeanIsAsWideAsItsStandardError) {
  // Normal by the sum of twelve uniform ones: mean 10, deviation 1; of 100, the mean deviates by 0.1.
  Random random(7);
  std::vector<double> values;
  for (int i = 0; i < 100; ++i) {
    double sum = 4;
    for (int k = 0; k < 12; ++k) sum += random.unit();
    values.push_back(sum);
  }
  const auto interval = interval_of(replicates(Reduce::Mean, {values}, names(values.size())));
  ASSERT_TRUE(interval);
  double mean = 0;
  for (const double value : values) mean += value / 100;
  EXPECT_NEAR(interval->low, mean - 0.196, 0.05);
  EXPECT_NEAR(interval->high, mean + 0.196, 0.05);
}

TEST(Bootstrap, DrawsAreOfWorkloadsAndDependOnTheirNamesAlone) {
  // Two samples of each of two workloads: a draw has both of one, or each once.
  const std::vector<double> values = {1, 3, 11, 13};
  const std::vector<std::string> of = {"a", "a", "b", "b"};
  Replicates draws = replicates(Reduce::Mean, {values}, of);
  EXPECT_EQ(draws.size(), kReplicates);
  EXPECT_EQ(draws, replicates(Reduce::Mean, {values}, of));
  for (const double mean : {2.0, 7.0, 12.0})
    EXPECT_NEAR(static_cast<double>(std::count(draws.begin(), draws.end(), mean)) / kReplicates,
                mean == 7 ? 0.5 : 0.25, 0.05);
  EXPECT_EQ(std::count_if(draws.begin(), draws.end(), [](double m) { return m != 2 && m != 7 && m != 12; }),
            0);
  // In another order of samples, the same draws; so that policies are compared on the same ones.
  EXPECT_EQ(replicates(Reduce::Mean, {{11, 13, 1, 3}}, {"b", "b", "a", "a"}), draws);
  std::vector<double> twice = values;
  for (double& value : twice) value *= 2;
  const Replicates doubled = replicates(Reduce::Mean, {twice}, of);
  for (std::size_t i = 0; i < draws.size(); ++i) EXPECT_EQ(doubled[i], 2 * draws[i]);
  EXPECT_NE(replicates(Reduce::Mean, {values}, {"a", "a", "c", "c"}), draws);
}

TEST(Bootstrap, WorkloadsOfWhichNothingCountsAreDrawn) {
  // "a" alone counts: a draw has it, or has nothing.
  Replicates draws = replicates(Reduce::Mean, {{5}}, {"a"}, {"b"});
  ASSERT_EQ(draws.size(), kReplicates);
  const auto without = std::count_if(draws.begin(), draws.end(), [](double m) { return std::isnan(m); });
  EXPECT_NEAR(static_cast<double>(without) / kReplicates, 0.25, 0.05);
  EXPECT_FALSE(interval_of(draws)) << "a quarter has no number";
  // The draws are those of a quantity that counts both.
  const Replicates both = replicates(Reduce::Count, {{1, 1}}, {"a", "b"});
  const Replicates counts = replicates(Reduce::Count, {{1}}, {"a"}, {"b"});
  for (std::size_t i = 0; i < draws.size(); ++i) EXPECT_EQ(std::isnan(draws[i]), counts[i] == 0);
  EXPECT_EQ(std::count(both.begin(), both.end(), 2), static_cast<std::ptrdiff_t>(kReplicates));
}

TEST(Bootstrap, WhatDoesNotVaryHasNoInterval) {
  EXPECT_TRUE(replicates(Reduce::Mean, {{1, 2}}, {"a", "a"}).empty());
  EXPECT_FALSE(replicates(Reduce::Max, {{1, 2}}, {"a", "b"}).empty());
  EXPECT_TRUE(replicates(Reduce::Only, {{1}}, {"a"}).empty());
  EXPECT_FALSE(interval_of({}));
  EXPECT_EQ(interval_of({2, 2, 2}).value().low, interval_of({2, 2, 2}).value().high);
  EXPECT_FALSE(replicates(Reduce::Count, {{1, 0}}, {"a", "b"}).empty());
}

TEST(Bootstrap, PercentilesLeaveOutWhatHasNoNumber) {
  Replicates values;
  for (int i = 0; i <= 1000; ++i) values.push_back(i);
  std::reverse(values.begin(), values.end());
  const auto interval = interval_of(values);
  ASSERT_TRUE(interval);
  EXPECT_EQ(interval->low, 25);
  EXPECT_EQ(interval->high, 975);
  for (int i = 0; i < 100; ++i) values.push_back(std::numeric_limits<double>::quiet_NaN());
  ASSERT_TRUE(interval_of(values));
  EXPECT_EQ(interval_of(values)->high, 975);
  for (int i = 0; i < 100; ++i) values.push_back(std::numeric_limits<double>::infinity());
  EXPECT_FALSE(interval_of(values));
}

}  // namespace
}  // namespace gpumux::reproduce
