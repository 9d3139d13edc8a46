#include "reproduce/measure.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <unordered_map>

#include "base/error.hpp"
#include "base/text.hpp"
#include "database/workload_class.hpp"
#include "reproduce/bootstrap.hpp"
#include "reproduce/reduce.hpp"

namespace gpumux::reproduce {
namespace {

/// A run for messages: "hotspot + kmeans under even".
std::string run_text(const sweep::SweepRun& run) {
  std::string text = fmt::format("{} under {}", sweep::workload_text(run.spec), run.spec.policy.text);
  for (const auto& [key, value] : run.overrides) text += fmt::format(", {}={}", key, value);
  return text;
}

std::string missing(const sweep::SweepRun& run, const RunRecord& record) {
  if (record.state == RunRecord::State::Failed) {
    return fmt::format("the run of {} failed: {}", run_text(run), record.error);
  }
  return fmt::format("the run of {} has not been made", run_text(run));
}

template <typename T>
bool allows(const std::vector<T>& list, const T& value) {
  return list.empty() || std::find(list.begin(), list.end(), value) != list.end();
}

/// A run, an application in a run, an interval of an application, or a CPU core of a run.
struct Sample {
  std::size_t run;
  std::optional<std::size_t> app;
  std::optional<Span> span;        // of the run's cycles; nothing: all
  std::optional<std::size_t> cpu;  // index among the cores with a program
};

/// The part of a result that does not depend on runs.
ExperimentResult empty_result(const Experiment& experiment) {
  ExperimentResult out;
  out.id = experiment.id;
  out.title = experiment.title;
  out.sweep = experiment.scales.front().second.name;
  if (experiment.paper) {
    out.paper = experiment.paper->paper;
    out.paper_title = experiment.paper->title;
  }
  return out;
}

class Measurer {
 public:
  Measurer(const Experiment& experiment, const sweep::SweepPlan& plan, const std::vector<RunRecord>& records)
      : experiment_(experiment), plan_(plan), records_(records), isolated_(plan.runs.size()) {
    GPUMUX_CHECK(records.size() == plan.runs.size());
    for (std::size_t i = 0; i < plan.runs.size(); ++i) {
      for (const std::size_t baseline : plan.runs[i].baselines) isolated_[baseline] = true;
      for (const std::size_t baseline : plan.runs[i].cpu_baselines) isolated_[baseline] = true;
      // A run of one application or program under the baselines' policy is a baseline, even if no run refers
      // to it.
      const experiment::RunSpec& spec = plan.runs[i].spec;
      if (spec.apps.size() + experiment::cores_with_program(spec.cpus).size() == 1 &&
          spec.policy.name == "leftover")
        isolated_[i] = true;
      by_key_.emplace(key(i, {}), i);
    }
  }

  [[nodiscard]] ExperimentResult result() {
    ExperimentResult out = empty_result(experiment_);
    out.scale = plan_.file.scale;
    for (const RunRecord& record : records_) {
      (record.state == RunRecord::State::Done     ? out.done
       : record.state == RunRecord::State::Failed ? out.failed
                                                  : out.pending) += 1;
    }
    for (const Quantity& quantity : experiment_.quantities) {
      out.quantities.push_back(quantity.of.empty() ? derived(quantity) : from_runs(quantity));
      if (quantity.candidates.empty()) values_[quantity.name] = out.quantities.back().value;
    }
    const Lookup lookup = [this](const std::string& name) { return named(name); };
    for (const Answer& answer : experiment_.claims) {
      ClaimResult claim{*experiment_.paper->find_claim(answer.id), experiment_.id, std::nullopt, {}, {}};
      const Value ours = covered(answer) ? answer.ours.evaluate(lookup) : not_covered();
      claim.ours = ours.number;
      if (claim.ours) claim.evidence = basis_of(answer.ours).evidence();
      claim.verdict = judge(claim.claim, ours, claim.evidence);
      claim.verdict.note =
          join_notes(join_notes(beside(answer.beside, out), claim.verdict.note), setup_note(answer));
      out.claims.push_back(std::move(claim));
    }
    for (const Answer& answer : experiment_.trends) {
      TrendResult trend{
          *experiment_.paper->find_trend(answer.id), experiment_.id, std::nullopt, "", 0, setup_note(answer)};
      const Value holds = covered(answer) ? answer.ours.evaluate(lookup) : not_covered();
      if (holds.number || holds.is_undefined) {
        trend.holds = holds.number.value_or(0) != 0;
        trend.ours = answer.ours.with_values(lookup);
        trend.workloads = workloads_of(answer.ours).size();
      }
      if (!holds.number) trend.note = join_notes(holds.why, trend.note);
      out.trends.push_back(std::move(trend));
    }
    return out;
  }

 private:
  [[nodiscard]] bool covered(const Answer& answer) const { return allows(answer.scales, plan_.file.scale); }
  /// A quantity's text, value and interval: "over the goals that both reach 12.3 [8.1, 15.9]".
  [[nodiscard]] static std::string beside(const std::string& name, const ExperimentResult& result) {
    const auto found = std::find_if(result.quantities.begin(), result.quantities.end(),
                                    [&](const MeasuredQuantity& q) { return q.name == name; });
    if (found == result.quantities.end()) return "";
    const std::string& what = found->what.empty() ? found->name : found->what;
    if (!found->value.number) return fmt::format("{}: {}", what, found->value.why);
    std::string text = fmt::format("{} {:.4g}", what, *found->value.number);
    if (const auto& interval = found->evidence.interval)
      text += fmt::format(" [{:.4g}, {:.4g}]", interval->low, interval->high);
    return text;
  }
  /// The answer's note. At scales other than the paper's, also the length of the runs and the size of the
  /// sample.
  [[nodiscard]] std::string setup_note(const Answer& answer) const {
    const sweep::SweepFile& file = plan_.file;
    if (file.scale == "paper" || (file.cycles == 0 && file.cases == 0) || !covered(answer))
      return answer.note;
    std::string text = fmt::format("scale {}:", file.scale);
    if (file.cycles != 0) text += fmt::format(" runs of {} cycles", file.cycles);
    if (file.cases != 0)
      text += fmt::format("{} a sample of {} cases", file.cycles == 0 ? "" : ",", file.cases);
    return join_notes(answer.note, text);
  }
  [[nodiscard]] Value not_covered() const {
    return Value::none(fmt::format("scale {} does not cover it", plan_.file.scale));
  }

  /// Workloads and replicates on which a value is based.
  struct Basis {
    std::set<std::string> workloads;
    Replicates replicates;
    [[nodiscard]] Evidence evidence() const {
      const std::optional<Interval> interval = interval_of(replicates);
      return {workloads.size(), interval, !interval && (workloads.size() > 1 || !replicates.empty())};
    }
  };
  [[nodiscard]] static std::string workload_of(const sweep::SweepRun& run) {
    return fmt::format("{}\n{}", fmt::join(run.names, "\n"), run.cpus);
  }
  /// The workloads of all quantities in an expression.
  [[nodiscard]] std::set<std::string> workloads_of(const Expression& expression) const {
    std::set<std::string> workloads;
    for (const std::string& name : expression.names())
      if (const auto found = bases_.find(name); found != bases_.end())
        workloads.insert(found->second.workloads.begin(), found->second.workloads.end());
    return workloads;
  }
  [[nodiscard]] Basis basis_of(const Expression& expression) const {
    Basis basis{workloads_of(expression), {}};
    const bool varies =
        std::any_of(expression.names().begin(), expression.names().end(), [&](const std::string& name) {
          const auto found = bases_.find(name);
          return found != bases_.end() && !found->second.replicates.empty();
        });
    for (std::size_t i = 0; varies && i < kReplicates; ++i) {
      const Value value = expression.evaluate([&](const std::string& name) {
        const auto found = bases_.find(name);
        return found == bases_.end() || found->second.replicates.empty()
                   ? named(name)
                   : Value::finite(found->second.replicates[i]);
      });
      basis.replicates.push_back(value.number.value_or(std::numeric_limits<double>::quiet_NaN()));
    }
    if (!varies && basis.workloads.size() > 1 && expression.has_mean())
      basis.replicates = means_of_draws(expression, basis.workloads);
    return basis;
  }
  /// Replicates of means of quantities that have one workload each: drawn are the workloads, and a quantity
  /// counts as often as its workload was drawn.
  [[nodiscard]] Replicates means_of_draws(const Expression& expression,
                                          const std::set<std::string>& workloads) const {
    const std::vector<std::string> all(workloads.begin(), workloads.end());
    std::map<std::string, std::size_t> index;  // of a quantity's workload
    for (const std::string& name : expression.names()) {
      const auto found = bases_.find(name);
      if (found == bases_.end()) continue;
      if (found->second.workloads.size() != 1) return {};
      const auto at = std::lower_bound(all.begin(), all.end(), *found->second.workloads.begin());
      index[name] = static_cast<std::size_t>(at - all.begin());
    }
    Replicates replicates;
    Draws draws(all);
    std::vector<double> counts(all.size());
    for (std::size_t i = 0; i < kReplicates; ++i) {
      std::fill(counts.begin(), counts.end(), 0.0);
      for (const std::size_t draw : draws.next()) counts[draw] += 1;
      const Value value = expression.evaluate(
          [this](const std::string& name) { return named(name); },
          [&](const std::string& name) {
            const auto found = index.find(name);
            return found == index.end() ? std::nullopt : std::optional(counts[found->second]);
          });
      replicates.push_back(value.number.value_or(std::numeric_limits<double>::quiet_NaN()));
    }
    return replicates;
  }

  [[nodiscard]] Value named(const std::string& name) const {
    if (const auto found = values_.find(name); found != values_.end()) {
      Value value = found->second;
      if (!value.number) value.why = fmt::format("{}: {}", name, value.why);
      return value;
    }
    return {experiment_.paper->benchmarks.at(name), ""};
  }

  // --- which runs -----------------------------------------------------------------------------------------

  /// A key that identifies a run of the sweep, after the change `change`.
  [[nodiscard]] std::string key(std::size_t index, const Against& change) const {
    const sweep::SweepRun& run = plan_.runs[index];
    std::string key = fmt::format("{}\n{}\n{}\n{}\n", change.machine.value_or(run.spec.machine.name),
                                  change.policy.value_or(run.spec.policy.text),
                                  change.seed.value_or(run.spec.seed), run.is_baseline);
    for (const auto& [name, value] : run.overrides) {
      const auto found = change.set.find(name);
      key += fmt::format("{}={}\n", name, found == change.set.end() ? value : found->second);
    }
    for (const std::string& name : run.names) key += name + "\n";
    key += fmt::format("{}\n{}", run.goals, change.cpus.value_or(run.cpus));
    return key;
  }

  /// The class of an application, 'C' or 'M'. If unknown, '?', with the reason in `why`.
  [[nodiscard]] char class_of(std::size_t run, std::size_t app, std::string& why) {
    const std::string& name = plan_.runs[run].names[app];
    if (const auto found = experiment_.classes.find(name); found != experiment_.classes.end())
      return found->second;
    const std::size_t alone = plan_.runs[run].baselines.empty() ? run : plan_.runs[run].baselines[app];
    const RunRecord& record = records_[alone];
    if (record.state != RunRecord::State::Done) {
      why = fmt::format("its class is not known: {}", missing(plan_.runs[alone], record));
      return '?';
    }
    const double stalled = record.run.at("lsu_stall_cycles").value_or(0);
    const double cycles = record.run.at("cycles").value_or(0) * record.run.at("sms").value_or(0);
    return database::application_class(stalled, cycles);
  }
  /// The classes of a workload, as in "C+M". If unknown, empty, with the reason in `why`.
  [[nodiscard]] std::string class_of_workload(std::size_t run, std::string& why) {
    std::string letters;
    for (std::size_t i = 0; i < plan_.runs[run].spec.apps.size(); ++i) {
      letters += class_of(run, i, why);
      if (letters.back() == '?') return "";
    }
    std::sort(letters.begin(), letters.end());
    return fmt::format("{}", fmt::join(letters, "+"));
  }

  [[nodiscard]] static bool has_all(const std::vector<std::string>& apps,
                                    const std::vector<std::string>& wanted) {
    return std::all_of(wanted.begin(), wanted.end(), [&](const std::string& app) {
      return std::find(apps.begin(), apps.end(), app) != apps.end();
    });
  }

  /// The value of the variable `name` in the template of the run's policy.
  [[nodiscard]] std::optional<std::string> variable(const sweep::SweepRun& run,
                                                    const std::string& name) const {
    const auto policy = experiment_.variables.find(run.spec.policy.text);
    if (policy == experiment_.variables.end()) return std::nullopt;
    const auto found = policy->second.find(name);
    return found == policy->second.end() ? std::nullopt : std::optional(found->second);
  }
  [[nodiscard]] Value variable_value(std::size_t run, const std::string& name) const {
    const std::optional<std::string> text = variable(plan_.runs[run], name);
    if (!text) return Value::none(fmt::format("its policy has no {}", name));
    if (*text == "inf") return {std::numeric_limits<double>::infinity(), ""};
    const std::optional<double> number = parse_double(*text);
    return number ? Value{*number, ""} : Value::none(fmt::format("{} is {}, no number", name, *text));
  }

  [[nodiscard]] bool matches(const Quantity& quantity, std::size_t index, std::string& why) {
    const Filter& filter = quantity.filter;
    const sweep::SweepRun& run = plan_.runs[index];
    if (filter.isolated ? !isolated_[index] : run.is_baseline) return false;
    // A CPU program that runs alone is a baseline of CPU cores only.
    if (filter.isolated && run.spec.apps.empty() && quantity.per != Per::Cpu) return false;
    if (!allows(filter.cpus, run.cpus)) return false;
    if (!allows(filter.policies, run.spec.policy.text) || !allows(filter.seeds, run.spec.seed)) return false;
    if (!allows(filter.machines, run.spec.machine.name)) return false;
    for (const auto& [name, values] : filter.variables) {
      const std::optional<std::string> value = variable(run, name);
      if (!value || !allows(values, *value)) return false;
    }
    if (filter.size && *filter.size != run.spec.apps.size()) return false;
    if (!allows(filter.goals, run.goals) || !allows(filter.first, run.names.empty() ? "" : run.names.front()))
      return false;
    std::vector<std::string> apps = run.names;
    std::sort(apps.begin(), apps.end());
    if (!filter.workload.empty() && filter.workload != apps) return false;
    const bool picks_apps = quantity.per == Per::App || quantity.per == Per::Interval;
    if (!picks_apps && !has_all(apps, filter.apps)) return false;
    for (const auto& wanted : filter.set) {
      const bool same = std::any_of(run.overrides.begin(), run.overrides.end(), [&](const auto& change) {
        return change.first == wanted.first && allows(wanted.second, change.second);
      });
      if (!same) return false;
    }
    if (filter.classes.empty()) return true;
    const std::string letters = class_of_workload(index, why);
    return !letters.empty() && allows(filter.classes, letters);
  }

  /// The samples of a quantity. If they are unknown, `why` has the reason.
  struct Samples {
    std::vector<Sample> list;
    std::string why;
    std::string note;
  };
  [[nodiscard]] Samples samples(const Quantity& quantity) {
    Samples out;
    std::map<std::size_t, std::uint64_t> ends;  // length of the runs with interval samples, in cycles
    for (std::size_t i = 0; i < plan_.runs.size(); ++i) {
      if (!matches(quantity, i, out.why)) {
        if (!out.why.empty()) return {{}, out.why, ""};
        continue;
      }
      if (quantity.per == Per::Run) out.list.push_back({i, std::nullopt, quantity.window, std::nullopt});
      if (quantity.per == Per::Cpu) add_cpus(quantity, i, out.list);
      const bool of_apps = quantity.per == Per::App || quantity.per == Per::Interval;
      for (std::size_t app = 0; of_apps && app < plan_.runs[i].spec.apps.size(); ++app) {
        if (!allows(quantity.filter.apps, plan_.runs[i].names[app])) continue;
        if (quantity.per == Per::App) out.list.push_back({i, app, quantity.window, std::nullopt});
        if (quantity.per != Per::Interval) continue;
        if (out.why = add_intervals(quantity, i, app, out.list); !out.why.empty()) return {{}, out.why, ""};
        ends[i] = end_of(records_[i]);
      }
    }
    if (quantity.window && !ends.empty()) compare_with_ends(*quantity.window, ends, out);
    return out;
  }
  void add_cpus(const Quantity& quantity, std::size_t run, std::vector<Sample>& list) const {
    const std::vector<experiment::CpuProgram>& cpus = plan_.runs[run].spec.cpus;
    std::size_t index = 0;
    for (const std::uint32_t core : experiment::cores_with_program(cpus)) {
      if (allows(quantity.filter.programs, cpus[core].name))
        list.push_back({run, std::nullopt, std::nullopt, index});
      ++index;
    }
  }
  /// Adds the intervals of an application. Returns the reason if they are unknown, else an empty text.
  [[nodiscard]] std::string add_intervals(const Quantity& quantity, std::size_t run, std::size_t app,
                                          std::vector<Sample>& list) const {
    const RunRecord& record = records_[run];
    if (record.state != RunRecord::State::Done) return missing(plan_.runs[run], record);
    Span all = quantity.window.value_or(Span{0, end_of(record)});
    all.second = std::min(all.second, end_of(record));
    if (all.first >= all.second) return "";
    if (const Value cycles = value_within(record, app, "cycles", all); !cycles.number) {
      return fmt::format("{}: {}", run_text(plan_.runs[run]), cycles.why);
    }
    for (const Span& span : intervals(record, quantity.window))
      list.push_back({run, app, span, std::nullopt});
    return "";
  }
  /// Notes in `out` how many runs end before the window does.
  static void compare_with_ends(const Span& window, const std::map<std::size_t, std::uint64_t>& ends,
                                Samples& out) {
    std::uint64_t first = window.second;
    std::uint64_t last = 0;
    std::size_t beyond = 0;
    for (const auto& [run, end] : ends) {
      first = std::min(first, end);
      last = std::max(last, end);
      beyond += end < window.second ? 1 : 0;
    }
    const std::string cycles = fmt::format("cycles {} to {}", window.first, window.second);
    if (out.list.empty()) {
      out.why = fmt::format("no run has an interval within {}: the last ends at {}", cycles, last);
    } else if (beyond != 0) {
      out.note = fmt::format(
          "{} go beyond the end of {} of {} runs, the first of which ends at {}: what there is counts",
          cycles, beyond, ends.size(), first);
    }
  }

  // --- their values ---------------------------------------------------------------------------------------

  [[nodiscard]] Value at(const Expression& expression, const Sample& sample) const {
    const RunRecord& record = records_[sample.run];
    if (record.state != RunRecord::State::Done) return Value::none(missing(plan_.runs[sample.run], record));
    Value value = expression.evaluate([&](const std::string& name) {
      if (name.starts_with(kVariablePrefix))
        return variable_value(sample.run, name.substr(kVariablePrefix.size()));
      if (sample.cpu) return value_of_cpu(record, *sample.cpu, name);
      return sample.span ? value_within(record, sample.app, name, *sample.span)
                         : value_of(record, sample.app, name);
    });
    if (!value.number) value.why = fmt::format("{}: {}", run_text(plan_.runs[sample.run]), value.why);
    return value;
  }
  /// The run that the sample is compared with.
  [[nodiscard]] std::optional<std::size_t> other_run(const Quantity& quantity, const Sample& sample) const {
    const auto other = by_key_.find(key(sample.run, *quantity.against));
    return other == by_key_.end() ? std::nullopt : std::optional(other->second);
  }
  [[nodiscard]] Value no_other_run(const Sample& sample) const {
    return Value::none(fmt::format("{} has no run to be compared against", run_text(plan_.runs[sample.run])));
  }
  [[nodiscard]] Value compared(const Quantity& quantity, const Expression& expression,
                               const Sample& sample) const {
    Value value = at(expression, sample);
    if (!value.number || !quantity.against) return value;
    const std::optional<std::size_t> other = other_run(quantity, sample);
    if (!other) return no_other_run(sample);
    Value base = at(expression, {*other, sample.app, sample.span, sample.cpu});
    if (!base.number) return base;
    if (quantity.compare != Compare::Difference && *base.number == 0) {
      return Value::undefined(
          fmt::format("{}: 0, which nothing can be compared against", run_text(plan_.runs[*other])));
    }
    const double ratio = *value.number / *base.number;
    value = Value::finite(quantity.compare == Compare::Difference ? *value.number - *base.number
                          : quantity.compare == Compare::Ratio    ? ratio
                                                                  : 100 * (ratio - 1));
    if (!value.number) value.why = fmt::format("{}: {}", run_text(plan_.runs[sample.run]), value.why);
    return value;
  }

  /// Removes samples for which `when` is 0. Returns their workloads; on failure, samples.why has the reason.
  [[nodiscard]] std::vector<std::string> take_out(const Quantity& quantity, Samples& samples) const {
    std::vector<std::string> others;
    if (!quantity.when) return others;
    std::vector<Sample> counting;
    for (const Sample& sample : samples.list) {
      Value counts = at(*quantity.when, sample);
      if (counts.number && *counts.number != 0 && quantity.against) {
        const std::optional<std::size_t> other = other_run(quantity, sample);
        counts =
            other ? at(*quantity.when, {*other, sample.app, sample.span, sample.cpu}) : no_other_run(sample);
      }
      if (!counts.number) {
        samples.why = counts.why;
        return {};
      }
      if (*counts.number != 0)
        counting.push_back(sample);
      else
        others.push_back(workload_of(plan_.runs[sample.run]));
    }
    samples.list = std::move(counting);
    return others;
  }

  [[nodiscard]] MeasuredQuantity from_runs(const Quantity& quantity) {
    MeasuredQuantity out{
        quantity.name, quantity.what, quantity.unit, quantity.cell, {}, std::nullopt, 0, {}, ""};
    Samples chosen = samples(quantity);
    const bool none = chosen.list.empty();
    const std::vector<std::string> others =
        chosen.why.empty() ? take_out(quantity, chosen) : std::vector<std::string>{};
    const auto& [list, why, note] = chosen;
    out.samples = list.size();
    out.note = note;
    const bool has_value =
        !list.empty() || quantity.reduce == Reduce::Count || (quantity.reduce == Reduce::Sum && !none);
    if (!why.empty() || !has_value) {
      out.value = Value::none(!why.empty() ? why
                              : none       ? "no run is such"
                                           : fmt::format("in no run is {}", quantity.when->text()));
      return out;
    }
    std::vector<std::vector<double>> columns(quantity.of.size());
    std::vector<Value> values;
    for (std::size_t i = 0; i < columns.size(); ++i) {
      for (const Sample& sample : list) values.push_back(compared(quantity, quantity.of[i], sample));
    }
    if (const Value* first = first_without_number(values.data(), values.data() + values.size())) {
      out.value = *first;
      return out;
    }
    for (std::size_t i = 0; i < values.size(); ++i) columns[i / list.size()].push_back(*values[i].number);
    out.value = reduce(quantity.reduce, columns);
    if (out.value.number) {
      std::vector<std::string> workloads;
      for (const Sample& sample : list) workloads.push_back(workload_of(plan_.runs[sample.run]));
      Basis& basis = bases_[quantity.name];
      basis = {{workloads.begin(), workloads.end()}, replicates(quantity.reduce, columns, workloads, others)};
      out.evidence = basis.evidence();
    }
    if (out.value.is_undefined && columns.size() == 1) {
      const auto infinite =
          std::find_if(columns[0].begin(), columns[0].end(), [](double v) { return !std::isfinite(v); });
      if (infinite != columns[0].end()) {
        const Sample& sample = list[static_cast<std::size_t>(infinite - columns[0].begin())];
        out.value.why += fmt::format(", as for {}", run_text(plan_.runs[sample.run]));
      }
    }
    return out;
  }

  [[nodiscard]] MeasuredQuantity derived(const Quantity& quantity) {
    MeasuredQuantity out{
        quantity.name, quantity.what, quantity.unit, quantity.cell, {}, std::nullopt, 0, {}, ""};
    if (quantity.value) {
      out.value = quantity.value->evaluate([this](const std::string& name) { return named(name); });
      if (out.value.number) {
        Basis& basis = bases_[quantity.name] = basis_of(*quantity.value);
        out.evidence = basis.evidence();
      }
      return out;
    }
    std::vector<Value> values;
    for (const std::string& candidate : quantity.candidates) values.push_back(named(candidate));
    if (const Value* first = first_without_number(values.data(), values.data() + values.size())) {
      out.value = *first;
      return out;
    }
    std::optional<double> best;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double value = *values[i].number;
      if (best && (quantity.lowest ? value >= *best : value <= *best)) continue;
      best = value;
      out.text = quantity.candidates[i];
    }
    return out;
  }

  const Experiment& experiment_;
  const sweep::SweepPlan& plan_;
  const std::vector<RunRecord>& records_;
  std::vector<bool> isolated_;                           // runs that are baselines
  std::unordered_map<std::string, std::size_t> by_key_;  // index of the run
  std::map<std::string, Value> values_;                  // of the quantities computed so far
  std::map<std::string, Basis> bases_;                   // of quantities that are numbers
};

}  // namespace

ExperimentResult measure(const Experiment& experiment, const sweep::SweepPlan& plan,
                         const std::vector<RunRecord>& records) {
  return Measurer(experiment, plan, records).result();
}

ExperimentResult not_measured(const Experiment& experiment, const std::string& scale) {
  ExperimentResult out = empty_result(experiment);
  const std::string why = fmt::format("scale {} does not cover it: {} has none", scale, experiment.id);
  for (const Quantity& quantity : experiment.quantities) {
    out.quantities.push_back({quantity.name,
                              quantity.what,
                              quantity.unit,
                              quantity.cell,
                              Value::none(why),
                              std::nullopt,
                              0,
                              {},
                              ""});
  }
  for (const Answer& answer : experiment.claims) {
    out.claims.push_back({*experiment.paper->find_claim(answer.id),
                          experiment.id,
                          std::nullopt,
                          {},
                          {Standing::None, Standing::None, why}});
  }
  for (const Answer& answer : experiment.trends) {
    out.trends.push_back({*experiment.paper->find_trend(answer.id), experiment.id, std::nullopt, "", 0, why});
  }
  return out;
}

}  // namespace gpumux::reproduce
