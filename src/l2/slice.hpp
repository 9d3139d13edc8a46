// One L2 slice with its two network ports.
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

/// State that the slices of a partition share.
struct Shared {
  Shared(const arch::MachineConfig& config, PartitionId partition, const noc::PartitionMap& partition_map);

  PartitionId id;
  const noc::PartitionMap& map;
  noc::Network network;
  noc::Ticks l2_clock;
  noc::Ticks dram_clock;
  RequestPool pool;
  dram::Channel channel;             // may be simulated ahead of the slices while it is full
  Cycle channel_room = 0;            // before this cycle, the channel is full for the slices
  Cycle end = 0;                     // end of the time that is being simulated
  Cycle complete = 0;                // all credits before this cycle are known
  Cycle entered = 0;                 // the entrances have taken all requests that arrive before this cycle
  std::uint64_t waiting_slices = 0;  // mask: slices with waits_for_credits()
  std::uint64_t stalled_slices = 0;  // mask: slices that wait for a place in the channel's
                                     // queue and have no event for it
  std::uint32_t reply_credits;
  StallTime controller_full;         // core cycles in which a miss waits for a place in the channel's queue
  StallTime network_full;            // core cycles in which a reply waits for credits or for a
                                     // place in the output queue
  arch::PartitionCounters counters;  // counters that belong to no application
  std::array<arch::MemoryCounters, kMaxApps> of_app{};
  std::array<std::array<arch::PairCounters, kMaxApps>, kMaxApps> of_pair{};  // by victim and culprit
  HugePageVector<arch::MemReply>* replies = nullptr;                         // the partition's mailbox
  HugePageVector<arch::Credit>* credits = nullptr;
  std::uint64_t progress = 0;
  std::uint64_t owed = 0;          // replies that requests inside the partition will still get
  std::uint32_t atomics = 0;       // atomic instructions in progress, in all slices
  std::uint32_t last_to_dram = 0;  // slice that sent the last request to the channel
  std::array<Cycle, 64> next;      // by slice: core cycle of step(). kNever: only a message or
                                   // DRAM causes the next step
};

/// One L2 slice. A request passes these stations: ejection port - entrance (output buffer of the port) -
/// pipeline and input queue - tags - hit: output queue; miss: MSHR, miss queue, DRAM, fill port, output queue
/// - injection port. Times are in L2 cycles, except for the ports.
///   - The pipeline is elastic: `latency` stages before the tags, then `input_queue` places. If these are
///     full, a request leaves the ejection port for the entrance. If the entrance is full too, the request
///     stays in the network.
///   - One tag access per L2 cycle, in order. Hits hold the data port for their bytes, fills the fill port.
///   - A hit's reply (or a write's acknowledgement) is in the output queue `latency` cycles after its
///     arrival, plus the cycles that the data port takes beyond the first. A fill frees its waiters, one per
///     cycle.
///   - A read or an atomic operation waits for its sectors. A write never waits: if it covers its sectors, it
///     makes them valid, otherwise it is kept beside the line and its sectors are fetched.
///   - An atomic instruction holds its place in the output queue while its operations are performed, in
///     rounds (workload/atomic_rounds.hpp), after the operations of earlier instructions on the same line.
///     The slice performs `atomics_per_cycle` rounds per cycle, in the order of instructions: an instruction
///     that waits for its line holds up later instructions.
///   - A place of the output queue is free again when the reply's first flit enters the injection port.
///   - Places and ports are assigned ahead of time: to a request when it arrives, to a hit's reply when its
///     tags are read.
///   - Lines count as used when their tags are read, and when they take their way.
///   - Order of events in an L2 cycle: fills, ends of atomic instructions, one waiter that a fill has freed,
///     data evicted by fills to the miss queue, the tags, one miss to the channel.
class Slice {
 public:
  Slice(const arch::MachineConfig& config, std::uint32_t index, Shared& shared);

  /// Makes the slice keep a ledger of interference. Must be called before the first request.
  void keep_ledger();
  /// Requires a ledger. By window: cycles for which the tags, or a stall in front of them,
  /// were due to `app` itself.
  [[nodiscard]] const std::vector<std::uint32_t>& busy_windows(AppId app) const {
    return ledger_->busy.of(app);
  }
  /// Requires a ledger. Core cycles for which requests of `app` waited for the tags.
  [[nodiscard]] std::uint64_t tag_waits(AppId app) const { return ledger_->tag_waits[app]; }
  /// A request whose last flit is at the ejection port at its `time`. Calls are in order of (time, SM).
  /// step() must have been called for all earlier L2 cycles, unless there is room in any case.
  void arrive(RequestIndex request);
  /// Lets requests that find room before core cycle `end` into the entrance and the pipeline.
  void settle_entrance(Cycle end);
  /// True if requests wait in the entrance or in the network.
  [[nodiscard]] bool crowded() const { return !approach_.all_in(); }
  /// The next core cycle in which settle_entrance() can do something without another step().
  [[nodiscard]] Cycle next_entry() const {
    return crowded() && !departed_.empty() ? departed_.front() : kNever;
  }
  /// L2 cycle of the next step().
  [[nodiscard]] std::uint64_t next_tick() const { return next_tick_; }
  /// Simulates the L2 cycle next_tick(), which falls in core cycle Shared::next.
  void step();
  /// Takes the data of a read, which is complete at the L2's side of the channel at core cycle `at`. Returns
  /// the core cycle at which the data leaves the return queue for the fill port.
  Cycle fill_from(std::uint16_t mshr, std::uint8_t sectors, Cycle at);
  /// Prefetch what the cycles before `end` are likely to need: the fronts of the queues, then what they point
  /// to, then the requests that wait for fills. Called one after the other.
  void prefetch_queues() const;
  void prefetch_heads(Cycle end) const;
  void prefetch_fills(Cycle end) const;
  /// Tells that the channel's queue has a free place at core cycle `now`.
  void channel_freed(Cycle now);
  /// True if replies wait for credits or for a place in the output queue.
  [[nodiscard]] bool waits_for_credits() const { return !unsent_.empty() || output_.on; }
  /// Starts the stall at the channel without a step. The channel got its last request from this slice and is
  /// full until Shared::channel_room. `rival`: slice that has been woken for the free place and may go first.
  void foresee_stall(const Slice* rival);
  /// Tells that more reply credits are available at core cycle `now`.
  void credits_came(Cycle now);

  /// See Partition::preload_line().
  void preload(const noc::PartitionMap::Place& place, AppId app);
  /// Counts stalls before core cycle `now`. Returns true if the slice is stalled.
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
  /// The application whose request a reply answers.
  struct Asker {
    AppId app;
    bool charged;  // the ledger has charged the request's whole time already, or nothing waits for the reply
  };
  /// A stall in progress. Counts the cycles from stall() to resume().
  struct Stall {
    bool on = false;
    std::uint64_t since = 0;
  };

  void enter(Cycle now);
  /// Counts the cycles before `now` in which requests have waited outside.
  void count_crowded(Cycle now) {
    GPUMUX_DCHECK(now >= crowded_since_);
    s_.counters.slice_full_cycles += now - crowded_since_;
    crowded_since_ = now;
  }
  /// True if the pipeline and input queue have room, as the entrance sees them.
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
  /// Makes sure that `sectors` of the request's line are on their way, tracked by an MSHR. Takes a
  /// new MSHR if `mshr` is none.
  Outcome fetch(const Request& request, std::uint32_t& way, std::uint16_t& mshr, std::uint8_t sectors);
  void used(std::uint32_t way, std::uint16_t mshr);
  /// Updates the ledger when the line of a way, if any, is evicted for a line of `culprit`.
  void displace(std::uint32_t way, AppId culprit) {
    if (!tags_.line(way).present()) return;
    ++s_.of_pair[tags_.app(way)][culprit].l2_evictions;
    if (ledger_) [[unlikely]]
      ledger_->shadow.evicted(tags_.app(way), tags_.set(way), tags_.slice_line(way), culprit,
                              [this, way] { return other_holder(way); });
  }
  /// The other application that holds most ways of this way's set.
  [[nodiscard]] AppId other_holder(std::uint32_t way);
  void evict(std::uint32_t way, AppId culprit);
  /// `due_to`: the application at fault for the miss, for the ledger.
  void queue_miss(std::uint64_t slice_line, dram::Request request, AppId due_to);
  void stall_head(std::uint64_t tick, Outcome cause) {
    stall(reservation_, tick);
    if (ledger_) [[unlikely]]
      note_stall(s_.l2_clock.to_core(tick), cause);
  }
  // Updates of the ledger (slice_ledger.cpp): before the head's access, when the head stalls, after its
  // access, when the data of a request has arrived, and when a reply is sent.
  void note_head(RequestIndex index);
  /// The application that a fetch is due to: the application that evicted the line, if the line would
  /// otherwise be present, or else the request's own application.
  [[nodiscard]] AppId fetched_for(const Request& request) const;
  void note_register(std::uint16_t mshr, AppId due_to);  // an MSHR was taken
  void note_queued(AppId due_to);                        // a miss was queued
  void note_sent();                                      // the first queued miss was sent to the channel
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
  static constexpr std::uint32_t kHeads = 3;  // requests that may read the tags in a
                                              // window and are prefetched
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
  Ring<Cycle> departed_;  // core cycles in which requests left for the tags and of which the
                          // entrance does not know yet
  std::uint32_t entrance_flits_ = 0;
  Cycle crowded_since_ = 0;  // while crowded(): the first core cycle that is not counted yet

  Tags tags_;
  Mshrs mshrs_;
  Ring<dram::Request> misses_;
  Ring<Fill> fills_;
  RequestList ready_;  // requests whose data has arrived and whose reply is not queued yet
  struct Victim {
    std::uint64_t slice_line;
    std::uint16_t mshr;  // MSHR whose fill has evicted the line
    std::uint8_t dirty;
    AppId app;
  };
  std::vector<Victim> victims_;  // evicted lines to write back, oldest first
  std::vector<Atomic> atomics_;  // in progress, in order of acceptance

  noc::Port injection_;
  Ring<Cycle> sending_;  // replies with a booked port: core cycle at which the reply's place becomes free
  struct Unsent {
    arch::MemReply reply;
    Asker asker;
    Cycle ready;
  };
  Ring<Unsent> unsent_;  // replies that wait for credits

  std::uint64_t next_tick_ = kNoTick;
  std::uint64_t unprocessed_ = 0;  // first L2 cycle that has not been processed
  Cycle next_core_ = kNever;
  std::uint64_t tag_free_ = 0;   // first L2 cycle for the next tag access
  std::uint64_t fill_free_ = 0;  // first L2 cycle of the fill port
  std::uint64_t drain_free_ = 0;
  std::uint64_t miss_free_ = 0;
  std::uint64_t atomic_free_ = 0;  // first L2 cycle in which another atomic instruction may start
  bool head_blocked_ = false;      // the head waits for a fill, a drained waiter or a sent
                                   // miss (reservation failure)
  bool head_wants_room_ = false;   // the head must fetch an absent line, and the miss queue was full
  bool head_is_absent_ = false;    // known from the last look at the tags: the head's
                                   // line has neither way nor MSHR
  bool head_unanswered_ = false;   // the head waits for a place in the output queue, or a fill
  bool drain_blocked_ = false;     // ready_ waits for a place in the output queue
  Stall reservation_;
  Stall controller_;
  Stall output_;
  Cycle output_since_ = 0;  // core cycle in which output_ started
  std::unique_ptr<SliceLedger> ledger_;
};

}  // namespace gpumux::l2
