// The tags that each application would have alone: what tells a miss that sharing causes from one that is its
// own.
#pragma once

#include <array>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "base/types.hpp"

namespace gpumux::ledger {

/// Of a cache with LRU replacement and the same sets and ways for each application that comes. A line takes
/// its place when it is accessed, not when its data has come.
class ShadowTags {
 public:
  static constexpr AppId kNobody = kMaxApps;

  ShadowTags(std::uint32_t sets, std::uint32_t ways) : sets_(sets), ways_(ways) {}

  /// All of these sectors would be here.
  [[nodiscard]] bool has(AppId app, std::uint32_t set, std::uint64_t line, std::uint8_t sectors) const;
  /// They are accessed.
  void use(AppId app, std::uint32_t set, std::uint64_t line, std::uint8_t sectors);
  /// A line of `victim` has made place for one of `culprit`.
  void evicted(AppId victim, std::uint64_t line, AppId culprit);
  /// Who evicted it last; kNobody: itself, or it has not been here.
  [[nodiscard]] AppId evictor(AppId app, std::uint64_t line) const;

 private:
  struct Way {
    std::uint64_t line = 0;
    std::uint64_t use = 0;  // 0: empty; greater: later
    std::uint8_t sectors = 0;
  };
  std::uint32_t sets_;
  std::uint32_t ways_;
  std::uint64_t clock_ = 0;
  std::array<std::vector<Way>, kMaxApps> tags_;
  std::array<std::unordered_map<std::uint64_t, AppId>, kMaxApps> evicted_by_;
};

}  // namespace gpumux::ledger
