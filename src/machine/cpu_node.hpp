// A CPU core at the network: turns the core's requests into packets, and replies into data for the core.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "arch/config.hpp"
#include "arch/messages.hpp"
#include "cpu/core.hpp"
#include "engine/part.hpp"
#include "noc/network.hpp"
#include "noc/partition_map.hpp"
#include "noc/port.hpp"
#include "noc/ticks.hpp"

namespace gpumux::machine {

/// The application to which a core's lines belong. Cores use the last ids, so that GPU
/// applications count from 0.
[[nodiscard]] constexpr AppId cpu_app(std::uint32_t core) { return static_cast<AppId>(kMaxApps - 1 - core); }

/// A CPU core as a part of the machine. Times are in cycles of the GPU's core clock, as for all parts;
/// the CPU core counts its own cycles. A request that leaves the core's L2 is sent from the next cycle
/// on, in order, when the queue at the router has room for all of its flits. Its place in the outbox is
/// free one network latency later.
class CpuNode {
 public:
  /// Uses endpoint config.sms + core of the network. Throws UserError as Core does.
  CpuNode(const arch::MachineConfig& config, std::uint32_t core, std::unique_ptr<cpu::TraceSource> trace,
          const noc::PartitionMap& map);

  /// Simulates the cycles before grant.end. All messages and credits of this time must be in the mailbox.
  /// Returns the next cycle at which something can happen without a message.
  Cycle run(const engine::Grant& grant);
  [[nodiscard]] Cycle done() const { return now_; }
  /// Brings the counters up to `cycle`. Nothing must happen before `cycle`.
  void settle(Cycle cycle);
  [[nodiscard]] std::uint64_t progress() const { return core_.counters().instructions + requests_sent_; }
  [[nodiscard]] arch::SmMailbox& mailbox() { return mailbox_; }
  [[nodiscard]] std::string describe_waits() const;

  [[nodiscard]] const cpu::Core& core() const { return core_; }
  [[nodiscard]] cpu::Core& core() { return core_; }
  /// Tells that the core's program has ended: no further instruction or request. Replies still arrive.
  void stop() { stopped_ = true; }
  [[nodiscard]] bool stopped() const { return stopped_; }

  // --- for conservation checks -----------------------------------------------------------------------
  [[nodiscard]] std::uint64_t requests_sent() const { return requests_sent_; }
  /// Throws InternalError if a reply, or a place in the queue at the router, is missing.
  void check_drained() const;
  /// Reads that have been sent and whose replies have not been taken.
  [[nodiscard]] std::uint64_t awaited() const { return reads_sent_ - replies_taken_; }
  [[nodiscard]] std::uint64_t replies_taken() const { return replies_taken_; }
  /// Replies in the mailbox.
  [[nodiscard]] std::uint64_t replies_waiting() const { return mailbox_.in.size(); }

 private:
  void take_replies(Cycle end);
  void send(Cycle end);
  /// True if the queue at the router has places for `flits` flits, from credits_from_ on.
  [[nodiscard]] bool has_room(std::uint32_t flits);
  [[nodiscard]] std::uint32_t flits_of(const cpu::Request& request) const {
    return network_.cpu_flits(request.write ? kLineBytes : 0);
  }

  noc::Network network_;
  noc::Ticks clock_;
  const noc::PartitionMap& map_;
  std::uint32_t id_;
  AppId app_;
  cpu::Core core_;
  noc::Port port_;
  std::uint32_t credits_;   // free places, without credits in the mailbox
  Cycle credits_from_ = 0;  // when the last of these credits arrived
  bool stopped_ = false;
  Cycle now_ = 0;
  std::uint64_t requests_sent_ = 0;
  std::uint64_t reads_sent_ = 0;
  std::uint64_t replies_taken_ = 0;
  arch::SmMailbox mailbox_;
};

static_assert(engine::Part<CpuNode>);

}  // namespace gpumux::machine
