// The experiments and the papers' claims that are built into the program.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "reproduce/experiment.hpp"

namespace gpumux::reproduce {

/// "basics/sharing", ...: folder and name, sorted.
[[nodiscard]] const std::vector<std::string>& experiment_ids();
[[nodiscard]] Experiment builtin_experiment(const std::string& id);
/// "dai18", ...: sorted.
[[nodiscard]] const std::vector<std::string>& paper_names();
/// Throws UserError for a paper that does not exist.
[[nodiscard]] PaperClaims paper_claims(const std::string& paper);

/// An experiment file of the user's. `paper` in it names one of the built-in papers, or a file of claims
/// relative to it when it ends in .toml. Throws UserError.
[[nodiscard]] Experiment read_experiment(const std::string& path);

/// What a command is to reproduce.
struct Chosen {
  std::vector<Experiment> experiments;
  std::vector<PaperClaims>
      papers;  // all of whose claims are accounted for; empty: those that are answered alone
};
/// `what`: an experiment's id, or its name where only one has it; a folder of experiments; a paper (all
/// experiments that speak to it); "all"; or a file that ends in .toml. Throws UserError with the nearest
/// choice.
[[nodiscard]] Chosen choose(const std::string& what);

/// How long an experiment usually takes (experiments/usual_runs.txt).
struct UsualTime {
  std::size_t runs;
  double seconds;  // of one core
};
[[nodiscard]] std::optional<UsualTime> usual_time(const std::string& id, const std::string& scale);

}  // namespace gpumux::reproduce
