// The interleaved kernel scheduler: every kernel runs on all SMs, and each kernel has a limit of blocks per
// SM. The limits are computed again whenever a kernel arrives, ends, or dispatches its last block. Source:
// awatramani17 sections 5.4 and 5.5.
#include "policy/interleaved.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "base/error.hpp"
#include "policy/partition_log.hpp"
#include "policy/profiled_curves.hpp"
#include "policy/settings.hpp"

namespace gpumux::policy {

std::optional<std::vector<std::uint32_t>> in_equal_numbers(const SmAmounts& capacity,
                                                           const std::vector<Sharer>& sharers) {
  std::vector<std::uint32_t> blocks(sharers.size(), 1);
  if (!fit_together(capacity, sharers, blocks)) return std::nullopt;
  for (bool grows = true; grows;) {
    grows = false;
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      ++blocks[i];
      if (blocks[i] <= sharers[i].most && fit_together(capacity, sharers, blocks)) {
        grows = true;
      } else {
        --blocks[i];
      }
    }
  }
  return blocks;
}

std::optional<std::vector<std::uint32_t>> brought_down(const SmAmounts& capacity,
                                                       const std::vector<Sharer>& sharers,
                                                       const std::vector<std::uint32_t>& wanted,
                                                       Crowded crowded) {
  std::vector<std::uint32_t> most;
  for (std::size_t i = 0; i < sharers.size(); ++i)
    most.push_back(std::max(std::min(wanted[i], sharers[i].most), 1U));
  if (fit_together(capacity, sharers, most)) return most;
  std::vector<std::uint32_t> blocks(sharers.size(), 1);
  if (!fit_together(capacity, sharers, blocks)) return std::nullopt;
  if (crowded == Crowded::Age) {
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      while (blocks[i] < most[i]) {
        ++blocks[i];
        if (fit_together(capacity, sharers, blocks)) continue;
        --blocks[i];
        break;
      }
    }
    return blocks;
  }
  // The numbers change only at factors n / most[i], so the largest of these factors that fits is the best.
  std::vector<std::uint32_t> best = blocks;
  std::uint64_t best_sum = 0;
  for (const std::uint32_t base : most) {
    for (std::uint32_t n = 1; n <= base; ++n) {
      std::uint64_t sum = 0;
      for (std::size_t i = 0; i < blocks.size(); ++i) {
        blocks[i] =
            std::max<std::uint32_t>(static_cast<std::uint32_t>(std::uint64_t{most[i]} * n / base), 1U);
        sum += blocks[i];
      }
      if (sum <= best_sum || !fit_together(capacity, sharers, blocks)) continue;
      best = blocks;
      best_sum = sum;
    }
  }
  return best;
}

std::uint32_t optimal_blocks(const ScalabilityCurve& curve, double gain) {
  std::size_t t = 0;
  // A point of 0 has no information: the profile's run did not reach the kernel.
  while (t + 1 < curve.size() && (curve[t] <= 0 || curve[t + 1] >= curve[t] * (1 + gain))) ++t;
  return static_cast<std::uint32_t>(t + 1);
}

namespace {

constexpr std::uint32_t kMostBlocks = 64;

struct InterleavedSettings {
  enum class Split : std::uint8_t { Equal, Optimum, Given } split = Split::Equal;
  std::vector<std::uint32_t> limits;  // by application, for Split::Given
  double gain = 0.02;
  Crowded crowded = Crowded::Scale;
  bool turns = true;
  bool gives_rest = true;
};

class Interleaved final : public Policy {
 public:
  using Split = InterleavedSettings::Split;
  Interleaved(InterleavedSettings settings, ProfileRequest request)
      : settings_(std::move(settings)), request_(std::move(request)) {}

  void check(const arch::MachineConfig&, std::size_t apps) const override {
    if (settings_.split == Split::Given && settings_.limits.size() != apps)
      throw UserError(fmt::format("policy interleaved: limits= has {} numbers, and there are {} applications",
                                  settings_.limits.size(), apps));
  }
  [[nodiscard]] ProfileRequest profile_request() const override { return request_; }
  void use_profiles(const std::vector<AppProfile>& profiles) override { curves_.use(profiles); }
  [[nodiscard]] Needs needs(const View& view) const override {
    return {.dispatch_ends = settings_.gives_rest && view.kernels().size() > 1};
  }
  void kernel_arrived(Control& control, const RunningKernel&) override {
    control.set_dispatch_turns(settings_.turns);
    divide(control);
  }
  void kernel_ended(Control& control, const RunningKernel&) override { divide(control); }
  void kernel_fully_dispatched(Control& control, const RunningKernel&) override { divide(control); }

  /// Reports the partition that was in use longest. With split=optimum, also the optimum of each
  /// application's first kernel, and the curves that the optima come from.
  [[nodiscard]] Report report(const Probes& control) const override {
    Report report;
    log_.report(control.now(), report);
    for (const auto& [app, blocks] : optima_)
      report.numbers.push_back({"optimal_blocks_per_sm", static_cast<double>(blocks), app});
    curves_.report(report);
    return report;
  }

 private:
  void divide(Control& control) {
    std::vector<RunningKernel> kernels =
        settings_.crowded == Crowded::Age ? control.kernels() : by_application(control.kernels());
    // A kernel without blocks to dispatch keeps its resident blocks, but takes no part in the division.
    std::erase_if(kernels, [this](const RunningKernel& kernel) {
      return settings_.gives_rest && kernel.blocks_dispatched == kernel.blocks_total &&
             kernel.blocks_waiting == 0;
    });
    const std::vector<std::uint32_t> blocks = blocks_of(control, kernels);
    for (std::uint32_t sm = 0; sm < control.config().sms; ++sm)
      for (std::size_t i = 0; i < kernels.size(); ++i)
        control.sm(sm).limit_blocks(kernels[i].slot, blocks[i]);
    std::vector<KernelSlot> order;
    for (const RunningKernel& kernel : control.kernels()) order.push_back(kernel.slot);
    control.set_dispatch_order(order);
    Partition partition;
    for (std::size_t i = 0; kernels.size() > 1 && i < kernels.size(); ++i)
      partition.parts.push_back({kernels[i].app, kernels[i].name, blocks[i], 0});
    log_.use(control.now(), std::move(partition));
  }

  [[nodiscard]] std::vector<std::uint32_t> blocks_of(const Control& control,
                                                     const std::vector<RunningKernel>& kernels) {
    if (kernels.empty()) return {};
    const SmAmounts capacity = sm_capacity(control.config().sm);
    std::vector<Sharer> all = sharers(control.config(), kernels);
    if (settings_.split == Split::Given)  // the limit counts, whatever the size of the grid
      for (std::size_t i = 0; i < kernels.size(); ++i) all[i].most = kernels[i].max_blocks_per_sm;
    std::vector<std::uint32_t> wanted;
    for (const RunningKernel& kernel : kernels) wanted.push_back(wish(kernel, kernels.size() == 1));
    if (kernels.size() == 1) return wanted;
    const auto blocks = settings_.split == Split::Equal
                            ? in_equal_numbers(capacity, all)
                            : brought_down(capacity, all, wanted, settings_.crowded);
    if (!blocks) throw_too_many("interleaved", kernels);
    return *blocks;
  }

  [[nodiscard]] std::uint32_t wish(const RunningKernel& kernel, bool alone) {
    if (settings_.split == Split::Optimum) {
      const std::uint32_t optimum = optimal_blocks(curves_.of(kernel), settings_.gain);
      optima_.try_emplace(kernel.app, optimum);
      return optimum;
    }
    return alone || settings_.split == Split::Equal ? kUnlimited : settings_.limits[kernel.app];
  }

  InterleavedSettings settings_;
  ProfileRequest request_;
  ProfiledCurves curves_;
  PartitionLog log_;
  std::map<AppId, std::uint32_t> optima_;
};

std::unique_ptr<Policy> create_interleaved(const Settings& settings) {
  const SettingReader read("interleaved", settings);
  InterleavedSettings to;
  to.limits = read.parts("limits", kMostBlocks);
  const bool optimum = read.choice("split", "equal", {"equal", "optimum"}) == "optimum";
  if (optimum && !to.limits.empty()) read.fail("split", "left out beside limits=");
  if (optimum) to.split = InterleavedSettings::Split::Optimum;
  if (!to.limits.empty()) to.split = InterleavedSettings::Split::Given;
  to.gain = read.real("gain", 2, 0, 100) / 100;
  to.crowded = read.choice("crowded", "scale", {"scale", "age"}) == "age" ? Crowded::Age : Crowded::Scale;
  to.turns = read.choice("order", "turns", {"turns", "age"}) == "turns";
  to.gives_rest = read.choice("rest", "give", {"give", "keep"}) == "give";
  if (to.split == InterleavedSettings::Split::Equal && read.has("crowded"))
    read.fail("crowded", "left out where numbers are equal");
  if (!optimum)
    for (const char* key : {"gain", "profile_cycles", "profile"})
      if (read.has(key)) read.fail(key, "left out without split=optimum");
  const ProfileRequest curves = profile_request(read, ProfileRequest::Depth::Curve);
  return std::make_unique<Interleaved>(std::move(to), optimum ? curves : ProfileRequest());
}

const bool registered_interleaved = register_policy(
    {"interleaved",
     "every kernel on all SMs, each up to its number of blocks there (intra-core concurrent kernels, "
     "awatramani17)",
     with_profile_settings(
         {{"split", "equal: as many blocks of each; optimum: each one's optimum alone [equal]"},
          {"limits", "or so many blocks of each application's kernels, in their order, 1 to 64: 4/4"},
          {"gain", "percent, 0 to 100: the optimum is where one more block gains less [2]"},
          {"crowded",
           "where these do not fit together: scale: all by the same factor; age: younger ones have fewer "
           "[scale]"},
          {"order", "turns: an SM takes blocks of the kernels in turn; age: of the oldest first [turns]"},
          {"rest",
           "give: when a kernel's last block is dispatched, the others divide SMs without it; keep: when it "
           "ends [give]"}}),
     create_interleaved});

}  // namespace
}  // namespace gpumux::policy
