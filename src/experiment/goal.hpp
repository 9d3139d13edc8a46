// What an application is to reach beside others: a setting of it, goal=80% (of its IPC alone), goal=ipc:300,
// goal=1.2ms (for each of its runs) or goal=60fps (runs per second). Source: wang17 section 3.2.
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
  arch::Duration time;  // of Kind::Time
  std::string text;     // as given
};
/// Nothing for a text that is none.
[[nodiscard]] std::optional<GoalSpec> parse_goal(std::string_view text);
inline constexpr const char* kGoalHelp =
    "80% (of its IPC alone, up to 1000%), ipc:300, 1.2ms (for a run) or 60fps (runs per second)";

/// An application alone, with what its goal has to know.
struct Alone {
  double ipc = 0;           // thread instructions per core cycle
  double kernel_share = 1;  // of the time: it had a kernel, else it copied, or waited
  double instructions = 0;  // thread instructions of the run
};

/// A goal as thread instructions per core cycle.
struct GoalTarget {
  double ipc = 0;         // over the time in which runs of it are under way
  double kernel_ipc = 0;  // the same without copies and waiting, which last as long as alone: for policies
  double alone_ipc = 0;
  double run_instructions = 0;  // of one run; 0: not needed
};
/// `alone`: of one run for a time or a rate, else of as long as the run for which the goal is. `peak`: what
/// the machine can issue: the kernels' part of a goal that copies alone make impossible.
[[nodiscard]] GoalTarget goal_target(const GoalSpec& goal, const Alone& alone, double core_mhz, double peak);

/// What became of it.
struct GoalResult {
  GoalSpec goal;
  GoalTarget target;
  double ipc = 0;       // reached, as GoalTarget::ipc
  double achieved = 0;  // the same in the goal's unit: share, IPC, ms, runs per second
  [[nodiscard]] bool reached() const { return ipc >= target.ipc; }
  /// Alone it misses it, too.
  [[nodiscard]] bool impossible() const { return target.alone_ipc < target.ipc; }
};
[[nodiscard]] GoalResult goal_result(const GoalSpec& goal, const GoalTarget& target, double ipc,
                                     double core_mhz);

/// Of each application, from runs alone, which are kept in the folder; nothing: it has no goal.
[[nodiscard]] std::vector<std::optional<GoalTarget>> goal_targets(const RunSpec& spec,
                                                                  const std::string& cache_folder);
void set_goals(const RunSpec& spec, const std::vector<std::optional<GoalTarget>>& targets, RunResult& result);

/// "80%", "302.4", "1.31 ms", "47.2 fps": an amount in the goal's unit.
[[nodiscard]] std::string goal_amount(const GoalSpec& goal, double amount);

}  // namespace gpumux::experiment
