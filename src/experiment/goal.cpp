#include "experiment/goal.hpp"

#include <fmt/core.h>

#include <cmath>
#include <limits>

#include "base/text.hpp"
#include "experiment/run.hpp"

namespace gpumux::experiment {
namespace {

constexpr double kMost = 1e9;

std::optional<double> positive(std::string_view text) {
  const auto value = parse_double(text);
  return value && *value > 0 && *value <= kMost ? value : std::nullopt;
}

}  // namespace

std::optional<GoalSpec> parse_goal(std::string_view text) {
  constexpr std::string_view kIpc = "ipc:";
  constexpr std::string_view kFps = "fps";
  GoalSpec goal;
  goal.text = std::string(text);
  if (text.ends_with('%')) {
    const auto percent = positive(text.substr(0, text.size() - 1));
    if (!percent || *percent > 1000) return std::nullopt;
    goal.amount = *percent / 100;
    return goal;
  }
  if (text.starts_with(kIpc) || text.ends_with(kFps)) {
    const bool ipc = text.starts_with(kIpc);
    goal.kind = ipc ? GoalSpec::Kind::Ipc : GoalSpec::Kind::Rate;
    const auto amount = positive(ipc ? text.substr(kIpc.size()) : text.substr(0, text.size() - kFps.size()));
    if (!amount) return std::nullopt;
    goal.amount = *amount;
    return goal;
  }
  const auto time = arch::parse_duration(text);
  if (!time || time->unit.empty()) return std::nullopt;  // a number without a unit is ambiguous
  goal.kind = GoalSpec::Kind::Time;
  goal.time = *time;
  return goal;
}

GoalTarget goal_target(const GoalSpec& goal, const Alone& alone, double core_mhz, double peak) {
  GoalTarget target;
  target.alone_ipc = alone.ipc;
  const double hertz = core_mhz * 1e6;
  switch (goal.kind) {
    case GoalSpec::Kind::Share: target.ipc = goal.amount * alone.ipc; break;
    case GoalSpec::Kind::Ipc: target.ipc = goal.amount; break;
    case GoalSpec::Kind::Time: {
      arch::MachineConfig clocks;
      clocks.clocks.core = core_mhz;
      target.run_instructions = alone.instructions;
      target.ipc = alone.instructions / static_cast<double>(goal.time.cycles(clocks));
      break;
    }
    case GoalSpec::Kind::Rate:
      target.run_instructions = alone.instructions;
      target.ipc = alone.instructions * goal.amount / hertz;
      break;
  }
  // Cycles per instruction, minus the cycles per instruction in which the application has no kernel.
  const double each = target.ipc > 0 ? 1 / target.ipc : std::numeric_limits<double>::infinity();
  const double copies = alone.ipc > 0 ? (1 - alone.kernel_share) / alone.ipc : 0;
  target.kernel_ipc = each > copies ? std::min(1 / (each - copies), peak) : peak;
  return target;
}

GoalResult goal_result(const GoalSpec& goal, const GoalTarget& target, double ipc, double core_mhz) {
  GoalResult result{goal, target, ipc, 0};
  const double hertz = core_mhz * 1e6;
  const double infinite = std::numeric_limits<double>::infinity();
  switch (goal.kind) {
    case GoalSpec::Kind::Share: result.achieved = target.alone_ipc > 0 ? ipc / target.alone_ipc : 0; break;
    case GoalSpec::Kind::Ipc: result.achieved = ipc; break;
    case GoalSpec::Kind::Time:
      result.achieved = ipc > 0 ? target.run_instructions / ipc / hertz * 1e3 : infinite;
      break;
    case GoalSpec::Kind::Rate:
      result.achieved = target.run_instructions > 0 ? ipc * hertz / target.run_instructions : 0;
      break;
  }
  return result;
}

std::vector<std::optional<GoalTarget>> goal_targets(const RunSpec& spec, const std::string& cache_folder) {
  std::vector<std::optional<GoalTarget>> targets(spec.apps.size());
  const arch::MachineConfig& machine = spec.machine;
  const double peak = static_cast<double>(machine.sms) * machine.sm.schedulers * kWarpSize;
  for (std::size_t i = 0; i < spec.apps.size(); ++i) {
    const std::optional<GoalSpec>& goal = spec.apps[i].arrivals.goal;
    if (!goal) continue;
    RunSpec alone = isolated_run(spec, i);
    alone.apps = {alone.apps.front().without_arrivals()};
    if (goal->kind == GoalSpec::Kind::Time || goal->kind == GoalSpec::Kind::Rate)
      alone.cycles = alone.instructions = 0;  // simulate one complete run
    targets[i] = goal_target(*goal, run_alone(alone, cache_folder), machine.clocks.core, peak);
  }
  return targets;
}

void set_goals(const RunSpec& spec, const std::vector<std::optional<GoalTarget>>& targets,
               RunResult& result) {
  for (std::size_t i = 0; i < spec.apps.size(); ++i) {
    AppResult& app = result.apps[i];
    const ArrivalSpec& arrivals = spec.apps[i].arrivals;
    if (!targets[i]) continue;
    // An application with arrivals has nothing to do between requests, so only time with a run in progress
    // counts.
    const bool waits = arrivals.requests() || arrivals.at;
    const double ipc = !waits                      ? app.ipc()
                       : app.under_way_cycles == 0 ? 0
                                                   : static_cast<double>(app.counters.useful_instructions()) /
                                                         static_cast<double>(app.under_way_cycles);
    app.goal = goal_result(*arrivals.goal, *targets[i], ipc, spec.machine.clocks.core);
  }
}

std::string goal_amount(const GoalSpec& goal, double amount) {
  switch (goal.kind) {
    case GoalSpec::Kind::Share: return fmt::format("{:.1f}%", amount * 100);
    case GoalSpec::Kind::Ipc: return fmt::format("{:.1f}", amount);
    case GoalSpec::Kind::Time: return fmt::format("{:.4g} ms", amount);
    case GoalSpec::Kind::Rate: return fmt::format("{:.4g} fps", amount);
  }
  return {};
}

}  // namespace gpumux::experiment
