// An experiment: a sweep, quantities that follow from its runs, and a paper's claims and trends that they
// answer. Files: experiments/PAPER/NAME.toml; docs/experiments.md has the schema.
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

/// Selects runs of the sweep. An empty member allows everything.
struct Filter {
  std::vector<std::string> policies;  // canonical texts
  std::vector<std::string> machines;
  std::vector<std::string> classes;  // "C", "C+M": letters sorted
  std::vector<std::string> apps;  // per = "app": apps that count; else: the workload contains all of the apps
  std::vector<std::string> workload;  // sorted: the workload is exactly these
  std::vector<std::string> goals;     // as in the sweep
  std::vector<std::string> cpus;      // programs of CPU cores, as in the sweep
  std::vector<std::string> programs;  // per = "cpu": programs whose cores count
  std::vector<std::string> first;     // first applications of workloads
  std::vector<std::uint64_t> seeds;
  std::optional<std::uint64_t> size;                    // number of applications that run together
  std::map<std::string, std::vector<std::string>> set;  // values of overridden keys of the machine
  /// Values of the variables in templates of policies.
  std::map<std::string, std::vector<std::string>> variables;
  bool isolated = false;  // baselines instead of the sweep's own runs
};

/// Changes to the description of a run that give the run to compare with.
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
  UpperQuartile,    // a quarter of the samples are larger
  RankCorrelation,  // of two expressions
  AtMax,            // the second expression where the first is largest
  Knee,             // of the first over the second expression: see knee() in reduce.cpp
  Saturation        // of the first over the second expression: see saturation() in reduce.cpp
};
/// The kind of a sample: a run, an application in a run, an interval of the application's series, or a CPU
/// core with a program in a run.
enum class Per { Run, App, Interval, Cpu };

/// Position in a table. Quantities that differ in one or two values are the rows and columns of one table.
struct Cell {
  std::string family;       // the name with placeholders: "speedup_{policy}"
  std::string row, column;  // labels; empty: the table has no such dimension
};

struct Quantity {
  std::string name;
  std::string what;
  std::string unit;
  SourceLocation where;
  std::optional<Cell> cell;

  // For quantities from runs.
  std::vector<Expression> of;  // two for RankCorrelation and the later members of Reduce
  Per per = Per::Run;
  /// Core cycles that count in each run. Both ends are multiples of the series' interval.
  std::optional<std::pair<std::uint64_t, std::uint64_t>> window;
  Filter filter;
  std::optional<Against> against;  // compare each sample with the run that differs only in this
  /// A condition: samples count if it is not 0, also for the run that they are compared with.
  std::optional<Expression> when;
  Compare compare = Compare::Ratio;
  Reduce reduce = Reduce::Mean;

  // For quantities from earlier quantities.
  std::optional<Expression> value;
  std::vector<std::string> candidates;  // the result is the name of the candidate with the highest value
  bool lowest = false;
};

/// The answer of the experiment to a claim or a trend.
struct Answer {
  std::string id;
  Expression ours;                  // for a trend: a condition
  std::string beside;               // for a claim: a quantity that the note shows; empty: none
  std::vector<std::string> scales;  // scales that can answer; empty: all
  std::string note;                 // differences from the paper's setup
  SourceLocation where;
};

struct Experiment {
  std::string id;  // "basics/sharing"
  std::string title;
  std::string path;
  std::optional<PaperClaims> paper;
  /// Sweeps by name of the scale, at least one. Order: quick, standard, paper, then others by name.
  std::vector<std::pair<std::string, sweep::SweepFile>> scales;
  std::map<std::string, char> classes;  // of applications, 'C' or 'M', if the file gives them
  /// Values of a template's variables, by the canonical text of the policy that the template produced.
  std::map<std::string, std::map<std::string, std::string>> variables;
  std::vector<Quantity> quantities;
  std::vector<Answer> claims;
  std::vector<Answer> trends;

  [[nodiscard]] const sweep::SweepFile* find_scale(std::string_view scale) const;
};

/// Access to the other files of an experiment: the text of a file, by its path relative to the experiment's
/// folder, and the claims of a paper by name. For items that do not exist, both throw UserError without a
/// place.
struct Sources {
  std::function<std::string(const std::string& path)> file;
  std::function<PaperClaims(const std::string& paper)> claims;
};

/// True if `text` is an experiment, not a sweep: it has the key 'sweep'.
[[nodiscard]] bool is_experiment(std::string_view text, const std::string& path);

/// Parses an experiment. Throws UserError with file:line:column for unknown keys, wrong types, bad
/// expressions, quantities with too many or too few definitions, and unknown names: of counters, claims and
/// quantities, and of policies, machines, applications and keys in any scale of the sweep.
[[nodiscard]] Experiment parse_experiment(std::string_view text, const std::string& path,
                                          const std::string& id, const Sources& sources);

}  // namespace gpumux::reproduce
