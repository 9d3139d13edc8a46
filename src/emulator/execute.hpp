// The loop that executes a warp's instructions, for the files that run it.
#pragma once

#include <cstring>

#include "emulator/block.hpp"

namespace gpumux::emulator {

template <class Go>
void Block::execute(Warp& warp, std::uint32_t limit, Go go) {
  RecordBuffer& buffer = *warp.buffer;
  buffer.make_room(streams_[warp.index], limit);
  const Op* const ops = launch_->program->ops.data();
  workload::ExecRecord* const first = buffer.record_end();
  workload::ExecRecord* out = first;
  workload::ExecRecord* const end = out + limit;
  std::uint32_t pc = warp.pc;
  std::uint64_t executed = warp.executed;
  LaneMask active = warp.active;
  std::uint32_t reconverge = warp.reconverge;
  while (out != end) {
    const Op& op = ops[pc];
    if (!go(op, pc, active)) break;
    const LaneMask lanes = active & warp.pred(op.guard);
    *out++ = {pc, lanes};
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
    } else if (op.kind == OpKind::Memory) {
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
  buffer.records_added(static_cast<std::uint32_t>(out - first));
  buffer.publish(streams_[warp.index]);
  streams_[warp.index].finished = warp.status == WarpStatus::Done;
}

}  // namespace gpumux::emulator
