// Parts of result documents that several writers use.
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

/// What `kernels` of an application's entry says; programs before it wrote none.
void read_kernels(const nlohmann::ordered_json& app_entry, AppId app, std::vector<KernelResult>& to);
/// What an application's entry says of its requests and its goal, if it does.
void read_requests(const nlohmann::ordered_json& app_entry, AppResult& to);
void read_goal(const nlohmann::ordered_json& app_entry, double core_mhz, AppResult& to);
/// `cpus` and where the applications begin; `alone` gets the IPCs of its baselines, if it had such.
void read_cpus(const nlohmann::ordered_json& document, RunResult& to, std::vector<double>& alone);
/// The text of a result file: indented, with a line end.
[[nodiscard]] std::string json_text(const nlohmann::ordered_json& document);
[[nodiscard]] nlohmann::ordered_json optional_json(const std::optional<double>& value);
/// The document of `--json` but for its `series`; an empty `isolated` (`--baseline off`) gives null for what
/// needs it.
[[nodiscard]] nlohmann::ordered_json result_document(const RunResult& result,
                                                     const std::vector<double>& isolated,
                                                     const Metrics& metrics);
/// One counter of a run.
struct CounterValue : arch::Counter {
  std::uint64_t value = 0;
};
/// A phase that no warp has been in: kernels have far fewer than are counted. Results are without it.
[[nodiscard]] inline bool is_unused_phase(const arch::Counter& counter, std::uint64_t value) {
  return counter.scope == arch::Scope::Sm && value == 0 && counter.name.starts_with("phase_");
}
/// The result lacks it: see RunResult::absent.
[[nodiscard]] bool lacks(const RunResult& result, const arch::Counter& counter);
/// Every counter of the run, always in the same order.
[[nodiscard]] std::vector<CounterValue> counters(const RunResult& result);
/// All counters of a run with units and meanings (`--stats FILE`): as CSV with one row per counter and
/// application, or as text with one block per application.
[[nodiscard]] std::string stats_csv(const RunResult& result);
[[nodiscard]] std::string stats_text(const RunResult& result);

}  // namespace gpumux::experiment
