// What a task of a job array does on its node.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "sweep/expand.hpp"

namespace gpumux::cluster {

/// How a run is simulated: sweep::perform() unless a test says otherwise.
using Simulation =
    std::function<std::string(const sweep::SweepRun& run, const std::vector<double>& isolated)>;

/// Does the runs of the task at `position` of the submission in `file`, each in a process of its own, and
/// leaves a result for each, good or not. Runs that have one are not repeated; without the file there is
/// nothing left to do. Another version of gpumux and inputs that have changed are results, too: errors.
/// Throws UserError when the file is damaged, has no such task, or a result cannot be written.
void perform_task(const std::string& file, std::size_t position, const Simulation& simulation = {});

}  // namespace gpumux::cluster
