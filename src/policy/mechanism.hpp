// Interface of mechanisms, which share the machine: the moments at which the machine calls them.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "policy/control.hpp"

namespace gpumux::policy {

/// The moments for which a mechanism needs all SMs and partitions at the same cycle, because it then reads
/// probes or turns knobs. The machine calls the mechanism at these moments only, and may simulate parts
/// further ahead in between.
struct Needs {
  /// Period of epoch_ended() in cycles, at least a window; 0: never. The call is at a multiple of the period
  /// or at the start of the next window. Constant during a run. An action that must be exact to a cycle is
  /// armed in SMs beforehand.
  Cycle epoch = 0;
  bool windows = false;        // window_ended()
  bool triggers = false;       // triggered()
  bool block_ends = false;     // block_ended()
  bool dispatch_ends = false;  // kernel_fully_dispatched()
  bool kernel_ends = true;     // kernel_ended()
  /// Calls block_left(), and lets SmControl::stop_block() act.
  bool block_stops = false;
  /// SMs count memory instructions in flight, so that set_memory_limit() acts without a memory scheme. Not a
  /// moment; constant during a run.
  bool memory_limits = false;
  /// L1 caches record which application owns a line, so that set_l1_ways() acts. Constant during a run.
  bool l1_ways = false;
  /// Instruction streams keep their records, so that SmControl::drop_block() acts. Constant during a run.
  bool block_drops = false;
  /// Kernels from PTX are compiled with notices, so that arch::ResidentBlock::notified is set. Constant
  /// during a run.
  bool notices = false;
  /// Kernels are tested for idempotence, which sets RunningKernel::idempotent. Constant during a run.
  bool idempotence = false;
};

/// The report of a mechanism on a run: named numbers, and curves by kernel or SM. Names are lower_case.
struct Report {
  struct Number {
    std::string name;
    double value = 0;
    std::optional<AppId> app;  // nothing: the number is for the whole run
  };
  struct Curve {
    std::string name;
    std::optional<AppId> app;  // nothing, with an empty kernel: all applications together
    std::string kernel;
    std::vector<std::pair<double, double>> points;
    std::optional<SmId> sm = {};  // the SM, for a curve of one SM
  };
  /// The preemption of one SM.
  struct Preemption {
    SmId sm = 0;
    AppId app = 0;                          // the application whose blocks were preempted
    Cycle asked = 0;                        // the cycle of the decision
    Cycle end = 0;                          // the cycle at which the last block had left
    std::array<std::uint32_t, 3> blocks{};  // switched, drained, flushed
    bool done = true;                       // false: the SM was given back before that
  };
  /// Number of preemptions that are kept. Later ones are dropped.
  static constexpr std::size_t kMostPreemptions = 1'000'000;
  std::vector<Preemption> preemptions;
  std::vector<Number> numbers;
  std::vector<Curve> curves;
  [[nodiscard]] bool empty() const { return numbers.empty() && curves.empty(); }
};

/// A rule that shares the machine. If a run has several mechanisms, the machine calls them at every moment in
/// this order: memory scheme, policy, core control, concurrency control, block scheduler.
class Mechanism {
 public:
  virtual ~Mechanism() = default;
  /// The moments that the mechanism needs. The machine asks at the start, and after each arrival or end of a
  /// kernel, each epoch and each alarm. Without kernel_ends, the end of a kernel must not add a need.
  [[nodiscard]] virtual Needs needs(const View&) const { return {}; }
  /// Called with the new kernel already in control.kernels().
  virtual void kernel_arrived(Control&, const RunningKernel&) {}
  /// Called when the kernel's last block has ended, with the kernel already removed from control.kernels().
  virtual void kernel_ended(Control&, const RunningKernel&) {}
  /// Called when the kernel has handed its last block to an SM.
  virtual void kernel_fully_dispatched(Control&, const RunningKernel&) {}
  virtual void block_ended(Control&, const RunningKernel&, SmId) {}
  /// Called when a block that was stopped or dropped has left its SM. The block is dispatched again before
  /// blocks of its kernel that have not started.
  virtual void block_left(Control&, const RunningKernel&, SmId) {}
  virtual void epoch_ended(Control&) {}
  /// Called when all parts are at the end of a window, before the blocks that ended in the window are
  /// collected. Windows in which nothing can happen are skipped.
  virtual void window_ended(Control&) {}
  /// Called at the end of a window in which a trigger has fired in the SM. Every mechanism that needs
  /// triggers sees all of them, so mechanisms must use different trigger ids.
  virtual void triggered(Control&, SmId, const arch::Fired&) {}
  /// See Control::set_alarm().
  virtual void alarm(Control&) {}
  /// Called once, after the last cycle. The report goes into the result (docs/policies.md).
  [[nodiscard]] virtual Report report(const Probes&) const { return {}; }
};

}  // namespace gpumux::policy
