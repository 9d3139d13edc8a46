// Ours beside the paper's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "reproduce/bootstrap.hpp"
#include "reproduce/claims.hpp"
#include "reproduce/expression.hpp"

namespace gpumux::reproduce {

/// What a number of ours rests on.
struct Evidence {
  std::size_t workloads = 0;  // different ones; 0: it is made of no runs
  std::optional<Interval> interval;
  /// It is made of several workloads in a way of which no interval is known, such as an expression over
  /// quantities of one workload each.
  bool is_open = false;
};

/// Fewer workloads decide no direction.
inline constexpr std::size_t kLeastWorkloads = 6;

enum class Standing : std::uint8_t {
  None,  // nothing can be said
  Agrees,
  Leans,      // direction: on the paper's side, but other workloads might be on the other
  LeansAway,  // direction: on the other side, but other workloads might be on the paper's
  Undecided,  // size: the interval is too wide
  Differs
};
/// "-", "agrees", "leans", "leans away", "undecided", "differs".
[[nodiscard]] std::string_view standing_text(Standing standing);
/// Of what is decided.
[[nodiscard]] std::optional<bool> agrees(Standing standing);

struct Verdict {
  Standing direction = Standing::None;
  Standing size = Standing::None;
  std::string note;  // where one of them is None, why
};

/// Direction: `ours` lies on the same side of no effect as the paper's value; decided where the whole
/// interval does and kLeastWorkloads stand behind it. Size: it is within a third of the paper's value of it,
/// or of a percentage within 3 points; of a share, which cannot pass 100 percent, within a third of what the
/// paper's misses to 100 as well, or 3 points; undecided where the interval is wider than half of the paper's
/// value. Where the paper gives a bound, the size agrees when `ours` keeps it. A claim without a better side
/// gets neither; a bound that no effect keeps too claims no side, and a level has none. What is undefined, as
/// x / 0, agrees in nothing. docs/experiments.md has the rules with their reasons.
[[nodiscard]] Verdict judge(const Claim& claim, const Value& ours, const Evidence& evidence);

/// Joins notes with "; ", leaving out empty ones.
[[nodiscard]] std::string join_notes(const std::string& a, const std::string& b);

}  // namespace gpumux::reproduce
