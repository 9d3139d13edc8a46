// The loop that executes a warp's instructions, for the files that use it.
#pragma once

#include <cstring>

#include "emulator/block.hpp"

namespace gpumux::emulator {

template <class Go>
void Block::execute(Warp& warp, std::uint32_t limit, Go go) {
  if (recorded_) {
    execute_as<true>(warp, limit, go);
  } else {
    execute_as<false>(warp, limit, go);
  }
}

template <bool Recorded, class Go>
void Block::execute_as(Warp& warp, std::uint32_t limit, Go go) {
  RecordBuffer& buffer = *warp.buffer;
  workload::ExecRecord* out = nullptr;
  if constexpr (Recorded) {
    buffer.make_room(streams_[warp.index], limit);
    out = buffer.record_end();
  }
  const Op* const ops = launch_->program->ops.data();
  std::uint32_t pc = warp.pc;
  std::uint64_t executed = warp.executed;
  const std::uint64_t first = executed;
  const std::uint64_t end = executed + limit;
  LaneMask active = warp.active;
  std::uint32_t reconverge = warp.reconverge;
  while (executed != end) {
    const Op& op = ops[pc];
    if (!go(op, pc, active)) break;
    const LaneMask lanes = active & warp.pred(op.guard);
    if constexpr (Recorded) *out++ = {pc, lanes};
    warp.executed = ++executed;
    warp.pc = pc;
    if (op.kind == OpKind::Control) {
      op.run(warp, op, lanes);
      if (warp.status != WarpStatus::Running) break;
      pc = warp.pc;
      active = warp.active;
      reconverge = warp.reconverge;
      continue;
    }
    if (lanes != 0) {
      op.run(warp, op, lanes);
    } else if (Recorded && op.kind == OpKind::Memory) {
      buffer.room(0);
      buffer.keep(workload::MemHeader{});
    }
    if (++pc == reconverge) {
      warp.pc = pc;
      warp.settle();
      if (warp.status != WarpStatus::Running) break;
      pc = warp.pc;
      active = warp.active;
      reconverge = warp.reconverge;
    }
  }
  if (warp.status == WarpStatus::Running) warp.pc = pc;
  if (warp.status == WarpStatus::Switched) warp.status = WarpStatus::Running;
  if constexpr (Recorded) {
    buffer.records_added(static_cast<std::uint32_t>(executed - first));
    buffer.publish(streams_[warp.index]);
    streams_[warp.index].finished = warp.status == WarpStatus::Done;
  } else {
    buffer.clear();  // handlers have written memory words
  }
}

}  // namespace gpumux::emulator
