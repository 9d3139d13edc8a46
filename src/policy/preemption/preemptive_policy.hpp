// Base of policies that take SMs from blocks. The policy says how many SMs each kernel should have whenever
// the division may have changed; the kernel scheduler carries it out.
#pragma once

#include <algorithm>
#include <utility>

#include "policy/preemption/kernel_scheduler.hpp"

namespace gpumux::policy {

class PreemptivePolicy : public Policy {
 public:
  explicit PreemptivePolicy(PreemptionSettings settings) : scheduler_(std::move(settings)) {}

  [[nodiscard]] std::string_view needs_all_sms() const override { return "gives SMs to kernels"; }
  void kernel_arrived(Control& control, const RunningKernel&) override { share(control); }
  void kernel_ended(Control& control, const RunningKernel& kernel) override {
    scheduler_.kernel_ended(control, kernel);
    share(control);
  }
  void alarm(Control& control) final {
    scheduler_.limits_passed(control);
    if (control.now() >= turn_at_) {
      turn_at_ = kNever;
      turn(control);
    }
    set_alarm(control);
  }
  void block_ended(Control& control, const RunningKernel&, SmId sm) override { block_gone(control, sm); }
  void block_left(Control& control, const RunningKernel&, SmId sm) override { block_gone(control, sm); }
  [[nodiscard]] Needs needs(const View& view) const override { return scheduler_.needs(view); }
  [[nodiscard]] Report report(const Probes& control) const override {
    Report report;
    scheduler_.report(control, report);
    return report;
  }

 protected:
  /// Computes the division and calls scheduler_.assign().
  virtual void divide(Control& control) = 0;
  /// Sets the cycle at which, or soon after which, turn() is called.
  void set_turn(Cycle at) { turn_at_ = at; }
  virtual void turn(Control&) {}
  /// Called when an SM may have been handed over.
  virtual void handed_over(Control&) {}
  void block_gone(Control& control, SmId sm) {
    scheduler_.block_gone(control, sm);
    handed_over(control);
  }
  /// Divides the SMs again, and sets the alarm that the division requires.
  void share(Control& control) {
    divide(control);
    handed_over(control);
    set_alarm(control);
  }
  KernelScheduler scheduler_;
  void set_alarm(Control& control) { control.set_alarm(std::min(turn_at_, scheduler_.next_limit(control))); }

 private:
  Cycle turn_at_ = kNever;
};

/// A policy whose shares follow the needs of kernels (sm_division.hpp). Near the end of a grid its need
/// falls.
class NeedDrivenPolicy : public PreemptivePolicy {
 public:
  using PreemptivePolicy::PreemptivePolicy;
  void block_ended(Control& control, const RunningKernel& kernel, SmId sm) override;
};

}  // namespace gpumux::policy
