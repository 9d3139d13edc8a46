// The places of the ledger of interference (docs/ledger.md): where applications wait for each other.
#pragma once

#include <array>
#include <string_view>

namespace gpumux::arch {

struct LedgerPlace {
  std::string_view name;   // name in results: "dram_bus"
  std::string_view words;  // description for users: "the DRAM bus"
};

inline constexpr std::array<LedgerPlace, 13> kLedgerPlaces = {{
    {"issue", "issue slots"},
    {"unit", "execution units and the LSU's queue"},
    {"lsu", "the LSU's head"},
    {"l1_entry", "L1 MSHRs and miss queue"},
    {"l1_line", "L1 lines"},
    {"request_port", "the request network"},
    {"l2_queue", "L2 ports"},
    {"l2_entry", "L2 MSHRs and miss queue"},
    {"l2_line", "L2 lines"},
    {"dram_bank", "DRAM banks"},
    {"dram_row", "DRAM row conflicts"},
    {"dram_bus", "the DRAM bus"},
    {"reply_port", "the reply network"},
}};

/// The description of a place. For an unknown place it is the name, because a database
/// may be of another version.
[[nodiscard]] constexpr std::string_view ledger_words(std::string_view name) {
  for (const LedgerPlace& place : kLedgerPlaces)
    if (place.name == name) return place.words;
  return name;
}

}  // namespace gpumux::arch
