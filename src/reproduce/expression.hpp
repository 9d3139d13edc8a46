// The small language in which experiment files say how one number follows from others.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"

namespace gpumux::reproduce {

/// A number, or why there is none.
struct Value {
  std::optional<double> number;
  std::string why;
  /// There is no number although nothing is missing: it is infinite, or none, as x / 0.
  bool is_undefined = false;

  static Value none(std::string why) { return {std::nullopt, std::move(why)}; }
  static Value undefined(std::string why) { return {std::nullopt, std::move(why), true}; }
  /// `number`; undefined when it is infinite or not a number.
  static Value finite(double number);
};

/// Of values that something is made of, why it has no number: the first that is missing, else the first that
/// is undefined; null when all are numbers. What waits for a run is not judged by what the other runs give.
[[nodiscard]] const Value* first_without_number(const Value* begin, const Value* end);

/// `text` as a name, or a part of one: '_' in place of what is neither letter nor digit.
[[nodiscard]] std::string identifier(std::string_view text);

/// What a name stands for. Called for names of the expression alone.
using Lookup = std::function<Value(const std::string& name)>;

/// Numbers, names (a, a.b), + - * /, parentheses, comparisons < <= > >= ~ (1 when true, 0 when not; a < b < c
/// means both; ~: within 5 percent of the greater magnitude), `and`, and the functions min, max, mean,
/// geometric (any number of values), abs (one), percent(new, old) = 100 * (new / old - 1) and
/// reduction(new, old) = 100 * (1 - new / old). Whatever is made of a missing value is missing, for the same
/// reason; what no number can be (x / 0) is undefined.
class Expression {
 public:
  Expression() = default;
  /// Throws UserError at `where`.
  Expression(std::string_view text, const SourceLocation& where);

  [[nodiscard]] Value evaluate(const Lookup& lookup) const;
  /// The names in it, each once, in the order of their first use.
  [[nodiscard]] const std::vector<std::string>& names() const { return names_; }
  [[nodiscard]] const std::string& text() const { return text_; }
  /// True when its last step compares: its value is 0 or 1.
  [[nodiscard]] bool is_condition() const;
  /// The text with values in the place of names: "1.21 > 1.13".
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
    double number = 0;      // of Number
    std::size_t index = 0;  // of Name: in names_; of functions: how many values
  };
  struct NamePlace {
    std::size_t begin, length, index;
  };

  [[nodiscard]] static Value combine(const Step& step, const Value* values, std::size_t count);

  std::string text_;
  std::vector<std::string> names_;
  std::vector<Step> steps_;  // operands before their operation
  std::vector<NamePlace> places_;
};

}  // namespace gpumux::reproduce
