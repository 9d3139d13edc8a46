// How far each part of the machine may be simulated, and the simulation of all parts up to there.
//
// Between the network's ends lie `latency` cycles, the length of a window. Three things are known for longer:
//   - A request reaches the tags of an L2 slice no earlier than the L2's latency after its arrival. So what
//     lies behind the tags, DRAM and all replies included, follows for that long from the requests that have
//     arrived, as long as there are reply credits (l2::Partition::run_ahead).
//   - So an SM knows its replies for as long, and as it takes no blocks while it has room for none, it goes
//     on until one of its blocks ends while others wait for room, until a warp of an emulated kernel has few
//     records left, or until it would need request credits of which it knows nothing (sm::Sm::run_ahead).
//     Emulated blocks may write what others read, so they are refilled in the order of windows, then of SMs.
//   - A kernel does not end before the blocks that no SM has yet have been dispatched, nor before the
//     instructions that its blocks are known to have left have been issued, those of the grid's last block
//     included, nor before the data that they wait for has come.
//   - What the host does when a kernel has ended reaches the machine after the launch latency. So unless the
//     policy or the caller looks at the SMs then, the host's clock alone stops at that end (Gpu::now_).
// Each call of run_parts() lets the partitions take what has arrived, then the SMs what has been answered.
// The blocks that end are collected, and others dispatched, when all SMs have come that far; at the end of a
// kernel those of SMs that are further, too, as far as they ended by then.
#include <algorithm>
#include <bit>
#include <numeric>

#include "base/error.hpp"
#include "machine/gpu.hpp"

namespace gpumux::machine {

namespace {

/// To run a part costs its state's way through the host's caches: it is worth while for so many cycles.
constexpr Cycle kWorthwhile = 48;
/// What is booked in cycles relative to a run's begin has room for that many (sm::Scoreboard).
constexpr Cycle kLongestRun = 1024;

/// Fewer senders' messages are delivered sooner by one thread.
constexpr std::size_t kManySenders = 8;

}  // namespace

Cycle Gpu::next_meeting(Cycle limit, Cycle host_event, Cycle pause) const {
  Cycle next = std::min({host_event, pause, next_epoch_, std::max(alarm_, now_ + 1)});
  if (!submitted_.empty() && submitted_.front().arrival > now_)
    next = std::min(next, submitted_.front().arrival);
  if (!copied_.empty()) next = std::min(next, copied_.front().arrival);
  return std::min(limit, window_from(next));
}

/// SMs go on window by window: each may get a block next, or what happens to one concerns the others.
bool Gpu::in_step() const {
  if (options_.no_skip || network_is_fast_ || dispatch_possible_ || policy_->watches_blocks(*this))
    return true;
  if (options_.memory.limit == arch::MemoryScheme::Limit::DynamicGlobal)
    return true;  // one sets limits for all
  return kernel_waits_for_slot();
}

/// Until the next kernel comes, when all SMs meet.
bool Gpu::blocks_wait() const {
  return std::any_of(running_.begin(), running_.end(), [](const policy::RunningKernel& kernel) {
    return kernel.blocks_dispatched < kernel.blocks_total;
  });
}

/// It is free when the last request of its last kernel has been answered.
bool Gpu::kernel_waits_for_slot() const {
  return !submitted_.empty() && submitted_.front().arrival <= now_ &&
         running_.size() < config_.runtime.max_concurrent_kernels;
}

/// The kernel does not end for so many cycles because of blocks that no SM has.
Cycle Gpu::undispatched_take(const policy::RunningKernel& kernel) const {
  const std::uint64_t left = kernel.blocks_total - kernel.blocks_dispatched;
  return left == 0 ? 0 : (left - 1) / config_.runtime.blocks_per_cycle + slots_[kernel.slot].last_block_takes;
}

/// A lower bound.
Cycle Gpu::earliest_end(const policy::RunningKernel& kernel) const {
  const auto first = busy_until_.begin() + static_cast<std::ptrdiff_t>(kernel.slot * sms_.size());
  const Cycle resident = *std::max_element(first, first + static_cast<std::ptrdiff_t>(sms_.size()));
  return std::max(resident, now_ + undispatched_take(kernel));
}

void Gpu::note_busy(SmId sm) {
  const sm::Sm& part = *sms_[sm];
  for (std::uint32_t slots = busy_slots_; slots != 0; slots &= slots - 1) {
    const auto slot = static_cast<arch::KernelSlot>(std::countr_zero(slots));
    Cycle busy = part.busy_until(slot);
    // Through the network, the L2's pipeline, and the network again.
    const Cycle read = part.last_read(slot);
    if (busy != 0 && read != 0)
      busy = std::max(busy, partitions_[0]->lookahead(read + network_.latency) + network_.latency);
    busy_until_[slot * sms_.size() + sm] = busy;
  }
  for (const sm::FinishedBlock& block : sms_[sm]->finished_blocks()) {
    Cycle& busy = busy_until_[block.kernel * sms_.size() + sm];
    busy = std::max(busy, part.done());
  }
}

Gpu::Span Gpu::span(Cycle meeting) {
  Span span{std::min(meeting, window_end(now_)), meeting, meeting, in_step(), blocks_wait()};
  const std::uint32_t tails = tails_to_meet_at();
  if (span.in_step) {
    busy_slots_ = 0;
    span.sms = span.window;
    if (tails != 0 || kernel_waits_for_slot() || policy_->watches_blocks(*this))
      span.partitions = span.window;
    return span;
  }
  if ((tails & ~busy_slots_) != 0) {
    busy_slots_ = tails;
    for (std::uint32_t sm = 0; sm < sms_.size(); ++sm) note_busy(static_cast<SmId>(sm));
  }
  busy_slots_ = tails;
  if (tails == 0) return span;
  Cycle first = kNever;
  Cycle last = 0;
  for (const policy::RunningKernel& kernel : running_) {
    if ((tails >> kernel.slot & 1) == 0) continue;
    const Cycle end = earliest_end(kernel);
    first = std::min(first, end);
    last = std::max(last, end);
  }
  const Cycle end = std::max(span.window, window_of(ends_concern_host_alone() ? last : first));
  span.sms = span.partitions = std::min(span.sms, end);
  return span;
}

/// Beside what holds throughout the run: no kernel waits for another's end to be admitted, and the caller has
/// said at which ends it reads counters. Changes at arrivals alone, so never while now_ < reached_.
bool Gpu::ends_concern_host_alone() const {
  return ends_reach_no_part_ && awaited_ && (submitted_.empty() || submitted_.front().arrival > now_);
}

/// Kernels (mask) that may end soon, where all parts have to meet: at the end of each, or of the last of
/// them, if with it the last awaited application may end.
std::uint32_t Gpu::tails_to_meet_at() const {
  std::uint32_t tails = 0;
  if (!ends_concern_host_alone()) {
    for (const policy::RunningKernel& kernel : running_)
      if (is_tail(kernel)) tails |= std::uint32_t{1} << kernel.slot;
    return tails;
  }
  std::uint32_t apps = 0;
  for (const policy::RunningKernel& kernel : running_) {
    if ((*awaited_ >> kernel.app & 1) == 0) continue;
    if (!is_tail(kernel)) return 0;
    tails |= std::uint32_t{1} << kernel.slot;
    apps |= std::uint32_t{1} << kernel.app;
  }
  return apps == *awaited_ ? tails : 0;  // one that has no kernel has yet to launch its last
}

/// The end of the window in which a kernel's last block has ended, as far as the SMs have come.
Cycle Gpu::next_end() const {
  std::array<std::uint64_t, arch::kMaxKernelSlots> ended{};
  std::array<Cycle, arch::kMaxKernelSlots> last{};
  for (std::size_t i = 0; i < sms_.size(); ++i) {
    if (collect_at_[i] == kNever) continue;
    for (const sm::FinishedBlock& block : sms_[i]->finished_blocks()) {
      ++ended[block.kernel];
      last[block.kernel] = std::max(last[block.kernel], block.time);
    }
  }
  Cycle next = kNever;
  for (const policy::RunningKernel& kernel : running_) {
    GPUMUX_DCHECK(kernel.blocks_total > 0);
    if (kernel.blocks_done + ended[kernel.slot] == kernel.blocks_total)
      next = std::min(next, window_end(last[kernel.slot]));
  }
  return next;
}

void Gpu::run_parts(Cycle meeting) {
  if (now_ == reached_) run_span(span(meeting));
  GPUMUX_DCHECK(reached_ <= meeting);
  next_end_ = ends_concern_host_alone() ? next_end() : kNever;
  now_ = std::min(reached_, next_end_);
}

void Gpu::run_span(const Span& until) {
  Cycle reached = now_;
  while (reached <= now_) {
    const Cycle complete = std::min(now_ + network_.latency, until.partitions);
    const bool someone_is_blind = std::find(blind_.begin(), blind_.end(), 1) != blind_.end();
    if (options_.no_skip || network_is_fast_ || someone_is_blind || replies_known_ < until.window ||
        (!until.in_step && complete >= entered_ + kWorthwhile)) {
      run_partitions(complete, until.partitions);
    }
    run_sms(until);
    reached = *std::min_element(sm_time_.begin(), sm_time_.end());
    if (reached < until.sms) reached = window_of(reached);
  }
  reached_ = reached;
  if (reached == until.partitions) run_partitions(reached, reached);
}

/// Up to `end` at most, when all that arrives before `complete` is known.
void Gpu::run_partitions(Cycle complete, Cycle end) {
  const std::size_t sm_count = sms_.size();
  const Cycle reach = std::min(end, partitions_[0]->lookahead(complete));
  awake_.clear();
  for (std::uint32_t p = 0; p < partitions_.size(); ++p) {
    if (partition_next()[p] < reach || options_.no_skip) {
      awake_.push_back(static_cast<std::uint32_t>(sm_count) + p);
    } else {
      partition_time_[p] = std::max(partition_time_[p], reach);
    }
  }
  share_out(static_cast<std::uint32_t>(sm_count), static_cast<std::uint32_t>(partitions_.size()));
  run_awake([this, sm_count, complete, end](std::uint32_t thread, std::uint32_t k, std::uint32_t last) {
    const auto at = [&](std::uint32_t i) -> l2::Partition& { return *partitions_[run_order_[i] - sm_count]; };
    if (k + 2 < last) at(k + 2).prefetch();
    if (k + 1 < last) at(k + 1).prefetch_further();
    const std::size_t p = run_order_[k] - sm_count;
    partition_next()[p] = partitions_[p]->run_ahead(entered_, complete, end);
    partition_time_[p] = partitions_[p]->done();
    replies_->post(thread, partitions_[p]->mailbox(), next_.data());
  });
  deliver(*replies_, next_.data());
  entered_ = std::max(entered_, complete);
  replies_known_ = *std::min_element(partition_time_.begin(), partition_time_.end()) + network_.latency;
}

void Gpu::run_sms(const Span& span) {
  const Cycle known = std::min(span.sms, replies_known_);
  awake_.clear();
  for (std::uint32_t i = 0; i < sms_.size(); ++i) {
    const Cycle time = sm_time_[i];
    Cycle end = std::min(known, time + kLongestRun);
    end = std::min(end, refill_at_[i]);
    if (span.blocks_wait) end = std::min(end, collect_at_[i]);
    if (end <= time) continue;
    if (time >= span.window && end < span.sms && end - time < kWorthwhile) continue;
    if (next_[i] < end || options_.no_skip) {
      sm_end_[i] = end;
      awake_.push_back(i);
    } else {
      sm_time_[i] = end;
    }
  }
  share_out(0, static_cast<std::uint32_t>(sms_.size()));
  const Cycle credits_known = entered_ + network_.latency;
  run_awake([this, credits_known, &span](std::uint32_t thread, std::uint32_t k, std::uint32_t last) {
    // The SMs' states do not fit a core's cache together: each is fetched while those before it run.
    const auto at = [&](std::uint32_t i) -> sm::Sm& { return *sms_[run_order_[i]]; };
    if (k + 4 < last) at(k + 4).prefetch();
    if (k + 3 < last) at(k + 3).prefetch_state();
    if (k + 2 < last) at(k + 2).prefetch_schedulers(sm_time_[run_order_[k + 2]]);
    if (k + 1 < last) at(k + 1).prefetch_warps(sm_time_[run_order_[k + 1]]);
    run_sm(static_cast<SmId>(run_order_[k]), credits_known, span.blocks_wait);
    requests_->post(thread, sms_[run_order_[k]]->mailbox(), partition_next());
  });
  deliver(*requests_, partition_next());
}

/// What the awake parts have sent, each thread to the parts that it owns.
template <typename Message>
void Gpu::deliver(Exchange<Message>& exchange, Cycle* next) {
  if (workers_.threads() == 1 || awake_.empty()) return;
  if (awake_.size() < kManySenders) {
    exchange.deliver_all(next);
    return;
  }
  workers_.run(one_each_, [&](std::uint32_t /*thread*/, std::uint32_t first, std::uint32_t last) {
    for (std::uint32_t owner = first; owner < last; ++owner) exchange.deliver(owner, next);
  });
}

/// On any thread.
void Gpu::run_sm(SmId id, Cycle credits_known, bool blocks_wait) {
  sm::Sm& sm = *sms_[id];
  next_[id] = sm.run_ahead(sm_time_[id], sm_end_[id], credits_known, blocks_wait);
  sm_time_[id] = sm.done();
  // Sixty-four SMs' flags share a cache line of the host.
  const std::uint8_t blind = sm.lacks_credits() ? 1 : 0;
  if (blind_[id] != blind) blind_[id] = blind;
  if (sm.waits_for_turn() && refill_at_[id] == kNever) refill_at_[id] = window_from(sm.done());
  if (!sm.finished_blocks().empty() && (collect_at_[id] == kNever || !blocks_wait))
    collect_at_[id] = window_from(sm.done());
  if (busy_slots_ != 0) note_busy(id);
}

/// Runs work(thread, k, last) for each place k of run_order_, on all threads; [k, last) are run by this
/// thread.
template <typename Work>
void Gpu::run_awake(const Work& work) {
  workers_.run(bounds_, [this, &work](std::uint32_t thread, std::uint32_t first, std::uint32_t last) {
    for (std::uint32_t k = first; k < last; ++k) {
      try {
        work(thread, k, last);
      } catch (...) {
        const std::lock_guard lock(error_mutex_);
        if (error_ && error_part_ < run_order_[k]) continue;
        error_ = std::current_exception();
        error_part_ = run_order_[k];
      }
    }
  });
  if (error_) std::rethrow_exception(error_);
}

/// Each by the thread that will run it, for most of it is memory that is touched for the first time.
void Gpu::build_parts() {
  sms_.resize(config_.sms);
  partitions_.resize(config_.l2.partitions);
  const auto build = [this](std::uint32_t count, const auto& make) {
    awake_.resize(count);
    std::iota(awake_.begin(), awake_.end(), 0U);
    share_out(0, count);
    run_awake([&](std::uint32_t, std::uint32_t k, std::uint32_t) { make(run_order_[k]); });
  };
  build(config_.sms,
        [this](std::uint32_t i) { sms_[i] = std::make_unique<sm::Sm>(config_, static_cast<SmId>(i), map_); });
  build(config_.l2.partitions, [this](std::uint32_t i) {
    partitions_[i] = std::make_unique<l2::Partition>(config_, static_cast<PartitionId>(i), map_);
  });
}

/// Gives each thread the same ones of the parts [first, first + count) every time, as far as they are awake.
void Gpu::share_out(std::uint32_t first, std::uint32_t count) {
  const std::uint32_t threads = workers_.threads();
  run_order_ = awake_;
  bounds_.assign(1, 0);
  auto part = awake_.begin();
  for (std::uint32_t t = 1; t <= threads; ++t) {
    part = std::lower_bound(part, awake_.end(), first + first_owned(t, count, threads));
    bounds_.push_back(static_cast<std::uint32_t>(part - awake_.begin()));
  }
}

/// Moves on to the window in which something can happen.
void Gpu::skip_idle(Cycle meeting, Cycle host_event) {
  if (options_.no_skip || dispatch_possible_ || now_ < reached_) return;
  const bool arrived = !submitted_.empty() && submitted_.front().arrival <= now_;
  if (arrived && room_for_kernel()) return;  // it is taken next
  Cycle next = *std::min_element(next_.begin(), next_.end());
  // Blocks are collected at the end of the window before, which is not skipped.
  for (const Cycle collect : collect_at_) next = std::min(next, collect == kNever ? kNever : collect - 1);
  if (next_end_ != kNever) next = std::min(next, next_end_ - 1);
  for (const Cycle refill : refill_at_)
    if (refill > now_) next = std::min(next, refill);
  if (next == kNever && std::min({host_event, next_epoch_, alarm_}) == kNever && copied_.empty() &&
      (arrived || submitted_.empty()) && (!running_.empty() || arrived)) {
    throw SimulationFault(
        fmt::format("error: deadlock at cycle {}: nothing can move\n{}", now_, wait_report()));
  }
  const Cycle to = std::min(meeting, next == kNever ? kNever : window_of(next));
  if (to == kNever || to <= now_) return;
  // In the window that is skipped. What cannot go on then, cannot before something happens.
  refill_streams();
  if (*std::min_element(next_.begin(), next_.end()) <= now_) return;
  for (Cycle& refill : refill_at_)
    if (refill < to) refill = to;
  if (recorder_.next_sample() <= to) sample_skipped(to);
  now_ = reached_ = to;
  for (Cycle& time : sm_time_) time = std::max(time, to);
  for (Cycle& time : partition_time_) time = std::max(time, to);
  entered_ = std::max(entered_, to);
  replies_known_ = std::max(replies_known_, to + network_.latency);
}

}  // namespace gpumux::machine
