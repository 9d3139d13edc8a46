// Chooses the next command of a DRAM channel and its clock.
#include <algorithm>
#include <bit>

#include "dram/channel.hpp"

namespace gpumux::dram {

void Channel::release_return(Tick at) {
  const bool was_full = returns_ >= return_capacity_;
  // The ring is kept in order of time, because the fill ports of two slices may take data in
  // another order than it arrived.
  std::uint32_t place = release_count_++;
  const auto slot = [&](std::uint32_t i) -> Tick& {
    const std::uint32_t n = release_head_ + i;
    return return_release_[n < return_capacity_ ? n : n - return_capacity_];
  };
  for (; place > 0 && slot(place - 1) > at; --place) slot(place) = slot(place - 1);
  slot(place) = at;
  if (was_full) plan(std::max(last_ + 1, Tick{0}));  // a command may now be possible before the refresh
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
  if (returns_ < return_capacity_) {
    column_tick_ = choose_column(std::max(base, std::min(read_, write_)), std::max(read_, base),
                                 std::max(write_, base), column_bank_);
    if (column_tick_ != kNoTick) column_age_ = banks_[column_bank_].hit_age;
    return;
  }
  for (std::uint32_t i = 0; i < hits_; ++i) consider_column(hit_order_[i], base);
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
  consider_rows(banks & open_banks_, base);
  consider_rows(banks & ~open_banks_, std::max(activate_, base));
}

void Channel::free_returns(Tick now) {
  if (returns_ < return_capacity_) return;
  while (release_count_ > 0 && return_release_[release_head_] <= now) {
    if (++release_head_ == return_capacity_) release_head_ = 0;
    --release_count_;
    --returns_;
  }
}

void Channel::consider_column(std::uint32_t index, Tick base) {
  const Bank& bank = banks_[index];
  if (fcfs_ && bank.hit != oldest_eligible()) return;
  Tick at = std::max({earliest_column(bank), bank.hit_is_write ? write_ : read_, base});
  if (returns_ >= return_capacity_ && !bank.hit_is_write && !entries_[bank.hit].started) {
    if (release_count_ == 0) return;  // release_return() will plan again
    at = std::max(at, return_release_[release_head_]);
  }
  if (at < column_tick_ || (at == column_tick_ && bank.hit_age < column_age_)) {
    column_tick_ = at;
    column_age_ = bank.hit_age;
    column_bank_ = index;
  }
}

void Channel::consider_rows(std::uint64_t banks, Tick least) {
  if (least > row_tick_) return;
  Tick tick = row_tick_;
  std::uint64_t age = row_age_;
  std::uint32_t chosen = row_bank_;
  for (; banks != 0; banks &= banks - 1) {
    const auto index = static_cast<std::uint32_t>(std::countr_zero(banks));
    const RowOffer& offer = row_offers_[index];
    const Tick at = std::max(offer.at, least);
    if (at > tick || (at == tick && offer.age >= age)) continue;
    tick = at;
    age = offer.age;
    chosen = index;
  }
  row_tick_ = tick;
  row_age_ = age;
  row_bank_ = chosen;
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

}  // namespace gpumux::dram
