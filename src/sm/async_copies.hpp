// Copies from global to shared memory that hold no registers (cp.async), and barriers in shared memory
// (mbarrier), as far as warps wait for them: who copies what is known before (workload/stream.hpp); when it
// is there, and when a warp that waits for it goes on, is decided here.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "base/types.hpp"
#include "isa/timing_class.hpp"
#include "sm/block_context.hpp"

namespace gpumux::sm {

/// A warp's copies belong to epochs: one ends where a group of copies is committed, or where an arrival at an
/// mbarrier shall wait for the copies so far. Epochs are complete in their order, whatever the order in which
/// their copies are: that is all that PTX lets a thread wait for. Costs nothing where nothing copies.
class AsyncCopies {
 public:
  explicit AsyncCopies(std::uint32_t warp_slots) : warps_(warp_slots) {}

  [[nodiscard]] static constexpr bool is_copy(std::uint32_t flags) {
    return (flags & (isa::kAsync | isa::kShared)) == isa::kAsync;
  }

  /// Warps of a block begin, with nothing under way.
  void came(std::uint32_t slot);
  /// A block begins with these arrivals.
  void begin(std::uint32_t block, std::vector<MbarrierArrivals> mbarriers);

  /// The warp issues a copy; its epoch.
  std::uint32_t issued(std::uint32_t slot) {
    Copies& copies = warps_[slot];
    if (copies.epochs.empty() || copies.epochs.back().ended) copies.epochs.emplace_back();
    ++copies.epochs.back().out;
    return copies.first + static_cast<std::uint32_t>(copies.epochs.size()) - 1;
  }
  /// A copy is performed at `ready`; true: the arrival at an mbarrier that waited for it happens.
  bool performed(std::uint32_t slot, std::uint32_t block, std::uint32_t epoch, Cycle ready, Cycle now);
  /// The copies since the last group become one.
  void commit(std::uint32_t slot, Cycle now);
  /// Arrivals at `now`.
  void arrive(std::uint32_t block, std::uint32_t address, std::uint64_t count, Cycle now);
  /// Arrivals when all copies so far are performed; true: at once.
  bool arrive_behind_copies(std::uint32_t slot, std::uint32_t block, std::uint32_t address,
                            std::uint64_t count, Cycle now);

  /// The warp waits until all but its `open` youngest groups are complete, or for arrivals.
  void wait_for_groups(std::uint32_t slot, std::uint32_t open) {
    warps_[slot].wait = {Waits::Groups, open, 0};
  }
  void wait_for_arrivals(std::uint32_t slot, std::uint32_t address, std::uint64_t count) {
    warps_[slot].wait = {Waits::Arrivals, address, count};
  }
  /// When what it waits for has happened; kNever: that is not known yet.
  [[nodiscard]] Cycle done(std::uint32_t slot, std::uint32_t block) const;
  [[nodiscard]] std::string describe_wait(std::uint32_t slot, std::uint32_t block) const;

  // Of a block that leaves to go on elsewhere, with no copy under way.
  [[nodiscard]] const std::vector<MbarrierArrivals>& arrivals(std::uint32_t block) const;
  void save_wait(std::uint32_t slot, BlockContext::WarpState& state) const;

 private:
  struct Arrivals {
    std::uint32_t address;
    std::uint64_t count;
  };
  struct Epoch {
    std::uint32_t out = 0;  // copies that are not performed
    Cycle ready = 0;        // the latest of the others
    bool ended = false;
    bool group = false;  // by the end of a group
    std::vector<Arrivals> arrivals;
  };
  enum class Waits : std::uint8_t { Nothing, Groups, Arrivals };
  struct Wait {
    Waits what = Waits::Nothing;
    std::uint32_t number = 0;  // groups that may be open, or the address
    std::uint64_t count = 0;
  };
  struct Copies {
    std::deque<Epoch> epochs;  // those not known to be complete, oldest first; the last may be open
    std::uint32_t first = 0;   // number of the first of them
    Wait wait;
  };
  Epoch& end_epoch(Copies& copies);
  /// Drops epochs that are complete, and lets arrivals behind them happen.
  bool settle(Copies& copies, std::uint32_t block, Cycle now);
  MbarrierArrivals& of(std::uint32_t block, std::uint32_t address);

  std::vector<Copies> warps_;                             // by slot
  std::vector<std::vector<MbarrierArrivals>> mbarriers_;  // by block slot; few each
};

}  // namespace gpumux::sm
