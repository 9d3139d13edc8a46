// From the runs of an experiment to its quantities, and from these to its answers to the paper.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "reproduce/experiment.hpp"
#include "reproduce/judge.hpp"
#include "reproduce/samples.hpp"
#include "sweep/expand.hpp"

namespace gpumux::reproduce {

struct MeasuredQuantity {
  std::string name;
  std::string what;
  std::string unit;
  std::optional<Cell> cell;         // in a table
  Value value;                      // for a quantity that is a number
  std::optional<std::string> text;  // of 'highest' and 'lowest': the name of a quantity
  std::size_t samples = 0;          // number of samples; 0: from other quantities
  Evidence evidence;
  std::string note;  // about the samples

  /// The reason why there is no value, and the note.
  [[nodiscard]] std::string notes() const { return join_notes(value.why, note); }
};

struct ClaimResult {
  Claim claim;
  std::string experiment;  // that answers the claim; empty: none
  std::optional<double> ours;
  Evidence evidence;
  Verdict verdict;  // with all notes
};

struct TrendResult {
  Trend trend;
  std::string experiment;
  std::optional<bool> holds;
  std::string ours;           // the condition with its values; empty: not answered
  std::size_t workloads = 0;  // on which the condition is based
  std::string note;
};

struct ExperimentResult {
  std::string id;
  std::string title;
  std::string sweep;                              // the sweep's name
  std::string paper, paper_title;                 // that it answers; empty: none
  std::string scale;                              // empty: the experiment does not have the requested scale
  std::size_t done = 0, failed = 0, pending = 0;  // number of runs, with baselines
  std::vector<MeasuredQuantity> quantities;
  std::vector<ClaimResult> claims;
  std::vector<TrendResult> trends;
};

/// The results of an experiment. `records`: of the plan's runs, in the same order. If any run of a quantity
/// failed, is pending or lacks the number, the quantity is missing and gives the reason.
[[nodiscard]] ExperimentResult measure(const Experiment& experiment, const sweep::SweepPlan& plan,
                                       const std::vector<RunRecord>& records);

/// The result of an experiment whose sweep does not have `scale`: nothing is answered.
[[nodiscard]] ExperimentResult not_measured(const Experiment& experiment, const std::string& scale);

}  // namespace gpumux::reproduce
