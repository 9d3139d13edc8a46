// Warped-Slicer, dynamic: when an unknown kernel arrives, the running kernels are profiled side by side, each
// SM with a different number of blocks of one kernel. Then all SMs are divided at the sweet spot of the
// curves. Source: dai18 section 2.5, which names the parts. The defaults of warm-up, window and scaling
// factor are those of Warped-Slicer.
#include <algorithm>
#include <set>

#include "policy/slicer.hpp"
#include "policy/slicer_samples.hpp"

namespace gpumux::policy {
namespace {

struct DynamicOptions {
  Cycle warmup = 20'000;
  Cycle window = 5'000;
  std::uint32_t patience = 4;
  double weight = 1;
  bool all_points = true;
  bool always = false;
  bool lsu_stall = true;  // stalls on memory: true: of the load/store unit; false: of schedulers
  Slicer::Options slicer;
};

class DynamicSlicer final : public Policy {
 public:
  explicit DynamicSlicer(const DynamicOptions& options) : options_(options), slicer_("ws", options.slicer) {}

  [[nodiscard]] std::string_view needs_all_sms() const override {
    return "samples SMs with different numbers of blocks";
  }
  void kernel_arrived(Control& control, const RunningKernel& kernel) override {
    if (phase_ != Phase::Settled && come_back(control, kernel)) return;
    change(control, options_.always);
  }

  void kernel_ended(Control& control, const RunningKernel& kernel) override {
    if (phase_ == Phase::Settled) {
      change(control, false);
      return;
    }
    // The application may launch the same kernel again at once. In that case the profile continues.
    Member& member = member_of(kernel.slot);
    gather(control, member);
    member.present = false;
    control.set_alarm(control.now() + control.config().runtime.kernel_launch_latency);
  }

  void alarm(Control& control) override {
    if (phase_ == Phase::Settled) return;
    const bool complete =
        std::all_of(members_.begin(), members_.end(), [](const Member& m) { return m.present; });
    if (!complete) {
      change(control, false);
    } else if (control.now() < phase_end_) {
      control.set_alarm(phase_end_);
    } else if (phase_ == Phase::WarmUp) {
      end_warm_up(control);
    } else {
      end_window(control);
    }
  }

  /// The length of a profile: in a profile, each SM serves only the kernel that it samples.
  [[nodiscard]] Cycle longest_wait(const View&) const override {
    if (phase_ == Phase::Settled) return 0;
    return plan_.size() * ((options_.patience + Cycle{1}) * options_.warmup + options_.window);
  }
  [[nodiscard]] Report report(const Probes& control) const override {
    Report report;
    slicer_.report(control, report);
    report.numbers.push_back({"profiles", static_cast<double>(profiles_), {}});
    report.numbers.push_back(
        {"profile_cycles",
         static_cast<double>(profile_cycles_ +
                             (phase_ == Phase::Settled ? 0 : control.now() - profile_begin_)),
         {}});
    for (const auto& [key, curve] : curves_) {
      Report::Curve& told =
          report.curves.emplace_back(Report::Curve{"scaled_ipc_per_sm", key.first, key.second, {}});
      for (std::size_t t = 0; t < curve.size(); ++t)
        told.points.emplace_back(static_cast<double>(t + 1), curve[t]);
    }
    return report;
  }

 private:
  enum class Phase { Settled, WarmUp, Window };

  /// A kernel in a profile.
  struct Member {
    RunningKernel kernel;
    bool present = true;  // false: it has ended
    std::uint32_t most = 0;
    SampledCurve curve;
  };
  /// Progress of the sampled kernel on an SM in this phase.
  struct Progress {
    // `instructions`: thread instructions of launches that ended in this phase; `stalls`: their cycles of LSU
    // stalls. `..._before`: the counters of the present launch at the start of the phase.
    std::uint64_t instructions = 0, instructions_before = 0;
    std::uint64_t stalls = 0, stalls_before = 0;
    arch::SchedulerCounters schedulers;  // at the start of the phase
    std::uint32_t resident = 0;          // blocks of the kernel at that time
    bool clean = true;                   // no blocks of other kernels at that time
  };

  /// Starts a profile or divides the SMs, after the set of kernels has changed. Samples of an unfinished
  /// profile are kept for kernels that have ended, and for kernels that would otherwise be profiled forever.
  void change(Control& control, bool profile_all) {
    if (phase_ != Phase::Settled) abandon(control);
    const std::vector<RunningKernel> kernels = by_application(control.kernels());
    if (kernels.size() < 2) {
      slicer_.stop(control);
      if (!kernels.empty()) give_everything(control, kernels.front());
      return;
    }
    const bool all_known = std::all_of(kernels.begin(), kernels.end(), [this](const RunningKernel& kernel) {
      return curves_.contains(curve_key(kernel));
    });
    if (all_known && !profile_all) {
      divide(control, kernels);
    } else {
      begin_profile(control, kernels);
    }
  }

  void divide(Control& control, const std::vector<RunningKernel>& kernels) {
    std::vector<ScalabilityCurve> curves;
    for (const RunningKernel& kernel : kernels) curves.push_back(curves_.at(curve_key(kernel)));
    slicer_.divide(control, kernels, curves);
  }

  void begin_profile(Control& control, const std::vector<RunningKernel>& kernels) {
    const std::vector<Sharer> all = sharers(control.config(), kernels);
    if (!fit_together(sm_capacity(control.config().sm), all, std::vector<std::uint32_t>(all.size(), 1)))
      throw_too_many("ws", kernels);
    slicer_.stop(control);
    members_.clear();
    std::vector<std::uint32_t> most;
    for (std::size_t i = 0; i < kernels.size(); ++i) {
      most.push_back(all[i].most);
      members_.push_back({kernels[i], true, all[i].most, {}});
    }
    const std::uint32_t sms = control.config().sms;
    plan_ = options_.all_points ? plan_all_points(sms, most) : plan_one_round(sms, most);
    ++profiles_;
    profile_begin_ = control.now();
    begin_round(control, 0);
  }

  void begin_round(Control& control, std::size_t round) {
    round_ = round;
    waited_ = 0;
    place(control);
    begin_phase(control, Phase::WarmUp, options_.warmup);
  }

  /// Gives each SM its sample point of this round.
  void place(Control& control) {
    std::vector<RunningKernel> kernels;
    for (const Member& member : members_)
      if (member.present) kernels.push_back(member.kernel);
    set_partition(control, kernels, std::vector<std::uint32_t>(kernels.size(), 0));
    const std::vector<SamplePoint>& points = plan_[round_];
    for (std::uint32_t sm = 0; sm < points.size(); ++sm) {
      const Member& member = members_[points[sm].kernel];
      if (member.present) control.sm(sm).limit_blocks(member.kernel.slot, points[sm].blocks);
    }
  }

  void begin_phase(Control& control, Phase phase, Cycle length) {
    phase_ = phase;
    phase_begin_ = control.now();
    phase_end_ = control.now() + length;
    control.set_alarm(phase_end_);
    const std::vector<SamplePoint>& points = plan_[round_];
    progress_.assign(points.size(), {});
    for (std::uint32_t s = 0; s < points.size(); ++s) {
      Progress& progress = progress_[s];
      progress.schedulers = control.sm(s).scheduler_counters();
      const Member& member = members_[points[s].kernel];
      if (!member.present) continue;
      progress.instructions_before = control.sm(s).counters(member.kernel.slot).thread_instructions;
      progress.stalls_before = control.sm(s).counters(member.kernel.slot).lsu_stall_cycles;
      progress.resident = control.sm(s).resident_blocks(member.kernel.slot);
      progress.clean = is_clean(control, s, member.kernel.slot);
    }
  }

  static bool is_clean(const Probes& control, std::uint32_t sm, KernelSlot owner) {
    const std::vector<RunningKernel>& kernels = control.kernels();
    return std::all_of(kernels.begin(), kernels.end(), [&](const RunningKernel& kernel) {
      return kernel.slot == owner || control.sm(sm).resident_blocks(kernel.slot) == 0;
    });
  }

  void end_warm_up(Control& control) {
    const std::vector<SamplePoint>& points = plan_[round_];
    for (std::uint32_t sm = 0; sm < points.size() && waited_ < options_.patience; ++sm) {
      if (is_clean(control, sm, members_[points[sm].kernel].kernel.slot)) continue;
      ++waited_;  // blocks of other kernels still run there
      begin_phase(control, Phase::WarmUp, options_.warmup);
      return;
    }
    begin_phase(control, Phase::Window, options_.window);
  }

  void end_window(Control& control) {
    take_samples(control);
    if (round_ + 1 < plan_.size()) {
      begin_round(control, round_ + 1);
      return;
    }
    for (const Member& member : members_) remember(member);
    settle(control);
    divide(control, by_application(control.kernels()));
  }

  /// Adds the samples of this phase so far to the curves of the members.
  void take_samples(Control& control) {
    const Cycle cycles = control.now() - phase_begin_;
    if (cycles == 0) return;
    const std::vector<SamplePoint>& points = plan_[round_];
    std::vector<Sample> samples;
    double blocks = 0;
    for (std::uint32_t s = 0; s < points.size(); ++s) {
      const Progress& progress = progress_[s];
      const Member& member = members_[points[s].kernel];
      std::uint64_t instructions = progress.instructions;
      std::uint64_t stalls = progress.stalls;
      std::uint32_t resident = progress.resident;
      if (member.present) {
        instructions +=
            control.sm(s).counters(member.kernel.slot).thread_instructions - progress.instructions_before;
        stalls += control.sm(s).counters(member.kernel.slot).lsu_stall_cycles - progress.stalls_before;
        resident = std::max(resident, control.sm(s).resident_blocks(member.kernel.slot));
      } else if (resident == 0 && instructions > 0) {
        resident = points[s].blocks;
      }
      // The larger number of blocks counts, because a block may just have made room for the next. No block:
      // the grid has no more.
      if (!progress.clean || resident == 0) continue;
      arch::SchedulerCounters schedulers = control.sm(s).scheduler_counters();
      schedulers.subtract(progress.schedulers);
      samples.push_back({{points[s].kernel, resident},
                         static_cast<double>(instructions) / static_cast<double>(cycles),
                         options_.lsu_stall
                             ? std::min(1.0, static_cast<double>(stalls) / static_cast<double>(cycles))
                             : memory_stall(schedulers)});
      blocks += resident;
    }
    for (const Sample& sample : samples) {
      const double average = blocks / static_cast<double>(samples.size());
      members_[sample.point.kernel].curve.add(sample.point.blocks,
                                              scaled_ipc(sample, average, options_.weight));
    }
  }

  /// The fraction of scheduler cycles in which no warp could issue because of memory: its data or its
  /// pipeline.
  static double memory_stall(const arch::SchedulerCounters& c) {
    std::uint64_t all = 0;
#define GPUMUX_FIELD(field, unit, description) all += c.field;
    GPUMUX_SCHEDULER_COUNTERS(GPUMUX_FIELD)
#undef GPUMUX_FIELD
    return all == 0 ? 0
                    : static_cast<double>(c.scoreboard_memory + c.pipeline_memory) / static_cast<double>(all);
  }

  void remember(const Member& member) { curves_[curve_key(member.kernel)] = member.curve.curve(member.most); }

  void settle(Control& control) {
    profile_cycles_ += control.now() - profile_begin_;
    phase_ = Phase::Settled;
    control.set_alarm(kNever);
  }

  /// Ends an unfinished profile. Samples of an interrupted measurement count. Samples of a warm-up count only
  /// if a kernel's profiles have been interrupted kMostAttempts times.
  void abandon(Control& control) {
    constexpr std::uint32_t kMostAttempts = 4;
    const bool measured = phase_ == Phase::Window;
    bool tired = false;
    for (const Member& member : members_)
      tired = ++attempts_[curve_key(member.kernel)] >= kMostAttempts || tired;
    if (measured || tired) take_samples(control);
    for (const Member& member : members_) {
      const bool enough =
          (measured && !member.present) || attempts_[curve_key(member.kernel)] >= kMostAttempts;
      if (enough && !member.curve.empty()) remember(member);
    }
    settle(control);
  }

  /// Adds what an ended launch did in this phase to the progress of its SMs.
  void gather(const Control& control, const Member& member) {
    const std::vector<SamplePoint>& points = plan_[round_];
    for (std::uint32_t sm = 0; sm < points.size(); ++sm) {
      if (&members_[points[sm].kernel] != &member) continue;
      Progress& progress = progress_[sm];
      const arch::KernelCounters& counters = control.sm(sm).counters(member.kernel.slot);
      progress.instructions += counters.thread_instructions - progress.instructions_before;
      progress.stalls += counters.lsu_stall_cycles - progress.stalls_before;
      progress.stalls_before = 0;
      progress.instructions_before = 0;
    }
  }

  /// True if `kernel` is the next launch of a kernel in the profile whose launch has just ended; it then
  /// takes its place.
  bool come_back(Control& control, const RunningKernel& kernel) {
    for (Member& member : members_) {
      if (member.present || curve_key(member.kernel) != curve_key(kernel)) continue;
      member.kernel = kernel;
      member.present = true;
      place(control);
      return true;
    }
    return false;
  }

  [[nodiscard]] Member& member_of(KernelSlot slot) {
    return *std::find_if(members_.begin(), members_.end(),
                         [slot](const Member& m) { return m.present && m.kernel.slot == slot; });
  }

  DynamicOptions options_;
  Slicer slicer_;
  std::map<CurveKey, ScalabilityCurve> curves_;
  std::map<CurveKey, std::uint32_t> attempts_;
  std::uint64_t profiles_ = 0;
  Cycle profile_cycles_ = 0;

  // The profile in progress.
  Phase phase_ = Phase::Settled;
  std::vector<Member> members_;
  SamplePlan plan_;
  std::size_t round_ = 0;
  std::uint32_t waited_ = 0;
  Cycle profile_begin_ = 0;
  Cycle phase_begin_ = 0;
  Cycle phase_end_ = 0;
  std::vector<Progress> progress_;  // by SM
};

std::unique_ptr<Policy> create_ws(const Settings& settings) {
  const SettingReader read("ws", settings);
  constexpr std::uint64_t kLongest = 1'000'000'000;
  DynamicOptions options;
  options.warmup = read.whole("warmup", options.warmup, 0, kLongest);
  options.window = read.whole("window", options.window, 1, kLongest);
  options.patience = static_cast<std::uint32_t>(read.whole("patience", options.patience, 0, 1000));
  options.weight = read.real("weight", options.weight, 0, 100);
  options.all_points = read.choice("rounds", "auto", {"auto", "1"}) == "auto";
  options.always = read.choice("reprofile", "never", {"never", "always"}) == "always";
  options.lsu_stall = read.choice("stall", "lsu", {"lsu", "scheduler"}) == "lsu";
  options.slicer = Slicer::read(read);
  return std::make_unique<DynamicSlicer>(options);
}

std::vector<std::pair<std::string, std::string>> ws_settings() {
  std::vector<std::pair<std::string, std::string>> all = Slicer::settings();
  all.insert(
      all.begin(),
      {{"warmup", "core cycles before each measurement, 0 to 1000000000 [20000]"},
       {"window", "core cycles of each measurement, 1 to 1000000000 [5000]"},
       {"patience",
        "at most so many warm-ups more while blocks from before run on a sampled SM, 0 to 1000 [4]"},
       {"weight",
        "of the factor that corrects for unequal use of L2 and memory, 0 (not corrected) to 100 [1]"},
       {"stall",
        "cycles stalled on memory, for that factor: lsu: of the load/store unit for want of a resource; "
        "scheduler: of warp schedulers that have no warp to issue because of memory [lsu]"},
       {"rounds",
        "auto: as many as all numbers of blocks need; 1: one, with numbers between interpolated [auto]"},
       {"reprofile",
        "never: a kernel's curve is kept when it is launched again; always: each launch begins a new "
        "profile [never]"}});
  return all;
}

const bool registered_ws = register_policy(
    {"ws",
     "blocks of every SM at the sweet spot of curves sampled at run time (dynamic Warped-Slicer, dai18)",
     ws_settings(), create_ws});

}  // namespace
}  // namespace gpumux::policy
