#include "policy/block_schedulers/throttle.hpp"

namespace gpumux::policy {

Report Throttle::report(const Probes&) const {
  struct Sum {
    double blocks = 0, most = 0, sms = 0;
  };
  std::map<AppId, Sum> sums;
  for (const auto& [at, share] : shares_) {
    if (!share.used) continue;
    Sum& sum = sums[share.app];
    sum.blocks += share.blocks;
    sum.most += share.most;
    ++sum.sms;
  }
  Report report;
  for (const auto& [app, sum] : sums) {
    report.numbers.push_back({"throttled_blocks_per_sm", sum.blocks / sum.sms, app});
    report.numbers.push_back({"throttled_blocks_at_most", sum.most / sum.sms, app});
  }
  return report;
}

}  // namespace gpumux::policy
