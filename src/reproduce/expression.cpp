#include "reproduce/expression.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>

#include "base/text.hpp"

namespace gpumux::reproduce {

class ExpressionParser {
 public:
  using Op = Expression::Op;
  using Steps = std::vector<Expression::Step>;

  ExpressionParser(Expression& out, const SourceLocation& where)
      : out_(out), text_(out.text_), where_(where) {}

  void parse() {
    out_.steps_ = conjunction();
    skip_space();
    if (at_ != text_.size()) fail("an operator or the end");
  }

 private:
  [[noreturn]] void fail(const std::string& expected) const {
    const std::string rest(text_.substr(at_, 20));
    throw UserError(where_, fmt::format("in '{}': {} was expected {}", text_, expected,
                                        rest.empty() ? "at the end" : fmt::format("at '{}'", rest)));
  }
  void skip_space() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
  }
  bool take(std::string_view symbol) {
    skip_space();
    if (!text_.substr(at_).starts_with(symbol)) return false;
    at_ += symbol.size();
    return true;
  }
  static bool is_name_char(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.';
  }
  bool take_word(std::string_view word) {
    skip_space();
    const std::size_t end = at_ + word.size();
    if (!text_.substr(at_).starts_with(word) || (end < text_.size() && is_name_char(text_[end])))
      return false;
    at_ = end;
    return true;
  }
  /// Appends steps, up to a limit, because a < b < c repeats b, and comparisons can be nested.
  void append(Steps& steps, const Steps& more) const {
    constexpr std::size_t kMaxSteps = 10'000;
    if (steps.size() + more.size() > kMaxSteps)
      throw UserError(where_, "is too long once a < b < c is written out");
    steps.insert(steps.end(), more.begin(), more.end());
  }

  Steps conjunction() {
    Steps steps = comparison();
    while (take_word("and")) {
      append(steps, comparison());
      steps.push_back({Op::And});
    }
    return steps;
  }
  std::optional<Op> comparison_operator() {
    if (take("<=")) return Op::LessEqual;
    if (take("<")) return Op::Less;
    if (take(">=")) return Op::GreaterEqual;
    if (take(">")) return Op::Greater;
    if (take("~")) return Op::Near;
    return std::nullopt;
  }
  Steps comparison() {
    Steps left = sum();
    Steps all;
    bool compared = false;
    while (const std::optional<Op> op = comparison_operator()) {
      Steps right = sum();
      append(all, left);
      append(all, right);
      all.push_back({*op});
      if (compared) all.push_back({Op::And});
      compared = true;
      left = std::move(right);
    }
    return compared ? all : left;
  }
  Steps sum() {
    Steps steps = product();
    for (;;) {
      const bool plus = take("+");
      if (!plus && !take("-")) return steps;
      append(steps, product());
      steps.push_back({plus ? Op::Add : Op::Subtract});
    }
  }
  Steps product() {
    Steps steps = factor();
    for (;;) {
      const bool times = take("*");
      if (!times && !take("/")) return steps;
      append(steps, factor());
      steps.push_back({times ? Op::Multiply : Op::Divide});
    }
  }
  Steps factor() {
    constexpr int kMaxDepth = 50;
    if (++depth_ > kMaxDepth) throw UserError(where_, fmt::format("nests more than {} deep", kMaxDepth));
    Steps steps;
    if (take("-")) {
      steps = factor();
      steps.push_back({Op::Negate});
    } else if (take("(")) {
      steps = conjunction();
      if (!take(")")) fail("')'");
    } else {
      steps = number_or_name();
    }
    --depth_;
    return steps;
  }
  Steps number_or_name() {
    skip_space();
    const char first = at_ < text_.size() ? text_[at_] : ' ';
    const std::size_t begin = at_;
    if (std::isdigit(static_cast<unsigned char>(first)) != 0) {
      while (at_ < text_.size() && (is_name_char(text_[at_]) || is_exponent_sign())) ++at_;
      const std::optional<double> value = parse_double(text_.substr(begin, at_ - begin));
      if (!value || !std::isfinite(*value)) {
        at_ = begin;
        fail("a number");
      }
      return {{Op::Number, *value, 0}};
    }
    if (std::isalpha(static_cast<unsigned char>(first)) == 0) fail("a number, a name or '('");
    while (at_ < text_.size() && is_name_char(text_[at_])) ++at_;
    const std::string name(text_.substr(begin, at_ - begin));
    if (take("(")) return call(name, begin);
    auto found = std::find(out_.names_.begin(), out_.names_.end(), name);
    if (found == out_.names_.end()) found = out_.names_.insert(out_.names_.end(), name);
    const auto index = static_cast<std::size_t>(found - out_.names_.begin());
    out_.places_.push_back({begin, name.size(), index});
    return {{Op::Name, 0, index}};
  }
  [[nodiscard]] bool is_exponent_sign() const {
    return (text_[at_] == '-' || text_[at_] == '+') && (text_[at_ - 1] == 'e' || text_[at_ - 1] == 'E');
  }
  Steps call(const std::string& name, std::size_t begin) {
    struct Function {
      const char* name;
      Op op;
      std::size_t values;  // 0: one or more
    };
    constexpr std::array<Function, 7> kFunctions = {{{"min", Op::Min, 0},
                                                     {"max", Op::Max, 0},
                                                     {"mean", Op::Mean, 0},
                                                     {"geometric", Op::Geometric, 0},
                                                     {"abs", Op::Abs, 1},
                                                     {"percent", Op::Percent, 2},
                                                     {"reduction", Op::Reduction, 2}}};
    const auto* const function =
        std::find_if(kFunctions.begin(), kFunctions.end(), [&](const Function& f) { return name == f.name; });
    if (function == kFunctions.end()) {
      at_ = begin;
      fail("one of the functions min, max, mean, geometric, abs, percent and reduction");
    }
    Steps steps = conjunction();
    std::size_t count = 1;
    for (; take(","); ++count) append(steps, conjunction());
    if (!take(")")) fail("')' or ','");
    if (function->values != 0 && function->values != count) {
      throw UserError(where_, fmt::format("in '{}': {}() takes {}, not {}", text_, name,
                                          function->values == 1 ? "one value" : "two values", count));
    }
    steps.push_back({function->op, 0, count});
    return steps;
  }

  Expression& out_;
  std::string_view text_;
  SourceLocation where_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

std::string identifier(std::string_view text) {
  std::string out;
  for (const char c : text) out += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  return out;
}

Value Value::finite(double number) {
  if (std::isnan(number)) return undefined("is not a number");
  return std::isinf(number) ? undefined("is infinite") : Value{number, ""};
}

const Value* first_without_number(const Value* begin, const Value* end) {
  const Value* undefined = nullptr;
  for (const Value* value = begin; value != end; ++value) {
    if (value->number) continue;
    if (!value->is_undefined) return value;
    if (undefined == nullptr) undefined = value;
  }
  return undefined;
}

Expression::Expression(std::string_view text, const SourceLocation& where) : text_(text) {
  constexpr std::size_t kMaxLength = 2000;
  if (text.size() > kMaxLength) {
    throw UserError(
        where, fmt::format("an expression may have {} characters; this has {}", kMaxLength, text.size()));
  }
  ExpressionParser(*this, where).parse();
}

bool Expression::has_mean() const {
  return std::any_of(steps_.begin(), steps_.end(),
                     [](const Step& step) { return step.op == Op::Mean || step.op == Op::Geometric; });
}

bool Expression::is_condition() const {
  if (steps_.empty()) return false;
  const Op last = steps_.back().op;
  return last >= Op::Less && last <= Op::And;
}

Value Expression::combine(const Step& step, const Value* values, std::size_t count) {
  if (const Value* first = first_without_number(values, values + count)) return *first;
  const auto at = [values](std::size_t i) { return *values[i].number; };
  const auto truth = [](bool holds) { return Value{holds ? 1.0 : 0.0, ""}; };
  const auto divide = [](double a, double b) {
    return b == 0 ? Value::undefined("divides by zero") : Value{a / b, ""};
  };
  double sum = 0;
  switch (step.op) {
    case Op::Number:
    case Op::Name: break;
    case Op::Negate: return {-at(0), ""};
    case Op::Add: return {at(0) + at(1), ""};
    case Op::Subtract: return {at(0) - at(1), ""};
    case Op::Multiply: return {at(0) * at(1), ""};
    case Op::Divide: return divide(at(0), at(1));
    case Op::Less: return truth(at(0) < at(1));
    case Op::LessEqual: return truth(at(0) <= at(1));
    case Op::Greater: return truth(at(0) > at(1));
    case Op::GreaterEqual: return truth(at(0) >= at(1));
    case Op::Near: return truth(std::abs(at(0) - at(1)) <= 0.05 * std::max(std::abs(at(0)), std::abs(at(1))));
    case Op::And: return truth(at(0) != 0 && at(1) != 0);
    case Op::Min:
    case Op::Max: {
      double best = at(0);
      for (std::size_t i = 1; i < count; ++i)
        best = step.op == Op::Min ? std::min(best, at(i)) : std::max(best, at(i));
      return {best, ""};
    }
    case Op::Mean:
      for (std::size_t i = 0; i < count; ++i) sum += at(i);
      return {sum / static_cast<double>(count), ""};
    case Op::Geometric:
      for (std::size_t i = 0; i < count; ++i) {
        if (at(i) <= 0) return Value::undefined("geometric mean of a value that is not positive");
        sum += std::log(at(i));
      }
      return {std::exp(sum / static_cast<double>(count)), ""};
    case Op::Abs: return {std::abs(at(0)), ""};
    case Op::Percent:
    case Op::Reduction: {
      Value ratio = divide(at(0), at(1));
      if (!ratio.number) return ratio;
      return {step.op == Op::Percent ? 100 * (*ratio.number - 1) : 100 * (1 - *ratio.number), ""};
    }
  }
  return Value::none("no such operation");
}

Value Expression::weighted(Op op, const Value* values, const std::optional<double>* weights,
                           std::size_t count) {
  if (const Value* first = first_without_number(values, values + count)) return *first;
  double sum = 0;
  double total = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const double weight = weights[i].value_or(1);
    if (weight == 0) continue;
    if (op == Op::Geometric && *values[i].number <= 0)
      return Value::undefined("geometric mean of a value that is not positive");
    sum += weight * (op == Op::Geometric ? std::log(*values[i].number) : *values[i].number);
    total += weight;
  }
  if (total == 0) return Value::undefined("mean of nothing");
  return {op == Op::Geometric ? std::exp(sum / total) : sum / total, ""};
}

Value Expression::evaluate(const Lookup& lookup, const Weight& weight) const {
  std::vector<Value> stack;
  std::vector<std::optional<double>> weights;  // of the values
  for (const Step& step : steps_) {
    if (step.op == Op::Number) {
      stack.push_back({step.number, ""});
      weights.emplace_back();
      continue;
    }
    if (step.op == Op::Name) {
      stack.push_back(lookup(names_[step.index]));
      weights.push_back(weight ? weight(names_[step.index]) : std::nullopt);
      continue;
    }
    const std::size_t count = step.op >= Op::Min ? step.index : step.op == Op::Negate ? 1 : 2;
    GPUMUX_CHECK(stack.size() >= count);
    const std::size_t first = stack.size() - count;
    // Numbers take part in the value of a name, so they do not part its weight.
    std::optional<double> common;
    bool is_one = true;
    for (std::size_t i = first; i < weights.size(); ++i) {
      if (!weights[i]) continue;
      is_one = is_one && (!common || *common == *weights[i]);
      common = weights[i];
    }
    const bool is_mean = step.op == Op::Mean || step.op == Op::Geometric;
    Value value = is_mean && !is_one ? weighted(step.op, &stack[first], &weights[first], count)
                                     : combine(step, &stack[first], count);
    if (value.number) value = Value::finite(*value.number);
    stack.resize(first);
    weights.resize(first);
    stack.push_back(std::move(value));
    weights.push_back(is_one ? common : std::nullopt);
  }
  GPUMUX_CHECK(stack.size() == 1);
  return stack.front();
}

std::string Expression::with_values(const Lookup& lookup) const {
  std::string out;
  std::size_t from = 0;
  for (const NamePlace& place : places_) {
    const Value value = lookup(names_[place.index]);
    out += text_.substr(from, place.begin - from);
    out += value.number ? fmt::format("{:.4g}", *value.number) : "?";
    from = place.begin + place.length;
  }
  return out + text_.substr(from);
}

}  // namespace gpumux::reproduce
