// Executes a planned sweep for commands, with progress, signals and exit codes.
#pragma once

#include "cluster/follow.hpp"
#include "database/results.hpp"
#include "sweep/runner.hpp"
#include "terminal.hpp"

namespace gpumux::cli {

struct SweepOutcome {
  sweep::Progress progress;
  int exit_code = 0;     // of the gravest failure, or of the signal that stopped the sweep
  bool stopped = false;  // by a signal, as reported on standard error
};

/// Executes the planned runs of `store`, and reports progress and failures on standard error. `cluster`: run
/// on a cluster, not on this computer. Throws UserError if the database cannot be written.
[[nodiscard]] SweepOutcome run_sweep(database::ResultStore& store, const sweep::SweepPlan& plan,
                                     unsigned jobs, ProgressMode progress,
                                     const cluster::FollowOptions* cluster = nullptr);

/// Number of processors that this process may use.
[[nodiscard]] unsigned processors();

}  // namespace gpumux::cli
