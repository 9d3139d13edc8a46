// The experiments and the papers' claims that are built into the program.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "reproduce/experiment.hpp"

namespace gpumux::reproduce {

/// Ids of the built-in experiments, folder and name, sorted: "basics/sharing", ...
[[nodiscard]] const std::vector<std::string>& experiment_ids();
[[nodiscard]] Experiment builtin_experiment(const std::string& id);
/// Names of the papers, sorted: "dai18", ...
[[nodiscard]] const std::vector<std::string>& paper_names();
/// The claims of a paper. Throws UserError for a paper that does not exist.
[[nodiscard]] PaperClaims paper_claims(const std::string& paper);

/// Reads a user's experiment file. `paper` in the file is a built-in paper, or, if it ends in .toml, a claims
/// file relative to the experiment. Throws UserError.
[[nodiscard]] Experiment read_experiment(const std::string& path);

/// The experiments that a command reproduces.
struct Chosen {
  std::vector<Experiment> experiments;
  std::vector<PaperClaims>
      papers;  // papers of which to list all claims; empty: only the claims that are answered
};
/// Selects experiments. `what`: an experiment's id, or its name if unique; a folder of experiments; a paper
/// (all experiments that answer its claims); "all"; or a file that ends in .toml. Throws UserError with the
/// nearest choice.
[[nodiscard]] Chosen choose(const std::string& what);

/// Usual time of an experiment (experiments/usual_runs.txt).
struct UsualTime {
  std::size_t runs;
  double seconds;  // on one core
};
[[nodiscard]] std::optional<UsualTime> usual_time(const std::string& id, const std::string& scale);

}  // namespace gpumux::reproduce
