// Which cases of a sweep run: all workloads with all goals, or a balanced sample of them.
#pragma once

#include <cstddef>
#include <vector>

#include "sweep/sweep_file.hpp"

namespace gpumux::sweep {

struct CaseChoice {
  std::size_t goals = 1;   // with CPU programs: goals beside programs; 1 where the sweep has none
  bool first_has = false;  // the first application of a workload has the goal, and counts apart
  std::size_t cases = 0;   // that run; 0, or as many as there are: all
  std::size_t named = 0;   // the first workloads, so many, come before others
};
/// For each workload the goals with which it runs, as indices. A sample has each goal equally often, give or
/// take one, and takes workloads that it has not yet before others; of these, such whose first applications,
/// and then others, the goal, and then the sample, has had least. What is equal in all that is decided by a
/// hash of the indices, so that the sample depends on nothing but the arguments.
[[nodiscard]] std::vector<std::vector<std::size_t>> choose_cases(const std::vector<Workload>& workloads,
                                                                 const CaseChoice& choice);

}  // namespace gpumux::sweep
