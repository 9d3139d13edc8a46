// The moments at which the machine calls what shares it.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "policy/control.hpp"

namespace gpumux::policy {

/// The moments for which a mechanism needs all SMs and partitions at one cycle, because it reads probes or
/// turns knobs then. It is called at these and no others: the machine may be simulated further ahead in
/// between.
struct Needs {
  /// epoch_ended() at its multiples, or the window's begin behind them; in cycles, no shorter than a window.
  /// The same throughout a run. 0: never. What has to be exact to a cycle is armed in SMs beforehand.
  Cycle epoch = 0;
  bool windows = false;        // window_ended()
  bool triggers = false;       // triggered()
  bool block_ends = false;     // block_ended()
  bool dispatch_ends = false;  // kernel_fully_dispatched()
  bool kernel_ends = true;     // kernel_ended()
  /// block_left(); and that SmControl::stop_block() acts.
  bool block_stops = false;
  /// Beside moments, and the same throughout a run: SMs count memory instructions in flight, so that
  /// set_memory_limit() acts without a memory scheme.
  bool memory_limits = false;
  /// Likewise: L1 knows whose its lines are, so that set_l1_ways() acts.
  bool l1_ways = false;
  /// Likewise: streams keep what they have given, so that SmControl::drop_block() acts.
  bool block_drops = false;
  /// Likewise: kernels that come as PTX are compiled with notices, so that arch::ResidentBlock::notified
  /// acts.
  bool notices = false;
  /// Likewise: RunningKernel::idempotent is found out.
  bool idempotence = false;
};

/// What a mechanism has to say of a run: named numbers, and curves by kernel or SM. Names are lower_case.
struct Report {
  struct Number {
    std::string name;
    double value = 0;
    std::optional<AppId> app;  // nothing: of the whole run
  };
  struct Curve {
    std::string name;
    std::optional<AppId> app;  // nothing, and no kernel: of all together
    std::string kernel;
    std::vector<std::pair<double, double>> points;
    std::optional<SmId> sm = {};  // of one alone
  };
  /// Of one SM.
  struct Preemption {
    SmId sm = 0;
    AppId app = 0;                          // from whose blocks it was taken
    Cycle asked = 0;                        // decided
    Cycle end = 0;                          // its last block had left
    std::array<std::uint32_t, 3> blocks{};  // switched, drained, flushed
    bool done = true;                       // else it was given back before
  };
  /// Those that are kept, of more the first.
  static constexpr std::size_t kMostPreemptions = 1'000'000;
  std::vector<Preemption> preemptions;
  std::vector<Number> numbers;
  std::vector<Curve> curves;
  [[nodiscard]] bool empty() const { return numbers.empty() && curves.empty(); }
};

/// Of several mechanisms, each is called at every moment, in this order: memory scheme,
/// policy, core control, concurrency control, block scheduler.
class Mechanism {
 public:
  virtual ~Mechanism() = default;
  /// Asked at the begin, and after each kernel that arrives or ends, each epoch and alarm. Without
  /// kernel_ends, the end of a kernel adds no need.
  [[nodiscard]] virtual Needs needs(const View&) const { return {}; }
  /// Called with the new kernel already in control.kernels().
  virtual void kernel_arrived(Control&, const RunningKernel&) {}
  /// Called when the last block has ended, with the kernel already removed.
  virtual void kernel_ended(Control&, const RunningKernel&) {}
  /// The kernel has handed its last block to an SM.
  virtual void kernel_fully_dispatched(Control&, const RunningKernel&) {}
  virtual void block_ended(Control&, const RunningKernel&, SmId) {}
  /// A block that was stopped or dropped has left its SM. It is dispatched before those of its kernel that
  /// have not begun.
  virtual void block_left(Control&, const RunningKernel&, SmId) {}
  virtual void epoch_ended(Control&) {}
  /// All parts have come to the end of a window, and no block that ended in it has been collected. Windows in
  /// which nothing can happen are left out.
  virtual void window_ended(Control&) {}
  /// A trigger that it has armed in an SM has fired there: told at the end of that window. Triggers of
  /// several mechanisms need different ids; each that needs triggers is told of all.
  virtual void triggered(Control&, SmId, const arch::Fired&) {}
  /// See Control::set_alarm().
  virtual void alarm(Control&) {}
  /// Called once, after the last cycle. What it says goes into the result (docs/policies.md).
  [[nodiscard]] virtual Report report(const Probes&) const { return {}; }
};

}  // namespace gpumux::policy
