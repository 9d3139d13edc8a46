// Judgement of results against claims, by direction and size, worked out by hand.
#include "reproduce/judge.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <utility>

namespace gpumux::reproduce {
namespace {

Claim claim(double value, const char* unit, std::optional<double> no_effect, Better better = Better::Higher,
            Bound bound = Bound::None) {
  Claim claim;
  claim.value = value;
  claim.unit = unit;
  claim.no_effect = no_effect;
  claim.better = better;
  claim.bound = bound;
  return claim;
}

/// Many workloads, all of which say the same.
const Evidence kFirm{13, std::nullopt};

constexpr Standing kNone = Standing::None;
constexpr Standing kAgrees = Standing::Agrees;
constexpr Standing kDiffers = Standing::Differs;

struct Case {
  Claim claim;
  double ours;
  Standing direction, size;
};

TEST(Judge, DirectionAndSize) {
  const Claim ratio = claim(1.3, "ratio", 1);                // sizes from 0.867 to 1.733
  const Claim gain = claim(24.6, "percent improvement", 0);  // from 16.4 to 32.8
  const Claim loss = claim(-9, "percent improvement", 0);    // 3 points are a third
  const Claim little = claim(2, "percent improvement", 0);   // from -1 to 5
  const Claim slower = claim(0.75, "ratio", 1, Better::Lower);
  const Claim level = claim(30, "percent", std::nullopt);
  const Claim count = claim(12, "count", std::nullopt);  // from 8 to 16
  Claim reach = claim(97, "percent", std::nullopt);      // misses 3: from 94 to 100
  Claim most = claim(70, "percent", std::nullopt);       // misses 30: from 60 to 80
  reach.most = most.most = 100;
  const Claim small = claim(5, "percent loss", 0, Better::Lower, Bound::Less);
  const Claim large = claim(10, "percent improvement", 0, Better::Higher, Bound::Greater);
  const Claim about = claim(1.5, "ratio", 1, Better::Higher, Bound::About);
  const Claim nearly = claim(99, "percent of baseline", 100, Better::Higher, Bound::GreaterEqual);
  const Claim kept = claim(70, "percent of baseline", 100);  // 30 less: from 60 to 80
  const Case cases[] = {
      {ratio, 1.3, kAgrees, kAgrees},
      {ratio, 1.733, kAgrees, kAgrees},
      {ratio, 1.734, kAgrees, kDiffers},
      {ratio, 1.0001, kAgrees, kAgrees},
      {ratio, 1.0, kDiffers, kAgrees},
      {ratio, 0.866, kDiffers, kDiffers},
      {about, 2, kAgrees, kAgrees},
      {gain, 16.4, kAgrees, kAgrees},
      {gain, 16.3, kAgrees, kDiffers},
      {gain, 32.8, kAgrees, kAgrees},
      {gain, 0.1, kAgrees, kDiffers},
      {gain, -24.6, kDiffers, kDiffers},
      {loss, -6, kAgrees, kAgrees},
      {loss, -5.9, kAgrees, kDiffers},
      {loss, 3, kDiffers, kDiffers},
      {little, 4.9, kAgrees, kAgrees},
      {little, 5.1, kAgrees, kDiffers},
      {little, -0.9, kDiffers, kAgrees},
      {slower, 1, kDiffers, kAgrees},
      {slower, 0.5, kAgrees, kAgrees},
      {slower, 0.49, kAgrees, kDiffers},
      {level, 20, kNone, kAgrees},
      {level, 19, kNone, kDiffers},
      {count, 8, kNone, kAgrees},
      {count, 16.1, kNone, kDiffers},
      {reach, 94, kNone, kAgrees},
      {reach, 93.9, kNone, kDiffers},
      {most, 60, kNone, kAgrees},
      {most, 81, kNone, kDiffers},
      {small, 4.9, kNone, kAgrees},  // no loss at all would be less than 5 percent, too
      {small, -1, kNone, kAgrees},
      {small, 5, kNone, kDiffers},
      {large, 11, kAgrees, kAgrees},
      {large, 9, kAgrees, kDiffers},
      {large, 10, kAgrees, kDiffers},
      {large, -3, kDiffers, kDiffers},
      {nearly, 99, kNone, kAgrees},
      {nearly, 98.9, kNone, kDiffers},
      {kept, 80, kAgrees, kAgrees},
      {kept, 81, kAgrees, kDiffers},
      {claim(0, "percent improvement", 0), 2, kNone, kAgrees},  // the paper saw no effect
      {claim(0, "percent improvement", 0), 4, kNone, kDiffers},
      {claim(0, "count", std::nullopt), 1, kNone, kNone},
      {claim(13, "count", std::nullopt, Better::None), 13, kNone, kNone},
  };
  for (const Case& c : cases) {
    const Verdict verdict = judge(c.claim, {c.ours, ""}, kFirm);
    EXPECT_EQ(verdict.direction, c.direction) << c.claim.value << ' ' << c.claim.unit << ' ' << c.ours;
    EXPECT_EQ(verdict.size, c.size) << c.claim.value << ' ' << c.claim.unit << ' ' << c.ours;
    // Whatever is not said is explained.
    EXPECT_TRUE((verdict.direction != kNone && verdict.size != kNone) || !verdict.note.empty());
  }
}

TEST(Judge, AnIntervalDecidesOrLeavesOpen) {
  const Claim gain = claim(24, "percent improvement", 0);
  const auto judged = [&](double ours, std::size_t workloads, double low, double high) {
    const Verdict verdict = judge(gain, {ours, ""}, {workloads, Interval{low, high}});
    return std::pair(verdict.direction, verdict.size);
  };
  EXPECT_EQ(judged(20, 13, 15, 25), std::pair(kAgrees, kAgrees));
  EXPECT_EQ(judged(20, 13, 14, 26.1), std::pair(kAgrees, Standing::Undecided));  // wider than 12
  EXPECT_EQ(judged(5, 13, -1, 11), std::pair(Standing::Leans, kDiffers));
  EXPECT_EQ(judged(-5, 13, -11, 1), std::pair(Standing::LeansAway, kDiffers));
  EXPECT_EQ(judged(-5, 13, -10, -1), std::pair(kDiffers, kDiffers));
  // Five workloads decide no direction.
  EXPECT_EQ(judged(20, 5, 18, 22), std::pair(Standing::Leans, kAgrees));
  EXPECT_EQ(judged(-20, 5, -22, -18), std::pair(Standing::LeansAway, kDiffers));
  EXPECT_EQ(judge(gain, {20, ""}, {1, std::nullopt}).direction, Standing::Leans);
  // Without an interval that could be known, nothing is decided.
  const Verdict open = judge(gain, {20, ""}, {13, std::nullopt, true});
  EXPECT_EQ(open.direction, Standing::Leans);
  EXPECT_EQ(open.size, Standing::Undecided);
  // Three points are never too wide for a percentage.
  const Claim little = claim(2, "percent improvement", 0);
  EXPECT_EQ(judge(little, {2.5, ""}, {13, Interval{1, 4}}).size, kAgrees);
  EXPECT_EQ(judge(little, {2.5, ""}, {13, Interval{0, 4}}).size, Standing::Undecided);
  // The other way round.
  const Claim slower = claim(-24, "percent improvement", 0);
  EXPECT_EQ(judge(slower, {-20, ""}, {13, Interval{-25, -15}}).direction, kAgrees);
  EXPECT_EQ(judge(slower, {-5, ""}, {13, Interval{-11, 1}}).direction, Standing::Leans);
  EXPECT_EQ(judge(slower, {5, ""}, {13, Interval{-1, 11}}).direction, Standing::LeansAway);
  EXPECT_EQ(judge(slower, {5, ""}, {13, Interval{1, 11}}).direction, kDiffers);
}

TEST(Judge, WhatIsMissingIsNotJudged) {
  const Verdict verdict = judge(claim(1.3, "ratio", 1), Value::none("the run failed"), kFirm);
  EXPECT_EQ(verdict.direction, kNone);
  EXPECT_EQ(verdict.size, kNone);
  EXPECT_EQ(verdict.note, "the run failed");
}

TEST(Judge, WhatIsUndefinedAgreesInNothing) {
  const Value values[] = {Value::undefined("divides by zero"), {INFINITY, ""}, {-INFINITY, ""}, {NAN, ""}};
  for (const Value& ours : values) {
    for (const double paper : {1.3, 0.7}) {
      const Verdict verdict = judge(claim(paper, "ratio", 1), ours, kFirm);
      EXPECT_EQ(verdict.direction, kDiffers);
      EXPECT_EQ(verdict.size, kDiffers);
      EXPECT_FALSE(verdict.note.empty());
    }
    EXPECT_EQ(judge(claim(90, "percent", std::nullopt), ours, kFirm).size, kDiffers);
    for (const Bound bound : {Bound::Less, Bound::LessEqual, Bound::Greater, Bound::GreaterEqual}) {
      EXPECT_EQ(judge(claim(5, "percent loss", 0, Better::Lower, bound), ours, kFirm).size, kDiffers);
    }
    const Verdict none = judge(claim(13, "count", std::nullopt, Better::None), ours, kFirm);
    EXPECT_TRUE(none.direction == kNone && none.size == kNone);
  }
  EXPECT_EQ(judge(claim(1.3, "ratio", 1), values[0], kFirm).note, "divides by zero");
  EXPECT_EQ(judge(claim(90, "percent", std::nullopt), values[1], kFirm).note,
            "is infinite; a level: there is no side to be on");
}

}  // namespace
}  // namespace gpumux::reproduce
