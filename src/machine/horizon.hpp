// How far each part of the machine may be simulated: every proof of it is here. docs/time.md explains the
// terms.
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

/// To run a part costs its state's way through the host's caches: it is worth while for so many cycles.
inline constexpr Cycle kWorthwhile = 48;

/// How far the parts may go in one call of Parts::run().
struct Span {
  Cycle window;      // end of the window that begins at now()
  Cycle sms;         // how far SMs may go
  Cycle partitions;  // and partitions
  bool in_step;      // SMs go window by window
  bool blocks_wait;  // an SM whose block ends may get another
};

/// Three things bound a part. What others may still send it: messages travel for the network's latency at
/// least, and a request reaches nothing behind a partition's pipeline before its lookahead. A meeting, at
/// which something from outside concerns all parts. And the end of a block or kernel, where it lets a part do
/// more or somebody reads counters.
class Horizon {
 public:
  struct Rules {
    bool in_step = false;             // throughout
    bool ends_concern_parts = false;  // samples do not let parts be beyond a kernel's end
  };
  Horizon(const arch::MachineConfig& config, const Parts& parts, const WorkDistributor& work, Rules rules);

  /// What the mechanisms need from now on.
  void set_needs(const policy::Needs& needs) { needs_ = needs; }
  /// The caller reads no counters before all these applications have ended (Gpu::set_awaited()).
  void set_awaited(std::uint32_t apps) { awaited_ = apps; }

  // --- messages -------------------------------------------------------------------------------------
  /// All requests before have come to the partitions; all replies before are known.
  [[nodiscard]] Cycle requests_known() const { return requests_known_; }
  [[nodiscard]] Cycle replies_known() const { return replies_known_; }
  /// Up to where partitions know all requests once the SMs have come to `now`.
  [[nodiscard]] Cycle complete(Cycle now, const Span& span) const;
  /// The partitions' turn, before the SMs go on.
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
  /// What is certain of a partition that knows all requests before `complete`.
  [[nodiscard]] Cycle reach(Cycle complete) const { return parts_.partition(0).lookahead(complete); }
  /// Partitions have run: they know all requests before `complete`, and the hindmost has come to `done`.
  void partitions_ran(Cycle complete, Cycle done);
  void skipped_to(Cycle cycle);

  // --- meetings, and ends of kernels --------------------------------------------------------------------
  /// From now(), to `meeting` at most.
  [[nodiscard]] Span span(Cycle meeting);
  /// An SM has run, on any thread.
  void sm_ran(std::uint32_t sm) {
    if (busy_slots_ != 0) note_busy(sm);
  }
  /// The end of the window in which a kernel's last block has ended, as far as the SMs have come, if it
  /// concerns the host alone; else kNever. To be worked out once the parts have run.
  [[nodiscard]] Cycle next_end() const { return next_end_; }
  void find_next_end();
  /// Kernels have lost blocks: what is known of their ends is void.
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
  bool routed_;    // a mesh brings what comes in a window before it begins
  std::uint32_t blocks_per_cycle_;
  bool network_is_fast_;     // an SM may send twice in a cycle: it must know all credits of it
  Cycle most_ahead_;         // no part is this many cycles before the hindmost SM, nor before now()
  bool ends_reach_no_part_;  // what kernels' ends bring about takes longer than most_ahead_
  Cycle requests_known_ = 0;
  Cycle replies_known_ = 0;
  Cycle next_end_ = kNever;
  std::optional<std::uint32_t> awaited_;
  std::uint32_t busy_slots_ = 0;   // mask of kernels whose busy_until_ is kept
  std::vector<Cycle> busy_until_;  // [slot][sm]: not all the kernel's blocks there end before
};

}  // namespace gpumux::machine
