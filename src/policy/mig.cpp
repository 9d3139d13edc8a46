// Multi-Instance GPU: each application has an instance with SMs, L2 slices and DRAM channels of its own. An
// instance is a number of the seven compute slices, with the memory slices (of eight) that NVIDIA's profile
// gives it. Source: NVIDIA Multi-Instance GPU User Guide (profiles 1g, 2g, 3g, 4g, 7g of the A100).
#include <fmt/core.h>

#include <array>

#include "base/error.hpp"
#include "policy/settings.hpp"

namespace gpumux::policy {
namespace {

constexpr std::uint32_t kComputeSlices = 7;
constexpr std::uint32_t kMemorySlices = 8;
/// Memory slices of a profile, by its compute slices; 0: there is no such profile.
constexpr std::array<std::uint32_t, kComputeSlices + 1> kMemoryOf = {0, 1, 2, 4, 4, 0, 0, 8};

class Mig final : public Policy {
 public:
  explicit Mig(std::vector<std::uint32_t> slices) : slices_(std::move(slices)) {}

  [[nodiscard]] std::string_view needs_all_sms() const override { return "gives SMs to applications"; }
  [[nodiscard]] bool isolates() const override { return true; }
  void check(const arch::MachineConfig& config, std::size_t apps) const override {
    const std::vector<std::uint32_t> all = slices(apps);
    if (all.size() != apps)
      throw UserError(fmt::format(
          "policy mig: {} instances for {} applications; give each one, as in mig:4/3", all.size(), apps));
    std::uint32_t compute = 0;
    std::uint32_t memory = 0;
    for (const std::uint32_t slices : all) {
      if (kMemoryOf[slices] == 0)
        throw UserError(
            fmt::format("policy mig: an instance of {} slices; there are such of 1, 2, 3, 4 and 7", slices));
      compute += slices;
      memory += kMemoryOf[slices];
    }
    if (compute > kComputeSlices || memory > kMemorySlices)
      throw UserError(
          fmt::format("policy mig: the instances take {} of {} compute slices and {} of {} memory slices "
                      "(1, 2, 3, 4 and 7 compute slices come with 1, 2, 4, 4 and 8)",
                      compute, kComputeSlices, memory, kMemorySlices));
    for (const arch::Instance& instance : instances(config, apps))
      if (instance.sms == 0 || instance.partitions == 0)
        throw UserError(fmt::format(
            "policy mig: {} has {} SMs and {} memory partitions, too few for a slice of this shape",
            config.name, config.sms, config.l2.partitions));
  }
  [[nodiscard]] std::vector<arch::Instance> instances(const arch::MachineConfig& config,
                                                      std::size_t apps) const override {
    std::vector<arch::Instance> instances;
    std::uint32_t sm = 0;
    std::uint32_t partition = 0;
    for (const std::uint32_t slices : this->slices(apps)) {
      const std::uint32_t sms = config.sms * slices / kComputeSlices;
      const std::uint32_t partitions = config.l2.partitions * kMemoryOf[slices] / kMemorySlices;
      instances.push_back({sm, sms, partition, partitions});
      sm += sms;
      partition += partitions;
    }
    instances_ = instances;
    return instances;
  }
  [[nodiscard]] bool waits_behind(AppId later, AppId grid) const override { return later == grid; }
  [[nodiscard]] std::uint32_t most_sms(const arch::MachineConfig& config, AppId app) const override {
    return app < instances_.size() ? instances_[app].sms : config.sms;
  }
  void kernel_arrived(Control& control, const RunningKernel& kernel) override {
    GPUMUX_CHECK(kernel.app < instances_.size());
    serve(control);
  }
  void kernel_ended(Control& control, const RunningKernel&) override { serve(control); }

 private:
  /// Compute slices of each application: as given, or the same for all, as many as possible.
  [[nodiscard]] std::vector<std::uint32_t> slices(std::size_t apps) const {
    if (!slices_.empty()) return slices_;
    return std::vector<std::uint32_t>(apps, apps == 1 ? 7 : apps == 2 ? 3 : apps == 3 ? 2 : 1);
  }
  void serve(Control& control) const {
    const std::vector<arch::Instance>& of = instances_;
    std::vector<KernelSlot> order;
    for (const RunningKernel& kernel : control.kernels()) {
      order.push_back(kernel.slot);
      for (std::uint32_t sm = 0; sm < control.config().sms; ++sm)
        control.sm(sm).limit_blocks(kernel.slot, of[kernel.app].has_sm(sm) ? kUnlimited : 0);
    }
    control.set_dispatch_order(order);
  }

  std::vector<std::uint32_t> slices_;              // compute slices by application; empty: not given
  mutable std::vector<arch::Instance> instances_;  // the machine's division
};

const bool registered_mig = register_policy(
    {"mig",
     "a slice of the machine for each application: SMs, L2 slices, DRAM channels (Multi-Instance GPU)",
     {{"slices",
       "compute slices of each application, in their order, of seven together: mig:4/3 [the same for each]"}},
     [](const Settings& settings) -> std::unique_ptr<Policy> {
       const SettingReader read("mig", settings);
       return std::make_unique<Mig>(read.parts("slices", kComputeSlices));
     },
     "slices"});

}  // namespace
}  // namespace gpumux::policy
