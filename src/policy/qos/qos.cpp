// Policies that keep goals by quotas of thread instructions on every SM, in epochs: naive, with history,
// elastic epochs, rollover, and rollover with time slices. If a quota alone does not help, blocks of an SM
// change hands. Source: wang17 section 3. docs/qos.md lists choices where the paper is silent.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <numeric>
#include <utility>

#include "policy/preemption/cost.hpp"
#include "policy/qos/adjustment.hpp"
#include "policy/qos/progress.hpp"
#include "policy/qos/quotas.hpp"
#include "policy/qos/symmetric.hpp"
#include "policy/settings.hpp"

namespace gpumux::policy {
namespace {

enum class Scheme : std::uint8_t { Naive, History, Elastic, Rollover, RolloverTime };

struct QosSettings {
  Scheme scheme = Scheme::Rollover;
  Cycle epoch = 0;
  bool history = true;
  double most_catch_up = 0;
  double first_ipc = 0;     // artificial goal at first
  bool owed_count = false;  // rollover: others' quotas also count what kernels with goals kept
  bool keeps_debt = false;  // rollover: instructions beyond a quota reduce the next quota
  bool sm_timers = true;    // elastic: each SM has its own ends of epochs
  bool adjusts = true;
  std::uint32_t samples = 0;  // samples of idle warps per epoch
  bool one_at_a_time = true;  // preemptions on the whole machine; false: on each SM
  bool ideal = false;         // blocks are switched in no time
  std::optional<arch::ContextMoves> context;
};

constexpr std::uint32_t kSampleTrigger = 0x905;

class Qos final : public Policy {
 public:
  Qos(std::string name, QosSettings settings) : name_(std::move(name)), settings_(settings) {}

  [[nodiscard]] std::string_view needs_all_sms() const override { return "divides quotas among all SMs"; }
  void use_goals(const std::vector<std::optional<double>>& ipcs) override {
    for (std::size_t app = 0; app < ipcs.size(); ++app) goals_[app] = ipcs[app];
  }
  [[nodiscard]] Needs needs(const View&) const override {
    return {.epoch = settings_.epoch, .block_stops = true};
  }

  void kernel_arrived(Control& control, const RunningKernel& kernel) override {
    start(control);
    progress_.kernel_arrived(control, kernel.app);
    if (last_ipc_[kernel.app] < 0) last_ipc_[kernel.app] = settings_.first_ipc;
    divide(control);
    // The first epoch of the kernel is the rest of the present epoch.
    const double part = static_cast<double>(epoch_end_ - std::min(control.now(), epoch_end_)) /
                        static_cast<double>(settings_.epoch);
    give_quotas(control, kernel.app, part, kernel.slot);
  }
  void kernel_ended(Control& control, const RunningKernel& kernel) override {
    progress_.kernel_ended(control, kernel.app);
    ended_[launch_name(kernel)] = control.now();
    // The unused quota of a kernel with a goal passes to the next kernel of its application.
    for (std::uint32_t sm = 0; rolls(kernel.app) && sm < control.config().sms; ++sm)
      carried_[kernel.app] += rest(probes_of(control, sm).issue_budget(kernel.slot));
  }
  void epoch_ended(Control& control) override {
    progress_.epoch_ended(control);
    epoch_end_ = control.now() - control.now() % settings_.epoch + settings_.epoch;
    ++epochs_;
    if (control.kernels().empty()) return;
    // A kernel that has been gone for an epoch has left. A kernel that ended later may be launched again, and
    // then finds its blocks.
    if (mix_of(control) != mix_) divide(control);
    set_goals();
    for (const AppId app : apps(control)) give_quotas(control, app, 1, {});
    if (settings_.adjusts) adjust(control);
  }
  [[nodiscard]] Report report(const Probes&) const override {
    Report report;
    report.numbers.push_back({"epochs", static_cast<double>(epochs_), {}});
    report.numbers.push_back({"growths", static_cast<double>(growths_), {}});
    report.numbers.push_back({"switched_blocks", static_cast<double>(switched_), {}});
    for (std::size_t app = 0; app < last_ipc_.size(); ++app) {
      if (last_ipc_[app] < 0) continue;
      const auto id = static_cast<AppId>(app);
      if (goals_[app]) {
        report.numbers.push_back({"goal_ipc_of_kernels", *goals_[app], id});
        report.numbers.push_back({"history_ipc", progress_.history_ipc(id), id});
      }
      report.numbers.push_back({"last_quota", static_cast<double>(last_quota_[app]), id});
    }
    return report;
  }

 private:
  using Limits = std::vector<std::uint32_t>;  // blocks of a kernel, by SM
  using Mix = std::vector<std::string>;       // kernels that run together, by application and name

  void start(Control& control) {
    if (started_) return;
    started_ = true;
    epoch_end_ = control.now() - control.now() % settings_.epoch + settings_.epoch;
    if (!settings_.adjusts) return;
    const Cycle period = std::max<Cycle>(settings_.epoch / settings_.samples, 1);
    for (std::uint32_t sm = 0; sm < control.config().sms; ++sm)
      control.sm(sm).arm({.id = kSampleTrigger, .when = arch::Trigger::When::EachPeriod, .cycle = period});
  }

  [[nodiscard]] static const arch::SmProbes& probes_of(const Control& control, std::size_t sm) {
    return control.sm(static_cast<std::uint32_t>(sm));
  }
  [[nodiscard]] bool has_goal(AppId app) const { return goals_[app].has_value(); }
  [[nodiscard]] static std::vector<AppId> apps(const View& view) {
    std::vector<AppId> all;
    for (const RunningKernel& kernel : view.kernels())
      if (std::find(all.begin(), all.end(), kernel.app) == all.end()) all.push_back(kernel.app);
    return all;
  }

  // --- blocks ---------------------------------------------------------------------------------------------
  [[nodiscard]] static std::string launch_name(const RunningKernel& kernel) {
    return fmt::format("{} {}", kernel.app, kernel.name);
  }
  /// A name for each kernel. The next launch of the same kernel gets the same name.
  [[nodiscard]] static Mix names(const std::vector<RunningKernel>& kernels) {
    Mix all;
    std::map<std::string, std::uint32_t> equal;
    for (const RunningKernel& kernel : kernels) {
      const std::string name = launch_name(kernel);
      all.push_back(fmt::format("{} {}", name, equal[name]++));
    }
    return all;
  }
  [[nodiscard]] static Mix mix_of(const View& view) {
    Mix mix = names(by_application(view.kernels()));
    std::sort(mix.begin(), mix.end());
    return mix;
  }

  /// True if the running kernels differ from mix_ only in that some ended less than an epoch ago. These may
  /// be launched again, so the other kernels keep their blocks until then.
  [[nodiscard]] bool lacks_some(const Control& control, const Mix& mix) const {
    if (mix.size() >= mix_.size() || !std::includes(mix_.begin(), mix_.end(), mix.begin(), mix.end()))
      return false;
    Mix missing;
    std::set_difference(mix_.begin(), mix_.end(), mix.begin(), mix.end(), std::back_inserter(missing));
    return std::all_of(missing.begin(), missing.end(), [&](const std::string& name) {
      const auto at = ended_.find(name.substr(0, name.rfind(' ')));
      return at != ended_.end() && at->second + settings_.epoch > control.now();
    });
  }

  /// Sets the block limits. Kernels that have run together before get the limits that they had then.
  void divide(Control& control) {
    const std::vector<RunningKernel> kernels = by_application(control.kernels());
    const Mix own = names(kernels);
    Mix mix = mix_of(control);
    if (!lacks_some(control, mix)) mix_ = std::move(mix);
    std::map<std::string, Limits>& limits = limits_[mix_];
    if (limits.empty()) limits = symmetric(control, kernels, own);
    std::vector<KernelSlot> order;
    for (const RunningKernel& kernel : control.kernels()) order.push_back(kernel.slot);
    for (std::size_t i = 0; i < kernels.size(); ++i) {
      const Limits& of_kernel = limits.at(own[i]);
      for (std::uint32_t sm = 0; sm < of_kernel.size(); ++sm) {
        control.sm(sm).limit_blocks(kernels[i].slot, of_kernel[sm]);
        switch_beyond_limit(control, sm, kernels[i]);
      }
    }
    control.set_dispatch_order(order);
  }

  [[nodiscard]] std::map<std::string, Limits> symmetric(const Control& control,
                                                        const std::vector<RunningKernel>& kernels,
                                                        const Mix& own) const {
    const std::uint32_t sms = control.config().sms;
    const std::vector<Sharer> takes = sharers(control.config(), kernels);
    std::vector<QosSharer> all;
    for (std::size_t i = 0; i < kernels.size(); ++i)
      all.push_back({takes[i], kernels[i].resources.threads, has_goal(kernels[i].app)});
    std::map<std::string, Limits> limits;
    for (const std::string& name : own) limits[name] = Limits(sms, 0);
    for (std::uint32_t sm = 0; sm < sms; ++sm) {
      const std::vector<std::size_t> here = kernels_on(sm, sms, all);
      if (here.empty()) continue;
      std::vector<QosSharer> sharing;
      for (const std::size_t i : here) sharing.push_back(all[i]);
      const auto blocks = symmetric_blocks(sm_capacity(control.config().sm), sharing);
      if (!blocks) throw_too_many(name_, kernels);
      for (std::size_t k = 0; k < here.size(); ++k) limits[own[here[k]]][sm] = (*blocks)[k];
    }
    return limits;
  }

  /// Switches out blocks beyond the limit. Blocks of a cooperative grid stay, because its other blocks would
  /// wait for them.
  void switch_beyond_limit(Control& control, std::uint32_t sm, const RunningKernel& kernel) {
    if (kernel.cooperative) return;
    const arch::SmProbes& probes = probes_of(control, sm);
    std::vector<std::uint32_t> stay;  // oldest first
    for (const arch::ResidentBlock& block : probes.blocks())
      if (block.kernel == kernel.slot && !block.stops) stay.push_back(block.residency);
    for (; stay.size() > probes.block_limit(kernel.slot); stay.pop_back()) {
      control.sm(sm).stop_block(stay.back(), move_of(control, kernel));
      ++switched_;
    }
  }
  [[nodiscard]] arch::ContextMove move_of(const Control& control, const RunningKernel& kernel) const {
    if (settings_.ideal) return {};
    const arch::MachineConfig& config = control.config();
    return context_move(config, kernel.resources, settings_.context.value_or(config.runtime.context_moves),
                        context_cycles(config, context_bytes(config.sm, kernel.resources)));
  }

  /// Lets kernels grow, at the start of an epoch.
  void adjust(Control& control) {
    const std::vector<RunningKernel> kernels = by_application(control.kernels());
    const std::uint32_t sms = control.config().sms;
    std::vector<std::vector<std::uint32_t>> idle(sms);
    std::vector<bool> pending(sms, false);
    for (std::uint32_t sm = 0; sm < sms; ++sm) {
      idle[sm] = idle_blocks(control, sm, kernels);
      for (const arch::ResidentBlock& block : probes_of(control, sm).blocks())
        pending[sm] = pending[sm] || block.stops;
    }
    if (mix_of(control) != mix_) return;  // some kernel is between two launches
    bool some_pending = std::find(pending.begin(), pending.end(), true) != pending.end();
    for (std::uint32_t step = 0; step < sms; ++step) {
      const std::uint32_t sm = (first_sm_ + step) % sms;
      const auto growth =
          next_growth(sm_capacity(control.config().sm), tenants(control, sm, kernels, idle[sm]));
      if (!growth) continue;
      if (growth->victim && (settings_.one_at_a_time ? some_pending : pending[sm])) continue;
      if (growth->victim) {
        some_pending = true;
        first_sm_ = (sm + 1) % sms;  // SMs take turns
      }
      grow(control, sm, kernels, *growth);
    }
  }

  void grow(Control& control, std::uint32_t sm, const std::vector<RunningKernel>& kernels,
            const Growth& growth) {
    std::map<std::string, Limits>& limits = limits_.at(mix_);
    const Mix own = names(kernels);
    const auto set = [&](std::size_t i, std::uint32_t blocks) {
      limits.at(own[i])[sm] = blocks;
      control.sm(sm).limit_blocks(kernels[i].slot, blocks);
    };
    const auto limit = [&](std::size_t i) { return limits.at(own[i])[sm]; };
    ++growths_;
    if (growth.victim) {
      set(*growth.victim, limit(*growth.victim) - growth.blocks);
      switch_beyond_limit(control, sm, kernels[*growth.victim]);
    }
    set(growth.kernel, limit(growth.kernel) + 1);
  }

  [[nodiscard]] std::vector<Tenant> tenants(const Control& control, std::uint32_t sm,
                                            const std::vector<RunningKernel>& kernels,
                                            const std::vector<std::uint32_t>& idle) const {
    const std::map<std::string, Limits>& limits = limits_.at(mix_);
    const Mix own = names(kernels);
    std::vector<Tenant> all;
    for (std::size_t i = 0; i < kernels.size(); ++i) {
      const RunningKernel& kernel = kernels[i];
      const Limits& of_kernel = limits.at(own[i]);
      all.push_back(
          {.demand = block_demand(control.config().sm, kernel.resources),
           .blocks = of_kernel[sm],
           .idle = idle[i],
           .everywhere = std::accumulate(of_kernel.begin(), of_kernel.end(), 0U),
           .has_goal = has_goal(kernel.app),
           .goal = goals_[kernel.app].value_or(0),
           .history = progress_.history_ipc(kernel.app),
           .gives = !kernel.cooperative,
           .has_more = kernel.blocks_dispatched < kernel.blocks_total || kernel.blocks_waiting > 0});
    }
    return all;
  }

  /// Blocks of each kernel that its warps that could issue but did not would fill, as mean since the last
  /// call.
  std::vector<std::uint32_t> idle_blocks(const Control& control, std::uint32_t sm,
                                         const std::vector<RunningKernel>& kernels) {
    std::vector<std::uint32_t> blocks;
    for (const RunningKernel& kernel : kernels) {
      const arch::WarpSamples now = control.sm(sm).warp_samples(kernel.slot);
      auto& [arrival, before] = samples_[{sm, kernel.slot}];
      if (arrival != kernel.arrival) before = {};
      arrival = kernel.arrival;
      const std::uint64_t samples = now.samples - before.samples;
      const std::uint64_t warps = now.idle_warps - before.idle_warps;
      before = now;
      blocks.push_back(samples == 0 ? 0
                                    : static_cast<std::uint32_t>(warps / samples / kernel.resources.warps()));
    }
    return blocks;
  }

  // --- quotas ---------------------------------------------------------------------------------------------
  /// Sets the goals of the epoch that starts, from the epoch that has ended.
  void set_goals() {
    std::vector<GoalProgress> with_goals;
    for (std::size_t app = 0; app < goals_.size(); ++app) {
      const auto id = static_cast<AppId>(app);
      if (!goals_[app] || last_ipc_[app] < 0) continue;
      if (progress_.was_busy(id))
        with_goals.push_back(settings_.owed_count
                                 ? GoalProgress{static_cast<double>(std::max<std::int64_t>(given_[app], 1)) /
                                                    static_cast<double>(settings_.epoch),
                                                1, progress_.epoch_ipc(id)}
                                 : GoalProgress{*goals_[app], catch_up_[app], progress_.epoch_ipc(id)});
      if (settings_.history)
        catch_up_[app] = catch_up(*goals_[app], progress_.history_ipc(id), settings_.most_catch_up);
    }
    const double factor = others_factor(with_goals);
    for (std::size_t app = 0; app < goals_.size(); ++app) {
      const auto id = static_cast<AppId>(app);
      if (!goals_[app] && last_ipc_[app] >= 0 && progress_.was_busy(id))
        last_ipc_[app] = progress_.epoch_ipc(id) * factor;
    }
  }

  /// Gives quotas for `part` of an epoch to the application's kernels; with `only`, sets the budget of this
  /// kernel alone.
  void give_quotas(Control& control, AppId app, double part, std::optional<KernelSlot> only) {
    const std::uint32_t sms = control.config().sms;
    std::vector<const RunningKernel*> kernels;
    for (const RunningKernel& kernel : control.kernels())
      if (kernel.app == app) kernels.push_back(&kernel);
    std::vector<std::uint32_t> blocks;  // by kernel and SM
    std::uint32_t resident = 0;
    for (const RunningKernel* kernel : kernels)
      for (std::uint32_t sm = 0; sm < sms; ++sm)
        resident += blocks.emplace_back(probes_of(control, sm).resident_blocks(kernel->slot));
    for (std::size_t i = 0; i < blocks.size(); ++i) {  // blocks about to arrive
      const RunningKernel& kernel = *kernels[i / sms];
      const bool arrives = only ? kernel.slot == *only : resident == 0;
      if (arrives) blocks[i] = probes_of(control, i % sms).block_limit(kernel.slot);
    }
    const double goal = goals_[app] ? *goals_[app] * catch_up_[app] : last_ipc_[app];
    const std::uint64_t least = goals_[app] ? 1 : kWarpSize * std::uint64_t{std::max(resident, 1U)};
    last_quota_[app] = quota(goal * part, settings_.epoch, least, peak(control.config()));
    if (!only) given_[app] = 0;
    std::uint64_t carried = 0;
    if (carried_[app] > 0 && (only ? kernels.size() == 1 : !kernels.empty()))
      carried = static_cast<std::uint64_t>(std::exchange(carried_[app], 0));
    const std::vector<std::uint64_t> parts = divide_quota(last_quota_[app] + carried, blocks);
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const RunningKernel& kernel = *kernels[i / sms];
      const bool arrives = only && kernel.slot == *only;
      if (!only || arrives)
        set_budget(control, static_cast<std::uint32_t>(i % sms), kernel, parts[i], arrives);
    }
  }
  /// Thread instructions that all SMs can issue in an epoch, at most.
  [[nodiscard]] std::uint64_t peak(const arch::MachineConfig& config) const {
    return settings_.epoch * config.sms * config.sm.schedulers * kWarpSize;
  }

  /// True if unused quota of the application is added to its next quota.
  [[nodiscard]] bool rolls(AppId app) const {
    return has_goal(app) &&
           (settings_.scheme == Scheme::Rollover || settings_.scheme == Scheme::RolloverTime);
  }
  [[nodiscard]] std::int64_t rest(const arch::IssueBudgetState& budget) const {
    return settings_.keeps_debt ? budget.left : std::max<std::int64_t>(budget.left, 0);
  }

  void set_budget(Control& control, std::uint32_t sm, const RunningKernel& kernel, std::uint64_t amount,
                  bool first) {
    using Refill = arch::IssueBudget::Refill;
    const bool own = has_goal(kernel.app);
    const bool elastic = settings_.scheme == Scheme::Elastic;
    // The amount is at least 1, because 0 would mean no budget.
    arch::IssueBudget budget{.unit = arch::IssueBudget::Unit::ThreadInstructionsDone,
                             .amount = static_cast<std::uint32_t>(std::max<std::uint64_t>(amount, 1)),
                             .all_spent = own && !elastic ? Refill::Never : Refill::KeepDebt,
                             .yields = settings_.scheme == Scheme::RolloverTime && !own};
    const arch::IssueBudgetState before = probes_of(control, sm).issue_budget(kernel.slot);
    std::int64_t begins_with = static_cast<std::int64_t>(amount);
    if (elastic && settings_.sm_timers) {
      budget.at_epoch = Refill::Anew;
      budget.epoch = settings_.epoch;
      budget.restarts_epoch = true;
      if (!first && before.next_epoch > control.now() && before.next_epoch != kNever) {
        budget.first_epoch = before.next_epoch - control.now();
        begins_with = before.left;  // the SM's epoch continues
      }
    }
    if (rolls(kernel.app) && !first) begins_with += rest(before);
    given_[kernel.app] += begins_with;
    arch::SmControl& knobs = control.sm(sm);
    knobs.set_issue_budget(kernel.slot, budget);
    if (begins_with != budget.amount)
      knobs.add_issue_budget(kernel.slot, begins_with - static_cast<std::int64_t>(budget.amount));
  }

  std::string name_;
  QosSettings settings_;
  std::array<std::optional<double>, kMaxApps> goals_{};  // by application, as in the arrays below
  Progress progress_;
  std::array<double, kMaxApps> catch_up_ = filled(1.0);
  std::array<double, kMaxApps> last_ipc_ = filled(-1.0);  // artificial goal; negative: no kernel yet
  std::array<std::uint64_t, kMaxApps> last_quota_{};
  std::array<std::int64_t, kMaxApps> carried_{};
  std::array<std::int64_t, kMaxApps> given_{};  // in this epoch on all SMs, including kept quota
  static std::array<double, kMaxApps> filled(double value) {
    std::array<double, kMaxApps> all{};
    all.fill(value);
    return all;
  }

  Mix mix_;                             // the kernels that the block limits in use are for
  std::map<std::string, Cycle> ended_;  // by launch_name()
  std::map<Mix, std::map<std::string, Limits>> limits_;
  struct Sampled {
    std::uint64_t arrival = 0;  // of the kernel
    arch::WarpSamples before;
  };
  std::map<std::pair<std::uint32_t, KernelSlot>, Sampled> samples_;  // by SM
  bool started_ = false;
  Cycle epoch_end_ = 0;
  std::uint32_t first_sm_ = 0;
  std::uint64_t epochs_ = 0, growths_ = 0, switched_ = 0;
};

QosSettings read_settings(const SettingReader& read, Scheme scheme) {
  QosSettings settings;
  settings.scheme = scheme;
  settings.epoch = read.whole("epoch", 10'000, 100, 1'000'000);
  const bool history = scheme != Scheme::Naive;
  const bool rolls_over = scheme == Scheme::Rollover || scheme == Scheme::RolloverTime;
  settings.history = history && read.choice("history", "on", {"on", "off"}) == "on";
  settings.most_catch_up = read.real("most_catch_up", 4, 1, 1000);
  settings.first_ipc = read.real("first_ipc", 1, 0, 100'000);
  settings.owed_count = rolls_over && read.choice("others", "goal", {"goal", "owed"}) == "owed";
  settings.keeps_debt = read.choice("debt", "drop", {"drop", "keep"}) == "keep";
  settings.sm_timers = read.choice("timer", "sm", {"sm", "gpu"}) == "sm";
  settings.adjusts = read.choice("adjust", "on", {"on", "off"}) == "on";
  settings.samples = static_cast<std::uint32_t>(read.whole("samples", 100, 1, 100'000));
  settings.one_at_a_time = read.choice("pending", "gpu", {"gpu", "sm"}) == "gpu";
  settings.ideal = read.choice("preempt", "switch", {"switch", "ideal"}) == "ideal";
  const std::string context = read.choice("context", "machine", {"machine", "traffic", "halt"});
  if (context != "machine")
    settings.context = context == "traffic" ? arch::ContextMoves::Traffic : arch::ContextMoves::Halt;
  return settings;
}

std::vector<std::pair<std::string, std::string>> settings_of(Scheme scheme) {
  std::vector<std::pair<std::string, std::string>> all = {
      {"epoch", "core cycles of an epoch, 100 to 1000000 [10000]"}};
  if (scheme != Scheme::Naive) {
    all.emplace_back("history",
                     "who is behind its goal gets a quota that is greater by goal / reached: on, off [on]");
    all.emplace_back("most_catch_up", "greatest such factor, 1 to 1000 [4]");
  }
  all.emplace_back(
      "first_ipc",
      "thread instructions per cycle that set the first quota of who has no goal, 0 to 100000 [1]");
  if (scheme == Scheme::Rollover || scheme == Scheme::RolloverTime) {
    all.emplace_back(
        "others",
        "quotas of kernels without a goal fall while kernels with a goal are behind: goal: behind "
        "the quota of an epoch; owed: behind this and the quotas that they have kept [goal]");
    all.emplace_back(
        "debt", "what was issued beyond a quota: drop: is forgotten; keep: is taken from the next [drop]");
  }
  if (scheme == Scheme::Elastic)
    all.emplace_back(
        "timer",
        "an epoch that begins early ends: sm: a whole epoch later on that SM; gpu: with that of all "
        "SMs [sm]");
  all.emplace_back("adjust", "blocks change hands on an SM when a goal is missed: on, off [on]");
  all.emplace_back("samples", "of idle warps in an epoch, 1 to 100000 [100]");
  all.emplace_back("pending",
                   "one block's place changes hands at a time on: gpu: the whole GPU; sm: each SM [gpu]");
  all.emplace_back("preempt", "how blocks leave: switch, or ideal: switched in no time [switch]");
  all.emplace_back(
      "context",
      "how contexts move: traffic: through L2 and DRAM; halt: in the time that the estimate says; "
      "machine: as runtime.context_moves says [machine]");
  return all;
}

template <Scheme scheme>
bool add(const char* name, const char* description) {
  static const char* const of = name;
  return register_policy(
      {name, description, settings_of(scheme), [](const Settings& settings) -> std::unique_ptr<Policy> {
         return std::make_unique<Qos>(of, read_settings(SettingReader(of, settings), scheme));
       }});
}

const bool registered_qos =
    add<Scheme::Naive>("qos-naive", "goals by quotas of thread instructions per epoch (wang17)") &&
    add<Scheme::History>("qos-history", "qos-naive, and more for who is behind its goal (wang17)") &&
    add<Scheme::Elastic>("qos-elastic",
                         "qos-history, and the next epoch as soon as all quotas are used (wang17)") &&
    add<Scheme::Rollover>("qos-rollover", "qos-history, and quotas that are not used are kept (wang17)") &&
    add<Scheme::RolloverTime>("qos-rollover-time",
                              "qos-rollover, where others wait until goals' quotas are used (wang17)");

}  // namespace
}  // namespace gpumux::policy
