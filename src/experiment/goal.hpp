// Goals: what an application should reach beside others. The setting is goal=80% (of its isolated IPC),
// goal=ipc:300, goal=1.2ms (for each of its runs) or goal=60fps (runs per second). Source: wang17 section
// 3.2.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "arch/config.hpp"
#include "arch/duration.hpp"

namespace gpumux::experiment {

struct RunResult;
struct RunSpec;

struct GoalSpec {
  enum class Kind : std::uint8_t { Share, Ipc, Time, Rate };
  Kind kind = Kind::Share;
  double amount = 0;    // 0.8; thread instructions per core cycle; runs per second
  arch::Duration time;  // for Kind::Time
  std::string text;     // as given
};
/// Parses the text of a goal; nothing if `text` is not a goal.
[[nodiscard]] std::optional<GoalSpec> parse_goal(std::string_view text);
inline constexpr const char* kGoalHelp =
    "80% (of its IPC alone, up to 1000%), ipc:300, 1.2ms (for a run) or 60fps (runs per second)";

/// Figures of an isolated run from which a goal is computed.
struct Alone {
  double ipc = 0;           // thread instructions per core cycle
  double kernel_share = 1;  // fraction of the time with a kernel; else it copied or waited
  double instructions = 0;  // thread instructions of the run
};

/// A goal in thread instructions per core cycle.
struct GoalTarget {
  double ipc = 0;         // over the time in which runs of the application are in progress
  double kernel_ipc = 0;  // without copies and waits, which last as long as alone; for policies
  double alone_ipc = 0;
  double run_instructions = 0;  // of one run, for a time or a rate; else 0
};
/// Converts a goal. `alone`: one isolated run for a time or a rate, else a run as long as the shared run.
/// `peak`: IPC that the machine can issue, the upper limit of kernel_ipc, also for goals that copies alone
/// make impossible.
[[nodiscard]] GoalTarget goal_target(const GoalSpec& goal, const Alone& alone, double core_mhz, double peak);

/// The outcome of a goal.
struct GoalResult {
  GoalSpec goal;
  GoalTarget target;
  double ipc = 0;       // reached IPC, as in GoalTarget::ipc
  double achieved = 0;  // reached, in the goal's unit: share, IPC, ms, runs per second
  [[nodiscard]] bool reached() const { return ipc >= target.ipc; }
  /// True if the application misses the goal even when it runs alone.
  [[nodiscard]] bool impossible() const { return target.alone_ipc < target.ipc; }
};
[[nodiscard]] GoalResult goal_result(const GoalSpec& goal, const GoalTarget& target, double ipc,
                                     double core_mhz);

/// The target of each application, from isolated runs, which are kept in the folder; nothing for applications
/// without a goal.
[[nodiscard]] std::vector<std::optional<GoalTarget>> goal_targets(const RunSpec& spec,
                                                                  const std::string& cache_folder);
void set_goals(const RunSpec& spec, const std::vector<std::optional<GoalTarget>>& targets, RunResult& result);

/// An amount in the goal's unit, as text: "80%", "302.4", "1.31 ms", "47.2 fps".
[[nodiscard]] std::string goal_amount(const GoalSpec& goal, double amount);

}  // namespace gpumux::experiment
