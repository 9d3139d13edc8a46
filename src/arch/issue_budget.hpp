// How many instructions a kernel may issue on an SM before it has to wait.
#pragma once

#include <cstdint>

#include "base/types.hpp"

namespace gpumux::arch {

struct IssueBudget {
  enum class Unit : std::uint8_t {
    WarpInstructions,        // at issue: exactly `amount` of them
    MemoryInstructions,      // those of the load/store unit alone, at issue; the kernel's others wait as well
    ThreadInstructions,      // active lanes, at issue: the last instruction may exceed the budget
    ThreadInstructionsDone,  // active lanes, when the instruction has completed: what is in flight may exceed
                             // it
  };
  /// What a refill does with what is left, which is negative where the budget was exceeded.
  enum class Refill : std::uint8_t {
    Never,
    Anew,         // it is dropped
    KeepUnspent,  // added if positive
    KeepDebt,     // added if negative
    KeepBoth,
  };
  Unit unit = Unit::WarpInstructions;
  std::uint32_t amount = 0;  // of each refill; 0: no limit
  /// In the cycle in which all kernels with a budget have none left, but for those that have no block on the
  /// SM or may not issue.
  Refill all_spent = Refill::Never;
  /// Every `epoch` cycles (at least 1) from when the budget is set, the first time after `first_epoch` of
  /// them (0: as all others).
  Refill at_epoch = Refill::Never;
  Cycle epoch = 0;
  Cycle first_epoch = 0;
  /// A refill when all are spent begins an epoch anew.
  bool restarts_epoch = false;
  /// The kernel waits while another that has a block on the SM, may issue, and has a budget that does not
  /// yield has some of it left: wang17 section 4.5.
  bool yields = false;
  bool operator==(const IssueBudget&) const = default;
};

/// Where a kernel's budget stands on an SM.
struct IssueBudgetState {
  std::int64_t left = 0;  // 0 or less: the kernel waits
  std::uint64_t refills = 0;
  Cycle next_epoch = kNever;  // from whose begin the next refill at an epoch acts
};

}  // namespace gpumux::arch
