// The mesh between the parts of a machine that has one, in both directions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "arch/config.hpp"
#include "arch/messages.hpp"
#include "engine/crew.hpp"
#include "noc/fabric.hpp"
#include "noc/network.hpp"

namespace gpumux::machine {

/// Requests and replies have a physical network each (kayiran14, section 2.2), and CPU cores have theirs
/// beside the SMs' where noc.cpu_vcs says so. It is moved on when all parts have come to a cycle: what they
/// have sent arrives a latency later, so it may go that far ahead of them, and they know all that comes
/// before they go on. The directions have nothing in common, and are simulated side by side.
class MeshNetwork {
 public:
  /// Mailboxes by SM, CPU core and partition; `next` of these, in this order: SMs, partitions, CPU cores.
  struct Parts {
    std::vector<arch::SmMailbox*> sms;
    std::vector<arch::SmMailbox*> cpus;
    std::vector<arch::PartitionMailbox*> partitions;
    Cycle* next = nullptr;
  };
  MeshNetwork(const arch::MachineConfig& config, const noc::Network& network, const Parts& parts);

  /// All parts have come to `cycle`. Takes what they have sent, and brings what arrives before they come to
  /// `cycle` plus the latency.
  void run(Cycle cycle, engine::Crew& crew);
  /// When something can happen next without a message.
  [[nodiscard]] Cycle next() const;
  /// Requests that will be answered, and replies, on their way.
  [[nodiscard]] std::uint64_t awaited() const;
  [[nodiscard]] bool drained() const;
  [[nodiscard]] std::uint64_t progress() const;
  [[nodiscard]] std::string describe() const;

 private:
  void run_requests(Cycle end);
  void run_replies(Cycle end);
  [[nodiscard]] std::size_t lane_of(std::uint32_t sender) const {
    return requests_.size() > 1 && sender >= parts_.sms.size() ? 1 : 0;
  }
  [[nodiscard]] std::uint32_t endpoint_of(PartitionId partition) const {
    return first_partition_ + partition;
  }

  const noc::Network& network_;
  Parts parts_;
  std::uint32_t first_partition_;                        // endpoint
  std::vector<noc::Fabric<arch::MemRequest>> requests_;  // by lane: one, or the SMs' and the CPU cores'
  std::vector<noc::Fabric<arch::MemReply>> replies_;
};

}  // namespace gpumux::machine
