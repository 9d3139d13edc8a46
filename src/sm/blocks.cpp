// Blocks and warps: resources, launch, streams, barriers, exit, end of a block.
#include <algorithm>
#include <bit>

#include "sm/state.hpp"

namespace gpumux::sm {

namespace {

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
      finished(finished_blocks),
      schedulers_count(config.sm.schedulers),
      issue_interval(config.sm.issue_interval),
      window(noc::Network(config).window),
      table(config.sm, local_slots(config.sm) * config.sm.schedulers),
      scoreboard(static_cast<std::uint32_t>(table.warps().size())),
      wheel(config.sm.schedulers),
      units(config),
      result_bus(config.sm.result_buses, longest(config)),
      front(config, table),
      lsu(config, id, partition_map, sm_mailbox, counters.data(), *this),
      memory(id, schedulers_count) {
  // What the keys' ranges allow (arch/config_file_fields.cpp).
  GPUMUX_CHECK(schedulers_count <= FrontEnd::kMaxSchedulers && local_slots(config.sm) <= 64);
  const std::uint32_t banks = config.sm.register_banks / schedulers_count;
  for (std::uint32_t s = 0; s < schedulers_count; ++s) {
    schedulers.emplace_back(banks, config.sm.collectors_per_scheduler);
  }
  next_try.fill(kNever);
  next_try_of_all = kNever;
  for (std::uint32_t slot = 0; slot < table.warps().size(); ++slot) {
    table.warp(slot).scheduler = static_cast<std::uint8_t>(slot % schedulers_count);
    table.warp(slot).local = static_cast<std::uint8_t>(slot / schedulers_count);
  }
  if (config.l1.unified_bytes > 0) choose_carveout(0);
}

void Sm::State::bind(KernelSlot slot, const KernelContext& context) {
  table.bind(slot, context.app, context.resources);
  kernels[slot] = context;
  lsu.begin(slot);
  std::shared_ptr<const TimingTable>& timing = kernels[slot].timing;
  if (timing == nullptr) timing = std::make_shared<TimingTable>(config, context.table, context.table_size);
  scoreboard.fit(timing->slots());
  front.bind(slot, context.app, context.code_address, context.refills_independently);
  hot[slot] = {timing->data(), &counters[slot], timing->predicates(), context.app};
  gate.begin(slot, now_);
  triggers.begin(slot);
  warp_samples[slot] = {};
}

/// Shared memory gets the smallest part that holds what the resident kernels need when each fills the SM
/// alone, L1 the rest. Called when a kernel gets its first block here.
void Sm::State::choose_carveout(Cycle now) {
  if (config.l1.unified_bytes == 0) return;
  const std::uint32_t need = table.shared_need();
  const auto fitting = std::find_if(config.l1.shared_carveouts.begin(), config.l1.shared_carveouts.end(),
                                    [need](std::uint32_t carveout) { return carveout >= need; });
  const std::uint32_t chosen =
      fitting == config.l1.shared_carveouts.end() ? table.shared_capacity() : *fitting;
  const std::uint32_t rest = config.l1.unified_bytes - std::min(chosen, config.l1.unified_bytes);
  lsu.resize_l1(rest, memory.here(), now);
}

void Sm::State::launch(KernelSlot slot, std::uint32_t residency,
                       std::unique_ptr<workload::BlockStream> stream, Cycle start) {
  const AppId app = hot[slot].app;
  const bool first_of_app = table.resident_of(app) == 0;
  if (table.empty()) {
    for (Scheduler& scheduler : schedulers) scheduler.settle(start);
  }
  Block& block = table.admit(slot, residency, std::move(stream), start);
  rare_next = std::min(rare_next, table.next_end());
  if (table.resident(slot) == 1) choose_carveout(start);
  if (memory_controlled && first_of_app) memory_arrived(app, start);

  front.launched(block);
  for (const std::uint16_t warp_slot : block.warps) {
    const Warp& warp = table.warp(warp_slot);
    scoreboard.clear(warp_slot);
    Scheduler& scheduler = schedulers[warp.scheduler];
    scheduler.by_age.push_back(warp.local);
    const WarpMask bit = WarpMask{1} << warp.local;
    scheduler.waits[static_cast<std::size_t>(Wait::Fetch)] |= bit;
    scheduler.allowed = gate.open(slot) ? scheduler.allowed | bit : scheduler.allowed & ~bit;
  }
  for (std::uint32_t s = 0; s < schedulers_count; ++s) look_again(s, start);
  warps_changed(slot, start);
}

void Sm::State::warp_exits(std::uint32_t slot, Cycle now) {
  const Warp& warp = table.warp(slot);
  Scheduler& scheduler = schedulers[warp.scheduler];
  scheduler.waits[static_cast<std::size_t>(warp.wait)] &= ~(WarpMask{1} << warp.local);
  std::erase(scheduler.by_age, warp.local);
  scheduler.order.left(warp.local);
  look_again(warp.scheduler, now);
  const BlockTable::Released released = table.exits(slot, now);
  rare_next = std::min(rare_next, table.next_end());
  place_released(table.block(warp.block), released, now);
  warps_changed(warp.kernel, now);
}

void Sm::State::arrive(std::uint32_t slot, const TimedInst& inst, Cycle now) {
  const Warp& warp = table.warp(slot);
  const bool waits = (inst.flags & isa::kArrive) == 0;
  ++count(warp.kernel).barriers;
  const BlockTable::Released released = table.arrives(slot, inst.barrier, inst.barrier_warps, waits, now);
  place_released(table.block(warp.block), released, now);
  if (waits || released.opened) warps_changed(warp.kernel, now);
}

/// But for one that arrives now, and is placed when it has issued.
void Sm::State::place_released(const Block& block, BlockTable::Released released, Cycle now) {
  for (WarpMask left = released.warps; left != 0; left &= left - 1) {
    const std::uint16_t slot = block.warps[static_cast<std::size_t>(std::countr_zero(left))];
    if (table.warp(slot).wait == Wait::Sync) place(slot, now, now);
  }
}

Cycle Sm::State::busy_until(KernelSlot slot) const {
  if (table.resident(slot) == 0) return 0;
  // A scheduler issues one record a cycle at most; the first may issue now.
  const std::uint64_t left = front.records_left(slot, counters[slot].warp_instructions);
  return left == 0 ? now_ : now_ + (left - 1) / schedulers_count;
}

/// At the end of a cycle.
void Sm::State::rare_events(Cycle now) {
  if (gate.next() <= now) gate_changed(gate.run(now), now);
  if (table.next_end() <= now) finish_blocks(now);
  if (triggers.next() <= now) run_triggers(now);
  find_rare();
}

void Sm::State::finish_blocks(Cycle now) {
  const bool some = table.end_blocks(now, [&](Block& block) {
    for ([[maybe_unused]] const std::uint16_t slot : block.warps) GPUMUX_DCHECK(!scoreboard.any_out(slot));
    if (memory_controlled && table.resident_of(block.app) == 0) memory_left(block.app, now);
    ++count(block.kernel).blocks_completed;
    finished.push_back({block.kernel, block.residency, block.finish_at, std::move(block.stream)});
  });
  if (stops_at_ends && some) run_to = std::min(run_to, end_of_window(now));
  stop = std::min(stop, run_to);
  if (gate.counts()) refill_spent(now);
  if (!table.empty()) return;
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
