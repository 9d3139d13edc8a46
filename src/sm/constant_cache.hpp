// The constant cache, and the instructions that wait for its misses.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "arch/config.hpp"
#include "sm/read_only_cache.hpp"

namespace gpumux::sm {

class ConstantCache {
 public:
  explicit ConstantCache(const arch::ConstantCacheConfig& config)
      : tags_(config.bytes, config.ways, config.line_bytes) {}

  enum class Result : std::uint8_t {
    Hit,
    Merged,  // the line is on its way: the instruction waits for it
    Miss     // the line must be requested
  };
  /// A memory instruction reads a line of the cache (tags().line_of()).
  Result access(std::uint64_t line, std::uint32_t op) {
    if (tags_.access(line)) return Result::Hit;
    auto miss = std::find_if(misses_.begin(), misses_.end(),
                             [line](const Miss& other) { return other.line == line; });
    const bool merged = miss != misses_.end();
    if (!merged) {
      misses_.push_back({line, {}});
      miss = misses_.end() - 1;
    }
    miss->ops.push_back(op);
    return merged ? Result::Merged : Result::Miss;
  }
  /// The line has arrived. Returns the instructions that waited for it, in order.
  std::vector<std::uint32_t> fill(std::uint64_t line) {
    tags_.fill(line);
    for (std::size_t i = 0; i < misses_.size(); ++i) {
      if (misses_[i].line != line) continue;
      std::vector<std::uint32_t> waiting = std::move(misses_[i].ops);
      misses_.erase(misses_.begin() + static_cast<std::ptrdiff_t>(i));
      return waiting;
    }
    return {};
  }
  [[nodiscard]] const ReadOnlyCache& tags() const { return tags_; }
  /// Number of lines on their way.
  [[nodiscard]] std::size_t misses() const { return misses_.size(); }

 private:
  struct Miss {
    std::uint64_t line;
    std::vector<std::uint32_t> ops;  // memory instructions that wait
  };
  ReadOnlyCache tags_;
  std::vector<Miss> misses_;
};

}  // namespace gpumux::sm
