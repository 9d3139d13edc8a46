// How a memory scheme acts inside the SM: which warps wait for their application's limit, and when its memory
// instructions begin and end. Who goes first is decided in issue.cpp (arbitrate), how L1 is divided in
// l1_shares.hpp.
#include <algorithm>
#include <bit>

#include "sm/state.hpp"

namespace gpumux::sm {

void Sm::State::set_memory_scheme(const arch::MemoryScheme& scheme) {
  GPUMUX_CHECK(table.empty());
  memory.set(scheme);
  memory.set_present(0);
  memory_controlled = scheme.on();
  memory_concerns_issue = scheme.concerns_issue();
  lsu.set_scheme(scheme);
}

void Sm::State::set_memory_sharers(std::uint32_t sharers) {
  if (!memory_controlled || sharers == memory.sharers()) return;
  const std::uint32_t before = memory.here();
  memory.set_sharers(sharers);
  if (memory.here() != before) lsu.share(memory.here(), now_);
}

void Sm::State::memory_arrived(AppId app, Cycle now) {
  memory.arrived(app);
  lsu.share(memory.here(), now);
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

}  // namespace gpumux::sm
