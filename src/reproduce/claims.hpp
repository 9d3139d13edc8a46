// Statements of a paper: experiments/claims/PAPER.toml. docs/experiments.md has the schema.
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

/// How a printed number bounds the true number.
enum class Bound { None, About, Less, LessEqual, Greater, GreaterEqual };
/// The text of a bound: "", "~", "<", "<=", ">", ">=".
[[nodiscard]] std::string_view bound_text(Bound bound);
/// The direction of an improvement of a metric; None: neither.
enum class Better { None, Higher, Lower };

/// A number that the paper states.
struct Claim {
  std::string id;  // "dai18.fig12.spatial_weighted_speedup"
  std::string source;
  std::string metric;
  std::string what;
  std::string machine, baseline, workloads;  // of the setup; empty: not applicable
  std::uint64_t kernels = 0;                 // kernels that run together; 0: not applicable
  double value = 0;                          // as printed
  Bound bound = Bound::None;
  std::string unit;
  Better better = Better::None;
  /// The value, in `unit`, that means no difference: 1 for a ratio, 0 for a percent improvement. Empty for a
  /// claim that compares nothing, such as a count or a time.
  std::optional<double> no_effect;
  /// Upper limit of the value, in `unit`: 100 for a share, a reduction, a loss. Empty: no limit.
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

/// A cell of a table.
using TableCell = std::variant<double, bool, std::string>;
/// The cells of a row, by column.
using TableRow = std::map<std::string, TableCell>;

struct PaperClaims {
  std::string paper;  // "dai18"
  std::string title;
  std::vector<Claim> claims;
  std::vector<Trend> trends;
  /// Reasons why no experiment can answer a claim or trend, by id.
  std::map<std::string, std::string> unanswered;
  /// Numbers of the paper's tables by "benchmark.TABLE.ROW.COLUMN". In each part, '_' replaces any character
  /// that is neither a letter nor a digit: benchmark.Table_2.cp.l1d_miss_rate.
  std::map<std::string, double> benchmarks;
  /// Rows of the paper's tables, by table and name as in the file ("Table 2", "BS.0"). Lists of texts are
  /// left out.
  std::map<std::pair<std::string, std::string>, TableRow> rows;

  [[nodiscard]] const Claim* find_claim(std::string_view id) const;
  [[nodiscard]] const Trend* find_trend(std::string_view id) const;
};

/// Parses a claims file. Throws UserError with file:line:column for unknown or missing keys, wrong types,
/// repeated ids, and ids that do not start with the paper's name.
[[nodiscard]] PaperClaims parse_claims(std::string_view text, const std::string& path);

}  // namespace gpumux::reproduce
