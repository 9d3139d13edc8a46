// Ends runs that get nowhere.
#pragma once

#include "machine/parts.hpp"
#include "machine/work_distributor.hpp"

namespace gpumux::machine {

class Watchdog {
 public:
  Watchdog(const arch::MachineConfig& config, const Parts& parts, const WorkDistributor& work)
      : config_(config), parts_(parts), work_(work) {}
  /// To be called now and then. Throws SimulationFault when nothing has moved for watchdog_cycles though a
  /// kernel runs, or a kernel is endless.
  void watch(Cycle now);

 private:
  const arch::MachineConfig& config_;
  const Parts& parts_;
  const WorkDistributor& work_;
  Cycle next_ = 0;  // nothing is looked at before
  std::uint64_t progress_ = 0;
  Cycle progress_cycle_ = 0;
};

}  // namespace gpumux::machine
