#include "machine/parts.hpp"

#include <numeric>

#include "base/error.hpp"
#include "machine/horizon.hpp"

namespace gpumux::machine {

namespace {

/// Most cycles of one run of an SM. Bookings relative to the start of a run have room for this
/// many cycles (sm::Scoreboard).
constexpr Cycle kLongestRun = 1024;

/// The instances of GPU applications and of CPU cores, if CPU cores have partitions of their own.
std::vector<arch::Instance> with_cpu_partitions(const arch::MachineConfig& config,
                                                std::vector<arch::Instance> instances, std::size_t cores) {
  GPUMUX_CHECK(cores == 0 || instances.empty());  // the lines of cores need an instance or the whole machine
  const std::uint32_t of_cpus = config.l2.cpu_partitions;
  if (of_cpus == 0) return instances;
  const std::uint32_t of_sms = config.l2.partitions - of_cpus;
  if (!instances.empty()) throw UserError("l2.cpu_partitions with a policy that divides the partitions, too");
  instances.assign(kMaxApps, {0, config.sms, 0, of_sms});
  for (std::uint32_t i = 0; i < cores; ++i) instances[cpu_app(i)] = {0, 0, of_sms, of_cpus};
  return instances;
}

}  // namespace

Parts::Parts(const arch::MachineConfig& config, const std::vector<arch::Instance>& instances,
             CpuTraces traces, unsigned threads, bool no_skip)
    : map_(config, with_cpu_partitions(config, instances, traces.size())),
      network_(config),
      windows_{network_.window},
      crew_(threads),
      no_skip_(no_skip) {
  GPUMUX_CHECK(traces.size() <= config.cpus);
  build(config);
  cpus_.resize(config.cpus);
  for (std::uint32_t i = 0; i < traces.size(); ++i)
    if (traces[i]) cpus_[i] = std::make_unique<CpuNode>(config, i, std::move(traces[i]), map_);
  std::vector<arch::SmMailbox*> sm_boxes;
  std::vector<arch::SmMailbox*> cpu_boxes;
  std::vector<arch::PartitionMailbox*> partition_boxes;
  for (const auto& sm : sms_) sm_boxes.push_back(&sm->mailbox());
  for (const auto& cpu : cpus_) cpu_boxes.push_back(cpu ? &cpu->mailbox() : &idle_box_);
  for (const auto& partition : partitions_) partition_boxes.push_back(&partition->mailbox());
  next_.assign(sms_.size() + partitions_.size() + cpus_.size(), kNever);
  for (std::uint32_t i = 0; i < cpus_.size(); ++i)
    if (cpus_[i]) cpu_next()[i] = 0;
  if (network_.routed) {
    mesh_.emplace(config, network_, MeshNetwork::Parts{sm_boxes, cpu_boxes, partition_boxes, next_.data()});
  } else {
    requests_.emplace(partition_boxes, crew_.threads());
    replies_.emplace(sm_boxes, crew_.threads());
  }
  sm_time_.assign(sms_.size(), 0);
  sm_end_.assign(sms_.size(), 0);
  collect_at_.assign(sms_.size(), kNever);
  refill_at_.assign(sms_.size(), kNever);
  blind_.assign(sms_.size(), 0);
  fired_.assign(sms_.size(), 0);
  partition_time_.assign(partitions_.size(), 0);
}

/// Constructs each part on the thread that will run it, because most of the part's
/// memory is touched here first.
void Parts::build(const arch::MachineConfig& config) {
  sms_.resize(config.sms);
  partitions_.resize(config.l2.partitions);
  const auto each = [this](std::uint32_t count, const auto& make) {
    crew_.awake().resize(count);
    std::iota(crew_.awake().begin(), crew_.awake().end(), 0U);
    crew_.run(count, [&](std::uint32_t, std::uint32_t k, std::uint32_t) { make(crew_.part(k)); });
  };
  each(config.sms,
       [&](std::uint32_t i) { sms_[i] = std::make_unique<sm::Sm>(config, static_cast<SmId>(i), map_); });
  each(config.l2.partitions, [&](std::uint32_t i) {
    partitions_[i] = std::make_unique<l2::Partition>(config, static_cast<PartitionId>(i), map_);
  });
}

Cycle Parts::farthest() const {
  Cycle farthest = reached_;
  for (const Cycle time : sm_time_) farthest = std::max(farthest, time);
  for (const Cycle time : partition_time_) farthest = std::max(farthest, time);
  return windows_.from(farthest);
}

bool Parts::none_beyond(Cycle cycle) const {
  const auto passed = [cycle](Cycle time) { return time > cycle; };
  return std::none_of(sm_time_.begin(), sm_time_.end(), passed) &&
         std::none_of(partition_time_.begin(), partition_time_.end(), passed);
}

void Parts::run(const Span& span, Horizon& horizon) {
  if (mesh_) {
    run_window(span, horizon);
    return;
  }
  Cycle reached = now_;
  while (reached <= now_) {
    const Cycle complete = horizon.complete(now_, span);
    const bool someone_is_blind = std::find(blind_.begin(), blind_.end(), 1) != blind_.end();
    if (horizon.partitions_first(complete, span, someone_is_blind))
      run_partitions(complete, span.partitions, horizon);
    run_sms(span, horizon);
    reached = *std::min_element(sm_time_.begin(), sm_time_.end());
    if (reached < span.sms) reached = windows_.of(reached);
  }
  reached_ = reached;
  if (reached == span.partitions) run_partitions(reached, reached, horizon);
}

/// Simulates one window of a machine with a mesh. All parts go window by window and know
/// all arrivals of the window.
void Parts::run_window(const Span& span, Horizon& horizon) {
  run_partitions(span.window, span.window, horizon);
  do {
    run_sms(span, horizon);
  } while (*std::min_element(sm_time_.begin(), sm_time_.end()) < span.window);
  if (!cpus_.empty()) run_cpus(span.window);
  reached_ = *std::min_element(sm_time_.begin(), sm_time_.end());
  GPUMUX_DCHECK(reached_ == span.window);
  mesh_->run(reached_, crew_);
}

/// Simulates partitions up to at most `end`, knowing all requests that arrive before `complete`.
void Parts::run_partitions(Cycle complete, Cycle end, Horizon& horizon) {
  const Cycle reach = std::min(end, horizon.reach(complete));
  std::vector<std::uint32_t>& awake = crew_.awake();
  awake.clear();
  for (std::uint32_t p = 0; p < partitions_.size(); ++p) {
    if (partition_next()[p] < reach || no_skip_) {
      awake.push_back(p);
    } else {
      partition_time_[p] = std::max(partition_time_[p], reach);
    }
  }
  const engine::Grant grant = horizon.partition_grant(complete, end);
  crew_.run(partitions(), [this, &grant](std::uint32_t thread, std::uint32_t k, std::uint32_t last) {
    const auto at = [&](std::uint32_t i) -> l2::Partition& { return *partitions_[crew_.part(i)]; };
    if (k + 2 < last) at(k + 2).prefetch();
    if (k + 1 < last) at(k + 1).prefetch_further();
    const std::uint32_t p = crew_.part(k);
    partition_next()[p] = partitions_[p]->run(grant);
    partition_time_[p] = partitions_[p]->done();
    if (replies_) replies_->post(thread, partitions_[p]->mailbox(), next_.data());
  });
  if (replies_) crew_.deliver(*replies_, next_.data());
  horizon.partitions_ran(complete, *std::min_element(partition_time_.begin(), partition_time_.end()));
}

void Parts::run_sms(const Span& span, Horizon& horizon) {
  const Cycle known = std::min(span.sms, horizon.replies_known());
  std::vector<std::uint32_t>& awake = crew_.awake();
  awake.clear();
  for (std::uint32_t i = 0; i < sms_.size(); ++i) {
    const Cycle time = sm_time_[i];
    Cycle end = std::min(known, time + kLongestRun);
    end = std::min(end, refill_at_[i]);
    if (span.blocks_wait) end = std::min(end, collect_at_[i]);
    if (end <= time) continue;
    if (time >= span.window && end < span.sms && end - time < kWorthwhile) continue;
    if (next_[i] < end || no_skip_) {
      sm_end_[i] = end;
      awake.push_back(i);
    } else {
      sm_time_[i] = end;
    }
  }
  crew_.run(sms(), [this, &span, &horizon](std::uint32_t thread, std::uint32_t k, std::uint32_t last) {
    // The states of all SMs do not fit a core's cache, so each state is prefetched while earlier SMs run.
    const auto at = [&](std::uint32_t i) -> sm::Sm& { return *sms_[crew_.part(i)]; };
    if (k + 4 < last) at(k + 4).prefetch();
    if (k + 3 < last) at(k + 3).prefetch_state();
    if (k + 2 < last) at(k + 2).prefetch_schedulers(sm_time_[crew_.part(k + 2)]);
    if (k + 1 < last) at(k + 1).prefetch_warps(sm_time_[crew_.part(k + 1)]);
    const std::uint32_t i = crew_.part(k);
    run_sm(i, horizon.sm_grant(sm_time_[i], sm_end_[i], span), horizon);
    if (requests_) requests_->post(thread, sms_[i]->mailbox(), partition_next());
  });
  if (requests_) crew_.deliver(*requests_, partition_next());
}

void Parts::run_cpus(Cycle end) {
  std::vector<std::uint32_t>& awake = crew_.awake();
  awake.clear();
  for (std::uint32_t i = 0; i < cpus_.size(); ++i)
    if (cpus_[i] && (cpu_next()[i] < end || no_skip_)) awake.push_back(i);
  const engine::Grant grant{.begin = now_, .end = end, .messages = end, .credits = end};
  crew_.run(cpus(), [this, &grant](std::uint32_t /*thread*/, std::uint32_t k, std::uint32_t /*last*/) {
    const std::uint32_t i = crew_.part(k);
    cpu_next()[i] = cpus_[i]->run(grant);
  });
}

/// Simulates one SM. May be called on any thread.
void Parts::run_sm(std::uint32_t i, const engine::Grant& grant, Horizon& horizon) {
  sm::Sm& sm = *sms_[i];
  next_[i] = sm.run(grant);
  const Cycle done = sm.done();
  sm_time_[i] = done;
  // The flags of 64 SMs share a cache line of the host, so write only changes.
  const std::uint8_t blind = sm.lacks_credits() ? 1 : 0;
  if (blind_[i] != blind) blind_[i] = blind;
  if (sm.waits_for_turn() && refill_at_[i] == kNever) refill_at_[i] = windows_.from(done);
  if (!sm.finished_blocks().empty() && (collect_at_[i] == kNever || !grant.stop_at_block_end))
    collect_at_[i] = windows_.from(done);
  if (sm.has_fired()) fired_[i] = 1;
  horizon.sm_ran(i);
}

void Parts::refill_streams() {
  refilling_ = true;
  for (std::uint32_t i = 0; i < sms_.size(); ++i) {
    if (refill_at_[i] > now_) continue;
    GPUMUX_DCHECK(refill_at_[i] == now_ && sm_time_[i] <= now_);
    if (sms_[i]->refill_streams(static_cast<std::uint32_t>(network_.window) + 1)) wake(i, now_);
    refill_at_[i] = sms_[i]->waits_for_turn() ? windows_.end(now_) : kNever;
  }
  refilling_ = false;
}

void Parts::settle(Cycle cycle) {
  for (const auto& sm : sms_) sm->settle(cycle);
  for (const auto& partition : partitions_) partition->settle(cycle);
  for (const auto& cpu : cpus_)
    if (cpu) cpu->settle(cycle);
}

Cycle Parts::next_event() const {
  Cycle next = next_of_parts();
  // Blocks are collected at the end of the previous window, which must not be skipped.
  for (const Cycle collect : collect_at_) next = std::min(next, collect == kNever ? kNever : collect - 1);
  for (const Cycle refill : refill_at_)
    if (refill > now_) next = std::min(next, refill);
  return next;
}

void Parts::skip_to(Cycle cycle, Horizon& horizon) {
  for (Cycle& refill : refill_at_)
    if (refill < cycle) refill = cycle;
  now_ = reached_ = cycle;
  for (Cycle& time : sm_time_) time = std::max(time, cycle);
  for (Cycle& time : partition_time_) time = std::max(time, cycle);
  horizon.skipped_to(cycle);
  if (mesh_) mesh_->run(cycle, crew_);
}

void Parts::drop() {
  requests_.reset();
  replies_.reset();
  mesh_.reset();
  sms_.clear();
  partitions_.clear();
  cpus_.clear();
}

std::string Parts::describe_network() const {
  std::string text;
  for (const auto& cpu : cpus_)
    if (cpu) text += cpu->describe_waits();
  return mesh_ ? text + mesh_->describe() : text;
}

std::uint64_t Parts::progress() const {
  std::uint64_t progress = 0;
  for (const auto& sm : sms_) progress += sm->progress();
  // CPU cores move packets in the shared parts forever, so only SMs count.
  if (std::any_of(cpus_.begin(), cpus_.end(), [](const auto& cpu) { return cpu != nullptr; }))
    return progress;
  for (const auto& partition : partitions_) progress += partition->progress();
  if (mesh_) progress += mesh_->progress();
  return progress;
}

}  // namespace gpumux::machine
