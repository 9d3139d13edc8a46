// A CPU core at the network: what it asks for becomes packets, and their answers come back to it.
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

/// The application that a core's lines belong to: the last ones, so that GPU applications count from 0.
[[nodiscard]] constexpr AppId cpu_app(std::uint32_t core) { return static_cast<AppId>(kMaxApps - 1 - core); }

/// A part of the machine, in cycles of the GPU's core like the others; the CPU core counts its own. A request
/// that leaves L2 is sent from the next cycle on, in order, when there is room for all of its flits in the
/// queue at the router; its place in the outbox is free again a network's latency later.
class CpuNode {
 public:
  /// Endpoint config.sms + core of the network. Throws UserError as Core does.
  CpuNode(const arch::MachineConfig& config, std::uint32_t core, std::unique_ptr<cpu::TraceSource> trace,
          const noc::PartitionMap& map);

  /// Simulates the cycles before grant.end, before which all messages and credits are in the mailbox. Returns
  /// the next cycle at which something can happen without one.
  Cycle run(const engine::Grant& grant);
  [[nodiscard]] Cycle done() const { return now_; }
  /// Counters up to `cycle`, when nothing happens before.
  void settle(Cycle cycle);
  [[nodiscard]] std::uint64_t progress() const { return core_.counters().instructions + requests_sent_; }
  [[nodiscard]] arch::SmMailbox& mailbox() { return mailbox_; }
  [[nodiscard]] std::string describe_waits() const;

  [[nodiscard]] const cpu::Core& core() const { return core_; }
  [[nodiscard]] cpu::Core& core() { return core_; }
  /// Its program has ended: nothing more is executed or sent. Answers still come.
  void stop() { stopped_ = true; }
  [[nodiscard]] bool stopped() const { return stopped_; }

  // --- for conservation checks -----------------------------------------------------------------------
  [[nodiscard]] std::uint64_t requests_sent() const { return requests_sent_; }
  /// Throws InternalError when an answer or a place in the queue at the router is missing.
  void check_drained() const;
  /// Reads that have been sent and whose answers it has not taken,
  [[nodiscard]] std::uint64_t awaited() const { return reads_sent_ - replies_taken_; }
  [[nodiscard]] std::uint64_t replies_taken() const { return replies_taken_; }
  /// and answers that have come to it.
  [[nodiscard]] std::uint64_t replies_waiting() const { return mailbox_.in.size(); }

 private:
  void take_replies(Cycle end);
  void send(Cycle end);
  /// There are places for so many flits, from credits_from_ on.
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
  std::uint32_t credits_;   // without those in the mailbox
  Cycle credits_from_ = 0;  // when the last of them came
  bool stopped_ = false;
  Cycle now_ = 0;
  std::uint64_t requests_sent_ = 0;
  std::uint64_t reads_sent_ = 0;
  std::uint64_t replies_taken_ = 0;
  arch::SmMailbox mailbox_;
};

static_assert(engine::Part<CpuNode>);

}  // namespace gpumux::machine
