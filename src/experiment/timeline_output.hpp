// Timelines as Chrome traces: for Perfetto, chrome://tracing and other viewers of that format.
#pragma once

#include <string>
#include <vector>

#include "experiment/run.hpp"

namespace gpumux::experiment {

/// The trace of one run: a process per application with its kernels and counters, one for the GPU's counters,
/// one per SM with its block slots and the stalls of its load/store unit. Times are microseconds of
/// `core_mhz`; arguments hold cycles. Counters and stalls are there when the run has a series. The run must
/// have a timeline.
[[nodiscard]] std::string timeline_json(const RunResult& result, double core_mhz);

/// One trace of those of several runs, one after another in the viewer's list.
[[nodiscard]] std::string join_timelines(const std::vector<std::string>& traces);

}  // namespace gpumux::experiment
