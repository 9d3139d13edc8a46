// The work of a task of a job array on its node.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "sweep/expand.hpp"

namespace gpumux::cluster {

/// Simulates a run. Default: sweep::perform(); tests replace it.
using Simulation =
    std::function<std::string(const sweep::SweepRun& run, const std::vector<double>& isolated)>;

/// Does the runs of the task at `position` of the submission in `file`, each in a process of its own, and
/// writes a result for each, good or not.
/// Runs with a result are not repeated. If the file is gone, nothing is left to do. A different version of
/// gpumux, or changed inputs, give results that are errors. Throws UserError if the file is damaged or has no
/// such task, or a result cannot be written.
void perform_task(const std::string& file, std::size_t position, const Simulation& simulation = {});

}  // namespace gpumux::cluster
