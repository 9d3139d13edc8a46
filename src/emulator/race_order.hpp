// The order of accesses of a launch: a clock per warp, the knowledge of each warp about the other warps'
// clocks, and the knowledge of each lane about the lanes of its warp. Source: C. Flanagan and S. Freund,
// "FastTrack: efficient and precise dynamic race detection", PLDI 2009, with a warp in place of a thread
// (docs/races.md).
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

/// Times of the warps of a grid by index. Missing elements are 0. Shared, since all warps of a block usually
/// know the same.
using GridClocks = std::shared_ptr<const std::vector<std::uint32_t>>;

/// Knowledge of a warp or event: it comes after all accesses of other warps up to these times.
struct Knowledge {
  std::array<std::uint32_t, kMaxBlockWarps> block{};  // warps of the same block
  GridClocks grid;                                    // all other warps; nullptr: none
  void join(const Knowledge& other);
};

/// The knowledge that a word passes from releasing warps to acquiring warps.
struct Released {
  GridClocks grid;                          // to all blocks
  std::uint64_t block = ~std::uint64_t{0};  // the last block that released to its own warps
  Knowledge within;                         // knowledge released within this block
  std::uint64_t version = 0;                // changes with every update
};
/// The knowledge that an mbarrier object passes to waiting warps.
struct Arrived {
  Knowledge knowledge;
  std::array<LaneMask, kMaxBlockWarps> lanes{};  // by warp
};

/// Race detection data that the blocks of a launch share.
class LaunchRaces {
 public:
  LaunchRaces(const LaunchData& launch, RaceLog& log);
  [[nodiscard]] RaceMode mode() const { return log_.mode(); }

 private:
  friend class BlockRaces;
  /// By pair of pcs and space: index of the known race in the log.
  std::unordered_map<std::uint64_t, std::size_t> pairs_;  // only for lookups
  const LaunchData& launch_;
  RaceLog& log_;
  bool begun_ = false;
  Shadow global_;
  std::unordered_map<Address, Released> released_;  // only for lookups
  /// By block: a time after all accesses of its warps. If a policy drops and restarts the block, its new
  /// accesses come after this time.
  std::vector<std::uint32_t> ended_;
};

/// The order within a block, and the checks of its accesses.
class BlockRaces {
 public:
  BlockRaces(LaunchRaces& launch, std::uint64_t index);
  ~BlockRaces();
  BlockRaces(const BlockRaces&) = delete;
  BlockRaces& operator=(const BlockRaces&) = delete;
  [[nodiscard]] RaceMode mode() const { return launch_.mode(); }

  // --- barriers of the block, called by Block ---------------------------------------------------
  void arrives(const Warp& warp, std::uint32_t barrier);
  /// All warps have arrived. `ended`: mask of ended warps, which count as arrived.
  void opens(std::uint32_t barrier, std::uint32_t ended);
  /// A waiting warp continues, after all arrivals.
  void passes(const Warp& warp, std::uint32_t barrier);

  // --- watched instructions (race_watch.cpp), called before their execution ----------------------
  /// Starts an instruction of the warp's active lanes.
  void enter(const Warp& warp) {
    Order& order = orders_[warp.index];
    if (warp.active != order.together && mode() == RaceMode::Lockstep) regroup(order, warp.active);
    ++order.time;
  }
  /// These lanes have synchronised with each other.
  void join_lanes(const Warp& warp, LaneMask lanes);
  /// A fence: later atomics of the warp release its accesses up to now. `scope`: as for Membar.
  void fence(const Warp& warp, std::uint32_t scope);

  enum class Kind : std::uint8_t { Read, Write, Atomic };
  struct Access {
    const Op* op;
    std::uint32_t pc;
    Kind kind;
    bool strong;
    std::uint32_t bytes;  // per lane
  };
  /// Checks accesses. `addresses` of `lanes`: offsets in the block's shared memory, or global addresses.
  void shared_access(const Warp& warp, const Access& access, const std::uint64_t* addresses, LaneMask lanes) {
    check(warp, access, addresses, lanes, shared_, isa::Space::Shared);
  }
  void global_access(const Warp& warp, const Access& access, const std::uint64_t* addresses, LaneMask lanes) {
    check(warp, access, addresses, lanes, launch_.global_, isa::Space::Global);
  }
  void forget_global(Address address, std::uint64_t bytes) { launch_.global_.forget(address, bytes); }

  /// A strong access to `address`. acquire() takes the knowledge released there. release() adds the knowledge
  /// at the warp's last fence, or, with `now`, its present knowledge.
  void acquire(const Warp& warp, std::uint32_t lane, isa::Space space, Address address);
  void release(const Warp& warp, isa::Space space, Address address, bool now);
  /// Accesses to mbarrier objects in shared memory. An arrival releases, a completed wait acquires.
  void mbarrier_arrives(const Warp& warp, LaneMask lanes, Address address);
  void mbarrier_passes(const Warp& warp, LaneMask lanes, Address address);

 private:
  using LaneTimes = std::array<std::uint32_t, kWarpSize>;
  struct Order {
    std::uint32_t time = 0;                    // time of the warp: one per watched instruction
    LaneMask together = 0;                     // Lockstep: lanes that have executed together up to now
    std::array<LaneTimes, kWarpSize> lanes{};  // [b][a]: lane b comes after lane a's accesses up to this time
    Knowledge knows;
    Knowledge fenced_block;  // knowledge at the last fence of any scope
    Knowledge fenced_grid;   // knowledge at the last fence beyond the block
    bool has_fenced_block = false;
    bool has_fenced_grid = false;
    GridClocks fenced;  // `fenced_grid` as clocks of the grid, if computed
    // The last acquire, which a waiting loop repeats many times.
    const Released* acquired = nullptr;
    std::uint64_t acquired_version = 0;
    LaneMask acquired_by = 0;
  };
  [[nodiscard]] std::uint32_t grid_index(std::uint32_t warp) const { return first_warp_ + warp; }
  /// The warp's knowledge, including its own accesses up to now.
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
  /// Records a race with `before`. Returns false if there is no race, because lanes of one store write the
  /// same value.
  bool found(const Place& at, const Mark& before, bool was_write);
  void describe(Race& race, const Place& at, const Mark& before, bool was_write) const;

  LaunchRaces& launch_;
  std::uint64_t index_;
  std::uint32_t first_warp_;
  Shadow shared_;
  std::vector<Order> orders_;
  std::array<Knowledge, 16> barriers_;              // knowledge of arrived warps
  std::array<Knowledge, 16> opened_;                // knowledge of all arrivals at the last opening
  std::unordered_map<Address, Released> released_;  // at words of shared memory; only for lookups
  std::unordered_map<Address, Arrived> mbarriers_;  // only for lookups
};

}  // namespace gpumux::emulator
