// A second model with the rules of an L2 partition (stated at l2::Slice), which examines in every cycle
// everything that could move. l2_property_test.cpp compares it with l2::Partition.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <deque>
#include <map>
#include <vector>

#include "arch/config.hpp"
#include "arch/messages.hpp"
#include "arch/statistics.hpp"
#include "memory/dram_reference.hpp"
#include "noc/network.hpp"
#include "noc/partition_map.hpp"
#include "noc/ticks.hpp"

namespace gpumux::test {

/// Cases that the rules distinguish. The events are counted to see that the tests cover all of them.
enum class Event : std::uint8_t {
  Hit,
  HitOfAReservedLine,
  Merged,
  SecondFetch,
  NoLine,
  NoMshr,
  NoMerge,
  NoMissQueue,
  NoVictimPlace,
  NoOutput,
  ReadyWaits,
  Unsent,
  CreditsShared,
  Entrance,
  Network,
  VictimWaits,
  SecondVictim,
  AtomicWaits,
  WholeWrite,
  PartialWrite,
  WriteOnTheWay,
  ChannelFull,
  FillPortBusy
};
inline constexpr std::array kEventNames = {"hit",
                                           "hit of a reserved line",
                                           "merged miss",
                                           "further fetch of a line",
                                           "no line that could go",
                                           "no MSHR",
                                           "no place in an MSHR",
                                           "miss queue full",
                                           "miss queue full for the victim",
                                           "head without a place of the output queue",
                                           "data without a place of the output queue",
                                           "reply without credits",
                                           "credits for several slices that wait",
                                           "request in the entrance",
                                           "request held up in the network",
                                           "victim of a fill that waits",
                                           "further victim of one MSHR",
                                           "atomic operation behind another",
                                           "write of whole sectors",
                                           "write of a part of its sectors",
                                           "write to a line on its way",
                                           "DRAM queue full",
                                           "data that waits for the fill port"};
using EventCounts = std::array<std::uint64_t, kEventNames.size()>;

class ReferencePartition {
 public:
  using MemRequest = arch::MemRequest;
  using Kind = arch::RequestKind;
  /// A request given to DRAM.
  struct Sent {
    dram::Tick tick;  // from which the request can be served
    std::uint32_t slice;
    dram::Request request;
  };

  ReferencePartition(const arch::MachineConfig& config, PartitionId id, const noc::PartitionMap& map)
      : c_(config.l2),
        id_(id),
        map_(map),
        network_(config),
        l2_(config.clocks.core, config.clocks.l2),
        dram_(config.clocks.core, config.clocks.dram),
        dram_config_(config.dram),
        channel_(config.dram, config.l2.sectored),
        slices_(config.l2.slices_per_partition),
        reply_credits_(network_.reply_credits) {
    for (std::uint32_t i = 0; i < slices_.size(); ++i) slices_[i].index = i;
  }

  /// Simulates core cycle `now`, one cycle after the previous call. Order: requests that arrive at its start
  /// (by SM, then by time of sending), returned reply credits (`credited`: some return, possibly 0), DRAM,
  /// slices.
  void step(Cycle now, const std::vector<MemRequest>& arrivals, bool credited, std::uint32_t flits) {
    for (const MemRequest& request : arrivals) {
      Slice& slice = slices_[map_.locate(request.line).slice];
      slice.network.push_back({request, request.time});
      let_in(slice, now);
      if (!slice.entrance.empty()) count(Event::Entrance);
      if (!slice.network.empty()) count(Event::Network);
      ++inside_;
    }
    if (credited) {
      // Slices are served one after the other; each time, another slice is the first.
      reply_credits_ += flits;
      std::uint32_t waiting = 0;
      for (std::uint32_t n = 0; n < slices_.size(); ++n) {
        Slice& slice = slices_[(first_for_credits_ + n) % slices_.size()];
        waiting += slice.unsent.empty() ? 0 : 1;
        while (!slice.unsent.empty() && reply_credits_ >= slice.unsent.front().reply.flits) {
          const Unsent unsent = slice.unsent.front();
          slice.unsent.pop_front();
          send(slice, unsent.reply, std::max(unsent.ready, now));
        }
      }
      if (waiting > 1) count(Event::CreditsShared);
      first_for_credits_ = (first_for_credits_ + 1) % static_cast<std::uint32_t>(slices_.size());
    }
    for (; dram_.to_core(dram_tick_) <= now; ++dram_tick_) step_channel();
    for (; l2_.to_core(l2_tick_) <= now; ++l2_tick_) {
      // The first slice is the one behind the slice that sent to DRAM last.
      const std::uint32_t first = last_to_dram_ + 1;
      for (std::uint32_t n = 0; n < slices_.size(); ++n) {
        step_slice(slices_[(first + n) % slices_.size()], l2_tick_, now);
      }
    }
    bool controller_full = false, network_full = false;
    for (const Slice& s : slices_) {
      controller_full |= s.miss_waits;
      network_full |= s.output_waits || (!s.unsent.empty() && s.unsent.front().ready <= now);
      counters_.slice_full_cycles += s.entrance.empty() && s.network.empty() ? 0 : 1;
    }
    counters_.controller_full_cycles += controller_full ? 1 : 0;
    counters_.network_full_cycles += network_full ? 1 : 0;
  }

  /// Stores a line that a host copy leaves in the cache, as l2::Partition::preload_line() does.
  void preload(std::uint64_t line) {
    Slice& slice = slices_[map_.locate(line).slice];
    auto& set = set_of(slice, line);
    Line* old = find(set, line);
    if (old == nullptr) {
      if (set.size() == c_.ways) {
        Line* victim = nullptr;
        for (Line& other : set) {
          if (other.dirty != 0 || reserved(slice, other)) continue;
          if (victim == nullptr || other.used < victim->used) victim = &other;
        }
        if (victim == nullptr) return;
        ++pairs_[victim->app][app_of(line)];
        set.erase(set.begin() + (victim - set.data()));
      }
      set.push_back({line, app_of(line), 0, 0, 0});
      old = &set.back();
    } else if (reserved(slice, *old)) {
      return;
    }
    old->valid = kWhole;
    old->used = ++uses_;
  }

  [[nodiscard]] bool idle() const {
    return channel_.places() == 0 && std::all_of(slices_.begin(), slices_.end(), [](const Slice& s) {
             return s.network.empty() && s.entrance.empty() && s.input.empty() && s.fetches.empty() &&
                    s.misses.empty() && s.fills.empty() && s.ready.empty() && s.atomics.empty() &&
                    s.unsent.empty();
           });
  }
  /// Number of requests that have arrived and whose replies have not been sent.
  [[nodiscard]] std::size_t inside() const { return inside_; }
  [[nodiscard]] arch::PartitionCounters counters() const {
    arch::PartitionCounters sum = counters_;
    for (unsigned app = 0; app < kMaxApps; ++app) {
      const arch::MemoryCounters of = counters(static_cast<AppId>(app));
#define GPUMUX_FIELD(field, unit, description) sum.field += of.field;
      GPUMUX_MEMORY_COUNTERS(GPUMUX_FIELD)
#undef GPUMUX_FIELD
    }
    const auto moved =
        static_cast<std::uint64_t>(dram_config_.bus_bytes * dram_config_.transfers_per_clock * 1000);
    sum.dram_busy = sum.dram_bytes * 1000 / moved;
    return sum;
  }

  [[nodiscard]] arch::MemoryCounters counters(AppId app) const {
    arch::MemoryCounters of = of_app_[app];
    of.dram_bytes = (of.dram_reads + of.dram_writes) * dram_config_.burst_bytes;
    of.dram_wait_clocks = channel_.waited[app];
    return of;
  }
  /// Number of lines of `victim` that were evicted for lines of `culprit`.
  [[nodiscard]] std::uint64_t evictions(AppId victim, AppId culprit) const { return pairs_[victim][culprit]; }
  [[nodiscard]] static AppId app_of(std::uint64_t line) {
    return static_cast<AppId>((line >> kAppLineShift) - 1);
  }

  std::vector<arch::MemReply> replies;
  std::vector<arch::Credit> credits;  // for the request network
  std::vector<Sent> sent;
  EventCounts events{};

 private:
  static constexpr std::uint8_t kWhole = 0xf;
  struct Place {  // of a request before the tags
    MemRequest request;
    std::uint64_t time;  // core cycle of arrival; in the input, L2 cycle of the earliest tag access
  };
  struct Line {
    std::uint64_t line;
    AppId app;                  // application that brought the line
    std::uint8_t valid, dirty;  // sectors
    std::uint64_t used;         // number of the last use
  };
  struct Victim {  // the dirty sectors of a line that a fill evicted
    std::uint64_t line;
    AppId app;
    std::uint8_t dirty;
  };
  struct Fetch {  // the fetch of a line: one MSHR
    std::uint64_t line;
    AppId app;
    std::uint8_t pending = 0;  // sectors on their way
    std::uint8_t written = 0;  // those of the pending sectors that a write makes dirty
    std::uint32_t merged = 0;  // requests, with the first
    std::deque<MemRequest> waiters;
    std::uint32_t unanswered = 0;  // waiters, plus requests in `ready`
    std::deque<Victim> victims;
  };
  struct Fill {
    std::uint64_t end;  // L2 cycle in which all data has passed the fill port
    std::uint32_t fetch;
    std::uint8_t sectors;
  };
  struct Ready {
    MemRequest request;
    std::uint32_t fetch;
  };
  struct Atomic {
    std::uint64_t finish;
    MemRequest request;
  };
  struct Unsent {
    arch::MemReply reply;
    Cycle ready;
  };
  struct Miss {
    std::uint64_t line;
    dram::Request request;
  };
  enum class Stall : std::uint8_t { None, Reservation, Output };

  struct Slice {
    std::uint32_t index = 0;
    std::deque<Place> network, entrance, input;
    std::map<std::uint32_t, std::vector<Line>> sets;
    std::map<std::uint32_t, Fetch> fetches;
    std::deque<Miss> misses;
    std::deque<Fill> fills;
    std::deque<Ready> ready;
    std::deque<std::uint32_t> victims;  // fetches with a victim to write back, oldest first
    std::vector<Atomic> atomics;
    std::uint64_t atomics_busy = 0;  // atomics run in the order of acceptance
    std::vector<Cycle> output;       // core cycles at which places that wait for the port become free
    std::deque<Unsent> unsent;       // replies without credits, which are in the output queue, too
    std::uint64_t ejection_free = 0, injection_free = 0;  // NoC cycles
    std::uint64_t tags_free = 0, fill_port_free = 0;      // L2 cycles
    Stall stall = Stall::None;                            // of the head of the input
    bool miss_waits = false;    // at its last L2 cycle, a miss waited for a place in the DRAM queue
    bool output_waits = false;  // at its last L2 cycle, a reply waited for a place in the output queue
    bool freed = false;         // a fill, an MSHR or a miss-queue place was freed since the head stalled
  };

  // --- network to tags ----------------------------------------------------------------------------

  /// Passes a packet through the ejection port, one flit per NoC cycle. Returns the core cycle in which the
  /// last flit is through. The other flits arrived just before the last flit or, if the packet had to wait
  /// for room, with it.
  Cycle eject(Slice& s, const MemRequest& request, Cycle now) {
    std::uint64_t last = std::max(network_.clock.tick_at(request.time), s.ejection_free + request.flits - 1);
    if (now > request.time) last = std::max(last, network_.clock.tick_at(now));
    s.ejection_free = last + 1;
    const Cycle through = network_.clock.to_core(last);
    credits.push_back({through + network_.latency, request.flits, request.sm, id_});
    ++counters_.requests;
    return through;
  }
  /// Admits requests to the input and to the output buffer of the ejection port behind it. The stages of the
  /// pipeline and the input queue count as one queue. Places are given in the order of arrival; the port is
  /// booked ahead.
  void let_in(Slice& s, Cycle now) {
    const auto room = [&] { return s.input.size() < std::size_t{c_.latency} + c_.input_queue; };
    const auto enter = [&](const MemRequest& request, Cycle through) {
      s.input.push_back({request, l2_.tick_at(through) + c_.latency - 1});
    };
    for (; room() && !s.entrance.empty(); s.entrance.pop_front()) {
      enter(s.entrance.front().request, std::max(s.entrance.front().time, now));
    }
    for (; !s.network.empty(); s.network.pop_front()) {
      const MemRequest request = s.network.front().request;
      if (room()) {
        enter(request, eject(s, request, now));
        continue;
      }
      std::uint32_t flits = request.flits;
      for (const Place& place : s.entrance) flits += place.request.flits;
      if (flits > network_.output_buffer_flits) return;
      s.entrance.push_back({request, eject(s, request, now)});
    }
  }

  // --- an L2 cycle --------------------------------------------------------------------------------

  void step_slice(Slice& s, std::uint64_t tick, Cycle now) {
    const bool filled = !s.fills.empty() && s.fills.front().end <= tick;
    for (; !s.fills.empty() && s.fills.front().end <= tick; s.fills.pop_front()) fill(s, s.fills.front());
    finish_atomics(s, tick);
    const bool ready_waits = !s.ready.empty() && output_full(s, tick);
    if (!s.ready.empty() && !ready_waits) answer_ready(s, tick);
    for (; !s.victims.empty() && miss_room(s, 1); s.victims.pop_front()) queue_victim(s, s.victims.front());
    if (!s.victims.empty()) count(Event::VictimWaits);

    // A stalled head tries again when a resource of the missing kind is freed, or after a fill.
    const bool sleeps = s.stall == Stall::Reservation
                            ? !s.freed
                            : s.stall == Stall::Output && !filled && output_full(s, tick);
    if (!sleeps && !s.input.empty() && s.input.front().time <= tick && s.tags_free <= tick) {
      s.freed = false;
      s.stall = access(s, s.input.front().request, tick);
      if (s.stall == Stall::None) {
        const MemRequest& request = s.input.front().request;
        of_app_[request.app].l2_wait_cycles += now - request.time;
        s.input.pop_front();
        let_in(s, now);
      }
    }
    counters_.l2_reservation_failures += s.stall == Stall::Reservation ? 1 : 0;
    counters_.stall_network += ready_waits || s.stall == Stall::Output ? 1 : 0;
    s.output_waits = ready_waits || s.stall == Stall::Output;
    if (ready_waits) count(Event::ReadyWaits);
    if (s.stall == Stall::Output) count(Event::NoOutput);
    if (!s.unsent.empty()) count(Event::Unsent);

    s.miss_waits = !s.misses.empty() && channel_.full();
    if (s.misses.empty()) return;
    if (channel_.full()) {
      ++counters_.stall_controller;
      count(Event::ChannelFull);
      return;
    }
    Miss miss = s.misses.front();
    s.misses.pop_front();
    miss.request.local_line = map_.local_line(miss.line);
    // DRAM sees the request from the next core cycle on.
    sent.push_back({static_cast<dram::Tick>(dram_.tick_at(now + 1)), s.index, miss.request});
    channel_.push(miss.request, sent.back().tick);
    last_to_dram_ = s.index;
    s.freed = true;
  }

  /// The tag access of the request at the head of the input.
  Stall access(Slice& s, const MemRequest& request, std::uint64_t tick) {
    if (request.kind == Kind::Write) return access_write(s, request, tick);
    auto& set = set_of(s, request.line);
    Line* line = find(set, request.line);
    const std::uint8_t need = whole(request.sectors);
    const auto missing = static_cast<std::uint8_t>(need & (line == nullptr ? kWhole : ~line->valid));
    if (missing == 0) {
      if (output_full(s, tick)) return Stall::Output;
      count(Event::Hit);
      if (reserved(s, *line)) count(Event::HitOfAReservedLine);
      line->used = ++uses_;
      of_app_[request.app].l2_accesses += units(request.sectors);
      if (request.kind == Kind::Atomic) of_app_[request.app].l2_writes += units(request.sectors);
      if (request.kind == Kind::Atomic) {
        line->dirty |= need;
        s.tags_free = tick + beats(request.data_bytes);
        start_atomic(s, request, tick);
      } else {
        s.tags_free = tick + beats(bytes_of(request.sectors));
        reply(s, request, s.tags_free);
      }
      return Stall::None;
    }
    Fetch* fetch = find_fetch(s, request.line);
    if (fetch != nullptr && fetch->merged >= c_.mshr_merges) {
      count(Event::NoMerge);
      return Stall::Reservation;
    }
    if (fetch != nullptr) count(Event::Merged);
    if (!see_to(s, request, missing)) return Stall::Reservation;
    fetch = find_fetch(s, request.line);
    ++fetch->merged;
    ++fetch->unanswered;
    fetch->waiters.push_back(request);
    line = find(set, request.line);
    if (line != nullptr) line->used = ++uses_;
    of_app_[request.app].l2_accesses += units(request.sectors);
    if (request.kind == Kind::Atomic) of_app_[request.app].l2_writes += units(request.sectors);
    of_app_[request.app].l2_misses += units(missing);
    s.tags_free = tick + 1;
    return Stall::None;
  }

  /// The tag access of a write. A write never waits for data.
  Stall access_write(Slice& s, const MemRequest& request, std::uint64_t tick) {
    if (request.wants_reply && output_full(s, tick)) return Stall::Output;
    auto& set = set_of(s, request.line);
    Line* line = find(set, request.line);
    const std::uint8_t need = whole(request.sectors);
    const auto missing = static_cast<std::uint8_t>(need & (line == nullptr ? kWhole : ~line->valid));
    const bool covers = request.sectors == need && request.data_bytes >= bytes_of(request.sectors);
    Fetch* fetch = find_fetch(s, request.line);
    if (fetch != nullptr) count(Event::WriteOnTheWay);
    if (covers) {
      if (line == nullptr) {
        if (!can_allocate(s, set, 0)) return Stall::Reservation;
        line = &allocate(s, set, request.line, request.app);
      }
      line->valid |= need;
      line->dirty |= need;
      count(Event::WholeWrite);
    } else {
      if (missing != 0) {
        if (!see_to(s, request, missing)) return Stall::Reservation;
        Fetch* mine = find_fetch(s, request.line);
        if (fetch == nullptr) mine->merged = 1;
        mine->written |= missing;
      }
      line = find(set, request.line);
      if (line != nullptr) line->dirty |= static_cast<std::uint8_t>(need & ~missing);
      count(Event::PartialWrite);
    }
    if (line != nullptr) line->used = ++uses_;
    of_app_[request.app].l2_accesses += units(request.sectors);
    of_app_[request.app].l2_writes += units(request.sectors);
    if (missing != 0) of_app_[request.app].l2_misses += units(missing);
    s.tags_free = tick + beats(request.data_bytes);
    if (request.wants_reply) {
      reply(s, request, s.tags_free);
    } else {
      --inside_;
    }
    return Stall::None;
  }

  // --- misses -------------------------------------------------------------------------------------

  /// Requests the `missing` sectors of the request's line that are not on their way yet. Returns false if a
  /// line, an MSHR or a place in the miss queue is missing.
  bool see_to(Slice& s, const MemRequest& request, std::uint8_t missing) {
    Fetch* fetch = find_fetch(s, request.line);
    const auto wanted = static_cast<std::uint8_t>(missing & (fetch == nullptr ? kWhole : ~fetch->pending));
    if (wanted == 0) return true;
    if (!miss_room(s, 1)) {
      count(Event::NoMissQueue);
      return false;
    }
    if (fetch != nullptr) count(Event::SecondFetch);
    if (fetch == nullptr) {
      auto& set = set_of(s, request.line);
      const bool allocates = c_.allocate == arch::Allocate::OnMiss && find(set, request.line) == nullptr;
      // The miss enters the queue together with the dirty victim.
      if (allocates && !can_allocate(s, set, 1)) return false;
      if (s.fetches.size() == c_.mshr_entries) {
        count(Event::NoMshr);
        return false;
      }
      if (allocates) allocate(s, set, request.line, request.app);
      fetch = &s.fetches[++fetch_number_];
      fetch->line = request.line;
      fetch->app = request.app;
    }
    fetch->pending |= wanted;
    s.misses.push_back({request.line, {}});
    dram::Request& miss = s.misses.back().request;
    miss.token = number_of(s, *fetch);
    miss.sectors = wanted;
    miss.app = request.app;
    miss.kernel = request.kernel;
    return true;
  }
  /// True if the set has a free place or can evict a line, and the miss queue has room for the eviction's
  /// write-back and for `others` more entries.
  bool can_allocate(Slice& s, std::vector<Line>& set, std::uint32_t others) {
    if (set.size() < c_.ways) return true;
    const Line* victim = victim_of(s, set);
    if (victim == nullptr) {
      count(Event::NoLine);
      return false;
    }
    if (victim->dirty != 0 && !miss_room(s, 1 + others)) {
      count(Event::NoVictimPlace);
      return false;
    }
    return true;
  }
  Line& allocate(Slice& s, std::vector<Line>& set, std::uint64_t line, AppId app) {
    if (set.size() == c_.ways) {
      const Line* victim = victim_of(s, set);
      if (victim->dirty != 0) write_back(s, {victim->line, victim->app, victim->dirty});
      ++pairs_[victim->app][app];
      set.erase(set.begin() + (victim - set.data()));
    }
    set.push_back({line, app, 0, 0, ++uses_});
    return set.back();
  }
  void write_back(Slice& s, const Victim& victim) {
    of_app_[victim.app].l2_writebacks += units(victim.dirty);
    s.misses.push_back({victim.line, {}});
    dram::Request& request = s.misses.back().request;
    request.sectors = victim.dirty;
    request.write = true;
    request.app = victim.app;
  }
  /// True if the miss queue has room for `entries` entries. An empty queue takes a miss and its victim,
  /// whatever its size.
  [[nodiscard]] bool miss_room(const Slice& s, std::uint32_t entries) const {
    return s.misses.empty() || s.misses.size() + entries <= c_.miss_queue;
  }

  // --- DRAM and fills -----------------------------------------------------------------------------

  void step_channel() {
    std::vector<dram::Command> commands;
    std::vector<dram::Channel::Completion> completions;
    channel_.step(static_cast<dram::Tick>(dram_tick_), commands, completions);
    for (const dram::Command& command : commands) {
      if (command.kind == dram::CommandKind::Activate) {
        ++of_app_[app_of(command.row)].dram_activates;
        fresh_[command.bank] = true;
      }
      const bool read = command.kind == dram::CommandKind::Read;
      if (!read && command.kind != dram::CommandKind::Write) continue;
      arch::MemoryCounters& counters = of_app_[app_of(command.row)];  // the row belongs to one application
      ++(read ? counters.dram_reads : counters.dram_writes);
      if (!fresh_[command.bank]) ++counters.dram_row_hits;
      fresh_[command.bank] = false;
    }
    for (const dram::Channel::Completion& completion : completions) {
      Slice& s = *std::find_if(slices_.begin(), slices_.end(), [&](const Slice& other) {
        return other.fetches.count(completion.token) != 0;
      });
      const Cycle at = dram_.to_core(static_cast<std::uint64_t>(completion.end)) + dram_config_.fixed_latency;
      // At the L2, the data waits for the fill port. Its place in the return queue is free when the data
      // enters the port.
      const std::uint64_t start = std::max(l2_.tick_at(at), s.fill_port_free);
      if (start > l2_.tick_at(at)) count(Event::FillPortBusy);
      s.fill_port_free = start + beats(bytes_of(completion.sectors));
      s.fills.push_back({s.fill_port_free, completion.token, completion.sectors});
      channel_.returned.push_back(static_cast<dram::Tick>(dram_.tick_at(l2_.to_core(start))));
    }
  }

  void fill(Slice& s, const Fill& fill) {
    Fetch& fetch = s.fetches.at(fill.fetch);
    auto& set = set_of(s, fetch.line);
    Line* line = find(set, fetch.line);
    if (line == nullptr) {  // allocation on fill
      if (set.size() == c_.ways) {
        const Line* victim = victim_of(s, set);
        if (victim->dirty != 0) {
          if (!fetch.victims.empty()) count(Event::SecondVictim);
          fetch.victims.push_back({victim->line, victim->app, victim->dirty});
          s.victims.push_back(fill.fetch);
        }
        ++pairs_[victim->app][fetch.app];
        set.erase(set.begin() + (victim - set.data()));
      }
      set.push_back({fetch.line, fetch.app, 0, 0, ++uses_});
      line = &set.back();
    }
    fetch.pending &= static_cast<std::uint8_t>(~fill.sectors);
    line->valid |= fill.sectors;
    line->dirty |= static_cast<std::uint8_t>(fetch.written & fill.sectors);
    std::deque<MemRequest> waiters;
    waiters.swap(fetch.waiters);
    for (const MemRequest& request : waiters) {
      if ((whole(request.sectors) & fetch.pending) != 0) {
        fetch.waiters.push_back(request);
        continue;
      }
      // The line is dirty from now on, because it can be evicted before the atomic operation is executed.
      if (request.kind == Kind::Atomic) line->dirty |= whole(request.sectors);
      s.ready.push_back({request, fill.fetch});
    }
    s.freed = true;
    retire_if_done(s, fill.fetch);
  }
  void answer_ready(Slice& s, std::uint64_t tick) {
    const Ready ready = s.ready.front();
    s.ready.pop_front();
    --s.fetches.at(ready.fetch).unanswered;
    if (ready.request.kind == Kind::Atomic) {
      start_atomic(s, ready.request, tick);
    } else {
      reply(s, ready.request, tick);
    }
    retire_if_done(s, ready.fetch);
  }
  void queue_victim(Slice& s, std::uint32_t number) {
    Fetch& fetch = s.fetches.at(number);
    write_back(s, fetch.victims.front());
    fetch.victims.pop_front();
    retire_if_done(s, number);
  }
  void retire_if_done(Slice& s, std::uint32_t number) {
    const Fetch& fetch = s.fetches.at(number);
    if (fetch.pending != 0 || fetch.unanswered != 0 || !fetch.victims.empty()) return;
    s.fetches.erase(number);
    s.freed = true;
  }

  // --- atomic operations and replies --------------------------------------------------------------

  void start_atomic(Slice& s, const MemRequest& request, std::uint64_t tick) {
    std::uint64_t start = tick;
    for (const Atomic& other : s.atomics) {
      if (other.request.line == request.line) start = std::max(start, other.finish);
    }
    if (start > tick) count(Event::AtomicWaits);
    counters_.atomics += request.operations;
    const std::uint64_t rounds = request.rounds != 0 ? request.rounds : request.operations;
    if (c_.atomics_per_cycle != 0) {  // the slice first starts all rounds of earlier operations
      start = std::max(start, s.atomics_busy);
      s.atomics_busy = start;
      for (std::uint64_t begun = 0; begun < rounds; begun += c_.atomics_per_cycle) ++s.atomics_busy;
    }
    s.atomics.push_back({start + rounds * c_.atomic_interval, request});
  }
  void finish_atomics(Slice& s, std::uint64_t tick) {
    std::vector<Atomic> going;
    going.swap(s.atomics);
    for (const Atomic& atomic : going) {
      if (atomic.finish > tick) {
        s.atomics.push_back(atomic);
      } else if (atomic.request.wants_reply) {
        reply(s, atomic.request, tick);
      } else {
        --inside_;
      }
    }
  }
  [[nodiscard]] bool output_full(const Slice& s, std::uint64_t tick) const {
    const Cycle now = l2_.to_core(tick);
    const auto waiting = static_cast<std::size_t>(
        std::count_if(s.output.begin(), s.output.end(), [&](Cycle free) { return free > now; }));
    return waiting + s.unsent.size() + s.atomics.size() >= c_.output_queue;
  }
  /// Sends a reply that is complete in L2 cycle `tick`. The reply takes a place in the output queue now;
  /// replies use the port in the order of their places.
  void reply(Slice& s, const MemRequest& request, std::uint64_t tick) {
    arch::MemReply answer;
    answer.tag = request.tag;
    answer.sm = request.sm;
    answer.kind = request.kind;
    std::uint32_t bytes = 0;
    if (request.kind != Kind::Write) {
      answer.sectors = request.sectors & kWhole;
      bytes = request.kind == Kind::Atomic ? request.data_bytes : bytes_of(request.sectors);
    }
    answer.flits = network_.flits(bytes) & 0xfU;
    ++counters_.replies;
    const Cycle ready = l2_.to_core(tick);
    if (s.unsent.empty() && reply_credits_ >= answer.flits) {
      send(s, answer, ready);
    } else {
      s.unsent.push_back({answer, ready});
    }
  }
  void send(Slice& s, arch::MemReply answer, Cycle ready) {
    reply_credits_ -= answer.flits;
    const std::uint64_t first = std::max(network_.clock.tick_at(ready), s.injection_free);
    s.injection_free = first + answer.flits;
    answer.time = network_.clock.to_core(first + answer.flits - 1) + network_.latency;
    replies.push_back(answer);
    s.output.push_back(network_.clock.to_core(first));
    --inside_;
  }

  void count(Event event) { ++events[static_cast<std::size_t>(event)]; }

  // --- looking things up --------------------------------------------------------------------------

  std::vector<Line>& set_of(Slice& s, std::uint64_t line) {
    return s.sets[map_.set_of(map_.locate(line).slice_line, app_of(line))];
  }
  static Line* find(std::vector<Line>& set, std::uint64_t line) {
    const auto found = std::find_if(set.begin(), set.end(), [&](const Line& l) { return l.line == line; });
    return found == set.end() ? nullptr : &*found;
  }
  /// The line's fetch with sectors on their way. A fetch with all its sectors accepts no more requests.
  static Fetch* find_fetch(Slice& s, std::uint64_t line) {
    for (auto& [number, fetch] : s.fetches) {
      if (fetch.line == line && fetch.pending != 0) return &fetch;
    }
    return nullptr;
  }
  static std::uint32_t number_of(const Slice& s, const Fetch& wanted) {
    for (const auto& [number, fetch] : s.fetches) {
      if (&fetch == &wanted) return number;
    }
    return 0;
  }
  /// True if the line is allocated and waits for data, so that it cannot be a victim (allocation on miss
  /// only).
  bool reserved(Slice& s, const Line& line) const {
    return c_.allocate == arch::Allocate::OnMiss && find_fetch(s, line.line) != nullptr;
  }
  const Line* victim_of(Slice& s, const std::vector<Line>& set) const {
    const Line* victim = nullptr;
    for (const Line& line : set) {
      if (!reserved(s, line) && (victim == nullptr || line.used < victim->used)) victim = &line;
    }
    return victim;
  }
  /// The sectors that an access needs. A cache without sectors accesses whole lines.
  [[nodiscard]] std::uint8_t whole(std::uint8_t sectors) const { return c_.sectored ? sectors : kWhole; }
  [[nodiscard]] std::uint32_t units(std::uint8_t sectors) const {
    return c_.sectored ? static_cast<std::uint32_t>(std::popcount(sectors)) : 1;
  }
  [[nodiscard]] static std::uint32_t bytes_of(std::uint8_t sectors) {
    return static_cast<std::uint32_t>(std::popcount(sectors)) * kSectorBytes;
  }
  [[nodiscard]] std::uint32_t beats(std::uint32_t bytes) const {
    return std::max(1U, (bytes + c_.port_bytes - 1) / c_.port_bytes);
  }

  arch::L2Config c_;
  PartitionId id_;
  const noc::PartitionMap& map_;
  noc::Network network_;
  noc::Ticks l2_, dram_;
  arch::DramConfig dram_config_;
  ReferenceChannel channel_;
  std::map<std::uint32_t, bool> fresh_;  // true for banks without a column command since their activation
  std::vector<Slice> slices_;
  std::uint64_t l2_tick_ = 0, dram_tick_ = 0;
  std::uint32_t reply_credits_;
  std::uint32_t first_for_credits_ = 0;
  std::uint32_t last_to_dram_ = 0;
  std::uint32_t fetch_number_ = 0;
  std::uint64_t uses_ = 0;
  std::size_t inside_ = 0;
  arch::PartitionCounters counters_;  // counters that belong to no application
  std::array<arch::MemoryCounters, kMaxApps> of_app_{};
  std::array<std::array<std::uint64_t, kMaxApps>, kMaxApps> pairs_{};  // evictions by victim and culprit
};

}  // namespace gpumux::test
