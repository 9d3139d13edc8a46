// A run from its specification to the rows that the database keeps, in two halves: the worker simulates, its
// parent reads the result.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "database/results.hpp"
#include "sweep/expand.hpp"

namespace gpumux::sweep {

/// The database rows of the plan's runs, in the same order.
[[nodiscard]] std::vector<database::PlannedRow> planned_rows(const SweepPlan& plan);

/// Simulates a run and returns its result as text for read_result(). `isolated`: IPCs of the baselines, of
/// applications and then of CPU cores with a program; empty for a single application or program, which is its
/// own baseline. Throws as simulate() does.
[[nodiscard]] std::string perform(const experiment::RunSpec& spec, const std::vector<double>& isolated);

/// Reads the text that perform() returned. Throws InternalError for any other text.
[[nodiscard]] database::ResultRow read_result(std::string_view text);

/// The result of simulate() that `row` keeps, with the IPCs of its baselines and metrics.
struct StoredRun {
  experiment::RunResult result;
  std::vector<double> isolated;
  experiment::Metrics metrics;
};
/// Restores the result of a run. Throws ContentError if the row lacks counters. The timeline stays in the
/// row, as text.
[[nodiscard]] StoredRun stored_run(const experiment::RunSpec& spec, const database::ResultRow& row);

}  // namespace gpumux::sweep
