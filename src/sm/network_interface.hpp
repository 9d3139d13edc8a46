// The SM's interface to the memory partitions: requests from their creation to their last reply,
// the miss queue and the queue of instruction and constant misses in front of the injection
// port, and the ejection port.
#pragma once

#include <algorithm>
#include <cstdint>

#include "arch/config.hpp"
#include "arch/messages.hpp"
#include "noc/network.hpp"
#include "noc/partition_map.hpp"
#include "sm/memory_ops.hpp"
#include "sm/network_port.hpp"

namespace gpumux::sm {

class NetworkInterface {
 public:
  /// `map` and `mailbox` must outlive the interface.
  NetworkInterface(const arch::MachineConfig& config, SmId id, const noc::PartitionMap& map,
                   arch::SmMailbox& mailbox)
      : network_(config),
        map_(map),
        mailbox_(mailbox),
        id_(id),
        read_flits_(network_.flits(0)),
        injection_(network_, miss_places(config.l1)),
        ejection_(network_) {}
  NetworkInterface(const NetworkInterface&) = delete;
  NetworkInterface& operator=(const NetworkInterface&) = delete;

  // --- requests -----------------------------------------------------------------------------------
  /// Makes a request for `sectors` (mask) of a 128-byte line, as a packet without data. Once queued, it
  /// leaves after `now` at the earliest. `target`: MSHR (L1Fill, TextureFill) or memory instruction
  /// that waits for the reply.
  std::uint32_t make(std::uint64_t line, Purpose purpose, arch::KernelSlot kernel, AppId app,
                     std::uint32_t target, std::uint8_t sectors, Cycle now) {
    const std::uint32_t index = requests_.take_stale();
    requests_[index] = {.line = line,
                        .queued = now,
                        .target = target,
                        .partition = map_.partition(line),
                        .kernel = kernel,
                        .app = app,
                        .purpose = purpose,
                        .sectors = sectors,
                        .wanted = sectors,
                        .operations = 0,
                        .rounds = 0,
                        .data_bytes = 0,
                        .flits = read_flits_,
                        .displaced_by = kMaxApps};
    return index;
  }
  /// Adds data to the packet: `data_bytes` (1 to 128) of `operations` atomic operations,
  /// which take `rounds` rounds.
  void carry(std::uint32_t index, std::uint8_t data_bytes, std::uint8_t operations = 0,
             std::uint8_t rounds = 0) {
    Request& request = requests_[index];
    request.operations = operations;
    request.rounds = rounds;
    request.data_bytes = data_bytes;
    request.flits = network_.flits(data_bytes);
  }
  [[nodiscard]] Request& request(std::uint32_t index) { return requests_[index]; }
  [[nodiscard]] const Request& request(std::uint32_t index) const { return requests_[index]; }
  /// Releases a request whose last reply was taken.
  void give(std::uint32_t index) { requests_.give(index); }

  // --- out ----------------------------------------------------------------------------------------
  /// True if the miss queue has a free entry.
  [[nodiscard]] bool room() const { return injection_.room(); }
  /// Entries for misses: those of the queue, and lines on their way through the tags to the queue.
  [[nodiscard]] std::uint32_t miss_places() const { return injection_.miss_places(); }
  [[nodiscard]] static std::uint32_t miss_places(const arch::L1Config& l1) {
    return l1.miss_queue + l1.tag_latency * std::max(1U, l1.banks * l1.bank_bytes / kLineBytes);
  }
  void queue_miss(std::uint32_t index) { injection_.push_miss(index, requests_); }
  /// Instruction and constant misses go before other requests, and their number is not limited.
  void queue_side(std::uint32_t index) { injection_.push_side(index, requests_); }
  /// Next cycle in which send() can do something, which may have passed; kNever: none is known.
  [[nodiscard]] Cycle next_send() const { return injection_.next(); }
  /// Sends a packet if one can leave at `now`, which is next_send() or later. Returns its request, or
  /// nullptr.
  [[gnu::always_inline]] const Request* send(Cycle now) {
    return injection_.send(now, requests_, id_, mailbox_.out);
  }
  /// Cycle from which the injection port is free.
  [[nodiscard]] Cycle port_free() const { return injection_.port_free(); }
  /// Cycle from which a packet waits for credits that may have arrived without being known.
  [[nodiscard]] Cycle blind_from() const { return injection_.blind_from(); }

  // --- in -----------------------------------------------------------------------------------------
  /// Takes replies and credits that have arrived. The credits include all credits of
  /// cycles before `credits_known`.
  void take(Cycle now, Cycle credits_known) {
    ejection_.take(mailbox_.in, requests_);
    injection_.take_credits(mailbox_.credits_in, now, credits_known, requests_);
  }
  /// Cycle in which the next reply has left the ejection port; kNever: no reply waits.
  [[nodiscard]] Cycle next_reply() const { return ejection_.next(); }
  [[nodiscard]] arch::MemReply pop_reply() { return ejection_.pop(); }
  /// Returns the credits of a reply's flits to the partition that answered.
  void return_credits(const arch::MemReply& reply, const Request& answered, Cycle now) {
    mailbox_.credits_out.push_back({now + network_.latency, reply.flits, answered.partition, id_});
  }
  /// The request that the n-th reply from now answers; nullptr: fewer replies wait.
  [[nodiscard]] const Request* coming(std::size_t n) const {
    const std::uint32_t tag = ejection_.coming(n);
    return tag == kNil ? nullptr : &requests_[tag];
  }

  // --- for reports and the host's cache -------------------------------------------------------------
  [[nodiscard]] const noc::Network& network() const { return network_; }
  [[nodiscard]] const arch::SmMailbox& mailbox() const { return mailbox_; }
  /// Number of requests whose last reply has not been taken.
  [[nodiscard]] std::uint32_t requests() const { return requests_.in_use(); }
  /// Number of requests that have not left.
  [[nodiscard]] std::size_t requests_waiting() const { return injection_.waiting(); }
  /// Number of replies in front of the ejection port.
  [[nodiscard]] std::size_t replies_waiting() const { return ejection_.waiting(); }
  [[nodiscard]] const InjectionPort& injection() const { return injection_; }
  [[nodiscard]] bool drained() const {
    return requests_.in_use() == 0 && injection_.empty() && ejection_.waiting() == 0;
  }
  [[gnu::always_inline]] void prefetch() const { injection_.prefetch(); }
  [[gnu::always_inline]] void prefetch_request(std::uint32_t index) const {
    __builtin_prefetch(&requests_[index], 1);
  }

 private:
  noc::Network network_;
  const noc::PartitionMap& map_;
  arch::SmMailbox& mailbox_;
  SmId id_;
  std::uint8_t read_flits_;  // size of a packet without data
  InjectionPort injection_;
  EjectionPort ejection_;
  Pool<Request> requests_;
};

}  // namespace gpumux::sm
