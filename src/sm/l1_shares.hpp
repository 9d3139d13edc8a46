// The share of L1 that a memory scheme grants each application: ways of a set, MSHRs, entries
// of the miss queue. Source: dai18 section 3.1 (ways by utility, after Qureshi and Patt; MSHRs
// and the miss queue evenly).
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

#include "arch/config.hpp"
#include "arch/memory_scheme.hpp"
#include "isa/timing_class.hpp"
#include "sm/l1.hpp"
#include "sm/memory_ops.hpp"
#include "sm/way_partition.hpp"

namespace gpumux::sm {

class L1Shares {
 public:
  /// Applies a memory scheme. Must be called before the first access.
  void begin(const arch::MemoryScheme& scheme, L1& l1) {
    divides_ways_ = scheme.divides_ways;
    limits_ways_ = scheme.ways_on_demand && !scheme.divides_ways;
    if (limits_ways_) l1.begin_way_limits();
    divides_misses_ = scheme.divides_misses;
    ways_.begin(l1.sets(), l1.max_ways(), scheme.divides_ways ? scheme.ways_interval : 0);
  }
  /// Limits the application's ways of a full set; 0: no limit. Returns false if ways are not limited this
  /// way.
  bool limit_ways(AppId app, std::uint32_t ways, L1& l1) {
    if (!limits_ways_) return false;
    granted_[app] = ways;
    l1.limit_ways(app, ways);
    return true;
  }
  [[nodiscard]] bool divides() const { return divides_ways_ || divides_misses_; }
  [[nodiscard]] bool divides_ways() const { return divides_ways_; }
  /// Divides L1 among these applications (mask), or again after L1's size has changed. `queue`:
  /// entries of the miss queue.
  void divide(std::uint32_t apps, L1& l1, const arch::L1Config& config, std::uint32_t queue) {
    if (divides_ways_) {
      granted_ = ways_.share(apps, l1.ways());
      l1.divide_ways(granted_);
    }
    if (divides_misses_) {
      const auto count = std::max(1U, static_cast<std::uint32_t>(std::popcount(apps)));
      l1.divide_mshrs(std::max(1U, config.mshr_entries / count));
      queue_each_ = std::max(1U, queue / count);
    }
  }
  /// Cycle from which the ways must be divided again; kNever: they are not divided.
  [[nodiscard]] Cycle next() const { return ways_.next(); }
  /// Divides the ways again, by what was counted. Nothing is counted while there are no accesses, so missed
  /// intervals are made up for at the next access.
  void divide_anew(Cycle now, L1& l1) {
    granted_ = ways_.update(now, l1.ways());
    l1.divide_ways(granted_);
  }
  /// Ways of a set; 0 while ways are not divided.
  [[nodiscard]] std::uint32_t ways_of(AppId app) const { return granted_[app]; }

  // --- counts for the division of ways -----------------------------------------------------------------
  /// L1 has taken an access of an instruction with these isa::InstFlags. `bypasses`: a load that skips L1.
  void accessed(AppId app, unsigned flags, std::uint64_t line, bool bypasses, const L1& l1) {
    using isa::InstFlag;
    const std::uint32_t set = l1.set_index(line);
    const bool atomic = (flags & InstFlag::kAtomic) != 0;
    if (!atomic && (flags & InstFlag::kStore) == 0) {
      if (!bypasses) ways_.loaded(app, set, line);
    } else if (atomic || l1.write_evicts()) {
      ways_.dropped(app, set, line);
    } else {
      ways_.stored(app, set, line);
    }
  }
  void flushed() { ways_.flushed(); }

  // --- the miss queue -----------------------------------------------------------------------------------
  [[nodiscard]] bool may_queue(AppId app) const { return queue_each_ == 0 || queued_[app] < queue_each_; }
  /// A request of the application has entered the miss queue.
  void queued(AppId app) {
    if (queue_each_ != 0) [[unlikely]]
      ++queued_[app];
  }
  /// A request has left the miss queue. Returns true if another one may enter that could not before.
  bool sent(const Request& request) {
    if (queue_each_ == 0 || request.purpose > Purpose::TextureFill) [[likely]]
      return false;
    --queued_[request.app];
    return true;
  }
  [[nodiscard]] bool drained() const {
    return std::all_of(queued_.begin(), queued_.end(), [](std::uint32_t queued) { return queued == 0; });
  }

 private:
  std::uint32_t queue_each_ = 0;  // entries that an application may take; 0: all
  bool divides_ways_ = false;
  bool limits_ways_ = false;
  bool divides_misses_ = false;
  std::array<std::uint32_t, kMaxApps> queued_{};   // entries in use, while misses are divided
  std::array<std::uint32_t, kMaxApps> granted_{};  // ways
  WayPartition ways_;
};

}  // namespace gpumux::sm
