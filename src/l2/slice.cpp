#include "l2/slice.hpp"

#include <algorithm>
#include <bit>

#include "base/error.hpp"

namespace gpumux::l2 {

// Functions that are `inline` here are on the way of every request and have one or two callers in this file.

Shared::Shared(const arch::MachineConfig& config, PartitionId partition,
               const noc::PartitionMap& partition_map)
    : id(partition),
      map(partition_map),
      network(config),
      l2_clock(config.clocks.core, config.clocks.l2),
      dram_clock(config.clocks.core, config.clocks.dram),
      pool(64 + config.l2.slices_per_partition * (config.l2.input_queue + config.l2.latency) +
           config.sms * network.request_credits / config.l2.partitions),
      channel(config.dram, config.l2.sectored),
      reply_credits(network.reply_credits),
      controller_full(config.l2.slices_per_partition),
      network_full(config.l2.slices_per_partition) {
  next.fill(kNever);
}

Slice::Slice(const arch::MachineConfig& config, std::uint32_t index, Shared& shared)
    : s_(shared),
      index_(index),
      sectored_(config.l2.sectored),
      on_fill_(config.l2.allocate == arch::Allocate::OnFill),
      latency_(config.l2.latency),
      port_bytes_(config.l2.port_bytes),
      atomic_interval_(config.l2.atomic_interval),
      atomics_per_cycle_(config.l2.atomics_per_cycle),
      merges_(config.l2.mshr_merges),
      input_capacity_(config.l2.input_queue + latency_),
      miss_capacity_(config.l2.miss_queue),
      output_capacity_(config.l2.output_queue),
      ejection_(shared.network.clock, shared.network.routed),
      approach_(input_capacity_ + shared.network.output_buffer_flits +
                config.sms * shared.network.request_credits / config.l2.partitions),
      departed_(input_capacity_),
      tags_(config.l2),
      mshrs_(config.l2.mshr_entries, on_fill_),
      misses_(config.l2.miss_queue + 2),
      fills_(config.l2.mshr_entries * kSectorsPerLine),
      injection_(shared.network.clock, shared.network.routed),
      sending_(config.l2.output_queue),
      unsent_(config.l2.output_queue) {
  victims_.reserve(config.l2.mshr_entries);
  atomics_.reserve(config.l2.output_queue);
}

// --- from the network -----------------------------------------------------------------------------

void Slice::arrive(RequestIndex index) {
  if (approach_.all_in() && input_has_room()) {
    Approach::Place& place = approach_.arrive(s_.pool[index], index);
    admit(place, eject(place, place.time));
    return;
  }
  const Cycle now = s_.pool[index].time;
  settle_entrance(now);
  while (!departed_.empty() && departed_.front() < now) departed_.pop();  // no request waited for this room
  const bool was_crowded = crowded();
  approach_.arrive(s_.pool[index], index);
  enter(now);
  if (!was_crowded) crowded_since_ = now;
}

// Lets requests enter at the cycles at which places became free. The slice may be ahead of its entrance, so
// it has recorded these cycles in departed_.
void Slice::settle_entrance(Cycle end) {
  while (!approach_.all_in() && !departed_.empty() && departed_.front() < end) {
    const Cycle now = departed_.front();
    departed_.pop();
    enter(now);
    if (!crowded()) count_crowded(now);
  }
}

void Slice::enter(Cycle now) {
  while (input_has_room() && approach_.entrance() != 0) {
    Approach::Place& place = approach_.first_outside();
    entrance_flits_ -= place.flits;
    admit(place, std::max(place.time, now));
  }
  while (approach_.network() != 0) {
    Approach::Place& place = approach_.first_in_network();
    if (input_has_room()) {
      admit(place, eject(place, now));
    } else if (entrance_flits_ + place.flits <= s_.network.output_buffer_flits) {
      place.time = eject(place, now);
      entrance_flits_ += place.flits;
      approach_.enter();
    } else {
      return;
    }
  }
}

inline Cycle Slice::eject(const Approach::Place& place, Cycle now) {
  const Cycle through = ejection_.eject(place.time, now, place.flits);
  s_.credits->push_back({through + s_.network.latency, place.flits, place.sm, s_.id});
  ++s_.counters.requests;
  ++s_.progress;
  return through;
}

inline void Slice::admit(Approach::Place& place, Cycle through) {
  place.time = s_.l2_clock.tick_at(through) + latency_ - 1;
  const bool head = approach_.input() == 0;
  approach_.admit();
  if (head) wake(std::max(place.time, tag_free_));
}

// --- the L2 cycle ---------------------------------------------------------------------------------

void Slice::wake(std::uint64_t tick) {
  tick = std::max(tick, unprocessed_);
  if (tick >= next_tick_) return;
  next_tick_ = tick;
  set_next_core(s_.l2_clock.to_core(tick));
}

void Slice::step() {
  const std::uint64_t tick = next_tick_;
  unprocessed_ = tick + 1;
  while (!fills_.empty() && fills_.front().tick <= tick) {
    prefetch_next_fill();
    complete_fill(fills_.front());
    fills_.pop();
  }
  if (!atomics_.empty()) finish_atomics(tick);
  if (!ready_.empty() && drain_free_ <= tick) drain_ready(tick);
  if (!victims_.empty()) queue_victims();
  if (approach_.input() != 0 && !head_blocked_ && tag_free_ <= tick && approach_.front().time <= tick &&
      (!head_unanswered_ || !output_full(tick))) {
    access_head(tick);
  }
  if (drain_blocked_ || head_unanswered_) {
    if (!output_.on) output_since_ = next_core_;
    stall(output_, tick);
    note_wait(next_core_);
  } else if (output_.on) {
    resume(output_, tick, s_.counters.stall_network);
    note_wait(next_core_);
  }
  // Still no place in the channel's queue, unless the slice has been woken for one.
  const bool waits = controller_.on && (next_core_ < s_.channel_room || waits_for_channel());
  const bool sent = !waits && !misses_.empty() && miss_free_ <= tick && send_miss(tick);
  if (sent) head_blocked_ = false;
  if (controller_.on && !head_blocked_ && !miss_room(1)) foresee_block(tick);

  sleep(tick);
}

// Sets the next event after L2 cycle `tick`.
inline void Slice::sleep(std::uint64_t tick) {
  std::uint64_t next = kNoTick;
  if (!fills_.empty()) next = fills_.front().tick;
  if (!ready_.empty() && !drain_blocked_) next = std::min(next, drain_free_);
  if (approach_.input() != 0 && !head_blocked_ && !head_unanswered_) {
    next = std::min(next, std::max(approach_.front().time, tag_free_));
  }
  if (!misses_.empty()) {
    if (!controller_.on) {
      next = std::min(next, miss_free_);
    } else if (s_.channel_room > next_core_ && !waits_for_channel()) {
      next = std::min(next, s_.l2_clock.tick_at(s_.channel_room));
    }
  }
  if (output_.on || !atomics_.empty() || !victims_.empty()) next = std::min(next, next_rare_event(tick));
  if (next == kNoTick) {
    next_tick_ = kNoTick;
    set_next_core(kNever);
    return;
  }
  next_tick_ = std::max(next, tick + 1);
  set_next_core(s_.l2_clock.to_core(next_tick_));
}

std::uint64_t Slice::next_rare_event(std::uint64_t tick) const {
  std::uint64_t next = kNoTick;
  for (const Atomic& atomic : atomics_) next = std::min(next, atomic.finish);
  // A place in the output queue becomes free when the reply at its front enters the port.
  if (output_.on && !sending_.empty()) next = std::min(next, s_.l2_clock.tick_at(sending_.front()));
  if (!victims_.empty() && miss_room(1)) next = std::min(next, tick + 1);
  return next;
}

inline void Slice::access_head(std::uint64_t tick) {
  // The line has no MSHR, so no fill can bring it, and reading the tags again would find the same.
  if (head_wants_room_ && !miss_room(1)) {
    head_blocked_ = true;
    return;
  }
  head_wants_room_ = false;
  const RequestIndex head = approach_.front().request;
  const Cycle arrived = s_.pool[head].time;
  const AppId app = s_.pool[head].app;
  if (ledger_) [[unlikely]]
    note_head(head);
  const Outcome outcome = access(head, tick);
  head_unanswered_ = outcome == Outcome::NeedsOutput;
  if (outcome == Outcome::Done) {
    s_.of_app[app].l2_wait_cycles += next_core_ - arrived;
    if (ledger_) [[unlikely]]
      note_access(head);
    approach_.pop();
    departed_.push(next_core_);
    // Otherwise requests may still arrive before this cycle.
    if (!approach_.all_in() && next_core_ < s_.entered) settle_entrance(next_core_ + 1);
    if (approach_.input() >= kHeads) prefetch_head(approach_[kHeads - 1]);
    resume(reservation_, tick, s_.counters.l2_reservation_failures);
    return;
  }
  if (outcome == Outcome::NeedsOutput) {
    if (ledger_) [[unlikely]]
      end_stall(next_core_);
    resume(reservation_, tick, s_.counters.l2_reservation_failures);
  } else {
    head_blocked_ = true;
    stall_head(tick, outcome);
  }
}

// Stalls the head one cycle early if its next look at the tags is in the next L2 cycle and will certainly
// find a read of an absent line and a full miss queue. Saves that step.
inline void Slice::foresee_block(std::uint64_t tick) {
  const std::uint64_t then = tick + 1;
  if (approach_.input() == 0 || output_.on || approach_.front().time > then || tag_free_ > then) return;
  if ((!fills_.empty() && fills_.front().tick <= then) || !victims_.empty()) return;
  if (s_.l2_clock.to_core(then) >= s_.end) return;
  const Request& request = s_.pool[approach_.front().request];
  if (request.kind == RequestKind::Write) return;
  if (tags_.find(request.set, request.slice_line, request.app) != kNoWay) return;
  if (on_fill_ && mshrs_.find(request.slice_line, request.app) != kNoMshr) return;
  head_blocked_ = head_wants_room_ = head_is_absent_ = true;
  stall_head(then, Outcome::NoMissQueue);
}

inline Slice::Outcome Slice::access(RequestIndex index, std::uint64_t tick) {
  Request& request = s_.pool[index];
  std::uint32_t way = kNoWay;
  std::uint16_t mshr = kNoMshr;
  if (!head_is_absent_) {
    way = tags_.find(request.set, request.slice_line, request.app);
    if (on_fill_) {
      mshr = mshrs_.find(request.slice_line, request.app);
    } else if (way != kNoWay) {
      mshr = tags_.line(way).mshr;
    }
  }
  head_is_absent_ = false;
  if (request.kind == RequestKind::Write) return access_write(index, way, mshr, tick);

  const std::uint8_t need = whole(request.sectors);
  const std::uint8_t valid = way != kNoWay ? tags_.line(way).valid : 0;
  const auto missing = static_cast<std::uint8_t>(need & ~valid);
  if (missing == 0) {
    if (output_full(tick)) return Outcome::NeedsOutput;
    used(way, mshr);
    arch::MemoryCounters& counters = s_.of_app[request.app];
    counters.l2_accesses += units(request.sectors);
    if (request.kind == RequestKind::Atomic) {
      counters.l2_writes += units(request.sectors);
      tags_.line(way).dirty |= need;
      tag_free_ = tick + beats(request.data_bytes);
      start_atomic(index, tick);
    } else {
      tag_free_ = tick + beats(units_bytes(request.sectors));
      reply(index, tag_free_);
    }
    return Outcome::Done;
  }
  if (mshr != kNoMshr && mshrs_[mshr].requests >= merges_) return Outcome::NoMerge;
  const std::uint8_t pending = mshr != kNoMshr ? mshrs_[mshr].pending : 0;
  const Outcome outcome = fetch(request, way, mshr, static_cast<std::uint8_t>(missing & ~pending));
  if (outcome != Outcome::Done) return outcome;
  Mshr& entry = mshrs_[mshr];
  ++entry.requests;
  ++entry.undrained;
  request.mshr = mshr;
  entry.waiters.push(s_.pool, index);
  used(way, mshr);
  arch::MemoryCounters& counters = s_.of_app[request.app];
  counters.l2_accesses += units(request.sectors);
  if (request.kind == RequestKind::Atomic) counters.l2_writes += units(request.sectors);
  counters.l2_misses += units(sectored_ ? missing : request.sectors);
  tag_free_ = tick + 1;
  return Outcome::Done;
}

Slice::Outcome Slice::access_write(RequestIndex index, std::uint32_t way, std::uint16_t mshr,
                                   std::uint64_t tick) {
  Request& request = s_.pool[index];
  if (request.wants_reply && output_full(tick)) return Outcome::NeedsOutput;
  const std::uint8_t need = whole(request.sectors);
  const std::uint8_t valid = way != kNoWay ? tags_.line(way).valid : 0;
  const bool covers = request.sectors == need && request.data_bytes >= units_bytes(request.sectors);
  if (covers) {
    if (way == kNoWay) {
      way = tags_.victim(request.set);
      if (way == kNoWay) return Outcome::NoLine;
      if (tags_.line(way).dirty != 0 && !miss_room(1)) return Outcome::NoMissQueue;
      evict(way, request.app);
      tags_.install(way, request.slice_line, request.app);
    }
    tags_.line(way).valid |= need;
    tags_.line(way).dirty |= need;
  } else {
    const std::uint8_t pending = mshr != kNoMshr ? mshrs_[mshr].pending : 0;
    const auto missing = static_cast<std::uint8_t>(need & ~valid & ~pending);
    if (missing != 0) {
      const bool first = mshr == kNoMshr;
      const Outcome outcome = fetch(request, way, mshr, missing);
      if (outcome != Outcome::Done) return outcome;
      if (first) mshrs_[mshr].requests = 1;
    }
    // Sectors on their way become valid at the fill and are dirty from then on.
    if (way != kNoWay) tags_.line(way).dirty |= on_fill_ ? need & valid : need;
    if (mshr != kNoMshr) mshrs_[mshr].dirty |= static_cast<std::uint8_t>(need & ~valid);
  }
  used(way, mshr);
  arch::MemoryCounters& counters = s_.of_app[request.app];
  counters.l2_accesses += units(request.sectors);
  counters.l2_writes += units(request.sectors);
  if ((need & ~valid) != 0) {
    counters.l2_misses += units(sectored_ ? static_cast<std::uint8_t>(need & ~valid) : request.sectors);
  }
  tag_free_ = tick + beats(request.data_bytes);
  if (request.wants_reply) {
    reply(index, tag_free_);
  } else {
    s_.pool.release(index);
  }
  return Outcome::Done;
}

void Slice::used(std::uint32_t way, std::uint16_t mshr) {
  if (!on_fill_ && mshr != kNoMshr) {
    mshrs_[mshr].stamp = tags_.use();
  } else if (way != kNoWay) {
    tags_.touch(way);
  }
}

// --- misses ---------------------------------------------------------------------------------------

Slice::Outcome Slice::fetch(const Request& request, std::uint32_t& way, std::uint16_t& mshr,
                            std::uint8_t sectors) {
  AppId due_to = request.app;
  if (mshr == kNoMshr) {
    if (!miss_room(1)) {
      // An acknowledged write is looked up again: it may then find the output queue
      // full, which is another stall.
      head_wants_room_ = request.kind != RequestKind::Write || !request.wants_reply;
      head_is_absent_ = way == kNoWay;
      return Outcome::NoMissQueue;
    }
    std::uint32_t victim = kNoWay;
    std::uint32_t entries = 1;
    if (!on_fill_ && way == kNoWay) {
      victim = tags_.victim(request.set);
      if (victim == kNoWay) return Outcome::NoLine;
      if (tags_.line(victim).dirty != 0) ++entries;
    }
    if (mshrs_.full()) return Outcome::NoMshr;
    if (!miss_room(entries)) return Outcome::NoMissQueue;
    mshr = mshrs_.take(request.slice_line, request.app);
    if (ledger_) [[unlikely]] {
      due_to = fetched_for(request);
      note_register(mshr, due_to);
    }
    Mshr& entry = mshrs_[mshr];
    entry.set = request.set;
    entry.kernel = request.kernel;
    if (!on_fill_) {
      if (victim != kNoWay) {
        evict(victim, request.app);
        tags_.install(victim, request.slice_line, request.app);
        way = victim;
      }
      tags_.line(way).mshr = mshr;
      tags_.pin(way);
      entry.way = way;
    }
  } else if (sectors != 0) {
    if (!miss_room(1)) return Outcome::NoMissQueue;
    if (ledger_) [[unlikely]]
      due_to = fetched_for(request);
  }
  if (sectors != 0) {
    mshrs_[mshr].pending |= sectors;
    queue_miss(
        request.slice_line,
        {.token = index_ << 16U | mshr,
         .sectors = sectors,
         .app = request.app,
         .kernel = request.kernel,
         .charged = request.charged != 0 || due_to != request.app || request.kind == RequestKind::Write},
        due_to);
  }
  return Outcome::Done;
}

void Slice::queue_miss(std::uint64_t slice_line, dram::Request request, AppId due_to) {
  request.local_line = s_.map.local_line(slice_line, index_, request.app);
  misses_.push(request);
  if (ledger_) [[unlikely]]
    note_queued(due_to);
}

void Slice::evict(std::uint32_t way, AppId culprit) {
  displace(way, culprit);
  const Tags::Line& line = tags_.line(way);
  if (line.dirty == 0) return;
  const AppId app = tags_.app(way);
  s_.of_app[app].l2_writebacks += units(line.dirty);
  queue_miss(tags_.slice_line(way), {.sectors = line.dirty, .write = true, .app = app, .charged = true}, app);
}

inline bool Slice::send_miss(std::uint64_t tick) {
  if (s_.channel.full() || next_core_ < s_.channel_room) {
    if (!controller_.on) s_.controller_full.begin(index_, next_core_);
    stall(controller_, tick);
    if (s_.channel.full()) s_.stalled_slices |= std::uint64_t{1} << index_;
    return false;
  }
  if (controller_.on) s_.controller_full.end(index_, next_core_);
  resume(controller_, tick, s_.counters.stall_controller);
  s_.stalled_slices &= ~(std::uint64_t{1} << index_);
  s_.channel.push(misses_.front(), static_cast<dram::Tick>(s_.dram_clock.tick_at(next_core_ + 1)));
  s_.last_to_dram = index_;
  if (ledger_) [[unlikely]]
    note_sent();
  misses_.pop();
  miss_free_ = tick + 1;
  return true;
}

void Slice::foresee_stall(const Slice* rival) {
  if (controller_.on || misses_.empty() || miss_free_ < unprocessed_) return;
  const Cycle from = s_.l2_clock.to_core(miss_free_);
  if (from >= s_.channel_room) return;
  s_.controller_full.begin(index_, from);
  stall(controller_, miss_free_);
  if (rival != nullptr && rival != this && rival->unprocessed_ <= s_.l2_clock.tick_at(s_.channel_room))
    s_.stalled_slices |= std::uint64_t{1} << index_;
  sleep(unprocessed_ - 1);
}

void Slice::channel_freed(Cycle now) {
  if (controller_.on) wake(s_.l2_clock.tick_at(now));
}

// --- fills ----------------------------------------------------------------------------------------

// Prefetches for the fills behind the front, whose own data was prefetched in the same way.
[[gnu::always_inline]] inline void Slice::prefetch_next_fill() const {
  constexpr std::uint32_t kAhead = 2;
  if (fills_.size() <= kAhead) return;
  mshrs_.prefetch(fills_[kAhead].mshr);
  const Mshr& entry = mshrs_[fills_[kAhead - 1].mshr];
  if (!entry.waiters.empty()) s_.pool.prefetch(entry.waiters.front());
  if (entry.way != kNoWay) tags_.prefetch_way(entry.way);
}

Cycle Slice::fill_from(std::uint16_t mshr, std::uint8_t sectors, Cycle at) {
  const std::uint64_t start = std::max(s_.l2_clock.tick_at(at), fill_free_);
  fill_free_ = start + beats(units_bytes(sectors));
  fills_.push({fill_free_, mshr, sectors});
  wake(fill_free_);
  return s_.l2_clock.to_core(start);
}

inline void Slice::complete_fill(const Fill& fill) {
  Mshr& entry = mshrs_[fill.mshr];
  GPUMUX_DCHECK((entry.pending & fill.sectors) == fill.sectors);
  entry.pending &= static_cast<std::uint8_t>(~fill.sectors);
  const std::uint32_t way = on_fill_ ? install_filled(entry) : entry.way;
  Tags::Line& line = tags_.line(way);
  line.valid |= fill.sectors;
  line.dirty |= entry.dirty & fill.sectors;
  RequestList waiting;
  while (!entry.waiters.empty()) {
    const RequestIndex index = entry.waiters.pop(s_.pool);
    const Request& request = s_.pool[index];
    const std::uint8_t need = whole(request.sectors);
    if ((need & entry.pending) != 0) {
      waiting.push(s_.pool, index);
      continue;
    }
    // Marked dirty here, because the line may be evicted before the atomic operation starts.
    if (request.kind == RequestKind::Atomic) line.dirty |= need;
    ready_.push(s_.pool, index);
  }
  entry.waiters = waiting;
  head_blocked_ = head_unanswered_ = false;
  if (entry.pending != 0) return;
  if (on_fill_) {
    mshrs_.forget(fill.mshr);
  } else {
    line.mshr = kNoMshr;
    tags_.unpin(way, entry.stamp);
  }
  entry.way = kNoWay;
  retire_if_done(fill.mshr);
}

// On-fill allocation: the line takes its way only now. The MSHR is kept until the miss queue has taken the
// data of the evicted line, so that a fill never waits.
std::uint32_t Slice::install_filled(Mshr& entry) {
  std::uint32_t way = tags_.find(entry.set, entry.slice_line, entry.app);
  if (way != kNoWay) return way;
  way = tags_.victim(entry.set);
  displace(way, entry.app);
  const Tags::Line& old = tags_.line(way);
  if (old.dirty != 0) {
    victims_.push_back({.slice_line = tags_.slice_line(way),
                        .mshr = mshrs_.index_of(entry),
                        .dirty = old.dirty,
                        .app = tags_.app(way)});
    ++entry.victims;
  }
  tags_.install(way, entry.slice_line, entry.app);
  tags_.touch(way);
  return way;
}

void Slice::queue_victims() {
  while (!victims_.empty() && miss_room(1)) {
    const Victim victim = victims_.front();
    victims_.erase(victims_.begin());
    s_.of_app[victim.app].l2_writebacks += units(victim.dirty);
    queue_miss(victim.slice_line,
               {.sectors = victim.dirty, .write = true, .app = victim.app, .charged = true}, victim.app);
    --mshrs_[victim.mshr].victims;
    retire_if_done(victim.mshr);
  }
}

inline void Slice::retire_if_done(std::uint16_t mshr) {
  const Mshr& entry = mshrs_[mshr];
  if (entry.pending != 0 || entry.undrained != 0 || entry.victims != 0) return;
  if (ledger_) [[unlikely]]
    note_held(ledger_->registers, ledger_->register_due_to[mshr], false);
  mshrs_.release(mshr);
  head_blocked_ = false;
}

inline void Slice::drain_ready(std::uint64_t tick) {
  drain_blocked_ = output_full(tick);
  if (drain_blocked_) return;
  const RequestIndex index = ready_.pop(s_.pool);
  const Request& request = s_.pool[index];
  const std::uint16_t mshr = request.mshr;
  --mshrs_[mshr].undrained;
  if (ledger_) [[unlikely]]
    note_drained(index, tick);
  if (request.kind == RequestKind::Atomic) {
    start_atomic(index, tick);
  } else {
    reply(index, tick);
  }
  drain_free_ = tick + 1;
  retire_if_done(mshr);
}

// --- atomic operations ------------------------------------------------------------------------------

void Slice::start_atomic(RequestIndex index, std::uint64_t tick) {
  const Request& request = s_.pool[index];
  std::uint64_t start = tick;
  for (const Atomic& atomic : atomics_) {
    const Request& other = s_.pool[atomic.request];
    if (other.slice_line == request.slice_line && other.app == request.app) {
      start = std::max(start, atomic.finish);
    }
  }
  const std::uint32_t operations = std::max<std::uint32_t>(1, request.operations);
  s_.counters.atomics += operations;
  const std::uint32_t rounds = request.rounds != 0 ? request.rounds : operations;
  if (atomics_per_cycle_ != 0) {
    start = std::max(start, atomic_free_);
    atomic_free_ = start + (rounds + atomics_per_cycle_ - 1) / atomics_per_cycle_;
  }
  atomics_.push_back({start + std::uint64_t{rounds} * atomic_interval_, index});
  ++s_.atomics;
}

void Slice::finish_atomics(std::uint64_t tick) {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < atomics_.size(); ++i) {
    const Atomic atomic = atomics_[i];
    if (atomic.finish > tick) {
      atomics_[kept++] = atomic;
    } else if (s_.pool[atomic.request].wants_reply) {
      reply(atomic.request, tick);
    } else {
      s_.pool.release(atomic.request);
    }
  }
  s_.atomics -= static_cast<std::uint32_t>(atomics_.size() - kept);
  atomics_.resize(kept);
}

// --- to the network -------------------------------------------------------------------------------

inline bool Slice::output_full(std::uint64_t tick) {
  if (sending_.size() + unsent_.size() + atomics_.size() < output_capacity_) return false;
  const Cycle now = s_.l2_clock.to_core(tick);
  while (!sending_.empty() && sending_.front() <= now) sending_.pop();
  return sending_.size() + unsent_.size() + atomics_.size() >= output_capacity_;
}

void Slice::reply(RequestIndex index, std::uint64_t tick) {
  const Request& request = s_.pool[index];
  std::uint32_t bytes = 0;  // bytes of an acknowledgement
  std::uint8_t sectors = 0;
  if (request.kind == RequestKind::Atomic) {
    bytes = request.data_bytes;
    sectors = request.sectors;
  } else if (request.kind != RequestKind::Write) {
    sectors = request.sectors;
    bytes = units_bytes(sectors);
  }
  arch::MemReply answer;
  answer.tag = request.tag;
  answer.sm = request.sm;
  answer.kind = request.kind;
  answer.sectors = sectors & kAllSectors;
  answer.flits = s_.network.flits(bytes);
  const Asker asker{request.app, request.charged != 0 || request.kind == RequestKind::Write};
  s_.pool.release(index);
  GPUMUX_DCHECK(s_.owed > 0);
  --s_.owed;
  ++s_.counters.replies;
  ++s_.progress;
  const Cycle ready = s_.l2_clock.to_core(tick);
  if (unsent_.empty() && s_.reply_credits >= answer.flits) {
    send(answer, asker, ready);
  } else {
    unsent_.push({answer, asker, ready});
    note_wait(next_core_);
  }
}

inline void Slice::send(arch::MemReply answer, Asker asker, Cycle ready) {
  s_.reply_credits -= answer.flits;
  const noc::Port::Booking booking = injection_.inject(ready, answer.flits);
  answer.time = booking.last + s_.network.latency;
  s_.replies->push_back(answer);
  sending_.push(booking.first);
  if (ledger_) [[unlikely]]
    note_reply(asker, ready, booking.last);
}

void Slice::credits_came(Cycle now) {
  while (!unsent_.empty() && s_.reply_credits >= unsent_.front().reply.flits) {
    const Unsent unsent = unsent_.front();
    unsent_.pop();
    send(unsent.reply, unsent.asker, std::max(unsent.ready, now));
  }
  note_wait(now);
  if (output_.on && !sending_.empty()) wake(s_.l2_clock.tick_at(std::max(sending_.front(), now)));
}

// --- between windows ------------------------------------------------------------------------------

void Slice::preload(const noc::PartitionMap::Place& place, AppId app) {
  head_wants_room_ = head_is_absent_ = false;  // the head may find its line now
  const std::uint32_t set = s_.map.set_of(place.slice_line, app);
  std::uint32_t way = tags_.find(set, place.slice_line, app);
  if (way == kNoWay) {
    way = tags_.clean_victim(set);
    if (way == kNoWay) return;
    displace(way, app);
    tags_.install(way, place.slice_line, app);
  } else if (tags_.line(way).mshr != kNoMshr) {
    return;
  }
  tags_.line(way).valid = kAllSectors;
  tags_.touch(way);
}

void Slice::prefetch_queues() const {
  approach_.prefetch();
  fills_.prefetch();
  misses_.prefetch();
  sending_.prefetch();
  mshrs_.prefetch_free();
}

void Slice::prefetch_heads(Cycle end) const {
  const std::uint64_t limit = s_.l2_clock.tick_at(end);
  for (std::uint32_t i = 0; i < kHeads && i < approach_.input() && approach_[i].time < limit; ++i) {
    prefetch_head(approach_[i]);
  }
  for (std::uint32_t i = 0; i < fills_.size() && fills_[i].tick < limit; ++i) mshrs_.prefetch(fills_[i].mshr);
}

void Slice::prefetch_fills(Cycle end) const {
  const std::uint64_t limit = s_.l2_clock.tick_at(end);
  for (std::uint32_t i = 0; i < fills_.size() && fills_[i].tick < limit; ++i) {
    const Mshr& entry = mshrs_[fills_[i].mshr];
    if (!entry.waiters.empty()) s_.pool.prefetch(entry.waiters.front());
    if (entry.way != kNoWay) tags_.prefetch_way(entry.way);
  }
}

bool Slice::settle_stalls(Cycle now) {
  const bool waits_outside = crowded();
  if (waits_outside && now > crowded_since_) count_crowded(now);
  if (!reservation_.on && !controller_.on && !output_.on) return waits_outside;
  const std::uint64_t tick = s_.l2_clock.tick_at(now);
  const auto settle = [&](Stall& stalled, std::uint64_t& counter) {
    if (!stalled.on || stalled.since >= tick) return;
    counter += tick - stalled.since;
    stalled.since = tick;
  };
  settle(reservation_, s_.counters.l2_reservation_failures);
  settle(controller_, s_.counters.stall_controller);
  settle(output_, s_.counters.stall_network);
  return true;
}

bool Slice::idle() const {
  return approach_.empty() && misses_.empty() && fills_.empty() && ready_.empty() && atomics_.empty() &&
         unsent_.empty() && victims_.empty() && mshrs_.used() == 0;
}

std::uint32_t Slice::units(std::uint8_t sectors) const {
  return sectored_ ? static_cast<std::uint32_t>(std::popcount(sectors)) : 1;
}

std::uint32_t Slice::units_bytes(std::uint8_t sectors) {
  return static_cast<std::uint32_t>(std::popcount(sectors)) * kSectorBytes;
}

std::uint32_t Slice::beats(std::uint32_t bytes) const {
  return std::max(1U, (bytes + port_bytes_ - 1) / port_bytes_);
}

}  // namespace gpumux::l2
