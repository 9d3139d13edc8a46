#include "reproduce/judge.hpp"

#include <fmt/core.h>

#include <algorithm>
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

constexpr double kPoints = 3;  // percentage points within which two percentages are near

bool is_percentage(const Claim& claim) { return claim.unit.starts_with("percent"); }

/// The reference for a size: the magnitude of the paper's value, or, for a percentage of the baseline, of its
/// change.
double measure_of(const Claim& claim) {
  return std::abs(claim.unit == "percent of baseline" ? claim.value - claim.no_effect.value_or(0)
                                                      : claim.value);
}

bool is_near(const Claim& claim, double ours) {
  constexpr double kHair = 1 + 1e-12;  // exactly a third counts, despite rounding of decimal numbers
  const double distance = std::abs(ours - claim.value);
  if (is_percentage(claim) && distance <= kPoints * kHair) return true;
  double third = measure_of(claim) / 3;
  if (claim.most) third = std::min(third, std::abs(*claim.most - claim.value) / 3);
  return distance <= third * kHair;
}

Standing size_of(const Claim& claim, double ours, const Evidence& evidence) {
  if (evidence.is_open) return Standing::Undecided;
  const double widest = std::max(measure_of(claim) / 2, is_percentage(claim) ? kPoints : 0);
  if (evidence.interval && evidence.interval->high - evidence.interval->low > widest)
    return Standing::Undecided;
  return is_near(claim, ours) ? Standing::Agrees : Standing::Differs;
}

/// Standing of a direction. `effect`: the paper's, not 0; `ours` and the interval are values of the claim.
Standing direction_of(double effect, double ours, double no_effect, const Evidence& evidence) {
  const auto same_side = [&](double value) { return effect > 0 ? value > no_effect : value < no_effect; };
  const bool same = same_side(ours);
  bool decided = evidence.workloads >= kLeastWorkloads && !evidence.is_open;
  if (evidence.interval) {
    const double nearest = (effect > 0) == same ? evidence.interval->low : evidence.interval->high;
    decided = decided && same_side(nearest) == same;
  }
  if (decided) return same ? Standing::Agrees : Standing::Differs;
  return same ? Standing::Leans : Standing::LeansAway;
}

}  // namespace

std::string_view standing_text(Standing standing) {
  switch (standing) {
    case Standing::None: break;
    case Standing::Agrees: return "agrees";
    case Standing::Leans: return "leans";
    case Standing::LeansAway: return "leans away";
    case Standing::Undecided: return "undecided";
    case Standing::Differs: return "differs";
  }
  return "-";
}

std::optional<bool> agrees(Standing standing) {
  if (standing == Standing::Agrees) return true;
  return standing == Standing::Differs ? std::optional(false) : std::nullopt;
}

std::string join_notes(const std::string& a, const std::string& b) {
  return a.empty() ? b : b.empty() ? a : a + "; " + b;
}

Verdict judge(const Claim& claim, const Value& ours, const Evidence& evidence) {
  const Value finite = ours.number ? Value::finite(*ours.number) : ours;
  if (!finite.number && !finite.is_undefined) return {Standing::None, Standing::None, finite.why};
  if (claim.better == Better::None) {
    return {Standing::None, Standing::None,
            join_notes(finite.why, "the claim has no direction: neither more nor less of it is better")};
  }
  // An undefined value keeps no bound, is on no side, and is near nothing.
  const double value = finite.number.value_or(std::numeric_limits<double>::quiet_NaN());
  const bool bounded = claim.bound != Bound::None && claim.bound != Bound::About;
  Verdict verdict;
  verdict.note = finite.why;
  if (bounded) {
    verdict.size = keeps(claim.bound, value, claim.value) ? Standing::Agrees : Standing::Differs;
    verdict.note = join_notes(
        verdict.note, fmt::format("the paper gives a bound: {} {:g}", bound_text(claim.bound), claim.value));
  }
  const auto judge_size = [&] {
    if (bounded) return;
    if (measure_of(claim) == 0 && !is_percentage(claim)) {
      verdict.note = join_notes(verdict.note, "no size to be a third of: it is 0");
      return;
    }
    verdict.size = finite.number ? size_of(claim, value, evidence) : Standing::Differs;
  };
  if (!claim.no_effect) {
    verdict.note = join_notes(verdict.note, "a level: there is no side to be on");
    judge_size();
    return verdict;
  }
  const double effect = claim.value - *claim.no_effect;
  if (effect == 0 || (bounded && keeps(claim.bound, *claim.no_effect, claim.value))) {
    verdict.note = join_notes(verdict.note, "the paper claims no side: no effect at all would agree");
    if (effect == 0 && is_percentage(claim)) judge_size();
    return verdict;
  }
  verdict.direction =
      finite.number ? direction_of(effect, value, *claim.no_effect, evidence) : Standing::Differs;
  judge_size();
  return verdict;
}

}  // namespace gpumux::reproduce
