// A second model with the rules of dram::Channel, which examines every request in every clock.
// dram_property_test.cpp compares the commands of both models.
#pragma once

#include <bit>
#include <deque>
#include <numeric>
#include <optional>
#include <vector>

#include "dram/channel.hpp"

namespace gpumux::test {

class ReferenceChannel {
 public:
  using Tick = dram::Tick;
  explicit ReferenceChannel(const arch::DramConfig& config, bool reads_by_sector = false)
      : c_(config),
        reads_by_sector_(reads_by_sector),
        map_(config),
        banks_(config.banks),
        column_in_group_(config.bank_groups, 0) {
    // Bus time is counted in parts of a clock, so that a burst is a whole number of parts.
    parts_ = static_cast<Tick>(config.bus_bytes * config.transfers_per_clock * 1000);
    burst_parts_ = static_cast<Tick>(config.burst_bytes) * 1000;
    const Tick divisor = std::gcd(parts_, burst_parts_);
    parts_ /= divisor;
    burst_parts_ /= divisor;
    due_ = config.REFI;
  }
  [[nodiscard]] bool full() const { return places() >= c_.queue; }
  [[nodiscard]] std::uint32_t places() const {
    std::uint32_t sum = 0;
    for (const Entry& e : queue_) {
      // A sector's place is free when all bytes of the sector are on their way. A write keeps one place to
      // its end.
      std::uint32_t sectors = 0;
      for (std::uint32_t left = 0; left < e.bursts; ++left) sectors |= e.touched[e.touched.size() - 1 - left];
      sum += reads_by_sector_ && !e.write ? static_cast<std::uint32_t>(std::popcount(sectors)) : 1;
    }
    return sum;
  }
  /// Adds a request to the queue. `now`: the clock from which the request can be served.
  void push(const dram::Request& request, Tick now = 0) {
    const auto place = map_.locate(request.local_line);
    std::vector<std::uint32_t> touched;  // sectors, by burst
    for (std::uint32_t first = 0; first < kLineBytes; first += c_.burst_bytes) {
      std::uint32_t sectors = 0;
      for (std::uint32_t byte = first; byte < first + c_.burst_bytes; ++byte) {
        sectors |= request.sectors & 1U << (byte / kSectorBytes);
      }
      if (sectors != 0) touched.push_back(sectors);
    }
    queue_.push_back({place.bank, place.group, place.row, static_cast<std::uint32_t>(touched.size()),
                      request.write, false, request.token, request.sectors, touched, request.app, now});
    update_mode();
  }

  /// Simulates one clock. Appends completed reads to `completions`. The caller then appends to `returned`,
  /// for each completed read, the clock at which its place in the return queue becomes free.
  void step(Tick now, std::vector<dram::Command>& trace,
            std::vector<dram::Channel::Completion>& completions) {
    std::erase_if(returned, [&](Tick t) { return t <= now ? (--returns_, true) : false; });
    if (c_.REFI > 0 && now >= due_) {
      refresh(now, trace);
      return;
    }
    const auto column = pick_column(now);
    const auto row = pick_row(now);
    if (column) issue_column(*column, now, trace, completions);
    if (row && (!column || c_.separate_row_bus)) {
      Bank& bank = banks_[row->bank];
      if (bank.open) {
        trace.push_back({now, dram::CommandKind::Precharge, static_cast<std::uint16_t>(row->bank), 0});
        bank.open = false;
        bank.activate = std::max(bank.activate, now + Tick{c_.RP});
      } else {
        trace.push_back({now, dram::CommandKind::Activate, static_cast<std::uint16_t>(row->bank), row->row});
        bank.open = true;
        bank.row = row->row;
        bank.activate = now + Tick{c_.RC};
        bank.precharge = now + Tick{c_.RAS};
        bank.column = now + Tick{c_.RCD};
        activations_.push_back(now);
      }
    }
    update_mode();
  }
  std::vector<Tick> returned;
  std::array<std::uint64_t, kMaxApps> waited{};  // clocks that requests waited, by application

 private:
  struct Entry {
    std::uint32_t bank, group;
    std::uint64_t row;
    std::uint32_t bursts;
    bool write, started;
    std::uint32_t token;
    std::uint8_t sectors;
    std::vector<std::uint32_t> touched;
    AppId app;
    Tick arrived;
  };
  struct Bank {
    bool open = false;
    std::uint64_t row = 0;
    Tick activate = 0, precharge = 0, column = 0;
  };

  [[nodiscard]] bool eligible(const Entry& e) const {
    return c_.write_high_watermark == 0 || e.write == draining_;
  }
  void update_mode() {
    if (c_.write_high_watermark == 0) return;
    const auto writes = static_cast<std::uint32_t>(
        std::count_if(queue_.begin(), queue_.end(), [](const Entry& e) { return e.write; }));
    const auto reads = static_cast<std::uint32_t>(queue_.size()) - writes;
    if (!draining_) {
      draining_ = writes >= c_.write_high_watermark || (reads == 0 && writes > 0);
    } else {
      draining_ = writes > 0 && (writes > c_.write_low_watermark || reads == 0);
    }
  }
  /// The bank's read whose first burst has been transferred. Its other bursts come before all other reads.
  [[nodiscard]] std::optional<std::size_t> begun(std::uint32_t bank) const {
    for (std::size_t i = 0; i < queue_.size(); ++i) {
      if (queue_[i].bank == bank && queue_[i].started && eligible(queue_[i])) return i;
    }
    return std::nullopt;
  }
  /// The bank's next request: the oldest request to the open row (frfcfs), or the oldest request if it is to
  /// the open row (fcfs).
  [[nodiscard]] std::optional<std::size_t> offer(std::uint32_t bank) const {
    if (const auto i = begun(bank)) {
      return banks_[bank].open && banks_[bank].row == queue_[*i].row ? i : std::nullopt;
    }
    for (std::size_t i = 0; i < queue_.size(); ++i) {
      if (queue_[i].bank != bank || !eligible(queue_[i])) continue;
      if (banks_[bank].open && banks_[bank].row == queue_[i].row) return i;
      if (c_.scheduler == arch::DramOrder::Fcfs) return std::nullopt;
    }
    return std::nullopt;
  }
  [[nodiscard]] bool column_timing(const Entry& e, Tick now) const {
    const Bank& bank = banks_[e.bank];
    if (now < bank.column || now < column_in_group_[e.group] || now < column_) return false;
    if (e.write ? now < write_after_read_ : now < read_after_write_) return false;
    const Tick data = (now + Tick{e.write ? c_.WL : c_.CL}) * parts_;
    if (bus_ >= data + parts_) return false;  // the data would wait at least one clock
    if (!e.write && !e.started && returns_ >= c_.return_queue) return false;
    return true;
  }
  [[nodiscard]] std::optional<std::size_t> pick_column(Tick now) const {
    std::optional<std::size_t> best;
    for (std::uint32_t b = 0; b < banks_.size(); ++b) {
      const auto i = offer(b);
      if (i && column_timing(queue_[*i], now) && (!best || *i < *best)) best = i;
    }
    if (best && c_.scheduler == arch::DramOrder::Fcfs) {
      for (std::size_t i = 0; i < *best; ++i) {
        if (eligible(queue_[i])) return std::nullopt;
      }
    }
    return best;
  }
  [[nodiscard]] std::optional<Entry> pick_row(Tick now) const {
    std::vector<bool> seen(banks_.size(), false);
    for (const Entry& e : queue_) {
      if (!eligible(e) || seen[e.bank]) continue;
      if (begun(e.bank) && !e.started) continue;
      seen[e.bank] = true;
      if (offer(e.bank)) continue;
      const Bank& bank = banks_[e.bank];
      bool allowed = bank.open ? now >= bank.precharge : now >= bank.activate;
      if (!bank.open && !activations_.empty()) {
        allowed &= now >= activations_.back() + Tick{c_.RRD};
        if (c_.FAW > 0 && activations_.size() >= 4) {
          allowed &= now >= activations_[activations_.size() - 4] + Tick{c_.FAW};
        }
      }
      if (allowed) return e;
    }
    return std::nullopt;
  }
  void issue_column(std::size_t i, Tick now, std::vector<dram::Command>& trace,
                    std::vector<dram::Channel::Completion>& completions) {
    Entry& e = queue_[i];
    Bank& bank = banks_[e.bank];
    trace.push_back({now, e.write ? dram::CommandKind::Write : dram::CommandKind::Read,
                     static_cast<std::uint16_t>(e.bank), e.row});
    bus_ = std::max(bus_, (now + Tick{e.write ? c_.WL : c_.CL}) * parts_) + burst_parts_;
    const Tick end = (bus_ + parts_ - 1) / parts_;
    column_ = now + Tick{c_.CCD};
    column_in_group_[e.group] = now + Tick{c_.CCDL};
    if (e.write) {
      read_after_write_ = end + Tick{c_.CDLR};
      bank.precharge = std::max(bank.precharge, end + Tick{c_.WR});
    } else {
      write_after_read_ = end + 2 - Tick{c_.WL};
      bank.precharge = std::max(bank.precharge, now + Tick{c_.RTPL});
      if (!e.started) ++returns_;
      e.started = true;
    }
    if (--e.bursts > 0) return;
    if (!e.write) completions.push_back({e.token, e.sectors, end});
    waited[e.app] += static_cast<std::uint64_t>(now - e.arrived);
    queue_.erase(queue_.begin() + static_cast<std::ptrdiff_t>(i));
  }
  void refresh(Tick now, std::vector<dram::Command>& trace) {
    bool closed = true;
    for (std::uint32_t b = 0; b < banks_.size(); ++b) closed &= !banks_[b].open;
    if (!closed) {
      for (std::uint32_t b = 0; b < banks_.size(); ++b) {
        if (!banks_[b].open || now < banks_[b].precharge) continue;
        trace.push_back({now, dram::CommandKind::Precharge, static_cast<std::uint16_t>(b), 0});
        banks_[b].open = false;
        banks_[b].activate = std::max(banks_[b].activate, now + Tick{c_.RP});
        return;
      }
      return;
    }
    for (const Bank& bank : banks_) {
      if (now < bank.activate) return;
    }
    trace.push_back({now, dram::CommandKind::Refresh, 0, 0});
    for (Bank& bank : banks_) bank.activate = std::max(bank.activate, now + Tick{c_.RFC});
    due_ += Tick{c_.REFI};
  }

  arch::DramConfig c_;
  bool reads_by_sector_;
  dram::AddressMap map_;
  std::vector<Bank> banks_;
  std::vector<Tick> column_in_group_;
  std::vector<Entry> queue_;
  std::vector<Tick> activations_;
  Tick parts_ = 1, burst_parts_ = 1;
  Tick bus_ = 0;
  Tick column_ = 0, read_after_write_ = 0, write_after_read_ = 0;
  Tick due_ = 0;
  std::uint32_t returns_ = 0;
  bool draining_ = false;
};

}  // namespace gpumux::test
