// Direction and size of agreement, worked by hand.
#include "reproduce/judge.hpp"

#include <gtest/gtest.h>

#include <cmath>

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

struct Case {
  Claim claim;
  double ours;
  std::optional<bool> direction, size;
};

TEST(Judge, DirectionAndSize) {
  const auto none = std::optional<bool>();
  const Claim ratio = claim(1.3, "ratio", 1);                // effect 0.3: sizes from 1.2 to 1.4
  const Claim gain = claim(24.6, "percent improvement", 0);  // from 16.4 to 32.8
  const Claim loss = claim(-9, "percent improvement", 0);
  const Claim slower = claim(0.7, "ratio", 1, Better::Lower);  // effect -0.3: from 0.6 to 0.8
  const Claim level = claim(90, "percent", std::nullopt);
  const Claim small = claim(5, "percent loss", 0, Better::Lower, Bound::Less);
  const Claim large = claim(10, "percent improvement", 0, Better::Higher, Bound::Greater);
  const Claim about = claim(1.3, "ratio", 1, Better::Higher, Bound::About);
  const Claim nearly = claim(99, "percent of baseline", 100, Better::Higher, Bound::GreaterEqual);
  const Case cases[] = {
      {ratio, 1.3, true, true},
      {ratio, 1.2, true, true},
      {ratio, 1.4, true, true},
      {ratio, 1.1999, true, false},
      {ratio, 1.4001, true, false},
      {ratio, 1.0001, true, false},
      {ratio, 1.0, false, false},
      {ratio, 0.9, false, false},
      {about, 1.4, true, true},
      {gain, 16.4, true, true},
      {gain, 16.3, true, false},
      {gain, 32.8, true, true},
      {gain, 0.1, true, false},
      {gain, -24.6, false, false},
      {loss, -6, true, true},
      {loss, -5.9, true, false},
      {loss, 3, false, false},
      {slower, 0.6, true, true},
      {slower, 0.81, true, false},
      {slower, 1.1, false, false},
      {level, 60, none, true},
      {level, 59, none, false},
      {small, 4.9, none, true},  // no loss at all would be less than 5 percent, too
      {small, -1, none, true},
      {small, 5, none, false},
      {large, 11, true, true},
      {large, 9, true, false},
      {large, 10, true, false},
      {large, -3, false, false},
      {nearly, 99, none, true},
      {nearly, 98.9, none, false},
      {claim(0, "percent improvement", 0), 0, none, none},  // the paper saw no effect
      {claim(0, "percent", std::nullopt), 1, none, none},
      {claim(13, "count", std::nullopt, Better::None), 13, none, none},
  };
  for (const Case& c : cases) {
    const Verdict verdict = judge(c.claim, {c.ours, ""});
    EXPECT_EQ(verdict.direction_agrees, c.direction) << c.claim.value << ' ' << c.claim.unit << ' ' << c.ours;
    EXPECT_EQ(verdict.size_agrees, c.size) << c.claim.value << ' ' << c.claim.unit << ' ' << c.ours;
    // Whatever is not said is explained.
    EXPECT_TRUE((verdict.direction_agrees && verdict.size_agrees) || !verdict.note.empty());
  }
}

TEST(Judge, WhatIsMissingIsNotJudged) {
  const Verdict verdict = judge(claim(1.3, "ratio", 1), Value::none("the run failed"));
  EXPECT_FALSE(verdict.direction_agrees);
  EXPECT_FALSE(verdict.size_agrees);
  EXPECT_EQ(verdict.note, "the run failed");
}

TEST(Judge, WhatIsUndefinedAgreesInNothing) {
  const Value values[] = {Value::undefined("divides by zero"), {INFINITY, ""}, {-INFINITY, ""}, {NAN, ""}};
  for (const Value& ours : values) {
    for (const double paper : {1.3, 0.7}) {
      const Verdict verdict = judge(claim(paper, "ratio", 1), ours);
      EXPECT_EQ(verdict.direction_agrees, false);
      EXPECT_EQ(verdict.size_agrees, false);
      EXPECT_FALSE(verdict.note.empty());
    }
    EXPECT_EQ(judge(claim(90, "percent", std::nullopt), ours).size_agrees, false);
    for (const Bound bound : {Bound::Less, Bound::LessEqual, Bound::Greater, Bound::GreaterEqual}) {
      EXPECT_EQ(judge(claim(5, "percent loss", 0, Better::Lower, bound), ours).size_agrees, false);
    }
    const Verdict none = judge(claim(13, "count", std::nullopt, Better::None), ours);
    EXPECT_FALSE(none.direction_agrees || none.size_agrees);
  }
  EXPECT_EQ(judge(claim(1.3, "ratio", 1), values[0]).note, "divides by zero");
  EXPECT_EQ(judge(claim(90, "percent", std::nullopt), values[1]).note,
            "is infinite; a level: there is no side to be on");
}

}  // namespace
}  // namespace gpumux::reproduce
