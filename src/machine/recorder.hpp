// Keeps what happens while a Gpu runs, for those who ask for it: samples of the counters, and when kernels
// and blocks began and ended.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "arch/series.hpp"
#include "arch/timeline.hpp"
#include "policy/observer.hpp"

namespace gpumux::machine {

class Recorder final : public policy::Observer {
 public:
  struct Options {
    Cycle series_interval = 0;  // core cycles; 0: no samples
    unsigned apps = 0;          // of the run
    bool timeline = false;
    bool ledger = false;  // the run keeps one
    std::vector<SmId> viewed = {};
  };
  /// `block_places`: of all SMs.
  Recorder(const Options& options, std::uint32_t block_places);

  // policy::Observer
  /// The end of the interval that is being simulated; kNever: none is.
  [[nodiscard]] Cycle next_sample() const override { return next_sample_; }
  void sample(const policy::Probes& probes) override;
  void kernel_arrived(const policy::View&, const policy::RunningKernel& kernel,
                      const policy::Launch& launch) override;
  void block_began(const policy::View&, const policy::RunningKernel& kernel, std::uint64_t index,
                   const policy::BlockPlace& place, Cycle begin) override;
  void block_ended(const policy::View&, const policy::RunningKernel& kernel, const policy::BlockPlace& place,
                   Cycle end) override;
  void block_left(const policy::View&, const policy::RunningKernel& kernel, const policy::BlockPlace& place,
                  Cycle end) override;
  /// Throws UserError when there were more intervals than are kept.
  void kernel_ended(const policy::View&, const policy::RunningKernel& kernel) override;
  /// The last interval may be a short one.
  void run_ended(const policy::Probes& probes) override;

  /// Of all launches of one kernel: blocks that are done, the cycles that they were on SMs, and those from
  /// each launch's first block to its last one's end (of one that runs on: to the run's end).
  struct KernelTotals {
    AppId app = 0;
    std::string name;
    workload::BlockResources resources;
    std::uint32_t max_blocks_per_sm = 0;
    std::optional<bool> idempotent;  // where it was asked (Needs::idempotence)
    std::uint64_t launches = 0;      // that have arrived
    std::uint64_t blocks = 0, block_cycles = 0, block_instructions = 0;
    Cycle cycles = 0;
  };
  /// In the order in which each was first launched.
  [[nodiscard]] const std::vector<KernelTotals>& kernel_totals() const { return totals_; }
  [[nodiscard]] const arch::Series& series() const { return series_; }
  [[nodiscard]] const arch::Timeline& timeline() const { return timeline_; }
  static constexpr std::size_t kMaxSamples = 100'000;  // of some 250 bytes and more
  /// `total`: the counters at cycle `now` since the begin of the run. Beyond kMaxSamples none is kept.
  void keep(Cycle now, arch::Series::Sample total);
  /// Cycles that the load/store unit of each SM has stalled are kept too, just before keep().
  [[nodiscard]] bool wants_stalls() const { return options_.timeline && options_.series_interval != 0; }
  void keep_stalls(Cycle now, const std::vector<std::uint64_t>& total);
  void check_length() const;

 private:
  static constexpr std::uint32_t kLeftOut = 0xffff'ffffU;
  Options options_;
  arch::Series series_;
  arch::Series::Sample total_;  // at the end of the last interval
  Cycle next_sample_ = kNever;
  bool too_many_ = false;
  arch::Timeline timeline_;
  std::vector<std::uint32_t> block_at_;  // by place: index into the timeline's blocks
  struct Launched {
    std::uint64_t blocks_done = 0;
    Cycle last_end = 0;  // of these
  };
  std::vector<Launched> launched_;  // by kernel
  std::vector<KernelTotals> totals_;
  void add(const policy::RunningKernel& kernel, Cycle end);
  std::array<Cycle, arch::kMaxKernelSlots> last_end_{};  // by slot: of its kernel's blocks
  struct StallsOfSm {
    std::uint64_t total = 0;      // at the end of the last interval
    std::size_t last = kNoStall;  // its last one
  };
  static constexpr std::size_t kNoStall = ~std::size_t{0};
  std::vector<StallsOfSm> stalls_of_;  // by SM
};

}  // namespace gpumux::machine
