// A slice's ledger of interference: who waited for whom at its tags, its registers, its lines and its port.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/huge_pages.hpp"
#include "base/types.hpp"
#include "l2/request.hpp"
#include "ledger/busy_windows.hpp"
#include "ledger/serving_line.hpp"
#include "ledger/shadow_tags.hpp"

namespace gpumux::l2 {

struct SliceLedger {
  SliceLedger(std::uint32_t sets, std::uint32_t ways, std::uint32_t mshrs, std::uint32_t queue)
      : shadow(sets, ways), register_due_to(mshrs), queued_due_to(queue) {}
  static void* operator new(std::size_t bytes) { return huge_page_allocate(bytes); }
  static void operator delete(void* ledger, std::size_t bytes) noexcept { huge_page_free(ledger, bytes); }

  ledger::ServingLine tags;
  ledger::BusyWindows busy;                         // of the tags
  std::array<std::uint64_t, kMaxApps> tag_waits{};  // cycles that requests waited for them
  ledger::ServingLine replies;
  ledger::ShadowTags shadow;
  static constexpr std::uint64_t kPartsOfCycle = 1024;
  using Counts = std::array<std::uint32_t, kMaxApps>;
  std::uint32_t apps = 0;  // those below have held any of these
  // Things that are held, by whose fault: who evicted a line that would be here has to do with its fetch.
  Counts registers{};  // MSHRs in use
  Counts queued{};     // entries of the miss queue
  std::vector<AppId> register_due_to;
  Ring<AppId> queued_due_to;

  // Of the request at the head, before its access:
  Request head;
  std::uint64_t misses = 0;                    // of its application
  Cycle stalled_since = kNever;                // kNever: it does not stall
  const Counts* stalls_for = nullptr;          // by whom that is held; nothing: by its own alone
  std::array<std::uint64_t, kMaxApps> held{};  // parts of cycles for which it has stalled, by whose things
  bool some_held = false;                      // one of these is not 0
};

}  // namespace gpumux::l2
