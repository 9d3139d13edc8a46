#include "policy/block_schedulers/round_robin.hpp"

namespace gpumux::policy {

void RoundRobin::order(std::uint32_t sms, std::vector<SmId>& order) {
  for (std::uint32_t i = next_; i < sms; ++i) order.push_back(static_cast<SmId>(i));
  for (std::uint32_t i = 0; i < next_; ++i) order.push_back(static_cast<SmId>(i));
  sms_ = sms;
}

void RoundRobin::placed(SmId sm, KernelSlot) { next_ = (sm + 1U) % sms_; }

}  // namespace gpumux::policy
