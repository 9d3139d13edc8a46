// An out-of-order CPU core with its private caches, simulated cycle by cycle.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/types.hpp"
#include "cpu/cache.hpp"
#include "cpu/config.hpp"
#include "cpu/regions.hpp"
#include "cpu/ring.hpp"
#include "cpu/slot_mask.hpp"
#include "cpu/trace/source.hpp"

namespace gpumux::cpu {

/// A request that a core sends beyond its L2: a line to read, which is answered, or a line to write
/// back, which is not answered.
struct Request {
  std::uint64_t line = 0;  // line number, from Core's first_line on
  Cycle cycle = 0;         // core cycle in which the request leaves L2
  std::uint32_t id = 0;    // of a read: returned with the reply, and reused after it
  bool write = false;      // true: 128 B of data go with the request
};

/// Simulates one core. Each cycle of the core's clock has these steps, in this order (docs/cpu.md):
///  1. Data that arrives fills the caches. What it completes may be used in this cycle.
///  2. Up to `width` completed instructions retire, in program order.
///  3. Up to `width` instructions whose operands are ready issue, oldest first, at most one memory operand
///     among them. Loads complete by where their line is, all other instructions in the next cycle. A store
///     also needs its line, but is complete when it issues. Tags are looked up, and an MSHR is taken, at
///     issue.
///  4. Up to `width` instructions of the trace enter the window, and issue in the next cycle at the earliest.
/// After a mispredicted branch, no instruction enters until the branch is complete and `redirect` cycles have
/// passed, because the trace does not contain the wrong path. A trace never ends.
class Core {
 public:
  /// Throws UserError for a configuration with values out of range, and for the errors of the source. The
  /// lines of the core are the 2^33 lines from `first_line` on.
  Core(const CpuConfig& config, std::unique_ptr<TraceSource> source, std::uint64_t first_line);

  /// Simulates cycles before `until`, as far as their outcome is certain. All replies that arrive, and all
  /// places of the outbox that become free, before cycle `known` have been passed to the core. While the core
  /// waits for neither, it runs beyond `known`. Returns done().
  Cycle run(Cycle until, Cycle known);
  /// The core is simulated up to this cycle.
  [[nodiscard]] Cycle done() const { return now_; }
  /// The next cycle from done() on in which something happens without a further reply() or take(). kNever if
  /// there is none. Before this cycle, only stalls are counted.
  [[nodiscard]] Cycle next() const;

  /// The oldest request that leaves L2 before done(); nullptr if there is none.
  [[nodiscard]] const Request* front() const;
  /// The cycle in which the oldest request that has not been taken leaves L2, which may be done() or later.
  /// kNever if there is no such request.
  [[nodiscard]] Cycle next_request() const;
  /// Takes the request front(). Its place in the outbox is free from cycle `freed` on. `freed` must not be
  /// before done() or before the `freed` of an earlier call.
  void take(Cycle freed);
  /// Tells that the data of the read `id`, which has been taken, arrives at the core at `cycle`. `cycle` must
  /// be after the request's cycle, and not before done() or before an earlier reply.
  void reply(std::uint32_t id, Cycle cycle);

  /// Counters up to done().
  [[nodiscard]] const Counters& counters() const { return counters_; }
  /// Saves the counters at the end of the cycle in which the core has retired `instructions` instructions
  /// since its start. The core goes on. Replaces an earlier watch.
  void watch(std::uint64_t instructions);
  /// The counters saved by watch(); empty before that point.
  [[nodiscard]] const std::optional<Counters>& watched() const { return watched_; }
  /// Reads whose reply has not arrived.
  [[nodiscard]] std::uint32_t outstanding() const { return outstanding_; }
  /// MSHRs in use: lines on their way to L1, from L2 or from beyond.
  [[nodiscard]] std::uint32_t mshrs_in_use() const;
  /// Simulates every cycle instead of skipping cycles in which nothing happens. Changes no result.
  void simulate_every_cycle() { skips_ = false; }

 private:
  static constexpr unsigned kMostOperands = 6;
  static constexpr unsigned kMostLoads = 4;
  static constexpr unsigned kRing = 64;  // cycles
  static constexpr std::uint16_t kNoNode = 0xffff;

  /// An instruction in the window.
  struct Slot {
    std::array<std::uint64_t, kMostOperands> lines;  // of its loads, then of its stores
    SlotMask consumers;                              // younger instructions that wait for this instruction
    std::uint8_t pending;                            // number of older instructions that
                                                     // this instruction waits for
    std::uint8_t loads;
    std::uint8_t stores;
    std::uint8_t issued;       // operands that have issued
    std::uint8_t outstanding;  // issued loads without their data
    std::uint8_t forwarded;    // bit i: load i gets its data from a store in the window
    bool branch;
    std::array<std::uint8_t, 2> destinations;  // registers; 0: none
    [[nodiscard]] unsigned operands() const { return unsigned{loads} + stores; }
  };
  struct Mshr {
    std::uint64_t line = 0;
    Cycle cycle = 0;                  // of the request's departure from L2, or of the data's arrival from L2
    std::uint16_t waiters = kNoNode;  // first of the loads that wait for the line
    bool dirty = false;               // true if a store waits for the line
    enum class From : std::uint8_t { L2, Memory, MemoryTaken, MemoryAnswered } from = From::L2;
  };
  struct Reply {
    Cycle cycle = 0;
    std::uint32_t id = 0;
  };

  void step();
  void arrivals();
  void retire();
  void issue();
  void dispatch();
  void enter(const Record& record, unsigned slot);
  void depend(unsigned slot, unsigned producer);
  void enter_operands(const Record& record, unsigned slot);
  void issue_operand(unsigned slot);
  [[nodiscard]] bool access(unsigned slot, unsigned operand);
  void load_at(Cycle cycle, unsigned slot);
  void ready(unsigned slot);
  void complete(unsigned slot);
  void load_done(unsigned slot);
  void fill(unsigned mshr);
  void l2_victim(const Cache::Victim& victim);
  void unresolved(unsigned count, Cycle cycle);
  void count_stalls(Cycle cycles);
  [[nodiscard]] SlotMask memory_candidates() const;
  [[nodiscard]] bool redirecting() const { return mispredicted_ != kNoSlot || now_ < resume_; }
  void predict(const Record& record, unsigned slot);
  [[nodiscard]] bool idle() const;
  [[nodiscard]] Cycle next_event() const;
  [[nodiscard]] Cycle limit(Cycle until, Cycle known) const;
  static Cycle next_due(std::uint64_t due, Cycle from);

  CpuConfig config_;
  std::unique_ptr<TraceSource> source_;
  std::span<const Record> records_;  // records of the source that are not dispatched yet
  Regions regions_;
  Cache l1_;
  Cache l2_;
  Cycle now_ = 0;
  bool skips_ = true;

  // The window consists of `count_` slots from `head_` on.
  unsigned head_ = 0;
  unsigned count_ = 0;
  SlotMask completed_;
  SlotMask alu_ready_;
  SlotMask memory_ready_;
  SlotMask wait_mshr_;    // instructions that found no free MSHR; they retry when one is free
  SlotMask wait_outbox_;  // instructions that found no place in the outbox; they retry when a place is free
  SlotMask executing_;    // instructions that complete in the next cycle
  std::array<Slot, kSlots> slots_{};
  std::array<std::uint8_t, 256> writer_{};  // by register: slot of its last writer;
                                            // kNoSlot: the value is ready

  std::vector<std::uint8_t> predictor_;  // 2-bit counters of the gshare predictor
  std::uint64_t history_ = 0;            // outcomes of branches, the last one in the lowest bit
  unsigned mispredicted_ = kNoSlot;      // slot of a mispredicted branch; later
                                         // instructions enter from resume_ on
  Cycle resume_ = 0;

  // Hash table of the stores in the window by word, each chain youngest first. Node: slot * 2 + store.
  std::array<std::uint16_t, 256> store_heads_{};
  std::array<std::uint16_t, 2 * kSlots> store_next_{};
  std::array<std::uint64_t, 2 * kSlots> store_words_{};

  // Lists of loads that wait for the line of an MSHR. Node: slot * 4 + load.
  std::array<std::uint16_t, kMostLoads * kSlots> waiter_next_{};
  std::array<Cycle, kMostLoads * kSlots> looked_up_{};  // cycle in which the lookup in L1 ends; no data
                                                        // before

  std::vector<Mshr> mshrs_;
  std::uint64_t free_mshrs_;
  // Ends of lookups, by cycle % kRing. One operand issues per cycle, so one lookup of
  // each cache ends per cycle.
  std::uint64_t l1_due_ = 0;
  std::uint64_t l2_due_ = 0;
  std::array<std::uint8_t, kRing> l1_slot_{};  // slot whose load gets its data
  std::array<std::uint8_t, kRing> l2_mshr_{};  // MSHR whose line arrives from L2

  Ring<Request> reads_;
  Ring<Request> writes_;
  Ring<Reply> replies_;
  Ring<Cycle> freed_;
  std::uint32_t in_outbox_ = 0;  // places taken in the outbox
  std::uint32_t outstanding_ = 0;
  std::uint32_t unresolved_ = 0;  // requests to be taken and reads to be answered, of which
                                  // the core has not been told
  Cycle first_unresolved_ = 0;    // none of the unresolved events happens before this cycle
  Cycle last_reply_ = 0;
  Cycle last_freed_ = 0;

  Counters counters_;
  std::uint64_t watch_ = ~std::uint64_t{0};
  std::optional<Counters> watched_;
};

}  // namespace gpumux::cpu
