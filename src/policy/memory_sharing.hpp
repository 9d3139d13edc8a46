// The part of a memory scheme outside the SMs.
#pragma once

#include <array>

#include "arch/memory_scheme.hpp"
#include "policy/mechanism.hpp"

namespace gpumux::policy {

/// Tells the SMs which applications share them. With DMIL's global form (dai18 section 3.3.2), also gives all
/// SMs the limits that the monitored SM has computed.
class MemorySharing final : public Mechanism {
 public:
  explicit MemorySharing(const arch::MemoryScheme& scheme) : scheme_(scheme) {}
  [[nodiscard]] Needs needs(const View&) const override {
    return {.windows = scheme_.limit == arch::MemoryScheme::Limit::DynamicGlobal};
  }
  void kernel_arrived(Control& control, const RunningKernel&) override { share(control); }
  void kernel_ended(Control& control, const RunningKernel&) override { share(control); }
  void window_ended(Control& control) override;

 private:
  static void share(Control& control);

  arch::MemoryScheme scheme_;
  std::array<std::uint32_t, kMaxApps> limits_{};  // by application, in use on all SMs; 0: none yet
};

}  // namespace gpumux::policy
