// The mechanisms that share the machine and the observers, called at their moments: observers first, then the
// memory scheme, the policy, the core control, the concurrency control and the block scheduler.
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
  /// `choice`: the user's name for all mechanisms together. `machine` must outlive this object. `cores` and
  /// `concurrency` may be null. `window`: most cycles from one meeting to the next; throws UserError if the
  /// epoch of a mechanism is shorter.
  Mechanisms(policy::Control& machine, std::unique_ptr<policy::Policy> policy,
             std::unique_ptr<policy::CoreControl> cores,
             std::unique_ptr<policy::ConcurrencyControl> concurrency,
             std::unique_ptr<policy::BlockScheduler> blocks, const arch::MemoryScheme& memory,
             std::vector<std::shared_ptr<policy::Observer>> observers, Cycle window, std::string choice);

  /// Needs of all mechanisms together.
  [[nodiscard]] const policy::Needs& needs() const { return needs_; }
  [[nodiscard]] policy::BlockScheduler& block_scheduler() { return *blocks_; }
  [[nodiscard]] const std::string& choice() const { return choice_; }
  /// Most SMs that may hold blocks of the application when it runs alone, and most blocks of a kernel per SM.
  [[nodiscard]] std::uint32_t most_sms(AppId app) const;
  [[nodiscard]] std::uint32_t most_blocks() const { return blocks_->most_blocks(); }
  [[nodiscard]] bool waits_behind(AppId later, AppId grid) const {
    return policy_->waits_behind(later, grid);
  }
  /// Cycles after which every mechanism has had time to react to an unchanged situation.
  [[nodiscard]] Cycle patience() const;
  /// How SMs treat memory instructions: the run's scheme, and what the mechanisms need.
  [[nodiscard]] const arch::MemoryScheme& memory() const { return memory_scheme_; }

  // --- time -----------------------------------------------------------------------------------------
  /// Cycle of the next epoch or alarm. A moment that has passed counts as the next cycle.
  [[nodiscard]] Cycle next_moment(Cycle now) const;
  /// True if no mechanism has an epoch or alarm to come.
  [[nodiscard]] bool none_to_come() const;
  [[nodiscard]] bool is_due(Cycle now) const;
  /// Calls the mechanisms that are due. Returns true if the block scheduler was called.
  bool run_due(Cycle now);
  /// The next cycle at which an observer takes a sample.
  [[nodiscard]] Cycle next_sample() const;
  void sample(Cycle now);

  /// Called when the parts have reached the end of a window. Returns true if the block scheduler was called.
  bool window_ended();
  bool triggered(SmId sm, const arch::Fired& fired);

  // --- events --------------------------------------------------------------------------------------------
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
  /// The machine as one mechanism sees it, with the mechanism's own alarm.
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
