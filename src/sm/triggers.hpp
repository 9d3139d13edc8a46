// Triggers that mechanisms have armed in this SM (arch/trigger.hpp).
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
  /// A new kernel has the slot: what was armed for the former one does not concern it.
  void begin(arch::KernelSlot kernel);
  /// At the end of this cycle a trigger has to be looked at, or of an earlier one; kNever: none is armed.
  [[nodiscard]] Cycle next() const { return next_; }
  /// Calls fire(trigger) for each that acts from the cycle after `now` on, sample() for one that samples
  /// then. `counters`: by kernel, up to the end of `now`.
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
  /// That have fired, for those who armed them to take away.
  [[nodiscard]] std::vector<arch::Fired>& fired() { return fired_; }
  [[nodiscard]] const std::vector<arch::Fired>& fired() const { return fired_; }

 private:
  struct Armed {
    arch::Trigger trigger;
    Cycle at;  // from whose begin it acts, or samples before; 0: each cycle has to be looked at
  };
  void find_next();

  std::vector<Armed> armed_;  // in order of arming
  std::vector<arch::Fired> fired_;
  Cycle next_ = kNever;
};

}  // namespace gpumux::sm
