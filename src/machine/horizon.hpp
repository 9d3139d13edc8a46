// How far each part of the machine may be simulated, with every proof. docs/time.md explains the terms.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "arch/config.hpp"
#include "engine/part.hpp"
#include "machine/parts.hpp"
#include "machine/work_distributor.hpp"
#include "policy/mechanism.hpp"

namespace gpumux::machine {

/// Simulating a part loads its state into the host's caches, so a visit pays off only if it covers
/// at least this many cycles.
inline constexpr Cycle kWorthwhile = 48;

/// How far the parts may go in one call of Parts::run().
struct Span {
  Cycle window;      // end of the window that starts at now()
  Cycle sms;         // cycle up to which SMs may be simulated
  Cycle partitions;  // cycle up to which partitions may be simulated
  bool in_step;      // SMs go window by window
  bool blocks_wait;  // blocks wait: an SM whose block ends may get another block
};

/// Three things bound how far a part may be simulated. First, messages from other parts: a message takes at
/// least the network's latency, and a request has no effect behind a partition's pipeline before its
/// lookahead. Second, a meeting: a cycle at which something from outside concerns all parts. Third, the end
/// of a block or kernel, if it lets a part do more or counters are read then.
class Horizon {
 public:
  struct Rules {
    bool in_step = false;             // SMs advance window by window throughout the run
    bool ends_concern_parts = false;  // samples require that no part is beyond a kernel's end
  };
  Horizon(const arch::MachineConfig& config, const Parts& parts, const WorkDistributor& work, Rules rules);

  /// Sets what the mechanisms need from now on.
  void set_needs(const policy::Needs& needs) { needs_ = needs; }
  /// Promises that the caller reads no counters before all these applications have ended
  /// (Gpu::set_awaited()).
  void set_awaited(std::uint32_t apps) { awaited_ = apps; }

  // --- messages -------------------------------------------------------------------------------------
  /// Partitions know all requests before requests_known(), SMs know all replies before replies_known().
  [[nodiscard]] Cycle requests_known() const { return requests_known_; }
  [[nodiscard]] Cycle replies_known() const { return replies_known_; }
  /// Cycle before which partitions know all requests when the SMs have reached `now`.
  [[nodiscard]] Cycle complete(Cycle now, const Span& span) const;
  /// True if partitions must run before the SMs continue.
  [[nodiscard]] bool partitions_first(Cycle complete, const Span& span, bool someone_is_blind) const;
  [[nodiscard]] engine::Grant partition_grant(Cycle complete, Cycle end) const {
    return {.begin = requests_known_, .end = end, .messages = complete};
  }
  [[nodiscard]] engine::Grant sm_grant(Cycle begin, Cycle end, const Span& span) const {
    return {.begin = begin,
            .end = end,
            .messages = replies_known_,
            .credits = routed_ ? replies_known_ : requests_known_ + latency_,
            .stop_at_block_end = span.blocks_wait};
  }
  /// Cycle before which a partition's actions are certain if it knows all requests before `complete`.
  [[nodiscard]] Cycle reach(Cycle complete) const { return parts_.partition(0).lookahead(complete); }
  /// Tells that partitions have run: they know all requests before `complete`, and all have reached `done`.
  void partitions_ran(Cycle complete, Cycle done);
  void skipped_to(Cycle cycle);

  // --- meetings, and ends of kernels --------------------------------------------------------------------
  /// Span of the next Parts::run(), from now() to at most `meeting`.
  [[nodiscard]] Span span(Cycle meeting);
  /// Called on any thread after an SM has run.
  void sm_ran(std::uint32_t sm) {
    if (busy_slots_ != 0) note_busy(sm);
  }
  /// If kernels' ends concern only the host: the end of the window in which the last block of a kernel
  /// has ended, as far as the SMs have been simulated. Otherwise kNever. find_next_end() computes it
  /// after the parts have run.
  [[nodiscard]] Cycle next_end() const { return next_end_; }
  void find_next_end();
  /// Tells that blocks were killed, which invalidates what is known of the ends of their kernels.
  void blocks_killed() { busy_slots_ = 0; }

 private:
  [[nodiscard]] bool in_step() const;
  [[nodiscard]] bool watched() const {
    return needs_.block_ends || needs_.block_stops || needs_.dispatch_ends || needs_.windows ||
           needs_.triggers;
  }
  [[nodiscard]] bool ends_concern_host_alone() const;
  [[nodiscard]] std::uint32_t tails_to_meet_at() const;
  [[nodiscard]] Cycle undispatched_take(const policy::RunningKernel& kernel) const;
  [[nodiscard]] bool is_tail(const policy::RunningKernel& kernel) const {
    return undispatched_take(kernel) <= most_ahead_;
  }
  [[nodiscard]] Cycle earliest_end(const policy::RunningKernel& kernel) const;
  void note_busy(std::uint32_t sm);

  const Parts& parts_;
  const WorkDistributor& work_;
  Rules rules_;
  policy::Needs needs_;
  Cycle latency_;  // of the network
  bool routed_;    // true: a mesh delivers all messages of a window before the window starts
  std::uint32_t blocks_per_cycle_;
  bool network_is_fast_;     // an SM may send twice in a core cycle, so it must know all credits of the cycle
  Cycle most_ahead_;         // no part is this many cycles ahead of the hindmost SM or of now()
  bool ends_reach_no_part_;  // the effects of a kernel's end take longer than most_ahead_
  Cycle requests_known_ = 0;
  Cycle replies_known_ = 0;
  Cycle next_end_ = kNever;
  std::optional<std::uint32_t> awaited_;
  std::uint32_t busy_slots_ = 0;   // mask of kernels for which busy_until_ is kept
  std::vector<Cycle> busy_until_;  // [slot][sm]: some block of the kernel on the SM does not end before
};

}  // namespace gpumux::machine
