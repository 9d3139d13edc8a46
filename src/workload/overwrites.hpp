// From which instruction on a thread block could not be executed anew: it has performed an atomic, or
// overwritten global memory that it has read. Found while its instructions are executed, from their
// addresses; the relaxed idempotence condition of chimera15 section 3.4 (D20), exact but for the granularity
// of a sector: a store of bytes that share a sector of 32 bytes with some that were read counts.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <unordered_map>
#include <vector>

#include "isa/timing_class.hpp"
#include "workload/stream.hpp"

namespace gpumux::workload {

class Overwrites {
 public:
  explicit Overwrites(std::uint32_t warps) : first_(warps, kNone) {}
  /// The warp's record of this index, from 0, is a memory instruction with these words.
  void executed(std::uint32_t warp, std::uint64_t index, const isa::StaticInst& inst, const MemHeader& header,
                const std::uint64_t* transactions);
  /// The index of the warp's first record after whose issue the block cannot begin anew; kNone: none so far.
  [[nodiscard]] std::uint64_t first(std::uint32_t warp) const { return first_[warp]; }
  static constexpr std::uint64_t kNone = std::numeric_limits<std::uint64_t>::max();

 private:
  std::vector<std::uint64_t> first_;                          // by warp
  std::unordered_map<std::uint64_t, std::uint8_t> was_read_;  // by line: sectors
};

}  // namespace gpumux::workload
