// Perf-Sat: each SM searches for the number of blocks of a kernel at which it stalls least. Source:
// awatramani17 section 4.3.2.
#include <algorithm>

#include "policy/block_schedulers/saturation.hpp"
#include "policy/block_schedulers/throttle.hpp"
#include "policy/level_arguments.hpp"

namespace gpumux::policy {
namespace {

struct PerfSatSettings {
  Cycle look = 100;           // interval of checks whether an SM holds the blocks to be sampled
  std::uint32_t changes = 3;  // changes of direction, at most
};

class PerfSat final : public Throttle {
 public:
  explicit PerfSat(PerfSatSettings settings) : settings_(settings) {}
  [[nodiscard]] Needs needs(const View&) const override {
    return {.block_ends = searches_under_way(), .dispatch_ends = searches_under_way()};
  }
  void kernel_arrived(Control& control, const RunningKernel& kernel) override {
    Throttle::kernel_arrived(control, kernel);
    for (std::uint32_t sm = 0; sm < control.config().sms; ++sm) {
      const auto id = static_cast<SmId>(sm);
      searches_.insert_or_assign({id, kernel.slot}, Search(share(id, kernel.slot).most, settings_.changes));
    }
    look_at_limits(control);
  }
  void kernel_ended(Control& control, const RunningKernel& kernel) override {
    end_of(kernel.slot);
    look_at_limits(control);
  }
  void kernel_fully_dispatched(Control&, const RunningKernel& kernel) override { end_of(kernel.slot); }
  /// Sets the length of a sample from the first block of the kernel that ends on this SM.
  void block_ended(Control& control, const RunningKernel& kernel, SmId sm) override {
    const Cycle one_block = ended_block(kernel).cycles;
    const auto at = searches_.find({sm, kernel.slot});
    if (one_block == 0 || at == searches_.end() || at->second.over() || at->second.period != 0) return;
    Search& search = at->second;
    search.one_block = one_block;
    search.period = one_block * share(sm, kernel.slot).most;
    begin_if_full(control, sm, kernel.slot, search);
    set_next(control);
  }
  void alarm(Control& control) override {
    look_at_limits(control);
    for (auto& [at, search] : searches_) {
      if (search.over() || search.period == 0) continue;
      if (search.end == kNever) {
        begin_if_full(control, at.first, at.second, search);
      } else if (search.end <= control.now()) {
        search.of.sample(stalls(control, at.first) - search.stalls_before);
        share(at.first, at.second).blocks = search.of.blocks();
        search.end = kNever;
        if (!search.over()) begin_if_full(control, at.first, at.second, search);
      }
    }
    set_next(control);
  }
  [[nodiscard]] Report report(const Probes& probes) const override {
    Report report = Throttle::report(probes);
    double samples = 0;
    double found = 0;
    double all = 0;
    for (const auto& [at, search] : searches_) {
      if (search.one_block == 0) continue;
      samples += search.of.samples();
      found += search.of.found() ? 1 : 0;
      ++all;
    }
    report.numbers.push_back({"perf_sat_samples_per_sm", all == 0 ? 0 : samples / all, {}});
    report.numbers.push_back({"perf_sat_found_share", all == 0 ? 0 : found / all, {}});
    return report;
  }

 private:
  struct Search {
    Search(std::uint32_t most, std::uint32_t changes) : of(most, changes) {}
    SaturationSearch of;
    bool ended = false;   // no more blocks in the grid, so no more samples
    Cycle one_block = 0;  // cycles of the first block that ended on this SM
    Cycle period = 0;     // length of a sample in cycles; 0: not known yet
    Cycle end = kNever;   // end of the sample in progress
    std::uint64_t stalls_before = 0;
    [[nodiscard]] bool over() const { return ended || of.found(); }
  };

  [[nodiscard]] std::uint32_t first_blocks(std::uint32_t most) const override { return (most + 1) / 2; }
  [[nodiscard]] bool searches_under_way() const {
    return std::any_of(searches_.begin(), searches_.end(),
                       [](const auto& entry) { return !entry.second.over(); });
  }
  void end_of(KernelSlot kernel) {
    for (auto& [at, search] : searches_)
      if (at.second == kernel) search.ended = true;
  }
  /// Restarts the searches on SMs whose limit a policy has changed.
  void look_at_limits(Control& control) {
    for (const RunningKernel& kernel : control.kernels()) {
      for (std::uint32_t sm = 0; sm < control.config().sms; ++sm) {
        const auto id = static_cast<SmId>(sm);
        const auto at = searches_.find({id, kernel.slot});
        const std::uint32_t room = room_for(control, id, kernel);
        Share& of = share(id, kernel.slot);
        if (at == searches_.end() || at->second.ended || of.most == room) continue;
        Search search(room, settings_.changes);
        search.one_block = at->second.one_block;
        search.period = search.one_block * room;
        of.most = room;
        of.blocks = search.of.blocks();
        at->second = search;
      }
    }
    set_next(control);
  }
  /// Scoreboard and pipeline stalls of all schedulers of the SM (section 4.3.1.3).
  [[nodiscard]] static std::uint64_t stalls(const Control& control, SmId sm) {
    const arch::SchedulerCounters cycles = control.sm(sm).scheduler_counters();
    return cycles.scoreboard_memory + cycles.scoreboard_alu + cycles.pipeline_memory + cycles.pipeline_alu;
  }
  static void begin_if_full(const Control& control, SmId sm, KernelSlot kernel, Search& search) {
    const arch::SmProbes& probes = control.sm(sm);
    const std::uint32_t wanted = std::min(search.of.blocks(), probes.block_limit(kernel));
    if (wanted == 0 || probes.resident_blocks(kernel) != wanted) return;
    search.stalls_before = stalls(control, sm);
    search.end = control.now() + search.period;
  }
  void set_next(Control& control) const {
    Cycle next = kNever;
    for (const auto& [at, search] : searches_)
      if (!search.over() && search.period != 0)
        next = std::min(next, search.end == kNever ? control.now() + settings_.look : search.end);
    control.set_alarm(next);
  }

  PerfSatSettings settings_;
  std::map<std::pair<SmId, KernelSlot>, Search> searches_;
};

std::unique_ptr<BlockScheduler> create_perf_sat(const std::string& argument) {
  LevelArguments read("blocks", "perf-sat", argument);
  PerfSatSettings settings;
  settings.look = read.whole("look", settings.look, 1, 1'000'000);
  settings.changes = static_cast<std::uint32_t>(read.whole("changes", settings.changes, 0, 1000));
  read.done();
  return std::make_unique<PerfSat>(settings);
}

const bool registered_perf_sat = register_block_scheduler(
    {"perf-sat", "each SM looks for the number of blocks at which it stalls least (awatramani17)",
     "look=100/changes=3: core cycles between two looks whether an SM holds as many blocks as are to be "
     "sampled; changes of direction at most, one more ends the search",
     create_perf_sat, "look=100"});

}  // namespace
}  // namespace gpumux::policy
