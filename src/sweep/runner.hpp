// Works off a planned sweep: claims runs, has workers simulate them, and keeps what comes back.
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
  database::Counts counts;      // of the plan, whoever did them
  std::uint64_t finished = 0;   // by this process
  std::uint64_t running = 0;    // by this process
  std::uint64_t elsewhere = 0;  // tasks on a cluster that run or wait
  std::string note;             // more for people: "12 waiting (Resources)"
  double elapsed_seconds = 0;
};

struct RunnerOptions {
  unsigned jobs = 1;
  /// Called about once a second, and at the end.
  std::function<void(const Progress&)> progress;
  /// Not 0: stop now. Set by signal handlers.
  const volatile std::sig_atomic_t* stop = nullptr;
  /// What a worker does for a run: perform() unless a test says otherwise.
  std::function<std::string(const SweepRun& run, const std::vector<double>& isolated)> work;
};

/// Returns when no planned run is pending, here or elsewhere, or when it is to stop; workers are killed and
/// their claims given back then. Failed runs are kept as such. Throws UserError when the database cannot be
/// written.
Progress work_off(database::ResultStore& store, const SweepPlan& plan, const RunnerOptions& options);

}  // namespace gpumux::sweep
