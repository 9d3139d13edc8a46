// The runs of `gpumux run --db`: taken from a database, or simulated and kept there.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "experiment/run.hpp"
#include "run_report.hpp"

namespace gpumux::cli {

/// One report per policy, with baselines; kept runs weigh by the usual alpha, reports by that of `spec`. Runs
/// that the database has are not simulated again, unless series or timeline are wanted and missing; a run
/// that another process is at is waited for. `progress` makes what RunSpec::progress is of the run with this
/// name, and may give nothing. Throws what simulate() throws, having kept the failure, and UserError when the
/// database cannot be written.
[[nodiscard]] std::vector<Report> stored_reports(
    const std::string& database, const experiment::RunSpec& spec,
    const std::vector<policy::PolicyChoice>& policies, const std::vector<std::string>& set,
    const std::function<std::function<void(Cycle)>(const std::string& name)>& progress);

}  // namespace gpumux::cli
