// Expands a sweep file into its list of runs.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "experiment/run.hpp"
#include "sweep/sweep_file.hpp"

namespace gpumux::sweep {

/// A run of a sweep, ready to simulate.
struct SweepRun {
  std::string hash;
  experiment::RunSpec spec;
  std::string machine_hash;
  std::vector<std::pair<std::string, std::string>> overrides;  // of the machine: key, value
  /// Index in the plan of each application's isolated run; empty if the run is alone itself, or has no
  /// application.
  std::vector<std::size_t> baselines;
  std::vector<std::size_t> cpu_baselines;  // index in the plan of each CPU program's isolated run
  bool is_baseline = false;                // wanted only as a baseline of other runs
  std::vector<std::string> names;          // of its applications, as in the sweep
  std::string goals;                       // that the sweep has given, as in the sweep
  std::string cpus;                        // programs of CPU cores as in the sweep, or kNoCpus
};

/// The workload of a run for messages: "hotspot + kmeans beside CPU programs mcf*14", "CPU program mcf on
/// core 0".
[[nodiscard]] std::string workload_text(const experiment::RunSpec& spec);

struct SweepPlan {
  SweepFile file;
  std::vector<SweepRun> runs;  // baselines first; no two with the same hash
  std::size_t duplicates = 0;  // runs that the file describes more than once
};

/// Largest number of runs of a sweep, baselines not counted.
inline constexpr std::size_t kMaxRuns = 100'000;

/// Loads machines, applications and policies, and makes every combination that is not excluded. Throws
/// UserError, with the place in the file, for items that do not exist or contradict each other, for
/// exclusions that exclude nothing, and if no runs or too many runs are left.
[[nodiscard]] SweepPlan expand(SweepFile file);

/// A plan of these runs, which may be on different machines, and their baselines; its `file` is empty.
/// Policies must have their canonical text. `overrides` (key, value) apply to every machine.
[[nodiscard]] SweepPlan plan_runs(const std::vector<experiment::RunSpec>& specs,
                                  const std::vector<std::pair<std::string, std::string>>& overrides);

}  // namespace gpumux::sweep
