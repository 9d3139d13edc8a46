#include "dram/channel.hpp"

namespace gpumux::dram {

namespace {

void hold(ChannelLedger::Bank& bank, Tick now) {
  if (bank.owner != kMaxApps) bank.apps[bank.owner].held += static_cast<std::uint64_t>(now - bank.since);
  bank.since = now;
}

}  // namespace

void Channel::note_arrival(std::uint16_t index, bool charged, Tick now) {
  const Entry& entry = entries_[index];
  ChannelLedger& ledger = *ledger_;
  ledger.apps = std::max<std::uint32_t>(ledger.apps, entry.app + 1U);
  ChannelLedger::Waits& waits = ledger.waits[index];
  waits.charged = charged;
  waits.open = banks_[entry.bank].open_row == entry.row;
  if (waits.open) {
    for (std::uint32_t app = 0; app < ledger.apps; ++app)
      waits.before[app] = bursts_of(static_cast<AppId>(app));
    return;
  }
  ChannelLedger::Bank& bank = ledger.banks[entry.bank];
  hold(bank, now);
  for (std::uint32_t app = 0; app < ledger.apps; ++app) waits.before[app] = bank.apps[app].held;
}

void Channel::note_activation(std::uint32_t index, AppId opener, Tick now) {
  ChannelLedger& ledger = *ledger_;
  ChannelLedger::Bank& bank = ledger.banks[index];
  const AppId before = bank.owner;
  hold(bank, now);
  for (std::uint16_t i = banks_[index].head; i != kNone; i = entries_[i].next) {
    const Entry& entry = entries_[i];
    ChannelLedger::Waits& waits = ledger.waits[i];
    if (entry.row != banks_[index].open_row) {
      if (!waits.open) continue;
      note_end(entry, i);
      waits.open = false;
      for (std::uint32_t app = 0; app < ledger.apps; ++app) waits.before[app] = bank.apps[app].held;
      continue;
    }
    if (waits.open) continue;  // the row was open when the request arrived and is open again after a refresh
    if (!waits.charged) {
      auto& pairs = ledger.pairs[entry.app];
      for (std::uint32_t app = 0; app < ledger.apps; ++app)
        if (app != entry.app) pairs[app].bank_clocks += bank.apps[app].held - waits.before[app];
      if (before != kMaxApps && before != entry.app && bank.apps[entry.app].row == entry.row)
        ++pairs[before].row_conflicts;
    }
    waits.open = true;
    for (std::uint32_t app = 0; app < ledger.apps; ++app)
      waits.before[app] = bursts_of(static_cast<AppId>(app));
  }
  bank.owner = opener;
}

void Channel::note_end(const Entry& entry, std::uint16_t index) {
  ChannelLedger& ledger = *ledger_;
  ledger.banks[entry.bank].apps[entry.app].row = entry.row;
  const ChannelLedger::Waits& waits = ledger.waits[index];
  if (waits.charged || !waits.open) return;
  for (std::uint32_t app = 0; app < ledger.apps; ++app)
    if (app != entry.app)
      ledger.pairs[entry.app][app].bursts += bursts_of(static_cast<AppId>(app)) - waits.before[app];
}

void Channel::count(AppId victim, AppId culprit, arch::PairCounters& counters) const {
  if (!ledger_) return;
  const ChannelLedger::Pair& pair = ledger_->pairs[victim][culprit];
  counters.dram_bank_clocks = pair.bank_clocks;
  counters.dram_row_clocks = pair.row_conflicts * static_cast<std::uint64_t>(rcd_);
  counters.dram_bus_clocks =
      pair.bursts * static_cast<std::uint64_t>(burst_whole_) + pair.bursts * burst_fraction_ / clock_parts_;
}

}  // namespace gpumux::dram
