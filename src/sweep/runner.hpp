// Executes a planned sweep: claims runs, lets workers simulate them, and keeps their results.
#pragma once

#include <csignal>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "database/results.hpp"
#include "sweep/expand.hpp"

namespace gpumux::sweep {

struct Progress {
  database::Counts counts;      // of the whole plan, by any process
  std::uint64_t finished = 0;   // by this process
  std::uint64_t running = 0;    // by this process
  std::uint64_t elsewhere = 0;  // tasks on a cluster that run or wait
  std::string note;             // additional text for people: "12 waiting (Resources)"
  double elapsed_seconds = 0;
};

struct RunnerOptions {
  unsigned jobs = 1;
  /// Called about once a second, and at the end.
  std::function<void(const Progress&)> progress;
  /// Not 0: stop now. Signal handlers set it.
  const volatile std::sig_atomic_t* stop = nullptr;
  /// The work of a worker for a run; empty: perform(). Tests set it.
  std::function<std::string(const SweepRun& run, const std::vector<double>& isolated)> work;
};

/// Returns when no planned run is pending, here or elsewhere, or on a stop. On a stop, workers are killed and
/// their claims released. Failed runs are kept as failed. Throws UserError if the database cannot be written.
Progress work_off(database::ResultStore& store, const SweepPlan& plan, const RunnerOptions& options);

}  // namespace gpumux::sweep
