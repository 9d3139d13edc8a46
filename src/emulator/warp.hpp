// The state of one warp: registers, predicates and the stack of divergent paths.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/types.hpp"
#include "emulator/op.hpp"

namespace gpumux::emulator {

class Block;
class RecordBuffer;

/// A path that waits below the running one. It runs on from `pc` once every path above it has ended.
struct PathEntry {
  std::uint32_t pc = 0;
  std::uint32_t reconverge = isa::kNoTarget;  // where this path itself ends
  LaneMask lanes = 0;
  bool caller = false;   // the paths above, up to the next caller of these lanes, are a called function's
  bool at_sync = false;  // at `pc` it waits for lanes that run elsewhere
  friend bool operator==(const PathEntry&, const PathEntry&) = default;
};

/// Switched: another path runs on, and whoever runs the warp has to look at it anew.
enum class WarpStatus : std::uint8_t { Running, AtBarrier, Switched, Done };

/// When a warp whose lanes have diverged was last seen to wait for memory (independent_threads.cpp).
struct SpinWatch {
  std::uint64_t look_at = 0;  // of Warp::executed: when to look next
  std::uint64_t gap = 0;      // instructions until then
  std::uint64_t since = 0;    // it has been seen to spin in the loop `reads` since then; 0: it has not
  std::uint64_t reads = 0;    // hash of what it read there
  bool yielded = false;       // lanes of this warp have waited for each other before
};

struct Warp {
  // Used by every instruction.
  std::byte* base[kSourceBases] = {};
  LaneMask* preds = nullptr;  // [0] is always true
  LaneMask active = 0;
  std::uint32_t pc = 0;
  std::uint32_t reconverge = isa::kNoTarget;  // of the running path
  WarpStatus status = WarpStatus::Running;
  Block* block = nullptr;
  std::uint32_t index = 0;  // in the block
  LaneMask alive = 0;       // lanes that have not exited

  std::vector<PathEntry> paths;  // below the running path, bottom first
  bool split = false;            // lanes may have gone on beyond where others were to meet them
  SpinWatch spin;
  std::uint64_t executed = 0;  // warp instructions
  std::uint64_t watch_at = 0;  // of `executed`: when to look next whether the warp repeats itself
  RecordBuffer* buffer = nullptr;

  // At a barrier: which one, and where bar.red puts its result.
  std::uint32_t barrier = 0;
  const Op* barrier_op = nullptr;
  LaneMask barrier_lanes = 0;

  /// Goes on with a waiting path when the running one has ended: no lane left, or reconvergence.
  void settle();
  /// Lanes of paths[path] that no path above it has.
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
