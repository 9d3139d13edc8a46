#include "reproduce/judge.hpp"

#include <fmt/core.h>

#include <cmath>
#include <limits>

namespace gpumux::reproduce {
namespace {

bool keeps(Bound bound, double value, double limit) {
  switch (bound) {
    case Bound::Less: return value < limit;
    case Bound::LessEqual: return value <= limit;
    case Bound::Greater: return value > limit;
    case Bound::GreaterEqual: return value >= limit;
    case Bound::None:
    case Bound::About: break;
  }
  return false;
}

/// Within a third of `effect` of the paper's value. A hair more, so that a third itself counts whatever the
/// last bit of a decimal number is.
bool within_a_third(double ours, double paper, double effect) {
  return std::abs(ours - paper) <= std::abs(effect) / 3 * (1 + 1e-12);
}

}  // namespace

std::string join_notes(const std::string& a, const std::string& b) {
  return a.empty() ? b : b.empty() ? a : a + "; " + b;
}

Verdict judge(const Claim& claim, const Value& ours) {
  const Value finite = ours.number ? Value::finite(*ours.number) : ours;
  if (!finite.number && !finite.is_undefined) return {std::nullopt, std::nullopt, finite.why};
  if (claim.better == Better::None) {
    return {std::nullopt, std::nullopt,
            join_notes(finite.why, "the claim has no direction: neither more nor less of it is better")};
  }
  // What is undefined keeps no bound, and is on no side of and near to nothing.
  const double value = finite.number.value_or(std::numeric_limits<double>::quiet_NaN());
  const bool bounded = claim.bound != Bound::None && claim.bound != Bound::About;
  Verdict verdict;
  verdict.note = finite.why;
  if (bounded) {
    verdict.size_agrees = keeps(claim.bound, value, claim.value);
    verdict.note = join_notes(
        verdict.note, fmt::format("the paper gives a bound: {} {:g}", bound_text(claim.bound), claim.value));
  }
  if (!claim.no_effect) {
    verdict.note = join_notes(verdict.note, "a level: there is no side to be on");
    if (!bounded && claim.value != 0) verdict.size_agrees = within_a_third(value, claim.value, claim.value);
    if (!bounded && claim.value == 0)
      verdict.note = join_notes(verdict.note, "no size to be a third of: it is 0");
    return verdict;
  }
  const double effect = claim.value - *claim.no_effect;
  if (effect == 0 || (bounded && keeps(claim.bound, *claim.no_effect, claim.value))) {
    verdict.note = join_notes(verdict.note, "the paper claims no side: no effect at all would agree");
    return verdict;
  }
  const double our_effect = value - *claim.no_effect;
  verdict.direction_agrees = effect > 0 ? our_effect > 0 : our_effect < 0;
  if (!bounded) verdict.size_agrees = within_a_third(value, claim.value, effect);
  return verdict;
}

}  // namespace gpumux::reproduce
