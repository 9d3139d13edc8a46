// The mesh between the parts of a machine, for requests and replies.
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

/// Requests and replies have one physical network each (kayiran14, section 2.2). With noc.cpu_vcs, CPU
/// cores have networks of their own beside those of the SMs. The networks are simulated when all parts
/// have reached a cycle. What the parts have sent arrives a latency later, so the networks may be
/// simulated that far ahead, and the parts know all arrivals before they continue. The directions are
/// independent and are simulated concurrently.
class MeshNetwork {
 public:
  /// Mailboxes by SM, CPU core and partition, and `next` of the parts in the order SMs, partitions, CPU
  /// cores.
  struct Parts {
    std::vector<arch::SmMailbox*> sms;
    std::vector<arch::SmMailbox*> cpus;
    std::vector<arch::PartitionMailbox*> partitions;
    Cycle* next = nullptr;
  };
  MeshNetwork(const arch::MachineConfig& config, const noc::Network& network, const Parts& parts);

  /// Requires that all parts have reached `cycle`. Takes what they have sent, and delivers what arrives
  /// before `cycle` plus the latency.
  void run(Cycle cycle, engine::Crew& crew);
  /// The next cycle at which something can happen without a message.
  [[nodiscard]] Cycle next() const;
  /// Requests with a reply to come, and replies, that are on their way.
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
  std::uint32_t first_partition_;                        // first endpoint of the partitions
  std::vector<noc::Fabric<arch::MemRequest>> requests_;  // by lane: one lane, or the SMs' and the CPU cores'
                                                         // lanes
  std::vector<noc::Fabric<arch::MemReply>> replies_;
};

}  // namespace gpumux::machine
