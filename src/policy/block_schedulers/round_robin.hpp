// The order over SMs that block schedulers share.
#pragma once

#include "policy/block_scheduler.hpp"

namespace gpumux::policy {

/// One SM after the other, from behind the one that took the last block.
class RoundRobin : public BlockScheduler {
 public:
  void order(std::uint32_t sms, std::vector<SmId>& order) override;
  void placed(SmId sm, KernelSlot) override;

 private:
  std::uint32_t sms_ = 1;
  std::uint32_t next_ = 0;
};

}  // namespace gpumux::policy
