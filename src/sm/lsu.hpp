// Functions of the load/store unit: memory instructions in order, one at a time, L1 accesses as fast as the
// banks take them, and replies of the memory partitions.
#pragma once

#include <algorithm>
#include <bit>
#include <vector>

#include "sm/load_store_unit.hpp"

namespace gpumux::sm {

template <typename Listener>
inline MemoryOp& LoadStoreUnit<Listener>::issue(const Warp& warp, std::uint32_t slot, AppId app,
                                                const TimedInst& inst, const workload::ExecRecord& record,
                                                workload::MemHeader header, const std::uint64_t* words,
                                                Cycle now, std::uint32_t delay) {
  const std::uint32_t index = ops_.take_stale();
  MemoryOp& op = ops_[index];  // assigned field by field, because the host is slow to copy an
                               // object that was just written
  op.inst = &inst;
  op.start = now + operand_latency_ + delay;
  op.ready_at = 0;
  op.pc = record.pc;
  op.generation = warp.generation;
  op.warp = static_cast<std::uint16_t>(slot);
  op.transactions = header.transactions;
  op.passes = std::max<std::uint16_t>(1, header.shared_passes);
  op.where = header.where;
  op.kernel = warp.kernel;
  op.app = app;
  op.block = warp.block;
  op.lanes = static_cast<std::uint8_t>(std::popcount(record.active));
  const bool lines = header.where == Where::Global || header.where == Where::Local;
  op.remaining = lines ? header.transactions : 1;
  for (std::uint32_t i = 0; i < header.transactions; ++i) {
    words_.push(words[i]);
    if (lines)
      l1_.prefetch(workload::Transaction{words[i]}.line());  // the transaction's turn is some cycles
                                                             // later
  }
  ++outstanding_[warp.kernel];
  ++count(warp.kernel).memory_instructions;
  if (issue_cycle_ != now) {
    issue_cycle_ = now;
    issues_ = 0;
  }
  ++issues_;
  queue_.push(index);
  if (current_ == kNil && queue_.size() == 1) next_ = std::max(op.start, busy_until_);
  return op;
}

template <typename Listener>
void LoadStoreUnit<Listener>::next_op(Cycle now) {
  if (ledger_ != nullptr) [[unlikely]]
    ledger_->left_head(std::max(busy_until_, now + 1));
  current_ = kNil;
  done_ = 0;
  next_ = queue_.empty() ? kNever : std::max({ops_[queue_.front()].start, busy_until_, now + 1});
}

template <typename Listener>
void LoadStoreUnit<Listener>::count_stall(Cycle now) {
  const MemoryOp& op = ops_[current_];
  arch::KernelCounters& counter = count(op.kernel);
  const std::uint64_t cycles = now - stall_since_;
  if (controlled_) [[unlikely]]
    listener_.failed(op.app, cycles);
  stall_since_ = now;
  if (ledger_ != nullptr) [[unlikely]]
    ledger_->stalled += cycles;
  switch (stall_) {
    case Stall::None: return;
    case Stall::Line: counter.rsfail_line += cycles; break;
    case Stall::Mshr: counter.rsfail_mshr += cycles; break;
    case Stall::Merge: counter.rsfail_merge += cycles; break;
    case Stall::MissQueue: counter.rsfail_miss_queue += cycles; break;
  }
  counter.lsu_stall_cycles += cycles;
}

template <typename Listener>
[[gnu::always_inline]] inline bool LoadStoreUnit<Listener>::load_line(std::uint32_t index,
                                                                      workload::Transaction transaction,
                                                                      Cycle now, Cycle last) {
  MemoryOp& op = ops_[index];
  arch::KernelCounters& counter = count(op.kernel);
  const auto sectors = static_cast<std::uint8_t>(transaction.sectors());
  if (bypasses_l1(op)) {
    if (!has_miss_queue_room(op.app)) {
      stall(Stall::MissQueue, now);
      return false;
    }
    counter.l1_accesses += l1_.units(sectors);
    counter.l1_misses += l1_.units(sectors);
    queue_miss(network_.make(transaction.line(), Purpose::Load, op.kernel, op.app, index, sectors, now), op,
               now);
    return true;
  }
  // Accesses the shadow tags. Returns the application that evicted a line which the
  // application would have alone.
  const auto note_use = [&] {
    return ledger_->l1.use(op.app, l1_.set_index(transaction.line()), transaction.line(), l1_.whole(sectors));
  };
  const LostLocality::Loader loader{op.warp, op.generation};
  bool had_it = false;
  if (locality_ != nullptr) [[unlikely]] {
    l1_.next_loader(loader);
    had_it = locality_->has_lost(loader, transaction.line());
  }
  const L1Access result = l1_.load(transaction.line(), sectors, has_miss_queue_room(op.app), op.app);
  switch (result.result) {
    case L1Result::FailLine: stall(Stall::Line, now); return false;
    case L1Result::FailMshr: stall(Stall::Mshr, now); return false;
    case L1Result::FailMerge: stall(Stall::Merge, now); return false;
    case L1Result::FailMissQueue: stall(Stall::MissQueue, now); return false;
    case L1Result::Hit:
      if (ledger_ != nullptr) [[unlikely]]
        note_use();
      counter.l1_accesses += l1_.units(sectors);
      transaction_done(index, last + config_.l1.latency, now);
      return true;
    case L1Result::Miss:
    case L1Result::Merged: break;
  }
  counter.l1_accesses += l1_.units(sectors);
  counter.l1_misses += l1_.units(result.missing);
  counter.l1_hits_pending += l1_.units(result.pending);
  AppId displaced_by = SmLedger::kNobody;
  if (ledger_ != nullptr) [[unlikely]] {
    displaced_by = note_use();
    if (displaced_by != SmLedger::kNobody) ++ledger_->pair(op.app, displaced_by).l1_extra_misses;
  }
  if (had_it && result.result == L1Result::Miss) [[unlikely]]
    locality_->missed(loader, transaction.line(), op.kernel, counter.warp_instructions, now);
  // No data is available before the latency of a hit, however fast the memory is.
  op.ready_at = std::max(op.ready_at, last + config_.l1.latency);
  l1_.wait(result.mshr, index, result.missing);
  if (result.request != 0) {
    const std::uint32_t request = network_.make(transaction.line(), Purpose::L1Fill, op.kernel, op.app,
                                                result.mshr, result.request, now + config_.l1.tag_latency);
    network_.request(request).displaced_by = displaced_by;
    queue_miss(request, op, now);
  }
  return true;
}

template <typename Listener>
[[gnu::always_inline]] inline bool LoadStoreUnit<Listener>::access_line(std::uint32_t index,
                                                                        workload::Transaction transaction,
                                                                        Cycle now, Cycle last) {
  using isa::InstFlag;
  MemoryOp& op = ops_[index];
  const bool atomic = (op.inst->flags & InstFlag::kAtomic) != 0;
  const bool store = (op.inst->flags & InstFlag::kStore) != 0;
  if (!atomic && !store) return load_line(index, transaction, now, last);

  // Stores and atomics go to L2. L1 drops, updates or allocates the line.
  if (!has_miss_queue_room(op.app)) {
    stall(Stall::MissQueue, now);
    return false;
  }
  const auto sectors = static_cast<std::uint8_t>(transaction.sectors());
  std::uint8_t present = 0;
  if (l1_enabled_) {
    // A store covers its sectors if it has at least as many bytes. Lanes that write the same
    // address count several times.
    const std::uint32_t bytes = transaction.lanes() * op.inst->access_bytes;
    present = atomic ? l1_.drop_sectors(transaction.line(), sectors)
                     : l1_.write(transaction.line(), sectors,
                                 bytes >= static_cast<std::uint32_t>(std::popcount(sectors)) * kSectorBytes,
                                 op.app);
    if (ledger_ != nullptr) [[unlikely]]
      note_write(transaction.line(), l1_.whole(sectors), atomic, op.app);
  }
  arch::KernelCounters& counter = count(op.kernel);
  counter.l1_accesses += l1_.units(sectors);
  // A line cache has either the whole line or none of it. Atomics are never served by L1.
  counter.l1_misses += atomic ? l1_.units(sectors) : l1_.units(sectors) - l1_.units(present);
  const std::uint32_t request =
      network_.make(transaction.line(), atomic ? Purpose::Atomic : Purpose::Store, op.kernel, op.app, index,
                    sectors, now + config_.l1.tag_latency);
  if (atomic) {
    const std::uint32_t lanes = std::max(1U, transaction.lanes());
    network_.carry(request,
                   static_cast<std::uint8_t>(std::clamp(lanes * op.inst->access_bytes, 1U, kLineBytes)),
                   static_cast<std::uint8_t>(lanes), static_cast<std::uint8_t>(transaction.rounds()));
    counter.atomics += lanes;
  } else {
    network_.carry(request, static_cast<std::uint8_t>(std::popcount(sectors) * int{kSectorBytes}));
  }
  queue_miss(request, op, now);
  return true;
}

template <typename Listener>
void LoadStoreUnit<Listener>::access(Cycle now) {
  if (current_ == kNil) {
    current_ = queue_.front();
    queue_.pop();
    listener_.room(ops_[current_].warp, now);
    if (ledger_ != nullptr) [[unlikely]] {
      ledger_->head_app = ops_[current_].app;
      ledger_->head_start = ops_[current_].start;
    }
  }
  const std::uint32_t index = current_;
  const MemoryOp& op = ops_[index];
  switch (op.where) {
    case Where::Shared: {
      arch::KernelCounters& counter = count(op.kernel);
      ++counter.shared_accesses;
      const bool atomic = (op.inst->flags & isa::kAtomic) != 0;
      const std::uint32_t cycles = op.passes * (atomic ? config_.shared.atomic_interval : 1U);
      counter.shared_conflict_cycles += cycles - 1U;
      busy_until_ = now + cycles;
      for (std::uint32_t i = 0; i < op.transactions; ++i) words_.pop();
      transaction_done(index, now + config_.shared.latency + cycles - 1, now);
      next_op(now);
      return;
    }
    case Where::Constant:
      busy_until_ = now + op.passes;
      access_constant(index, now);
      next_op(now);
      return;
    case Where::Texture:
      if (textures_.on()) {
        access_texture(index, now);
        return;
      }
      if (op.transactions == 0) {  // only border texels
        busy_until_ = now;
        transaction_done(index, now + config_.l1.latency, now);
        next_op(now);
        return;
      }
      if (done_ == 0) ops_[index].remaining = op.transactions;
      break;
    case Where::Global:
    case Where::Local: break;
    case Where::None: GPUMUX_CHECK(false); return;
  }
  if (stall_ != Stall::None) count_stall(now);
  if (controlled_ && shares_.next() <= now) [[unlikely]]
    shares_.divide_anew(now, l1_);
  const std::uint32_t transactions = op.transactions;
  while (true) {
    // Transactions far behind were prefetched at issue and may have left the host's cache.
    constexpr std::size_t kAhead = 8;
    if (words_.size() > kAhead) l1_.prefetch(workload::Transaction{words_.at(kAhead)}.line());
    const workload::Transaction transaction{words_.front()};
    const auto sectors = static_cast<std::uint8_t>(transaction.sectors());
    if (!banks_.free(transaction.line(), sectors, now)) {
      next_ = now + 1;
      return;
    }
    const Cycle last = banks_.last(transaction.line(), sectors, now);
    if (!access_line(index, transaction, now, last)) {
      // Stalled until something is freed, or until ways are divided again.
      next_ = controlled_ ? shares_.next() : kNever;
      return;
    }
    stall_ = Stall::None;
    banks_.take(transaction.line(), sectors, now);
    words_.pop();
    ++done_;
    if (controlled_) [[unlikely]] {
      if (op.where != Where::Texture) listener_.accessed(op, done_ == transactions, now);
      if (shares_.divides_ways() && l1_enabled_)
        shares_.accessed(op.app, op.inst->flags, transaction.line(), bypasses_l1(op), l1_);
    }
    if (done_ == transactions) {
      busy_until_ = last;
      next_op(now);
      return;
    }
    if (last != now) {
      next_ = last;
      return;
    }
  }
}

template <typename Listener>
void LoadStoreUnit<Listener>::access_constant(std::uint32_t index, Cycle now) {
  MemoryOp& op = ops_[index];
  ++count(op.kernel).constant_accesses;
  const ReadOnlyCache& tags = constants_.tags();
  op.ready_at = now + config_.constant.latency + op.passes - 1;
  for (std::uint32_t i = 0; i < op.transactions; ++i) {
    const workload::Transaction transaction{words_.front()};
    words_.pop();
    if (tags.perfect()) continue;
    std::uint64_t last = ~std::uint64_t{0};
    for (std::uint32_t sector = 0; sector < kSectorsPerLine; ++sector) {
      if (((transaction.sectors() >> sector) & 1U) == 0) continue;
      const std::uint64_t line = tags.line_of(transaction.line() * kLineBytes + sector * kSectorBytes);
      if (line == last) continue;
      last = line;
      const ConstantCache::Result result = constants_.access(line, index);
      if (result == ConstantCache::Result::Hit) continue;
      ++op.remaining;
      if (result == ConstantCache::Result::Miss)
        network_.queue_side(network_.make(tags.memory_line(line), Purpose::Constant, op.kernel, op.app, kNil,
                                          tags.memory_sectors(line), now));
    }
  }
  transaction_done(index, op.ready_at, now);
}

/// Accesses the texture cache: one line per cycle, in order. Fetches of only border
/// texels take the time of a hit.
template <typename Listener>
void LoadStoreUnit<Listener>::access_texture(std::uint32_t index, Cycle now) {
  MemoryOp& op = ops_[index];
  if (stall_ != Stall::None) count_stall(now);
  op.ready_at = std::max(op.ready_at, now + textures_.latency());
  if (op.transactions > 0) {
    const workload::Transaction transaction{words_.front()};
    const L1Access result =
        textures_.lines().load(transaction.line(), static_cast<std::uint8_t>(transaction.sectors()),
                               has_miss_queue_room(op.app), op.app);
    stall_ = Stall::None;
    switch (result.result) {
      case L1Result::FailLine: stall(Stall::Line, now); break;
      case L1Result::FailMshr: stall(Stall::Mshr, now); break;
      case L1Result::FailMerge: stall(Stall::Merge, now); break;
      case L1Result::FailMissQueue: stall(Stall::MissQueue, now); break;
      case L1Result::Hit:
      case L1Result::Miss:
      case L1Result::Merged: break;
    }
    if (stall_ != Stall::None) {
      next_ = kNever;  // until something is freed
      return;
    }
    arch::KernelCounters& counter = count(op.kernel);
    ++counter.texture_accesses;
    if (result.result != L1Result::Hit) {
      ++counter.texture_misses;
      ++op.remaining;
      textures_.lines().wait(result.mshr, index, result.missing);
      if (result.request != 0)
        queue_miss(network_.make(transaction.line(), Purpose::TextureFill, op.kernel, op.app, result.mshr,
                                 result.request, now),
                   op, now);
    }
    words_.pop();
    ++done_;
    if (done_ < op.transactions) {
      next_ = now + 1;
      return;
    }
  }
  busy_until_ = now;
  transaction_done(index, op.ready_at, now);
  next_op(now);
}

template <typename Listener>
void LoadStoreUnit<Listener>::transaction_done(std::uint32_t index, Cycle ready, Cycle now) {
  MemoryOp& op = ops_[index];
  GPUMUX_DCHECK(op.remaining > 0);
  op.ready_at = std::max(op.ready_at, ready);
  if (--op.remaining == 0) op_done(index, now);
}

template <typename Listener>
void LoadStoreUnit<Listener>::op_done(std::uint32_t index, Cycle now) {
  const MemoryOp& op = ops_[index];
  --outstanding_[op.kernel];
  if (ledger_ != nullptr) [[unlikely]]
    ledger_->apps[op.app].memory_instruction_cycles += std::max(op.ready_at, now) - op.start;
  listener_.performed(op, std::max(op.ready_at, now), now);
  ops_.give(index);
}

template <typename Listener>
void LoadStoreUnit<Listener>::send(Cycle now) {
  do {
    const bool full = !network_.room();
    const Request* const sent = network_.send(now);
    if (sent == nullptr) return;
    if (ledger_ != nullptr) [[unlikely]] {
      const bool counts = sent->displaced_by == SmLedger::kNobody && sent->waited_for();
      ledger_->request_sent(sent->app, counts, sent->queued + 1, now, network_.port_free());
      if (sent->purpose <= Purpose::TextureFill) {
        --ledger_->queued[sent->app];
        if (sent->waited_for()) --ledger_->queued_reads[sent->app];
      }
    }
    if (shares_.sent(*sent)) retry(now);
    if (full && network_.room()) retry(now);
    arch::KernelCounters& counter = count(sent->kernel);
    ++counter.requests_sent;
    counter.request_flits += sent->flits;
    ++progress_;
  } while (network_.next_send() <= now);
}

template <typename Listener>
void LoadStoreUnit<Listener>::move_context(bool save, std::uint64_t first_line, std::uint32_t lines,
                                           arch::KernelSlot kernel, AppId app, std::uint32_t move,
                                           Cycle now) {
  constexpr std::uint8_t kWhole = (1U << kSectorsPerLine) - 1;
  for (std::uint32_t i = 0; i < lines; ++i) {
    const std::uint32_t request =
        network_.make(first_line + i, save ? Purpose::ContextSave : Purpose::ContextRestore, kernel, app,
                      move, kWhole, now);
    if (save) network_.carry(request, kLineBytes);
    network_.queue_side(request);
    ++outstanding_[kernel];
  }
}

/// Prefetches what the next replies will access, in several steps.
template <typename Listener>
[[gnu::always_inline]] inline void LoadStoreUnit<Listener>::prefetch_replies() const {
  const auto first_op = [this](const Request& answered) {
    if (answered.purpose == Purpose::L1Fill) return l1_.first_waiter(answered.target);
    return answered.purpose <= Purpose::Atomic ? answered.target : kNil;
  };
  if (const Request* const fifth = network_.coming(5)) __builtin_prefetch(fifth, 1);
  if (const Request* const fourth = network_.coming(4)) prefetch_target(*fourth);
  if (const Request* const second = network_.coming(2)) {
    const std::uint32_t waiter = first_op(*second);
    if (waiter != kNil) __builtin_prefetch(&ops_[waiter], 1);
  }
  if (const Request* const first = network_.coming(1)) {
    const std::uint32_t waiter = first_op(*first);
    if (waiter != kNil) listener_.prefetch_warp(ops_[waiter].warp);
  }
  if (const Request* const next = network_.coming(0)) {
    const std::uint32_t waiter = first_op(*next);
    if (waiter != kNil) listener_.prefetch_records(ops_[waiter].warp);
  }
}

template <typename Listener>
void LoadStoreUnit<Listener>::reply(Cycle now) {
  const arch::MemReply message = network_.pop_reply();
  prefetch_replies();
  Request& request = network_.request(message.tag);
  ++progress_;
  network_.return_credits(message, request, now);
  count(request.kernel).reply_flits += message.flits;
  if (ledger_ != nullptr) [[unlikely]]
    ledger_->reply_taken(request.app, request.displaced_by == SmLedger::kNobody && request.waited_for(),
                         message.time, now + 1);

  // A read may be answered in parts. Sectors that were not requested are ignored.
  const bool read = request.purpose == Purpose::L1Fill || request.purpose == Purpose::Load ||
                    request.purpose == Purpose::TextureFill || request.purpose == Purpose::Instruction ||
                    request.purpose == Purpose::Constant || request.purpose == Purpose::ContextRestore;
  std::uint8_t sectors = request.sectors;
  if (read && message.sectors != 0) sectors &= static_cast<std::uint8_t>(message.sectors);
  request.sectors &= static_cast<std::uint8_t>(~sectors);
  const bool last = !read || request.sectors == 0;
  if (last && ledger_ != nullptr && request.waited_for()) [[unlikely]] {
    const Cycle cycles = now - std::min(request.queued, now);
    ledger_->apps[request.app].request_cycles += cycles;
    if (request.displaced_by != SmLedger::kNobody)
      ledger_->pair(request.app, request.displaced_by).l1_line_cycles += cycles;
  }

  switch (request.purpose) {
    case Purpose::L1Fill:
      l1_.fill(request.target, sectors, [&](std::uint32_t op) { transaction_done(op, now, now); });
      retry(now);
      break;
    case Purpose::TextureFill:
      textures_.lines().fill(request.target, sectors,
                             [&](std::uint32_t op) { transaction_done(op, now, now); });
      retry(now);
      break;
    case Purpose::Load:
    case Purpose::Store:
    case Purpose::Atomic:
      if (last) transaction_done(request.target, now, now);
      break;
    case Purpose::Instruction:
      if (last) {
        --outstanding_[request.kernel];
        listener_.fetched(request, now);
      }
      break;
    case Purpose::ContextSave:
    case Purpose::ContextRestore:
      if (last) {
        --outstanding_[request.kernel];
        listener_.context_moved(request.target, now);
      }
      break;
    case Purpose::Constant:
      if (last) {
        const std::vector<std::uint32_t> waiting =
            constants_.fill(constants_.tags().line_of_request(request.line, request.wanted));
        for (const std::uint32_t op : waiting) transaction_done(op, now, now);
      }
      break;
  }
  if (last) network_.give(message.tag);
}

template <typename Listener>
const char* LoadStoreUnit<Listener>::leaked() const {
  if (l1_.mshrs_in_use() != 0 || l1_.waiters() != 0 || l1_.reserved_lines() != 0)
    return "an MSHR or reserved line";
  if (textures_.lines().mshrs_in_use() != 0 || textures_.lines().waiters() != 0)
    return "an MSHR of the texture cache";
  if (ops_.in_use() != 0 || !queue_.empty() || !words_.empty() || current_ != kNil)
    return "a memory instruction";
  if (!network_.drained()) return "a request";
  if (!shares_.drained()) return "a share of the miss queue";
  if (constants_.misses() != 0) return "a constant miss";
  for (const std::uint32_t count : outstanding_)
    if (count != 0) return "a count of outstanding accesses";
  return nullptr;
}

}  // namespace gpumux::sm
