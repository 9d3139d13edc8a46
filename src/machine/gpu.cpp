#include "machine/gpu.hpp"

#include <algorithm>
#include <bit>

#include "arch/config_file.hpp"
#include "base/error.hpp"
#include "runtime/context.hpp"

namespace gpumux::machine {

Gpu::Gpu(const arch::MachineConfig& config, std::unique_ptr<policy::Policy> policy, Options options)
    : config_(config),
      map_(config_.l2),
      network_(config_),
      policy_(std::move(policy)),
      options_(options),
      workers_(options.threads),
      slots_(arch::kMaxKernelSlots),
      block_limit_(config_.sms, std::vector<std::uint32_t>(arch::kMaxKernelSlots, 0)),
      free_residencies_(config_.sms, config_.sm.max_blocks >= 64
                                         ? ~std::uint64_t{0}
                                         : (std::uint64_t{1} << config_.sm.max_blocks) - 1),
      block_at_(std::size_t{config_.sms} * config_.sm.max_blocks, 0),
      folded_(kMaxApps),
      recorder_(options.record, config_.sms * config_.sm.max_blocks),
      folded_stalls_(config_.sms, 0) {
  build_parts();
  if (options_.memory.on())
    for (const auto& sm : sms_) sm->set_memory_scheme(options_.memory);
  std::vector<arch::SmMailbox*> sm_boxes;
  std::vector<arch::PartitionMailbox*> partition_boxes;
  for (const auto& sm : sms_) sm_boxes.push_back(&sm->mailbox());
  for (const auto& partition : partitions_) partition_boxes.push_back(&partition->mailbox());
  requests_.emplace(partition_boxes, workers_.threads());
  replies_.emplace(sm_boxes, workers_.threads());
  for (std::uint32_t t = 0; t <= workers_.threads(); ++t) one_each_.push_back(t);
  next_.assign(sms_.size() + partitions_.size(), kNever);
  refill_at_.assign(sms_.size(), kNever);
  sm_time_.assign(sms_.size(), 0);
  sm_end_.assign(sms_.size(), 0);
  collect_at_.assign(sms_.size(), kNever);
  blind_.assign(sms_.size(), 0);
  partition_time_.assign(partitions_.size(), 0);
  busy_until_.assign(sms_.size() * arch::kMaxKernelSlots, 0);
  network_is_fast_ = config_.clocks.noc > config_.clocks.core;
  most_ahead_ = partitions_[0]->lookahead(network_.latency) + 2 * network_.latency;
  // A launch and a copy begin at once, and reach the machine after the launch latency; a timed copy may end,
  // and a sample be due, before the cycle that the parts have come to.
  ends_reach_no_part_ = config_.runtime.kernel_launch_latency >= most_ahead_ &&
                        config_.runtime.copy_bytes_per_second == 0 && recorder_.next_sample() == kNever &&
                        !options_.memory.on() && !policy_->watches_ends();
  if (policy_->epoch() > 0) next_epoch_ = policy_->epoch();
}

Gpu::~Gpu() = default;

void Gpu::drop_work() {
  requests_.reset();
  replies_.reset();
  sms_.clear();
  partitions_.clear();
  submitted_.clear();
  slots_.clear();
}

bool Gpu::idle() const {
  return submitted_.empty() && std::all_of(slots_.begin(), slots_.end(),
                                           [](const Slot& s) { return s.state == Slot::State::Free; });
}

void Gpu::submit(runtime::Context& context, std::uint32_t stream,
                 std::unique_ptr<workload::KernelSource> kernel) {
  // Every launch has the same latency, so the queue stays in order of arrival.
  const Cycle arrival = now_ + config_.runtime.kernel_launch_latency;
  const auto passed = [arrival](Cycle time) { return time > arrival; };
  GPUMUX_CHECK(std::none_of(sm_time_.begin(), sm_time_.end(), passed) &&
               std::none_of(partition_time_.begin(), partition_time_.end(), passed));
  submitted_.push_back({&context, stream, std::move(kernel), arrival});
}

void Gpu::copied_to_device(Address to, std::uint64_t bytes) {
  if (!config_.runtime.copies_write_l2 || bytes == 0) return;
  // As long on their way as a launch, so that a kernel that follows finds them there.
  copied_.push_back({to, bytes, now_ + config_.runtime.kernel_launch_latency});
}

void Gpu::admit_copies() {
  for (; !copied_.empty() && copied_.front().arrival <= now_; copied_.pop_front()) {
    const auto& [to, bytes, arrival] = copied_.front();
    for (std::uint64_t line = to / kLineBytes; line <= (to + bytes - 1) / kLineBytes; ++line)
      partitions_[map_.partition(line)]->preload_line(line);
  }
}

void Gpu::advance(Cycle limit, Cycle host_event, Cycle pause) {
  bool kernel_ended = false;
  while (!kernel_ended && now_ < limit && now_ < host_event && now_ < pause) {
    admit_copies();
    admit_kernels();
    run_policy_epoch();
    run_policy_alarm();
    dispatch_blocks();
    refill_streams();
    const Cycle meeting = next_meeting(limit, host_event, pause);
    if (recorder_.next_sample() == kNever) {
      run_parts(meeting);
    } else {
      run_to_samples(meeting);
    }
    if (options_.memory.limit == arch::MemoryScheme::Limit::DynamicGlobal) broadcast_memory_limits();
    kernel_ended = collect_finished_blocks();
    recycle_drained_slots();
    watch(now_);
    // A kernel's end wakes the host at the end of this window, whatever else would be skipped.
    if (!kernel_ended) skip_idle(meeting, host_event);
  }
  if (!someone_is_ahead()) settle_counters();
}

void Gpu::settle_counters() {
  for (const auto& sm : sms_) sm->settle(now_);
  for (const auto& partition : partitions_) partition->settle(now_);
}

bool Gpu::room_for_kernel() const {
  return running_.size() <
             std::min<std::size_t>(config_.runtime.max_concurrent_kernels, arch::kMaxKernelSlots) &&
         std::any_of(slots_.begin(), slots_.end(),  // none: the others still drain
                     [](const Slot& s) { return s.state == Slot::State::Free; });
}

void Gpu::admit_kernels() {
  while (!submitted_.empty() && submitted_.front().arrival <= now_ && room_for_kernel()) {
    const auto free_slot = std::find_if(slots_.begin(), slots_.end(),
                                        [](const Slot& s) { return s.state == Slot::State::Free; });
    Submitted submitted = std::move(submitted_.front());
    submitted_.pop_front();
    Slot& slot = *free_slot;
    const auto id = static_cast<arch::KernelSlot>(free_slot - slots_.begin());
    slot.state = Slot::State::Running;
    slot.context = submitted.context;
    slot.stream = submitted.stream;
    slot.app = submitted.context->app();
    slot.source = std::move(submitted.source);
    slot.refills_independently = slot.source->refills_independently();
    slot.last_block_takes = least_time_of_last_block(*slot.source);

    policy::RunningKernel kernel;
    kernel.slot = id;
    kernel.app = slot.app;
    kernel.name = slot.source->name();
    kernel.arrival = arrivals_++;
    kernel.arrival_cycle = now_;
    kernel.resources = slot.source->resources();
    kernel.blocks_total = slot.source->blocks();
    kernel.max_blocks_per_sm = occupancy(config_.sm, kernel.resources.threads,
                                         kernel.resources.registers_per_thread, kernel.resources.shared_bytes)
                                   .blocks;
    sm::KernelContext context;
    context.table = slot.source->static_table().data();
    context.table_size = static_cast<std::uint32_t>(slot.source->static_table().size());
    context.resources = kernel.resources;
    context.app = slot.app;
    context.code_address = slot.source->code_address();
    context.timing = std::make_shared<sm::TimingTable>(config_, context.table, context.table_size);
    context.refills_independently = slot.refills_independently;
    for (std::size_t i = 0; i < sms_.size(); ++i) {
      sms_[i]->bind_kernel(id, context);
      sms_[i]->set_may_issue(id, true);
      if (config_.l1.flush_at_kernel_start) sms_[i]->flush_l1();
      block_limit_[i][id] = 0;
    }
    running_.push_back(kernel);
    recorder_.kernel_arrived(kernel, *slot.source, slot.stream,
                             submitted.arrival - config_.runtime.kernel_launch_latency);
    dispatch_possible_ = true;
    if (options_.memory.on()) share_memory();
    policy_->kernel_arrived(*this, running_.back());
  }
}

void Gpu::share_memory() {
  expect_meeting();
  std::uint32_t sharers = 0;
  for (const policy::RunningKernel& kernel : running_) sharers |= 1U << kernel.app;
  for (std::size_t i = 0; i < sms_.size(); ++i) {
    sms_[i]->set_memory_sharers(sharers);
    next_[i] = std::min(next_[i], now_);
  }
}

void Gpu::broadcast_memory_limits() {
  for (const policy::RunningKernel& kernel : running_) {
    const std::uint32_t limit = sms_[options_.memory.monitor]->memory_client(kernel.app).limit;
    if (limit == broadcast_limits_[kernel.app]) continue;
    broadcast_limits_[kernel.app] = limit;
    for (std::size_t i = 0; i < sms_.size(); ++i) {
      sms_[i]->set_memory_limit(kernel.app, limit);
      next_[i] = std::min(next_[i], now_);
    }
  }
}

void Gpu::run_policy_epoch() {
  while (now_ >= next_epoch_) {
    settle_counters();
    policy_->epoch_ended(*this);
    next_epoch_ += policy_->epoch();
  }
}

void Gpu::run_policy_alarm() {
  while (now_ >= alarm_) {
    settle_counters();
    alarm_ = kNever;
    policy_->alarm(*this);
  }
}

void Gpu::dispatch_blocks() {
  const Cycle end = window_end(now_);
  for (Cycle start = now_; dispatch_possible_ && start < end; ++start) {
    if (!dispatch_in(start)) dispatch_possible_ = false;
  }
}

/// Round robin over the SMs, from behind the one that took the last block; false when none could be placed.
bool Gpu::dispatch_in(Cycle start) {
  std::uint32_t dispatched = 0;
  const std::size_t first = next_sm_;
  for (std::size_t tried = 0; tried < sms_.size(); ++tried) {
    const std::size_t id = (first + tried) % sms_.size();
    if (!dispatch_to(static_cast<SmId>(id), start)) continue;
    next_sm_ = static_cast<SmId>((id + 1) % sms_.size());
    if (++dispatched == config_.runtime.blocks_per_cycle) break;
  }
  return dispatched != 0;
}

bool Gpu::dispatch_to(SmId id, Cycle start) {
  // With room for a block that waits, it would not have gone ahead.
  if (sm_time_[id] > now_) return false;
  sm::Sm& sm = *sms_[id];
  for (const arch::KernelSlot slot : dispatch_order_) {
    policy::RunningKernel& kernel = running(slot);
    if (kernel.blocks_dispatched == kernel.blocks_total) continue;
    if (sm.resident_blocks(slot) >= block_limit_[id][slot] || !sm.fits(kernel.resources)) continue;
    GPUMUX_CHECK(free_residencies_[id] != 0);
    const auto place = static_cast<std::uint32_t>(std::countr_zero(free_residencies_[id]));
    free_residencies_[id] &= free_residencies_[id] - 1;
    const std::uint32_t residency = id * config_.sm.max_blocks + place;
    block_at_[residency] = kernel.blocks_dispatched;
    sm.launch_block(slot, residency,
                    slots_[slot].source->begin_block(kernel.blocks_dispatched, residency, id, start), start);
    recorder_.block_began(kernel, kernel.blocks_dispatched, residency, config_.sm.max_blocks, start);
    if (kernel.blocks_dispatched++ == 0) kernel.first_block_cycle = start;
    next_[id] = std::min(next_[id], start);
    refill_at_[id] = std::min(refill_at_[id], now_);
    if (kernel.blocks_dispatched == kernel.blocks_total) policy_->kernel_fully_dispatched(*this, kernel);
    return true;
  }
  return false;
}

Cycle Gpu::least_time_of_last_block(const workload::KernelSource& source) const {
  GPUMUX_DCHECK(source.blocks() > 0);
  const std::uint64_t records = source.records(source.blocks() - 1);
  if (records == 0) return 0;  // it may end at once, or is emulated
  // A scheduler issues one record a cycle at most.
  return config_.sm.block_launch_latency + (records - 1) / config_.sm.schedulers;
}

/// The SMs that stopped at this window, however far ahead the others are.
void Gpu::refill_streams() {
  for (std::size_t i = 0; i < sms_.size(); ++i) {
    if (refill_at_[i] > now_) continue;
    GPUMUX_DCHECK(refill_at_[i] == now_ && sm_time_[i] <= now_);
    if (sms_[i]->refill_streams(static_cast<std::uint32_t>(network_.window) + 1))
      next_[i] = std::min(next_[i], now_);
    refill_at_[i] = sms_[i]->waits_for_turn() ? window_end(now_) : kNever;
  }
}

bool Gpu::collect_finished_blocks() {
  bool kernel_ended = false;
  for (std::uint32_t i = 0; i < sms_.size(); ++i) {
    const bool ahead = sm_time_[i] > now_;
    if (collect_at_[i] == kNever || (ahead && next_end_ > now_)) continue;
    const auto is_later = [&](const sm::FinishedBlock& block) {
      return ahead && window_end(block.time) > now_;
    };
    std::vector<sm::FinishedBlock>& finished = sms_[i]->finished_blocks();
    for (sm::FinishedBlock& block : finished) {
      if (is_later(block)) continue;
      free_residencies_[i] |= std::uint64_t{1} << (block.residency - i * config_.sm.max_blocks);
      dispatch_possible_ = true;
      policy::RunningKernel& kernel = running(block.kernel);
      ++kernel.blocks_done;
      recorder_.block_ended(kernel, block.residency, block.time);
      slots_[block.kernel].source->end_block(std::move(block.stream));
      policy_->block_ended(*this, kernel, static_cast<SmId>(i));
      if (kernel.blocks_done < kernel.blocks_total) continue;
      check_length(kernel, window_of(now_ - 1));
      recorder_.check_length();
      const policy::RunningKernel ended = kernel;
      std::erase_if(running_, [&](const policy::RunningKernel& k) { return k.slot == ended.slot; });
      std::erase(dispatch_order_, ended.slot);
      slots_[ended.slot].state = Slot::State::Draining;
      if (options_.memory.on()) share_memory();
      policy_->kernel_ended(*this, ended);
      slots_[ended.slot].context->kernel_ended(slots_[ended.slot].stream);
      kernel_ended = true;
    }
    std::erase_if(finished, [&](const sm::FinishedBlock& block) { return !is_later(block); });
    if (finished.empty()) collect_at_[i] = kNever;
  }
  return kernel_ended;
}

void Gpu::recycle_drained_slots() {
  for (std::size_t id = 0; id < slots_.size(); ++id) {
    Slot& slot = slots_[id];
    if (slot.state != Slot::State::Draining) continue;
    const auto kernel = static_cast<arch::KernelSlot>(id);
    if (!std::all_of(sms_.begin(), sms_.end(), [&](const auto& sm) { return sm->drained(kernel); })) continue;
    for (std::size_t sm = 0; sm < sms_.size(); ++sm) {
      const arch::KernelCounters& counters = sms_[sm]->counters(kernel);
      folded_[slot.app].add(counters);
      folded_stalls_[sm] += counters.lsu_stall_cycles;
      sms_[sm]->reset_counters(kernel);
    }
    slot = Slot{};
  }
}

void Gpu::check_length(const policy::RunningKernel& kernel, Cycle end) const {
  const Cycle limit = config_.runtime.max_kernel_cycles;
  if (limit == 0 || kernel.blocks_dispatched == 0) return;
  // A kernel may begin and end inside one window, after the cycle that is asked about.
  if (end <= kernel.first_block_cycle || end - kernel.first_block_cycle <= limit) return;
  const std::string waits = wait_report();
  constexpr std::size_t kMostWarps = 4;
  std::string where;
  for (const auto& sm : sms_) {
    const auto named = static_cast<std::size_t>(std::count(where.begin(), where.end(), '\n'));
    if (named >= kMostWarps) break;
    where += sm->whereabouts(kernel.slot, static_cast<std::uint32_t>(kMostWarps - named));
  }
  throw SimulationFault(
      fmt::format("error: app {}: kernel {}: endless: it has run for more than {} cycles "
                  "(runtime.max_kernel_cycles)\n{}{}",
                  slots_[kernel.slot].context->name(), kernel.name, limit, where, waits));
}

void Gpu::watch(Cycle end) {
  if (end < next_watch_) return;
  constexpr Cycle kCyclesBetweenChecks = 1 << 15;
  next_watch_ = end + std::min(kCyclesBetweenChecks, config_.watchdog_cycles / 8);
  if (config_.runtime.max_kernel_cycles != 0)
    next_watch_ = std::min(next_watch_, end + config_.runtime.max_kernel_cycles / 8);
  for (const policy::RunningKernel& kernel : running_) check_length(kernel, end);
  std::uint64_t progress = 0;
  for (const auto& sm : sms_) progress += sm->progress();
  for (const auto& partition : partitions_) progress += partition->progress();
  if (progress != last_progress_ || running_.empty()) {
    last_progress_ = progress;
    last_progress_cycle_ = end;
  } else if (end - last_progress_cycle_ > config_.watchdog_cycles) {
    throw SimulationFault(fmt::format("error: watchdog: no progress since cycle {} (now {})\n{}",
                                      last_progress_cycle_, end, wait_report()));
  }
}

std::string Gpu::wait_report() const {
  std::string report;
  for (const policy::RunningKernel& kernel : running_) {
    report += fmt::format("{}: kernel {} (slot {}): {} of {} blocks dispatched, {} done\n",
                          slots_[kernel.slot].context->name(), kernel.name, kernel.slot,
                          kernel.blocks_dispatched, kernel.blocks_total, kernel.blocks_done);
  }
  for (const Submitted& waiting : submitted_) {
    report += fmt::format("{}: kernel {}: launched, not taken yet\n", waiting.context->name(),
                          waiting.source->name());
  }
  sm::WaitNames names;
  names.block = [this](arch::KernelSlot slot, std::uint32_t residency) {
    const Slot& s = slots_[slot];
    return fmt::format("{}: kernel {} block {}", s.context->name(), s.source->name(), block_at_[residency]);
  };
  names.pc = [this](arch::KernelSlot slot, std::uint32_t pc) { return slots_[slot].source->describe_pc(pc); };
  std::string waits;
  for (const auto& sm : sms_) waits += sm->describe_waits(names);
  for (const auto& partition : partitions_) waits += partition->describe_waits();

  constexpr std::size_t kMostLines = 100;
  std::size_t at = 0;
  for (std::size_t line = 0; line < kMostLines && at < waits.size(); ++line) at = waits.find('\n', at) + 1;
  const auto more = std::count(waits.begin() + static_cast<std::ptrdiff_t>(at), waits.end(), '\n');
  report += waits.substr(0, at);
  if (more > 0) report += fmt::format("and {} more lines like these\n", more);
  while (!report.empty() && report.back() == '\n') report.pop_back();
  return report;
}

policy::RunningKernel& Gpu::running(arch::KernelSlot slot) {
  const auto found = std::find_if(running_.begin(), running_.end(),
                                  [&](const policy::RunningKernel& k) { return k.slot == slot; });
  GPUMUX_CHECK(found != running_.end());
  return *found;
}

arch::KernelCounters Gpu::app_counters(AppId app) const {
  arch::KernelCounters sum = folded_[app];
  for (std::size_t id = 0; id < slots_.size(); ++id) {
    if (slots_[id].state == Slot::State::Free || slots_[id].app != app) continue;
    for (const auto& sm : sms_) sum.add(sm->counters(static_cast<arch::KernelSlot>(id)));
  }
  return sum;
}

arch::SchedulerCounters Gpu::scheduler_counters() const {
  arch::SchedulerCounters sum;
  for (const auto& sm : sms_) sum.add(sm->scheduler_counters());
  return sum;
}

arch::PartitionCounters Gpu::partition_counters() const {
  arch::PartitionCounters sum;
  for (const auto& partition : partitions_) sum.add(partition->counters());
  return sum;
}

// Policies that probe or change SMs at other moments than those at which all SMs meet say so with
// Policy::watches_blocks().
void Gpu::expect_meeting() const { GPUMUX_CHECK(!someone_is_ahead()); }

std::uint32_t Gpu::resident_blocks(SmId sm, arch::KernelSlot kernel) const {
  expect_meeting();
  return sms_[sm]->resident_blocks(kernel);
}

const arch::KernelCounters& Gpu::counters(SmId sm, arch::KernelSlot kernel) const {
  expect_meeting();
  sms_[sm]->settle(now_);  // stalls of an SM that sleeps
  return sms_[sm]->counters(kernel);
}

const arch::PartitionCounters& Gpu::partition_counters(PartitionId partition) const {
  expect_meeting();
  return partitions_[partition]->counters();
}

arch::SchedulerCounters Gpu::scheduler_counters(SmId sm) const {
  expect_meeting();
  sms_[sm]->settle(now_);
  return sms_[sm]->scheduler_counters();
}

void Gpu::set_block_limit(SmId sm, arch::KernelSlot kernel, std::uint32_t blocks) {
  expect_meeting();
  block_limit_[sm][kernel] = blocks;
  dispatch_possible_ = true;
}

void Gpu::set_dispatch_order(const std::vector<arch::KernelSlot>& order) {
  dispatch_order_ = order;
  dispatch_possible_ = true;
}

void Gpu::set_may_issue(SmId sm, arch::KernelSlot kernel, bool allowed) {
  expect_meeting();
  sms_[sm]->set_may_issue(kernel, allowed);
  next_[sm] = std::min(next_[sm], now_);
}

void Gpu::set_issue_quota(SmId sm, arch::KernelSlot kernel, std::uint32_t instructions) {
  expect_meeting();
  sms_[sm]->set_issue_quota(kernel, instructions);
  next_[sm] = std::min(next_[sm], now_);
}

}  // namespace gpumux::machine
