// Parts of result documents, for several writers and readers.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "arch/counter_table.hpp"
#include "experiment/run.hpp"

namespace gpumux::experiment {

/// Reads `kernels` of an application's entry. Results of older programs do not have this entry.
void read_kernels(const nlohmann::ordered_json& app_entry, AppId app, std::vector<KernelResult>& to);
/// Reads the requests of an application's entry, if it has any.
void read_requests(const nlohmann::ordered_json& app_entry, AppResult& to);
void read_goal(const nlohmann::ordered_json& app_entry, double core_mhz, AppResult& to);
/// Reads `cpus`, and the start of the applications. `alone` gets the IPCs of the baselines, if the run had
/// baselines.
void read_cpus(const nlohmann::ordered_json& document, RunResult& to, std::vector<double>& alone);
/// The text of a result file: indented, with a newline at the end.
[[nodiscard]] std::string json_text(const nlohmann::ordered_json& document);
[[nodiscard]] nlohmann::ordered_json optional_json(const std::optional<double>& value);
/// The document of `--json` without its `series`. If `isolated` is empty (`--baseline off`), values that need
/// it are null.
[[nodiscard]] nlohmann::ordered_json result_document(const RunResult& result,
                                                     const std::vector<double>& isolated,
                                                     const Metrics& metrics);
/// A counter with its value in a run.
struct CounterValue : arch::Counter {
  std::uint64_t value = 0;
};
/// True for a phase that no warp has been in. Results leave such phases out, because kernels have far fewer
/// phases than there are counters.
[[nodiscard]] inline bool is_unused_phase(const arch::Counter& counter, std::uint64_t value) {
  return counter.scope == arch::Scope::Sm && value == 0 && counter.name.starts_with("phase_");
}
/// True if the result does not have this counter: see RunResult::absent.
[[nodiscard]] bool lacks(const RunResult& result, const arch::Counter& counter);
/// All counters of the run, always in the same order.
[[nodiscard]] std::vector<CounterValue> counters(const RunResult& result);
/// All counters of a run with units and meanings (`--stats FILE`), as CSV with one row per counter and
/// application, or as text with one block per application.
[[nodiscard]] std::string stats_csv(const RunResult& result);
[[nodiscard]] std::string stats_text(const RunResult& result);

}  // namespace gpumux::experiment
