// Blocks and warps: resources, launch, streams, barriers, exit, end of a block.
#include <algorithm>
#include <array>

#include "sm/state.hpp"

namespace gpumux::sm {

namespace {

/// When one warp of a block is short, all get this many times what a window needs: blocks are looked at less
/// often.
constexpr std::uint32_t kTopUp = 4;

std::uint32_t round_up(std::uint32_t value, std::uint32_t unit) {
  return unit <= 1 ? value : (value + unit - 1) / unit * unit;
}

std::uint32_t longest(const arch::MachineConfig& config) {
  std::uint32_t longest = 1;
  for (const arch::LatencyConfig& entry : config.latency) longest = std::max(longest, entry.latency);
  return longest;
}

std::uint32_t local_slots(const arch::SmConfig& sm) {
  return (sm.max_warps + sm.schedulers - 1) / sm.schedulers;
}

}  // namespace

Sm::State::State(const arch::MachineConfig& machine_config, SmId sm_id,
                 const noc::PartitionMap& partition_map, arch::SmMailbox& sm_mailbox,
                 std::vector<FinishedBlock>& finished_blocks)
    : config(machine_config),
      id(sm_id),
      map(partition_map),
      network(machine_config),
      mailbox(sm_mailbox),
      finished(finished_blocks),
      schedulers_count(config.sm.schedulers),
      issue_interval(config.sm.issue_interval),
      memory_issue_width(config.sm.memory_issue_width),
      shared_capacity(config.sm.shared_bytes),
      l1_enabled(config.l1.bytes > 0 || config.l1.unified_bytes > 0),
      read_flits(network.flits(0)),
      warps(std::size_t{local_slots(config.sm)} * config.sm.schedulers),
      scoreboard(static_cast<std::uint32_t>(warps.size())),
      wheel(config.sm.schedulers),
      units(config),
      result_bus(config.sm.result_buses, longest(config)),
      fetch(config),
      l1(config.l1),
      constants(config.constant.bytes, config.constant.ways, config.constant.line_bytes),
      injection(network, config.l1.miss_queue),
      ejection(network),
      memory(id, schedulers_count),
      blocks(config.sm.max_blocks) {
  // What the keys' ranges allow (arch/config_file_fields.cpp).
  GPUMUX_CHECK(schedulers_count <= Fetch::kMaxSchedulers && local_slots(config.sm) <= 64);
  const std::uint32_t banks = config.sm.register_banks / schedulers_count;
  for (std::uint32_t s = 0; s < schedulers_count; ++s) {
    schedulers.emplace_back(banks, config.sm.collectors_per_scheduler);
  }
  next_try.fill(kNever);
  next_try_of_all = kNever;
  for (std::uint32_t slot = 0; slot < warps.size(); ++slot) {
    warps[slot].scheduler = static_cast<std::uint8_t>(slot % schedulers_count);
    warps[slot].local = static_cast<std::uint8_t>(slot / schedulers_count);
  }
  if (config.l1.unified_bytes > 0) choose_carveout(0);
}

void Sm::State::bind(KernelSlot slot, const KernelContext& context) {
  GPUMUX_CHECK(slot < arch::kMaxKernelSlots && resident[slot] == 0);
  kernels[slot] = context;
  last_read[slot] = 0;
  std::shared_ptr<const TimingTable>& timing = kernels[slot].timing;
  if (timing == nullptr) timing = std::make_shared<TimingTable>(config, context.table, context.table_size);
  scoreboard.fit(timing->slots());
  hot[slot] = {timing->data(),       &counters[slot], context.code_address,
               timing->predicates(), context.app,     context.refills_independently};
  some_refill_independently = some_refill_independently || context.refills_independently;
  block_limit[slot] = 0;
  gate.begin(slot, now_);
  triggers.begin(slot);
  warp_samples[slot] = {};
}

std::uint32_t Sm::State::registers_of(const workload::BlockResources& resources) const {
  return resources.warps() *
         round_up(resources.registers_per_thread * kWarpSize, config.sm.register_allocation_unit);
}

std::uint32_t Sm::State::shared_of(const workload::BlockResources& resources) const {
  return round_up(resources.shared_bytes, config.sm.shared_allocation_unit);
}

bool Sm::State::fits(const workload::BlockResources& resources) const {
  return block_order.size() < config.sm.max_blocks &&
         used_threads + resources.threads <= config.sm.max_threads &&
         used_warps + resources.warps() <= config.sm.max_warps &&
         used_registers + registers_of(resources) <= config.sm.registers &&
         used_shared + shared_of(resources) <= shared_capacity;
}

/// Shared memory gets the smallest part that holds what the resident kernels need when each fills the SM
/// alone, L1 the rest. Called when a kernel gets its first block here.
void Sm::State::choose_carveout(Cycle now) {
  if (config.l1.unified_bytes == 0) return;
  std::uint32_t need = 0;
  for (std::size_t k = 0; k < kernels.size(); ++k) {
    if (resident[k] == 0) continue;
    const workload::BlockResources& resources = kernels[k].resources;
    const std::uint32_t shared = shared_of(resources);
    if (shared == 0) continue;
    std::uint32_t occupancy = std::min(config.sm.max_blocks, shared_capacity / shared);
    occupancy = std::min(occupancy, config.sm.max_threads / std::max(1U, resources.threads));
    occupancy = std::min(occupancy, config.sm.max_warps / std::max(1U, resources.warps()));
    occupancy = std::min(occupancy, config.sm.registers / std::max(1U, registers_of(resources)));
    need += occupancy * shared;
  }
  need = std::max(std::min(need, shared_capacity), used_shared);
  const auto fitting = std::find_if(config.l1.shared_carveouts.begin(), config.l1.shared_carveouts.end(),
                                    [need](std::uint32_t carveout) { return carveout >= need; });
  const std::uint32_t chosen = fitting == config.l1.shared_carveouts.end() ? shared_capacity : *fitting;
  const std::uint32_t rest = config.l1.unified_bytes - std::min(chosen, config.l1.unified_bytes);
  if (rest == l1.bytes()) return;
  l1.resize(rest);
  if (memory_controlled) divide_l1(now);
  lsu_retry(now);  // it may have grown
}

void Sm::State::launch(KernelSlot slot, std::uint32_t residency,
                       std::unique_ptr<workload::BlockStream> stream, Cycle start) {
  const KernelContext& kernel = kernels[slot];
  GPUMUX_CHECK(fits(kernel.resources) && stream->warps() <= kernel.resources.warps() &&
               stream->warps() <= 64);
  std::size_t index = 0;
  while (blocks[index].resident) ++index;
  Block& block = blocks[index];
  std::vector<std::uint16_t> slots = std::move(block.warps);  // to use its memory again
  slots.clear();
  block = Block{};
  block.warps = std::move(slots);
  block.resident = true;
  block.kernel = slot;
  block.app = kernel.app;
  block.residency = residency;
  block.threads = kernel.resources.threads;
  block.registers = registers_of(kernel.resources);
  block.shared_bytes = shared_of(kernel.resources);
  block.alive = stream->warps();
  block.last_time = start;
  block.warps.reserve(stream->warps());
  block.stream = std::move(stream);
  used_threads += block.threads;
  used_warps += block.stream->warps();
  used_registers += block.registers;
  used_shared += block.shared_bytes;
  if (block_order.empty()) {
    for (Scheduler& scheduler : schedulers) scheduler.settle(start);
  }
  block_order.push_back(static_cast<std::uint8_t>(index));
  wants_records = true;
  if (!hot[slot].refills_independently) waits_for_turn = true;
  if (resident[slot]++ == 0) choose_carveout(start);
  if (memory_controlled && blocks_of_app[hot[slot].app]++ == 0) memory_arrived(hot[slot].app, start);

  std::uint32_t free = 0;
  for (std::uint32_t w = 0; w < block.stream->warps(); ++w) {
    while (warps[free].resident) ++free;
    Warp& warp = warps[free];
    const std::uint8_t scheduler_index = warp.scheduler;
    const std::uint8_t local = warp.local;
    const std::uint32_t generation = warp.generation + 1;
    warp = Warp{};
    warp.scheduler = scheduler_index;
    warp.local = local;
    warp.generation = generation;
    warp.kernel = slot;
    warp.block = static_cast<std::uint8_t>(index);
    warp.index = static_cast<std::uint8_t>(w);
    block.alive_warps |= std::uint64_t{1} << w;
    warp.resident = warp.alive = true;
    warp.starved = true;  // until the first records and fetch
    warp.wake = kNever;
    warp.sync_until = start + config.sm.block_launch_latency;  // first fetch
    scoreboard.clear(free);
    block.warps.push_back(static_cast<std::uint16_t>(free));
    Scheduler& scheduler = schedulers[scheduler_index];
    scheduler.by_age.push_back(local);
    const WarpMask bit = WarpMask{1} << local;
    scheduler.waits[static_cast<std::size_t>(Wait::Fetch)] |= bit;
    scheduler.allowed = gate.open(slot) ? scheduler.allowed | bit : scheduler.allowed & ~bit;
    const workload::WarpStream& source = block.stream->stream(w);
    warp.next = source.next;
    warp.end = source.end;
    warp.mem_next = source.mem_next;
    warp.finished = source.finished;
    warp.mark_few_left(watermark);
    supplied[slot] += source.available();
  }
  for (std::uint32_t s = 0; s < schedulers_count; ++s) look_again(s, start);
  warps_changed(slot, start);
  // Warps without threads are impossible; a block without warps ends at once.
  if (block.alive == 0) check_finished(block);
  refilled = true;
}

/// True when a warp that had no records left got some, or has none to come.
bool Sm::State::refill(Block& block, std::uint32_t records) {
  std::uint32_t least = kNil;
  for (const std::uint16_t slot : block.warps) {
    const Warp& warp = warps[slot];
    if (warp.alive && !warp.finished)
      least = std::min(least, static_cast<std::uint32_t>(warp.end - warp.next));
  }
  bool wakes = false;
  if (least < records) {
    const bool in_turn = !hot[block.kernel].refills_independently;  // the stream knows what is worth a turn
    for (std::uint32_t w = 0; w < block.warps.size(); ++w) {
      const Warp& warp = warps[block.warps[w]];
      workload::WarpStream& stream = block.stream->stream(w);
      stream.next = warp.next;
      stream.mem_next = warp.mem_next;
    }
    for (std::uint32_t w = 0; w < block.warps.size(); ++w) {
      const workload::WarpStream& stream = block.stream->stream(w);
      if (warps[block.warps[w]].alive && !stream.finished &&
          (in_turn || stream.available() < kTopUp * records))
        block.stream->refill(w, kTopUp * records);
    }
    least = kNil;
    for (std::uint32_t w = 0; w < block.warps.size(); ++w) {
      Warp& warp = warps[block.warps[w]];
      const workload::WarpStream& stream = block.stream->stream(w);
      supplied[block.kernel] += stream.available() - static_cast<std::uint64_t>(warp.end - warp.next);
      warp.next = stream.next;
      warp.end = stream.end;
      warp.mem_next = stream.mem_next;
      warp.finished = stream.finished;
      warp.mark_few_left(watermark);
      if (!warp.alive) continue;
      wakes = wakes || (warp.starved && (warp.finished || stream.available() > 0));
      if (!warp.finished) least = std::min(least, stream.available());
    }
    refilled = refilled || wakes;
  }
  block.wants_records = least < watermark;
  return wakes;
}

void Sm::State::refill_independent_blocks() {
  wants_records = false;
  for (const std::uint8_t index : block_order) {
    Block& block = blocks[index];
    if (block.wants_records && hot[block.kernel].refills_independently) refill(block, watermark);
    wants_records = wants_records || block.wants_records;
  }
}

void Sm::State::reload_refilled(Cycle now) {
  refilled = false;
  for (std::size_t i = 0; i < block_order.size(); ++i) {
    for (const std::uint16_t slot : blocks[block_order[i]].warps)
      if (warps[slot].alive && warps[slot].starved) resume_stream(slot, now);
  }
}

void Sm::State::warp_exits(std::uint32_t slot, Cycle now) {
  Warp& warp = warps[slot];
  Scheduler& scheduler = schedulers[warp.scheduler];
  warp.alive = false;
  scheduler.waits[static_cast<std::size_t>(warp.wait)] &= ~(WarpMask{1} << warp.local);
  std::erase(scheduler.by_age, warp.local);
  scheduler.order.left(warp.local);
  look_again(warp.scheduler, now);
  Block& block = blocks[warp.block];
  --block.alive;
  block.alive_warps &= ~(std::uint64_t{1} << warp.index);
  block.last_time = std::max(block.last_time, now);
  warps_changed(warp.kernel, now);
  if (block.alive == 0) {
    check_finished(block);
    return;
  }
  for (std::uint32_t barrier = 0; barrier < block.barriers.size(); ++barrier) try_open(block, barrier, now);
  release_stuck_barrier(block, now);
}

void Sm::State::arrive(std::uint32_t slot, const TimedInst& inst, Cycle now) {
  Warp& warp = warps[slot];
  Block& block = blocks[warp.block];
  const std::uint32_t number = inst.barrier % 16U;
  Barrier& barrier = block.barriers[number];
  ++count(warp.kernel).barriers;
  if (barrier.arrivals++ == 0) barrier.expected = inst.barrier_warps;
  barrier.warps |= std::uint64_t{1} << warp.index;
  if ((inst.flags & isa::kArrive) == 0) {
    warp.sync = Sync::Barrier;
    warp.barrier = static_cast<std::uint8_t>(number);
    ++block.at_barrier;
    warps_changed(warp.kernel, now);
  }
  if (!try_open(block, number, now)) release_stuck_barrier(block, now);
}

bool Sm::State::try_open(Block& block, std::uint32_t number, Cycle now) {
  const Barrier& barrier = block.barriers[number];
  if (barrier.arrivals == 0) return false;
  const bool open = barrier.expected == 0 ? (block.alive_warps & ~barrier.warps) == 0
                                          : barrier.arrivals >= barrier.expected;
  if (open) release_barrier(block, number, now);
  return open;
}

void Sm::State::release_barrier(Block& block, std::uint32_t barrier, Cycle now) {
  block.barriers[barrier] = {};
  for (const std::uint16_t slot : block.warps) {
    Warp& warp = warps[slot];
    if (!warp.alive || warp.sync != Sync::Barrier || warp.barrier != barrier) continue;
    warp.sync = Sync::Released;
    warp.sync_until = now + config.sm.barrier_latency;
    --block.at_barrier;
    if (warp.wait == Wait::Sync) place(slot, now, now);  // else it is the one that arrives now
  }
  warps_changed(block.kernel, now);
}

/// A barrier among part of the block's warps whose number the static table does not give. The stream shows
/// that it opens, so when every warp of the block waits at some barrier, the lowest one opens.
void Sm::State::release_stuck_barrier(Block& block, Cycle now) {
  if (block.alive == 0 || block.at_barrier < block.alive) return;
  for (std::uint32_t barrier = 0; barrier < block.barriers.size(); ++barrier) {
    if (block.barriers[barrier].arrivals == 0) continue;
    release_barrier(block, barrier, now);
    return;
  }
}

void Sm::State::check_finished(Block& block) {
  if (block.alive > 0 || block.loads_out > 0) return;
  block.finish_at = block.last_time;
  finish_next = std::min(finish_next, block.finish_at);
  rare_next = std::min(rare_next, finish_next);
}

Cycle Sm::State::busy_until(KernelSlot slot) const {
  if (resident[slot] == 0) return 0;
  // A scheduler issues one record a cycle at most; the first may issue now.
  const std::uint64_t left = supplied[slot] - counters[slot].warp_instructions;
  return left == 0 ? now_ : now_ + (left - 1) / schedulers_count;
}

/// At the end of a cycle.
void Sm::State::rare_events(Cycle now) {
  if (gate.next() <= now) gate_changed(gate.run(now), now);
  if (finish_next <= now) finish_blocks(now);
  if (triggers.next() <= now) run_triggers(now);
  find_rare();
}

void Sm::State::finish_blocks(Cycle now) {
  finish_next = kNever;
  std::size_t kept = 0;
  for (const std::uint8_t index : block_order) {
    Block& block = blocks[index];
    if (block.finish_at > now) {
      finish_next = std::min(finish_next, block.finish_at);
      block_order[kept++] = index;
      continue;
    }
    for (const std::uint16_t slot : block.warps) {
      GPUMUX_DCHECK(!scoreboard.any_out(slot));
      warps[slot].resident = false;
    }
    used_threads -= block.threads;
    used_warps -= block.stream->warps();
    used_registers -= block.registers;
    used_shared -= block.shared_bytes;
    --resident[block.kernel];
    if (memory_controlled && --blocks_of_app[hot[block.kernel].app] == 0)
      memory_left(hot[block.kernel].app, now);
    ++count(block.kernel).blocks_completed;
    finished.push_back({block.kernel, block.residency, block.finish_at, std::move(block.stream)});
    block.resident = false;
  }
  if (stops_at_ends && kept < block_order.size())
    run_to = std::min(run_to, now - now % network.window + network.window);
  stop = std::min(stop, run_to);
  block_order.resize(kept);
  if (gate.counts()) refill_spent(now);
  if (!block_order.empty()) return;
  next_try.fill(kNever);
  next_try_of_all = kNever;
  for (Scheduler& scheduler : schedulers) {  // an empty SM counts no cycles
    scheduler.settle(now + 1);
    if (scheduler.since > now + 1) {  // the last issue's interval is not over
      scheduler.cycles[static_cast<std::size_t>(Reason::issued)] -= scheduler.since - (now + 1);
      scheduler.since = now + 1;
    }
    scheduler.reason = Reason::uncounted;
  }
}

}  // namespace gpumux::sm
