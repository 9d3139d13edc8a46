// The runs of a plan as a database has them, and the numbers that each has.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "database/sqlite.hpp"
#include "reproduce/experiment.hpp"
#include "reproduce/expression.hpp"
#include "sweep/expand.hpp"

namespace gpumux::reproduce {

/// Names that begin with it are paths in a run's result document (gpumux.result/1), or, of an application, in
/// its entry there: result.metrics.antt.
inline constexpr std::string_view kResultPrefix = "result.";

/// The names of a run's numbers: cycles, sms (of its machine), its metrics, the counters of the whole GPU,
/// and those of "schedulers." and "partitions."; or those of an application in it: cycles, sms, ipc, ..., its
/// counters; or those of a CPU core in it: what its entry in the result has, with "memory." before what it
/// did in the partitions.
[[nodiscard]] const std::vector<std::string>& sample_names(Per per);

/// Names that begin with it are values in the template that the run's policy comes from: policy.k0. "inf" is
/// infinite.
inline constexpr std::string_view kVariablePrefix = "policy.";
/// The names of which a series has a number for every interval: cycles, sms and counters.
[[nodiscard]] const std::vector<std::string>& series_names(bool per_app);

struct RunRecord {
  enum class State { Pending, Failed, Done };
  using Numbers = std::unordered_map<std::string, std::optional<double>>;  // empty: undefined

  State state = State::Pending;
  std::string error;  // first line
  Numbers run;
  std::vector<Numbers> apps;
  std::vector<Numbers> cpus;  // cores with a program
  std::string document;       // gpumux.result/1

  /// What each interval of the series added, by name; empty: no series.
  using Series = std::unordered_map<std::string, std::vector<double>>;
  std::uint64_t interval = 0;  // core cycles
  Series run_series;
  std::vector<Series> app_series;
};

/// Core cycles from the first up to the second.
using Span = std::pair<std::uint64_t, std::uint64_t>;
/// Core cycles of the run, which is done.
[[nodiscard]] std::uint64_t end_of(const RunRecord& record);
/// The intervals of the run's series within `window`, or all; the last one may be short.
[[nodiscard]] std::vector<Span> intervals(const RunRecord& record, const std::optional<Span>& window);
/// As value_of(), of the cycles in `span`, which begins and ends with an interval of the series.
[[nodiscard]] Value value_within(const RunRecord& record, std::optional<std::size_t> app,
                                 const std::string& name, const Span& span);

/// The value of `name` for the run, or for its application `app`. The run is done.
[[nodiscard]] Value value_of(const RunRecord& record, std::optional<std::size_t> app,
                             const std::string& name);
/// The same for `cpu`, its how manieth CPU core with a program.
[[nodiscard]] Value value_of_cpu(const RunRecord& record, std::size_t cpu, const std::string& name);

/// One record per run of the plan, in its order, with series where the sweep keeps them; runs that the
/// database does not have are pending. Throws UserError when it cannot be read.
[[nodiscard]] std::vector<RunRecord> read_records(database::Connection& connection,
                                                  const sweep::SweepPlan& plan);

}  // namespace gpumux::reproduce
