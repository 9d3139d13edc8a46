// One direction of a routed network as a part of the machine: requests on their way to the partitions, or
// replies on theirs back.
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

/// Of a routed network, the mesh of SMs and partitions; or of CPU cores and partitions, if these have VCs and
/// a part of each link of their own (arch::NocConfig::cpu_vcs).
enum class Lane : std::uint8_t { Gpu, Cpu };

/// Of one lane of one direction. Its endpoints are the SMs, then the CPU cores, then the partitions. Throws
/// UserError for nodes that cannot be (arch::placement()).
[[nodiscard]] MeshConfig mesh_config(const arch::MachineConfig& config, const Network& network, Lane lane,
                                     bool replies);

/// A mailbox of who is at an endpoint, as this direction sees it.
template <typename Message>
struct Terminal {
  HugePageVector<Message>* messages = nullptr;      // that he receives; nullptr: a sender
  HugePageVector<arch::Credit>* credits = nullptr;  // of a sender: free places in his queue
  Cycle* next =
      nullptr;  // when he can change, brought forward by a message. Nobody sleeps who waits for places
};

/// Somebody waits for what comes of it.
[[nodiscard]] inline bool is_awaited(const arch::MemRequest& request) { return request.wants_reply != 0; }
[[nodiscard]] inline bool is_awaited(const arch::MemReply& /*reply*/) { return true; }

/// Between two windows of the parts it takes what they have sent, all of which arrives a latency later, so it
/// can be simulated that much further than they have come, and they know what comes before they go on.
/// Cycles are the core's; the mesh has its own.
template <typename Message>
class Fabric {
 public:
  /// Terminals by endpoint of the mesh. One lane has all messages, or those of SMs or of CPU cores.
  Fabric(const MeshConfig& config, const Network& network, std::vector<Terminal<Message>> terminals)
      : clock_(network.clock), mesh_(config), terminals_(std::move(terminals)) {}

  /// A packet that is in the queue at its source from message.time on.
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
  /// The receiver's space for so many flits is free again from `time` on.
  void release(std::uint32_t endpoint, std::uint32_t flits, Cycle time) {
    releases_.push_back({clock_.tick_at(time), endpoint, flits});
  }

  /// Simulates what happens before `end`.
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
  /// When something can happen next without a message.
  [[nodiscard]] Cycle next() const {
    std::uint64_t tick = mesh_.next();
    for (const Release& release : releases_) tick = std::min(tick, release.tick);
    for (const Mesh::Delivery& sent : sent_) tick = std::min(tick, sent.cycle);
    return tick == kNever ? kNever : clock_.to_core(tick);
  }
  /// Messages that no receiver has yet and for whose outcome somebody waits.
  [[nodiscard]] std::uint32_t awaited() const { return awaited_; }
  /// Nothing is on its way, neither messages nor word of free space.
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

  /// Those that come before `until`. Slices of a partition have a port each, and one queue: what one has sent
  /// ahead is not in the way of what another sends sooner.
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
      // As many as the sender has counted: a partition's queue is in flits of the SMs' lane.
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
  std::vector<Held> messages_;  // by handle
  std::uint32_t free_ = kNone;
  std::vector<Release> releases_;
  std::vector<Mesh::Delivery> sent_;  // not injected yet, with the tick at which they are in the queue
  std::uint32_t awaited_ = 0;
  std::uint64_t progress_ = 0;
};

}  // namespace gpumux::noc
