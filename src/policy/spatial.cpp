// Spatial multitasking: the SMs are divided evenly among the kernels. With Smart Even (the default), a kernel
// that needs fewer SMs than its share (a small grid, or the end of a grid) gives the rest to the others. With
// `sms`, each application has this many SMs of its own, which its kernels divide evenly. Source: chimera15
// section 4; dai18 section 1 ("Spatial", the plain division).
#include <fmt/core.h>

#include <algorithm>

#include "base/error.hpp"
#include "policy/settings.hpp"
#include "policy/sm_division.hpp"

namespace gpumux::policy {
namespace {

constexpr std::uint32_t kMostSms = 1024;  // of any machine

class Spatial final : public Policy {
 public:
  Spatial(bool smart, std::vector<std::uint32_t> of_apps) : smart_(smart), of_apps_(std::move(of_apps)) {}

  [[nodiscard]] std::string_view needs_all_sms() const override { return "gives SMs to kernels"; }
  void check(const arch::MachineConfig& config, std::size_t apps) const override {
    if (of_apps_.empty()) return;
    if (of_apps_.size() != apps)
      throw UserError(fmt::format("policy spatial: sms= has {} numbers, and there are {} applications",
                                  of_apps_.size(), apps));
    std::uint64_t all = 0;
    for (const std::uint32_t sms : of_apps_) all += sms;
    if (all > config.sms)
      throw UserError(
          fmt::format("policy spatial: sms= gives away {} SMs, and {} has {}", all, config.name, config.sms));
  }
  [[nodiscard]] bool waits_behind(AppId later, AppId grid) const override {
    return of_apps_.empty() || later == grid;
  }
  [[nodiscard]] std::uint32_t most_sms(const arch::MachineConfig& config, AppId app) const override {
    return of_apps_.empty() ? config.sms : of_apps_[app];
  }
  void kernel_arrived(Control& control, const RunningKernel&) override { divide(control); }
  void kernel_ended(Control& control, const RunningKernel&) override { divide(control); }
  // Near the end of a grid the kernel needs fewer SMs; the check costs a few comparisons per ended block.
  void block_ended(Control& control, const RunningKernel& kernel, SmId) override {
    if (kernel.blocks_done < kernel.blocks_total && needed_sms(kernel) < owned_[kernel.slot]) divide(control);
  }
  [[nodiscard]] Needs needs(const View& view) const override {
    return {.block_ends = smart_ && view.kernels().size() > 1};
  }

 private:
  // Divides the SMs of each application among its kernels. The oldest kernels get the remainder.
  [[nodiscard]] std::vector<std::uint32_t> own_shares(const std::vector<RunningKernel>& kernels) const {
    std::vector<std::uint32_t> share(kernels.size(), 0);
    for (std::size_t app = 0; app < of_apps_.size(); ++app) {
      std::vector<std::size_t> own;
      for (std::size_t i = 0; i < kernels.size(); ++i)
        if (kernels[i].app == app) own.push_back(i);
      std::uint32_t left = of_apps_[app];
      for (std::size_t k = 0; k < own.size(); ++k) {
        const auto open = static_cast<std::uint32_t>(own.size() - k);
        share[own[k]] = (left + open - 1) / open;
        left -= share[own[k]];
      }
    }
    return share;
  }

  // Assigns SMs to kernels by a new division. SMs keep their kernel where possible, so that few SMs change
  // hands. A kernel that has to give SMs away keeps the SMs with the most of its blocks, so that little has
  // to drain. (When a kernel ends and its application launches the next at once, the other kernel has not
  // spread yet.)
  void divide(Control& control) {
    const std::vector<RunningKernel>& kernels = control.kernels();
    const std::uint32_t sms = control.config().sms;
    owner_.resize(sms, kNobody);
    const std::vector<std::uint32_t> share =
        of_apps_.empty() ? divide_sms(kernels, sms, smart_) : own_shares(kernels);
    std::vector<std::uint32_t> wanted(arch::kMaxKernelSlots, 0);
    std::vector<KernelSlot> order;
    for (std::size_t i = 0; i < kernels.size(); ++i) {
      wanted[kernels[i].slot] = share[i];
      owned_[kernels[i].slot] = share[i];
      order.push_back(kernels[i].slot);
    }
    const auto resident = [&](std::uint32_t sm) {
      return owner_[sm] == kNobody || wanted[owner_[sm]] == 0
                 ? 0
                 : control.sm(sm).resident_blocks(static_cast<KernelSlot>(owner_[sm]));
    };
    std::vector<std::pair<std::uint32_t, std::uint32_t>> fullest;  // resident blocks, SM
    for (std::uint32_t sm = 0; sm < sms; ++sm) fullest.emplace_back(resident(sm), sm);
    std::stable_sort(fullest.begin(), fullest.end(),
                     [](const auto& a, const auto& b) { return a.first > b.first; });
    for (const auto& [blocks, sm] : fullest) {
      std::uint32_t& owner = owner_[sm];
      if (owner != kNobody && wanted[owner] > 0) {
        --wanted[owner];
      } else {
        owner = kNobody;
      }
    }
    for (const KernelSlot slot : order) {
      for (std::uint32_t& owner : owner_) {
        if (owner == kNobody && wanted[slot] > 0) {
          owner = slot;
          --wanted[slot];
        }
      }
    }
    for (std::uint32_t sm = 0; sm < sms; ++sm) {
      for (const KernelSlot slot : order) {
        control.sm(sm).limit_blocks(slot, owner_[sm] == slot ? kUnlimited : 0);
      }
    }
    control.set_dispatch_order(order);
  }

  bool smart_;
  std::vector<std::uint32_t> of_apps_;  // SMs of each application; empty: divided evenly
  static constexpr std::uint32_t kNobody = 0xffff'ffffU;
  std::vector<std::uint32_t> owner_;  // by SM: kernel slot
  std::vector<std::uint32_t> owned_ = std::vector<std::uint32_t>(arch::kMaxKernelSlots, 0);
};

const bool registered_spatial = register_policy(
    {"spatial",
     "SMs divided evenly among kernels (chimera15, dai18)",
     {{"surplus",
       "SMs of a kernel that needs fewer than its part, being small or near its end: share: they go to the "
       "others (Smart Even); keep: they stay empty [share]"},
      {"sms",
       "SMs of each application, in their order: 12/4; what one does not need stays empty [divided evenly]"}},
     [](const Settings& settings) -> std::unique_ptr<Policy> {
       const SettingReader read("spatial", settings);
       std::vector<std::uint32_t> sms = read.parts("sms", kMostSms);
       const bool smart = read.choice("surplus", "share", {"share", "keep"}) == "share";
       if (!sms.empty() && read.has("surplus"))
         read.fail("sms", "given without surplus: SMs of one application never go to another");
       return std::make_unique<Spatial>(smart && sms.empty(), std::move(sms));
     }});

}  // namespace
}  // namespace gpumux::policy
