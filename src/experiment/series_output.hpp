// Interval series in result documents and files.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "experiment/result_json.hpp"

namespace gpumux::experiment {

/// Values of one counter over time.
struct CounterSeries {
  CounterValue counter;                // `value` is the sum of the samples
  std::vector<std::uint64_t> samples;  // one per interval, from cycle 0
};
/// The series of every sampled counter of arch/statistics.hpp, in the order of counters(); empty if the run
/// has no series.
[[nodiscard]] std::vector<CounterSeries> counter_series(const RunResult& result);

/// {"interval", "apps": [{counter: [...]}], "gpu", "schedulers", "partitions"}; null if the run has no
/// series.
[[nodiscard]] nlohmann::ordered_json series_document(const RunResult& result);
/// The text of a result file with a series, in which each counter takes one line.
[[nodiscard]] std::string with_series(std::string text, const nlohmann::ordered_json& series);

/// The first line of series_csv(), with a newline.
[[nodiscard]] std::string series_csv_head();
/// One line per interval and application, and one line for the whole GPU (position -1). Only the latter has
/// counters of schedulers and partitions.
[[nodiscard]] std::string series_csv(const RunResult& result);

}  // namespace gpumux::experiment
