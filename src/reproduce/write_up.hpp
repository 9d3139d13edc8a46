// Our results beside the papers', as JSON, Markdown and text.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "reproduce/measure.hpp"

namespace gpumux::reproduce {

/// How many of a paper's claims and trends are answered, and how many agree.
struct Tally {
  std::string paper;
  std::string title;
  std::size_t claims = 0, answered = 0;              // answered: we have a result
  std::size_t directions = 0, directions_agree = 0;  // decided directions
  std::size_t directions_lean = 0, directions_lean_away = 0;
  std::size_t sizes = 0, sizes_agree = 0;  // decided sizes
  std::size_t sizes_undecided = 0;
  std::size_t trends = 0, trends_answered = 0, trends_agree = 0;
};

struct WriteUp {
  std::string scale;
  std::string program;
  std::vector<ExperimentResult> experiments;
  std::vector<ClaimResult>
      claims;  // claims that the experiments answer, and the other claims of requested papers
  std::vector<TrendResult> trends;
  std::vector<Tally> tallies;  // by paper, in the order of the first claims
};

/// Combines results. `papers`: the papers of which all claims are listed.
[[nodiscard]] WriteUp write_up(std::string scale, std::vector<ExperimentResult> experiments,
                               const std::vector<PaperClaims>& papers);

/// The results as JSON, schema gpumux.reproduce/1, which docs/experiments.md describes.
[[nodiscard]] nlohmann::ordered_json write_up_json(const WriteUp& all);
[[nodiscard]] std::string write_up_markdown(const WriteUp& all);
/// The results as text for a terminal: quantities, answered claims and trends, and one line per paper.
[[nodiscard]] std::string write_up_text(const WriteUp& all);

}  // namespace gpumux::reproduce
