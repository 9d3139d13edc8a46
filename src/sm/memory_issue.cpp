// How a memory scheme acts inside the SM: which warps wait for their application's limit, when its memory
// instructions begin and end, and how L1's ways, MSHRs and miss queue are divided. Who goes first is decided
// in issue.cpp (arbitrate).
#include <algorithm>
#include <bit>

#include "sm/state.hpp"

namespace gpumux::sm {

void Sm::State::set_memory_scheme(const arch::MemoryScheme& scheme) {
  GPUMUX_CHECK(table.empty() && ops.in_use() == 0);
  memory.set(scheme);
  memory.set_present(0);
  memory_controlled = scheme.on();
  memory_concerns_issue = scheme.concerns_issue();
  way_partition.begin(l1.sets(), l1.max_ways(), scheme.divides_ways ? scheme.ways_interval : 0);
}

void Sm::State::set_memory_sharers(std::uint32_t sharers) {
  if (!memory_controlled || sharers == memory.sharers()) return;
  const std::uint32_t before = memory.here();
  memory.set_sharers(sharers);
  if (memory.here() != before) divide_l1(now_);
}

void Sm::State::memory_arrived(AppId app, Cycle now) {
  memory.arrived(app);
  divide_l1(now);
}

void Sm::State::divide_l1(Cycle now) {
  const arch::MemoryScheme& scheme = memory.scheme();
  if (!scheme.divides_ways && !scheme.divides_misses) return;
  if (scheme.divides_ways) {
    ways_granted = way_partition.share(memory.here(), l1.ways());
    l1.divide_ways(ways_granted);
  }
  if (scheme.divides_misses) {
    const auto count = std::max(1U, static_cast<std::uint32_t>(std::popcount(memory.here())));
    l1.divide_mshrs(std::max(1U, config.l1.mshr_entries / count));
    miss_queue_each = std::max(1U, config.l1.miss_queue / count);
  }
  lsu_retry(now);  // its head may have more now
}

/// Nothing is counted while nobody comes to L1, so what went by is made up for at the next access.
void Sm::State::divide_ways_again(Cycle now) {
  ways_granted = way_partition.update(now, l1.ways());
  l1.divide_ways(ways_granted);
}

void Sm::State::flush_l1() {
  l1.flush();
  if (!memory_controlled || !memory.scheme().divides_ways) return;
  way_partition.flushed();
  lsu_retry(now_);  // where a share was all reserved, others' lines have left room
}

/// The next instruction of a warp that has become ready, once: it stays the next until it issues.
void Sm::State::look_at_memory(const Scheduler& scheduler, std::uint32_t index) {
  MemoryControl::Ready& ready = memory.ready(index);
  for (WarpMask fresh = scheduler.ready_unit[static_cast<std::size_t>(isa::Unit::Memory)] & ~ready.known;
       fresh != 0; fresh &= fresh - 1) {
    const auto local = static_cast<std::uint32_t>(std::countr_zero(fresh));
    const WarpMask bit = WarpMask{1} << local;
    ready.known |= bit;
    const Warp& warp = table.warp(slot_of(index, local));
    const auto header = std::bit_cast<workload::MemHeader>(*warp.mem_next);
    if (warp.next->active == 0 || header.where == Where::None) continue;
    const AppId app = hot[warp.kernel].app;
    const bool lines = header.where == Where::Global || header.where == Where::Local;
    if (lines && header.transactions == 0) continue;
    if (lines) {
      ready.any |= bit;
      ready.of[app] |= bit;
    }
    if (lines || memory.scheme().orders_all) {
      ready.any_turn |= bit;
      ready.turn_of[app] |= bit;
    }
  }
}

/// Somebody is below a limit again.
void Sm::State::wake_limited(Cycle now) {
  for (std::uint32_t s = 0; s < schedulers_count; ++s)
    if (memory.ready(s).any != 0) look_again(s, now);
}

void Sm::State::end_memory(Cycle now) {
  bool frees = false;
  while (memory.next_end() <= now) frees = memory.ended(memory.pop_end()) || frees;
  if (frees) wake_limited(now);
}

/// An instruction is in flight until its data are there.
void Sm::State::memory_ends(AppId app, Cycle at, Cycle now) {
  if (at > now) {
    memory.ends_at(app, at);
  } else if (memory.ended(app)) {
    wake_limited(now);
  }
}

void Sm::State::memory_accessed(const MemoryOp& op, workload::Transaction transaction, bool last, Cycle now) {
  if (memory.requested(op.app, last)) wake_limited(now);
  const bool load = (op.inst->flags & (isa::InstFlag::kStore | isa::InstFlag::kAtomic)) == 0;
  if (last && op.inst->num_dst == 0 && !memory.scheme().stores_performed) memory_ends(op.app, now, now);
  if (!memory.scheme().divides_ways || !l1_enabled) return;
  const std::uint64_t line = transaction.line();
  if (!load) {
    const bool drops = l1.write_evicts() || (op.inst->flags & isa::InstFlag::kAtomic) != 0;
    if (drops) {
      way_partition.dropped(op.app, l1.set_index(line), line);
    } else {
      way_partition.stored(op.app, l1.set_index(line), line);
    }
  } else if (!bypasses_l1(op)) {
    way_partition.loaded(op.app, l1.set_index(line), line);
  }
}

}  // namespace gpumux::sm
