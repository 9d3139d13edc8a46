// Blocks and warps: resources, launch, streams, barriers, exits, ends of blocks.
#include <algorithm>
#include <bit>

#include "sm/state.hpp"

namespace gpumux::sm {

Sm::State::State(const arch::MachineConfig& machine_config, SmId sm_id,
                 const noc::PartitionMap& partition_map, arch::SmMailbox& sm_mailbox,
                 std::vector<FinishedBlock>& finished_blocks)
    : config(machine_config),
      id(sm_id),
      finished(finished_blocks),
      window(noc::Network(config).window),
      table(config.sm, IssueStage::warp_slots(config.sm)),
      front(config, table),
      memory(id, config.sm.schedulers),
      stage(config, table, memory),
      lsu(config, id, partition_map, sm_mailbox, counters.data(), *this),
      copies(static_cast<std::uint32_t>(table.warps().size())) {
  if (config.l1.unified_bytes > 0) choose_carveout(0);
  gate.limit_all_warps(config.sm.warp_limit);
  if (config.ccws.on) begin_locality();
}

void Sm::State::bind(KernelSlot slot, const KernelContext& context) {
  table.bind(slot, context.app, context.resources);
  kernels[slot] = context;
  lsu.begin(slot);
  if (locality) locality->begin(slot);
  std::shared_ptr<const TimingTable>& timing = kernels[slot].timing;
  if (timing == nullptr) timing = std::make_shared<TimingTable>(config, context.table, context.table_size);
  front.bind(slot, context.app, context.code_address, context.refills_independently);
  stage.bind(slot, *timing, &counters[slot], context.app);
  if (view) view->bind(slot, phase_numbers(config, {context.table, context.table + context.table_size}));
  gate.begin(slot, now_);
  gate.spare(slot, context.cooperative);
  triggers.begin(slot);
  warp_samples[slot] = {};
}

/// Shared memory gets the smallest carve-out that holds what the resident kernels need when each fills the SM
/// alone. L1 gets the rest. Called when a kernel gets its first block on this SM.
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
                       std::unique_ptr<workload::BlockStream> stream, Cycle start,
                       const BlockContext* context, Cycle delay) {
  const AppId app = stage.kernel(slot).app;
  const bool first_of_app = table.resident_of(app) == 0;
  account(known_now());
  if (table.empty()) stage.begin(start);
  Block& block = table.admit(slot, residency, std::move(stream), start, context, delay);
  rare_next = std::min(rare_next, table.next_end());
  if (table.resident(slot) == 1) choose_carveout(start);
  if (memory_controlled && first_of_app) memory_arrived(app, start);

  if (context != nullptr && context->lines > 0) {
    block.restores = true;
    begin_move(block, false, context->lines, start);
  }
  if (locality) [[unlikely]]
    for (const std::uint16_t warp : block.warps) locality->came(warp, table.warp(warp).generation);
  if (view) view->launched(block, table, config.sm.schedulers, start);
  copies_came(block, context);
  front.launched(block);
  stage.launched(block, gate.open(slot) && block.may_issue(), start);
  hold_yielding(start);
  warps_changed(slot, start);
}

void Sm::State::warp_exits(std::uint32_t slot, Cycle now) {
  const Warp& warp = table.warp(slot);
  stage.exits(warp, now);
  const BlockTable::Released released = table.exits(slot, now);
  if (view) view->exits(slot, table.block(warp.block));
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

/// Places the released warps, except a warp that arrives just now: it is placed after it has issued.
void Sm::State::place_released(const Block& block, BlockTable::Released released, Cycle now) {
  for (WarpMask left = released.warps; left != 0; left &= left - 1) {
    const std::uint16_t slot = block.warps[static_cast<std::size_t>(std::countr_zero(left))];
    if (table.warp(slot).wait == Wait::Sync) stage.place(slot, now, now);
  }
}

Cycle Sm::State::busy_until(KernelSlot slot) const {
  if (table.resident(slot) == 0) return 0;
  // Each scheduler issues at most one record per cycle, and the first record may issue now.
  const std::uint64_t left = front.records_left(slot, counters[slot].warp_instructions);
  return left == 0 ? now_ : now_ + (left - 1) / stage.schedulers();
}

/// Handles rare events at the end of a cycle.
void Sm::State::rare_events(Cycle now) {
  if (gate.next() <= now) gate_changed(gate.run(now), now);
  if (table.next_end() <= now) finish_blocks(now);
  if (triggers.next() <= now) run_triggers(now);
  if (locality && locality->next() <= now + 1) choose_loads(now + 1);
  find_rare();
}

void Sm::State::finish_blocks(Cycle now) {
  std::uint32_t left = 0;  // mask of kernels of blocks that left before all their warps had exited
  const bool some = table.end_blocks(now, [&](Block& block) {
    if (memory_controlled && table.resident_of(block.app) == 0) memory_left(block.app, now);
    if (view) view->gone(block, table, config.sm.schedulers);
    if (block.alive > 0) {
      hand_over(block, now);
      left |= std::uint32_t{1} << block.kernel;
      return;
    }
    for ([[maybe_unused]] const std::uint16_t slot : block.warps) GPUMUX_DCHECK(!stage.any_out(slot));
    ++count(block.kernel).blocks_completed;
    finished.push_back({block.kernel, block.residency, block.finish_at, std::move(block.stream), Left::Ended,
                        nullptr, table.issued(block), block.cycles_before + block.finish_at - block.began});
  });
  for (; left != 0; left &= left - 1) warps_changed(static_cast<KernelSlot>(std::countr_zero(left)), now);
  if (stops_at_ends && some) run_to = std::min(run_to, end_of_window(now));
  stop = std::min(stop, run_to);
  if (gate.counts()) {
    refill_spent(now);
    hold_yielding(now);
  }
  if (table.empty()) stage.end(now);
}

}  // namespace gpumux::sm
