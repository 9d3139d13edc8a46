// The load/store unit: in order, one instruction at a time, one L1 access per bank and cycle.
#include <algorithm>
#include <bit>

#include "sm/state.hpp"

namespace gpumux::sm {

using isa::InstFlag;

void Sm::State::issue_memory(Warp& warp, std::uint32_t slot, const TimedInst& inst,
                             const workload::ExecRecord& record, Cycle now, std::uint32_t delay) {
  const auto header = std::bit_cast<workload::MemHeader>(warp.mem_next[0]);
  const std::uint64_t* words = warp.mem_next + 1;
  warp.mem_next += 1 + header.transactions;
  const bool nothing =
      header.where == Where::None ||
      (header.transactions == 0 && (header.where == Where::Global || header.where == Where::Local));
  // Predicated off, or a fence: takes its issue slot and nothing else.
  if (record.active == 0 || nothing) {
    completes(now + 1, warp.kernel, static_cast<unsigned>(std::popcount(record.active)));
    return;
  }

  const std::uint32_t index = ops.take_stale();
  MemoryOp& op = ops[index];  // field by field: the host is slow to copy what it has just put together
  op.inst = &inst;
  op.start = now + 1 + delay;
  op.ready_at = 0;
  op.pc = record.pc;
  op.generation = warp.generation;
  op.warp = static_cast<std::uint16_t>(slot);
  op.transactions = header.transactions;
  op.passes = std::max<std::uint16_t>(1, header.shared_passes);
  op.where = header.where;
  op.kernel = warp.kernel;
  op.app = hot[warp.kernel].app;
  op.block = warp.block;
  op.holds_block = inst.num_dst > 0;
  op.lanes = static_cast<std::uint8_t>(std::popcount(record.active));
  const bool lines = header.where == Where::Global || header.where == Where::Local;
  op.remaining = lines ? header.transactions : 1;
  if (inst.num_dst > 0) {
    scoreboard.set_out(slot, inst);
    table.load_issued(warp.block);
  }
  for (std::uint32_t i = 0; i < header.transactions; ++i) {
    lsu.words.push(words[i]);
    if (lines) l1.prefetch(workload::Transaction{words[i]}.line());  // its turn comes cycles later
  }
  ++warp.memory_out;
  ++outstanding[warp.kernel];
  ++count(warp.kernel).memory_instructions;
  if (memory_controlled) [[unlikely]] {
    if (lines) {
      memory.issued(op.app);
    } else {
      memory.passed(op.app);
    }
  }
  if (memory_issue_cycle != now) {
    memory_issue_cycle = now;
    memory_issues = 0;
  }
  ++memory_issues;
  lsu.queue.push(index);
  if (lsu.current == kNil && lsu.queue.size() == 1) lsu.next = std::max(op.start, lsu.busy_until);
}

void Sm::State::lsu_next_op(Cycle now) {
  lsu.current = kNil;
  lsu.done = 0;
  lsu.next = lsu.queue.empty() ? kNever : std::max({ops[lsu.queue.front()].start, lsu.busy_until, now + 1});
}

inline void Sm::State::stall(Stall cause, Cycle now) {
  lsu.stall = cause;
  lsu.stall_since = now;
}

void Sm::State::credit_stall(Cycle now) {
  arch::KernelCounters& counter = count(ops[lsu.current].kernel);
  const std::uint64_t cycles = now - lsu.stall_since;
  if (memory_controlled) [[unlikely]]
    memory.failed(ops[lsu.current].app, cycles);
  lsu.stall_since = now;
  switch (lsu.stall) {
    case Stall::None: return;
    case Stall::Line: counter.rsfail_line += cycles; break;
    case Stall::Mshr: counter.rsfail_mshr += cycles; break;
    case Stall::Merge: counter.rsfail_merge += cycles; break;
    case Stall::MissQueue: counter.rsfail_miss_queue += cycles; break;
  }
  counter.lsu_stall_cycles += cycles;
}

[[gnu::always_inline]] inline bool Sm::State::access_load(std::uint32_t index,
                                                          workload::Transaction transaction, Cycle now) {
  MemoryOp& op = ops[index];
  arch::KernelCounters& counter = count(op.kernel);
  const auto sectors = static_cast<std::uint8_t>(transaction.sectors());
  if (bypasses_l1(op)) {
    if (!has_miss_queue_room(op.app)) {
      stall(Stall::MissQueue, now);
      return false;
    }
    counter.l1_accesses += l1.units(sectors);
    counter.l1_misses += l1.units(sectors);
    note_read(op, now);
    count_queued(op.app);
    injection.push_miss(
        new_request(transaction.line(), Purpose::Load, op.kernel, op.app, index, sectors, now), requests);
    return true;
  }
  const L1Access result = l1.load(transaction.line(), sectors, has_miss_queue_room(op.app), op.app);
  switch (result.result) {
    case L1Result::FailLine: stall(Stall::Line, now); return false;
    case L1Result::FailMshr: stall(Stall::Mshr, now); return false;
    case L1Result::FailMerge: stall(Stall::Merge, now); return false;
    case L1Result::FailMissQueue: stall(Stall::MissQueue, now); return false;
    case L1Result::Hit:
      counter.l1_accesses += l1.units(sectors);
      transaction_done(index, now + config.l1.latency, now);
      return true;
    case L1Result::Miss:
    case L1Result::Merged: break;
  }
  counter.l1_accesses += l1.units(sectors);
  counter.l1_misses += l1.units(result.missing);
  counter.l1_hits_pending += l1.units(result.pending);
  // No data before a hit's latency, however fast the memory.
  op.ready_at = std::max(op.ready_at, now + config.l1.latency);
  l1.wait(result.mshr, index, result.missing);
  if (result.request != 0) {
    note_read(op, now);
    count_queued(op.app);
    injection.push_miss(
        new_request(transaction.line(), Purpose::L1Fill, op.kernel, op.app, result.mshr, result.request, now),
        requests);
  }
  return true;
}

[[gnu::always_inline]] inline bool Sm::State::access(std::uint32_t index, workload::Transaction transaction,
                                                     Cycle now) {
  MemoryOp& op = ops[index];
  const bool atomic = (op.inst->flags & InstFlag::kAtomic) != 0;
  const bool store = (op.inst->flags & InstFlag::kStore) != 0;
  if (!atomic && !store) return access_load(index, transaction, now);

  // Stores and atomics go to L2; L1 drops or updates its copy.
  if (!has_miss_queue_room(op.app)) {
    stall(Stall::MissQueue, now);
    return false;
  }
  count_queued(op.app);
  const auto sectors = static_cast<std::uint8_t>(transaction.sectors());
  const std::uint8_t present = l1_enabled ? l1.write(transaction.line(), sectors, atomic) : std::uint8_t{0};
  arch::KernelCounters& counter = count(op.kernel);
  counter.l1_accesses += l1.units(sectors);
  // A line cache has the line or not; an atomic is never served here.
  counter.l1_misses += atomic ? l1.units(sectors) : l1.units(sectors) - l1.units(present);
  const std::uint32_t request = new_request(transaction.line(), atomic ? Purpose::Atomic : Purpose::Store,
                                            op.kernel, op.app, index, sectors, now);
  if (atomic) {
    const std::uint32_t lanes = std::max(1U, transaction.lanes());
    requests[request].operations = static_cast<std::uint8_t>(lanes);
    requests[request].data_bytes =
        static_cast<std::uint8_t>(std::clamp(lanes * op.inst->access_bytes, 1U, kLineBytes));
    counter.atomics += lanes;
  } else {
    requests[request].data_bytes = static_cast<std::uint8_t>(std::popcount(sectors) * int{kSectorBytes});
  }
  requests[request].flits = network.flits(requests[request].data_bytes);
  note_read(op, now);
  injection.push_miss(request, requests);
  return true;
}

void Sm::State::lsu_step(Cycle now) {
  if (lsu.current == kNil) {
    lsu.current = lsu.queue.front();
    lsu.queue.pop();
    for (std::uint32_t s = 0; s < schedulers_count; ++s)
      if (schedulers[s].ready_unit[static_cast<std::size_t>(isa::Unit::Memory)] != 0) look_again(s, now);
  }
  const std::uint32_t index = lsu.current;
  const MemoryOp& op = ops[index];
  switch (op.where) {
    case Where::Shared: {
      arch::KernelCounters& counter = count(op.kernel);
      ++counter.shared_accesses;
      counter.shared_conflict_cycles += op.passes - 1U;
      lsu.busy_until = now + op.passes;
      for (std::uint32_t i = 0; i < op.transactions; ++i) lsu.words.pop();
      transaction_done(index, now + config.shared.latency + op.passes - 1, now);
      lsu_next_op(now);
      return;
    }
    case Where::Constant:
      lsu.busy_until = now + op.passes;
      access_constant(index, now);
      lsu_next_op(now);
      return;
    case Where::Global:
    case Where::Local: break;
    case Where::None: GPUMUX_CHECK(false); return;
  }
  if (lsu.stall != Stall::None) credit_stall(now);
  if (memory_controlled && way_partition.next() <= now) [[unlikely]]
    divide_ways_again(now);
  const std::uint32_t transactions = op.transactions;
  for (std::uint32_t bank = 0; bank < config.l1.banks && lsu.done < transactions; ++bank) {
    // Of many, those behind were fetched at issue, and may be gone again.
    constexpr std::size_t kAhead = 8;
    if (lsu.words.size() > kAhead) l1.prefetch(workload::Transaction{lsu.words.at(kAhead)}.line());
    const workload::Transaction transaction{lsu.words.front()};
    if (!access(index, transaction, now)) {
      // Until something is freed, or ways are divided anew.
      lsu.next = memory_controlled ? way_partition.next() : kNever;
      return;
    }
    lsu.stall = Stall::None;
    lsu.words.pop();
    ++lsu.done;
    if (memory_controlled) [[unlikely]]
      memory_accessed(op, transaction, lsu.done == transactions, now);
  }
  if (lsu.done == transactions) {
    lsu_next_op(now);
  } else {
    lsu.next = now + 1;
  }
}

void Sm::State::access_constant(std::uint32_t index, Cycle now) {
  MemoryOp& op = ops[index];
  op.ready_at = now + config.constant.latency + op.passes - 1;
  for (std::uint32_t i = 0; i < op.transactions; ++i) {
    const workload::Transaction transaction{lsu.words.front()};
    lsu.words.pop();
    if (constants.perfect()) continue;
    std::uint64_t last = ~std::uint64_t{0};
    for (std::uint32_t sector = 0; sector < kSectorsPerLine; ++sector) {
      if (((transaction.sectors() >> sector) & 1U) == 0) continue;
      const std::uint64_t line = constants.line_of(transaction.line() * kLineBytes + sector * kSectorBytes);
      if (line == last) continue;
      last = line;
      if (constants.access(line)) continue;
      ++op.remaining;
      auto miss = std::find_if(constant_misses.begin(), constant_misses.end(),
                               [line](const ConstantMiss& other) { return other.line == line; });
      if (miss == constant_misses.end()) {
        constant_misses.push_back({line, {}});
        miss = constant_misses.end() - 1;
        injection.push_side(new_request(constants.memory_line(line), Purpose::Constant, op.kernel, op.app,
                                        kNil, constants.memory_sectors(line), now),
                            requests);
      }
      miss->ops.push_back(index);
    }
  }
  transaction_done(index, op.ready_at, now);
}

std::uint32_t Sm::State::new_request(std::uint64_t line, Purpose purpose, KernelSlot kernel, AppId app,
                                     std::uint32_t target, std::uint8_t sectors, Cycle now) {
  const std::uint32_t index = requests.take_stale();
  requests[index] = {.line = line,
                     .queued = now,
                     .target = target,
                     .partition = map.partition(line),
                     .kernel = kernel,
                     .app = app,
                     .purpose = purpose,
                     .sectors = sectors,
                     .wanted = sectors,
                     .operations = 0,
                     .data_bytes = 0,
                     .flits = read_flits};
  return index;
}

void Sm::State::transaction_done(std::uint32_t index, Cycle ready, Cycle now) {
  MemoryOp& op = ops[index];
  GPUMUX_DCHECK(op.remaining > 0);
  op.ready_at = std::max(op.ready_at, ready);
  if (--op.remaining == 0) op_done(index, now);
}

void Sm::State::op_done(std::uint32_t index, Cycle now) {
  MemoryOp& op = ops[index];
  const Cycle ready = std::max(op.ready_at, now);
  --outstanding[op.kernel];
  if (memory_controlled && (op.where == Where::Global || op.where == Where::Local) &&
      (op.inst->num_dst > 0 || memory.scheme().stores_performed)) [[unlikely]]
    memory_ends(op.app, ready, now);
  if (gate.counts()) [[unlikely]]
    completes(ready, op.kernel, op.lanes);
  Warp& warp = table.warp(op.warp);
  if (warp.generation == op.generation) {
    --warp.memory_out;
    warp.memory_until = std::max(warp.memory_until, ready);
    if (op.inst->num_dst > 0) scoreboard.set(op.warp, *op.inst, ready, true);
    if (warp.alive) {
      if (warp.sync == Sync::Fence ? warp.memory_out == 0 : warp.wait == Wait::Memory && warp.wake == kNever)
        place(op.warp, now, now);
    }
  }
  if (op.holds_block) {
    table.load_done(op.block, ready);
    rare_next = std::min(rare_next, table.next_end());
  }
  ops.give(index);
}

}  // namespace gpumux::sm
