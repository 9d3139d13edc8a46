// Decoder of one warp's memory items into the words that the machine reads.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "base/huge_pages.hpp"
#include "trace/trace_file.hpp"
#include "workload/stream.hpp"

namespace gpumux::trace {

/// Positions of a launch's address spaces, as line numbers.
struct Placement {
  std::uint64_t global = 0;
  std::uint64_t constant = 0;
  std::uint64_t local = 0;      // for residency 0, warp 0
  std::uint32_t bank_log2 = 5;  // log2 of the number of shared-memory banks
};

/// Decodes the items of one warp. Objects are reused from block to block, so that no memory is allocated in a
/// steady state.
class MemorySource {
 public:
  /// Starts a warp. `line`: start value of the deltas of global lines. `local`: line of word 0 of the frame,
  /// which may be before the touched range.
  void start(ByteReader items, std::uint64_t line, std::uint64_t local) {
    items_ = items;
    line_ = line;
    local_ = local;
    words_ = 0;
  }
  /// Drops consumed words, decodes `count` more items, and points `stream` to the words. Throws CorruptTrace.
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
