// Counters of a run over time: all counters of statistics.hpp in intervals of equal length.
#pragma once

#include <vector>

#include "arch/counter_table.hpp"
#include "base/types.hpp"

namespace gpumux::arch {

/// Interval k covers the core cycles [k * interval, (k + 1) * interval); the last interval ends with the run.
/// The sums over all intervals are the counters at the end of the run.
struct Series {
  using Sample = CounterTable;  // increase of the counters in an interval
  Cycle interval = 0;           // core cycles; 0: not sampled
  Cycle end = 0;                // core cycles covered
  std::vector<Sample> samples;
};

}  // namespace gpumux::arch
