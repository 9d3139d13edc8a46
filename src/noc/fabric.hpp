// One direction of a routed network as a part of the machine: the requests to the partitions, or the
// replies from the partitions.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "arch/messages.hpp"
#include "arch/placement.hpp"
#include "base/error.hpp"
#include "base/huge_pages.hpp"
#include "noc/mesh.hpp"
#include "noc/network.hpp"

namespace gpumux::noc {

/// The mesh of a routed network that carries a message. `Gpu` is the mesh of SMs and partitions, which also
/// serves the CPU cores unless arch::NocConfig::cpu_vcs is set. `Cpu` is the mesh of CPU cores and
/// partitions, with VCs and a part of each link of its own.
enum class Lane : std::uint8_t { Gpu, Cpu };

/// The mesh of one lane in one direction. Its endpoints are the SMs, then the CPU cores, then the partitions.
/// Throws UserError for an impossible placement of nodes (arch::placement()).
[[nodiscard]] MeshConfig mesh_config(const arch::MachineConfig& config, const Network& network, Lane lane,
                                     bool replies);

/// The mailboxes of the part at an endpoint, for one direction of the network.
template <typename Message>
struct Terminal {
  HugePageVector<Message>* messages = nullptr;      // messages to the receiver; nullptr at a sender
  HugePageVector<arch::Credit>* credits = nullptr;  // credits for the sender: free places in its queue
  Cycle* next = nullptr;  // when the part can change next; a message brings it forward. Credits do not: no
                          // part sleeps while it waits for them
};

/// True if some part waits for the outcome of the message.
[[nodiscard]] inline bool is_awaited(const arch::MemRequest& request) { return request.wants_reply != 0; }
[[nodiscard]] inline bool is_awaited(const arch::MemReply& /*reply*/) { return true; }

/// One direction of a routed network, simulated between two windows of the parts. A message that a part
/// sends arrives a latency later, so the fabric can be simulated that much further than the parts. The
/// parts then know all arrivals of a window before they simulate it. Cycles are core cycles; the mesh
/// counts cycles of its own clock.
template <typename Message>
class Fabric {
 public:
  /// `terminals`: by endpoint of the mesh. With one lane, the fabric carries all messages; with two, those of
  /// SMs or those of CPU cores.
  Fabric(const MeshConfig& config, const Network& network, std::vector<Terminal<Message>> terminals)
      : clock_(network.clock), mesh_(config), terminals_(std::move(terminals)) {}

  /// Sends a packet that is in the queue at its source from message.time on.
  void send(const Message& message, std::uint32_t from, std::uint32_t to, std::uint8_t flits) {
    std::uint32_t handle = free_;
    if (handle == kNone) {
      handle = static_cast<std::uint32_t>(messages_.size());
      messages_.emplace_back();
    } else {
      free_ = messages_[handle].next_free;
    }
    messages_[handle].message = message;
    sent_.push_back({clock_.tick_at(message.time),
                     {.handle = handle,
                      .source = static_cast<std::uint16_t>(from),
                      .destination = static_cast<std::uint16_t>(to),
                      .flits = flits}});
    awaited_ += is_awaited(message) ? 1 : 0;
  }
  /// Tells that `flits` flits of the receiver's space are free again from `time` on.
  void release(std::uint32_t endpoint, std::uint32_t flits, Cycle time) {
    releases_.push_back({clock_.tick_at(time), endpoint, flits});
  }

  /// Simulates all events before `end`.
  void run(Cycle end) {
    const std::uint64_t until = clock_.tick_at(end);
    inject(until);
    std::sort(releases_.begin(), releases_.end(),
              [](const Release& a, const Release& b) { return a.tick < b.tick; });
    std::size_t taken = 0;
    for (; taken < releases_.size() && releases_[taken].tick < until; ++taken) {
      const Release& release = releases_[taken];
      mesh_.run_to(release.tick);
      mesh_.release(release.endpoint, release.flits);
    }
    releases_.erase(releases_.begin(), releases_.begin() + static_cast<std::ptrdiff_t>(taken));
    mesh_.run_to(until);
    hand_over();
  }
  /// Core cycle of the next event, if no further message is sent.
  [[nodiscard]] Cycle next() const {
    std::uint64_t tick = mesh_.next();
    for (const Release& release : releases_) tick = std::min(tick, release.tick);
    for (const Mesh::Delivery& sent : sent_) tick = std::min(tick, sent.cycle);
    return tick == kNever ? kNever : clock_.to_core(tick);
  }
  /// Messages on their way for whose outcome some part waits.
  [[nodiscard]] std::uint32_t awaited() const { return awaited_; }
  /// True if nothing is on its way: neither messages nor news of free space.
  [[nodiscard]] bool drained() const { return mesh_.packets() == 0 && sent_.empty() && releases_.empty(); }
  [[nodiscard]] const Mesh& mesh() const { return mesh_; }
  [[nodiscard]] std::uint64_t progress() const { return progress_; }
  [[nodiscard]] std::string describe() const { return mesh_.describe(); }

 private:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  struct Held {
    Message message;
    std::uint32_t next_free = kNone;
  };
  struct Release {
    std::uint64_t tick;
    std::uint32_t endpoint;
    std::uint32_t flits;
  };

  /// Injects the packets whose time is before `until`. The slices of a partition have one port each but
  /// share one queue, so packets are sorted by time: a packet sent ahead by one slice must not block an
  /// earlier packet of another slice.
  void inject(std::uint64_t until) {
    std::stable_sort(sent_.begin(), sent_.end(),
                     [](const Mesh::Delivery& a, const Mesh::Delivery& b) { return a.cycle < b.cycle; });
    std::size_t injected = 0;
    for (; injected < sent_.size() && sent_[injected].cycle < until; ++injected)
      mesh_.inject(sent_[injected].packet, sent_[injected].cycle);
    sent_.erase(sent_.begin(), sent_.begin() + static_cast<std::ptrdiff_t>(injected));
  }
  void hand_over() {
    for (const Mesh::Delivery& left : mesh_.left()) {
      // The flits as the sender has counted them: a partition's queue counts flits of the SMs' lane.
      const Message& message = messages_[left.packet.handle].message;
      terminals_[left.packet.source].credits->push_back(
          {clock_.to_core(left.cycle), static_cast<std::uint16_t>(message.flits), 0, 0});
    }
    progress_ += mesh_.left().size() + mesh_.delivered().size();
    mesh_.left().clear();
    for (const Mesh::Delivery& delivery : mesh_.delivered()) {
      const Terminal<Message>& receiver = terminals_[delivery.packet.destination];
      Held& held = messages_[delivery.packet.handle];
      held.message.time = clock_.to_core(delivery.cycle);
      receiver.messages->push_back(held.message);
      *receiver.next = std::min(*receiver.next, held.message.time);
      awaited_ -= is_awaited(held.message) ? 1 : 0;
      held.next_free = free_;
      free_ = delivery.packet.handle;
    }
    mesh_.delivered().clear();
  }

  Ticks clock_;
  Mesh mesh_;
  std::vector<Terminal<Message>> terminals_;
  std::vector<Held> messages_;  // by packet handle
  std::uint32_t free_ = kNone;
  std::vector<Release> releases_;
  std::vector<Mesh::Delivery> sent_;  // packets that are not injected yet; cycle: the tick from which
                                      // the packet is in the queue
  std::uint32_t awaited_ = 0;
  std::uint64_t progress_ = 0;
};

}  // namespace gpumux::noc
