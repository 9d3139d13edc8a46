// The SM's interface to the memory partitions: requests from when they are made until their last reply, the
// miss queue and the queue of instruction and constant misses in front of the injection port, and the
// ejection port.
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
  /// `map` and `mailbox` have to outlive it.
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
  /// A request for `sectors` (bits) of a 128-byte line, a packet without data; it leaves after `now` at the
  /// earliest, once it is queued. `target`: MSHR (L1Fill, TextureFill) or memory instruction that its reply
  /// is for.
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
  /// The packet carries so many bytes of data (1 to 128), of so many atomic operations, which take so many
  /// rounds.
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
  /// Its last reply was taken.
  void give(std::uint32_t index) { requests_.give(index); }

  // --- out ----------------------------------------------------------------------------------------
  /// The miss queue has a free entry.
  [[nodiscard]] bool room() const { return injection_.room(); }
  /// Entries: those of the queue, and lines on their way through the tags to it.
  [[nodiscard]] std::uint32_t miss_places() const { return injection_.miss_places(); }
  [[nodiscard]] static std::uint32_t miss_places(const arch::L1Config& l1) {
    return l1.miss_queue + l1.tag_latency * std::max(1U, l1.banks * l1.bank_bytes / kLineBytes);
  }
  void queue_miss(std::uint32_t index) { injection_.push_miss(index, requests_); }
  /// Instruction and constant misses go before others, and are not bounded.
  void queue_side(std::uint32_t index) { injection_.push_side(index, requests_); }
  /// Next cycle in which send() can do something, or one that has passed; kNever: none is known.
  [[nodiscard]] Cycle next_send() const { return injection_.next(); }
  /// Sends a packet, if one can go at `now`, next_send() or later: its request, else nullptr.
  [[gnu::always_inline]] const Request* send(Cycle now) {
    return injection_.send(now, requests_, id_, mailbox_.out);
  }
  /// The injection port is through with what it has sent.
  [[nodiscard]] Cycle port_free() const { return injection_.port_free(); }
  /// From this cycle on, a packet waits for credits that may be there without being known yet.
  [[nodiscard]] Cycle blind_from() const { return injection_.blind_from(); }

  // --- in -----------------------------------------------------------------------------------------
  /// Takes replies and credits that have come. All credits of cycles before `credits_known` are among them.
  void take(Cycle now, Cycle credits_known) {
    ejection_.take(mailbox_.in, requests_);
    injection_.take_credits(mailbox_.credits_in, now, credits_known, requests_);
  }
  /// Cycle at which the next reply has left the ejection port; kNever: none waits.
  [[nodiscard]] Cycle next_reply() const { return ejection_.next(); }
  [[nodiscard]] arch::MemReply pop_reply() { return ejection_.pop(); }
  /// Credits of a reply's flits go back to the partition that answered.
  void return_credits(const arch::MemReply& reply, const Request& answered, Cycle now) {
    mailbox_.credits_out.push_back({now + network_.latency, reply.flits, answered.partition, id_});
  }
  /// The request that the n-th reply from now answers; nullptr: there are not so many.
  [[nodiscard]] const Request* coming(std::size_t n) const {
    const std::uint32_t tag = ejection_.coming(n);
    return tag == kNil ? nullptr : &requests_[tag];
  }

  // --- for reports and the host's cache -------------------------------------------------------------
  [[nodiscard]] const noc::Network& network() const { return network_; }
  [[nodiscard]] const arch::SmMailbox& mailbox() const { return mailbox_; }
  /// Requests whose last reply has not been taken,
  [[nodiscard]] std::uint32_t requests() const { return requests_.in_use(); }
  /// those that have not left,
  [[nodiscard]] std::size_t requests_waiting() const { return injection_.waiting(); }
  /// and replies in front of the ejection port.
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
  std::uint8_t read_flits_;  // of a packet without data
  InjectionPort injection_;
  EjectionPort ejection_;
  Pool<Request> requests_;
};

}  // namespace gpumux::sm
