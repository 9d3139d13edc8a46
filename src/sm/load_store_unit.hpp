// The load/store unit of an SM. It handles memory instructions in order, one at a time, from issue until
// their last data has arrived. It has the L1, constant and texture caches and, in front of the network, the
// miss queue and the ports, which instruction misses also use.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "arch/config.hpp"
#include "arch/memory_scheme.hpp"
#include "arch/messages.hpp"
#include "arch/statistics.hpp"
#include "base/prefetch.hpp"
#include "sm/constant_cache.hpp"
#include "sm/l1.hpp"
#include "sm/l1_banks.hpp"
#include "sm/l1_shares.hpp"
#include "sm/memory_ops.hpp"
#include "sm/network_interface.hpp"
#include "sm/sm_ledger.hpp"
#include "sm/texture_cache.hpp"
#include "sm/warp.hpp"
#include "workload/stream.hpp"

namespace gpumux::sm {

/// The load/store unit of an SM. Its functions are defined in lsu.hpp, which code that instantiates it
/// includes. The Listener is told what concerns the rest of the SM, when it happens:
///
///   performed(op, ready, now)   the data of an instruction, or the acknowledgement of all its stores, is
///                               available at `ready` (>= now); the record is released after this call
///   room(slot, now)             an instruction of this warp has reached the head, and the memory queue has
///                               one more place
///   fetched(request, now)       the line of an instruction miss has arrived completely
///   accessed(op, last, now)     only with a memory scheme: an access was taken; `last`: of the instruction
///   failed(app, cycles)         only with a memory scheme: the access at the head could not be taken for
///                               `cycles` cycles
///   prefetch_warp(slot), prefetch_records(slot)   prefetch what the end of an instruction of this warp
///                               accesses, in two steps; may do nothing
template <typename Listener>
class LoadStoreUnit {
 public:
  /// All references must outlive the unit. `counters`: by kernel slot, arch::kMaxKernelSlots of them.
  LoadStoreUnit(const arch::MachineConfig& config, SmId id, const noc::PartitionMap& map,
                arch::SmMailbox& mailbox, arch::KernelCounters* counters, Listener& listener)
      : config_(config),
        queue_places_(config.sm.collectors_wait ? ~0U : config.sm.memory_queue),
        issue_width_(config.sm.collectors_wait ? ~0U : config.sm.memory_issue_width),
        operand_latency_(std::max(1U, config.sm.operand_latency)),
        l1_enabled_(config.l1.bytes > 0 || config.l1.unified_bytes > 0),
        counters_(counters),
        listener_(listener),
        l1_(config.l1),
        network_(config, id, map, mailbox),
        constants_(config.constant),
        banks_(config.l1),
        textures_(config.texture) {}
  LoadStoreUnit(const LoadStoreUnit&) = delete;
  LoadStoreUnit& operator=(const LoadStoreUnit&) = delete;

  /// CCWS: records the lines that warps lose in L1. Must be called before the first access.
  void keep_locality(LostLocality* locality) {
    locality_ = locality;
    l1_.keep_locality(locality);
  }
  /// Records waits in the ledger. Must be called before the first access.
  void keep_ledger(SmLedger* ledger) {
    ledger_ = ledger;
    l1_.keep_ledger(&ledger->l1);
    textures_.lines().count_mshrs();
  }

  // --- issue --------------------------------------------------------------------------------------
  /// True if the memory queue has a place (of config.sm.memory_queue).
  [[nodiscard]] bool has_room() const { return queue_.size() < queue_places_; }
  /// True if, in addition, fewer than config.sm.memory_issue_width memory instructions
  /// were issued in this cycle.
  [[nodiscard]] bool accepts(Cycle now) const {
    const bool spent = issue_cycle_ == now && issues_ >= issue_width_;
    return has_room() && !spent;
  }
  /// The warp has issued a memory instruction that accesses something; `words`: its transactions.
  /// The instruction reaches the head `delay` + config.sm.operand_latency (at least 1) cycles
  /// after `now` at the earliest.
  MemoryOp& issue(const Warp& warp, std::uint32_t slot, AppId app, const TimedInst& inst,
                  const workload::ExecRecord& record, workload::MemHeader header, const std::uint64_t* words,
                  Cycle now, std::uint32_t delay);
  /// Requests an instruction cache line, given by its 128-byte line and sectors. The request leaves after
  /// cycle `at` at the earliest.
  void fetch(std::uint64_t line, std::uint8_t sectors, arch::KernelSlot kernel, AppId app, Cycle at) {
    network_.queue_side(network_.make(line, Purpose::Instruction, kernel, app, kNil, sectors, at));
    ++outstanding_[kernel];
  }

  /// Sends `lines` of a block's context to memory, or requests them. The packets leave after `now`, before
  /// misses. Calls Listener::context_moved(move) for each line that has arrived there or here.
  void move_context(bool save, std::uint64_t first_line, std::uint32_t lines, arch::KernelSlot kernel,
                    AppId app, std::uint32_t move, Cycle now);

  // --- time: call what is due in a cycle, in this order ----------------------------------------------
  /// Takes replies and credits that have arrived by `begin`, the start of the run.
  void take(Cycle begin, Cycle credits_known) { network_.take(begin, credits_known); }
  /// Next cycle with work, which may have passed; kNever: no work unless something happens.
  [[nodiscard]] Cycle next_reply() const { return network_.next_reply(); }
  [[nodiscard]] Cycle next_send() const { return network_.next_send(); }
  [[nodiscard]] Cycle next_access() const { return next_; }
  /// Takes the reply of next_reply().
  void reply(Cycle now);
  /// Sends packets that may leave.
  void send(Cycle now);
  /// Performs accesses of the instruction at the head: one in shared or constant memory or in the texture
  /// cache, or as many in L1 as find their banks free.
  void access(Cycle now);
  /// Cycle from which a packet waits for credits that may have arrived without being known.
  [[nodiscard]] Cycle blind_from() const { return network_.blind_from(); }
  /// Counts stall cycles of the unit before `until`.
  void settle(Cycle until) {
    if (stall_ != Stall::None && until > stall_since_) count_stall(until);
  }

  // --- L1 ------------------------------------------------------------------------------------------
  [[nodiscard]] const L1& l1() const { return l1_; }
  /// Sets a memory scheme, or none. Nothing must be in flight.
  void set_scheme(const arch::MemoryScheme& scheme) {
    GPUMUX_CHECK(ops_.in_use() == 0);
    controlled_ = scheme.on();
    shares_.begin(scheme, l1_);
  }
  /// Divides the parts of L1 that the scheme divides among these applications (mask).
  void share(std::uint32_t apps, Cycle now) {
    if (!shares_.divides()) return;
    shares_.divide(apps, l1_, config_.l1, network_.miss_places());
    retry(now);  // the head may have more room now
  }
  /// See arch::SmControl::set_l1_ways.
  void limit_ways(AppId app, std::uint32_t ways, Cycle now) {
    if (shares_.limit_ways(app, ways, l1_)) retry(now);  // the head may have more room now
  }
  /// Ways of a set granted to an application; 0 while they are not divided.
  [[nodiscard]] std::uint32_t ways_of(AppId app) const { return shares_.ways_of(app); }
  /// Sets the bytes of L1 (unified L1 and shared memory). `apps`: as for share().
  void resize_l1(std::uint32_t bytes, std::uint32_t apps, Cycle now) {
    if (bytes == l1_.bytes()) return;
    l1_.resize(bytes);
    share(apps, now);
    retry(now);  // L1 may have grown
  }
  void flush_l1(Cycle now) {
    l1_.flush();
    if (!shares_.divides_ways()) return;
    shares_.flushed();
    retry(now);  // if a share was completely reserved, lines of other applications have left room
  }

  // --- probes ----------------------------------------------------------------------------------------
  /// Memory instructions and fetches of a kernel that have not been performed.
  [[nodiscard]] std::uint32_t outstanding(arch::KernelSlot kernel) const { return outstanding_[kernel]; }
  /// Last cycle in which an access that the end of a block of the kernel waits for missed in L1; 0: never.
  [[nodiscard]] Cycle last_miss(arch::KernelSlot kernel) const { return last_miss_[kernel]; }
  /// Assigns the slot to another kernel.
  void begin(arch::KernelSlot kernel) { last_miss_[kernel] = 0; }
  /// Number of packets sent and replies taken so far.
  [[nodiscard]] std::uint64_t progress() const { return progress_; }
  [[nodiscard]] const NetworkInterface& network() const { return network_; }
  /// The instruction at the head (nullptr: none), the number of its transactions taken, and what the
  /// next transaction waits for.
  [[nodiscard]] const MemoryOp* head() const { return current_ == kNil ? nullptr : &ops_[current_]; }
  [[nodiscard]] std::uint32_t taken() const { return done_; }
  [[nodiscard]] Stall stalled_by() const { return stall_; }
  /// Application of the instruction at the head or, if there is none, of the next one, which must exist.
  [[nodiscard]] AppId head_app() const { return ops_[current_ == kNil ? queue_.at(0) : current_].app; }
  /// Number of instructions behind the head.
  [[nodiscard]] std::size_t queued() const { return queue_.size(); }
  /// Description of a resource that is held although nothing is in flight; nullptr: none.
  [[nodiscard]] const char* leaked() const;

  // --- the host's cache ------------------------------------------------------------------------------
  /// Prefetches what each run touches of this object.
  [[gnu::always_inline]] void prefetch() const;
  /// Prefetches what the object's members point to.
  [[gnu::always_inline]] void prefetch_queues(std::size_t messages) const;
  /// Prefetches what the head's transactions, and the replies that have arrived, access in L1.
  [[gnu::always_inline]] void prefetch_l1(std::size_t transactions, std::size_t messages) const;
  /// Prefetches the waiters of these replies and the lines to be evicted. Call after prefetch_l1().
  [[gnu::always_inline]] void prefetch_waiters(std::size_t messages) const;

 private:
  [[nodiscard]] arch::KernelCounters& count(arch::KernelSlot kernel) { return counters_[kernel]; }
  [[nodiscard]] bool bypasses_l1(const MemoryOp& op) const {
    return !l1_enabled_ || (op.inst->flags & isa::InstFlag::kBypassL1) != 0 ||
           (!config_.l1.caches_global && op.where == Where::Global);
  }
  [[nodiscard]] bool reads_textures(const MemoryOp& op) const {
    return op.where == Where::Texture && textures_.on();
  }
  [[nodiscard]] bool has_miss_queue_room(AppId app) const {
    return network_.room() && shares_.may_queue(app);
  }
  void queue_miss(std::uint32_t request, const MemoryOp& op, Cycle now) {
    last_miss_[op.kernel] = now;
    shares_.queued(op.app);
    if (ledger_ != nullptr) [[unlikely]] {
      ++ledger_->queued[op.app];
      if (network_.request(request).waited_for()) ++ledger_->queued_reads[op.app];
    }
    network_.queue_miss(request);
  }
  void next_op(Cycle now);
  // `last`: cycle in which the access uses its last bank.
  [[nodiscard]] bool access_line(std::uint32_t op, workload::Transaction transaction, Cycle now, Cycle last);
  [[nodiscard]] bool load_line(std::uint32_t op, workload::Transaction transaction, Cycle now, Cycle last);
  void access_constant(std::uint32_t op, Cycle now);
  void access_texture(std::uint32_t op, Cycle now);
  void stall(Stall cause, Cycle now) {
    stall_ = cause;
    stall_since_ = now;
    if (ledger_ != nullptr) [[unlikely]]
      ledger_->stalls_for(cause == Stall::MissQueue        ? ledger_->queued
                          : reads_textures(ops_[current_]) ? textures_.lines().mshrs_of()
                                                           : l1_.mshrs_of());
  }
  void count_stall(Cycle now);
  /// For the ledger: applies a store or atomic to the lines that the application would have alone.
  void note_write(std::uint64_t line, std::uint8_t sectors, bool atomic, AppId app) {
    const std::uint32_t set = l1_.set_index(line);
    if (atomic || l1_.write_evicts()) {
      ledger_->l1.drop(app, set, line, sectors);
    } else if (config_.l1.write == arch::L1Write::Allocate) {
      ledger_->l1.use(app, set, line, sectors);
    }
  }
  /// Retries the stalled access, because the resource that it waits for may be free.
  void retry(Cycle now) {
    if (stall_ != Stall::None) next_ = std::min(next_, now);
  }
  void transaction_done(std::uint32_t op, Cycle ready, Cycle now);
  void op_done(std::uint32_t op, Cycle now);
  void prefetch_replies() const;
  [[gnu::always_inline]] void prefetch_target(const Request& request) const {
    if (request.purpose == Purpose::L1Fill) {
      l1_.prefetch(request.line);
      l1_.prefetch_mshr(request.target);
    } else if (request.purpose <= Purpose::Atomic) {
      __builtin_prefetch(&ops_[request.target], 1);
    }
  }

  const arch::MachineConfig& config_;
  std::uint32_t queue_places_;
  std::uint32_t issue_width_;
  std::uint32_t operand_latency_;  // core cycles from issue to the unit
  bool l1_enabled_;
  bool controlled_ = false;  // true: a memory scheme is on
  Stall stall_ = Stall::None;
  arch::KernelCounters* counters_;
  Listener& listener_;
  Cycle issue_cycle_ = kNever;  // cycle of the last issue
  std::uint32_t issues_ = 0;    // memory instructions issued in that cycle

  std::uint32_t current_ = kNil;  // instruction at the head
  std::uint32_t done_ = 0;        // transactions of it that were taken
  Cycle busy_until_ = 0;          // from then on the pipe takes the next instruction or transaction
  Cycle next_ = kNever;           // next cycle with work; kNever: idle or stalled
  Cycle stall_since_ = 0;
  Fifo<std::uint32_t> queue_;  // memory instructions, in order of issue
  Fifo<std::uint64_t> words_;  // transactions of these instructions
  Pool<MemoryOp> ops_;
  std::uint64_t progress_ = 0;
  L1 l1_;
  NetworkInterface network_;
  std::array<std::uint32_t, arch::kMaxKernelSlots> outstanding_{};
  ConstantCache constants_;
  std::array<Cycle, arch::kMaxKernelSlots> last_miss_{};
  L1Shares shares_;
  L1Banks banks_;
  SmLedger* ledger_ = nullptr;
  LostLocality* locality_ = nullptr;
  TextureCache textures_;
};

template <typename Listener>
inline void LoadStoreUnit<Listener>::prefetch() const {
  prefetch_lines(this, &constants_);
}

template <typename Listener>
inline void LoadStoreUnit<Listener>::prefetch_queues(std::size_t messages) const {
  words_.prefetch();
  l1_.prefetch_sets();
  network_.prefetch();
  const auto& in = network_.mailbox().in;
  for (std::size_t i = 0; i < std::min(in.size(), messages); ++i) network_.prefetch_request(in[i].tag);
}

template <typename Listener>
inline void LoadStoreUnit<Listener>::prefetch_l1(std::size_t transactions, std::size_t messages) const {
  for (std::size_t i = 0; i < std::min(words_.size(), transactions); ++i)
    l1_.prefetch(workload::Transaction{words_.at(i)}.line());
  const auto& in = network_.mailbox().in;
  for (std::size_t i = 0; i < std::min(in.size(), messages); ++i)
    prefetch_target(network_.request(in[i].tag));
  l1_.prefetch_victims();
}

template <typename Listener>
inline void LoadStoreUnit<Listener>::prefetch_waiters(std::size_t messages) const {
  bool fills = false;
  const auto& in = network_.mailbox().in;
  for (std::size_t i = 0; i < std::min(in.size(), messages); ++i) {
    const Request& request = network_.request(in[i].tag);
    if (request.purpose != Purpose::L1Fill) continue;
    fills = true;
    const std::uint32_t waiter = l1_.first_waiter(request.target);
    if (waiter != kNil) __builtin_prefetch(&ops_[waiter], 1);
  }
  if (fills) l1_.prefetch_victims_buckets();
}

}  // namespace gpumux::sm
