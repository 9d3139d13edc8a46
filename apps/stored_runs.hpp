// The runs of `gpumux run --db`, which come from a database, or are simulated and kept there.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "experiment/run.hpp"
#include "run_report.hpp"

namespace gpumux::cli {

/// One report per policy, with baselines. Runs in the database are not simulated again, unless a wanted
/// series or timeline is missing. If another process is doing a run, this function waits for it.
/// The alpha of `spec` applies to the reports; stored runs have the default alpha. `progress` returns
/// RunSpec::progress for a run by name, and may return an empty function. Throws what simulate() throws,
/// after keeping the failure, and UserError if the database cannot be written.
[[nodiscard]] std::vector<Report> stored_reports(
    const std::string& database, const experiment::RunSpec& spec,
    const std::vector<policy::PolicyChoice>& policies, const std::vector<std::string>& set,
    const std::function<std::function<void(Cycle)>(const std::string& name)>& progress);

}  // namespace gpumux::cli
