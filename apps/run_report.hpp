// What `run` prints.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "experiment/run.hpp"

namespace gpumux::cli {

/// One simulation with its baselines.
struct Report {
  experiment::RunResult result;
  std::vector<double> isolated;  // empty: --baseline off
  experiment::Metrics metrics;
  std::string timeline;    // Chrome trace; empty: not wanted
  std::string taken_from;  // the database that had it; empty: simulated now
};

/// How it is shown.
struct View {
  bool verified = false;
  std::optional<std::size_t> width;  // columns at most; nothing: any number
  bool colour = false;
  Cycle launch_latency = 0;  // of the machine: until then no kernel executes anything
};

/// One run: its applications, metrics and totals.
[[nodiscard]] std::string run_text(const Report& report, const View& view);
/// Several policies, one block of rows each.
[[nodiscard]] std::string comparison_text(const std::vector<Report>& reports, const View& view);

}  // namespace gpumux::cli
