// Judges our number against the paper's claim.
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

/// Runs on which a number of ours is based.
struct Evidence {
  std::size_t workloads = 0;  // different workloads; 0: the number is not from runs
  std::optional<Interval> interval;
  /// The number is based on several workloads, but its interval is unknown, for example for an expression
  /// over quantities of one workload each.
  bool is_open = false;
};

/// Smallest number of workloads that can decide a direction.
inline constexpr std::size_t kLeastWorkloads = 6;

enum class Standing : std::uint8_t {
  None,  // no statement
  Agrees,
  Leans,      // direction: on the paper's side, but other workloads might be on the other side
  LeansAway,  // direction: on the other side, but other workloads might be on the paper's side
  Undecided,  // size: the interval is too wide
  Differs
};
/// The text of a standing: "-", "agrees", "leans", "leans away", "undecided", "differs".
[[nodiscard]] std::string_view standing_text(Standing standing);
/// True for Agrees, false for Differs, nothing for undecided standings.
[[nodiscard]] std::optional<bool> agrees(Standing standing);

struct Verdict {
  Standing direction = Standing::None;
  Standing size = Standing::None;
  std::string note;  // the reason, if a standing is None
};

/// Judges a claim by direction and size. docs/experiments.md explains the rules.
/// Direction: agrees if `ours` is on the paper's side of no effect. Decided if the whole interval is on one
/// side and at least kLeastWorkloads workloads support it.
/// Size: agrees if `ours` is within a third of the paper's value. A percentage also agrees within 3 points.
/// For a share, which cannot exceed 100 percent, a third of the distance to 100 is a limit as well. Undecided
/// if the interval is wider than half of the paper's value. If the paper gives a bound, the size agrees if
/// `ours` keeps the bound.
/// A claim with Better::None has neither. A level, and a bound that no effect keeps as well, have no
/// direction. An undefined value, as x / 0, agrees in nothing.
[[nodiscard]] Verdict judge(const Claim& claim, const Value& ours, const Evidence& evidence);

/// Joins two notes with "; ". An empty note is left out.
[[nodiscard]] std::string join_notes(const std::string& a, const std::string& b);

}  // namespace gpumux::reproduce
