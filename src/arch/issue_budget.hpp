// The number of instructions that a kernel may issue on an SM before it must wait.
#pragma once

#include <cstdint>

#include "base/types.hpp"

namespace gpumux::arch {

struct IssueBudget {
  enum class Unit : std::uint8_t {
    WarpInstructions,        // counted at issue: exactly `amount` instructions
    MemoryInstructions,      // load/store instructions, counted at issue; when they are spent,
                             // the kernel issues nothing
    ThreadInstructions,      // active lanes, counted at issue: the last instruction may exceed the budget
    ThreadInstructionsDone,  // active lanes, counted at completion: instructions in
                             // flight may exceed the budget
  };
  /// The treatment of the rest of the budget on a refill. The rest is negative if the budget was exceeded.
  enum class Refill : std::uint8_t {
    Never,
    Anew,         // the rest is dropped
    KeepUnspent,  // the rest is added if positive
    KeepDebt,     // the rest is added if negative
    KeepBoth,
  };
  Unit unit = Unit::WarpInstructions;
  std::uint32_t amount = 0;  // of each refill; 0: unlimited
  /// Refill in the cycle in which all kernels with a budget have spent it. Kernels that have no block on the
  /// SM, or may not issue, do not count.
  Refill all_spent = Refill::Never;
  /// Refill every `epoch` cycles (at least 1) from the setting of the budget on, the first time after
  /// `first_epoch` cycles (0: `epoch`).
  Refill at_epoch = Refill::Never;
  Cycle epoch = 0;
  Cycle first_epoch = 0;
  /// True: a refill when all budgets are spent restarts the epoch.
  bool restarts_epoch = false;
  /// True: the kernel waits while another kernel has some of its budget left, if that kernel has a block on
  /// the SM, may issue, and its budget does not yield (wang17, section 4.5).
  bool yields = false;
  bool operator==(const IssueBudget&) const = default;
};

/// State of a kernel's budget on an SM.
struct IssueBudgetState {
  std::int64_t left = 0;  // at 0 or below, the kernel waits
  std::uint64_t refills = 0;
  Cycle next_epoch = kNever;  // cycle from whose start the next refill at an epoch is in effect
};

}  // namespace gpumux::arch
