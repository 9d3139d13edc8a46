// Timelines as Chrome traces, for Perfetto, chrome://tracing and other viewers of this format.
#pragma once

#include <string>
#include <vector>

#include "experiment/run.hpp"

namespace gpumux::experiment {

/// The trace of one run, which must have a timeline. The trace has one process per application with its
/// kernels and counters, one for the GPU's counters, and one per SM with its block slots and LSU stalls.
/// Times are microseconds at `core_mhz`; arguments are in cycles. Counters and stalls are present if the run
/// has a series.
[[nodiscard]] std::string timeline_json(const RunResult& result, double core_mhz);

/// Joins the traces of several runs into one. The runs stand one after another in the viewer's list.
[[nodiscard]] std::string join_timelines(const std::vector<std::string>& traces);

}  // namespace gpumux::experiment
