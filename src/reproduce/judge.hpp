// Ours beside the paper's.
#pragma once

#include <optional>
#include <string>

#include "reproduce/claims.hpp"
#include "reproduce/expression.hpp"

namespace gpumux::reproduce {

/// Empty where nothing can be said; `note` says why.
struct Verdict {
  std::optional<bool> direction_agrees;
  std::optional<bool> size_agrees;
  std::string note;
};

/// Direction: `ours` lies on the same side of no effect as the paper's value. Size: it is within a third of
/// the paper's effect of it, the effect being the value's distance from no effect (of a level: the value
/// itself); where the paper gives a bound, `ours` keeps it. A claim without a better side gets neither; a
/// bound that no effect keeps too claims no side, and a level has none. What is undefined, as x / 0, agrees
/// in nothing.
[[nodiscard]] Verdict judge(const Claim& claim, const Value& ours);

/// Joins notes with "; ", leaving out empty ones.
[[nodiscard]] std::string join_notes(const std::string& a, const std::string& b);

}  // namespace gpumux::reproduce
