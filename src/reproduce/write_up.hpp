// Ours beside the papers', as JSON, Markdown and text.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "reproduce/measure.hpp"

namespace gpumux::reproduce {

/// How many of a paper's claims are answered, and agree.
struct Tally {
  std::string paper;
  std::string title;
  std::size_t claims = 0, answered = 0;              // answered: with a number of ours
  std::size_t directions = 0, directions_agree = 0;  // decided
  std::size_t directions_lean = 0, directions_lean_away = 0;
  std::size_t sizes = 0, sizes_agree = 0;  // decided
  std::size_t sizes_undecided = 0;
  std::size_t trends = 0, trends_answered = 0, trends_agree = 0;
};

struct WriteUp {
  std::string scale;
  std::string program;
  std::vector<ExperimentResult> experiments;
  std::vector<ClaimResult>
      claims;  // answered ones of the experiments, and the rest of the papers that were asked for
  std::vector<TrendResult> trends;
  std::vector<Tally> tallies;  // by paper, in the order of its first claim
};

/// `papers`: those all of whose claims are accounted for.
[[nodiscard]] WriteUp write_up(std::string scale, std::vector<ExperimentResult> experiments,
                               const std::vector<PaperClaims>& papers);

/// Schema gpumux.reproduce/1; docs/experiments.md describes it.
[[nodiscard]] nlohmann::ordered_json write_up_json(const WriteUp& all);
[[nodiscard]] std::string write_up_markdown(const WriteUp& all);
/// For a terminal: quantities, answered claims and trends, a line per paper.
[[nodiscard]] std::string write_up_text(const WriteUp& all);

}  // namespace gpumux::reproduce
