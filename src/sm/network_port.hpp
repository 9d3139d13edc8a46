// The SM's end of the two networks: injection port with credits, ejection port that orders replies.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "machine/messages.hpp"
#include "noc/network.hpp"
#include "noc/port.hpp"
#include "sm/memory_ops.hpp"

namespace gpumux::sm {

/// Requests leave in order, instruction and constant misses (side queue) first. One packet at a time
/// holds the port for its flits; a packet leaves when the input buffer has credits for all its flits.
class InjectionPort {
 public:
  InjectionPort(const noc::Network& network, std::uint32_t miss_queue)
      : network_(network),
        port_(network.clock),
        capacity_(std::max(1U, miss_queue)),
        credits_(network.request_credits) {}

  [[nodiscard]] bool room() const { return misses_.size() < capacity_; }
  void push_miss(std::uint32_t request) { misses_.push(request); }
  void push_side(std::uint32_t request) { side_.push(request); }
  [[nodiscard]] bool empty() const { return misses_.empty() && side_.empty(); }
  [[nodiscard]] const Fifo<std::uint32_t>& misses() const { return misses_; }
  [[nodiscard]] std::size_t waiting() const { return misses_.size() + side_.size(); }
  [[nodiscard]] std::uint32_t credits() const { return credits_; }

  void take_credits(std::vector<machine::Credit>& incoming) {
    for (const machine::Credit& credit : incoming) {
      GPUMUX_DCHECK(credit.flits > 0);
      auto at = coming_.end();
      while (at != coming_.begin() && (at - 1)->time > credit.time) --at;
      coming_.insert(at, credit);
    }
    incoming.clear();
  }
  /// Credits including those that are known to come.
  [[nodiscard]] std::uint32_t all_credits() const {
    std::uint32_t sum = credits_;
    for (const machine::Credit& credit : coming_) sum += credit.flits;
    return sum;
  }

  /// Something waits and the port is free.
  [[nodiscard]] bool ready(Cycle now) const { return port_free_ <= now && !empty(); }
  /// Sends at most one packet at `now`; ready() must hold. True when a miss queue entry was freed.
  bool send(Cycle now, Pool<Request>& requests, SmId sm, std::vector<machine::MemRequest>& out) {
    Fifo<std::uint32_t>* queue = head(now, requests);
    if (queue == nullptr) return false;
    collect_credits(now);
    const std::uint32_t index = queue->front();
    const Request& request = requests[index];
    const std::uint8_t flits = request.flits;
    if (credits_ < flits) return false;
    credits_ -= flits;
    machine::MemRequest packet;
    packet.line = request.line;
    packet.time = port_.inject(now, flits).last + network_.latency;
    port_free_ = port_.free_at();
    packet.tag = index;
    packet.sm = sm;
    packet.partition = request.partition;
    packet.kernel = request.kernel;
    packet.app = request.app;
    packet.kind = request.purpose == Purpose::Store         ? machine::RequestKind::Write
                  : request.purpose == Purpose::Atomic      ? machine::RequestKind::Atomic
                  : request.purpose == Purpose::Instruction ? machine::RequestKind::InstructionFetch
                                                            : machine::RequestKind::Read;
    packet.sectors = request.wanted;
    packet.operations = request.operations;
    packet.data_bytes = request.data_bytes;
    packet.wants_reply = true;
    packet.flits = flits;
    out.push_back(packet);
    const bool freed = queue == &misses_;
    queue->pop();
    ++sent_;
    return freed;
  }
  /// Next cycle > now at which send() can do something; kNever: only a credit from outside can.
  [[nodiscard]] Cycle next(Cycle now, const Pool<Request>& requests) const {
    return std::min(next_of(side_, now, requests), next_of(misses_, now, requests));
  }
  [[nodiscard]] std::uint64_t sent() const { return sent_; }

 private:
  [[nodiscard]] Fifo<std::uint32_t>* head(Cycle now, Pool<Request>& requests) {
    if (!side_.empty() && requests[side_.front()].queued < now) return &side_;
    if (!misses_.empty() && requests[misses_.front()].queued < now) return &misses_;
    return nullptr;
  }
  [[nodiscard]] Cycle next_of(const Fifo<std::uint32_t>& queue, Cycle now,
                              const Pool<Request>& requests) const {
    if (queue.empty()) return kNever;
    const Request& request = requests[queue.at(0)];
    Cycle ready = std::max({request.queued + 1, port_free_, now + 1});
    const std::uint32_t flits = request.flits;
    std::uint32_t have = credits_;
    for (std::size_t i = 0; have < flits; ++i) {
      if (i == coming_.size()) return kNever;
      have += coming_[i].flits;
      ready = std::max(ready, coming_[i].time);
    }
    return ready;
  }
  void collect_credits(Cycle now) {
    std::size_t due = 0;
    while (due < coming_.size() && coming_[due].time <= now) credits_ += coming_[due++].flits;
    if (due > 0) coming_.erase(coming_.begin(), coming_.begin() + static_cast<std::ptrdiff_t>(due));
  }
  const noc::Network& network_;
  noc::Port port_;
  Cycle port_free_ = 0;
  std::uint32_t capacity_;
  std::uint32_t credits_;
  std::uint64_t sent_ = 0;
  Fifo<std::uint32_t> misses_;
  Fifo<std::uint32_t> side_;
  std::vector<machine::Credit> coming_;  // by time
};

/// Replies leave the network through one port, a flit per NoC cycle, in order of (arrival, partition).
class EjectionPort {
 public:
  explicit EjectionPort(const noc::Network& network) : port_(network.clock) {}

  void take(std::vector<machine::MemReply>& incoming, const Pool<Request>& requests) {
    if (incoming.empty()) return;
    if (head_ > 256 || head_ == waiting_.size()) {
      waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(head_));
      head_ = 0;
    }
    for (const machine::MemReply& reply : incoming) {
      const PartitionId partition = requests[reply.tag].partition;
      std::size_t at = waiting_.size();
      waiting_.push_back({reply, partition});
      for (; at > head_; --at) {
        const Waiting& before = waiting_[at - 1];
        if (before.reply.time < reply.time) break;
        if (before.reply.time == reply.time && before.partition <= partition) break;
        waiting_[at] = before;
      }
      waiting_[at] = {reply, partition};
    }
    incoming.clear();
    look();
  }
  /// Cycle at which the next reply has left the port; kNever: none waits.
  [[nodiscard]] Cycle next() const { return next_; }
  /// Takes the reply that is due at next().
  machine::MemReply pop() {
    const machine::MemReply reply = waiting_[head_++].reply;
    port_.eject(reply.time, 0, reply.flits);
    look();
    return reply;
  }
  [[nodiscard]] std::size_t waiting() const { return waiting_.size() - head_; }

 private:
  struct Waiting {
    machine::MemReply reply;
    PartitionId partition;
  };
  void look() {
    if (head_ == waiting_.size()) {
      next_ = kNever;
      return;
    }
    noc::Port trial = port_;
    next_ = trial.eject(waiting_[head_].reply.time, 0, waiting_[head_].reply.flits);
  }
  noc::Port port_;
  Cycle next_ = kNever;
  std::vector<Waiting> waiting_;
  std::size_t head_ = 0;
};

}  // namespace gpumux::sm
