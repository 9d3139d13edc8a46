#include "run_costs.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include "arch/config_file.hpp"
#include "base/error.hpp"
#include "usual_runs.hpp"

namespace gpumux::cli {
namespace {

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// Measures an application alone for at most `seconds`.
RunCosts::Alone measure(const experiment::RunSpec& run, std::size_t app, double seconds) {
  experiment::RunSpec spec;
  spec.machine = run.machine;
  spec.apps = {run.apps[app].aside().without_arrivals()};
  spec.policy = policy::parse_choice("leftover");
  spec.seed = run.seed;
  spec.device_output = false;
  spec.audit = false;
  const auto begin = std::chrono::steady_clock::now();
  std::optional<double> setup;
  bool stopped = false;
  // The first cycles, of launches and copies, cost almost no time, so the second half of the time gives the
  // cost of further cycles.
  std::optional<std::pair<Cycle, double>> half;
  spec.stop = [&](Cycle cycle) {
    const double now = seconds_since(begin);
    if (!setup) setup = now;
    if (!half && now - *setup > seconds / 2) half = {cycle, now};
    return stopped = now - *setup > seconds;
  };
  RunCosts::Alone cost;
  experiment::RunResult result;
  try {
    result = experiment::simulate_under(spec, policy::create(spec.policy));
  } catch (const UserError&) {  // the sweep itself reports the failure
    cost.cycles = 0;
    return cost;
  } catch (const SimulationFault&) {
    cost.cycles = 0;
    return cost;
  }
  const auto cycles = std::max(static_cast<double>(result.cycles), 1.0);
  cost.setup_seconds = setup.value_or(0);
  const double end = seconds_since(begin);
  cost.seconds_per_cycle = (end - cost.setup_seconds) / cycles;
  if (stopped && half && cycles > static_cast<double>(half->first))
    cost.seconds_per_cycle = (end - half->second) / (cycles - static_cast<double>(half->first));
  cost.thread_instructions_per_cycle = static_cast<double>(result.gpu.useful_instructions()) / cycles;
  if (!stopped) {
    cost.cycles = cycles;
  } else if (const auto usual = usual_run(spec.apps[0].name); usual && usual->ends &&
                                                              spec.apps[0].text == spec.apps[0].name &&
                                                              result.gpu.warp_instructions > 0) {
    cost.cycles = cycles * static_cast<double>(usual->warp_instructions) /
                  static_cast<double>(result.gpu.warp_instructions);
  }
  return cost;
}

}  // namespace

const RunCosts::Alone& RunCosts::alone(const experiment::RunSpec& run, std::size_t app) {
  const std::pair key(arch::to_toml(run.machine), run.apps[app].without_arrivals().identity);
  const auto found = known_.find(key);
  return found != known_.end() ? found->second
                               : known_.emplace(key, measure(run, app, seconds_)).first->second;
}

std::optional<double> RunCosts::of(const experiment::RunSpec& run) {
  if (!run.cpus.empty()) return std::nullopt;
  double setup = 0;
  double pace = 0;  // of the application that is slowest to simulate
  double own = 0;   // cycles of the longest application alone
  bool all_end = true;
  for (std::size_t i = 0; i < run.apps.size(); ++i) {
    const experiment::AppSpec& app = run.apps[i];
    if (app.live || (run.cycles == 0 && !app.arrivals.times.empty())) return std::nullopt;
    const Alone& of = alone(run, i);
    setup += of.setup_seconds;
    pace = std::max(pace, of.seconds_per_cycle);
    std::optional<double> cycles = of.cycles;
    if (run.instructions != 0 && of.thread_instructions_per_cycle > 0) {
      const double count = static_cast<double>(run.instructions) / of.thread_instructions_per_cycle;
      cycles = std::min(cycles.value_or(count), count);
    }
    all_end = all_end && cycles;
    own = std::max(own, cycles.value_or(0));
  }
  // Each further application takes a part of the machine's throughput.
  const double slowdown = 1 + 0.5 * (static_cast<double>(run.apps.size()) - 1);
  double cycles = own * slowdown;
  if (run.cycles != 0) {
    const auto limit = static_cast<double>(run.cycles);
    const bool may_end_earlier = run.instructions != 0 && all_end;
    cycles = may_end_earlier ? std::min(cycles, limit) : limit;
  } else if (!all_end) {
    return std::nullopt;
  }
  // An application that ends before the others starts again, with new inputs.
  for (std::size_t i = 0; i < run.apps.size(); ++i) {
    const Alone& of = alone(run, i);
    if (of.cycles && *of.cycles > 0 && !run.apps[i].arrivals.requests())
      setup += of.setup_seconds * std::max(0.0, std::floor(cycles / (*of.cycles * slowdown) - 0.5));
  }
  return setup + pace * cycles;
}

}  // namespace gpumux::cli
