// Which accesses of a launch come before which: a clock per warp, what each warp knows of the others' clocks
// (C. Flanagan and S. Freund, "FastTrack: efficient and precise dynamic race detection", PLDI 2009, with a
// warp in place of a thread), and what each lane knows of those of its own warp. docs/races.md.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "emulator/race_log.hpp"
#include "emulator/race_shadow.hpp"
#include "emulator/warp.hpp"

namespace gpumux::emulator {

struct LaunchData;

inline constexpr std::uint32_t kMaxBlockWarps = 32;

/// Times of the warps of a grid, by index; those behind the end: 0. Shared, since whole blocks know the same.
using GridClocks = std::shared_ptr<const std::vector<std::uint32_t>>;

/// Behind which accesses of other warps something comes: those up to these times.
struct Knowledge {
  std::array<std::uint32_t, kMaxBlockWarps> block{};  // of the warps of the same block
  GridClocks grid;                                    // of all others; nullptr: none
  void join(const Knowledge& other);
};

/// What a word hands on from those who have released there to those who acquire.
struct Released {
  GridClocks grid;                          // to all blocks
  std::uint64_t block = ~std::uint64_t{0};  // the last one that has released to its own warps,
  Knowledge within;                         // and what
  std::uint64_t version = 0;                // changes with all that
};
/// The same of an mbarrier object.
struct Arrived {
  Knowledge knowledge;
  std::array<LaneMask, kMaxBlockWarps> lanes{};  // by warp
};

/// What the blocks of a launch share.
class LaunchRaces {
 public:
  LaunchRaces(const LaunchData& launch, RaceLog& log);
  [[nodiscard]] RaceMode mode() const { return log_.mode(); }

 private:
  friend class BlockRaces;
  /// What is known of a pair of pcs and a space already: its race in the log.
  std::unordered_map<std::uint64_t, std::size_t> pairs_;  // looked up only
  const LaunchData& launch_;
  RaceLog& log_;
  bool begun_ = false;
  Shadow global_;
  std::unordered_map<Address, Released> released_;  // looked up only
  /// By block: a time that none of its warps has reached. A block that a policy drops begins anew, behind
  /// what it did before.
  std::vector<std::uint32_t> ended_;
};

/// The order within a block, and what its accesses are checked against.
class BlockRaces {
 public:
  BlockRaces(LaunchRaces& launch, std::uint64_t index);
  ~BlockRaces();
  BlockRaces(const BlockRaces&) = delete;
  BlockRaces& operator=(const BlockRaces&) = delete;
  [[nodiscard]] RaceMode mode() const { return launch_.mode(); }

  // --- barriers of the block: called by it -------------------------------------------------------
  void arrives(const Warp& warp, std::uint32_t barrier);
  /// All have arrived; `ended`: warps that count as if they had, as bits.
  void opens(std::uint32_t barrier, std::uint32_t ended);
  /// A warp that has waited goes on: behind all that have arrived.
  void passes(const Warp& warp, std::uint32_t barrier);

  // --- of watched instructions (race_watch.cpp), before they are executed ------------------------
  /// An instruction of the warp's active lanes begins.
  void enter(const Warp& warp) {
    Order& order = orders_[warp.index];
    if (warp.active != order.together && mode() == RaceMode::Lockstep) regroup(order, warp.active);
    ++order.time;
  }
  /// These lanes have synchronised with each other.
  void join_lanes(const Warp& warp, LaneMask lanes);
  /// A fence: what the warp has done so far, its later atomics release. `scope` as of Membar.
  void fence(const Warp& warp, std::uint32_t scope);

  enum class Kind : std::uint8_t { Read, Write, Atomic };
  struct Access {
    const Op* op;
    std::uint32_t pc;
    Kind kind;
    bool strong;
    std::uint32_t bytes;  // of each lane
  };
  /// `addresses` of `lanes`: within the block's shared memory, or global.
  void shared_access(const Warp& warp, const Access& access, const std::uint64_t* addresses, LaneMask lanes) {
    check(warp, access, addresses, lanes, shared_, isa::Space::Shared);
  }
  void global_access(const Warp& warp, const Access& access, const std::uint64_t* addresses, LaneMask lanes) {
    check(warp, access, addresses, lanes, launch_.global_, isa::Space::Global);
  }
  void forget_global(Address address, std::uint64_t bytes) { launch_.global_.forget(address, bytes); }

  /// A strong access to `address` takes what has been released there, or adds to it what the warp's last
  /// fence covers (`now`: what it has done up to now).
  void acquire(const Warp& warp, std::uint32_t lane, isa::Space space, Address address);
  void release(const Warp& warp, isa::Space space, Address address, bool now);
  /// The same of mbarrier objects in shared memory, where an arrival releases.
  void mbarrier_arrives(const Warp& warp, LaneMask lanes, Address address);
  void mbarrier_passes(const Warp& warp, LaneMask lanes, Address address);

 private:
  using LaneTimes = std::array<std::uint32_t, kWarpSize>;
  struct Order {
    std::uint32_t time = 0;                    // of the warp: one per watched instruction
    LaneMask together = 0;                     // Lockstep: lanes that have gone on as one up to now
    std::array<LaneTimes, kWarpSize> lanes{};  // [b][a]: lane b is behind what lane a did up to then
    Knowledge knows;
    Knowledge fenced_block;  // as it was at the last fence of any scope
    Knowledge fenced_grid;   // and of one beyond the block
    bool has_fenced_block = false;
    bool has_fenced_grid = false;
    GridClocks fenced;  // `fenced_grid` as clocks of the grid, once asked for
    // What was acquired last, and by whom: a loop that waits does so again and again.
    const Released* acquired = nullptr;
    std::uint64_t acquired_version = 0;
    LaneMask acquired_by = 0;
  };
  [[nodiscard]] std::uint32_t grid_index(std::uint32_t warp) const { return first_warp_ + warp; }
  /// `warp` knows of itself, too, from now on.
  const Knowledge& now(std::uint32_t warp) {
    orders_[warp].knows.block[warp] = orders_[warp].time;
    return orders_[warp].knows;
  }
  void regroup(Order& order, LaneMask active);
  static void settle_group(Order& order);
  static void join(Order& order, LaneMask lanes);
  [[nodiscard]] GridClocks as_clocks(const Knowledge& knowledge) const;
  void take(Order& order, std::uint32_t warp, LaneMask lanes, const Released& from) const;
  [[nodiscard]] bool ordered(const Mark& mark, const Order& order, std::uint32_t warp,
                             std::uint32_t lane) const;
  [[nodiscard]] bool conflict(const Mark& mark, const Mark& mine) const;
  void keep(std::array<Mark, 2>& marks, const Mark& mine, const Order& order, std::uint32_t warp) const;
  void check(const Warp& warp, const Access& access, const std::uint64_t* addresses, LaneMask lanes,
             Shadow& shadow, isa::Space space);
  /// One lane's access to one cell.
  struct Place {
    const Warp& warp;
    const Access& access;
    const std::uint64_t* addresses;  // of all lanes
    std::uint32_t lane;
    isa::Space space;
    Address address;  // of the cell
    std::uint32_t bytes;
  };
  /// A race with `before`. False: lanes of one store that store the same, which is none.
  bool found(const Place& at, const Mark& before, bool was_write);
  void describe(Race& race, const Place& at, const Mark& before, bool was_write) const;

  LaunchRaces& launch_;
  std::uint64_t index_;
  std::uint32_t first_warp_;
  Shadow shared_;
  std::vector<Order> orders_;
  std::array<Knowledge, 16> barriers_;              // of those that have arrived
  std::array<Knowledge, 16> opened_;                // of those that had when it last opened
  std::unordered_map<Address, Released> released_;  // at words of shared memory; looked up only
  std::unordered_map<Address, Arrived> mbarriers_;  // looked up only
};

}  // namespace gpumux::emulator
