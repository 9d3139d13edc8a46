#include "cpu/core.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/error.hpp"

namespace gpumux::cpu {
namespace {

/// Checks the configuration before the caches are constructed from it.
const CpuConfig& checked(const CpuConfig& config) {
  check(config);
  return config;
}

/// Size of the outbox. A fill evicts at most one line from L2, and its victim in L1 at most another one. At
/// most one fill per MSHR is in flight, and a miss is accepted only while the outbox has a place.
std::uint32_t most_in_outbox(const CpuConfig& config) { return config.outbox + 3 * config.mshrs; }

constexpr std::uint8_t kWeaklyTaken = 2;  // counters are 0..3

[[nodiscard]] unsigned age(unsigned slot, unsigned head) { return (slot - head) % kSlots; }

/// The 8-byte word by which stores and loads are compared.
[[nodiscard]] std::uint64_t word_of(std::uint64_t address) { return address >> 3U; }
[[nodiscard]] std::size_t bucket_of(std::uint64_t word) { return (word * 0x9e37'79b9'7f4a'7c15ULL) >> 56U; }

}  // namespace

Core::Core(const CpuConfig& config, std::unique_ptr<TraceSource> source, std::uint64_t first_line)
    : config_(checked(config)),
      source_(std::move(source)),
      regions_(first_line),
      l1_(config.l1),
      l2_(config.l2),
      predictor_(config.predictor_bits == 0 ? 0 : std::size_t{1} << config.predictor_bits, kWeaklyTaken),
      mshrs_(config.mshrs),
      free_mshrs_(~std::uint64_t{0} >> (64 - config.mshrs)),
      reads_(config.mshrs),
      writes_(most_in_outbox(config)),
      replies_(config.mshrs),
      freed_(most_in_outbox(config)) {
  writer_.fill(kNoSlot);
  store_heads_.fill(kNoNode);
}

Cycle Core::limit(Cycle until, Cycle known) const {
  return unresolved_ == 0 ? until : std::min(until, std::max(known, first_unresolved_));
}

Cycle Core::run(Cycle until, Cycle known) {
  while (now_ < limit(until, known)) {
    step();
    counters_.cycles = ++now_;
    if (counters_.instructions >= watch_) {
      watch_ = ~std::uint64_t{0};
      watched_ = counters_;
    }
    if (skips_ && idle()) {
      const Cycle to = std::min(next_event(), limit(until, known));
      if (to > now_) {
        count_stalls(to - now_);
        counters_.cycles = now_ = to;
      }
    }
  }
  return now_;
}

Cycle Core::next() const { return idle() ? next_event() : now_; }

void Core::watch(std::uint64_t instructions) {
  watch_ = instructions;
  watched_.reset();
}

std::uint32_t Core::mshrs_in_use() const {
  return config_.mshrs - static_cast<std::uint32_t>(std::popcount(free_mshrs_));
}

/// True if no instruction can enter the window, and those in the window wait for data, an MSHR
/// or a place in the outbox.
bool Core::idle() const {
  return (count_ == config_.window || redirecting()) && (alu_ready_ | executing_).empty() &&
         memory_candidates().empty() && !completed_.has(head_);
}

Cycle Core::next_due(std::uint64_t due, Cycle from) {
  if (due == 0) return kNever;
  return from + static_cast<unsigned>(std::countr_zero(std::rotr(due, static_cast<int>(from % kRing))));
}

Cycle Core::next_event() const {
  Cycle next = std::min(next_due(l1_due_, now_), next_due(l2_due_, now_));
  if (mispredicted_ == kNoSlot && now_ < resume_) next = std::min(next, resume_);
  if (!replies_.empty()) next = std::min(next, replies_.front().cycle);
  if (!freed_.empty()) next = std::min(next, freed_.front());
  return next;
}

void Core::step() {
  arrivals();
  retire();
  issue();
  dispatch();
}

void Core::arrivals() {
  while (!replies_.empty() && replies_.front().cycle == now_) {
    const std::uint32_t id = replies_.front().id;
    replies_.pop();
    --outstanding_;
    ++counters_.replies;
    counters_.memory_latency += now_ - mshrs_[id].cycle;
    l2_victim(l2_.fill(mshrs_[id].line, false));
    fill(id);
  }
  for (; !freed_.empty() && freed_.front() <= now_; freed_.pop()) --in_outbox_;
  const unsigned place = now_ % kRing;
  const std::uint64_t bit = std::uint64_t{1} << place;
  if ((l2_due_ & bit) != 0) {
    l2_due_ &= ~bit;
    fill(l2_mshr_[place]);
  }
  if ((l1_due_ & bit) != 0) {
    l1_due_ &= ~bit;
    load_done(l1_slot_[place]);
  }
  const SlotMask executed = std::exchange(executing_, {});
  executed.each([this](unsigned slot) { complete(slot); });
}

void Core::fill(unsigned mshr) {
  Mshr& entry = mshrs_[mshr];
  if (const Cache::Victim victim = l1_.fill(entry.line, entry.dirty); victim.dirty) {
    ++counters_.l1_writebacks;
    // L2 may no longer have the line. The victim is complete, so nothing is read into L2.
    if (!l2_.touch(victim.line, true)) l2_victim(l2_.fill(victim.line, true));
  }
  for (std::uint16_t node = entry.waiters; node != kNoNode; node = waiter_next_[node]) {
    const unsigned slot = node / kMostLoads;
    if (looked_up_[node] <= now_) {
      load_done(slot);
    } else {  // the line arrived during the lookup in L1
      load_at(looked_up_[node], slot);
    }
  }
  free_mshrs_ |= std::uint64_t{1} << mshr;
}

void Core::l2_victim(const Cache::Victim& victim) {
  if (!victim.dirty) return;
  ++counters_.l2_writebacks;
  writes_.push({victim.line, now_, 0, true});
  ++in_outbox_;
  unresolved(1, now_);
}

void Core::unresolved(unsigned count, Cycle cycle) {
  first_unresolved_ = unresolved_ == 0 ? cycle : std::min(first_unresolved_, cycle);
  unresolved_ += count;
}

void Core::load_done(unsigned slot) {
  Slot& s = slots_[slot];
  if (--s.outstanding > 0 || s.issued < s.loads) return;
  if (s.stores > 0) {
    memory_ready_.add(slot);
  } else {
    complete(slot);
  }
}

void Core::complete(unsigned slot) {
  completed_.add(slot);
  if (slot == mispredicted_) {
    mispredicted_ = kNoSlot;
    resume_ = now_ + config_.redirect;
  }
  slots_[slot].consumers.each([this](unsigned consumer) {
    if (--slots_[consumer].pending == 0) ready(consumer);
  });
}

void Core::ready(unsigned slot) { (slots_[slot].operands() > 0 ? memory_ready_ : alu_ready_).add(slot); }

void Core::retire() {
  for (unsigned i = 0; i < config_.width && count_ > 0 && completed_.has(head_); ++i) {
    const Slot& s = slots_[head_];
    completed_.remove(head_);
    ++counters_.instructions;
    counters_.loads += s.loads;
    counters_.stores += s.stores;
    counters_.branches += static_cast<std::uint64_t>(s.branch);
    for (const std::uint8_t reg : s.destinations) {
      if (writer_[reg] == head_) writer_[reg] = kNoSlot;
    }
    if (config_.forward_stores) {
      for (unsigned store = 0; store < s.stores; ++store) {  // the oldest store of its chain, hence the last
        const auto node = static_cast<std::uint16_t>(head_ * 2 + store);
        std::uint16_t* link = &store_heads_[bucket_of(store_words_[node])];
        while (*link != node) link = &store_next_[*link];
        *link = store_next_[node];
      }
    }
    head_ = (head_ + 1) % kSlots;
    --count_;
  }
}

SlotMask Core::memory_candidates() const {
  SlotMask candidates = memory_ready_;
  if (free_mshrs_ != 0) candidates = candidates | wait_mshr_;
  if (in_outbox_ < config_.outbox) candidates = candidates | wait_outbox_;
  return candidates;
}

void Core::issue() {
  unsigned memory = memory_candidates().oldest(head_);
  for (unsigned left = config_.width; left > 0; --left) {
    const unsigned alu = alu_ready_.oldest(head_);
    if (memory != kNoSlot && (alu == kNoSlot || age(memory, head_) < age(alu, head_))) {
      issue_operand(memory);
      memory = kNoSlot;
    } else if (alu != kNoSlot) {
      alu_ready_.remove(alu);
      executing_.add(alu);
    } else {
      return;
    }
  }
}

void Core::issue_operand(unsigned slot) {
  Slot& s = slots_[slot];
  memory_ready_.remove(slot);
  wait_mshr_.remove(slot);
  wait_outbox_.remove(slot);
  const unsigned operand = s.issued;
  if ((s.forwarded >> operand & 1U) != 0) {
    ++counters_.forwarded_loads;
    load_at(now_ + config_.l1.latency, slot);
  } else if (!access(slot, operand)) {
    return;
  }
  ++s.issued;
  if (operand < s.loads) ++s.outstanding;
  if (s.issued < s.loads || (s.outstanding == 0 && s.issued < s.operands())) {
    memory_ready_.add(slot);
  } else if (s.outstanding == 0) {
    executing_.add(slot);  // the last store
  }
}

void Core::load_at(Cycle cycle, unsigned slot) {
  const unsigned place = cycle % kRing;
  l1_due_ |= std::uint64_t{1} << place;
  l1_slot_[place] = static_cast<std::uint8_t>(slot);
}

bool Core::access(unsigned slot, unsigned operand) {
  Slot& s = slots_[slot];
  const std::uint64_t line = s.lines[operand];
  const bool store = operand >= s.loads;
  if (l1_.touch(line, store)) {
    ++counters_.l1_accesses;
    if (!store) load_at(now_ + config_.l1.latency, slot);
    return true;
  }
  unsigned mshr = 0;
  std::uint64_t used = ~free_mshrs_ & (~std::uint64_t{0} >> (64 - config_.mshrs));
  for (; used != 0; used &= used - 1) {
    mshr = static_cast<unsigned>(std::countr_zero(used));
    if (mshrs_[mshr].line == line) break;
  }
  if (used != 0) {
    ++counters_.l1_merges;
  } else {
    if (free_mshrs_ == 0) {
      wait_mshr_.add(slot);
      return false;
    }
    if (in_outbox_ >= config_.outbox) {
      wait_outbox_.add(slot);
      return false;
    }
    ++counters_.l1_misses;
    mshr = static_cast<unsigned>(std::countr_zero(free_mshrs_));
    free_mshrs_ &= free_mshrs_ - 1;
    const Cycle cycle = now_ + config_.l1.latency + config_.l2.latency;
    const bool hit = l2_.touch(line, false);
    mshrs_[mshr] = {line, cycle, kNoNode, false, hit ? Mshr::From::L2 : Mshr::From::Memory};
    if (hit) {
      l2_due_ |= std::uint64_t{1} << (cycle % kRing);
      l2_mshr_[cycle % kRing] = static_cast<std::uint8_t>(mshr);
    } else {
      ++counters_.l2_misses;
      ++outstanding_;
      ++in_outbox_;
      reads_.push({line, cycle, mshr, false});
      unresolved(2, cycle);  // one event to take the request, one to answer it
    }
  }
  ++counters_.l1_accesses;
  if (store) {
    mshrs_[mshr].dirty = true;
  } else {
    const auto node = static_cast<std::uint16_t>(slot * kMostLoads + operand);
    looked_up_[node] = now_ + config_.l1.latency;
    waiter_next_[node] = mshrs_[mshr].waiters;
    mshrs_[mshr].waiters = node;
  }
  return true;
}

void Core::dispatch() {
  const unsigned count = std::min(config_.width, config_.window - count_);
  if (count == 0 || redirecting()) {
    count_stalls(1);
    return;
  }
  for (unsigned i = 0; i < count; ++i) {
    if (records_.empty()) records_ = source_->next();
    enter(records_.front(), (head_ + count_) % kSlots);
    records_ = records_.subspan(1);
    ++count_;
    if (mispredicted_ != kNoSlot) return;
  }
}

void Core::count_stalls(Cycle cycles) {
  if (count_ < config_.window) {
    counters_.stalled_by_branches += cycles;
  } else if (wait_mshr_.has(head_)) {
    counters_.stalled_by_mshrs += cycles;
  } else if (wait_outbox_.has(head_)) {
    counters_.stalled_by_outbox += cycles;
  } else if (slots_[head_].outstanding > 0) {
    counters_.stalled_by_load += cycles;
  } else {
    counters_.stalled_by_rest += cycles;
  }
}

void Core::depend(unsigned slot, unsigned producer) {
  if (completed_.has(producer) || slots_[producer].consumers.has(slot)) return;
  slots_[producer].consumers.add(slot);
  ++slots_[slot].pending;
}

void Core::enter(const Record& record, unsigned slot) {
  Slot& s = slots_[slot];
  s.consumers = {};
  s.pending = 0;
  s.issued = 0;
  s.outstanding = 0;
  s.branch = record.is_branch != 0;
  // No instruction waits for the instruction pointer, because it is predicted.
  bool reads_other = false;
  for (const std::uint8_t reg : record.source_registers) {
    if (reg == 0 || reg == kInstructionPointer) continue;
    reads_other |= reg != kStackPointer && reg != kFlags;
    if (writer_[reg] != kNoSlot) depend(slot, writer_[reg]);
  }
  enter_operands(record, slot);
  // As in ChampSim: no instruction waits for the stack pointer of a push, pop, call or
  // return, or of a constant change.
  const bool folds = config_.fold_stack_pointer && (s.branch || s.operands() > 0 || !reads_other);
  for (unsigned i = 0; i < s.destinations.size(); ++i) {
    const std::uint8_t reg = record.destination_registers[i];
    const bool known = reg == 0 || reg == kInstructionPointer || (reg == kStackPointer && folds);
    s.destinations[i] = known ? std::uint8_t{0} : reg;
    if (!known) writer_[reg] = static_cast<std::uint8_t>(slot);
  }
  if (s.pending == 0) ready(slot);
  if (s.branch && !predictor_.empty()) predict(record, slot);
}

void Core::predict(const Record& record, unsigned slot) {
  std::uint8_t& counter = predictor_[(record.ip ^ history_) & (predictor_.size() - 1)];
  const bool taken = record.branch_taken != 0;
  if (taken != (counter >= kWeaklyTaken)) {
    ++counters_.mispredictions;
    mispredicted_ = slot;
  }
  counter = static_cast<std::uint8_t>(taken ? std::min(counter + 1, 3) : std::max(counter - 1, 0));
  history_ = history_ << 1U | static_cast<std::uint64_t>(taken);
}

void Core::enter_operands(const Record& record, unsigned slot) {
  Slot& s = slots_[slot];
  s.loads = 0;
  s.stores = 0;
  s.forwarded = 0;
  for (const std::uint64_t address : record.source_memory) {
    if (address == 0) continue;
    if (config_.forward_stores) {
      const std::uint64_t word = word_of(address);
      std::uint16_t node = store_heads_[bucket_of(word)];
      while (node != kNoNode && store_words_[node] != word) node = store_next_[node];
      if (node != kNoNode) {
        depend(slot, node / 2U);
        s.forwarded = static_cast<std::uint8_t>(s.forwarded | 1U << s.loads);
      }
    }
    s.lines[s.loads++] = regions_.line(address);
  }
  for (const std::uint64_t address : record.destination_memory) {
    if (address == 0) continue;
    if (config_.forward_stores) {
      const std::uint64_t word = word_of(address);
      const auto node = static_cast<std::uint16_t>(slot * 2 + s.stores);
      std::uint16_t& first = store_heads_[bucket_of(word)];
      store_words_[node] = word;
      store_next_[node] = first;
      first = node;
    }
    s.lines[s.loads + s.stores] = regions_.line(address);
    ++s.stores;
  }
}

const Request* Core::front() const {
  const bool read = !reads_.empty() && (writes_.empty() || reads_.front().cycle <= writes_.front().cycle);
  if (!read && writes_.empty()) return nullptr;
  const Request* request = read ? &reads_.front() : &writes_.front();
  return request->cycle < now_ ? request : nullptr;
}

Cycle Core::next_request() const {
  return std::min(reads_.empty() ? kNever : reads_.front().cycle,
                  writes_.empty() ? kNever : writes_.front().cycle);
}

void Core::take(Cycle freed) {
  const Request* request = front();
  GPUMUX_CHECK(request != nullptr && freed >= now_ && freed >= last_freed_);
  last_freed_ = freed;
  freed_.push(freed);
  --unresolved_;
  if (request->write) {
    writes_.pop();
  } else {
    mshrs_[request->id].from = Mshr::From::MemoryTaken;
    reads_.pop();
  }
}

void Core::reply(std::uint32_t id, Cycle cycle) {
  GPUMUX_CHECK(id < mshrs_.size() && mshrs_[id].from == Mshr::From::MemoryTaken);
  GPUMUX_CHECK(cycle >= now_ && cycle > mshrs_[id].cycle && cycle >= last_reply_);
  last_reply_ = cycle;
  mshrs_[id].from = Mshr::From::MemoryAnswered;
  replies_.push({cycle, id});
  --unresolved_;
}

}  // namespace gpumux::cpu
