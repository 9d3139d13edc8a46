#include "l2/partition.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>

#include "base/error.hpp"
#include "base/huge_pages.hpp"
#include "base/prefetch.hpp"
#include "l2/slice.hpp"
#include "l2/time_wheel.hpp"

namespace gpumux::l2 {

namespace {

// Properties that MemRequest and Request declare in the same order, from `kernel` to `flits`:
// eight bytes, copied at once.
constexpr std::size_t kProperties = 8;
static_assert(offsetof(MemRequest, data_bytes) - offsetof(MemRequest, kernel) == kProperties - 2);
static_assert(offsetof(Request, data_bytes) - offsetof(Request, kernel) == kProperties - 2);
static_assert(offsetof(MemRequest, app) - offsetof(MemRequest, kernel) ==
              offsetof(Request, app) - offsetof(Request, kernel));
static_assert(offsetof(MemRequest, kind) - offsetof(MemRequest, kernel) ==
              offsetof(Request, kind) - offsetof(Request, kernel));
static_assert(offsetof(MemRequest, sectors) - offsetof(MemRequest, kernel) ==
              offsetof(Request, sectors) - offsetof(Request, kernel));
static_assert(offsetof(MemRequest, operations) - offsetof(MemRequest, kernel) ==
              offsetof(Request, operations) - offsetof(Request, kernel));
static_assert(offsetof(MemRequest, rounds) - offsetof(MemRequest, kernel) ==
              offsetof(Request, rounds) - offsetof(Request, kernel));

void copy_properties(Request& request, const MemRequest& message) {
  std::memcpy(reinterpret_cast<std::byte*>(&request) + offsetof(Request, kernel),
              reinterpret_cast<const std::byte*>(&message) + offsetof(MemRequest, kernel), kProperties);
}

// Prefetches the cache lines of some members. Small members next to them are in the same cache lines.
template <typename... Members>
[[gnu::always_inline]] inline void prefetch_members(const Members&... members) {
  (prefetch_lines(&members, &members + 1), ...);
}

}  // namespace

struct Partition::State {
  static void* operator new(std::size_t bytes) { return huge_page_allocate(bytes); }
  static void operator delete(void* state) noexcept { huge_page_free(state, sizeof(State)); }
  static constexpr Cycle kFar = Cycle{1} << 40U;  // clock conversions are exact below this cycle
  static constexpr Cycle kLongestWheel = 4096;
  static constexpr Cycle kPrefetched = 8;  // cycles at the start of a run whose data is prefetched
  State(const arch::MachineConfig& config, PartitionId id, const noc::PartitionMap& map)
      : shared(config, id, map),
        fixed_latency(config.dram.fixed_latency),
        slice_count(config.l2.slices_per_partition),
        reply_flits(shared.network.flits(kLineBytes)),
        latency(config.l2.latency),
        fast(config.clocks.l2 > config.clocks.core),
        // Enough for what an SM or a slice sends at once. Messages further ahead wait in the mailbox.
        arrivals(static_cast<std::uint32_t>(4 * shared.network.latency +
                                            std::min(shared.l2_clock.to_core(latency), kLongestWheel)) +
                 128),
        credits(arrivals.span()) {
    slices.reserve(config.l2.slices_per_partition);
    for (std::uint32_t i = 0; i < config.l2.slices_per_partition; ++i) slices.emplace_back(config, i, shared);
  }

  Cycle read_mailbox(arch::PartitionMailbox& mailbox, Cycle begin);
  /// Lets the requests that arrive before `end` enter, as far as there is room.
  void enter(Cycle end);
  [[nodiscard]] bool nobody_waits_outside() const {
    return std::none_of(slices.begin(), slices.end(), [](const Slice& slice) { return slice.crowded(); });
  }
  /// Before this cycle, nothing behind the pipeline depends on requests that have not entered.
  [[nodiscard]] Cycle horizon() const {
    return shared.l2_clock.to_core(shared.l2_clock.tick_at(shared.entered) + latency - 1);
  }
  /// Processes all events of slices and DRAM before `end`, or up to the first event for which
  /// credits may be missing. Credits that come before `complete` are known. Sets `done` and returns
  /// the time of the next event.
  Cycle run_events(Cycle end, Cycle complete);
  [[nodiscard]] Cycle stop_at(Cycle now, Cycle end, Cycle complete) const;
  [[nodiscard]] Cycle next_event() const;
  [[nodiscard]] Cycle channel_cycle();
  void step(Cycle now);
  template <typename Condition>
  void step_slices(Cycle now, Condition condition);
  bool run_channel(dram::Tick limit);
  [[nodiscard]] dram::Tick dram_tick(Cycle cycle) const {  // first tick in the cycle or later
    return cycle >= kFar ? dram::kNoTick : static_cast<dram::Tick>(shared.dram_clock.tick_at(cycle));
  }
  void take_credits();
  Cycle run(arch::PartitionMailbox& mailbox, Cycle begin, Cycle complete, Cycle end);
  Slice& wake_stalled_slice();

  Shared shared;
  Cycle fixed_latency;
  HugePageVector<Slice> slices;
  std::uint32_t slice_count;
  std::uint32_t reply_flits;  // flits of the largest reply
  std::uint32_t latency;      // pipeline in front of the tags, L2 cycles
  bool fast;                  // true: a core cycle may hold several L2 cycles, and the
                              // partition does not run ahead
  Cycle done = 0;             // slices and channel are simulated up to this cycle
  Cycle stepped = 0;          // last cycle of step(), plus one
  Arrivals arrivals;
  CreditWheel credits;
  std::uint32_t first_for_credits = 0;
  dram::Tick channel_tick = dram::kNoTick;  // tick for which channel_core is valid
  Cycle channel_core = kNever;
};

Partition::Partition(const arch::MachineConfig& config, PartitionId id, const noc::PartitionMap& map)
    : state_(std::make_unique<State>(config, id, map)),
      slices_(state_->slices.data()),
      slice_count_(state_->slice_count) {
  state_->shared.replies = &mailbox_.out;
  state_->shared.credits = &mailbox_.credits_out;
}

Partition::~Partition() = default;

// Takes the messages and credits within the wheels' span. Returns the time of the earliest message left.
Cycle Partition::State::read_mailbox(arch::PartitionMailbox& mailbox, Cycle begin) {
  while (credits.next() < begin) take_credits();
  const Cycle limit = begin + arrivals.span();
  Cycle left = kNever;
  std::size_t kept = 0;
  for (const MemRequest& message : mailbox.in) {
    if (message.time >= limit) {
      left = std::min(left, message.time);
      mailbox.in[kept++] = message;
      continue;
    }
    GPUMUX_DCHECK(message.time >= begin);
    GPUMUX_DCHECK(message.partition == shared.id && message.sectors != 0);
    const noc::PartitionMap::Place place = shared.map.locate(message.line);
    const RequestIndex index = shared.pool.take();
    Request& request = shared.pool[index];
    GPUMUX_DCHECK(message.line >= first_line_of(message.app) &&
                  message.line - first_line_of(message.app) < first_line_of(0));
    const std::uint32_t set = shared.map.set_of(place.slice_line, message.app);
    const bool carries_data = message.kind == RequestKind::Write || message.kind == RequestKind::Atomic;
    if (message.wants_reply || !carries_data) ++shared.owed;
    copy_properties(request, message);
    request.slice_line = place.slice_line;
    request.time = std::max(message.time, begin);
    request.tag = message.tag;
    request.sm = message.sm;
    request.set = set;
    request.slice = place.slice;
    arrivals.add(shared.pool, index);
  }
  mailbox.in.resize(kept);
  kept = 0;
  for (const Credit& credit : mailbox.credits_in) {
    if (credit.time >= limit) {
      left = std::min(left, credit.time);
      mailbox.credits_in[kept++] = credit;
      continue;
    }
    GPUMUX_DCHECK(credit.time >= begin);
    credits.add(std::max(credit.time, begin), credit.flits);
  }
  mailbox.credits_in.resize(kept);
  return left;
}

// The next cycle with an event of a slice, or with credits for which a slice waits.
Cycle Partition::State::next_event() const {
  Cycle next = std::min(shared.next[0], shared.next[1]);  // most machines have at most two slices
  for (std::uint32_t i = 2; i < slice_count; ++i) next = std::min(next, shared.next[i]);
  // Credits for which no slice waits are taken with the next event.
  if (shared.waiting_slices != 0 && credits.next() < shared.complete) next = std::min(next, credits.next());
  return next;
}

void Partition::State::enter(Cycle end) {
  while (arrivals.next() < end) {
    for (RequestIndex index = arrivals.take(); index != kNoRequest;) {
      const Request& request = shared.pool[index];
      const RequestIndex next = request.next;
      slices[request.slice].arrive(index);
      index = next;
    }
  }
  for (Slice& slice : slices) slice.settle_entrance(end);
  shared.entered = std::max(shared.entered, end);
}

inline void Partition::State::step(Cycle now) {
  while (credits.next() < shared.complete && credits.next() <= now) take_credits();
  if (fast) {
    // Step the first of several L2 cycles. The other L2 cycles are later events in this core cycle.
    std::uint64_t tick = ~std::uint64_t{0};
    for (std::uint32_t i = 0; i < slice_count; ++i) {
      if (shared.next[i] == now) tick = std::min(tick, slices[i].next_tick());
    }
    step_slices(now, [tick](const Slice& slice) { return slice.next_tick() == tick; });
  } else {
    step_slices(now, [](const Slice&) { return true; });
  }
  stepped = now + 1;
}

/// Steps the slices that have an event at `now`. The slice after the one that used the channel last goes
/// first.
template <typename Condition>
inline void Partition::State::step_slices(Cycle now, Condition condition) {
  std::uint32_t i = shared.last_to_dram;
  for (std::uint32_t n = 0; n < slice_count; ++n) {
    if (++i >= slice_count) i = 0;
    if (shared.next[i] == now && condition(slices[i])) slices[i].step();
  }
}

// The cycle at which run_events() must stop. Where later credits are not known, slices go on as long as their
// credits suffice for all that one cycle may send.
inline Cycle Partition::State::stop_at(Cycle now, Cycle end, Cycle complete) const {
  if (now < complete) return end;
  if (shared.waiting_slices != 0) return std::min(end, std::max(complete, stepped));
  const std::uint32_t most = (2 * slice_count + shared.atomics) * reply_flits;
  return shared.reply_credits < most ? std::min(end, now) : end;
}

Cycle Partition::State::run_events(Cycle end, Cycle complete) {
  const dram::Channel& channel = shared.channel;
  const dram::Tick end_tick = dram_tick(end);
  shared.end = end;
  while (true) {
    Cycle now = next_event();
    Cycle stop = stop_at(now, end, complete);
    // The channel's commands of a cycle come before the slices' events of that cycle. No slice
    // pushes a request into the channel before `now`, or while the channel is full, so the
    // channel may be simulated ahead.
    while (channel.next() < end_tick) {
      const bool ahead = channel.full() || now >= stop;
      if (!ahead && channel_cycle() > now) break;
      const dram::Tick limit = !ahead ? dram_tick(now + 1) : stop == end ? end_tick : dram_tick(stop);
      if (!run_channel(limit)) break;
      now = next_event();
      stop = stop_at(now, end, complete);
    }
    if (now >= stop) {
      done = std::max(done, stop);
      return stop < end || shared.waiting_slices != 0 ? stop : std::min(now, channel_cycle());
    }
    step(now);
  }
}

// The core cycle of the channel's next command. Cached, because the command changes less often
// than this function is called.
Cycle Partition::State::channel_cycle() {
  const dram::Tick tick = shared.channel.next();
  if (tick != channel_tick) {
    channel_tick = tick;
    channel_core =
        tick == dram::kNoTick ? kNever : shared.dram_clock.to_core(static_cast<std::uint64_t>(tick));
  }
  return channel_core;
}

void Partition::prefetch() const {
  const State& s = *state_;
  const Shared& shared = s.shared;
  prefetch_members(shared.network, shared.l2_clock, shared.dram_clock, shared.pool, shared.channel,
                   shared.counters, shared.of_app[0], shared.replies);
  prefetch_lines(shared.next.data(), shared.next.data() + slice_count_);
  prefetch_members(s.fixed_latency, s.arrivals, s.credits, s.channel_tick);
  prefetch_lines(slices_, slices_ + slice_count_);
  constexpr std::size_t kMessages = 8;  // the host's hardware prefetcher fetches further messages
  prefetch_lines(mailbox_.in.data(), mailbox_.in.data() + std::min(mailbox_.in.size(), kMessages));
  __builtin_prefetch(mailbox_.out.data(), 1);
  __builtin_prefetch(mailbox_.credits_out.data(), 1);
}

void Partition::prefetch_further() const {
  const State& s = *state_;
  s.shared.channel.prefetch();
  for (const Slice& slice : s.slices) slice.prefetch_queues();
}

Cycle Partition::State::run(arch::PartitionMailbox& mailbox, Cycle begin, Cycle complete, Cycle end) {
  for (const Slice& slice : slices) slice.prefetch_heads(std::min(end, begin + kPrefetched));
  // Credits may have arrived while nothing was to be done. Each cycle with credits counts (take_credits()).
  Cycle first = std::min(begin, credits.next());
  for (const Credit& credit : mailbox.credits_in) first = std::min(first, credit.time);
  shared.entered = std::max(shared.entered, first);
  done = std::max(done, begin);
  Cycle next = kNever;
  do {
    const Cycle left = read_mailbox(mailbox, shared.entered);
    for (const Slice& slice : slices) slice.prefetch_fills(std::min(end, begin + kPrefetched));
    // Messages left in the mailbox may be due in a later part of a long window.
    const Cycle known = left < complete ? std::min(complete, shared.entered + arrivals.span()) : complete;
    const Cycle until = known < complete ? known : end;
    shared.complete = known;
    while (credits.next() < std::min(known, stepped)) take_credits();
    do {
      // If requests wait for room, the entrance must know when earlier requests have left the pipeline.
      enter(arrivals.next() >= known && nobody_waits_outside() ? known : std::min(known, done + 1));
      next = run_events(std::min(until, horizon()), known);
    } while (shared.entered < known);
    next = std::min(next, left);
  } while (shared.entered < complete);
  for (const Slice& slice : slices) next = std::min(next, slice.next_entry());
  return std::min(next, arrivals.next());
}

Cycle Partition::run(const engine::Grant& grant) {
  return state_->run(mailbox_, grant.begin, grant.messages, state_->fast ? grant.messages : grant.end);
}

Cycle Partition::done() const { return state_->done; }

Cycle Partition::lookahead(Cycle complete) const {
  const State& s = *state_;
  return s.shared.l2_clock.to_core(s.shared.l2_clock.tick_at(complete) + s.latency - 1);
}

void Partition::settle(Cycle now) {
  for (Slice& slice : state_->slices) slice.settle_stalls(now);
  state_->shared.controller_full.count(now);
  state_->shared.network_full.count(now);
}

Cycle Partition::run(Cycle begin, Cycle end) {
  const Cycle next = run({.begin = begin, .end = end, .messages = end});
  bool stalled = false;
  for (Slice& slice : state_->slices) stalled |= slice.settle_stalls(end);
  state_->shared.controller_full.count(end);
  state_->shared.network_full.count(end);
  // A stalled slice is run in each window, so that its stall counters are always up to date.
  return stalled ? end : next;
}

// Issues the channel's commands before `limit`, until a request is complete or a slice may find a place in
// the queue. Returns true in these cases, because a slice may then have an earlier event.
bool Partition::State::run_channel(dram::Tick limit) {
  dram::Channel& channel = shared.channel;
  const bool was_full = channel.full();
  dram::Channel::Completion completion;
  if (!channel.run(limit, completion, shared.stalled_slices != 0)) return false;
  ++shared.progress;
  if (completion.sectors != 0) {
    const Cycle at = shared.dram_clock.to_core(static_cast<std::uint64_t>(completion.end)) + fixed_latency;
    const Cycle taken = slices[completion.token >> 16U].fill_from(
        static_cast<std::uint16_t>(completion.token), completion.sectors, at);
    channel.release_return(static_cast<dram::Tick>(shared.dram_clock.tick_at(taken)));
  }
  if (channel.full()) return true;
  if (was_full) shared.channel_room = shared.dram_clock.to_core(static_cast<std::uint64_t>(channel.last()));
  const Slice* woken = nullptr;
  for (std::uint32_t n = channel.freed(); n > 0 && shared.stalled_slices != 0; --n)
    woken = &wake_stalled_slice();
  // A woken slice takes the last place, unless other places are free.
  if (was_full) slices[shared.last_to_dram].foresee_stall(channel.room() == 1 ? woken : nullptr);
  return true;
}

// Wakes the first slice, in the order of service, that waits for a place in the channel's queue.
Slice& Partition::State::wake_stalled_slice() {
  const std::uint64_t after = shared.stalled_slices & (~std::uint64_t{1} << shared.last_to_dram);
  const auto i = static_cast<std::uint32_t>(std::countr_zero(after != 0 ? after : shared.stalled_slices));
  shared.stalled_slices &= ~(std::uint64_t{1} << i);
  slices[i].channel_freed(shared.dram_clock.to_core(static_cast<std::uint64_t>(shared.channel.last())));
  return slices[i];
}

void Partition::State::take_credits() {
  const Cycle now = credits.next();
  shared.reply_credits += credits.take();
  GPUMUX_DCHECK(shared.reply_credits <= shared.network.reply_credits);
  // If credits become known after their cycle, no slice waited for them at that cycle (stop_at()).
  if (shared.waiting_slices != 0 && now >= stepped) {
    // Slices take turns, since one slice may use all credits.
    for (std::uint32_t n = 0; n < slice_count; ++n) {
      const std::uint32_t i = first_for_credits + n;
      Slice& slice = slices[i < slice_count ? i : i - slice_count];
      if (slice.waits_for_credits()) slice.credits_came(now);
    }
  }
  if (++first_for_credits == slice_count) first_for_credits = 0;
}

void Partition::preload_line(std::uint64_t line, AppId app) {
  const noc::PartitionMap::Place place = state_->shared.map.locate(line);
  state_->slices[place.slice].preload(place, app);
}

arch::MemoryCounters Partition::counters(AppId app) const {
  arch::MemoryCounters counters = state_->shared.of_app[app];
  state_->shared.channel.count(app, counters);
  return counters;
}

arch::PartitionCounters Partition::counters() const {
  arch::PartitionCounters all = state_->shared.counters;
  state_->shared.channel.count(all);
  all.controller_full_cycles = state_->shared.controller_full.cycles();
  all.network_full_cycles = state_->shared.network_full.cycles();
  for (unsigned app = 0; app < kMaxApps; ++app) {
    const arch::MemoryCounters of = counters(static_cast<AppId>(app));
#define GPUMUX_FIELD(field, unit, description) all.field += of.field;
    GPUMUX_MEMORY_COUNTERS(GPUMUX_FIELD)
#undef GPUMUX_FIELD
  }
  return all;
}

arch::PairCounters Partition::counters(AppId victim, AppId culprit) const {
  arch::PairCounters counters = state_->shared.of_pair[victim][culprit];
  state_->shared.channel.count(victim, culprit, counters);
  return counters;
}

void Partition::add_busy_windows(AppId app, ledger::Busiest& busiest) const {
  for (const Slice& slice : state_->slices) busiest.add(slice.busy_windows(app));
}

std::uint64_t Partition::tag_waits(AppId app) const {
  std::uint64_t sum = 0;
  for (const Slice& slice : state_->slices) sum += slice.tag_waits(app);
  return sum;
}

void Partition::keep_ledger() {
  state_->shared.channel.keep_ledger();
  for (Slice& slice : state_->slices) slice.keep_ledger();
}

bool Partition::idle() const {
  const State& s = *state_;
  const bool idle =
      mailbox_.in.empty() && s.shared.pool.used() == 0 && s.shared.channel.size() == 0 &&
      std::all_of(s.slices.begin(), s.slices.end(), [](const Slice& slice) { return slice.idle(); });
  GPUMUX_DCHECK(!idle || s.shared.owed == 0);
  return idle;
}

std::size_t Partition::requests_inside() const {
  std::size_t inside = mailbox_.in.size() + state_->shared.pool.used();
  for (const Slice& slice : state_->slices) inside += slice.unsent_replies();
  return inside;
}

std::size_t Partition::answers_owed() const {
  std::size_t owed = state_->shared.owed;
  for (const MemRequest& message : mailbox_.in) {
    const bool carries_data =
        message.kind == arch::RequestKind::Write || message.kind == arch::RequestKind::Atomic;
    owed += message.wants_reply || !carries_data ? 1 : 0;
  }
  for (const Slice& slice : state_->slices) owed += slice.unsent_replies();
  return owed;
}

void Partition::check_drained() const {
  const Shared& shared = state_->shared;
  const auto check = [&](bool good, const char* what) {
    if (!good) throw InternalError(fmt::format("partition {}: {} leaked", shared.id, what));
  };
  check(requests_inside() == 0 && shared.owed == 0, "a request");
  check(shared.channel.size() == 0 && shared.channel.returns() == 0,
        "a place in a queue of the DRAM channel");
  for (const Slice& slice : state_->slices) {
    check(slice.idle(), "a request or MSHR of a slice");
    check(slice.pinned_lines() == 0, "a pinned line");
  }
  std::uint64_t credits = shared.reply_credits + state_->credits.sum();
  for (const Credit& credit : mailbox_.credits_in) credits += credit.flits;
  check(credits == shared.network.reply_credits, "reply credits");
}

std::string Partition::describe_waits() const {
  std::string text;
  for (const Slice& slice : state_->slices) text += slice.describe();
  return text + state_->shared.channel.describe(fmt::format("partition {}", state_->shared.id));
}

std::uint64_t Partition::progress() const { return state_->shared.progress; }

dram::Channel& Partition::channel() { return state_->shared.channel; }

}  // namespace gpumux::l2
