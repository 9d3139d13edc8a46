#include "dram/channel.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "base/error.hpp"

namespace gpumux::dram {

namespace {

constexpr Tick kBusTurnaround = 2;  // clocks between read data and write data (GPGPU-Sim's tRTW)

void validate(const machine::DramConfig& c) {
  const auto require = [](bool holds, const char* text) {
    if (!holds) throw UserError(text);
  };
  require(c.banks >= 1 && c.banks <= 64, "dram.banks must be 1 to 64");
  require(c.bank_groups >= 1 && c.banks % c.bank_groups == 0, "dram.bank_groups must divide dram.banks");
  require(c.row_bytes >= kLineBytes &&
              c.row_bytes % (2 * kLineBytes) == (c.row_bytes == kLineBytes ? kLineBytes : 0),
          "dram.row_bytes must be 128 or a multiple of 256");
  require(c.burst_bytes == 8 || c.burst_bytes == 16 || c.burst_bytes == 32 || c.burst_bytes == 64 ||
              c.burst_bytes == 128,
          "dram.burst_bytes must be 8, 16, 32, 64 or 128");
  require(c.bus_bytes >= 1 && c.transfers_per_clock > 0,
          "dram.bus_bytes and dram.transfers_per_clock must be positive");
  require(c.queue >= 1 && c.queue < 0xffff, "dram.queue must be 1 to 65534");
  require(c.return_queue >= 1, "dram.return_queue must be at least 1");
  require(c.scheduler == "frfcfs" || c.scheduler == "fcfs", "dram.scheduler must be \"frfcfs\" or \"fcfs\"");
  require(c.write_low_watermark <= c.write_high_watermark,
          "dram.write_low_watermark must not exceed dram.write_high_watermark");
  require(c.REFI == 0 || c.RFC + c.RAS + c.RP + c.banks < c.REFI,
          "dram.REFI must leave time after a refresh: more than RFC + RAS + RP + banks");
}

}  // namespace

Channel::Channel(const machine::DramConfig& c)
    : map_((validate(c), c)),
      capacity_(c.queue),
      return_capacity_(c.return_queue),
      cl_(c.CL),
      wl_(c.WL),
      rcd_(c.RCD),
      rp_(c.RP),
      rc_(c.RC),
      ras_(c.RAS),
      rrd_(c.RRD),
      ccd_(std::max<std::uint32_t>(c.CCD, 1)),
      ccdl_(c.CCDL),
      cdlr_(c.CDLR),
      wr_(c.WR),
      rtpl_(c.RTPL),
      faw_(c.FAW),
      refi_(c.REFI),
      rfc_(c.RFC),
      separate_row_bus_(c.separate_row_bus),
      fcfs_(c.scheduler == "fcfs"),
      write_high_(std::min(c.write_high_watermark, c.queue)),
      write_low_(std::min(c.write_low_watermark, write_high_)),
      burst_bytes_(c.burst_bytes),
      entries_(c.queue),
      return_release_(c.return_queue),
      banks_(c.banks),
      group_column_(c.bank_groups, 0) {
  // Clocks per burst as a fraction: transfers per clock are taken in thousandths.
  const auto moved = static_cast<std::uint64_t>(std::llround(c.bus_bytes * c.transfers_per_clock * 1000));
  const std::uint64_t bytes = std::uint64_t{c.burst_bytes} * 1000;
  const std::uint64_t divisor = std::gcd(bytes, moved);
  clock_parts_ = static_cast<std::uint32_t>(moved / divisor);
  burst_whole_ = static_cast<Tick>(bytes / moved);
  burst_fraction_ = static_cast<std::uint32_t>(bytes / divisor % clock_parts_);

  for (unsigned mask = 1; mask < 16; ++mask) {
    const std::uint32_t sectors_per_burst = burst_bytes_ / kSectorBytes;
    if (sectors_per_burst <= 1) {
      bursts_[mask] = static_cast<std::uint8_t>(static_cast<unsigned>(std::popcount(mask)) *
                                                (kSectorBytes / burst_bytes_));
      continue;
    }
    for (unsigned first = 0; first < kSectorsPerLine; first += sectors_per_burst) {
      if ((mask >> first & ((1U << sectors_per_burst) - 1)) != 0) ++bursts_[mask];
    }
  }
  for (std::uint32_t i = 0; i < capacity_; ++i) {
    entries_[i].next = i + 1U < capacity_ ? static_cast<std::uint16_t>(i + 1) : kNone;
  }
  free_ = 0;
  const std::uint32_t per_group = c.banks / c.bank_groups;
  for (std::uint32_t b = 0; b < c.banks; ++b) banks_[b].group = b / per_group;
  activations_.fill(-faw_);
  if (refi_ > 0) refresh_due_ = refi_;
}

void Channel::push(const Request& request, Tick now) {
  GPUMUX_DCHECK(!full() && now > last_ && now <= next_ && request.sectors != 0);
  if (size_ == 0 && refi_ > 0) catch_up_refresh(now);
  const AddressMap::Place place = map_.locate(request.local_line);
  const std::uint16_t index = free_;
  Entry& e = entries_[index];
  free_ = e.next;
  ++size_;
  ++(request.write ? writes_ : reads_);
  e = {.row = place.row,
       .age = age_++,
       .token = request.token,
       .bank = static_cast<std::uint16_t>(place.bank),
       .next = kNone,
       .previous = banks_[place.bank].tail,
       .later = kNone,
       .earlier = youngest_,
       .bursts = bursts_[request.sectors],
       .sectors = request.sectors,
       .write = request.write,
       .started = false,
       .app = request.app,
       .kernel = request.kernel};
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
  if ((want_banks_ & bit) == 0) {  // the bank's only request
    select(place.bank, index);
    if (plan_ != Plan::Normal) {
      if (now < refresh_due_) plan(now);  // it may be served before the refresh
      return;
    }
    if (bank.hit != kNone) {
      consider_column(place.bank, now);
    } else {
      plan_rows(now);
    }
    settle_plan(now);
  } else if (!fcfs_ && bank.open_row == e.row) {  // spares the open row
    select(place.bank, index);
    plan(now);
  }
}

bool Channel::step(Completion& completion) { return issue(completion) && completion.sectors != 0; }

bool Channel::run(Tick limit, Completion& completion) {
  while (next_ < limit) {
    if (bursts_ahead()) {
      issue_bursts(limit);
    } else if (issue(completion)) {
      return true;
    }
  }
  return false;
}

// Column commands that do not complete their request, as long as nothing else is due: these change the
// timing of columns alone, so neither the banks' offers nor the next row command need another look.
void Channel::issue_bursts(Tick limit) {
  const Tick stop = std::min({limit, row_tick_, refresh_due_});
  std::uint64_t commands = 0, writes = 0, row_hits = 0, carries = 0;
  Tick now = column_tick_;
  Tick read = read_, write = write_, bus_whole = bus_whole_;
  std::uint32_t bus_fraction = bus_fraction_, busy_fraction = busy_fraction_;
  std::uint32_t index = column_bank_;
  std::uint64_t age = column_age_;
  Tick last = now;
  do {
    Bank& bank = banks_[index];
    Entry& e = entries_[bank.hit];
    if (e.bursts == 1) break;
    record(now, e.write ? CommandKind::Write : CommandKind::Read, index, bank.open_row);
    --e.bursts;
    ++commands;
    if (!bank.fresh) ++row_hits;
    bank.fresh = false;
    const Tick nominal = now + (e.write ? wl_ : cl_);
    if (bus_whole < nominal) {
      bus_whole = nominal;
      bus_fraction = 0;
    }
    bus_whole += burst_whole_;
    bus_fraction += burst_fraction_;
    if (bus_fraction >= clock_parts_) {
      bus_fraction -= clock_parts_;
      ++bus_whole;
    }
    busy_fraction += burst_fraction_;
    if (busy_fraction >= clock_parts_) {
      busy_fraction -= clock_parts_;
      ++carries;
    }
    const Tick end = bus_whole + (bus_fraction > 0 ? 1 : 0);
    group_column_[bank.group] = now + ccdl_;
    last = now;
    bool full = false;
    if (e.write) {
      ++writes;
      write = std::max({write, now + ccd_, bus_whole - wl_});
      read = std::max({read, now + ccd_, end + cdlr_, bus_whole - cl_});
      bank.precharge = std::max(bank.precharge, end + wr_);
    } else {
      read = std::max({read, now + ccd_, bus_whole - cl_});
      write = std::max({write, now + ccd_, end + kBusTurnaround - wl_});
      bank.precharge = std::max(bank.precharge, now + rtpl_);
      if (!e.started) {
        e.started = true;
        full = ++returns_ >= return_capacity_;
      }
    }
    if (full) {  // columns may have to wait for the return queue
      free_returns(now + 1);
      read_ = read;
      write_ = write;
      plan_columns(now + 1);
      now = column_tick_;
      index = column_bank_;
      age = column_age_;
      break;
    }
    // As plan_columns(); both directions' times are past this clock.
    const Tick soonest = std::min(read, write);
    now = kNoTick;
    for (std::uint32_t i = 0; i < hits_ && now > soonest; ++i) {
      const std::uint32_t candidate = hit_order_[i];
      const Bank& other = banks_[candidate];
      const Tick at =
          std::max(std::max(other.column, group_column_[other.group]), other.hit_is_write ? write : read);
      if (at < now) {  // an earlier one in the order is older
        now = at;
        index = candidate;
        age = other.hit_age;
      }
    }
  } while (now < stop);
  read_ = read;
  write_ = write;
  bus_whole_ = bus_whole;
  bus_fraction_ = bus_fraction;
  busy_fraction_ = busy_fraction;
  column_tick_ = now;
  column_bank_ = index;
  column_age_ = age;
  counters_->dram_bytes += commands * burst_bytes_;
  counters_->dram_row_hits += row_hits;
  counters_->dram_busy += commands * static_cast<std::uint64_t>(burst_whole_) + carries;
  counters_->dram_writes += writes;
  counters_->dram_reads += commands - writes;
  last_ = last;
  settle_plan(last + 1);
}

// The command(s) of clock next(). True when a request is through.
bool Channel::issue(Completion& completion) {
  const Tick now = next_;
  bool completed = false;
  if (plan_ != Plan::Normal) {
    issue_refresh_command();
  } else {
    const bool column = column_tick_ == now;
    const bool row = row_tick_ == now && (separate_row_bus_ || !column);
    if (column) completed = issue_column(column_bank_, now, completion);
    if (row) issue_row(row_bank_, now);
    if (completed && update_drain()) select_all();
  }
  last_ = now;
  plan(now + 1);
  return completed;
}

void Channel::release_return(Tick at) {
  const bool was_full = returns_ >= return_capacity_;
  // In order of time: two slices' fill ports may take data in another order than it came.
  std::uint32_t place = release_count_++;
  const auto slot = [&](std::uint32_t i) -> Tick& {
    return return_release_[(release_head_ + i) % return_capacity_];
  };
  for (; place > 0 && slot(place - 1) > at; --place) slot(place) = slot(place - 1);
  slot(place) = at;
  if (was_full && plan_ == Plan::Normal) plan(std::max(last_ + 1, Tick{0}));
}

void Channel::plan(Tick base) {
  if (size_ == 0) {
    plan_ = Plan::Normal;
    column_tick_ = row_tick_ = next_ = kNoTick;
    rows_changed_ = true;
    return;
  }
  if (base >= refresh_due_) {
    plan_refresh(base);
    return;
  }
  plan_ = Plan::Normal;
  free_returns(base);
  plan_columns(base);
  plan_rows(base);
  settle_plan(base);
}

void Channel::plan_columns(Tick base) {
  column_tick_ = kNoTick;
  column_age_ = ~std::uint64_t{0};
  if (fcfs_) {
    const std::uint16_t oldest = oldest_eligible();
    if (oldest != kNone && banks_[entries_[oldest].bank].hit == oldest)
      consider_column(entries_[oldest].bank, base);
    return;
  }
  // Oldest first: once one can go as soon as any could, the younger ones need no look.
  const Tick soonest = std::max(base, std::min(read_, write_));
  for (std::uint32_t i = 0; i < hits_ && column_tick_ > soonest; ++i) consider_column(hit_order_[i], base);
}

void Channel::plan_rows(Tick base) {
  std::uint64_t banks = rows_added_;
  if (rows_changed_ || row_tick_ < base) {
    row_tick_ = kNoTick;
    row_age_ = ~std::uint64_t{0};
    banks = want_banks_;
  }
  rows_changed_ = false;
  rows_added_ = 0;
  for (; banks != 0; banks &= banks - 1)
    consider_row(static_cast<std::uint32_t>(std::countr_zero(banks)), base);
}

void Channel::free_returns(Tick now) {
  if (returns_ < return_capacity_) return;
  while (release_count_ > 0 && return_release_[release_head_] <= now) {
    release_head_ = (release_head_ + 1) % return_capacity_;
    --release_count_;
    --returns_;
  }
}

void Channel::consider_column(std::uint32_t index, Tick base) {
  const Bank& bank = banks_[index];
  if (fcfs_ && bank.hit != oldest_eligible()) return;
  Tick at = std::max({bank.column, group_column_[bank.group], bank.hit_is_write ? write_ : read_, base});
  if (returns_ >= return_capacity_ && !bank.hit_is_write && !entries_[bank.hit].started) {
    if (release_count_ == 0) return;  // release_return() plans anew
    at = std::max(at, return_release_[release_head_]);
  }
  if (at < column_tick_ || (at == column_tick_ && bank.hit_age < column_age_)) {
    column_tick_ = at;
    column_age_ = bank.hit_age;
    column_bank_ = index;
  }
}

void Channel::consider_row(std::uint32_t index, Tick base) {
  const Bank& bank = banks_[index];
  const Tick at =
      bank.open_row == kClosed ? std::max({bank.activate, activate_, base}) : std::max(bank.precharge, base);
  if (at < row_tick_ || (at == row_tick_ && bank.want_age < row_age_)) {
    row_tick_ = at;
    row_age_ = bank.want_age;
    row_bank_ = index;
  }
}

void Channel::settle_plan(Tick base) {
  next_ = std::min(column_tick_, row_tick_);
  if (next_ >= refresh_due_ && refi_ > 0) plan_refresh(std::max(base, refresh_due_));
}

void Channel::plan_refresh(Tick base) {
  if (open_banks_ != 0) {
    plan_ = Plan::PrechargeForRefresh;
    next_ = kNoTick;
    for (std::uint64_t m = open_banks_; m != 0; m &= m - 1) {
      const auto b = static_cast<std::uint32_t>(std::countr_zero(m));
      const Tick at = std::max(banks_[b].precharge, base);
      if (at < next_) {
        next_ = at;
        refresh_bank_ = b;
      }
    }
    return;
  }
  plan_ = Plan::Refresh;
  next_ = base;
  for (const Bank& bank : banks_) next_ = std::max(next_, bank.activate);
}

void Channel::issue_refresh_command() {
  if (plan_ == Plan::PrechargeForRefresh) {
    precharge(banks_[refresh_bank_], refresh_bank_, next_);
    select(refresh_bank_, banks_[refresh_bank_].head);
    return;
  }
  record(next_, CommandKind::Refresh, 0, 0);
  for (Bank& bank : banks_) bank.activate = std::max(bank.activate, next_ + rfc_);
  rows_changed_ = true;
  refresh_due_ += refi_;
}

// An idle channel refreshes too, but nothing is seen of it until the next request.
void Channel::catch_up_refresh(Tick now) {
  while (refresh_due_ < now) {
    plan_refresh(std::max(last_ + 1, refresh_due_));
    if (next_ >= now) break;
    last_ = next_;
    issue_refresh_command();
    // With all banks closed, refreshes follow each other undisturbed.
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
  std::uint16_t hit = kNone;
  if (fcfs_) {
    const std::uint16_t head = first_eligible();
    if (head != kNone && entries_[head].row == bank.open_row) hit = head;
  } else if (bank.open_row != kClosed) {
    hit = from;
    while (hit != kNone && !(entries_[hit].row == bank.open_row && eligible(entries_[hit])))
      hit = entries_[hit].next;
  }
  if (hit != kNone) {
    bank.hit = hit;
    bank.hit_age = entries_[hit].age;
    bank.hit_is_write = entries_[hit].write;
    hit_banks_ |= bit;
    insert_hit(index);
    return;
  }
  bank.want = first_eligible();
  if (bank.want != kNone) {
    bank.want_age = entries_[bank.want].age;
    want_banks_ |= bit;
    rows_added_ |= bit;
  }
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

bool Channel::issue_column(std::uint32_t index, Tick now, Completion& completion) {
  Bank& bank = banks_[index];
  const std::uint16_t request = bank.hit;
  Entry& e = entries_[request];
  record(now, e.write ? CommandKind::Write : CommandKind::Read, index, bank.open_row);
  counters_->dram_bytes += burst_bytes_;
  if (!bank.fresh) ++counters_->dram_row_hits;
  bank.fresh = false;

  const Tick nominal = now + (e.write ? wl_ : cl_);
  if (bus_whole_ < nominal) {
    bus_whole_ = nominal;
    bus_fraction_ = 0;
  }
  bus_whole_ += burst_whole_;
  bus_fraction_ += burst_fraction_;
  if (bus_fraction_ >= clock_parts_) {
    bus_fraction_ -= clock_parts_;
    ++bus_whole_;
  }
  counters_->dram_busy += static_cast<std::uint64_t>(burst_whole_);
  busy_fraction_ += burst_fraction_;
  if (busy_fraction_ >= clock_parts_) {
    busy_fraction_ -= clock_parts_;
    ++counters_->dram_busy;
  }
  const Tick end = bus_whole_ + (bus_fraction_ > 0 ? 1 : 0);
  group_column_[bank.group] = now + ccdl_;
  if (e.write) {
    ++counters_->dram_writes;
    write_ = std::max({write_, now + ccd_, bus_whole_ - wl_});
    read_ = std::max({read_, now + ccd_, end + cdlr_, bus_whole_ - cl_});
    bank.precharge = std::max(bank.precharge, end + wr_);
  } else {
    ++counters_->dram_reads;
    read_ = std::max({read_, now + ccd_, bus_whole_ - cl_});
    write_ = std::max({write_, now + ccd_, end + kBusTurnaround - wl_});
    bank.precharge = std::max(bank.precharge, now + rtpl_);
    if (!e.started) {
      e.started = true;
      free_returns(now);
      ++returns_;
      GPUMUX_DCHECK(returns_ <= return_capacity_);
    }
  }
  if (--e.bursts > 0) return false;
  completion = {e.token, static_cast<std::uint8_t>(e.write ? 0 : e.sectors), end};
  const std::uint16_t next = e.next;
  remove(request);
  select(index, next);
  return true;
}

void Channel::issue_row(std::uint32_t index, Tick now) {
  Bank& bank = banks_[index];
  rows_changed_ = true;
  if (bank.open_row == kClosed) {
    activate(bank, index, now);
  } else {
    precharge(bank, index, now);
  }
}

void Channel::activate(Bank& bank, std::uint32_t index, Tick now) {
  bank.open_row = entries_[bank.want].row;
  open_banks_ |= std::uint64_t{1} << index;
  record(now, CommandKind::Activate, index, bank.open_row);
  ++counters_->dram_activates;
  bank.fresh = true;
  bank.activate = now + rc_;
  bank.precharge = now + ras_;
  bank.column = now + rcd_;
  activations_[activation_] = now;
  activation_ = (activation_ + 1) % 4;
  activate_ = now + rrd_;
  if (faw_ > 0) activate_ = std::max(activate_, activations_[activation_] + faw_);
  select(index, bank.head);
}

void Channel::precharge(Bank& bank, std::uint32_t index, Tick now) {
  record(now, CommandKind::Precharge, index, 0);
  bank.open_row = kClosed;
  open_banks_ &= ~(std::uint64_t{1} << index);
  bank.activate = std::max(bank.activate, now + rp_);
}

void Channel::remove(std::uint16_t index) {
  Entry& e = entries_[index];
  Bank& bank = banks_[e.bank];
  (e.previous == kNone ? bank.head : entries_[e.previous].next) = e.next;
  (e.next == kNone ? bank.tail : entries_[e.next].previous) = e.previous;
  (e.earlier == kNone ? oldest_ : entries_[e.earlier].later) = e.later;
  (e.later == kNone ? youngest_ : entries_[e.later].earlier) = e.earlier;
  --(e.write ? writes_ : reads_);
  --size_;
  e.next = free_;
  free_ = index;
}

std::string Channel::describe(const std::string& name) const {
  if (size_ == 0) return {};
  const Entry& e = entries_[oldest_];
  return fmt::format(
      "{} DRAM queue: {} of {} requests; the oldest is a {} of app {} (kernel slot {}) for bank {} row "
      "{:#x}\n",
      name, size_, capacity_, e.write ? "write" : "read", e.app, e.kernel, e.bank, e.row);
}

}  // namespace gpumux::dram
