// Ends runs that make no progress.
#pragma once

#include <array>
#include <cstdint>

#include "machine/mechanisms.hpp"
#include "machine/parts.hpp"
#include "machine/work_distributor.hpp"

namespace gpumux::machine {

class Watchdog {
 public:
  Watchdog(const arch::MachineConfig& config, const Parts& parts, WorkDistributor& work,
           const Mechanisms& mechanisms)
      : config_(config), parts_(parts), work_(work), mechanisms_(mechanisms) {}
  /// To be called repeatedly. Throws SimulationFault if a kernel runs and nothing has moved for
  /// watchdog_cycles, if a kernel is endless, or if the blocks of all kernels wait for
  /// something that can never happen.
  void watch(Cycle now);
  /// Sets the applications (a mask) that must end by themselves. Other applications may wait forever.
  void expect_ends_of(std::uint32_t apps) { to_end_ = apps; }

 private:
  void watch_standstill(Cycle now);

  const arch::MachineConfig& config_;
  const Parts& parts_;
  WorkDistributor& work_;
  const Mechanisms& mechanisms_;
  std::uint32_t to_end_ = 0;
  Cycle next_ = 0;  // next cycle at which anything is checked
  std::uint64_t progress_ = 0;
  Cycle progress_cycle_ = 0;
  struct Standstill {
    Cycle since = kNever;     // since when its blocks are known to wait for each other
    std::uint64_t moves = 0;  // WorkDistributor::block_moves() at that time
  };
  std::array<Standstill, kMaxApps> standstills_{};  // by application
};

}  // namespace gpumux::machine
