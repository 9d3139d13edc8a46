// Observers watch a run without changing it: views, ledgers, models of a run's costs.
#pragma once

#include "policy/control.hpp"

namespace gpumux::policy {

/// Parameters of a kernel launch.
struct Launch {
  Dim3 grid, block;
  std::uint32_t stream = 0;
  Cycle submitted = 0;  // cycle at which the host program submitted the launch
};
/// A place for a block on an SM.
struct BlockPlace {
  SmId sm = 0;
  std::uint16_t slot = 0;    // index on the SM
  std::uint32_t number = 0;  // index among the places of all SMs
};

/// Watches a run without changing it. A run can have several observers. At events, parts of the machine may
/// be ahead of each other, so observers see no probes. At samples, all parts are at the sampled cycle, which
/// may be inside a window.
class Observer {
 public:
  virtual ~Observer() = default;
  /// The next cycle at which sample() is called, always after the present; kNever: none. An observer that
  /// returns kNever at the start of the run is never sampled.
  [[nodiscard]] virtual Cycle next_sample() const { return kNever; }
  virtual void sample(const Probes&) {}
  virtual void kernel_arrived(const View&, const RunningKernel&, const Launch&) {}
  /// Called when a block starts. `index`: of the block in its grid.
  virtual void block_began(const View&, const RunningKernel&, std::uint64_t /*index*/, const BlockPlace&,
                           Cycle) {}
  virtual void block_ended(const View&, const RunningKernel&, const BlockPlace&, Cycle) {}
  /// Called when a block has left its place, to continue or restart there or elsewhere. block_began() is then
  /// called again.
  virtual void block_left(const View&, const RunningKernel&, const BlockPlace&, Cycle) {}
  /// Called when a kernel has ended. May throw UserError if the observer was asked to keep too much.
  virtual void kernel_ended(const View&, const RunningKernel&) {}
  /// Called once, after the last cycle.
  virtual void run_ended(const Probes&) {}
};

}  // namespace gpumux::policy
