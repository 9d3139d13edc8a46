// The texture cache: lines, MSHRs and waiters, in an L1 object. The texture cache is read-only, gets whole
// lines, and is never invalidated, because its contents affect only timing.
#pragma once

#include "arch/config.hpp"
#include "sm/l1.hpp"

namespace gpumux::sm {

class TextureCache {
 public:
  explicit TextureCache(const arch::TextureCacheConfig& config)
      : on_(config.bytes > 0), latency_(config.latency), lines_(as_l1(config)) {}
  /// False: texture fetches go through L1.
  [[nodiscard]] bool on() const { return on_; }
  [[nodiscard]] std::uint32_t latency() const { return latency_; }  // core cycles from hit to use
  [[nodiscard]] L1& lines() { return lines_; }
  [[nodiscard]] const L1& lines() const { return lines_; }

 private:
  static arch::L1Config as_l1(const arch::TextureCacheConfig& config) {
    arch::L1Config l1;
    l1.bytes = config.bytes;
    l1.ways = config.ways;
    l1.index = arch::L1Index::Linear;
    l1.mshr_entries = config.mshr_entries;
    l1.mshr_merges = config.mshr_merges;
    return l1;
  }
  bool on_;
  std::uint32_t latency_;
  L1 lines_;
};

}  // namespace gpumux::sm
