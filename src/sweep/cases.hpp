// Selects the cases of a sweep: all workloads with all goals, or a balanced sample.
#pragma once

#include <cstddef>
#include <vector>

#include "sweep/sweep_file.hpp"

namespace gpumux::sweep {

struct CaseChoice {
  std::size_t goals = 1;   // number of goals (with CPU programs, of pairs of both); 1 without goals
  bool first_has = false;  // the first application of a workload has the goal, and is counted separately
  std::size_t cases = 0;   // cases to select; 0, or as many as there are: all
  std::size_t named = 0;   // the first `named` workloads are preferred
};
/// The goals with which each workload runs, as indices.
/// A sample has each goal equally often, plus or minus one. It prefers workloads that it does not have yet.
/// Among these, it prefers workloads whose first application, and then other applications, are rarest with
/// the goal, and then in the sample. A hash of the indices decides ties, so that the sample depends only on
/// the arguments.
[[nodiscard]] std::vector<std::vector<std::size_t>> choose_cases(const std::vector<Workload>& workloads,
                                                                 const CaseChoice& choice);

}  // namespace gpumux::sweep
