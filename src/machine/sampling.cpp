// Samples of the counters at exact cycles. All parts come to the end of an interval and go on from there;
// what happens between windows still happens between windows alone, so that a run is the same with and
// without samples.
#include <algorithm>

#include "machine/gpu.hpp"

namespace gpumux::machine {

/// run_parts() by way of the ends of intervals, wherever in a window they lie.
void Gpu::run_to_samples(Cycle meeting) {
  do {
    run_parts(std::min(meeting, recorder_.next_sample()));
    if (now_ == recorder_.next_sample()) sample(now_);
  } while (now_ != window_of(now_) && now_ < meeting);
}

/// The intervals that end up to `until` while nothing happens but what time alone adds.
void Gpu::sample_skipped(Cycle until) {
  while (recorder_.next_sample() <= until) sample(recorder_.next_sample());
}

void Gpu::sample(Cycle now) {
  for (const auto& sm : sms_) sm->settle(now);
  for (const auto& partition : partitions_) partition->settle(now);
  arch::Series::Sample total;
  for (unsigned app = 0; app < recorder_.apps(); ++app)
    total.apps.push_back(app_counters(static_cast<AppId>(app)));
  total.schedulers = scheduler_counters();
  total.partitions = partition_counters();
  if (recorder_.wants_stalls()) recorder_.sample_stalls(now, lsu_stalls());
  recorder_.sample(now, std::move(total));
}

/// Cycles that the load/store unit of each SM has stalled since the begin of the run.
std::vector<std::uint64_t> Gpu::lsu_stalls() const {
  std::vector<std::uint64_t> stalls = folded_stalls_;
  for (std::size_t sm = 0; sm < sms_.size(); ++sm) {
    for (std::size_t id = 0; id < slots_.size(); ++id) {
      if (slots_[id].state == Slot::State::Free) continue;
      stalls[sm] += sms_[sm]->counters(static_cast<arch::KernelSlot>(id)).lsu_stall_cycles;
    }
  }
  return stalls;
}

void Gpu::end_series() {
  const arch::Series& series = recorder_.series();
  if (series.interval != 0 && series.end < now_) sample(now_);
  recorder_.check_length();
}

}  // namespace gpumux::machine
