// Memory schemes inside the SM: when memory instructions of an application start and end, and
// which applications share. issue.hpp (arbitrate) decides whose instruction goes first,
// l1_shares.hpp how L1 is divided.
#include "sm/state.hpp"

namespace gpumux::sm {

void Sm::State::set_memory_scheme(const arch::MemoryScheme& scheme) {
  GPUMUX_CHECK(table.empty());
  memory.set(scheme);
  memory.set_present(0);
  memory_controlled = scheme.on();
  stage.set_scheme(scheme);
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

void Sm::State::end_memory(Cycle now) {
  bool frees = false;
  while (memory.next_end() <= now) frees = memory.ended(memory.pop_end()) || frees;
  if (frees) stage.below_limit(now);
}

/// Ends a memory instruction at `at`. The instruction is in flight until its data is available.
void Sm::State::memory_ends(AppId app, Cycle at, Cycle now) {
  if (at > now) {
    memory.ends_at(app, at);
  } else if (memory.ended(app)) {
    stage.below_limit(now);
  }
}

}  // namespace gpumux::sm
