// Interval series in documents and files.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "experiment/result_json.hpp"

namespace gpumux::experiment {

/// One counter over time.
struct CounterSeries {
  CounterValue counter;                // its value is the sum
  std::vector<std::uint64_t> samples;  // one per interval, from cycle 0
};
/// Every counter of arch/statistics.hpp that is sampled, in the order of counters(); empty when the run
/// has no series.
[[nodiscard]] std::vector<CounterSeries> counter_series(const RunResult& result);

/// {"interval", "apps": [{counter: [...]}], "gpu", "schedulers", "partitions"}; null when the run has none.
[[nodiscard]] nlohmann::ordered_json series_document(const RunResult& result);
/// The text of a result file with a series in it, which takes one line per counter.
[[nodiscard]] std::string with_series(std::string text, const nlohmann::ordered_json& series);

/// Head of series_csv(), with a line end.
[[nodiscard]] std::string series_csv_head();
/// One line per interval and application, and one for the whole GPU (position -1), which alone has the
/// counters of schedulers and partitions.
[[nodiscard]] std::string series_csv(const RunResult& result);

}  // namespace gpumux::experiment
