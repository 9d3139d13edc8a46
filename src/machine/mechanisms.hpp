// What shares the machine, and who watches it, called at their moments: observers, then the memory scheme,
// the policy, the core control, the concurrency control and the block scheduler.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "arch/memory_scheme.hpp"
#include "policy/block_scheduler.hpp"
#include "policy/concurrency_control.hpp"
#include "policy/core_control.hpp"
#include "policy/memory_sharing.hpp"
#include "policy/observer.hpp"
#include "policy/policy.hpp"

namespace gpumux::machine {

class Mechanisms {
 public:
  /// `choice`: what the user calls them all. `machine` has to outlive it. `cores` and `concurrency` may be
  /// none. `window`: cycles from one meeting to the next at most; throws UserError when a mechanism's epoch
  /// is shorter.
  Mechanisms(policy::Control& machine, std::unique_ptr<policy::Policy> policy,
             std::unique_ptr<policy::CoreControl> cores,
             std::unique_ptr<policy::ConcurrencyControl> concurrency,
             std::unique_ptr<policy::BlockScheduler> blocks, const arch::MemoryScheme& memory,
             std::vector<std::shared_ptr<policy::Observer>> observers, Cycle window, std::string choice);

  /// Of all together.
  [[nodiscard]] const policy::Needs& needs() const { return needs_; }
  [[nodiscard]] policy::BlockScheduler& block_scheduler() { return *blocks_; }
  [[nodiscard]] const std::string& choice() const { return choice_; }
  /// SMs that may hold blocks of the application when it is alone, and blocks of a kernel that each may hold.
  [[nodiscard]] std::uint32_t most_sms(AppId app) const;
  [[nodiscard]] std::uint32_t most_blocks() const { return blocks_->most_blocks(); }
  [[nodiscard]] bool waits_behind(AppId later, AppId grid) const {
    return policy_->waits_behind(later, grid);
  }
  /// Cycles after which the mechanisms have had time to react to what has not changed since.
  [[nodiscard]] Cycle patience() const;
  /// What the SMs do about memory instructions: the run's scheme, and what the mechanisms need.
  [[nodiscard]] const arch::MemoryScheme& memory() const { return memory_scheme_; }

  // --- time -----------------------------------------------------------------------------------------
  /// The next epoch or alarm; one that has passed counts as the next cycle.
  [[nodiscard]] Cycle next_moment(Cycle now) const;
  /// Nothing of all mechanisms will ever come by itself.
  [[nodiscard]] bool none_to_come() const;
  [[nodiscard]] bool is_due(Cycle now) const;
  /// Those that are due. True: one was the block scheduler's.
  bool run_due(Cycle now);
  /// The next cycle at which an observer samples.
  [[nodiscard]] Cycle next_sample() const;
  void sample(Cycle now);

  /// The parts have come to the end of a window. True: the block scheduler was called.
  bool window_ended();
  bool triggered(SmId sm, const arch::Fired& fired);

  // --- what happens -----------------------------------------------------------------------------------
  void kernel_arrived(const policy::RunningKernel& kernel, const policy::Launch& launch);
  void kernel_fully_dispatched(const policy::RunningKernel& kernel);
  void kernel_ended(const policy::RunningKernel& kernel);
  void block_began(const policy::RunningKernel& kernel, std::uint64_t index, const policy::BlockPlace& place,
                   Cycle begin);
  void block_ended(const policy::RunningKernel& kernel, const policy::BlockPlace& place, Cycle end);
  void block_left(const policy::RunningKernel& kernel, const policy::BlockPlace& place, Cycle end);
  void run_ended();
  [[nodiscard]] policy::Report report() const;

 private:
  /// The machine as one mechanism sees it: each has an alarm of its own.
  class Seat final : public policy::ForwardingControl {
   public:
    Seat(policy::Control& machine, policy::Mechanism& mechanism)
        : ForwardingControl(machine), mechanism_(mechanism), needs_(mechanism.needs(*this)) {
      if (needs_.epoch != 0) next_epoch_ = needs_.epoch;
    }
    void set_alarm(Cycle cycle) override { alarm_ = cycle; }
    void ask_needs();

    policy::Mechanism& mechanism_;
    policy::Needs needs_;
    Cycle next_epoch_ = kNever;
    Cycle alarm_ = kNever;
  };
  void ask_needs();

  policy::Control& machine_;
  std::string choice_;
  std::unique_ptr<policy::Policy> policy_;
  std::unique_ptr<policy::CoreControl> cores_;
  std::unique_ptr<policy::ConcurrencyControl> concurrency_;
  std::unique_ptr<policy::BlockScheduler> blocks_;
  std::vector<std::shared_ptr<policy::Observer>> observers_;
  arch::MemoryScheme memory_scheme_;
  policy::MemorySharing memory_;
  std::vector<Seat> seats_;
  policy::Needs needs_;
};

}  // namespace gpumux::machine
