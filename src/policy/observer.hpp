// Who watches a run and changes nothing: views, ledgers, models of what a run costs.
#pragma once

#include "policy/control.hpp"

namespace gpumux::policy {

/// A launch, as it was asked for.
struct Launch {
  Dim3 grid, block;
  std::uint32_t stream = 0;
  Cycle submitted = 0;  // by its host program
};
/// A place for a block, among those of all SMs.
struct BlockPlace {
  SmId sm = 0;
  std::uint16_t slot = 0;    // of the SM
  std::uint32_t number = 0;  // numbers the places of all SMs
};

/// Several may watch a run. A run is the same with them and without: at events parts may be ahead of each
/// other (so they see no probes); at samples all have come to that cycle, wherever in a window it lies.
class Observer {
 public:
  virtual ~Observer() = default;
  /// The next cycle at which sample() is to be called, always after the present; kNever: at none, and at none
  /// later if it was so at the begin of the run.
  [[nodiscard]] virtual Cycle next_sample() const { return kNever; }
  virtual void sample(const Probes&) {}
  virtual void kernel_arrived(const View&, const RunningKernel&, const Launch&) {}
  /// `index`: of the block in its grid.
  virtual void block_began(const View&, const RunningKernel&, std::uint64_t /*index*/, const BlockPlace&,
                           Cycle) {}
  virtual void block_ended(const View&, const RunningKernel&, const BlockPlace&, Cycle) {}
  /// It has left its place, to go on or to begin anew there or elsewhere: block_began() is called again.
  virtual void block_left(const View&, const RunningKernel&, const BlockPlace&, Cycle) {}
  /// May throw UserError: what was asked for is too much.
  virtual void kernel_ended(const View&, const RunningKernel&) {}
  /// Called once, after the last cycle.
  virtual void run_ended(const Probes&) {}
};

}  // namespace gpumux::policy
