// A slice's ledger of interference: who waited for whom at its tags, its registers, its lines and its port.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "base/types.hpp"
#include "l2/request.hpp"
#include "ledger/serving_line.hpp"
#include "ledger/shadow_tags.hpp"

namespace gpumux::l2 {

struct SliceLedger {
  SliceLedger(std::uint32_t sets, std::uint32_t ways) : shadow(sets, ways) {}

  ledger::ServingLine tags;
  ledger::ServingLine replies;
  ledger::ShadowTags shadow;
  std::array<std::uint32_t, kMaxApps> registers{};  // MSHRs in use

  // Of the request at the head, before its access:
  Request head;
  std::uint64_t misses = 0;                          // of its application
  AppId displaced_by = ledger::ShadowTags::kNobody;  // its line would be here, but for this one
  Cycle stalled_since = kNever;                      // kNever: it does not stall

  struct Wait {
    Cycle since = 0;
    AppId displaced_by = ledger::ShadowTags::kNobody;
  };
  std::vector<Wait> waits;  // by request, while it waits for a fill
};

}  // namespace gpumux::l2
