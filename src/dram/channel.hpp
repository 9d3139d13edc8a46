// One DRAM channel: command scheduling over a queue of requests, with the timing of the banks.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "arch/config.hpp"
#include "arch/messages.hpp"
#include "arch/statistics.hpp"
#include "base/huge_pages.hpp"
#include "base/types.hpp"
#include "dram/address_map.hpp"
#include "dram/channel_ledger.hpp"

namespace gpumux::dram {

using Tick = std::int64_t;  // command clocks since the start of the run
inline constexpr Tick kNoTick = Tick{1} << 62;

struct Request {
  std::uint64_t local_line = 0;
  std::uint32_t token = 0;   // returned with a read's completion
  std::uint8_t sectors = 0;  // sectors to move; one column command for each burst that contains some of them
  bool write = false;
  AppId app = 0;
  arch::KernelSlot kernel = 0;
  bool charged = false;  // true: the ledger has charged the request's whole time already
};

/// A request and the clock from which it can be served.
struct Arrival {
  Tick tick;
  Request request;
};

enum class CommandKind : std::uint8_t { Read, Write, Activate, Precharge, Refresh };
struct Command {
  Tick tick;
  CommandKind kind;
  std::uint16_t bank;  // 0 for Refresh
  std::uint64_t row;   // the bank's open row; 0 for Precharge and Refresh
  friend bool operator==(const Command&, const Command&) = default;
};

/// Schedules the commands of one channel. tests/memory/dram_reference.hpp implements the same rules as a
/// model that steps each command clock. At each clock, on the state at its start:
///  1. Column: each bank offers its oldest request for its open row. Of the offers whose timing allows
///     it now, the oldest moves one burst.
///  2. Row, unless (1) used the shared command bus: each bank without an offer in (1) offers its
///     oldest request. Of the offers whose timing allows it now, the oldest has its bank activated or
///     precharged.
/// A read whose first burst has moved comes before all other requests of its bank. A refresh, or writes, may
/// have closed its row, and other requests may wait for its place in the return queue.
/// fcfs: (1) considers only the oldest request of the channel, and a bank serves its requests in order.
/// Timing: RCD, RP, RC and RAS per bank. RRD and FAW between activations. CCD between column commands, CCDL
/// within a bank group. RTPL from a read, and WR from the end of write data, to a precharge. CDLR from the
/// end of write data to a read. Two clocks between read data and write data. One burst at a time on the data
/// bus. A burst may take a whole number of clocks and a fraction. Its data then waits for the bus for less
/// than a clock, so fractions add up and no bandwidth is lost to rounding.
/// Refresh (REFI > 0): from each multiple of REFI on, no other command starts. Open banks are precharged,
/// then the channel refreshes for RFC.
/// Write watermarks (high > 0): writes wait until `high` writes, or no reads, are queued. Then only writes
/// are served until at most `low` writes are left and a read waits.
/// Places of the queue: a request takes one place. With reads by sector, a read takes one place per sector,
/// which is freed when the column commands of the sector have issued. Sectors of a read enter one after the
/// other: the first may take the last free place, and the other sectors, which the scheduler already sees,
/// then block the next request until they have places too.
///
/// Work is done per command, not per clock: next() is the clock of the next command, decided in advance, and
/// push() corrects the decision.
class Channel {
 public:
  /// `config`: values in the ranges of their keys and consistent (arch/config_file_check.cpp).
  /// `reads_by_sector`: true if the cache above is sectored.
  explicit Channel(const arch::DramConfig& config, bool reads_by_sector = false);

  [[nodiscard]] bool full() const { return used_ >= capacity_; }
  /// Free places of the queue. push() accepts this number of requests of one place each.
  [[nodiscard]] std::uint32_t room() const { return full() ? 0 : capacity_ - used_; }
  /// The places in room() that the last command freed. Valid after run() has reported them.
  [[nodiscard]] std::uint32_t freed() const { return std::min(freed_, room()); }
  /// Number of requests in the queue.
  [[nodiscard]] std::uint32_t size() const { return size_; }
  /// Taken places of the return queue for which release_return() has not been called.
  [[nodiscard]] std::uint32_t returns() const { return returns_ - release_count_; }
  /// Adds a request that can be served from clock `now` on. Requires now > clock of the last step, and
  /// !full().
  void push(const Request& request, Tick now);

  /// Clock of the next command. kNoTick: no command without a new request.
  [[nodiscard]] Tick next() const { return next_; }

  struct Completion {
    std::uint32_t token;
    std::uint8_t sectors;
    Tick end;  // first whole clock at which all data has been moved
  };
  /// Issues the command(s) of clock next(). Returns true if a read has moved its last burst. `completion` is
  /// then set, and a place in the return queue stays taken until release_return().
  bool step(Completion& completion);
  /// Issues the commands of the clocks before `limit`, one after the other. Returns true as soon as a request
  /// has moved its last burst, or a full queue is no longer full, or, with `each_place`, another place became
  /// free. `completion.sectors` is 0 unless a read has moved its last burst. Returns false when the clock of
  /// the next command is `limit` or later.
  bool run(Tick limit, Completion& completion, bool each_place = false);
  /// Clock of the last command; -1 before the first command.
  [[nodiscard]] Tick last() const { return last_; }
  /// Tells that the data of the read completed by the last step leaves the return queue at clock `at`, which
  /// may be in the future. Must be called right after that step.
  void release_return(Tick at);

  /// Prefetches the banks and the queue into the host's cache.
  void prefetch() const;
  /// Sets the dram_* counters of an application.
  void count(AppId app, arch::MemoryCounters& counters) const;
  void count(arch::PartitionCounters& counters) const;
  /// Makes the channel keep a ledger of interference. Must be called before the first request.
  void keep_ledger() { ledger_ = std::make_unique<ChannelLedger>(entries_.size(), banks_.size()); }
  /// Sets the dram_* counters for a pair of applications.
  void count(AppId victim, AppId culprit, arch::PairCounters& counters) const;
  /// Records every command in `trace`, for tests. nullptr: off.
  void set_trace(std::vector<Command>* trace) { trace_ = trace; }
  /// Records every request in `trace`, for tests. nullptr: off.
  void set_request_trace(std::vector<Arrival>* trace) { request_trace_ = trace; }
  [[nodiscard]] std::string describe(const std::string& name) const;

 private:
  static constexpr std::uint16_t kNone = 0xffff;
  static constexpr std::uint32_t kFewHits = 4;  // up to this number of hits are compared one by one
  static constexpr std::uint64_t kClosed = ~std::uint64_t{0};
  struct Entry {
    std::uint64_t row;
    std::uint64_t age;
    Tick arrived;
    std::uint32_t token;
    std::uint16_t bank;
    std::uint16_t next, previous;  // requests of the bank, in order of age
    std::uint16_t later, earlier;  // requests of the channel, in order of age
    std::uint8_t bursts;           // bursts left to move
    std::uint8_t sectors;
    std::uint8_t places;  // places of the queue that the request still takes
    bool write;
    bool started;  // read that has moved its first burst and holds a place in the return queue
    AppId app;
    arch::KernelSlot kernel;
  };
  struct alignas(64) Bank {  // size is a power of two, so that indexing is a shift
    std::uint64_t open_row = kClosed;
    std::uint64_t hit_age = 0;  // age of the request `hit`
    Tick activate = 0;          // earliest clock of each command, by this bank's own timing
    Tick precharge = 0;
    Tick column = 0;
    std::uint16_t head = kNone, tail = kNone;
    std::uint16_t hit = kNone;    // request for the open row to serve next
    std::uint16_t want = kNone;   // request whose row is opened next if there is no hit
    std::uint16_t begun = kNone;  // read whose row was closed between its bursts
    std::uint32_t group = 0;
    bool hit_is_write = false;
    bool fresh = false;  // no column command since the last activation
  };
  /// The row command that a bank of want_banks_ needs. The bank's timing does not change until a row
  /// command concerns the bank.
  struct RowOffer {
    Tick at = 0;            // Bank::activate, or Bank::precharge if the bank is open
    std::uint64_t age = 0;  // of Bank::want
  };
  void offer_row(std::uint32_t index) {
    const Bank& bank = banks_[index];
    row_offers_[index].at = bank.open_row == kClosed ? bank.activate : bank.precharge;
  }
  enum class Plan : std::uint8_t { Normal, PrechargeForRefresh, Refresh };

  void plan(Tick base);
  void plan_refresh(Tick base);
  void consider_column(std::uint32_t bank, Tick base);
  void consider_rows(std::uint64_t banks, Tick least);
  void plan_columns(Tick base);
  /// Chooses the bank for the next column command: the earliest possible clock, then the oldest
  /// offer. No column command is possible before `soonest`, no read before `read`, no write before
  /// `write`; `read` and `write` are not before `soonest`. Returns the clock. Without offers, returns
  /// kNoTick and leaves `bank` unset.
  Tick choose_column(Tick soonest, Tick read, Tick write, std::uint32_t& bank) {
    if (hits_ <= kFewHits) return choose_earliest(soonest, read, write, bank);
    std::uint64_t ready = hit_banks_;
    if (read > soonest) ready &= write_hits_;
    if (write > soonest) ready &= ~write_hits_;
    for (std::uint64_t m = held_groups_; m != 0; m &= m - 1) {
      const auto group = static_cast<std::size_t>(std::countr_zero(m));
      if (group_column_[group] > soonest) {
        ready &= ~group_banks_[group];
      } else {
        held_groups_ &= ~(m & -m);  // permanently, since time does not go back
      }
    }
    for (std::uint64_t m = opening_banks_; m != 0; m &= m - 1) {
      if (banks_[static_cast<std::size_t>(std::countr_zero(m))].column > soonest) {
        ready &= ~(m & -m);
      } else {
        opening_banks_ &= ~(m & -m);  // permanently, since time does not go back
      }
    }
    if (ready != 0) {
      std::uint32_t i = 0;
      while ((ready >> hit_order_[i] & 1U) == 0) ++i;
      bank = hit_order_[i];
      return soonest;
    }
    return choose_earliest(soonest, read, write, bank);
  }
  /// Earliest clock of a column command, by the timing of the bank and its group.
  [[nodiscard]] Tick earliest_column(const Bank& bank) const {
    return std::max(bank.column, group_column_[bank.group]);
  }
  Tick choose_earliest(Tick soonest, Tick read, Tick write, std::uint32_t& bank) const {
    Tick first = kNoTick;
    for (std::uint32_t i = 0; i < hits_; ++i) {
      const Bank& other = banks_[hit_order_[i]];
      const Tick at = std::max(other.hit_is_write ? write : read, earliest_column(other));
      if (at < first) {  // on a tie, the earlier bank in the order is older
        first = at;
        bank = hit_order_[i];
        if (at == soonest) break;
      }
    }
    return first;
  }
  void plan_rows(Tick base);
  void insert_hit(std::uint32_t bank);
  void set_hit(Bank& bank, std::uint32_t index, std::uint16_t hit) {
    bank.hit = hit;
    bank.hit_age = entries_[hit].age;
    bank.hit_is_write = entries_[hit].write;
    const std::uint64_t bit = std::uint64_t{1} << index;
    write_hits_ = bank.hit_is_write ? write_hits_ | bit : write_hits_ & ~bit;
  }
  void erase_hit(std::uint32_t bank);
  void settle_plan(Tick base);
  void catch_up_refresh(Tick now);
  /// Finds the requests that a bank offers. No request before `from` is for its open row.
  void select(std::uint32_t bank, std::uint16_t from);
  void select_all();
  /// Called after the bank's offer has been removed. Offers the next request for the open row, which is
  /// `from` or younger. Returns false if there is none, after calling select().
  bool next_hit(Bank& bank, std::uint32_t index, std::uint16_t from);
  bool update_drain();
  bool issue(Completion& completion);
  bool issue_columns(Tick limit, Completion& completion);
  Tick move_burst(Bank& bank, std::uint32_t index, Entry& entry, Tick now);
  bool issue_column(std::uint32_t bank, Tick now, Completion& completion, bool& room);
  /// Frees places after a burst of a request that has bursts left. True if run() must report the free places.
  bool free_places(Entry& entry) {
    if (entry.places == 1) return false;  // the last place is freed with the request
    const std::uint8_t left = places_left_[entry.sectors][entry.bursts];
    if (left == entry.places) return false;
    const bool was_full = full();
    freed_ = static_cast<std::uint32_t>(entry.places - left);
    used_ -= freed_;
    entry.places = left;
    return !full() && (was_full || each_place_);
  }
  void issue_row(std::uint32_t bank, Tick now);
  void activate(Bank& bank, std::uint32_t index, Tick now);
  [[nodiscard]] std::uint64_t bursts_of(AppId app) const {
    return counts_[app].read_bursts + counts_[app].write_bursts;
  }
  /// Updates of the ledger: a request arrived, a row was opened, a request's last burst was issued.
  void note_arrival(std::uint16_t index, bool charged, Tick now);
  void note_activation(std::uint32_t index, AppId opener, Tick now);
  void note_end(const Entry& entry, std::uint16_t index);
  void precharge(Bank& bank, std::uint32_t index, Tick now);
  void issue_refresh_command();
  /// Removes a request whose last command was that of clock `now`.
  void remove(std::uint16_t index, Tick now);
  void free_returns(Tick now);  // only if the return queue looks full
  [[nodiscard]] bool eligible(const Entry& entry) const {
    return write_high_ == 0 || entry.write == draining_;
  }
  [[nodiscard]] std::uint16_t oldest_eligible() const;
  void record(Tick tick, CommandKind kind, std::uint32_t bank, std::uint64_t row) {
    if (trace_ != nullptr) trace_->push_back({tick, kind, static_cast<std::uint16_t>(bank), row});
  }

  // configuration
  AddressMap map_;
  std::uint32_t capacity_;
  std::uint32_t return_capacity_;
  bool reads_by_sector_;
  Tick cl_, wl_, rcd_, rp_, rc_, ras_, rrd_, ccd_, ccdl_, cdlr_, wr_, rtpl_, faw_, refi_, rfc_;
  bool separate_row_bus_;
  bool fcfs_;
  std::uint32_t write_high_, write_low_;
  std::uint32_t burst_bytes_;
  std::uint32_t burst_fraction_;  // a burst takes burst_whole_ + burst_fraction_ / clock_parts_ clocks
  std::uint32_t clock_parts_;
  Tick burst_whole_;
  std::array<std::uint8_t, 16> bursts_{};                       // by sector mask
  std::array<std::array<std::uint8_t, 17>, 16> places_left_{};  // of a read, by sector mask and bursts left

  // queue
  HugePageVector<Entry> entries_;
  std::uint16_t free_ = kNone;
  std::uint16_t oldest_ = kNone, youngest_ = kNone;
  std::uint32_t size_ = 0;
  std::uint32_t used_ = 0;  // places taken, including those that sectors still wait for
  std::uint32_t freed_ = 0;
  bool each_place_ = false;
  std::uint32_t reads_ = 0, writes_ = 0;
  std::uint64_t age_ = 0;
  bool draining_ = false;                // write watermarks: only writes are served
  HugePageVector<Tick> return_release_;  // ring of clocks at which places of the return queue become free
  std::uint32_t release_head_ = 0, release_count_ = 0;
  std::uint32_t returns_ = 0;  // places taken, including those in the ring

  // banks
  HugePageVector<Bank> banks_;
  HugePageVector<Tick> group_column_;  // earliest column command by bank group
  HugePageVector<std::uint64_t> group_banks_;
  std::uint64_t held_groups_ = 0;             // bank groups that may still wait for group_column_
  std::uint64_t hit_banks_ = 0;               // banks with a hit
  std::uint64_t write_hits_ = 0;              // banks whose hit is a write; bits of banks
                                              // without a hit are undefined
  std::uint64_t opening_banks_ = 0;           // banks that were activated and may not be
                                              // ready for column commands yet
  std::uint64_t want_banks_ = 0;              // banks with requests, but without a hit
  std::array<std::uint8_t, 64> hit_order_{};  // banks of hit_banks_, by age of their hit
  std::uint32_t hits_ = 0;
  HugePageVector<RowOffer> row_offers_;
  std::uint64_t open_banks_ = 0;
  Tick read_ = 0, write_ = 0;  // earliest column command of the channel, by direction
  Tick activate_ = 0;          // earliest activation of the channel (RRD, FAW)
  std::array<Tick, 4> activations_{};
  std::uint32_t activation_ = 0;
  Tick bus_whole_ = 0;  // the data bus is free from bus_whole_ + bus_fraction_ / clock_parts_
  std::uint32_t bus_fraction_ = 0;
  Tick refresh_due_ = kNoTick;

  // the next command
  Tick next_ = kNoTick;
  Tick last_ = -1;  // clock of the last command
  Plan plan_ = Plan::Normal;
  Tick column_tick_ = kNoTick, row_tick_ = kNoTick;
  std::uint64_t column_age_ = 0, row_age_ = 0;
  std::uint32_t column_bank_ = 0, row_bank_ = 0;
  std::uint32_t refresh_bank_ = 0;
  // Column commands do not change the banks' row commands, so the choice of the next row command is kept.
  bool rows_changed_ = false;     // the next row command must be chosen from all banks
  std::uint64_t rows_added_ = 0;  // banks that joined want_banks_ since the last choice

  struct Counts {
    std::uint64_t read_bursts = 0, write_bursts = 0;
    std::uint64_t row_misses = 0;  // bursts that were the first after their row was opened
    std::uint64_t waited = 0;      // clocks from arrival to last burst, summed over requests
    std::uint64_t activates = 0;   // activations for requests of this application
  };
  std::array<Counts, kMaxApps> counts_{};
  std::unique_ptr<ChannelLedger> ledger_;
  std::vector<Command>* trace_ = nullptr;
  std::vector<Arrival>* request_trace_ = nullptr;
};

}  // namespace gpumux::dram
