// Round robin over the SMs, for several block schedulers.
#pragma once

#include "policy/block_scheduler.hpp"

namespace gpumux::policy {

/// Offers blocks to one SM after another, starting behind the SM that took the last block.
class RoundRobin : public BlockScheduler {
 public:
  void order(std::uint32_t sms, std::vector<SmId>& order) override;
  void placed(SmId sm, KernelSlot) override;

 private:
  std::uint32_t sms_ = 1;
  std::uint32_t next_ = 0;
};

}  // namespace gpumux::policy
