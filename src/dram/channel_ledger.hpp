// A channel's ledger of interference: which requests waited while a bank or the bus was another
// application's.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/types.hpp"

namespace gpumux::dram {

/// A request waits for its bank until its row is open, then for the bus until its last burst goes. A bank
/// belongs to the application whose request opened its row, until it is activated again. Where a bank loses a
/// row before its requests are through, they wait for the bank again.
struct ChannelLedger {
  using Sums = std::array<std::uint64_t, kMaxApps>;
  ChannelLedger(std::size_t entries, std::size_t bank_count) : waits(entries), banks(bank_count) {}

  struct Waits {          // of a request in the queue
    bool open = false;    // it waits for the bus
    bool charged = true;  // elsewhere, whole
    Sums before{};  // what the bank's applications had held it for, or the bursts of all, when its wait began
  };
  struct Bank {
    static constexpr std::uint64_t kNoRow = ~std::uint64_t{0};
    struct OfApp {
      std::uint64_t held = 0;      // clocks for which its row was open, up to `since`
      std::uint64_t row = kNoRow;  // that its last request used
    };
    AppId owner = kMaxApps;
    std::int64_t since = 0;
    std::array<OfApp, kMaxApps> apps{};
  };
  struct Pair {
    std::uint64_t bank_clocks = 0;
    std::uint64_t row_conflicts = 0;
    std::uint64_t bursts = 0;
  };
  /// Applications from 0 on that have come.
  std::uint32_t apps = 0;
  std::vector<Waits> waits;
  std::vector<Bank> banks;
  std::array<std::array<Pair, kMaxApps>, kMaxApps> pairs{};  // by victim and culprit
};

}  // namespace gpumux::dram
