// SMK's partition of SMs, for the policies that build on it.
#pragma once

#include <string>
#include <vector>

#include "policy/partition_log.hpp"
#include "policy/sm_share.hpp"

namespace gpumux::policy {

/// SMK-P: the block limits of dominant resource fairness on every SM, computed again whenever a kernel
/// arrives or ends. Source: dai18 sections 1 and 4.
class SmkPartition : public Policy {
 public:
  explicit SmkPartition(std::string name) : name_(std::move(name)) {}
  void kernel_arrived(Control& control, const RunningKernel&) override { divide(control); }
  void kernel_ended(Control& control, const RunningKernel&) override { divide(control); }
  [[nodiscard]] Report report(const Probes& control) const override;

 protected:
  /// Called when the kernels, in order of their applications, have been given new limits.
  virtual void divided(Control&, const std::vector<RunningKernel>&) {}

 private:
  void divide(Control& control);

  std::string name_;
  PartitionLog log_;
};

}  // namespace gpumux::policy
