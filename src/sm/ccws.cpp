// Cache-conscious warp scheduling in the SM: finds the running warps and those of them that may issue loads.
#include "sm/state.hpp"

namespace gpumux::sm {

void Sm::State::begin_locality() {
  const L1& l1 = lsu.l1();
  locality = std::make_unique<LostLocality>(config.ccws, IssueStage::warp_slots(config.sm),
                                            config.sm.schedulers, l1.sets() * l1.max_ways());
  lsu.keep_locality(locality.get());
  stage.hold_loads(&locality->held(), config.ccws.holds == arch::CcwsHolds::All);
}

void Sm::State::choose_loads(Cycle now) {
  running.clear();
  for (const std::uint8_t index : table.order()) {
    const Block& block = table.block(index);
    if (!block.may_issue()) continue;
    for (const std::uint16_t slot : block.warps)
      if (table.warp(slot).alive) running.push_back(slot);
  }
  locality->choose(running, now);
  stage.below_limit(now);
  find_rare();
}

}  // namespace gpumux::sm
