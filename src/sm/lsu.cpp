// The load/store unit within its SM: memory instructions that issue, and their effects.
#include "sm/lsu.hpp"

#include <algorithm>
#include <bit>

#include "sm/state.hpp"

namespace gpumux::sm {

void Sm::State::issue_memory(Warp& warp, std::uint32_t slot, const TimedInst& inst,
                             const workload::ExecRecord& record, Cycle now, std::uint32_t delay) {
  const auto header = std::bit_cast<workload::MemHeader>(warp.mem_next[0]);
  const std::uint64_t* words = warp.mem_next + 1;
  warp.mem_next += 1 + header.transactions;
  const bool lines = header.where == Where::Global || header.where == Where::Local;
  const bool nothing = header.where == Where::None || (header.transactions == 0 && lines);
  // A memory instruction that is predicated off, or a fence, takes only its issue slot.
  if (record.active == 0 || nothing) {
    completes(now + 1, warp.kernel, static_cast<unsigned>(std::popcount(record.active)));
    stage.memory_begun(slot, now + delay + 1);
    return;
  }
  const AppId app = stage.kernel(warp.kernel).app;
  if (inst.num_dst > 0) stage.load_issued(slot, inst);
  table.access_issued(warp.block);
  ++warp.memory_out;
  if (memory_controlled) [[unlikely]] {
    if (lines) {
      memory.issued(app);
    } else {
      memory.passed(app);
    }
  }
  if ((inst.flags & isa::InstFlag::kAsync) != 0) [[unlikely]] {
    if ((inst.flags & isa::InstFlag::kShared) != 0) {
      for (std::uint32_t i = 0; i < header.transactions; ++i)
        access_mbarrier(warp, slot, workload::MbarrierWord{words[i]}, now);
      lsu.issue(warp, slot, app, inst, record, header, words, now, delay);
    } else {
      const std::uint32_t epoch = copies.issued(slot);
      lsu.issue(warp, slot, app, inst, record, header, words, now, delay).epoch = epoch;
    }
    return;
  }
  if ((inst.flags & isa::InstFlag::kNotice) != 0) [[unlikely]] {
    // The SM puts its own number in front of the address (chimera15 section 3.4).
    const std::uint64_t own = words[0] + (std::uint64_t{id} << workload::Transaction::kLineShift);
    table.block(warp.block).notified = true;
    count(warp.kernel).discarded_thread_instructions +=
        static_cast<std::uint64_t>(std::popcount(record.active));
    lsu.issue(warp, slot, app, inst, record, header, &own, now, delay);
    return;
  }
  lsu.issue(warp, slot, app, inst, record, header, words, now, delay);
}

void Sm::State::performed(const MemoryOp& op, Cycle ready, Cycle now) {
  if (view && workload::MemHeader::beyond_sm(op.where)) [[unlikely]]
    view->performed(ready);
  if (memory_controlled && (op.where == Where::Global || op.where == Where::Local) &&
      (op.inst->num_dst > 0 || memory.scheme().stores_performed)) [[unlikely]]
    memory_ends(op.app, ready, now);
  if (gate.counts()) [[unlikely]]
    completes(ready, op.kernel, op.lanes);
  Warp& warp = table.warp(op.warp);
  if (warp.generation == op.generation) {
    --warp.memory_out;
    warp.memory_until = std::max(warp.memory_until, ready);
    if (op.inst->num_dst > 0) {
      ready += config.sm.writeback_latency;
      stage.load_done(op.warp, *op.inst, ready);
    } else if (AsyncCopies::is_copy(op.inst->flags)) [[unlikely]] {
      copy_arrived(op, ready, now);
    }
    if (warp.alive) {
      if (warp.sync == Sync::Fence ? warp.memory_out == 0 : warp.wait == Wait::Memory && warp.wake == kNever)
        stage.place(op.warp, now, now);
    }
    table.access_done(op.block, ready);
    rare_next = std::min(rare_next, table.next_end());
    if (table.stopping()) [[unlikely]]
      look_at_leaving(table.block(op.block), now);
  }
}

void Sm::State::accessed(const MemoryOp& op, bool last, Cycle now) {
  if (memory.requested(op.app, last)) stage.below_limit(now);
  if (last && op.inst->num_dst == 0 && !memory.scheme().stores_performed) memory_ends(op.app, now, now);
}

void Sm::State::send_fetch_misses(Cycle now) {
  front.send_misses(now, [&](std::uint64_t line, std::uint8_t sectors, KernelSlot kernel, AppId app,
                             Cycle at) { lsu.fetch(line, sectors, kernel, app, at); });
}

void Sm::State::fetched(const Request& request, Cycle now) {
  front.arrived(request.line, request.wanted, now, [&](std::uint32_t slot) {
    if (table.warp(slot).wait == Wait::Fetch) stage.place(slot, now, now);
  });
}

template class LoadStoreUnit<Sm::State>;

}  // namespace gpumux::sm
