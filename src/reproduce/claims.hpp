// What a paper states: experiments/claims/PAPER.toml. docs/experiments.md has the schema.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/error.hpp"

namespace gpumux::reproduce {

/// How a printed number bounds the true one.
enum class Bound { None, About, Less, LessEqual, Greater, GreaterEqual };
/// "", "~", "<", "<=", ">", ">=".
[[nodiscard]] std::string_view bound_text(Bound bound);
/// Which way of its metric is an improvement; None: neither.
enum class Better { None, Higher, Lower };

/// A number that the paper states.
struct Claim {
  std::string id;  // "dai18.fig12.spatial_weighted_speedup"
  std::string source;
  std::string metric;
  std::string what;
  std::string machine, baseline, workloads;  // of its setup; empty: not applicable
  std::uint64_t kernels = 0;                 // that run together; 0: not applicable
  double value = 0;                          // as printed
  Bound bound = Bound::None;
  std::string unit;
  Better better = Better::None;
  /// The value, in `unit`, at which nothing differs: 1 of a ratio, 0 of a percent improvement. Empty: the
  /// claim is a level, such as a count or a time, and compares nothing.
  std::optional<double> no_effect;
  /// What it cannot pass, in `unit`: 100 of a share, a reduction, a loss. Empty: anything.
  std::optional<double> most;
  std::string kind;
  bool headline = false;
  std::string note;
};

/// An ordering or a shape that the paper states without a number.
struct Trend {
  std::string id;
  std::string source;
  std::string relation;
  std::string what;
};

/// What stands in a row of a table.
using TableCell = std::variant<double, bool, std::string>;
/// Cells by column.
using TableRow = std::map<std::string, TableCell>;

struct PaperClaims {
  std::string paper;  // "dai18"
  std::string title;
  std::vector<Claim> claims;
  std::vector<Trend> trends;
  /// By id, why no experiment can answer it.
  std::map<std::string, std::string> unanswered;
  /// Numbers of the paper's tables by "benchmark.TABLE.ROW.COLUMN", each part with '_' for what is neither
  /// letter nor digit: benchmark.Table_2.cp.l1d_miss_rate.
  std::map<std::string, double> benchmarks;
  /// Rows of the paper's tables by table and name as in the file ("Table 2", "BS.0"), without lists of texts.
  std::map<std::pair<std::string, std::string>, TableRow> rows;

  [[nodiscard]] const Claim* find_claim(std::string_view id) const;
  [[nodiscard]] const Trend* find_trend(std::string_view id) const;
};

/// Throws UserError with file:line:column for unknown or missing keys, wrong types, ids given twice and ids
/// that do not begin with the paper's name.
[[nodiscard]] PaperClaims parse_claims(std::string_view text, const std::string& path);

}  // namespace gpumux::reproduce
