// The output of `run`.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "experiment/run.hpp"

namespace gpumux::cli {

/// A simulation with its baselines.
struct Report {
  experiment::RunResult result;
  std::vector<double> isolated;  // empty: --baseline off
  experiment::Metrics metrics;
  std::string timeline;    // Chrome trace; empty: not requested
  std::string taken_from;  // the database with the result; empty: simulated now
};

/// How a report is displayed.
struct View {
  bool verified = false;
  std::optional<std::size_t> width;  // largest width in columns; nothing: no limit
  bool colour = false;
  Cycle launch_latency = 0;  // of the machine: before this cycle no kernel executes
};

/// The text for one run: its applications, metrics and totals.
[[nodiscard]] std::string run_text(const Report& report, const View& view);
/// The text for runs under several policies, with one block of rows each.
[[nodiscard]] std::string comparison_text(const std::vector<Report>& reports, const View& view);

}  // namespace gpumux::cli
