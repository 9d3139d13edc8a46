// One L2 slice with its two crossbar ports.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "arch/config.hpp"
#include "arch/messages.hpp"
#include "arch/statistics.hpp"
#include "base/huge_pages.hpp"
#include "dram/channel.hpp"
#include "l2/approach.hpp"
#include "l2/mshr.hpp"
#include "l2/request.hpp"
#include "l2/slice_ledger.hpp"
#include "l2/stall_time.hpp"
#include "l2/tags.hpp"
#include "noc/network.hpp"
#include "noc/partition_map.hpp"
#include "noc/port.hpp"

namespace gpumux::l2 {

/// What the slices of a partition share.
struct Shared {
  Shared(const arch::MachineConfig& config, PartitionId partition, const noc::PartitionMap& partition_map);

  PartitionId id;
  const noc::PartitionMap& map;
  noc::Network network;
  noc::Ticks l2_clock;
  noc::Ticks dram_clock;
  RequestPool pool;
  dram::Channel channel;             // may be ahead of the slices while it is full
  Cycle channel_room = 0;            // before this cycle it is full for them
  Cycle end = 0;                     // of what is being simulated
  Cycle complete = 0;                // all credits before this cycle are known
  Cycle entered = 0;                 // and the entrances have taken all requests that arrive before this one
  std::uint64_t waiting_slices = 0;  // Slice::waits_for_credits()
  std::uint64_t stalled_slices = 0;  // those that wait for a place in its queue and have no event for it
  std::uint32_t reply_credits;
  StallTime controller_full;         // a miss waits for a place in the channel's queue
  StallTime network_full;            // a reply waits for credits, or for a place of the output queue
  arch::PartitionCounters counters;  // those of no application
  std::array<arch::MemoryCounters, kMaxApps> of_app{};
  std::array<std::array<arch::PairCounters, kMaxApps>, kMaxApps> of_pair{};  // by victim and culprit
  HugePageVector<arch::MemReply>* replies = nullptr;                         // the partition's mailbox
  HugePageVector<arch::Credit>* credits = nullptr;
  std::uint64_t progress = 0;
  std::uint64_t owed = 0;          // replies that requests inside will still get
  std::uint32_t atomics = 0;       // in progress, of all slices
  std::uint32_t last_to_dram = 0;  // slice that gave the channel its last request
  std::array<Cycle, 64> next;      // of each, core cycle of step(); kNever: none without a message or DRAM
};

/// The stations of a request, in order: ejection port - entrance (output buffer of the port) - pipeline and
/// input queue - tags - hit: output queue; miss: MSHR, miss queue, DRAM, fill port, output queue - injection
/// port. All in L2 cycles, except for the ports.
///   - The pipeline is elastic: `latency` stages before the tags, then `input_queue` places; a request leaves
///     the ejection port for the entrance when these are full, and stays in the network when that is full
///     too.
///   - One tag access per L2 cycle, in order. Hits hold the data port for their bytes, fills the fill port.
///   - A hit's reply (or a write's acknowledgement) is in the output queue `latency` cycles after its
///     arrival, later by the cycles that the data port takes beyond the first. A fill frees its waiters one
///     per cycle.
///   - A read, or an atomic operation, waits for its sectors. A write never waits: one that covers its
///     sectors makes them valid, another one is kept beside the line and has its sectors fetched.
///   - An atomic instruction holds its place in the output queue while its operations are performed, in
///     rounds (workload/atomic_rounds.hpp), after those of earlier ones on the same line; the slice performs
///     so many rounds per cycle, of instructions in order: one that waits for its line holds up those behind
///     it.
///   - A place of the output queue is free again when the reply's first flit enters the injection port.
///   - Places, and with them the ports, are given ahead of their time: to a request when it arrives, to a
///     hit's reply when its tags are read.
///   - Lines count as used when their tags are read, and when they take their place.
///   - In an L2 cycle, in this order: fills, atomic instructions that end, one waiter that a fill has freed,
///     what fills have evicted to the miss queue, the tags, one miss to the channel.
class Slice {
 public:
  Slice(const arch::MachineConfig& config, std::uint32_t index, Shared& shared);

  /// From now on, before the first request, it keeps a ledger of who waits for whom.
  void keep_ledger();
  /// Of a slice that keeps one: for how long its tags, and what holds these up, were the application's own.
  [[nodiscard]] const std::vector<std::uint32_t>& busy_windows(AppId app) const {
    return ledger_->busy.of(app);
  }
  /// And for how long its requests have waited for the tags, in core cycles.
  [[nodiscard]] std::uint64_t tag_waits(AppId app) const { return ledger_->tag_waits[app]; }
  /// A request's last flit is at the ejection port at its `time`. In order of (time, SM). step() has been
  /// called for all L2 cycles before, or there is room whatever it does.
  void arrive(RequestIndex request);
  /// Lets into the entrance and the pipeline what finds room before core cycle `end`.
  void settle_entrance(Cycle end);
  /// Requests wait in the entrance or in the network.
  [[nodiscard]] bool crowded() const { return !approach_.all_in(); }
  /// The next cycle in which settle_entrance() can do something without another step.
  [[nodiscard]] Cycle next_entry() const {
    return crowded() && !departed_.empty() ? departed_.front() : kNever;
  }
  /// L2 cycle of step().
  [[nodiscard]] std::uint64_t next_tick() const { return next_tick_; }
  /// Everything of the L2 cycle that falls in core cycle Shared::next.
  void step();
  /// Data of a read, all at the L2's side of the channel at core cycle `at`. Returns the core cycle at which
  /// it leaves the return queue for the fill port.
  Cycle fill_from(std::uint16_t mshr, std::uint8_t sectors, Cycle at);
  /// Load into the host's cache, one after the other, what the cycles before `end` are likely to need: the
  /// fronts of the queues, what they name, what waits for the fills.
  void prefetch_queues() const;
  void prefetch_heads(Cycle end) const;
  void prefetch_fills(Cycle end) const;
  /// The channel's queue has a place again at core cycle `now`.
  void channel_freed(Cycle now);
  /// Replies lie here for want of credits, or for want of a place in the output queue.
  [[nodiscard]] bool waits_for_credits() const { return !unsent_.empty() || output_.on; }
  /// The channel, which got its last request from here, is full until Shared::channel_room: spares the look
  /// at it that would find it so. If `rival` has been woken for that place, its turn comes first.
  void foresee_stall(const Slice* rival);
  /// More reply credits are there at core cycle `now`.
  void credits_came(Cycle now);

  /// See Partition::preload_line.
  void preload(const noc::PartitionMap::Place& place, AppId app);
  /// Counts stalls up to (excluding) core cycle `now`. True when the slice is stalled.
  bool settle_stalls(Cycle now);
  [[nodiscard]] bool idle() const;
  [[nodiscard]] std::uint32_t unsent_replies() const { return unsent_.size(); }
  [[nodiscard]] std::uint32_t pinned_lines() const { return tags_.pinned(); }
  [[nodiscard]] std::string describe() const;

 private:
  enum class Outcome : std::uint8_t { Done, NeedsOutput, NoLine, NoMshr, NoMerge, NoMissQueue };
  struct Fill {
    std::uint64_t tick;
    std::uint16_t mshr;
    std::uint8_t sectors;
  };
  struct Atomic {
    std::uint64_t finish;
    RequestIndex request;
  };
  /// Whose request a reply answers.
  struct Asker {
    AppId app;
    bool charged;  // its whole time is in the ledger already, or nobody waits for it
  };
  /// Counts the cycles from start() to stop().
  struct Stall {
    bool on = false;
    std::uint64_t since = 0;
  };

  void enter(Cycle now);
  /// There is room in the pipeline and input queue, as the entrance sees them.
  [[nodiscard]] bool input_has_room() const { return approach_.input() + departed_.size() < input_capacity_; }
  void admit(Approach::Place& place, Cycle through);
  Cycle eject(const Approach::Place& place, Cycle now);
  [[gnu::always_inline]] void prefetch_head(const Approach::Place& place) const {
    s_.pool.prefetch(place.request);
    tags_.prefetch(place.set);
    if (ledger_) ledger_->shadow.prefetch(place.set);
  }
  void access_head(std::uint64_t tick);
  void foresee_block(std::uint64_t tick);
  Outcome access(RequestIndex index, std::uint64_t tick);
  Outcome access_write(RequestIndex index, std::uint32_t way, std::uint16_t mshr, std::uint64_t tick);
  /// Sees that `sectors` of the request's line are on their way, in a register (taken if `mshr` is none).
  Outcome fetch(const Request& request, std::uint32_t& way, std::uint16_t& mshr, std::uint8_t sectors);
  void used(std::uint32_t way, std::uint16_t mshr);
  /// The way's line, if it has one, makes place for one of `culprit`.
  void displace(std::uint32_t way, AppId culprit) {
    if (!tags_.line(way).present()) return;
    ++s_.of_pair[tags_.app(way)][culprit].l2_evictions;
    if (ledger_) [[unlikely]]
      ledger_->shadow.evicted(tags_.app(way), tags_.set(way), tags_.slice_line(way), culprit,
                              [this, way] { return other_holder(way); });
  }
  /// Of the other applications, the one that holds most ways of this one's set.
  [[nodiscard]] AppId other_holder(std::uint32_t way);
  void evict(std::uint32_t way, AppId culprit);
  /// `due_to`: by whose fault, as the ledger has it.
  void queue_miss(std::uint64_t slice_line, dram::Request request, AppId due_to);
  void stall_head(std::uint64_t tick, Outcome cause) {
    stall(reservation_, tick);
    if (ledger_) [[unlikely]]
      note_stall(s_.l2_clock.to_core(tick), cause);
  }
  // slice_ledger.cpp: before the head's access, when it stalls, when it is through, when its data has come; a
  // reply that goes.
  void note_head(RequestIndex index);
  /// Who has to do with a fetch: another, but for whom its line would be here, or its own application.
  [[nodiscard]] AppId fetched_for(const Request& request) const;
  void note_register(std::uint16_t mshr, AppId due_to);  // is taken
  void note_queued(AppId due_to);                        // a miss
  void note_sent();                                      // the first of these
  void note_stall(Cycle now, Outcome cause);
  void note_held(SliceLedger::Counts& places, AppId app, bool taken);
  void end_stall(Cycle now);
  void note_access(RequestIndex index);
  void note_drained(RequestIndex index, std::uint64_t tick);
  void note_reply(const Asker& asker, Cycle ready, Cycle last);
  void prefetch_next_fill() const;
  void complete_fill(const Fill& fill);
  std::uint32_t install_filled(Mshr& entry);
  void retire_if_done(std::uint16_t mshr);
  void drain_ready(std::uint64_t tick);
  void queue_victims();
  bool send_miss(std::uint64_t tick);
  void start_atomic(RequestIndex index, std::uint64_t tick);
  void finish_atomics(std::uint64_t tick);
  void reply(RequestIndex index, std::uint64_t tick);
  void send(arch::MemReply reply, Asker asker, Cycle ready);
  [[nodiscard]] bool output_full(std::uint64_t tick);
  [[nodiscard]] bool miss_room(std::uint32_t entries) const {
    return misses_.empty() || misses_.size() + entries <= miss_capacity_;
  }
  [[nodiscard]] std::uint8_t whole(std::uint8_t sectors) const { return sectored_ ? sectors : kAllSectors; }
  [[nodiscard]] std::uint32_t units(std::uint8_t sectors) const;
  [[nodiscard]] static std::uint32_t units_bytes(std::uint8_t sectors);
  [[nodiscard]] std::uint32_t beats(std::uint32_t bytes) const;
  void stall(Stall& stall, std::uint64_t tick) {
    if (!stall.on) stall = {true, tick};
  }
  static void resume(Stall& stall, std::uint64_t tick, std::uint64_t& counter) {
    if (!stall.on) return;
    counter += tick - stall.since;
    stall.on = false;
  }
  void wake(std::uint64_t tick);
  void set_next_core(Cycle cycle) { s_.next[index_] = next_core_ = cycle; }
  [[nodiscard]] bool waits_for_channel() const { return (s_.stalled_slices >> index_ & 1U) != 0; }
  void note_wait(Cycle now) {
    const std::uint64_t bit = std::uint64_t{1} << index_;
    s_.waiting_slices = waits_for_credits() ? s_.waiting_slices | bit : s_.waiting_slices & ~bit;
    Cycle from = unsent_.empty() ? kNever : unsent_.front().ready;
    if (output_.on) from = std::min(from, output_since_);
    s_.network_full.set(index_, from, now);
  }
  void sleep(std::uint64_t tick);
  [[nodiscard]] std::uint64_t next_rare_event(std::uint64_t tick) const;

  static constexpr std::uint8_t kAllSectors = 0xf;
  static constexpr std::uint32_t kHeads = 3;  // that may read the tags in a window, to be fetched
  static constexpr std::uint64_t kNoTick = ~std::uint64_t{0};

  Shared& s_;
  std::uint32_t index_;
  bool sectored_;
  bool on_fill_;
  std::uint32_t latency_;
  std::uint32_t port_bytes_;
  std::uint32_t atomic_interval_;
  std::uint32_t atomics_per_cycle_;
  std::uint32_t merges_;
  std::uint32_t input_capacity_;
  std::uint32_t miss_capacity_;
  std::uint32_t output_capacity_;

  noc::Port ejection_;
  Approach approach_;
  Ring<Cycle>
      departed_;  // core cycles in which requests have left for the tags, which the entrance is to see yet
  std::uint32_t entrance_flits_ = 0;

  Tags tags_;
  Mshrs mshrs_;
  Ring<dram::Request> misses_;
  Ring<Fill> fills_;
  RequestList ready_;  // data has come, reply not yet queued
  struct Victim {
    std::uint64_t slice_line;
    std::uint16_t mshr;  // whose fill has evicted it
    std::uint8_t dirty;
    AppId app;
  };
  std::vector<Victim> victims_;  // to be written back, oldest first
  std::vector<Atomic> atomics_;  // in progress, in order of acceptance

  noc::Port injection_;
  Ring<Cycle> sending_;  // replies with a booked port: core cycle at which their place becomes free
  struct Unsent {
    arch::MemReply reply;
    Asker asker;
    Cycle ready;
  };
  Ring<Unsent> unsent_;  // replies without credits

  std::uint64_t next_tick_ = kNoTick;
  std::uint64_t unprocessed_ = 0;  // first L2 cycle that has not been processed
  Cycle next_core_ = kNever;
  std::uint64_t tag_free_ = 0;   // first L2 cycle for the next tag access
  std::uint64_t fill_free_ = 0;  // first L2 cycle of the fill port
  std::uint64_t drain_free_ = 0;
  std::uint64_t miss_free_ = 0;
  std::uint64_t atomic_free_ = 0;  // first L2 cycle in which another atomic instruction may begin
  bool head_blocked_ = false;      // by a reservation: until a fill, a drained waiter or a sent miss
  bool head_wants_room_ = false;   // it is to fetch a line that is not here, and the miss queue was full
  bool head_is_absent_ = false;    // known from the last look: its line has neither way nor register
  bool head_unanswered_ = false;   // by the output queue: until a place is free, or a fill
  bool drain_blocked_ = false;     // by the output queue
  Stall reservation_;
  Stall controller_;
  Stall output_;
  Cycle output_since_ = 0;  // core cycle in which output_ began
  std::unique_ptr<SliceLedger> ledger_;
};

}  // namespace gpumux::l2
