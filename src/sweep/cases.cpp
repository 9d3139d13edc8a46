#include "sweep/cases.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "base/hash.hpp"

namespace gpumux::sweep {
namespace {

/// A sample of cases, which are drawn one after another.
class Sample {
 public:
  Sample(const std::vector<Workload>& workloads, const CaseChoice& choice)
      : workloads_(workloads), choice_(choice), used_(workloads.size()), taken_(workloads.size()) {}

  /// Draws a workload that does not have the goal yet. There must be one.
  void draw(std::size_t goal) {
    std::size_t best = 0;
    std::optional<Rank> least;
    for (std::size_t i = 0; i < workloads_.size(); ++i) {
      if (has(i, goal)) continue;
      const Rank rank = rank_of(i, goal);
      if (least && rank >= *least) continue;
      least = rank;
      best = i;
    }
    taken_[best].push_back(goal);
    ++used_[best];
    const Workload& workload = workloads_[best];
    for (std::size_t k = 0; k < workload.size(); ++k) {
      ++count_[{goal, workload[k], stands_first(k)}];
      ++count_[{choice_.goals, workload[k], stands_first(k)}];
    }
  }
  [[nodiscard]] std::vector<std::vector<std::size_t>> cases() && {
    for (std::vector<std::size_t>& goals : taken_) std::sort(goals.begin(), goals.end());
    return std::move(taken_);
  }

 private:
  /// The order of preference, smallest first: number of cases of the workload; false for named workloads.
  /// Then how often the first application, and the mean of the others, occur with this goal, and with any
  /// goal. Last, a hash.
  using Rank = std::tuple<std::size_t, bool, std::size_t, double, std::size_t, double, std::uint64_t>;

  [[nodiscard]] bool stands_first(std::size_t position) const { return choice_.first_has && position == 0; }
  [[nodiscard]] bool has(std::size_t workload, std::size_t goal) const {
    return std::find(taken_[workload].begin(), taken_[workload].end(), goal) != taken_[workload].end();
  }
  [[nodiscard]] Rank rank_of(std::size_t index, std::size_t goal) const {
    const Workload& workload = workloads_[index];
    std::size_t first = 0, first_ever = 0, others = 0, others_ever = 0;
    for (std::size_t k = 0; k < workload.size(); ++k) {
      (stands_first(k) ? first : others) += times(goal, workload[k], stands_first(k));
      (stands_first(k) ? first_ever : others_ever) += times(choice_.goals, workload[k], stands_first(k));
    }
    const auto mean = [&](std::size_t sum) {
      return static_cast<double>(sum) / static_cast<double>(std::max<std::size_t>(workload.size(), 1));
    };
    return {used_[index],      index >= choice_.named,        first, mean(others), first_ever,
            mean(others_ever), mix64(mix64(index + 1) ^ goal)};
  }
  [[nodiscard]] std::size_t times(std::size_t goal, std::size_t app, bool first) const {
    const auto found = count_.find({goal, app, first});
    return found == count_.end() ? 0 : found->second;
  }

  const std::vector<Workload>& workloads_;
  CaseChoice choice_;
  std::vector<std::size_t> used_;                // by workload
  std::vector<std::vector<std::size_t>> taken_;  // goals by workload
  /// How often an application is first, or not first, in the cases with a goal; with index choice_.goals: in
  /// all cases.
  std::map<std::tuple<std::size_t, std::size_t, bool>, std::size_t> count_;
};

}  // namespace

std::vector<std::vector<std::size_t>> choose_cases(const std::vector<Workload>& workloads,
                                                   const CaseChoice& choice) {
  const auto& [goals, first_has, cases, named] = choice;
  if (cases == 0 || cases >= workloads.size() * goals) {
    std::vector<std::size_t> all(goals);
    for (std::size_t i = 0; i < goals; ++i) all[i] = i;
    return std::vector<std::vector<std::size_t>>(workloads.size(), all);
  }
  Sample sample(workloads, choice);
  // Draws in rounds, so that no goal chooses from all workloads before the others. In an incomplete last
  // round, the goals are spread over the whole range.
  for (std::size_t drawn = 0; drawn < cases;) {
    const std::size_t round = std::min(goals, cases - drawn);
    for (std::size_t i = 0; i < round; ++i) sample.draw(i * goals / round);
    drawn += round;
  }
  return std::move(sample).cases();
}

}  // namespace gpumux::sweep
