// Copies from global to shared memory that hold no registers (cp.async), and barriers in shared memory
// (mbarrier). Functional emulation has already decided which warp copies what (workload/stream.hpp). This
// file decides when copies arrive, and when a warp that waits for them continues.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "base/types.hpp"
#include "isa/timing_class.hpp"
#include "sm/block_context.hpp"

namespace gpumux::sm {

/// Asynchronous copies and mbarriers of an SM. The copies of a warp belong to epochs. An epoch ends when a
/// group of copies is committed, or when an arrival at an mbarrier must wait for the copies so far. Epochs
/// complete in order, whatever the order in which their copies arrive, because PTX lets threads wait for
/// nothing else. No cost in kernels without such copies.
class AsyncCopies {
 public:
  explicit AsyncCopies(std::uint32_t warp_slots) : warps_(warp_slots) {}

  [[nodiscard]] static constexpr bool is_copy(std::uint32_t flags) {
    return (flags & (isa::kAsync | isa::kShared)) == isa::kAsync;
  }

  /// New warps start in the slot, with no copies in flight.
  void came(std::uint32_t slot);
  /// A block starts, with these arrivals at its mbarriers.
  void begin(std::uint32_t block, std::vector<MbarrierArrivals> mbarriers);

  /// The warp issues a copy. Returns the copy's epoch.
  std::uint32_t issued(std::uint32_t slot) {
    Copies& copies = warps_[slot];
    if (copies.epochs.empty() || copies.epochs.back().ended) copies.epochs.emplace_back();
    ++copies.epochs.back().out;
    return copies.first + static_cast<std::uint32_t>(copies.epochs.size()) - 1;
  }
  /// The data of a copy is there at `ready`. Returns true if an mbarrier arrival that
  /// waited for the copy happens.
  bool performed(std::uint32_t slot, std::uint32_t block, std::uint32_t epoch, Cycle ready, Cycle now);
  /// Commits the copies since the last group as a new group.
  void commit(std::uint32_t slot, Cycle now);
  /// Performs `count` arrivals at an mbarrier at `now`.
  void arrive(std::uint32_t block, std::uint32_t address, std::uint64_t count, Cycle now);
  /// Performs `count` arrivals when all copies so far have arrived. Returns true if they happen at once.
  bool arrive_behind_copies(std::uint32_t slot, std::uint32_t block, std::uint32_t address,
                            std::uint64_t count, Cycle now);

  /// The warp waits until all but its `open` youngest groups are complete, or until an
  /// mbarrier has `count` arrivals.
  void wait_for_groups(std::uint32_t slot, std::uint32_t open) {
    warps_[slot].wait = {Waits::Groups, open, 0};
  }
  void wait_for_arrivals(std::uint32_t slot, std::uint32_t address, std::uint64_t count) {
    warps_[slot].wait = {Waits::Arrivals, address, count};
  }
  /// When the condition that the warp waits for holds; kNever: not known yet.
  [[nodiscard]] Cycle done(std::uint32_t slot, std::uint32_t block) const;
  [[nodiscard]] std::string describe_wait(std::uint32_t slot, std::uint32_t block) const;

  // For a block that leaves and continues elsewhere, with no copy in flight.
  [[nodiscard]] const std::vector<MbarrierArrivals>& arrivals(std::uint32_t block) const;
  void save_wait(std::uint32_t slot, BlockContext::WarpState& state) const;

 private:
  struct Arrivals {
    std::uint32_t address;
    std::uint64_t count;
  };
  struct Epoch {
    std::uint32_t out = 0;  // copies that have not arrived
    Cycle ready = 0;        // latest arrival of the other copies
    bool ended = false;
    bool group = false;  // ended by the commit of a group
    std::vector<Arrivals> arrivals;
  };
  enum class Waits : std::uint8_t { Nothing, Groups, Arrivals };
  struct Wait {
    Waits what = Waits::Nothing;
    std::uint32_t number = 0;  // number of groups that may be open, or address of the mbarrier
    std::uint64_t count = 0;
  };
  struct Copies {
    std::deque<Epoch> epochs;  // epochs not known to be complete, oldest first; the last one may not have
                               // ended
    std::uint32_t first = 0;   // number of the first of these epochs
    Wait wait;
  };
  Epoch& end_epoch(Copies& copies);
  /// Drops complete epochs, and performs the arrivals that wait for them.
  bool settle(Copies& copies, std::uint32_t block, Cycle now);
  MbarrierArrivals& of(std::uint32_t block, std::uint32_t address);

  std::vector<Copies> warps_;                             // by slot
  std::vector<std::vector<MbarrierArrivals>> mbarriers_;  // by block slot; few mbarriers each
};

}  // namespace gpumux::sm
