// Priorities: kernels of the application with the highest priority get as many SMs as they need, kernels of
// the next priority get what remains, and so on. Kernels of equal priority divide their SMs as in Smart Even.
// SMs are taken from blocks of lower priority by preemption. Source: the priority queues that chimera15
// section 3.1 refers to (Tanasic et al., ISCA 2014).
#include <fmt/core.h>

#include <algorithm>

#include "base/error.hpp"
#include "policy/preemption/preemptive_policy.hpp"
#include "policy/sm_division.hpp"

namespace gpumux::policy {
namespace {

constexpr std::uint32_t kHighest = 1000;

class Priority final : public NeedDrivenPolicy {
 public:
  Priority(std::vector<std::uint32_t> levels, PreemptionSettings settings)
      : NeedDrivenPolicy(std::move(settings)), levels_(std::move(levels)) {}

  void check(const arch::MachineConfig&, std::size_t apps) const override {
    if (!levels_.empty() && levels_.size() != apps)
      throw UserError(fmt::format("policy priority: levels= has {} numbers, and there are {} applications",
                                  levels_.size(), apps));
  }
  [[nodiscard]] bool waits_behind(AppId later, AppId grid) const override {
    return level(later) <= level(grid);
  }
  void use_priorities(const std::vector<std::uint32_t>& priorities) override {
    if (!levels_.empty())
      throw UserError(
          "policy priority: levels= and priority= of applications say the same; give one of them");
    levels_ = priorities;
  }

 private:
  /// Priority of the application. Without `levels`, the first application on the command line has the
  /// highest.
  [[nodiscard]] std::uint32_t level(AppId app) const {
    return levels_.empty() ? kHighest - app : levels_[app];
  }

  void divide(Control& control) override {
    const std::vector<RunningKernel>& kernels = control.kernels();
    std::vector<std::uint32_t> shares(kernels.size(), 0);
    std::uint32_t left = control.config().sms;
    std::vector<bool> served(kernels.size(), false);
    for (;;) {
      std::uint32_t highest = 0;
      for (std::size_t i = 0; i < kernels.size(); ++i)
        if (!served[i]) highest = std::max(highest, level(kernels[i].app));
      std::vector<std::size_t> of_level;
      std::vector<RunningKernel> same;
      for (std::size_t i = 0; i < kernels.size(); ++i) {
        if (served[i] || level(kernels[i].app) != highest) continue;
        of_level.push_back(i);
        same.push_back(kernels[i]);
        served[i] = true;
      }
      if (same.empty()) break;
      const std::vector<std::uint32_t> division = divide_sms(same, left, true);
      for (std::size_t k = 0; k < of_level.size(); ++k) {
        shares[of_level[k]] = std::min(division[k], std::max(needed_sms(same[k]), 1U));
        if (is_torn(same[k], shares[of_level[k]])) shares[of_level[k]] = 0;  // a grid gets all or nothing
        left -= shares[of_level[k]];
      }
    }
    scheduler_.assign(control, shares);
  }

  std::vector<std::uint32_t> levels_;  // by application, greater is higher; empty: in their order
};

const bool registered_priority = register_policy(
    {"priority", "SMs to applications in order of priority, taken by preemption",
     with_preemption_settings({{"levels",
                                "priority of each application, in their order, 1 to 1000, greater first: 2/1 "
                                "[priority= of the applications; falling where none has it]"}},
                              "switch"),
     [](const Settings& settings) -> std::unique_ptr<Policy> {
       const SettingReader read("priority", settings);
       return std::make_unique<Priority>(read.parts("levels", kHighest), preemption_settings(read, "switch"));
     }});

}  // namespace
}  // namespace gpumux::policy
