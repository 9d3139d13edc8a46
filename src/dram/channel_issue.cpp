// Commands, and what each does to the timing of those after it.
#include <algorithm>
#include <bit>

#include "base/error.hpp"
#include "dram/channel.hpp"

namespace gpumux::dram {

namespace {
constexpr Tick kBusTurnaround = 2;  // clocks between read data and write data (GPGPU-Sim's tRTW)
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

}  // namespace gpumux::dram
