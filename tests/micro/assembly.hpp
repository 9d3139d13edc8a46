// SMs, networks and memory partitions of a preset, without the kernel scheduler. Tests put streams made by
// hand in and get exact times out. Every run ends with an audit: no part may still hold anything of another
// part.
#pragma once

#include <cmath>
#include <functional>
#include <memory>
#include <vector>

#include "base/hash.hpp"
#include "l2/partition.hpp"
#include "micro/preset.hpp"

namespace gpumux::micro {

class Assembly {
 public:
  explicit Assembly(MachineConfig config, std::uint32_t sms = 1)
      : config_(with_sms(std::move(config), sms)), map_(config_), network_(config_) {
    for (std::uint32_t i = 0; i < sms; ++i)
      sms_.push_back(std::make_unique<sm::Sm>(config_, static_cast<SmId>(i), map_));
    for (std::uint32_t i = 0; i < config_.l2.partitions; ++i)
      partitions_.push_back(std::make_unique<l2::Partition>(config_, static_cast<PartitionId>(i), map_));
    ended_.resize(sms);
  }

  /// Launches one block of one kernel on one SM, with one warp per code.
  void launch(const Program& program, std::vector<WarpCode> code, std::uint32_t sm = 0) {
    programs_.push_back(std::make_unique<Program>(program));
    sm::KernelContext context;
    context.table = programs_.back()->table.data();
    context.table_size = static_cast<std::uint32_t>(programs_.back()->table.size());
    context.resources = {static_cast<std::uint32_t>(code.size()) * kWarpSize, 16, 0};
    sms_[sm]->bind_kernel(0, context);
    sms_[sm]->launch_block(0, 0, std::make_unique<HandMadeBlock>(std::move(code), 64), now_);
  }
  /// Runs until all work has ended and all credits have returned, then audits.
  void finish(Cycle limit = 200'000'000) {
    while (busy()) {
      window();
      if (now_ > limit) {
        ADD_FAILURE() << "does not end:\n" << waits();
        return;
      }
    }
    for (Cycle end = now_ + 4 * network_.latency + 64; now_ < end;) window();
    audit();
  }
  void run_until(Cycle cycle) {
    while (now_ < cycle) window();
  }

  /// Cycle in which the block of an SM ended: the issue of its last instruction, or the return of its last
  /// data.
  [[nodiscard]] Cycle end(std::uint32_t sm = 0) const { return ended_[sm]; }
  [[nodiscard]] const arch::KernelCounters& sm_counters(std::uint32_t sm = 0) const {
    return sms_[sm]->counters(0);
  }
  [[nodiscard]] arch::PartitionCounters partition_counters() const {
    arch::PartitionCounters sum;
    for (const auto& partition : partitions_) sum.add(partition->counters());
    return sum;
  }
  [[nodiscard]] const noc::PartitionMap& map() const { return map_; }
  [[nodiscard]] l2::Partition& partition(std::size_t i) { return *partitions_[i]; }
  [[nodiscard]] const MachineConfig& config() const { return config_; }
  [[nodiscard]] Cycle now() const { return now_; }
  void preload(std::uint64_t line) { partitions_[map_.partition(line)]->preload_line(line, 0); }

 private:
  static MachineConfig with_sms(MachineConfig config, std::uint32_t sms) {
    config.sms = sms;
    return config;
  }
  [[nodiscard]] bool busy() const {
    for (const auto& sm : sms_)
      if (sm->all_resident_blocks() > 0 || !sm->drained(0)) return true;
    for (const auto& partition : partitions_)
      if (!partition->idle()) return true;
    return false;
  }
  [[nodiscard]] std::string waits() const {
    std::string text;
    for (const auto& sm : sms_) text += sm->describe_waits();
    for (const auto& partition : partitions_) text += partition->describe_waits();
    return text;
  }
  /// Runs one window, as long as the network's latency, and exchanges the messages, as in machine::Gpu.
  void window() {
    const Cycle end = now_ + network_.window;
    for (std::size_t i = 0; i < sms_.size(); ++i) {
      sm::Sm& sm = *sms_[i];
      sm.refill_streams(static_cast<std::uint32_t>(network_.window) + 1);
      sm.run(now_, end);
      for (sm::FinishedBlock& block : sm.finished_blocks()) ended_[i] = block.time;
      sm.finished_blocks().clear();
    }
    if (partition_next_.empty()) partition_next_.assign(partitions_.size(), 0);
    for (std::size_t i = 0; i < partitions_.size(); ++i)
      if (partition_next_[i] < end) partition_next_[i] = partitions_[i]->run(now_, end);
    for (const auto& sm : sms_) {
      for (const auto& request : sm->mailbox().out) {
        partitions_[request.partition]->mailbox().in.push_back(request);
        partition_next_[request.partition] = std::min(partition_next_[request.partition], request.time);
      }
      for (const auto& credit : sm->mailbox().credits_out) {
        partitions_[credit.to]->mailbox().credits_in.push_back(credit);
        partition_next_[credit.to] = std::min(partition_next_[credit.to], credit.time);
      }
      sm->mailbox().out.clear();
      sm->mailbox().credits_out.clear();
    }
    for (const auto& partition : partitions_) {
      for (const auto& reply : partition->mailbox().out) sms_[reply.sm]->mailbox().in.push_back(reply);
      for (const auto& credit : partition->mailbox().credits_out)
        sms_[credit.to]->mailbox().credits_in.push_back(credit);
      partition->mailbox().out.clear();
      partition->mailbox().credits_out.clear();
    }
    now_ = end;
    skip();
  }
  /// Skips to the window in which something can change next.
  void skip() {
    Cycle next = kNever;
    for (const auto& sm : sms_) {
      sm->refill_streams(static_cast<std::uint32_t>(network_.window) + 1);
      next = std::min(next, sm->next_wake());
    }
    for (const Cycle cycle : partition_next_) next = std::min(next, cycle);
    if (next != kNever && next > now_) now_ = next - next % network_.window;
  }
  void audit() {
    for (const auto& sm : sms_) sm->check_drained(true);
    for (const auto& partition : partitions_) partition->check_drained();
    arch::KernelCounters sent;
    for (const auto& sm : sms_) sent.add(sm->counters(0));
    const arch::PartitionCounters taken = partition_counters();
    EXPECT_EQ(taken.requests, sent.requests_sent);
    EXPECT_EQ(taken.replies, sent.requests_sent);
    EXPECT_EQ(taken.atomics, sent.atomics);
  }

  MachineConfig config_;
  noc::PartitionMap map_;
  noc::Network network_;
  std::vector<std::unique_ptr<sm::Sm>> sms_;
  std::vector<std::unique_ptr<l2::Partition>> partitions_;
  std::vector<Cycle> partition_next_;
  std::vector<std::unique_ptr<Program>> programs_;
  std::vector<Cycle> ended_;
  Cycle now_ = 0;
};

/// Expected times of one request that meets no other request. Each function returns the time at which a step
/// ends.
class Way {
 public:
  explicit Way(const MachineConfig& config)
      : config_(config),
        network_latency_(std::max<Cycle>(1, to_core(config.clocks.noc, config.noc.latency))) {}

  /// The core cycle in which tick n of a clock happens: ceil(n core / clock).
  [[nodiscard]] Cycle to_core(double mhz, std::uint64_t tick) const {
    const std::uint64_t core = khz(config_.clocks.core), clock = khz(mhz);
    return (tick * core + clock - 1) / clock;
  }
  /// The first tick that happens in core cycle `cycle` or later.
  [[nodiscard]] std::uint64_t tick_at(double mhz, Cycle cycle) const {
    std::uint64_t tick = cycle * khz(mhz) / khz(config_.clocks.core);
    while (tick > 0 && to_core(mhz, tick - 1) >= cycle) --tick;
    while (to_core(mhz, tick) < cycle) ++tick;
    return tick;
  }
  [[nodiscard]] std::uint32_t flits(std::uint32_t bytes) const {
    return (config_.noc.header_bytes + bytes + config_.noc.flit_bytes - 1) / config_.noc.flit_bytes;
  }
  /// Core cycle in which the last flit of a packet that can leave at `ready` has passed the receiver's port.
  [[nodiscard]] Cycle across(Cycle ready, std::uint32_t packet_flits) const {
    const std::uint64_t first = tick_at(config_.clocks.noc, ready);
    const Cycle arrival = to_core(config_.clocks.noc, first + packet_flits - 1) + network_latency_;
    return to_core(config_.clocks.noc, tick_at(config_.clocks.noc, arrival));
  }
  /// L2 cycle of a request's tag access. `access`: cycle of the L1 access, in which the request enters the
  /// miss queue.
  [[nodiscard]] std::uint64_t tags(Cycle access, std::uint32_t data_bytes = 0) const {
    const Cycle through = across(access + 1, flits(data_bytes));
    return tick_at(config_.clocks.l2, through) + config_.l2.latency - 1;
  }
  /// L2 cycles for which the data port transfers `bytes` bytes.
  [[nodiscard]] std::uint64_t beats(std::uint32_t bytes) const {
    return std::max(1U, (bytes + config_.l2.port_bytes - 1) / config_.l2.port_bytes);
  }
  /// Core cycle in which an SM has data (or an acknowledgement of 0 bytes) that is ready in L2 cycle `tick`.
  [[nodiscard]] Cycle back(std::uint64_t tick, std::uint32_t bytes) const {
    return across(to_core(config_.clocks.l2, tick), flits(bytes));
  }
  /// Core cycle of the data of an L1 access in cycle `access` that hits in L2.
  [[nodiscard]] Cycle l2_hit(Cycle access, std::uint32_t bytes) const {
    return back(tags(access) + beats(bytes), bytes);
  }

  enum class Row : std::uint8_t { Open, Closed, Conflict };
  /// DRAM clocks from a request to its last data on an idle channel. All bursts are in one bank group.
  [[nodiscard]] std::uint64_t dram_clocks(Row row, std::uint32_t bytes) const {
    const arch::DramConfig& d = config_.dram;
    const std::uint64_t bursts = (bytes + d.burst_bytes - 1) / d.burst_bytes;
    const double clocks_per_burst = d.burst_bytes / (d.bus_bytes * d.transfers_per_clock);
    const auto last_burst = static_cast<std::uint64_t>(std::ceil(clocks_per_burst - 1e-9));
    const std::uint64_t spacing = std::max<std::uint64_t>({d.CCD, d.CCDL, last_burst});
    const std::uint64_t opening = row == Row::Open     ? 0
                                  : row == Row::Closed ? d.RCD
                                                       : std::uint64_t{d.RP} + d.RCD;
    return opening + (bursts - 1) * spacing + d.CL + last_burst;
  }
  /// Core cycle of the data of an L1 access in cycle `access` that misses in L2.
  [[nodiscard]] Cycle l2_miss(Cycle access, Row row, std::uint32_t bytes) const {
    const Cycle sent = to_core(config_.clocks.l2, tags(access)) + 1;
    const std::uint64_t end = tick_at(config_.clocks.dram, sent) + dram_clocks(row, bytes);
    const Cycle at = to_core(config_.clocks.dram, end) + config_.dram.fixed_latency;
    return back(tick_at(config_.clocks.l2, at) + beats(bytes), bytes);
  }

 private:
  [[nodiscard]] static std::uint64_t khz(double mhz) { return static_cast<std::uint64_t>(mhz * 1000 + 0.5); }
  const MachineConfig& config_;
  Cycle network_latency_;
};

}  // namespace gpumux::micro
