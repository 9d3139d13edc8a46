// An experiment: a sweep, the quantities that follow from its runs, and the claims and trends of a paper that
// they speak to. experiments/PAPER/NAME.toml; docs/experiments.md has the schema.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "reproduce/claims.hpp"
#include "reproduce/expression.hpp"
#include "sweep/sweep_file.hpp"

namespace gpumux::reproduce {

/// Which of the sweep's runs count. What is empty allows everything.
struct Filter {
  std::vector<std::string> policies;  // canonical texts
  std::vector<std::string> machines;
  std::vector<std::string> classes;  // "C", "C+M": sorted
  std::vector<std::string> apps;  // per = "app": names of those that count; else: the workload has them all
  std::vector<std::string> workload;  // sorted: exactly these together
  std::vector<std::string> goals;     // of the sweep
  std::vector<std::string> cpus;      // programs of CPU cores, as the sweep says them
  std::vector<std::string> programs;  // per = "cpu": those whose cores count
  std::vector<std::string> first;     // first applications of the workloads that count
  std::vector<std::uint64_t> seeds;
  std::optional<std::uint64_t> size;                    // applications that run together
  std::map<std::string, std::vector<std::string>> set;  // values of changed keys of the machine
  /// Values of the names in templates of policies.
  std::map<std::string, std::vector<std::string>> variables;
  bool isolated = false;  // the baselines instead of the sweep's own runs
};

/// Other values for some of what describes a run.
struct Against {
  std::optional<std::string> policy, machine, cpus;
  std::optional<std::uint64_t> seed;
  std::map<std::string, std::string> set;
};

enum class Compare { Ratio, Percent, Difference };
enum class Reduce {
  Only,
  Mean,
  Geometric,
  Harmonic,
  Median,
  Min,
  Max,
  Sum,
  Count,
  UpperQuartile,    // a quarter of the samples are greater
  RankCorrelation,  // of two expressions
  AtMax,            // the second expression where the first is greatest
  Knee,             // of the first over the second: see knee() in reduce.cpp
  Saturation        // likewise: see saturation() there
};
/// What a sample is: a run, an application of it, an interval of the application's series, or a CPU core of
/// the run that has a program.
enum class Per { Run, App, Interval, Cpu };

/// Quantities that differ in a value alone are rows and columns of one table.
struct Cell {
  std::string family;       // the name before values are put in: "speedup_{policy}"
  std::string row, column;  // labels; empty: no such dimension
};

struct Quantity {
  std::string name;
  std::string what;
  std::string unit;
  SourceLocation where;
  std::optional<Cell> cell;

  // From runs:
  std::vector<Expression> of;  // two for RankCorrelation and what follows it
  Per per = Per::Run;
  /// Core cycles of the runs that count, both ends multiples of the series' interval.
  std::optional<std::pair<std::uint64_t, std::uint64_t>> window;
  Filter filter;
  std::optional<Against> against;  // each sample over that of the run that differs in this alone
  /// Samples alone of which this is not 0, also for the run that they are compared against.
  std::optional<Expression> when;
  Compare compare = Compare::Ratio;
  Reduce reduce = Reduce::Mean;

  // From earlier quantities:
  std::optional<Expression> value;
  std::vector<std::string> candidates;  // the name of the one with the highest, or lowest, value
  bool lowest = false;
};

/// What the experiment says to a claim or a trend.
struct Answer {
  std::string id;
  Expression ours;                  // of a trend: a condition
  std::string beside;               // of a claim: a quantity that the note shows; empty: none
  std::vector<std::string> scales;  // that can answer; empty: all
  std::string note;                 // how the setup differs from the paper's
  SourceLocation where;
};

struct Experiment {
  std::string id;  // "basics/sharing"
  std::string title;
  std::string path;
  std::optional<PaperClaims> paper;
  /// By name of the scale, quick first, then standard, paper, others by name. At least one.
  std::vector<std::pair<std::string, sweep::SweepFile>> scales;
  std::map<std::string, char> classes;  // of applications, 'C' or 'M', where the file gives them
  /// By a policy's canonical text, the values of the names in the template that it comes from.
  std::map<std::string, std::map<std::string, std::string>> variables;
  std::vector<Quantity> quantities;
  std::vector<Answer> claims;
  std::vector<Answer> trends;

  [[nodiscard]] const sweep::SweepFile* find_scale(std::string_view scale) const;
};

/// Where an experiment's other files come from: the text of a file, by its path relative to the experiment's
/// folder, and the claims of a paper by its name. Both throw UserError without a place for what does not
/// exist.
struct Sources {
  std::function<std::string(const std::string& path)> file;
  std::function<PaperClaims(const std::string& paper)> claims;
};

/// True for the text of an experiment rather than of a sweep: it has the key 'sweep'.
[[nodiscard]] bool is_experiment(std::string_view text, const std::string& path);

/// Throws UserError with file:line:column for unknown keys, wrong types, names that do not exist (of
/// policies, machines, applications, keys and quantities, over all scales of the sweep; of counters; of
/// claims), expressions that are none, and quantities that say both how and not how they are made.
[[nodiscard]] Experiment parse_experiment(std::string_view text, const std::string& path,
                                          const std::string& id, const Sources& sources);

}  // namespace gpumux::reproduce
