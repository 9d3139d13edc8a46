// The execution units of an SM, booked at issue, and the result buses of fixed-latency results.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <vector>

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
          const std::uint32_t count = unit_config.scheduler_private
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
      : buses_(buses), ring_(std::bit_ceil(std::size_t{longest_latency} + 512)) {}
  Cycle book(Cycle cycle) {
    for (;; ++cycle) {
      Slot& slot = ring_[cycle & (ring_.size() - 1)];
      if (slot.cycle != cycle) {
        slot = {cycle, 1};
        return cycle;
      }
      if (slot.used < buses_) {
        ++slot.used;
        return cycle;
      }
    }
  }

 private:
  struct Slot {
    Cycle cycle = kNever;
    std::uint32_t used = 0;
  };
  std::uint32_t buses_;
  std::vector<Slot> ring_;
};

}  // namespace gpumux::sm
