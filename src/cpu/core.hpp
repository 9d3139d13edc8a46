// An out-of-order CPU core with its private caches, cycle by cycle.
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

/// What a core sends beyond its L2: a line to be read, which is answered, or one written back, which is not.
struct Request {
  std::uint64_t line = 0;  // from Core's first_line on
  Cycle cycle = 0;         // of the core: when it leaves L2
  std::uint32_t id = 0;    // of a read: returned with the reply; free again after it
  bool write = false;      // 128 B of data go with it
};

/// Each cycle of the core's own clock is these steps, in this order (docs/cpu.md):
///  1. data that comes now fills the caches; what it completes may be used at once,
///  2. up to `width` completed instructions retire, in the order of the program,
///  3. up to `width` instructions whose operands are there issue, the oldest first, at most one memory
///  operand
///     among them. All but loads complete in the next cycle; a load by where its line is. A store needs its
///     line, too, but is complete with its issue. Tags are looked up, and an MSHR is taken, at issue,
///  4. up to `width` instructions of the trace enter the window; they issue in the next cycle at the
///  earliest.
/// After a branch that is mispredicted, if any is, nothing enters until it is complete and `redirect` cycles
/// have passed: what the processor executes meanwhile is not in the trace. A trace never ends.
class Core {
 public:
  /// Throws UserError for a configuration with values out of range, and as the source does. Lines begin at
  /// `first_line`: 2^33 of them are the core's.
  Core(const CpuConfig& config, std::unique_ptr<TraceSource> source, std::uint64_t first_line);

  /// Simulates cycles before `until`, as far as their outcome is certain: replies that come, and places of
  /// the outbox that are free again, before cycle `known` have been said. While the core waits for neither,
  /// it goes beyond `known`. Returns done().
  Cycle run(Cycle until, Cycle known);
  /// Cycles before this one are simulated.
  [[nodiscard]] Cycle done() const { return now_; }
  /// The next cycle from done() on in which something happens without a reply or a place that is still to be
  /// said; kNever if nothing does. Only stalls are counted before it.
  [[nodiscard]] Cycle next() const;

  /// The oldest request with a cycle before done(), in the order of cycles; nullptr without any.
  [[nodiscard]] const Request* front() const;
  /// The cycle of the oldest request that has not been taken, also of one that leaves L2 at done() or later;
  /// kNever without any.
  [[nodiscard]] Cycle next_request() const;
  /// Takes it. Its place in the outbox is free again from cycle `freed`, which is not before done(), nor
  /// before any that was said earlier.
  void take(Cycle freed);
  /// The data of the read `id`, which has been taken, is at the core at `cycle`: not before done(), after the
  /// request's, and not before that of an earlier reply.
  void reply(std::uint32_t id, Cycle cycle);

  /// Up to done().
  [[nodiscard]] const Counters& counters() const { return counters_; }
  /// Keeps the counters as they are at the end of the cycle in which the core has retired so many
  /// instructions since it began; the core goes on. Takes the place of an earlier watch.
  void watch(std::uint64_t instructions);
  /// What watch() has kept; nothing before it is reached.
  [[nodiscard]] const std::optional<Counters>& watched() const { return watched_; }
  /// Reads without an answer that has taken effect.
  [[nodiscard]] std::uint32_t outstanding() const { return outstanding_; }
  /// Lines on their way to L1, from L2 or from beyond.
  [[nodiscard]] std::uint32_t mshrs_in_use() const;
  /// Goes through every cycle instead of over those in which nothing happens. Changes no result.
  void simulate_every_cycle() { skips_ = false; }

 private:
  static constexpr unsigned kMostOperands = 6;
  static constexpr unsigned kMostLoads = 4;
  static constexpr unsigned kRing = 64;  // cycles
  static constexpr std::uint16_t kNoNode = 0xffff;

  /// An instruction in the window.
  struct Slot {
    std::array<std::uint64_t, kMostOperands> lines;  // that are loaded, then those that are stored to
    SlotMask consumers;                              // younger instructions that wait for this one
    std::uint8_t pending;                            // older instructions that this one waits for
    std::uint8_t loads;
    std::uint8_t stores;
    std::uint8_t issued;       // operands
    std::uint8_t outstanding;  // loads without their data
    std::uint8_t forwarded;    // bit i: load i has its data from a store in the window
    bool branch;
    std::array<std::uint8_t, 2> destinations;  // registers; 0: none
    [[nodiscard]] unsigned operands() const { return unsigned{loads} + stores; }
  };
  struct Mshr {
    std::uint64_t line = 0;
    Cycle cycle = 0;                  // of the request
    std::uint16_t waiters = kNoNode;  // loads
    bool dirty = false;               // a store is among those that wait
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
  std::span<const Record> records_;  // of the source, not yet dispatched
  Regions regions_;
  Cache l1_;
  Cache l2_;
  Cycle now_ = 0;
  bool skips_ = true;

  // The window: `count_` slots from `head_` on.
  unsigned head_ = 0;
  unsigned count_ = 0;
  SlotMask completed_;
  SlotMask alu_ready_;
  SlotMask memory_ready_;
  SlotMask wait_mshr_;    // refused for want of one: tried again when one is free
  SlotMask wait_outbox_;  // the same for a place of the outbox
  SlotMask executing_;    // complete in the next cycle
  std::array<Slot, kSlots> slots_{};
  std::array<std::uint8_t, 256> writer_{};  // by register: who writes it last; kNoSlot: it is there

  std::vector<std::uint8_t> predictor_;  // counters
  std::uint64_t history_ = 0;            // of branches, the last in the lowest bit
  unsigned mispredicted_ = kNoSlot;      // what comes after it enters from resume_ on
  Cycle resume_ = 0;

  // Stores in the window by word, chained from the youngest on. Node: slot * 2 + store.
  std::array<std::uint16_t, 256> store_heads_{};
  std::array<std::uint16_t, 2 * kSlots> store_next_{};
  std::array<std::uint64_t, 2 * kSlots> store_words_{};

  // Loads that wait for an MSHR's line. Node: slot * 4 + load.
  std::array<std::uint16_t, kMostLoads * kSlots> waiter_next_{};
  std::array<Cycle, kMostLoads * kSlots> looked_up_{};  // when L1's lookup ends: no data before

  std::vector<Mshr> mshrs_;
  std::uint64_t free_mshrs_;
  // One operand issues per cycle, so that one lookup of each cache ends per cycle: by cycle % kRing.
  std::uint64_t l1_due_ = 0;
  std::uint64_t l2_due_ = 0;
  std::array<std::uint8_t, kRing> l1_slot_{};  // whose load has its data
  std::array<std::uint8_t, kRing> l2_mshr_{};  // whose line has come from L2

  Ring<Request> reads_;
  Ring<Request> writes_;
  Ring<Reply> replies_;
  Ring<Cycle> freed_;
  std::uint32_t in_outbox_ = 0;  // places taken
  std::uint32_t outstanding_ = 0;
  std::uint32_t unresolved_ = 0;  // reads to be answered and requests to be taken, of which nothing is known
  Cycle first_unresolved_ = 0;    // nothing is heard of them before this cycle
  Cycle last_reply_ = 0;
  Cycle last_freed_ = 0;

  Counters counters_;
  std::uint64_t watch_ = ~std::uint64_t{0};
  std::optional<Counters> watched_;
};

}  // namespace gpumux::cpu
