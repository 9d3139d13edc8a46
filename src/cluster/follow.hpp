// Executes a planned sweep on a Slurm cluster: submits runs as job arrays, follows them, keeps their results,
// and submits lost runs again.
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
  std::string database;  // path of the store's database
  std::string folder;    // used by us alone, visible to this machine and all nodes
  std::string program;   // path of gpumux on the nodes
  std::string partition;
  std::vector<std::string> sbatch_arguments;
  std::size_t array_size = 0;            // largest job array, in tasks; 0: the cluster's limit
  std::size_t runs_per_task = 0;         // 0: by how long the runs take
  unsigned at_a_time = 0;                // tasks of an array that may run at a time; 0: no limit
  unsigned tries = 3;                    // submissions of a run before it is given up
  bool retry_failed = false;             // restart runs that failed or were given up
  std::chrono::milliseconds poll{5000};  // interval between looks at the queue
  /// Called as for a sweep without a cluster; `running` counts tasks.
  std::function<void(const sweep::Progress&)> progress;
  const volatile std::sig_atomic_t* stop = nullptr;
};

/// Returns when no planned run is pending, or on a stop. On a stop, tasks go on, and the next call finds
/// them. Throws UserError if Slurm is not installed or refuses the jobs, and if the shared folder or the
/// database cannot be written.
sweep::Progress follow(database::ResultStore& store, const sweep::SweepPlan& plan,
                       const FollowOptions& options);

/// Removes all jobs of a shared folder from Slurm's queue, and their files from the folder. Returns the
/// number of arrays.
std::size_t cancel_all(const std::string& folder);

}  // namespace gpumux::cluster
