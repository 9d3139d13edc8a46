// The SM's end of the two networks: injection port with credits, ejection port that orders replies.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <tuple>

#include "arch/messages.hpp"
#include "base/huge_pages.hpp"
#include "noc/network.hpp"
#include "noc/port.hpp"
#include "sm/memory_ops.hpp"

namespace gpumux::sm {

/// Requests leave in order. Instruction and constant misses and moving contexts (side queue) go first.
/// One packet at a time holds the port for its flits. A packet leaves when the input buffer has
/// credits for all its flits.
class InjectionPort {
 public:
  InjectionPort(const noc::Network& network, std::uint32_t miss_queue)
      : network_(network),
        port_(network.clock, network.routed),
        capacity_(miss_queue),
        credits_(network.request_credits) {}

  [[nodiscard]] bool room() const { return misses_.size() < capacity_; }
  [[nodiscard]] std::uint32_t miss_places() const { return capacity_; }
  void push_miss(std::uint32_t request, const Pool<Request>& requests) {
    misses_.push(request);
    if (misses_.size() == 1) look(requests);
  }
  void push_side(std::uint32_t request, const Pool<Request>& requests) {
    side_.push(request);
    if (side_.size() == 1) look(requests);
  }
  [[nodiscard]] bool empty() const { return misses_.empty() && side_.empty(); }
  [[gnu::always_inline]] void prefetch() const { misses_.prefetch(); }
  [[nodiscard]] const Fifo<std::uint32_t>& misses() const { return misses_; }
  [[nodiscard]] std::size_t waiting() const { return misses_.size() + side_.size(); }
  /// Credits that have arrived by `now`.
  [[nodiscard]] std::uint32_t credits(Cycle now) const {
    std::uint32_t sum = credits_;
    for (const arch::Credit& credit : coming_)
      if (credit.time <= now) sum += credit.flits;
    return sum;
  }

  /// Takes credits. From then on, all credits of cycles before `known` have arrived.
  void take_credits(HugePageVector<arch::Credit>& incoming, Cycle now, Cycle known,
                    const Pool<Request>& requests) {
    known_ = known;
    if (!incoming.empty()) collect(incoming, now);
    if (short_of_credits_) look(requests);
  }
  /// Cycle from which a packet waits for credits that may have arrived without being known.
  [[nodiscard]] Cycle blind_from() const { return blind_from_; }
  [[nodiscard]] Cycle port_free() const { return port_free_; }
  /// Credits including those that are known to arrive later.
  [[nodiscard]] std::uint32_t all_credits() const { return credits(kNever); }

  /// Next cycle in which send() can do something, which may have passed; kNever: nothing waits, or only
  /// a further credit can help.
  [[nodiscard]] Cycle next() const { return next_; }
  /// Sends at most one packet at `now`, which is next() or later. Returns its request, or nullptr.
  [[gnu::always_inline]] const Request* send(Cycle now, const Pool<Request>& requests, SmId sm,
                                             HugePageVector<arch::MemRequest>& out) {
    if (port_free_ > now) return nullptr;
    Fifo<std::uint32_t>* const queue = head(now, requests);
    if (queue == nullptr) return nullptr;
    const std::uint32_t index = queue->front();
    const Request& request = requests[index];
    const std::uint8_t flits = request.flits;
    if (credits_ < flits) collect_credits(now);
    if (credits_ < flits) return nullptr;
    credits_ -= flits;
    static constexpr std::array<arch::RequestKind, 9> kKind{
        arch::RequestKind::Read,   arch::RequestKind::Read,  arch::RequestKind::Write,
        arch::RequestKind::Atomic, arch::RequestKind::Read,  arch::RequestKind::InstructionFetch,
        arch::RequestKind::Read,   arch::RequestKind::Write, arch::RequestKind::Read};
    out.push_back({.line = request.line,
                   .time = port_.inject(now, flits).last + network_.latency,
                   .tag = index,
                   .sm = sm,
                   .partition = request.partition,
                   .kernel = request.kernel,
                   .app = request.app,
                   .kind = kKind[static_cast<std::size_t>(request.purpose)],
                   .sectors = request.wanted,
                   .operations = request.operations,
                   .rounds = request.rounds,
                   .data_bytes = request.data_bytes,
                   .wants_reply = true,
                   .charged = request.displaced_by != kMaxApps,
                   .flits = static_cast<std::uint8_t>(flits & 0x3fU)});
    port_free_ = port_.free_at();
    queue->pop();
    look(requests);
    return &request;
  }

 private:
  [[nodiscard]] Fifo<std::uint32_t>* head(Cycle now, const Pool<Request>& requests) {
    if (!side_.empty() && requests[side_.front()].queued < now) return &side_;
    if (!misses_.empty() && requests[misses_.front()].queued < now) return &misses_;
    return nullptr;
  }
  /// Sets next() after a change of a queue's head, the port or the credits.
  void look(const Pool<Request>& requests) {
    short_of_credits_ = false;
    blind_from_ = kNever;
    next_ = next_of(misses_, requests);
    if (!side_.empty()) next_ = std::min(next_, next_of(side_, requests));
  }
  [[nodiscard]] Cycle next_of(const Fifo<std::uint32_t>& queue, const Pool<Request>& requests) {
    if (queue.empty()) return kNever;
    const Request& request = requests[queue.at(0)];
    const Cycle ready = std::max(request.queued + 1, port_free_);
    if (credits_ >= request.flits) return ready;
    const Cycle enough = enough_credits(request.flits);
    if (enough > known_) blind_from_ = std::min(blind_from_, std::max(ready, known_));
    return std::max(ready, enough);
  }
  Cycle enough_credits(std::uint32_t flits) {
    short_of_credits_ = true;
    sort_credits();
    std::uint32_t have = credits_;
    for (const arch::Credit& credit : coming_) {
      have += credit.flits;
      if (have >= flits) return credit.time;
    }
    return kNever;
  }
  void sort_credits() {
    if (sorted_) return;
    std::sort(coming_.begin(), coming_.end(),
              [](const arch::Credit& a, const arch::Credit& b) { return a.time < b.time; });
    sorted_ = true;
  }
  void collect(HugePageVector<arch::Credit>& incoming, Cycle now) {
    // Most ports always have enough credits, so credits are sorted and counted only when a port runs short.
    coming_.insert(coming_.end(), incoming.begin(), incoming.end());
    incoming.clear();
    sorted_ = false;
    constexpr std::size_t kMany = 128;
    if (coming_.size() >= kMany) collect_credits(now);
  }
  void collect_credits(Cycle now) {
    std::size_t kept = 0;
    for (const arch::Credit& credit : coming_) {
      if (credit.time <= now) {
        credits_ += credit.flits;
      } else {
        coming_[kept++] = credit;
      }
    }
    coming_.resize(kept);
  }
  const noc::Network& network_;
  noc::Port port_;
  Cycle port_free_ = 0;
  Cycle next_ = kNever;
  Cycle blind_from_ = kNever;
  Cycle known_ = kNever;  // all credits of cycles before are in credits_ or coming_
  std::uint32_t capacity_;
  std::uint32_t credits_;          // without credits in coming_ that have arrived
  bool short_of_credits_ = false;  // next_ depends on coming_
  bool sorted_ = true;             // coming_ is sorted by time
  Fifo<std::uint32_t> misses_;
  Fifo<std::uint32_t> side_;
  HugePageVector<arch::Credit> coming_;
};

/// Replies leave the network through one port, one flit per NoC cycle, in order of (arrival, partition).
class EjectionPort {
 public:
  explicit EjectionPort(const noc::Network& network) : port_(network.clock, network.routed) {}

  void take(HugePageVector<arch::MemReply>& incoming, const Pool<Request>& requests) {
    if (incoming.empty()) return;
    if (head_ > 256 || head_ == waiting_.size()) {
      waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(head_));
      head_ = 0;
    }
    constexpr std::size_t kMany = 32;
    if (incoming.size() > kMany) {
      constexpr std::size_t kAhead = 16;  // requests are prefetched from the host's memory
      for (std::size_t i = 0; i < incoming.size(); ++i) {
        if (i + kAhead < incoming.size()) __builtin_prefetch(&requests[incoming[i + kAhead].tag], 1);
        waiting_.push_back({incoming[i], requests[incoming[i].tag].partition});
      }
      std::stable_sort(waiting_.begin() + static_cast<std::ptrdiff_t>(head_), waiting_.end(),
                       [](const Waiting& a, const Waiting& b) {
                         return std::tuple(a.reply.time, a.partition) < std::tuple(b.reply.time, b.partition);
                       });
      incoming.clear();
    }
    for (const arch::MemReply& reply : incoming) {
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
  /// Cycle in which the next reply has left the port; kNever: no reply waits.
  [[nodiscard]] Cycle next() const { return next_; }
  /// Takes the reply that is due at next().
  arch::MemReply pop() {
    const arch::MemReply reply = waiting_[head_++].reply;
    port_.book_ejection(next_tick_);
    look();
    return reply;
  }
  [[nodiscard]] std::size_t waiting() const { return waiting_.size() - head_; }
  /// Request answered by the n-th reply from now; kNil: fewer replies wait.
  [[nodiscard]] std::uint32_t coming(std::size_t n) const {
    return n < waiting() ? waiting_[head_ + n].reply.tag : kNil;
  }

 private:
  struct Waiting {
    arch::MemReply reply;
    PartitionId partition;
  };
  void look() {
    if (head_ == waiting_.size()) {
      next_ = kNever;
      return;
    }
    const arch::MemReply& first = waiting_[head_].reply;
    next_tick_ = port_.ejection_tick(first.time, first.flits);
    next_ = port_.to_core(next_tick_);
  }
  noc::Port port_;
  Cycle next_ = kNever;
  std::uint64_t next_tick_ = 0;  // next_ in ticks of the port
  HugePageVector<Waiting> waiting_;
  std::size_t head_ = 0;
};

}  // namespace gpumux::sm
