// Time slices: all SMs serve one application at a time, in turn, for one slice each. SMs are taken from the
// application's blocks by context switch, draining, flushing, or the cheapest of these; the application's
// kernels divide the SMs evenly. Drivers share a GPU this way between processes that do not use MPS. Source
// of the techniques: chimera15 section 2.2.
// A slice starts when its application has all SMs. The slice is extended by the estimated time to restore
// contexts, and again while a block still waits for its context. Otherwise, a slice that is short compared
// with the restores would make no progress.
#include <algorithm>
#include <bit>

#include "policy/preemption/preemptive_policy.hpp"
#include "policy/sm_division.hpp"

namespace gpumux::policy {
namespace {

class TimeSlice final : public PreemptivePolicy {
 public:
  TimeSlice(arch::Duration slice, PreemptionSettings settings)
      : PreemptivePolicy(std::move(settings)), slice_(std::move(slice)) {}

  [[nodiscard]] bool waits_behind(AppId later, AppId grid) const override { return later == grid; }
  /// Two rounds of all applications that have a kernel: one of slices, and about as long again for moving
  /// contexts.
  [[nodiscard]] Cycle longest_wait(const View& view) const override {
    std::uint32_t apps = 0;
    for (const RunningKernel& kernel : view.kernels()) apps |= std::uint32_t{1} << kernel.app;
    return 2 * static_cast<Cycle>(std::popcount(apps)) * slice_.cycles(view.config());
  }
  void kernel_arrived(Control& control, const RunningKernel& kernel) override {
    if (!running_) begin(kernel.app);
    share(control);
  }
  void kernel_ended(Control& control, const RunningKernel& kernel) override {
    scheduler_.kernel_ended(control, kernel);
    if (running_ && !has_kernel(control, *running_)) next(control);
    share(control);
  }
  [[nodiscard]] Report report(const Probes& control) const override {
    Report report = PreemptivePolicy::report(control);
    report.numbers.push_back({"slices", static_cast<double>(slices_), {}});
    return report;
  }

 private:
  void turn(Control& control) override {
    if (restores(control)) {  // memory was slower than estimated
      set_turn(control.now() + slice_.cycles(control.config()));
      set_alarm(control);
      return;
    }
    next(control);
    share(control);
  }
  void handed_over(Control& control) override {
    if (!begins_ || !running_ || scheduler_.under_way()) return;
    begins_ = false;
    double restore = 0;
    for (const RunningKernel& kernel : control.kernels())
      if (kernel.app == running_ && kernel.blocks_waiting > 0)
        restore = std::max(restore, scheduler_.restore_cycles(control, kernel));
    set_turn(control.now() + slice_.cycles(control.config()) + static_cast<Cycle>(restore));
    set_alarm(control);
  }
  /// True if a resident block still waits for its context: such a block has had nothing of the slice yet.
  static bool restores(const Control& control) {
    for (std::uint32_t sm = 0; sm < control.config().sms; ++sm)
      for (const arch::ResidentBlock& block : control.sm(sm).blocks())
        if (block.restores) return true;
    return false;
  }
  static bool has_kernel(const Control& control, AppId app) {
    return std::any_of(control.kernels().begin(), control.kernels().end(),
                       [app](const RunningKernel& kernel) { return kernel.app == app; });
  }
  void begin(AppId app) {
    running_ = app;
    ++slices_;
    begins_ = true;
    set_turn(kNever);
  }
  /// Selects the next application with a kernel after the running one, in the order of the command line.
  void next(Control& control) {
    const AppId last = running_.value_or(0);
    running_.reset();
    set_turn(kNever);
    for (std::uint32_t step = 1; step <= kMaxApps; ++step) {
      const auto app = static_cast<AppId>((last + step) % kMaxApps);
      if (!has_kernel(control, app)) continue;
      begin(app);
      return;
    }
  }
  void divide(Control& control) override {
    std::vector<RunningKernel> own;
    for (const RunningKernel& kernel : control.kernels())
      if (kernel.app == running_) own.push_back(kernel);
    const std::vector<std::uint32_t> of_own = divide_sms(own, control.config().sms, true);
    std::vector<std::uint32_t> shares;
    for (const RunningKernel& kernel : control.kernels())
      shares.push_back(kernel.app == running_
                           ? of_own[static_cast<std::size_t>(
                                 std::find_if(own.begin(), own.end(),
                                              [&](const RunningKernel& k) { return k.slot == kernel.slot; }) -
                                 own.begin())]
                           : 0);
    scheduler_.assign(control, shares);
  }

  arch::Duration slice_;
  std::optional<AppId> running_;
  bool begins_ = false;  // the slice has not started
  std::uint64_t slices_ = 0;
};

const bool registered_time_slice = register_policy(
    {"time-slice", "all SMs to one application at a time, in turn, taken by preemption",
     with_preemption_settings({{"slice", "time of each turn: 100us, or core cycles [100us]"}}, "switch"),
     [](const Settings& settings) -> std::unique_ptr<Policy> {
       const SettingReader read("time-slice", settings);
       return std::make_unique<TimeSlice>(read.duration("slice", {100, "us"}),
                                          preemption_settings(read, "switch"));
     }});

}  // namespace
}  // namespace gpumux::policy
