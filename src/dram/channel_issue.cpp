// Issues commands of a DRAM channel, and applies the effect of each command on the timing of later ones.
#include <algorithm>
#include <bit>

#include "base/error.hpp"
#include "dram/channel.hpp"

namespace gpumux::dram {

namespace {
constexpr Tick kBusTurnaround = 2;  // clocks between read data and write data (GPGPU-Sim's tRTW)
}

bool Channel::step(Completion& completion) { return issue(completion) && completion.sectors != 0; }

bool Channel::run(Tick limit, Completion& completion, bool each_place) {
  each_place_ = each_place;
  while (next_ < limit) {
    const bool columns = plan_ == Plan::Normal && column_tick_ < row_tick_ && !fcfs_;
    if (columns && returns_ < return_capacity_ ? issue_columns(limit, completion) : issue(completion))
      return true;
  }
  return false;
}

// Moves a burst of `entry`, the request that the bank offers. Updates the timing of later commands of the
// bank and of later column commands of the channel. Returns the first whole clock at which all data of
// the burst has been moved.
[[gnu::always_inline]] inline Tick Channel::move_burst(Bank& bank, std::uint32_t index, Entry& entry,
                                                       Tick now) {
  const bool write = entry.write;
  Counts& counts = counts_[entry.app];
  record(now, write ? CommandKind::Write : CommandKind::Read, index, bank.open_row);
  if (bank.fresh) {
    bank.fresh = false;
    ++counts.row_misses;
  }
  const Tick nominal = now + (write ? wl_ : cl_);
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
  const Tick end = bus_whole_ + (bus_fraction_ > 0 ? 1 : 0);
  const Tick next = now + ccd_;
  group_column_[bank.group] = now + ccdl_;
  held_groups_ |= std::uint64_t{1} << bank.group;
  if (write) {
    ++counts.write_bursts;
    write_ = std::max({write_, next, bus_whole_ - wl_});
    read_ = std::max({read_, next, bus_whole_ - cl_, end + cdlr_});
    bank.precharge = std::max(bank.precharge, end + wr_);
  } else {
    ++counts.read_bursts;
    read_ = std::max({read_, next, bus_whole_ - cl_});
    write_ = std::max({write_, next, end + kBusTurnaround - wl_});
    bank.precharge = std::max(bank.precharge, now + rtpl_);
    if (!entry.started) {
      entry.started = true;
      if (returns_ >= return_capacity_) free_returns(now);
      ++returns_;
      GPUMUX_DCHECK(returns_ <= return_capacity_);
    }
  }
  return end;
}

// Issues column commands until another command is due or run() has something to report; true in the latter
// case. Column commands only change the timing of column commands, so the next row command stays as chosen.
bool Channel::issue_columns(Tick limit, Completion& completion) {
  const Tick stop = std::min({limit, row_tick_, refresh_due_});
  Tick now = column_tick_;
  std::uint32_t index = column_bank_;
  while (true) {
    Bank& bank = banks_[index];
    Entry& e = entries_[bank.hit];
    const Tick end = move_burst(bank, index, e, now);
    last_ = now;
    const bool through = --e.bursts == 0;
    bool tell = through;
    if (through) {
      completion = {e.token, static_cast<std::uint8_t>(e.write ? 0 : e.sectors), end};
      const std::uint16_t next = e.next;
      remove(bank.hit, now);
      // If another request is for the open row, it becomes the bank's offer and row commands need not be
      // reconsidered. Otherwise plan again.
      if (!next_hit(bank, index, next) || write_high_ > 0 || returns_ >= return_capacity_) {
        if (update_drain()) select_all();
        plan(now + 1);
        return true;
      }
    } else {
      tell = free_places(e);
      if (tell) completion = {e.token, 0, end};
      if (returns_ >= return_capacity_) {  // column commands may have to wait for the return queue
        free_returns(now + 1);
        plan_columns(now + 1);
        settle_plan(last_ + 1);
        return tell;
      }
    }
    // Both directions are past this clock, so the minimum is a valid lower bound.
    now = choose_column(std::min(read_, write_), read_, write_, index);
    if (tell || now >= stop) {
      column_tick_ = now;
      column_bank_ = index;
      column_age_ = banks_[index].hit_age;
      settle_plan(last_ + 1);
      return tell;
    }
  }
}

// Issues the command(s) of clock next(). Returns true if run() has something to report.
bool Channel::issue(Completion& completion) {
  const Tick now = next_;
  bool completed = false;
  bool room = false;
  if (plan_ != Plan::Normal) {
    issue_refresh_command();
  } else {
    const bool column = column_tick_ == now;
    const bool row = row_tick_ == now && (separate_row_bus_ || !column);
    if (!column && !fcfs_ && returns_ < return_capacity_) {
      // The chosen column command stays, unless the row command made an earlier one possible.
      issue_row(row_bank_, now);
      last_ = now;
      if ((hit_banks_ >> row_bank_ & 1U) != 0) consider_column(row_bank_, now + 1);
      plan_rows(now + 1);
      settle_plan(now + 1);
      return false;
    }
    if (column) completed = issue_column(column_bank_, now, completion, room);
    if (row) issue_row(row_bank_, now);
    if (completed && update_drain()) select_all();
  }
  last_ = now;
  plan(now + 1);
  return completed || room;
}

void Channel::issue_refresh_command() {
  if (plan_ == Plan::PrechargeForRefresh) {
    precharge(banks_[refresh_bank_], refresh_bank_, next_);
    select(refresh_bank_, banks_[refresh_bank_].head);
    return;
  }
  record(next_, CommandKind::Refresh, 0, 0);
  for (std::uint32_t b = 0; b < banks_.size(); ++b) {
    banks_[b].activate = std::max(banks_[b].activate, next_ + rfc_);
    offer_row(b);
  }
  rows_changed_ = true;
  refresh_due_ += refi_;
}

// Returns true if the request has moved its last burst.
bool Channel::issue_column(std::uint32_t index, Tick now, Completion& completion, bool& room) {
  const std::uint16_t request = banks_[index].hit;
  Entry& e = entries_[request];
  const Tick end = move_burst(banks_[index], index, e, now);
  if (--e.bursts > 0) {
    room = free_places(e);
    if (room) completion = {e.token, 0, end};
    return false;
  }
  completion = {e.token, static_cast<std::uint8_t>(e.write ? 0 : e.sectors), end};
  const std::uint16_t next = e.next;
  remove(request, now);
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
  const Entry& wanted = entries_[bank.want];
  bank.open_row = wanted.row;
  open_banks_ |= std::uint64_t{1} << index;
  record(now, CommandKind::Activate, index, bank.open_row);
  ++counts_[wanted.app].activates;
  bank.fresh = true;
  bank.activate = now + rc_;
  bank.precharge = now + ras_;
  bank.column = now + rcd_;
  opening_banks_ |= std::uint64_t{1} << index;
  activations_[activation_] = now;
  activation_ = (activation_ + 1) % 4;
  activate_ = now + rrd_;
  if (faw_ > 0) activate_ = std::max(activate_, activations_[activation_] + faw_);
  if (ledger_) [[unlikely]]
    note_activation(index, wanted.app, now);
  // The row was opened for bank.want, the bank's oldest request.
  const std::uint64_t bit = std::uint64_t{1} << index;
  want_banks_ &= ~bit;
  rows_added_ &= ~bit;
  set_hit(bank, index, bank.want);
  bank.want = kNone;
  hit_banks_ |= bit;
  insert_hit(index);
}

void Channel::precharge(Bank& bank, std::uint32_t index, Tick now) {
  record(now, CommandKind::Precharge, index, 0);
  bank.open_row = kClosed;
  if (refi_ > 0 || write_high_ > 0) {  // otherwise rows are never closed while a read has bursts left
    for (std::uint16_t i = bank.head; i != kNone; i = entries_[i].next) {
      if (entries_[i].started) bank.begun = i;
    }
  }
  open_banks_ &= ~(std::uint64_t{1} << index);
  bank.activate = std::max(bank.activate, now + rp_);
  offer_row(index);
}

}  // namespace gpumux::dram
