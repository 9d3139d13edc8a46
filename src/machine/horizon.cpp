#include "machine/horizon.hpp"

#include <algorithm>
#include <array>
#include <bit>

#include "base/error.hpp"

namespace gpumux::machine {

Horizon::Horizon(const arch::MachineConfig& config, const Parts& parts, const WorkDistributor& work,
                 Rules rules)
    : parts_(parts),
      work_(work),
      rules_(rules),
      latency_(parts.network().latency),
      routed_(parts.network().routed),
      blocks_per_cycle_(config.runtime.blocks_per_cycle),
      network_is_fast_(config.clocks.noc > config.clocks.core),
      most_ahead_(parts.partition(0).lookahead(latency_) + 2 * latency_),
      // A launch or copy starts at once and reaches the machine after the launch latency. A timed copy may
      // end before the cycle that the parts have reached.
      ends_reach_no_part_(config.runtime.kernel_launch_latency >= most_ahead_ &&
                          config.runtime.copy_bytes_per_second == 0 && !rules.ends_concern_parts),
      busy_until_(std::size_t{parts.sms()} * arch::kMaxKernelSlots, 0) {}

Cycle Horizon::complete(Cycle now, const Span& span) const {
  return std::min(now + latency_, span.partitions);
}

bool Horizon::partitions_first(Cycle complete, const Span& span, bool someone_is_blind) const {
  return rules_.in_step || network_is_fast_ || someone_is_blind || replies_known_ < span.window ||
         (!span.in_step && complete >= requests_known_ + kWorthwhile);
}

void Horizon::partitions_ran(Cycle complete, Cycle done) {
  requests_known_ = std::max(requests_known_, complete);
  replies_known_ = routed_ ? complete : done + latency_;
}

void Horizon::skipped_to(Cycle cycle) {
  requests_known_ = std::max(requests_known_, cycle);
  replies_known_ = std::max(replies_known_, routed_ ? cycle : cycle + latency_);
}

/// True if SMs must advance window by window: each may get a block next, or what happens on
/// one SM concerns the others.
bool Horizon::in_step() const {
  return rules_.in_step || routed_ || network_is_fast_ || work_.may_place() || watched() ||
         work_.kernels_launch() || work_.admission_may_come() || work_.priorities_matter() ||
         work_.grid_waits();
}

/// Lower bound of the cycles until the kernel's end, given by its blocks that have not been dispatched.
Cycle Horizon::undispatched_take(const policy::RunningKernel& kernel) const {
  const std::uint64_t left = kernel.blocks_total - kernel.blocks_dispatched;
  return left == 0 ? 0 : (left - 1) / blocks_per_cycle_ + work_.least_time_of_last_block(kernel.slot);
}

/// Lower bound of the cycle in which the kernel ends.
Cycle Horizon::earliest_end(const policy::RunningKernel& kernel) const {
  const auto first =
      busy_until_.begin() + static_cast<std::ptrdiff_t>(std::size_t{kernel.slot} * parts_.sms());
  const Cycle resident = *std::max_element(first, first + static_cast<std::ptrdiff_t>(parts_.sms()));
  return std::max(resident, parts_.now() + undispatched_take(kernel));
}

void Horizon::note_busy(std::uint32_t sm) {
  const sm::Sm& part = parts_.sm(sm);
  for (std::uint32_t slots = busy_slots_; slots != 0; slots &= slots - 1) {
    const auto slot = static_cast<arch::KernelSlot>(std::countr_zero(slots));
    Cycle busy = work_.is_killed(slot) ? 0 : part.busy_until(slot);
    // The miss passes the network, the L2's pipeline, and the network again.
    const Cycle miss = part.last_miss(slot);
    if (busy != 0 && miss != 0) busy = std::max(busy, reach(miss + latency_) + latency_);
    busy_until_[std::size_t{slot} * parts_.sms() + sm] = busy;
  }
  for (const sm::FinishedBlock& block : part.finished_blocks()) {
    Cycle& busy = busy_until_[std::size_t{block.kernel} * parts_.sms() + sm];
    busy = std::max(busy, part.done());
  }
}

Span Horizon::span(Cycle meeting) {
  const Cycle now = parts_.now();
  Span span{std::min(meeting, parts_.windows().end(now)), meeting, meeting, in_step(), work_.blocks_wait()};
  const std::uint32_t tails = tails_to_meet_at();
  if (span.in_step) {
    busy_slots_ = 0;
    span.sms = span.window;
    if (routed_ || tails != 0 || work_.admission_may_come() || work_.kernels_launch() || watched())
      span.partitions = span.window;
    return span;
  }
  if ((tails & ~busy_slots_) != 0) {
    busy_slots_ = tails;
    for (std::uint32_t sm = 0; sm < parts_.sms(); ++sm) note_busy(sm);
  }
  busy_slots_ = tails;
  if (tails == 0) return span;
  Cycle first = kNever;
  Cycle last = 0;
  for (const policy::RunningKernel& kernel : work_.kernels()) {
    if ((tails >> kernel.slot & 1) == 0) continue;
    const Cycle end = earliest_end(kernel);
    first = std::min(first, end);
    last = std::max(last, end);
  }
  const Cycle end = std::max(span.window, parts_.windows().of(ends_concern_host_alone() ? last : first));
  span.sms = span.partitions = std::min(span.sms, end);
  return span;
}

/// True if the ends of kernels concern only the host. In addition to conditions that do not change during the
/// run, no kernel may wait for another kernel's end to be admitted, and the caller must have said at which
/// ends it reads counters. The value changes only at arrivals, so never while some parts are ahead.
bool Horizon::ends_concern_host_alone() const {
  return ends_reach_no_part_ && !needs_.kernel_ends && awaited_ && !work_.kernel_has_arrived() &&
         !work_.kernels_launch();
}

/// Mask of the kernels that may end soon and at whose end all parts must meet. If ends concern only the host:
/// the kernels of the awaited applications if all of these applications may end with them, otherwise none.
std::uint32_t Horizon::tails_to_meet_at() const {
  std::uint32_t tails = 0;
  if (!ends_concern_host_alone()) {
    for (const policy::RunningKernel& kernel : work_.kernels())
      if (is_tail(kernel)) tails |= std::uint32_t{1} << kernel.slot;
    return tails;
  }
  std::uint32_t apps = 0;
  for (const policy::RunningKernel& kernel : work_.kernels()) {
    if ((*awaited_ >> kernel.app & 1) == 0) continue;
    if (!is_tail(kernel)) return 0;
    tails |= std::uint32_t{1} << kernel.slot;
    apps |= std::uint32_t{1} << kernel.app;
  }
  return apps == *awaited_ ? tails : 0;  // an application without a kernel still has to launch its last one
}

void Horizon::find_next_end() {
  next_end_ = kNever;
  if (!ends_concern_host_alone()) return;
  std::array<std::uint64_t, arch::kMaxKernelSlots> ended{};
  std::array<Cycle, arch::kMaxKernelSlots> last{};
  for (std::uint32_t i = 0; i < parts_.sms(); ++i) {
    if (!parts_.has_ended_blocks(i)) continue;
    for (const sm::FinishedBlock& block : parts_.sm(i).finished_blocks()) {
      if (block.left != sm::Left::Ended && block.left != sm::Left::Killed) continue;
      ++ended[block.kernel];
      last[block.kernel] = std::max(last[block.kernel], block.time);
    }
  }
  for (const policy::RunningKernel& kernel : work_.kernels()) {
    GPUMUX_DCHECK(kernel.blocks_total > 0);
    if (kernel.blocks_done + ended[kernel.slot] == kernel.blocks_total)
      next_end_ = std::min(next_end_, parts_.windows().end(last[kernel.slot]));
  }
}

}  // namespace gpumux::machine
