// One run from its description to the rows that the database keeps, in two halves: the worker simulates, its
// parent reads.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "database/results.hpp"
#include "sweep/expand.hpp"

namespace gpumux::sweep {

/// What the database plans for each run of the plan, in the same order.
[[nodiscard]] std::vector<database::PlannedRow> planned_rows(const SweepPlan& plan);

/// Simulates; `isolated` are the IPCs of the baselines, of applications and then of CPU cores with a program;
/// empty for one of either alone, which is its own. The result as text for read_result(). Throws what
/// simulate() throws.
[[nodiscard]] std::string perform(const experiment::RunSpec& spec, const std::vector<double>& isolated);

/// Throws InternalError when the text is not perform()'s.
[[nodiscard]] database::ResultRow read_result(std::string_view text);

/// What simulate() gave for the run that left `row`, with its baselines' IPCs and metrics.
struct StoredRun {
  experiment::RunResult result;
  std::vector<double> isolated;
  experiment::Metrics metrics;
};
/// Throws ContentError when the row has not all counters. Its timeline is left as text in the row.
[[nodiscard]] StoredRun stored_run(const experiment::RunSpec& spec, const database::ResultRow& row);

}  // namespace gpumux::sweep
