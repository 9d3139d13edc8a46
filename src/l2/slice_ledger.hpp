// A slice's ledger of interference: which application waited for which other at the tags, the MSHRs, the
// lines and the reply port of the slice.
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
  std::array<std::uint64_t, kMaxApps> tag_waits{};  // core cycles that requests waited for the tags
  ledger::ServingLine replies;
  ledger::ShadowTags shadow;
  static constexpr std::uint64_t kPartsOfCycle = 1024;
  using Counts = std::array<std::uint32_t, kMaxApps>;
  std::uint32_t apps = 0;  // highest application id that held any of the following resources, plus 1
  // Resources in use, by the application at fault. If an application evicted a line that would otherwise be
  // present, the fetch of that line is due to it.
  Counts registers{};  // MSHRs in use
  Counts queued{};     // entries of the miss queue
  std::vector<AppId> register_due_to;
  Ring<AppId> queued_due_to;

  // State of the request at the head, before its access:
  Request head;
  std::uint64_t misses = 0;                    // l2_misses of its application
  Cycle stalled_since = kNever;                // start of the stall; kNever: no stall
  const Counts* stalls_for = nullptr;          // holders of the resource that is missing;
                                               // nullptr: the application itself
  std::array<std::uint64_t, kMaxApps> held{};  // duration of the stall by application at fault,
                                               // in 1/kPartsOfCycle cycles
  bool some_held = false;                      // an element of `held` is not 0
};

}  // namespace gpumux::l2
