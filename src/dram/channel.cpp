// The request queue of a DRAM channel, and the request that each bank offers for its next command.
#include "dram/channel.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "base/error.hpp"
#include "base/prefetch.hpp"

namespace gpumux::dram {

Channel::Channel(const arch::DramConfig& c, bool reads_by_sector)
    : map_(c),
      capacity_(c.queue),
      return_capacity_(c.return_queue),
      reads_by_sector_(reads_by_sector),
      cl_(c.CL),
      wl_(c.WL),
      rcd_(c.RCD),
      rp_(c.RP),
      rc_(c.RC),
      ras_(c.RAS),
      rrd_(c.RRD),
      ccd_(c.CCD),
      ccdl_(c.CCDL),
      cdlr_(c.CDLR),
      wr_(c.WR),
      rtpl_(c.RTPL),
      faw_(c.FAW),
      refi_(c.REFI),
      rfc_(c.RFC),
      separate_row_bus_(c.separate_row_bus),
      fcfs_(c.scheduler == arch::DramOrder::Fcfs),
      write_high_(c.write_high_watermark),
      write_low_(c.write_low_watermark),
      burst_bytes_(c.burst_bytes),
      entries_(capacity_),
      return_release_(return_capacity_),
      banks_(c.banks),
      group_column_(c.bank_groups, 0),
      group_banks_(c.bank_groups, 0),
      row_offers_(c.banks) {
  // Clocks per burst as a fraction. Transfers per clock are rounded to thousandths.
  const auto moved = static_cast<std::uint64_t>(std::llround(c.bus_bytes * c.transfers_per_clock * 1000));
  const std::uint64_t bytes = std::uint64_t{c.burst_bytes} * 1000;
  const std::uint64_t divisor = std::gcd(bytes, moved);
  clock_parts_ = static_cast<std::uint32_t>(moved / divisor);
  burst_whole_ = static_cast<Tick>(bytes / moved);
  burst_fraction_ = static_cast<std::uint32_t>(bytes / divisor % clock_parts_);

  for (unsigned mask = 1; mask < 16; ++mask) {
    const std::uint32_t sectors_per_burst = burst_bytes_ / kSectorBytes;
    if (sectors_per_burst <= 1) {
      const std::uint32_t per_sector = kSectorBytes / burst_bytes_;
      bursts_[mask] = static_cast<std::uint8_t>(static_cast<unsigned>(std::popcount(mask)) * per_sector);
      for (unsigned left = 1; left <= bursts_[mask]; ++left)
        places_left_[mask][left] = static_cast<std::uint8_t>((left + per_sector - 1) / per_sector);
      continue;
    }
    // A request moves its bursts in ascending order, so its last bursts are those of the upper sectors.
    unsigned sectors = 0;
    for (unsigned first = kSectorsPerLine; first > 0;) {
      first -= sectors_per_burst;
      const unsigned touched = mask >> first & ((1U << sectors_per_burst) - 1);
      if (touched == 0) continue;
      sectors += static_cast<unsigned>(std::popcount(touched));
      places_left_[mask][++bursts_[mask]] = static_cast<std::uint8_t>(sectors);
    }
  }
  for (std::uint32_t i = 0; i < capacity_; ++i) {
    entries_[i].next = i + 1U < capacity_ ? static_cast<std::uint16_t>(i + 1) : kNone;
  }
  free_ = 0;
  const std::uint32_t per_group = c.banks / c.bank_groups;
  for (std::uint32_t b = 0; b < c.banks; ++b) {
    banks_[b].group = b / per_group;
    group_banks_[b / per_group] |= std::uint64_t{1} << b;
  }
  activations_.fill(-faw_);
  if (refi_ > 0) refresh_due_ = refi_;
}

void Channel::push(const Request& request, Tick now) {
  GPUMUX_DCHECK(!full() && now > last_ && now <= next_ && request.sectors != 0);
  if (request_trace_ != nullptr) request_trace_->push_back({now, request});
  if (size_ == 0 && refi_ > 0) catch_up_refresh(now);
  const AddressMap::Place place = map_.locate(request.local_line);
  const std::uint16_t index = free_;
  Entry& e = entries_[index];
  free_ = e.next;
  ++size_;
  // A line that is evicted is one request and takes one place. Only reads take a place per sector.
  const std::uint8_t bursts = bursts_[request.sectors];
  const std::uint8_t places =
      reads_by_sector_ && !request.write ? places_left_[request.sectors][bursts] : std::uint8_t{1};
  used_ += places;
  ++(request.write ? writes_ : reads_);
  e = {.row = place.row,
       .age = age_++,
       .arrived = now,
       .token = request.token,
       .bank = static_cast<std::uint16_t>(place.bank),
       .next = kNone,
       .previous = banks_[place.bank].tail,
       .later = kNone,
       .earlier = youngest_,
       .bursts = bursts,
       .sectors = request.sectors,
       .places = places,
       .write = request.write,
       .started = false,
       .app = request.app,
       .kernel = request.kernel};
  if (ledger_) [[unlikely]]
    note_arrival(index, request.charged, now);
  Bank& bank = banks_[place.bank];
  (bank.tail == kNone ? bank.head : entries_[bank.tail].next) = index;
  bank.tail = index;
  (youngest_ == kNone ? oldest_ : entries_[youngest_].later) = index;
  youngest_ = index;

  const std::uint64_t bit = std::uint64_t{1} << place.bank;
  if (update_drain()) {
    select_all();
    plan(now);
    return;
  }
  if (size_ == 1) {
    select(place.bank, bank.head);
    plan(now);
    return;
  }
  if (!eligible(e) || (hit_banks_ & bit) != 0) return;
  if ((want_banks_ & bit) == 0) {  // no other eligible request waits for this bank
    select(place.bank, index);
    if (plan_ != Plan::Normal) {
      if (now < refresh_due_) plan(now);  // the request may be served before the refresh
      return;
    }
    if (bank.hit != kNone) {
      consider_column(place.bank, now);
    } else {
      plan_rows(now);
    }
    settle_plan(now);
  } else if (!fcfs_ && bank.open_row == e.row) {  // the new request is for the open row: no precharge is
                                                  // needed
    select(place.bank, index);
    plan(now);
  }
}

// Brings the refreshes of an empty channel up to date. An idle channel refreshes too, but the refreshes have
// no visible effect until the next request, so they are simulated only then.
void Channel::catch_up_refresh(Tick now) {
  while (refresh_due_ < now) {
    plan_refresh(std::max(last_ + 1, refresh_due_));
    if (next_ >= now) break;
    last_ = next_;
    issue_refresh_command();
    // With all banks closed, refreshes follow each other at distance REFI, so whole periods are skipped.
    if (open_banks_ == 0 && trace_ == nullptr && refresh_due_ + 2 * refi_ < now) {
      refresh_due_ += (now - refresh_due_) / refi_ * refi_ - refi_;
    }
  }
  plan_ = Plan::Normal;
  next_ = kNoTick;
}

std::uint16_t Channel::oldest_eligible() const {
  std::uint16_t i = oldest_;
  while (i != kNone && !eligible(entries_[i])) i = entries_[i].later;
  return i;
}

void Channel::select(std::uint32_t index, std::uint16_t from) {
  Bank& bank = banks_[index];
  const std::uint64_t bit = std::uint64_t{1} << index;
  if ((hit_banks_ & bit) != 0) erase_hit(index);
  const bool wanted = (want_banks_ & bit) != 0;
  if (wanted) rows_changed_ = true;
  bank.hit = bank.want = kNone;
  hit_banks_ &= ~bit;
  want_banks_ &= ~bit;
  rows_added_ &= ~bit;
  const auto first_eligible = [&] {
    std::uint16_t i = bank.head;
    while (i != kNone && !eligible(entries_[i])) i = entries_[i].next;
    return i;
  };
  const bool resumes = bank.begun != kNone && eligible(entries_[bank.begun]);
  std::uint16_t hit = kNone;
  if (resumes) {
    if (entries_[bank.begun].row == bank.open_row) hit = bank.begun;
  } else if (fcfs_) {
    const std::uint16_t head = first_eligible();
    if (head != kNone && entries_[head].row == bank.open_row) hit = head;
  } else if (bank.open_row != kClosed) {
    hit = from;
    while (hit != kNone && !(entries_[hit].row == bank.open_row && eligible(entries_[hit])))
      hit = entries_[hit].next;
  }
  if (hit != kNone) {
    set_hit(bank, index, hit);
    hit_banks_ |= bit;
    insert_hit(index);
    return;
  }
  bank.want = resumes ? bank.begun : first_eligible();
  if (bank.want != kNone) {
    row_offers_[index].age = entries_[bank.want].age;
    offer_row(index);
    want_banks_ |= bit;
    rows_added_ |= bit;
  }
}

bool Channel::next_hit(Bank& bank, std::uint32_t index, std::uint16_t from) {
  std::uint16_t hit = from;
  while (hit != kNone && !(entries_[hit].row == bank.open_row && eligible(entries_[hit])))
    hit = entries_[hit].next;
  if (hit == kNone) {
    select(index, kNone);
    return false;
  }
  set_hit(bank, index, hit);
  std::uint32_t place = 0;
  while (hit_order_[place] != index) ++place;
  for (; place + 1 < hits_ && banks_[hit_order_[place + 1]].hit_age < bank.hit_age; ++place)
    hit_order_[place] = hit_order_[place + 1];
  hit_order_[place] = static_cast<std::uint8_t>(index);
  return true;
}

void Channel::insert_hit(std::uint32_t bank) {
  const std::uint64_t age = banks_[bank].hit_age;
  std::uint32_t place = hits_++;
  for (; place > 0 && banks_[hit_order_[place - 1]].hit_age > age; --place)
    hit_order_[place] = hit_order_[place - 1];
  hit_order_[place] = static_cast<std::uint8_t>(bank);
}

void Channel::erase_hit(std::uint32_t bank) {
  std::uint32_t place = 0;
  while (hit_order_[place] != bank) ++place;
  for (--hits_; place < hits_; ++place) hit_order_[place] = hit_order_[place + 1];
}

void Channel::select_all() {
  for (std::uint32_t b = 0; b < banks_.size(); ++b) select(b, banks_[b].head);
}

bool Channel::update_drain() {
  if (write_high_ == 0) return false;
  const bool before = draining_;
  if (!draining_) {
    draining_ = writes_ >= write_high_ || (reads_ == 0 && writes_ > 0);
  } else {
    draining_ = writes_ > 0 && (writes_ > write_low_ || reads_ == 0);
  }
  return draining_ != before;
}

void Channel::remove(std::uint16_t index, Tick now) {
  Entry& e = entries_[index];
  counts_[e.app].waited += static_cast<std::uint64_t>(now - e.arrived);
  if (ledger_) [[unlikely]]
    note_end(e, index);
  Bank& bank = banks_[e.bank];
  (e.previous == kNone ? bank.head : entries_[e.previous].next) = e.next;
  (e.next == kNone ? bank.tail : entries_[e.next].previous) = e.previous;
  (e.earlier == kNone ? oldest_ : entries_[e.earlier].later) = e.later;
  (e.later == kNone ? youngest_ : entries_[e.later].earlier) = e.earlier;
  --(e.write ? writes_ : reads_);
  --size_;
  if (bank.begun == index) bank.begun = kNone;
  freed_ = e.places;
  used_ -= freed_;
  e.next = free_;
  free_ = index;
}

void Channel::prefetch() const {
  if (size_ == 0) return;
  prefetch_lines(banks_.data(), banks_.data() + banks_.size());
  prefetch_lines(row_offers_.data(), row_offers_.data() + row_offers_.size());
  prefetch_lines(entries_.data(), entries_.data() + entries_.size());
  prefetch_lines(group_column_.data(), group_column_.data() + group_column_.size());
  prefetch_lines(group_banks_.data(), group_banks_.data() + group_banks_.size());
}

void Channel::count(AppId app, arch::MemoryCounters& counters) const {
  const Counts& of = counts_[app];
  const std::uint64_t bursts = of.read_bursts + of.write_bursts;
  counters.dram_reads = of.read_bursts;
  counters.dram_writes = of.write_bursts;
  counters.dram_row_hits = bursts - of.row_misses;
  counters.dram_activates = of.activates;
  counters.dram_bytes = bursts * burst_bytes_;
  counters.dram_wait_clocks = of.waited;
}

void Channel::count(arch::PartitionCounters& counters) const {
  std::uint64_t bursts = 0;
  for (const Counts& of : counts_) bursts += of.read_bursts + of.write_bursts;
  counters.dram_busy =
      bursts * static_cast<std::uint64_t>(burst_whole_) + bursts * burst_fraction_ / clock_parts_;
}

std::string Channel::describe(const std::string& name) const {
  if (size_ == 0) return {};
  const Entry& e = entries_[oldest_];
  return fmt::format(
      "{} DRAM queue: {} requests, {} of {} places; the oldest is a {} of app {} (kernel slot {}) for bank {}"
      " row {:#x}\n",
      name, size_, used_, capacity_, e.write ? "write" : "read", e.app, e.kernel, e.bank, e.row);
}

}  // namespace gpumux::dram
