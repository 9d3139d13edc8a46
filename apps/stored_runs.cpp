#include "stored_runs.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <set>
#include <thread>

#include "arch/config_file_fields.hpp"
#include "base/error.hpp"
#include "base/exit_code.hpp"
#include "base/text.hpp"
#include "database/damage.hpp"
#include "database/results.hpp"
#include "sweep/expand.hpp"
#include "sweep/job.hpp"
#include "sweep/run_hash.hpp"

namespace gpumux::cli {
namespace {

/// (key, value) of each --set; all are valid. For repeated keys, the last value applies.
std::vector<std::pair<std::string, std::string>> overrides_of(const std::vector<std::string>& set) {
  std::vector<std::pair<std::string, std::string>> overrides;
  for (const std::string& text : set) {
    const std::size_t equals = text.find('=');
    std::string key(trim(std::string_view(text).substr(0, equals)));
    if (const int field = arch::find_field(key); field >= 0)
      key = arch::fields()[static_cast<std::size_t>(field)].key;
    std::erase_if(overrides, [&](const auto& other) { return other.first == key; });
    overrides.emplace_back(std::move(key), trim(std::string_view(text).substr(equals + 1)));
  }
  return overrides;
}

std::string hash_of(const experiment::RunSpec& spec) {
  return sweep::run_hash(spec, sweep::machine_hash(experiment::effective_machine(spec)),
                         sweep::simulator_sources());
}

/// Throws the stored failure as the kind of error that it was.
[[noreturn]] void rethrow(const database::FailureRow& failure) {
  if (failure.exit_code == kProgramFault) throw SimulationFault(failure.error);
  if (failure.exit_code == kUserFault) throw UserError::from_line(failure.error);
  constexpr std::string_view kPrefix = "internal error: ";  // InternalError adds this prefix again
  const std::string_view text = failure.error;
  throw InternalError(std::string(text.starts_with(kPrefix) ? text.substr(kPrefix.size()) : text));
}

class StoredRuns {
 public:
  StoredRuns(database::ResultStore& store, const sweep::SweepPlan& plan,
             const std::function<std::function<void(Cycle)>(const std::string&)>& progress)
      : store_(store), plan_(plan), progress_(progress) {}

  /// Does the runs until all have ended, here or in other processes.
  void work_off() {
    while (true) {
      if (std::optional<database::Claim> claim = store_.claim()) {
        perform(*claim);
      } else if (store_.counts().pending == 0) {
        break;
      } else {
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
      }
    }
    if (const auto failures = store_.failures(); !failures.empty()) rethrow(failures.front().second);
  }
  [[nodiscard]] bool simulated(std::size_t index) const { return simulated_.contains(index); }

 private:
  void perform(const database::Claim& claim) {
    const sweep::SweepRun& run = plan_.runs[claim.index];
    simulated_.insert(claim.index);
    database::ResultRow row;
    try {
      if (claim.baseline_failure) rethrow(*claim.baseline_failure);
      experiment::RunSpec spec = run.spec;
      const std::string name =
          run.is_baseline ? fmt::format("alone: {}", sweep::workload_text(spec)) : spec.policy.text;
      const std::function<void(Cycle)> show = progress_(name);
      spec.progress = [this, &show](Cycle now) {
        if (show) show(now);
        beat();
      };
      row = sweep::read_result(sweep::perform(spec, claim.isolated));
    } catch (const std::exception&) {
      const Failure failure = current_failure();
      (void)store_.fail(claim.id, {failure.exit_code, failure.text});
      throw;
    }
    (void)store_.finish(claim.id, row);
  }
  void beat() {
    const auto now = std::chrono::steady_clock::now();
    if (now - last_look_ < std::chrono::seconds(1)) return;
    last_look_ = now;
    store_.check_in_place();
    if (now - last_beat_ < std::chrono::seconds(database::kLeaseSeconds / 6)) return;
    last_beat_ = now;
    store_.heartbeat();
  }

  database::ResultStore& store_;
  const sweep::SweepPlan& plan_;
  const std::function<std::function<void(Cycle)>(const std::string&)>& progress_;
  std::set<std::size_t> simulated_;
  std::chrono::steady_clock::time_point last_beat_ = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point last_look_ = last_beat_;
};

using ProgressOf = std::function<std::function<void(Cycle)>(const std::string& name)>;

std::vector<Report> reports_of(const std::string& database, const std::vector<experiment::RunSpec>& specs,
                               const std::vector<std::string>& set, const ProgressOf& progress) {
  const sweep::SweepPlan plan = sweep::plan_runs(specs, overrides_of(set));
  database::ResultStore store(database);
  store.plan(sweep::planned_rows(plan), true);
  StoredRuns runs(store, plan, progress);
  runs.work_off();

  std::vector<Report> reports;
  for (const experiment::RunSpec& wanted : specs) {
    const std::string hash = hash_of(wanted);
    const auto found = std::find_if(plan.runs.begin(), plan.runs.end(),
                                    [&](const sweep::SweepRun& run) { return run.hash == hash; });
    GPUMUX_CHECK(found != plan.runs.end());
    const auto index = static_cast<std::size_t>(found - plan.runs.begin());
    const std::optional<database::ResultRow> row = store.result(index);
    GPUMUX_CHECK(row.has_value());
    sweep::StoredRun stored;
    database::reading(database, [&] { stored = sweep::stored_run(wanted, *row); });
    Report report{std::move(stored.result), std::move(stored.isolated), std::move(stored.metrics), {}, {}};
    if (wanted.series == 0) report.result.series = {};
    if (wanted.timeline) report.timeline = row->timeline.value_or("");
    if (!runs.simulated(index)) report.taken_from = database;
    reports.push_back(std::move(report));
  }
  return reports;
}

}  // namespace

std::vector<Report> stored_reports(
    const std::string& database, const experiment::RunSpec& spec,
    const std::vector<policy::PolicyChoice>& policies, const std::vector<std::string>& set,
    const std::function<std::function<void(Cycle)>(const std::string& name)>& progress) {
  std::vector<experiment::RunSpec> specs;
  for (const policy::PolicyChoice& policy : policies) {
    specs.push_back(spec);
    specs.back().policy = policy;
    specs.back().policy.text = policy::canonical_text(policy);
    specs.back().alpha = experiment::RunSpec().alpha;
  }
  std::vector<Report> reports;
  database::guarded(database, [&] { reports = reports_of(database, specs, set, progress); });
  for (Report& report : reports) report.metrics.alpha = spec.alpha;
  return reports;
}

}  // namespace gpumux::cli
