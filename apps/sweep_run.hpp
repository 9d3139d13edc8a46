// Working off a planned sweep, as commands do it: with progress, signals and exit codes.
#pragma once

#include "cluster/follow.hpp"
#include "database/results.hpp"
#include "sweep/runner.hpp"
#include "terminal.hpp"

namespace gpumux::cli {

struct SweepOutcome {
  sweep::Progress progress;
  int exit_code = 0;     // of the gravest failure, or of the signal that stopped it
  bool stopped = false;  // by a signal; said so on standard error
};

/// Works off what `store` has planned, and reports failures on standard error, where `progress` says how far
/// it is. `cluster`: not on this computer but there. Throws UserError when the database cannot be written.
[[nodiscard]] SweepOutcome run_sweep(database::ResultStore& store, const sweep::SweepPlan& plan,
                                     unsigned jobs, ProgressMode progress,
                                     const cluster::FollowOptions* cluster = nullptr);

/// Processors that this process may use.
[[nodiscard]] unsigned processors();

}  // namespace gpumux::cli
