// The execution units of an SM, booked at issue, and the result buses of fixed-latency results.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

#include "arch/config.hpp"
#include "base/huge_pages.hpp"
#include "sm/timing_table.hpp"

namespace gpumux::sm {

/// A value for each isa::Unit; the remaining elements are unused.
using UnitArray = std::array<std::uint64_t, 8>;
static_assert(isa::kUnits <= 8);

/// Pools of identical units: one pool per unit kind, or per kind and scheduler. Kinds without units (count
/// 0) are never booked for arithmetic, because TimedInst::unit names another kind. Memory and control
/// without units are unlimited.
class ExecUnits {
 public:
  static constexpr std::uint32_t kMaxSchedulers = 8;
  explicit ExecUnits(const arch::MachineConfig& config) {
    const std::uint32_t schedulers = std::min(config.sm.schedulers, kMaxSchedulers);
    std::uint8_t pools = 0;
    for (unsigned u = 0; u < isa::kUnits; ++u) {
      const arch::UnitConfig& unit = config.units[u];
      for (std::uint32_t s = 0; s < schedulers; ++s) {
        if (s > 0 && !unit.scheduler_private) {
          pool_of_[index(s, u)] = pool_of_[index(0, u)];
        } else {
          const std::uint32_t count =
              unit.scheduler_private && unit.count > 0 ? std::max(1U, unit.count / schedulers) : unit.count;
          pool_of_[index(s, u)] = pools;
          pools_[pools++] = {count, static_cast<std::uint32_t>(busy_until_.size()), 0};
          busy_until_.resize(busy_until_.size() + count, 0);
        }
        pools_[pool_of_[index(s, u)]].users |= std::uint64_t{1} << index(s, u);
      }
    }
    for (const Pool& pool : pools_)
      if (pool.count == 1 && std::has_single_bit(pool.users)) single_ |= pool.users;
  }
  static constexpr std::size_t kPools = std::size_t{kMaxSchedulers} * isa::kUnits;
  /// Number of the pool that contains the scheduler's units of this kind, below kPools.
  [[nodiscard]] std::uint8_t pool(isa::Unit unit, std::uint32_t scheduler) const {
    return pool_of_[index(scheduler, static_cast<unsigned>(unit))];
  }
  /// Cycle from which a unit of this kind is free for the scheduler.
  [[nodiscard]] Cycle free_at(isa::Unit unit, std::uint32_t scheduler) const {
    return free_at_[scheduler][static_cast<std::size_t>(unit)];
  }
  /// Cycles from which the units of each kind are free for the scheduler.
  [[nodiscard]] const UnitArray& free_at(std::uint32_t scheduler) const { return free_at_[scheduler]; }
  /// Books a free unit for `cycles` from `start` on.
  void book(isa::Unit unit, std::uint32_t scheduler, Cycle start, std::uint32_t cycles) {
    const std::size_t user = index(scheduler, static_cast<unsigned>(unit));
    if ((single_ >> user & 1U) != 0) [[likely]] {
      free_at_[scheduler][static_cast<std::size_t>(unit)] = start + cycles;
      return;
    }
    const Pool& pool = pools_[pool_of_[user]];
    if (pool.count == 0) return;
    Cycle* const first = &busy_until_[pool.first];
    *(pool.count == 1 ? first : std::min_element(first, first + pool.count)) = start + cycles;
    const Cycle free = pool.count == 1 ? start + cycles : *std::min_element(first, first + pool.count);
    for (std::uint64_t users = pool.users; users != 0; users &= users - 1) {
      const auto sharing = static_cast<std::size_t>(std::countr_zero(users));
      free_at_[sharing / kStride][sharing % kStride] = free;
    }
  }

 private:
  struct Pool {
    std::uint32_t count = 0;  // 0: unlimited
    std::uint32_t first = 0;  // index of its first unit in busy_until_
    std::uint64_t users = 0;  // mask of its entries in free_at_
  };
  [[nodiscard]] static std::size_t index(std::uint32_t scheduler, unsigned unit) {
    return std::size_t{scheduler} * kStride + unit;
  }
  static constexpr std::size_t kStride = std::tuple_size_v<UnitArray>;  // distance between schedulers
  static_assert(kStride >= isa::kUnits && kMaxSchedulers * kStride <= 64);
  alignas(64) std::array<UnitArray, kMaxSchedulers> free_at_{};
  std::uint64_t single_ = 0;  // mask of entries in free_at_ that are the only user of a single unit
  std::array<std::uint8_t, kMaxSchedulers * kStride> pool_of_{};
  std::array<Pool, std::size_t{kMaxSchedulers} * isa::kUnits> pools_{};
  HugePageVector<Cycle> busy_until_;
};

/// At most `buses` fixed-latency write-backs per cycle. A write-back whose cycle is full moves to the next
/// cycle.
class ResultBus {
 public:
  ResultBus(std::uint32_t buses, std::uint32_t longest_latency)
      : buses_(std::min(buses, kUsed)),
        ring_(std::bit_ceil(std::size_t{longest_latency} + 128), 0),
        mask_(ring_.size() - 1) {}
  Cycle book(Cycle cycle) {
    for (;; ++cycle) {
      std::uint32_t& slot = ring_[cycle & mask_];
      const auto tag = static_cast<std::uint32_t>(cycle) & ~kUsed;
      // The tag may leave out the low bits of the cycle, which are the slot's number. Computed without a
      // branch, which the host would mispredict.
      const std::uint32_t used = slot & kUsed & (std::uint32_t{(slot & ~kUsed) != tag} - 1U);
      if (used < buses_) [[likely]] {
        slot = tag | (used + 1);
        return cycle;
      }
    }
  }

 private:
  static constexpr std::uint32_t kUsed = 0x7f;  // low bits of a slot; the ring has at least 128 slots
  std::uint32_t buses_;
  HugePageVector<std::uint32_t> ring_;  // by slot: cycle without its low bits, and number of write-backs
  std::size_t mask_;
};

}  // namespace gpumux::sm
