#include "policy/concurrency_controls/warp_limiter.hpp"

#include <algorithm>
#include <bit>
#include <numeric>

#include "base/error.hpp"

namespace gpumux::policy {

std::uint32_t WarpLimiter::most_warps(const arch::MachineConfig& config) {
  const arch::SmConfig& sm = config.sm;
  const bool of_scheduler = sm.warp_limit_per == arch::WarpLimitPer::Scheduler;
  return of_scheduler ? (sm.max_warps + sm.schedulers - 1) / sm.schedulers : sm.max_warps;
}

void WarpLimiter::check(const arch::MachineConfig& config) const {
  if (config.sm.warp_limit != 0)
    throw UserError(
        fmt::format("concurrency={} cannot go with sm.warp_limit = {} of {}, which fixes the number of warps "
                    "that it sets; 0 leaves it free",
                    name_, config.sm.warp_limit, config.name));
}

void WarpLimiter::begin(Control& control) {
  if (!limits_.empty()) return;
  const arch::MachineConfig& config = control.config();
  const std::uint32_t most = most_warps(config);
  const std::uint32_t first = first_limit(config, start_ == 0 ? most : std::min(start_, most));
  limits_.assign(config.sms, most);
  least_ = first;
  for (std::uint32_t sm = 0; sm < config.sms; ++sm) set_limit(control, sm, first);
  decreases_ = 0;  // the first limit does not count as a change
  limit_sums_.assign(config.sms, 0);
  of_sms_.assign(config.sms, MeanOverTime(kMostPointsOfSm));
  before_.resize(config.l2.partitions);
  counters_.emplace(settings_, config.l2.partitions);
}

void WarpLimiter::set_limit(Control& control, std::uint32_t sm, std::uint32_t warps) {
  if (limits_[sm] == warps) return;
  ++(warps < limits_[sm] ? decreases_ : increases_);
  limits_[sm] = warps;
  // A limit equal to all warps is set as 0 (no limit), which costs the SM nothing.
  control.sm(sm).limit_all_warps(warps < most_warps(control.config()) ? warps : 0);
}

Change WarpLimiter::measure(const Control& control) {
  counters_->clear();
  for (std::uint32_t p = 0; p < before_.size(); ++p) {
    const arch::PartitionCounters now = control.partition_counters(static_cast<PartitionId>(p));
    Before& before = before_[p];
    const std::uint64_t controller = settings_.whole_partition
                                         ? now.slice_full_cycles / control.config().l2.slices_per_partition
                                         : now.controller_full_cycles;
    counters_->add(scaled(controller - before.controller), scaled(now.network_full_cycles - before.network));
    before = {controller, now.network_full_cycles};
  }
  return counters_->decide();
}

void WarpLimiter::epoch_ended(Control& control) {
  begin(control);
  cycles_ = control.now() - last_;
  if (cycles_ == 0) return;
  last_ = control.now();
  const Change change = measure(control);
  if (control.kernels().empty()) return;  // without kernels, warps are not the cause of congestion
  record(control);
  interval_ended(control, change);
}

void WarpLimiter::record(const Control& control) {
  ++intervals_;
  const auto cycles = static_cast<double>(cycles_);
  recorded_cycles_ += cycles;
  controller_sum_ += counters_->controller() * cycles;
  network_sum_ += counters_->network() * cycles;
  double sum = 0;
  for (std::uint32_t sm = 0; sm < limits_.size(); ++sm) {
    const auto limit = static_cast<double>(limits_[sm]);
    sum += limit;
    limit_sums_[sm] += limit * cycles;
    of_sms_[sm].add(control.now(), cycles_, limit);
    least_ = std::min(least_, limits_[sm]);
    sms_differ_ = sms_differ_ || limits_[sm] != limits_[0];
  }
  mean_.add(control.now(), cycles_, sum / static_cast<double>(limits_.size()));
}

std::uint32_t WarpLimiter::storage_bits(const arch::MachineConfig& config) const {
  return static_cast<std::uint32_t>(std::bit_width(most_warps(config)));  // bits of the limit
}

Report WarpLimiter::report(const Probes& probes) const {
  Report report;
  const arch::MachineConfig& config = probes.config();
  const CongestionCounters counters(settings_, config.l2.partitions);
  const auto add = [&](const char* name, double value) { report.numbers.push_back({name, value, {}}); };
  const auto mean = [&](double sum) { return recorded_cycles_ == 0 ? 0 : sum / recorded_cycles_; };
  add("concurrency_intervals", static_cast<double>(intervals_));
  if (intervals_ != 0) {
    const double sum = std::accumulate(limit_sums_.begin(), limit_sums_.end(), 0.0);
    add("warp_limit", mean(sum) / static_cast<double>(limits_.size()));
    add("least_warp_limit", static_cast<double>(least_));
    add("stall_mc", mean(controller_sum_));
    add("stall_net", mean(network_sum_));
  }
  add("warp_limit_decreases", static_cast<double>(decreases_));
  add("warp_limit_increases", static_cast<double>(increases_));
  add_to_report(report);
  add("storage_bits_per_sm", storage_bits(config));
  add("storage_bits_per_partition", 2 * counters.partition_bits());
  // Two sums, and the two thresholds that the sums are compared with.
  add("storage_bits_of_block_scheduler", 4 * counters.sum_bits());
  if (intervals_ == 0) return report;
  const auto curve = [&](const char* name, std::vector<std::pair<double, double>> points) -> Report::Curve& {
    return report.curves.emplace_back(Report::Curve{name, {}, {}, std::move(points), {}});
  };
  curve("warp_limit_over_time", mean_.points());
  std::vector<std::pair<double, double>> means;
  for (std::uint32_t sm = 0; sm < limit_sums_.size(); ++sm)
    means.emplace_back(static_cast<double>(sm), mean(limit_sums_[sm]));
  curve("warp_limit_by_sm", std::move(means));
  for (std::uint32_t sm = 0; sms_differ_ && sm < of_sms_.size(); ++sm)
    curve("warp_limit_over_time", of_sms_[sm].points()).sm = static_cast<SmId>(sm);
  return report;
}

}  // namespace gpumux::policy
