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
  bool caller = false;  // the paths above, up to the next caller, are a called function's
};

enum class WarpStatus : std::uint8_t { Running, AtBarrier, Done };

struct Warp {
  // Used by every instruction.
  std::byte* base[2] = {nullptr, nullptr};  // register window, launch constants
  LaneMask* preds = nullptr;                // [0] is always true
  LaneMask active = 0;
  std::uint32_t pc = 0;
  std::uint32_t reconverge = isa::kNoTarget;  // of the running path
  WarpStatus status = WarpStatus::Running;
  Block* block = nullptr;
  std::uint32_t index = 0;  // in the block
  LaneMask alive = 0;       // lanes that have not exited

  std::vector<PathEntry> paths;  // below the running path, bottom first
  std::uint64_t executed = 0;    // warp instructions
  std::uint64_t watch_at = 0;    // of `executed`: when to look next whether the warp repeats itself
  RecordBuffer* buffer = nullptr;

  // At a barrier: which one, and where bar.red puts its result.
  std::uint32_t barrier = 0;
  const Op* barrier_op = nullptr;
  LaneMask barrier_lanes = 0;

  /// Goes on with a waiting path when the running one has ended: no lane left, or reconvergence.
  void settle();

  template <class T>
  [[nodiscard]] T* dst(const Op& op, unsigned which = 0) {
    return reinterpret_cast<T*>(base[0] + op.dst[which]);
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
