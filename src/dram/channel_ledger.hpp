// A channel's ledger of interference: for how long requests waited while another application
// held a bank or the data bus.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/types.hpp"

namespace gpumux::dram {

/// Sums of the waits of one channel. A request waits for its bank until its row is open, then for the
/// bus until its last burst is issued. A bank belongs to the application whose request opened its row,
/// until the next activation. If a bank's row is closed before a request for it is served, that request
/// waits for the bank again.
struct ChannelLedger {
  using Sums = std::array<std::uint64_t, kMaxApps>;
  ChannelLedger(std::size_t entries, std::size_t bank_count) : waits(entries), banks(bank_count) {}

  struct Waits {          // waits of one request in the queue
    bool open = false;    // true: waits for the bus; false: waits for the bank
    bool charged = true;  // true: the whole wait is charged elsewhere
    Sums before{};        // by application, at the start of the wait: clocks that it had held the bank,
                          // or bursts that it had moved
  };
  struct Bank {
    static constexpr std::uint64_t kNoRow = ~std::uint64_t{0};
    struct OfApp {
      std::uint64_t held = 0;      // clocks for which a row of the application was open, up to `since`
      std::uint64_t row = kNoRow;  // row of the application's last request
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
  /// Highest application id seen, plus 1.
  std::uint32_t apps = 0;
  std::vector<Waits> waits;
  std::vector<Bank> banks;
  std::array<std::array<Pair, kMaxApps>, kMaxApps> pairs{};  // by victim and culprit
};

}  // namespace gpumux::dram
