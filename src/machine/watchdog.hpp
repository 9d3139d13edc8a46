// Ends runs that get nowhere.
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
  /// To be called now and then. Throws SimulationFault when nothing has moved for watchdog_cycles though a
  /// kernel runs, when a kernel is endless, or when the blocks of all kernels wait for what nobody will do.
  void watch(Cycle now);
  /// Applications (a mask) that are to come to an end by themselves: others may wait for ever.
  void expect_ends_of(std::uint32_t apps) { to_end_ = apps; }

 private:
  void watch_standstill(Cycle now);

  const arch::MachineConfig& config_;
  const Parts& parts_;
  WorkDistributor& work_;
  const Mechanisms& mechanisms_;
  std::uint32_t to_end_ = 0;
  Cycle next_ = 0;  // nothing is looked at before
  std::uint64_t progress_ = 0;
  Cycle progress_cycle_ = 0;
  struct Standstill {
    Cycle since = kNever;     // its blocks have been seen to wait for each other
    std::uint64_t moves = 0;  // WorkDistributor::block_moves() then
  };
  std::array<Standstill, kMaxApps> standstills_{};  // by application
};

}  // namespace gpumux::machine
