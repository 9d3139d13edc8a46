#include "machine/gpu.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace gpumux::machine {

namespace {

std::vector<std::shared_ptr<policy::Observer>> with(std::shared_ptr<Recorder> recorder,
                                                    std::vector<std::shared_ptr<policy::Observer>> others) {
  others.insert(others.begin(), std::move(recorder));
  return others;
}

std::unique_ptr<policy::BlockScheduler> or_usual(std::unique_ptr<policy::BlockScheduler> blocks) {
  return blocks ? std::move(blocks) : policy::create_block_scheduler({});
}

}  // namespace

Gpu::Gpu(const arch::MachineConfig& config, std::unique_ptr<policy::Policy> policy, Options options)
    : config_(config),
      no_skip_(options.no_skip),
      ledger_(options.ledger),
      races_(options.races),
      viewed_(std::move(options.viewed)),
      recorder_(std::make_shared<Recorder>(options.record, config_.sms * config_.sm.max_blocks)),
      parts_(config_, options.instances, std::move(options.cpu_traces), options.threads, options.no_skip),
      work_(config_, parts_, std::move(options.instances)),
      mechanisms_(*this, std::move(policy), std::move(options.cores), std::move(options.concurrency),
                  or_usual(std::move(options.blocks)), options.memory,
                  with(recorder_, std::move(options.observers)), parts_.windows().length,
                  std::move(options.choice)),
      horizon_(config_, parts_, work_,
               {.in_step = options.no_skip, .ends_concern_parts = mechanisms_.next_sample() != kNever}),
      watchdog_(config_, parts_, work_, mechanisms_) {
  if (mechanisms_.needs().block_drops) work_.keep_records();
  for (std::uint32_t i = 0; ledger_ && i < parts_.sms(); ++i) parts_.sm(i).keep_ledger();
  for (std::uint32_t i = 0; ledger_ && i < parts_.partitions(); ++i) parts_.partition(i).keep_ledger();
  for (const SmId sm : viewed_) parts_.sm(sm).begin_view();
  if (!mechanisms_.memory().on() && !mechanisms_.memory().ways_on_demand) return;
  for (std::uint32_t i = 0; i < parts_.sms(); ++i) parts_.sm(i).set_memory_scheme(mechanisms_.memory());
}

Gpu::~Gpu() = default;

void Gpu::drop_work() {
  parts_.drop();
  work_.drop();
}

void Gpu::advance(Cycle limit, Cycle host_event, Cycle pause) {
  bool kernel_ended = false;
  while (!kernel_ended && now() < std::min({limit, host_event, pause})) {
    work_.admit_copies();
    work_.admit_kernels(mechanisms_);
    if (mechanisms_.is_due(now())) {
      parts_.settle(now());
      if (mechanisms_.run_due(now())) work_.look_again();
    }
    work_.dispatch(mechanisms_);
    parts_.refill_streams();
    const Cycle meeting = meeting_until(limit, host_event, pause);
    horizon_.set_needs(mechanisms_.needs());
    if (mechanisms_.next_sample() == kNever) {
      run_parts(meeting);
    } else {
      run_to_samples(meeting);
    }
    if (mechanisms_.needs().triggers && parts_.take_fired()) tell_triggered();
    if (mechanisms_.window_ended()) work_.look_again();
    kernel_ended = work_.collect(horizon_.next_end() <= now(), mechanisms_);
    work_.recycle();
    watchdog_.watch(now());
    // The end of a kernel wakes the host at the end of this window, so nothing is skipped.
    if (!kernel_ended) skip_idle(meeting, host_event);
    if (interrupt_ && interrupt_()) break;
  }
  if (!parts_.someone_is_ahead()) parts_.settle(now());
}

Cycle Gpu::meeting_until(Cycle limit, Cycle host_event, Cycle pause) const {
  const Cycle next = std::min(
      {host_event, pause, mechanisms_.next_moment(now()), work_.next_arrival(), work_.next_power_up()});
  return std::min(limit, parts_.windows().from(next));
}

void Gpu::run_parts(Cycle meeting) {
  if (now() == parts_.reached()) parts_.run(horizon_.span(meeting), horizon_);
  GPUMUX_DCHECK(parts_.reached() <= meeting);
  horizon_.find_next_end();
  parts_.set_now(std::min(parts_.reached(), horizon_.next_end()));
}

void Gpu::run_to_samples(Cycle meeting) {
  do {
    GPUMUX_CHECK(mechanisms_.next_sample() > now());
    run_parts(std::min(meeting, mechanisms_.next_sample()));
    if (now() == mechanisms_.next_sample()) sample();
  } while (now() != parts_.windows().of(now()) && now() < meeting);
}

void Gpu::sample_skipped(Cycle until) {
  for (Cycle next = mechanisms_.next_sample(); next <= until; next = mechanisms_.next_sample()) {
    parts_.set_now(next);
    sample();
  }
}

void Gpu::sample() {
  parts_.settle(now());
  mechanisms_.sample(now());
}

void Gpu::skip_idle(Cycle meeting, Cycle host_event) {
  if (no_skip_ || work_.may_place() || now() < parts_.reached() || mechanisms_.is_due(now())) return;
  const bool arrived = work_.kernel_has_arrived();
  if (work_.takes_kernel_next(mechanisms_)) return;
  Cycle next = parts_.next_event();
  if (horizon_.next_end() != kNever) next = std::min(next, horizon_.next_end() - 1);
  if (next == kNever && host_event == kNever && mechanisms_.none_to_come() && !work_.copies_on_their_way() &&
      work_.next_power_up() == kNever && (arrived || !work_.something_submitted()) &&
      (!work_.kernels().empty() || arrived)) {
    // A warp that launches a kernel waits only for its turn, which refill_streams() gives.
    parts_.refill_streams();
    if (parts_.next_of_parts() <= now() || work_.next_arrival() != kNever) return;
    throw SimulationFault(
        fmt::format("error: deadlock at cycle {}: nothing can move\n{}", now(), work_.wait_report()));
  }
  // A mechanism may have set an alarm after the meeting was computed.
  const Cycle moment = parts_.windows().from(mechanisms_.next_moment(now()));
  const Cycle to = std::min({meeting, moment, next == kNever ? kNever : parts_.windows().of(next)});
  if (to == kNever || to <= now()) return;
  // Refill streams as in the window that will be skipped. A stream that cannot continue now cannot
  // continue before the next event.
  parts_.refill_streams();
  if (parts_.next_of_parts() <= now() || work_.next_arrival() < to) return;
  if (mechanisms_.next_sample() <= to) sample_skipped(to);
  parts_.skip_to(to, horizon_);
}

void Gpu::tell_triggered() {
  parts_.settle(now());
  for (std::uint32_t i = 0; i < parts_.sms(); ++i) {
    if (!parts_.sm(i).has_fired()) continue;
    for (const arch::Fired& fired : parts_.sm(i).take_fired())
      if (mechanisms_.triggered(static_cast<SmId>(i), fired)) work_.look_again();
  }
}

CpuNode* Gpu::cpu(std::uint32_t core) {
  CpuNode* const node = core < parts_.cpus() ? parts_.cpu(core) : nullptr;
  if (node != nullptr) node->settle(now());
  return node;
}

void Gpu::end_run() {
  if (!parts_.someone_is_ahead()) parts_.settle(now());
  mechanisms_.run_ended();
}

void Gpu::kill(runtime::Context& context) {
  expect_meeting();
  for (std::uint32_t i = 0; i < parts_.sms(); ++i) {
    parts_.sm(i).settle(now());
    parts_.wake(i, now());
  }
  work_.kill(context, mechanisms_);
  horizon_.blocks_killed();
}

void Gpu::expect_meeting() const { GPUMUX_CHECK(!parts_.someone_is_ahead()); }

const arch::SmProbes& Gpu::sm(std::uint32_t index) const {
  expect_meeting();
  return parts_.settled_sm(index);
}

arch::SmControl& Gpu::sm(std::uint32_t index) {
  expect_meeting();
  parts_.sm(index).settle(now());
  parts_.wake(index, now());
  work_.look_again();
  return parts_.sm(index);
}

arch::PartitionCounters Gpu::partition_counters(PartitionId partition) const {
  expect_meeting();
  return parts_.partition(partition).counters();
}

arch::MemoryCounters Gpu::memory_counters(AppId app) const {
  arch::MemoryCounters sum;
  for (std::uint32_t i = 0; i < parts_.partitions(); ++i) sum.add(parts_.partition(i).counters(app));
  return sum;
}

arch::PairCounters Gpu::pair_counters(AppId victim, AppId culprit) const {
  arch::PairCounters sum;
  for (std::uint32_t i = 0; i < parts_.partitions(); ++i)
    sum.add(parts_.partition(i).counters(victim, culprit));
  for (std::uint32_t i = 0; ledger_ && i < parts_.sms(); ++i) sum.add(parts_.sm(i).counters(victim, culprit));
  return sum;
}

arch::LedgerAppCounters Gpu::ledger_counters(AppId app) const {
  arch::LedgerAppCounters sum;
  for (std::uint32_t i = 0; i < parts_.sms(); ++i) sum.add(parts_.sm(i).ledger_counters(app));
  ledger::Busiest slices;
  for (std::uint32_t i = 0; ledger_ && i < parts_.partitions(); ++i) {
    parts_.partition(i).add_busy_windows(app, slices);
    sum.tag_wait_cycles += parts_.partition(i).tag_waits(app);
  }
  sum.busiest_slice_cycles = slices.cycles();
  return sum;
}

arch::CounterTable::OfSm Gpu::view_counters(SmId sm) const {
  const sm::Sm& of = parts_.settled_sm(sm);
  return {sm, of.scheduler_counters(), *of.view()};
}

arch::SchedulerCounters Gpu::scheduler_counters() const {
  arch::SchedulerCounters sum;
  for (std::uint32_t i = 0; i < parts_.sms(); ++i) sum.add(parts_.sm(i).scheduler_counters());
  return sum;
}

arch::PartitionCounters Gpu::partition_counters() const {
  arch::PartitionCounters sum;
  for (std::uint32_t i = 0; i < parts_.partitions(); ++i) sum.add(parts_.partition(i).counters());
  return sum;
}

void Gpu::set_duty(SmId sm, policy::SmDuty duty) {
  expect_meeting();
  work_.set_duty(sm, duty);
}

void Gpu::set_alarm(Cycle) { throw InternalError("an alarm of nobody"); }

}  // namespace gpumux::machine
