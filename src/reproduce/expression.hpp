// Expressions: the small language of experiment files for numbers that follow from others.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"

namespace gpumux::reproduce {

/// A number, or the reason why there is none.
struct Value {
  std::optional<double> number;
  std::string why;
  /// True if nothing is missing, but the result is infinite or not a number, as x / 0.
  bool is_undefined = false;

  static Value none(std::string why) { return {std::nullopt, std::move(why)}; }
  static Value undefined(std::string why) { return {std::nullopt, std::move(why), true}; }
  /// `number` as a Value; undefined if it is infinite or not a number.
  static Value finite(double number);
};

/// The value that explains why a result has no number: the first that is missing, else the first that is
/// undefined; nullptr if all are numbers. Missing values come first, because a result that waits for a run is
/// not judged by other runs.
[[nodiscard]] const Value* first_without_number(const Value* begin, const Value* end);

/// `text` as a name or a part of a name: '_' replaces any character that is neither a letter nor a digit.
[[nodiscard]] std::string identifier(std::string_view text);

/// Returns the value of a name. Called only for names in the expression.
using Lookup = std::function<Value(const std::string& name)>;
/// Returns how much a name counts in a mean, 0 or more; nothing: as much as a number, which counts once.
using Weight = std::function<std::optional<double>(const std::string& name)>;

/// An expression of an experiment file.
/// It has numbers, names (a, a.b), + - * /, parentheses, `and`, and comparisons < <= > >= ~ (1 if true, else
/// 0; a < b < c means both; ~: within 5 percent of the larger magnitude). Functions: min, max, mean,
/// geometric (any number of values), abs (one value), percent(new, old) = 100 * (new / old - 1),
/// reduction(new, old) = 100 * (1 - new / old).
/// A result with a missing operand is missing, for the same reason. A result that cannot be a number (x / 0)
/// is undefined.
class Expression {
 public:
  Expression() = default;
  /// Parses `text`. Throws UserError at `where`.
  Expression(std::string_view text, const SourceLocation& where);

  [[nodiscard]] Value evaluate(const Lookup& lookup) const { return evaluate(lookup, nullptr); }
  /// With `weight`, mean() and geometric() weigh their values: a value of names of one weight has this
  /// weight, any other value counts once. A mean in which nothing counts is undefined.
  [[nodiscard]] Value evaluate(const Lookup& lookup, const Weight& weight) const;
  /// True if the expression has mean() or geometric().
  [[nodiscard]] bool has_mean() const;
  /// The names in the expression, each once, in order of first use.
  [[nodiscard]] const std::vector<std::string>& names() const { return names_; }
  [[nodiscard]] const std::string& text() const { return text_; }
  /// True if the last operation is a comparison or `and`, so that the value is 0 or 1.
  [[nodiscard]] bool is_condition() const;
  /// The text with values in place of names: "1.21 > 1.13".
  [[nodiscard]] std::string with_values(const Lookup& lookup) const;

 private:
  friend class ExpressionParser;
  enum class Op {
    Number,
    Name,
    Negate,
    Add,
    Subtract,
    Multiply,
    Divide,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    Near,
    And,
    Min,
    Max,
    Mean,
    Geometric,
    Abs,
    Percent,
    Reduction
  };
  struct Step {
    Op op;
    double number = 0;      // for Number
    std::size_t index = 0;  // for Name: in names_; for functions: number of values
  };
  struct NamePlace {
    std::size_t begin, length, index;
  };

  [[nodiscard]] static Value combine(const Step& step, const Value* values, std::size_t count);
  /// mean() or geometric() of values that count differently.
  [[nodiscard]] static Value weighted(Op op, const Value* values, const std::optional<double>* weights,
                                      std::size_t count);

  std::string text_;
  std::vector<std::string> names_;
  std::vector<Step> steps_;  // in postfix order
  std::vector<NamePlace> places_;
};

}  // namespace gpumux::reproduce
