// The memory side of one warp: decodes its items into the words that the machine reads.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "base/huge_pages.hpp"
#include "trace/trace_file.hpp"
#include "workload/stream.hpp"

namespace gpumux::trace {

/// Where the address spaces of a launch lie, in lines.
struct Placement {
  std::uint64_t global = 0;
  std::uint64_t constant = 0;
  std::uint64_t local = 0;      // of residency 0, warp 0
  std::uint32_t bank_log2 = 5;  // of the number of shared-memory banks
};

/// Reused from block to block, so that a steady state allocates nothing.
class MemorySource {
 public:
  /// `line`: where the deltas of global lines begin. `local`: the line of the frame's word 0 (which may lie
  /// before the range that is touched).
  void start(ByteReader items, std::uint64_t line, std::uint64_t local) {
    items_ = items;
    line_ = line;
    local_ = local;
    words_ = 0;
  }
  /// Drops what was consumed, decodes `count` more items, and points `stream` at them. Throws CorruptTrace.
  void refill(workload::WarpStream& stream, std::uint32_t count, const LaunchTables& tables,
              const Placement& placement);

 private:
  void grow(std::uint32_t wanted);
  ByteReader items_;
  std::uint64_t line_ = 0;
  std::uint64_t local_ = 0;
  HugePageArray<std::uint64_t> data_;
  std::uint32_t words_ = 0;
  std::uint32_t capacity_ = 0;
};

}  // namespace gpumux::trace
