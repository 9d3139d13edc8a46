// The language of experiment files: values worked out by hand, missing values, and texts that are not
// expressions.
#include "reproduce/expression.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <optional>

namespace gpumux::reproduce {
namespace {

Value lookup(const std::string& name) {
  if (name == "a") return {2.0, ""};
  if (name == "b") return {3.0, ""};
  if (name == "zero") return {0.0, ""};
  if (name == "part.of_1") return {0.5, ""};
  return Value::none(name + " is missing");
}
Value value(std::string_view text) { return Expression(text, {"e.toml", 3, 7}).evaluate(lookup); }

TEST(Expression, ValuesWorkedByHand) {
  const std::pair<const char*, double> cases[] = {
      {"1", 1},
      {"1.5e1", 15},
      {"2e-3", 0.002},
      {"a", 2},
      {"part.of_1", 0.5},
      {"a + b * 4", 14},
      {"(a + b) * 4", 20},
      {"10 - a - b", 5},
      {"12 / a / b", 2},
      {"-a + b", 1},
      {"--a", 2},
      {"a - -b", 5},
      {"2 * -a", -4},
      {"100 * (b / a - 1)", 50},
      {"percent(b, a)", 50},
      {"reduction(a, b + 1)", 50},
      {"min(b, a, 7)", 2},
      {"max(b, a, -7)", 3},
      {"mean(a, b, 4)", 3},
      {"geometric(a, 8)", 4},
      {"abs(a - b)", 1},
      {"a < b", 1},
      {"b < a", 0},
      {"a <= 2", 1},
      {"a >= 2.1", 0},
      {"a > 1.9", 1},
      {"1 < a < b", 1},
      {"1 < b < a", 0},
      {"a < b and b < 4", 1},
      {"a < b and b > 4", 0},
      {"95 ~ 100", 1},
      {"94.9 ~ 100", 0},
      {"100 ~ 95", 1},
      {"-95 ~ -100", 1},
      {"1 ~ -1", 0},
      {"1 < a ~ 2.05 < b", 1},
      {"(a < b) + (b < a) + (1 < 2)", 2},
  };
  for (const auto& [text, expected] : cases) {
    const Value got = value(text);
    ASSERT_TRUE(got.number) << text << ": " << got.why;
    EXPECT_DOUBLE_EQ(*got.number, expected) << text;
  }
}

TEST(Expression, WhatIsMissingStaysMissingAndSaysWhy) {
  EXPECT_EQ(value("a + c * 2").why, "c is missing");
  EXPECT_EQ(value("c < 1 and a < b").why, "c is missing");
  EXPECT_EQ(value("min(a, d, c)").why, "d is missing");
  EXPECT_EQ(value("a / zero").why, "divides by zero");
  EXPECT_EQ(value("percent(a, zero)").why, "divides by zero");
  EXPECT_EQ(value("1e300 * 1e300").why, "is infinite");
  EXPECT_EQ(value("1 + -1e300 * 1e300").why, "is infinite");
}

TEST(Expression, WhatNoNumberCanBeIsUndefinedNotMissing) {
  for (const char* text : {"a / zero", "reduction(a, zero)", "1e300 * 1e300 < 1", "geometric(a, zero)",
                           "geometric(a, -b)", "2 * (a / zero) + b"}) {
    EXPECT_FALSE(value(text).number) << text;
    EXPECT_TRUE(value(text).is_undefined) << text;
  }
  EXPECT_FALSE(value("a + c").is_undefined);
  EXPECT_FALSE(value("a + b").is_undefined);
  EXPECT_EQ(Value::finite(std::nan("")).why, "is not a number");
  EXPECT_EQ(Value::finite(-INFINITY).why, "is infinite");
  EXPECT_EQ(Value::finite(2).number, 2);
}

TEST(Expression, WhatIsMissingIsMissingWhateverElseIsUndefined) {
  for (const char* text :
       {"a / zero + c", "c + a / zero", "a / zero > c", "c < a / zero", "min(a, b / zero, c)"}) {
    EXPECT_FALSE(value(text).number) << text;
    EXPECT_FALSE(value(text).is_undefined) << text;
  }
}

TEST(Expression, MeansWeighTheirNames) {
  // a = 2 counts three times, b = 3 once, part.of_1 = 0.5 not at all; zero has no weight.
  const Weight weight = [](const std::string& name) -> std::optional<double> {
    if (name == "a") return 3;
    if (name == "b") return 1;
    if (name == "part.of_1") return 0;
    return std::nullopt;
  };
  const std::pair<const char*, double> cases[] = {
      {"mean(a, b)", (3 * 2 + 3) / 4.0},
      {"mean(a, b, part.of_1)", (3 * 2 + 3) / 4.0},
      {"mean(10 * a, b + 1)", (3 * 20 + 4) / 4.0},     // a number takes no part in the weight
      {"mean(a, 6)", (3 * 2 + 3 * 6) / 6.0},           // nor in a mean with names of one weight
      {"mean(a, b, 6)", (3 * 2 + 3 + 6) / 5.0},        // but counts once where weights differ
      {"mean(mean(a, a + 2), b)", (3 * 3 + 3) / 4.0},  // a mean of one weight has this weight
      {"mean(a + b, 1)", 3},                           // a value of two weights counts once
      {"100 * mean(a, b)", 100 * (3 * 2 + 3) / 4.0},
      {"geometric(a, b)", std::pow(2 * 2 * 2 * 3, 0.25)},
      {"max(a, b)", 3},
  };
  for (const auto& [text, expected] : cases) {
    const Value got = Expression(text, {}).evaluate(lookup, weight);
    ASSERT_TRUE(got.number) << text << ": " << got.why;
    EXPECT_NEAR(*got.number, expected, 1e-12) << text;
  }
  const Weight none = [](const std::string& name) -> std::optional<double> { return name == "a" ? 0 : -0.0; };
  EXPECT_DOUBLE_EQ(*Expression("mean(a, b)", {}).evaluate(lookup, none).number, 2.5) << "of one weight";
  const Weight only_zero = [](const std::string& name) -> std::optional<double> {
    return name == "zero" ? 1 : 0;
  };
  EXPECT_DOUBLE_EQ(*Expression("mean(a, zero)", {}).evaluate(lookup, only_zero).number, 0);
  EXPECT_TRUE(Expression("geometric(a, zero)", {}).evaluate(lookup, only_zero).is_undefined);
  EXPECT_TRUE(Expression("1 + mean(a)", {}).has_mean());
  EXPECT_FALSE(Expression("max(a, b) - a", {}).has_mean());
}

TEST(Expression, SaysWhatItIs) {
  const Expression e("speed > slow and 1 < speed", {});
  EXPECT_TRUE(e.is_condition());
  EXPECT_EQ(e.names(), (std::vector<std::string>{"speed", "slow"}));
  EXPECT_FALSE(Expression("a - b", {}).is_condition());
  EXPECT_FALSE(Expression("(a < b) + 1", {}).is_condition());
  const auto values = [](const std::string& name) {
    return name == "speed" ? Value{1.23456, ""} : name == "slow" ? Value{1e-7, ""} : Value::none("x");
  };
  EXPECT_EQ(e.with_values(values), "1.235 > 1e-07 and 1 < 1.235");
  EXPECT_EQ(Expression("max(speed, other)", {}).with_values(values), "max(1.235, ?)");
}

TEST(Expression, TextsThatAreNoneAreRefusedAtTheirPlace) {
  for (const char* text :
       {"",       " ",       "1 +",       "* 2",        "a b",  "(a",    "a)",  "a,b", "min()",
        "min(a",  "sqrt(a)", "abs(a, b)", "percent(a)", "1..2", "1e999", "1x",  "a &", "a == b",
        "a << b", "and",     "a and",     "< a",        "$",    "\"a\"", "a;b", "é"}) {
    try {
      (void)Expression(text, {"e.toml", 3, 7});
      // "and" alone is a name like another.
      EXPECT_STREQ(text, "and");
    } catch (const UserError& error) {
      EXPECT_TRUE(std::string_view(error.what()).starts_with("e.toml:3:7: error: ")) << error.what();
    }
  }
}

TEST(Expression, DeepAndLongTextsAreRefusedNotFollowed) {
  const auto refused = [](const std::string& text) {
    EXPECT_THROW(Expression(text, {}), UserError) << text.size();
  };
  refused(std::string(900, '(') + "1" + std::string(900, ')'));
  refused(std::string(1500, '-') + "1");
  refused(std::string(100'000, '1'));
  std::string nested = "x";  // each level would double what is to be worked out
  for (int i = 0; i < 40; ++i) nested = "1 < (" + nested + ") < 2";
  refused(nested);
  std::string flat = "1";
  for (int i = 0; i < 400; ++i) flat += " + 1";
  EXPECT_DOUBLE_EQ(*value(flat).number, 401);
}

}  // namespace
}  // namespace gpumux::reproduce
