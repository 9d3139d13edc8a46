// The runs of a plan from a database, with their numbers.
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

/// Prefix of names that are paths in a run's result document (gpumux.result/1), as in result.metrics.antt.
/// For an application, paths start at its entry.
inline constexpr std::string_view kResultPrefix = "result.";

/// The names of the numbers of a sample.
/// For a run: cycles, sms (of the machine), metrics, and counters of the whole GPU, of "schedulers." and of
/// "partitions.". For an application: cycles, sms, ipc, ..., and its counters. For a CPU core: the members of
/// its entry in the result, with "memory." before counters of the partitions.
[[nodiscard]] const std::vector<std::string>& sample_names(Per per);

/// Prefix of names that are variables in the template of the run's policy: policy.k0. The value "inf" is
/// infinite.
inline constexpr std::string_view kVariablePrefix = "policy.";
/// The names for which a series has a number in every interval: cycles, sms and counters.
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

  /// Increments in each interval of the series, by name; empty: no series.
  using Series = std::unordered_map<std::string, std::vector<double>>;
  std::uint64_t interval = 0;  // core cycles
  Series run_series;
  std::vector<Series> app_series;
};

/// Core cycles from the first up to, but not including, the second.
using Span = std::pair<std::uint64_t, std::uint64_t>;
/// Length of a completed run in core cycles.
[[nodiscard]] std::uint64_t end_of(const RunRecord& record);
/// The intervals of the run's series within `window`, or all intervals. The last one may be short.
[[nodiscard]] std::vector<Span> intervals(const RunRecord& record, const std::optional<Span>& window);
/// The value of `name` over the cycles in `span`, which must start and end at intervals of the series.
[[nodiscard]] Value value_within(const RunRecord& record, std::optional<std::size_t> app,
                                 const std::string& name, const Span& span);

/// The value of `name` for a completed run, or for its application `app`.
[[nodiscard]] Value value_of(const RunRecord& record, std::optional<std::size_t> app,
                             const std::string& name);
/// The value of `name` for a CPU core of a completed run. `cpu`: index among the cores with a program.
[[nodiscard]] Value value_of_cpu(const RunRecord& record, std::size_t cpu, const std::string& name);

/// One record per run of the plan, in the same order, with series if the sweep keeps them. Runs that are not
/// in the database are pending. Throws UserError if the database cannot be read.
[[nodiscard]] std::vector<RunRecord> read_records(database::Connection& connection,
                                                  const sweep::SweepPlan& plan);

}  // namespace gpumux::reproduce
