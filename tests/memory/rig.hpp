// Partitions with synthetic SMs around them. The SMs send requests within their credits and port rates, and
// record each reply.
#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "arch/config.hpp"
#include "base/error.hpp"
#include "l2/partition.hpp"
#include "noc/network.hpp"
#include "noc/partition_map.hpp"
#include "noc/port.hpp"

namespace gpumux::test {

/// A small machine whose clocks are all equal, so that expected times can be counted by hand.
inline arch::MachineConfig plain_config() {
  arch::MachineConfig config;
  config.sms = 2;
  config.clocks = {1000, 1000, 1000, 1000};
  config.l2.partitions = 1;
  config.l2.slices_per_partition = 1;
  config.l2.slice_bytes = 65536;
  config.l2.latency = 20;
  config.dram.fixed_latency = 0;
  return config;
}

/// The memory of dai18 Table 1: 16 channels of 12 B per command clock.
inline arch::MachineConfig dai18_config() {
  arch::MachineConfig config;
  config.sms = 16;
  config.clocks = {1400, 1400, 700, 924};
  config.l2.partitions = 16;
  config.l2.slices_per_partition = 1;
  config.l2.slice_bytes = 128 * 1024;
  config.l2.ways = 16;
  config.l2.mshr_entries = 128;
  config.dram.bus_bytes = 3;
  config.dram.transfers_per_clock = 4;
  config.dram.burst_bytes = 32;
  return config;
}

/// The memory of Accel-Sim's QV100: 32 HBM2 channels with two sectored slices each.
inline arch::MachineConfig v100_config() {
  arch::MachineConfig config;
  config.sms = 80;
  config.clocks = {1132, 1132, 1132, 850};
  config.noc.flit_bytes = 40;
  config.noc.input_buffer_flits = 512;
  config.noc.output_buffer_flits = 32;
  auto& l2 = config.l2;
  l2.partitions = 32;
  l2.slices_per_partition = 2;
  l2.slice_bytes = 96 * 1024;
  l2.ways = 24;
  l2.sectored = true;
  l2.index = arch::IndexFunction::Ipoly;
  l2.partition_hash = arch::IndexFunction::Ipoly;
  l2.mshr_entries = 192;
  l2.miss_queue = 32;
  l2.input_queue = 64;
  l2.output_queue = 64;
  l2.latency = 160;
  auto& d = config.dram;
  d.bus_bytes = 16;
  d.transfers_per_clock = 2;
  d.burst_bytes = 32;
  d.queue = 64;
  d.return_queue = 192;
  d.separate_row_bus = true;
  d.CL = 12, d.RP = 12, d.RC = 40, d.RAS = 28, d.RCD = 12, d.RRD = 3, d.CCD = 1, d.CCDL = 2, d.WL = 2,
  d.CDLR = 3;
  d.WR = 10, d.RTPL = 3;
  return config;
}

struct Seen {
  Cycle time;
  arch::MemReply reply;
};

/// Sends the requests of `generate` and collects the replies. `generate(sm, number)` returns an SM's next
/// request, or nothing if the SM has no more requests. It sets line, kind, sectors, data_bytes, operations,
/// wants_reply, app and kernel.
class Rig {
 public:
  using Generate = std::function<std::optional<arch::MemRequest>(SmId sm, std::uint32_t number)>;

  Rig(const arch::MachineConfig& config, Generate generate, Cycle window = 0)
      : config_(config),
        map_(config),
        network_(config),
        generate_(std::move(generate)),
        window_(window == 0 ? network_.window : window),
        sms_(config.sms, Sender(network_)) {
    for (std::uint32_t i = 0; i < config.l2.partitions; ++i) {
      partitions_.push_back(std::make_unique<l2::Partition>(config, static_cast<PartitionId>(i), map_));
    }
    next_.assign(partitions_.size(), 0);
    for (SmId i = 0; i < config.sms; ++i) advance_generator(i);
  }

  bool skip = true;                     // skip a partition until the cycle that it named
  Cycle reply_delay = 0;                // cycles until an SM returns the credits of a reply
  std::uint32_t max_outstanding = ~0U;  // most requests per SM that wait for a reply

  void run(Cycle cycles) {
    for (const Cycle end = now_ + cycles; now_ < end;) {
      const Cycle to = std::min(end, now_ + window_);
      for (SmId i = 0; i < sms_.size(); ++i) run_sender(i, to);
      for (std::size_t p = 0; p < partitions_.size(); ++p) {
        if (!skip || next_[p] < to) next_[p] = partitions_[p]->run(now_, to);
      }
      exchange();
      now_ = to;
    }
  }
  /// Runs until all requests are sent and answered. Returns false if that takes longer than `limit` cycles.
  bool run_until_done(Cycle limit) {
    while (now_ < limit) {
      run(window_);
      if (done()) return true;
    }
    return false;
  }
  [[nodiscard]] bool done() const {
    for (const auto& sm : sms_) {
      if (sm.request || sm.outstanding != 0 || !sm.inbox.empty()) return false;
    }
    for (const auto& partition : partitions_) {
      if (!partition->idle()) return false;
    }
    return true;
  }
  [[nodiscard]] bool credits_restored() {
    run(4 * network_.latency + 64 + reply_delay);
    for (const auto& sm : sms_) {
      if (sm.credits != network_.request_credits) return false;
    }
    return true;
  }
  [[nodiscard]] arch::PartitionCounters counters() const {
    arch::PartitionCounters sum;
    for (const auto& partition : partitions_) sum.add(partition->counters());
    return sum;
  }
  [[nodiscard]] std::string describe_waits() const {
    std::string text;
    for (const auto& partition : partitions_) text += partition->describe_waits();
    return text;
  }

  [[nodiscard]] Cycle now() const { return now_; }
  const noc::Network& network() const { return network_; }
  const noc::PartitionMap& map() const { return map_; }
  l2::Partition& partition(std::size_t i) { return *partitions_[i]; }
  std::vector<Seen> replies;  // in order of time, then SM
  std::uint64_t sent = 0;
  std::uint64_t expected = 0;  // requests sent that want a reply

 private:
  struct Sender {
    explicit Sender(const noc::Network& network)
        : injection(network.clock), ejection(network.clock), credits(network.request_credits) {}
    noc::Port injection, ejection;
    std::uint32_t credits;
    std::uint32_t number = 0;
    std::uint32_t outstanding = 0;
    std::optional<arch::MemRequest> request;
    std::vector<arch::Credit> credit_inbox;
    std::vector<std::pair<arch::MemReply, std::uint16_t>> inbox;
    std::vector<arch::MemRequest> out;
    std::vector<arch::Credit> credits_out;
  };

  void advance_generator(SmId i) { sms_[i].request = generate_(i, sms_[i].number++); }

  void run_sender(SmId i, Cycle to) {
    Sender& sm = sms_[i];
    const auto due = std::stable_partition(sm.inbox.begin(), sm.inbox.end(),
                                           [&](const auto& m) { return m.first.time < to; });
    std::stable_sort(sm.inbox.begin(), due, [](const auto& a, const auto& b) {
      return std::pair(a.first.time, a.second) < std::pair(b.first.time, b.second);
    });
    for (auto m = sm.inbox.begin(); m != due; ++m) {
      const Cycle through = sm.ejection.eject(m->first.time, m->first.time + reply_delay, m->first.flits);
      sm.credits_out.push_back({through + network_.latency, m->first.flits, m->second, i});
      replies.push_back({through, m->first});
    }
    std::vector<Cycle> arrived;
    for (auto m = sm.inbox.begin(); m != due; ++m) arrived.push_back(m->first.time);
    sm.inbox.erase(sm.inbox.begin(), due);
    std::size_t answered = 0;
    for (Cycle cycle = now_; cycle < to; ++cycle) {
      for (; answered < arrived.size() && arrived[answered] <= cycle; ++answered) --sm.outstanding;
      std::erase_if(sm.credit_inbox, [&](const arch::Credit& c) {
        if (c.time > cycle) return false;
        sm.credits += c.flits;
        return true;
      });
      while (sm.request && sm.injection.free_at() <= cycle && sm.outstanding < max_outstanding) {
        arch::MemRequest r = *sm.request;
        const bool data = r.kind == arch::RequestKind::Write || r.kind == arch::RequestKind::Atomic;
        r.flits = network_.flits(data ? r.data_bytes : 0) & 0x3fU;
        if (sm.credits < r.flits) break;
        sm.credits -= r.flits;
        r.time = sm.injection.inject(cycle, r.flits).last + network_.latency;
        r.sm = i;
        r.partition = map_.partition(r.line);
        if (r.wants_reply) ++sm.outstanding, ++expected;
        ++sent;
        sm.out.push_back(r);
        advance_generator(i);
      }
    }
  }

  void exchange() {
    for (auto& sm : sms_) {
      for (const auto& r : sm.out) {
        partitions_[r.partition]->mailbox().in.push_back(r);
        next_[r.partition] = std::min(next_[r.partition], r.time);
      }
      for (const auto& c : sm.credits_out) {
        partitions_[c.to]->mailbox().credits_in.push_back(c);
        next_[c.to] = std::min(next_[c.to], c.time);
      }
      sm.out.clear();
      sm.credits_out.clear();
    }
    for (std::uint16_t p = 0; p < partitions_.size(); ++p) {
      auto& box = partitions_[p]->mailbox();
      for (const auto& r : box.out) sms_[r.sm].inbox.emplace_back(r, p);
      for (const auto& c : box.credits_out) sms_[c.to].credit_inbox.push_back(c);
      box.out.clear();
      box.credits_out.clear();
    }
  }

  arch::MachineConfig config_;
  noc::PartitionMap map_;
  noc::Network network_;
  Generate generate_;
  Cycle window_;
  Cycle now_ = 0;
  std::vector<Sender> sms_;
  std::vector<std::unique_ptr<l2::Partition>> partitions_;
  std::vector<Cycle> next_;
};

}  // namespace gpumux::test
