// What `run` prints.
#pragma once

#include <string>
#include <vector>

#include "experiment/run.hpp"

namespace gpumux::cli {

/// One simulation with its baselines.
struct Report {
  experiment::RunResult result;
  std::vector<double> isolated;  // empty: --baseline off
  experiment::Metrics metrics;
};

/// One run: its applications, metrics and totals.
[[nodiscard]] std::string run_text(const Report& report, bool verified);
/// Several policies, one block of rows each.
[[nodiscard]] std::string comparison_text(const std::vector<Report>& reports, bool verified);

}  // namespace gpumux::cli
