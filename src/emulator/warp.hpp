// The state of one warp: registers, predicates, and the stack of divergent paths.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/types.hpp"
#include "emulator/op.hpp"

namespace gpumux::emulator {

class Block;
class RecordBuffer;

/// A path that waits below the running one. It continues at `pc` when all paths above it have ended.
struct PathEntry {
  std::uint32_t pc = 0;
  std::uint32_t reconverge = isa::kNoTarget;  // end of this path
  LaneMask lanes = 0;
  bool caller = false;   // paths above, up to the lanes' next caller, are in a called function
  bool at_sync = false;  // waits at `pc` for lanes on other paths
  friend bool operator==(const PathEntry&, const PathEntry&) = default;
};

/// Switched: another path runs now, so the caller must reload the warp's state.
enum class WarpStatus : std::uint8_t { Running, AtBarrier, Switched, Done };

/// State of the check whether a diverged warp spins (independent_threads.cpp).
struct SpinWatch {
  std::uint64_t look_at = 0;  // value of Warp::executed at the next check
  std::uint64_t gap = 0;      // number of instructions until the next check
  std::uint64_t since = 0;    // start of spinning in the loop `reads`; 0: not spinning
  std::uint64_t reads = 0;    // hash of the loop's reads
  bool yielded = false;       // lanes of this warp have waited for each other before
};

struct Warp {
  // Members that every instruction uses.
  std::byte* base[kSourceBases] = {};
  LaneMask* preds = nullptr;  // [0] is always true
  LaneMask active = 0;
  std::uint32_t pc = 0;
  std::uint32_t reconverge = isa::kNoTarget;  // end of the running path
  WarpStatus status = WarpStatus::Running;
  Block* block = nullptr;
  std::uint32_t index = 0;  // in the block
  LaneMask alive = 0;       // lanes that have not exited

  std::vector<PathEntry> paths;  // below the running path, bottom first
  bool split = false;            // lanes may have passed a point where others were to meet them
  SpinWatch spin;
  std::uint64_t executed = 0;  // warp instructions
  std::uint64_t watch_at = 0;  // value of `executed` at the next test for repetition
  RecordBuffer* buffer = nullptr;

  // At a barrier: its number, and the destination of bar.red.
  std::uint32_t barrier = 0;
  const Op* barrier_op = nullptr;
  LaneMask barrier_lanes = 0;

  /// Continues with a waiting path when the running one has ended, because it has no lanes left or has
  /// reached its reconvergence point.
  void settle();
  /// Lanes of paths[path] that are in no path above it.
  [[nodiscard]] LaneMask own_lanes(std::size_t path) const;

  template <class T>
  [[nodiscard]] T* dst(const Op& op, unsigned which = 0) {
    return reinterpret_cast<T*>(base[kRegisterRows] + op.dst[which]);
  }
  template <class T>
  [[nodiscard]] const T* src(const Op& op, unsigned which) const {
    return reinterpret_cast<const T*>(base[op.src[which].base] + op.src[which].offset);
  }
  [[nodiscard]] LaneMask pred(const PredSource& source) const { return preds[source.index] ^ source.flip; }
  void set_pred(std::uint32_t which, LaneMask value, LaneMask lanes) {
    preds[which] = (preds[which] & ~lanes) | (value & lanes);
  }
};

}  // namespace gpumux::emulator
