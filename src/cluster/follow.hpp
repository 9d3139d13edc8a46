// Works off a planned sweep on a Slurm cluster: submits runs as job arrays, follows them, keeps what they
// leave, and submits again what was lost.
#pragma once

#include <chrono>
#include <csignal>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "cluster/slurm.hpp"
#include "database/results.hpp"
#include "sweep/expand.hpp"
#include "sweep/runner.hpp"

namespace gpumux::cluster {

struct FollowOptions {
  std::string database;  // path of the store's
  std::string folder;    // ours alone, that this machine and all nodes see
  std::string program;   // gpumux on the nodes
  std::string partition;
  std::vector<std::string> sbatch_arguments;
  std::size_t array_size = 0;            // tasks of a job array at most; 0: as many as the cluster allows
  std::size_t runs_per_task = 0;         // 0: by how long they take
  unsigned at_a_time = 0;                // tasks of an array that run at the same time; 0: no limit
  unsigned tries = 3;                    // submissions of a run before it is given up
  bool retry_failed = false;             // what failed or was given up begins anew
  std::chrono::milliseconds poll{5000};  // between looks at the queue
  /// As of a sweep without a cluster; `running` counts tasks.
  std::function<void(const sweep::Progress&)> progress;
  const volatile std::sig_atomic_t* stop = nullptr;
};

/// Returns when no planned run is pending, or when it is to stop; tasks go on then, and the next call finds
/// them. Throws UserError when Slurm is not there or refuses the jobs, and when the shared folder or the
/// database cannot be written.
sweep::Progress follow(database::ResultStore& store, const sweep::SweepPlan& plan,
                       const FollowOptions& options);

/// Takes all jobs of a shared folder out of Slurm's queue and forgets them, with what they have left. How
/// many arrays they were.
std::size_t cancel_all(const std::string& folder);

}  // namespace gpumux::cluster
