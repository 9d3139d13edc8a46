// From the runs of an experiment to its quantities, and from those to what it says to the paper.
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
  std::optional<Cell> cell;         // of a table
  Value value;                      // of those that are numbers
  std::optional<std::string> text;  // of 'highest' and 'lowest': the name of a quantity
  std::size_t samples = 0;          // that it was made of; 0: made of other quantities
  Evidence evidence;
  std::string note;  // on the samples

  /// Why there is no value, and the note.
  [[nodiscard]] std::string notes() const { return join_notes(value.why, note); }
};

struct ClaimResult {
  Claim claim;
  std::string experiment;  // that answers; empty: none does
  std::optional<double> ours;
  Evidence evidence;
  Verdict verdict;  // with all notes
};

struct TrendResult {
  Trend trend;
  std::string experiment;
  std::optional<bool> holds;
  std::string ours;           // the condition with its values; empty: not answered
  std::size_t workloads = 0;  // behind them
  std::string note;
};

struct ExperimentResult {
  std::string id;
  std::string title;
  std::string sweep;                              // its name
  std::string paper, paper_title;                 // that it speaks to; empty: none
  std::string scale;                              // empty: it does not have the scale that was asked for
  std::size_t done = 0, failed = 0, pending = 0;  // runs, baselines included
  std::vector<MeasuredQuantity> quantities;
  std::vector<ClaimResult> claims;
  std::vector<TrendResult> trends;
};

/// `records`: of the plan's runs, in its order. A quantity of which any run has failed, is pending or lacks
/// the number is missing, and says why.
[[nodiscard]] ExperimentResult measure(const Experiment& experiment, const sweep::SweepPlan& plan,
                                       const std::vector<RunRecord>& records);

/// The answers of an experiment whose sweep does not have `scale`: none.
[[nodiscard]] ExperimentResult not_measured(const Experiment& experiment, const std::string& scale);

}  // namespace gpumux::reproduce
