// Sets of warp-instruction quotas: a kernel that has used up its own waits until every other has, then all
// get the next set. Source: SMK's warp-instruction quotas, dai18 section 4.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "arch/messages.hpp"

namespace gpumux::sm {

/// Of one SM. Who takes part in a refill is its user's matter.
class IssueQuota {
 public:
  /// Some kernel has a quota.
  [[nodiscard]] bool active() const { return limited_ != 0; }
  /// Kernels with a quota, and those of them that have used it up, by slot as bits.
  [[nodiscard]] std::uint32_t limited() const { return limited_; }
  [[nodiscard]] std::uint32_t spent() const { return spent_; }
  [[nodiscard]] bool spent(arch::KernelSlot kernel) const { return (spent_ >> kernel & 1U) != 0; }

  /// Warp instructions of each set, and a first set at once; 0: no limit.
  void set(arch::KernelSlot kernel, std::uint32_t instructions) {
    const std::uint32_t bit = std::uint32_t{1} << kernel;
    limited_ = instructions > 0 ? limited_ | bit : limited_ & ~bit;
    spent_ &= ~bit;
    set_[kernel] = left_[kernel] = instructions;
  }
  /// One instruction was issued. True when it was the last of the kernel's set.
  bool spend(arch::KernelSlot kernel) {
    const std::uint32_t bit = std::uint32_t{1} << kernel;
    if ((limited_ & bit) == 0 || --left_[kernel] > 0) return false;
    spent_ |= bit;
    return true;
  }
  /// The next set for every kernel; what is left of the last one is lost.
  void refill() {
    for (std::uint32_t k = limited_; k != 0; k &= k - 1) {
      const auto kernel = static_cast<std::size_t>(std::countr_zero(k));
      left_[kernel] = set_[kernel];
    }
    spent_ = 0;
  }

 private:
  std::uint32_t limited_ = 0;
  std::uint32_t spent_ = 0;
  std::array<std::uint32_t, arch::kMaxKernelSlots> set_{};
  std::array<std::uint32_t, arch::kMaxKernelSlots> left_{};
};

}  // namespace gpumux::sm
