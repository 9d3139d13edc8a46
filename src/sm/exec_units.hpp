// The execution units of an SM, booked at issue, and the result buses of fixed-latency results.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include "base/huge_pages.hpp"
#include "machine/config.hpp"

namespace gpumux::sm {

/// Pools of identical units, one pool per (unit kind, scheduler) or per kind. A machine without units of
/// a kind (count 0) sends arithmetic to its SP units; memory and control are then not limited.
class ExecUnits {
 public:
  explicit ExecUnits(const machine::MachineConfig& config) : schedulers_(config.sm.schedulers) {
    for (unsigned u = 0; u < isa::kUnits; ++u) {
      const auto unit = static_cast<isa::Unit>(u);
      const bool arithmetic = unit != isa::Unit::Memory && unit != isa::Unit::Control;
      const unsigned from =
          config.units[u].count == 0 && arithmetic ? static_cast<unsigned>(isa::Unit::Sp) : u;
      const machine::UnitConfig& unit_config = config.units[from];
      const std::uint32_t lanes = std::max(1U, unit_config.lanes);
      const std::uint32_t passes = (kWarpSize + lanes - 1) / lanes;
      for (unsigned c = 0; c < isa::kLatencyClasses; ++c)
        occupied_[u][c] = std::max({passes, config.latency[c].initiation, 1U});
      for (std::uint32_t s = 0; s < schedulers_; ++s) {
        if (from != u) {
          pool_of_.push_back(pool_of_[from * schedulers_ + s]);
        } else if (s > 0 && !unit_config.scheduler_private) {
          pool_of_.push_back(pool_of_.back());
        } else {
          const std::uint32_t count = unit_config.scheduler_private && unit_config.count > 0
                                          ? std::max(1U, unit_config.count / schedulers_)
                                          : unit_config.count;
          pool_of_.push_back(static_cast<std::uint8_t>(pools_.size()));
          pools_.push_back({0, std::vector<Cycle>(count, 0)});
        }
      }
    }
  }
  /// Cycle from which a unit of this kind is free for the scheduler.
  [[nodiscard]] Cycle free_at(isa::Unit unit, std::uint32_t scheduler) const {
    return pools_[pool_of_[static_cast<unsigned>(unit) * schedulers_ + scheduler]].free_at;
  }
  /// Takes a free unit from `start` on. Returns the cycles for which it is occupied.
  std::uint32_t book(isa::Unit unit, isa::LatencyClass latency_class, std::uint32_t scheduler, Cycle start) {
    Pool& pool = pools_[pool_of_[static_cast<unsigned>(unit) * schedulers_ + scheduler]];
    const std::uint32_t cycles = occupied_[static_cast<unsigned>(unit)][static_cast<unsigned>(latency_class)];
    if (pool.busy_until.size() == 1) {
      pool.free_at = pool.busy_until[0] = start + cycles;
    } else if (!pool.busy_until.empty()) {
      *std::min_element(pool.busy_until.begin(), pool.busy_until.end()) = start + cycles;
      pool.free_at = *std::min_element(pool.busy_until.begin(), pool.busy_until.end());
    }
    return cycles;
  }

 private:
  struct Pool {
    Cycle free_at = 0;
    std::vector<Cycle> busy_until;  // empty: not limited
  };
  std::uint32_t schedulers_;
  std::vector<std::uint8_t> pool_of_;
  std::vector<Pool> pools_;
  std::array<std::array<std::uint32_t, isa::kLatencyClasses>, isa::kUnits> occupied_{};
};

/// At most `buses` fixed-latency write-backs per cycle; one that finds its cycle full moves to the next.
class ResultBus {
 public:
  ResultBus(std::uint32_t buses, std::uint32_t longest_latency)
      : buses_(std::min(buses, kUsed)), ring_(std::bit_ceil(std::size_t{longest_latency} + 128), 0) {}
  Cycle book(Cycle cycle) {
    for (;; ++cycle) {
      std::uint32_t& slot = ring_[cycle & (ring_.size() - 1)];
      const auto tag = static_cast<std::uint32_t>(cycle) & ~kUsed;
      // The low bits of a cycle are the slot's number, so the tag may leave them out.
      if ((slot & ~kUsed) != tag) slot = tag;
      if ((slot & kUsed) < buses_) {
        ++slot;
        return cycle;
      }
    }
  }

 private:
  static constexpr std::uint32_t kUsed = 0x7f;  // low bits of a slot; the ring has at least 128 slots
  std::uint32_t buses_;
  HugePageVector<std::uint32_t> ring_;  // cycle without its low bits, write-backs
};

}  // namespace gpumux::sm
