// The triggers that mechanisms have armed in this SM (arch/trigger.hpp).
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "arch/trigger.hpp"

namespace gpumux::sm {

class Triggers {
 public:
  void arm(const arch::Trigger& trigger, Cycle now);
  void disarm(std::uint32_t id);
  /// A new kernel has the slot. Removes the effects of triggers on the previous kernel.
  void begin(arch::KernelSlot kernel);
  /// The first cycle at whose end a trigger must be checked, which may have passed;
  /// kNever: no trigger is armed.
  [[nodiscard]] Cycle next() const { return next_; }
  /// Calls fire(trigger) for each trigger with effect from the cycle after `now` on, and sample() for each
  /// one that samples then. `counters`: by kernel, up to the end of `now`.
  template <typename Fire, typename Sample>
  void run(Cycle now, const arch::KernelCounters* counters, const Fire& fire, const Sample& sample) {
    using When = arch::Trigger::When;
    for (std::size_t i = 0; i < armed_.size();) {
      Armed& armed = armed_[i];
      const arch::Trigger trigger = armed.trigger;
      const bool due = trigger.when == When::AtCount
                           ? counters[trigger.kernel].*trigger.counter >= trigger.count
                           : armed.at <= now + 1;
      if (due && trigger.when == When::EachPeriod) {
        sample();
        armed.at += trigger.cycle;
      } else if (due) {
        armed_.erase(armed_.begin() + static_cast<std::ptrdiff_t>(i));
        fire(trigger);
        continue;
      }
      ++i;
    }
    find_next();
  }
  /// Fired triggers that have not been taken.
  [[nodiscard]] std::vector<arch::Fired>& fired() { return fired_; }
  [[nodiscard]] const std::vector<arch::Fired>& fired() const { return fired_; }

 private:
  struct Armed {
    arch::Trigger trigger;
    Cycle at;  // cycle from whose start it has effect, or before which it samples; 0:
               // must be checked each cycle
  };
  void find_next();

  std::vector<Armed> armed_;  // in order of arming
  std::vector<arch::Fired> fired_;
  Cycle next_ = kNever;
};

}  // namespace gpumux::sm
