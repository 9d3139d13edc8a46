// Records a Gpu's run on request: samples of the counters, and when kernels and blocks started and ended.
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
    unsigned apps = 0;          // number of applications of the run
    bool timeline = false;
    bool ledger = false;  // the run keeps a ledger
    std::vector<SmId> viewed = {};
  };
  /// `block_places`: block places of all SMs together.
  Recorder(const Options& options, std::uint32_t block_places);

  // policy::Observer
  /// End of the interval that is being simulated; kNever: no samples.
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
  /// Throws UserError if there were more intervals than are kept.
  void kernel_ended(const policy::View&, const policy::RunningKernel& kernel) override;
  /// Ends the last interval, which may be shorter than the others.
  void run_ended(const policy::Probes& probes) override;

  /// Totals of all launches of one kernel. Blocks: completed blocks, their cycles on SMs, and their
  /// instructions. `cycles`: from each launch's first block to the end of its last block, summed over
  /// launches. A launch that still runs counts to the end of the run.
  struct KernelTotals {
    AppId app = 0;
    std::string name;
    workload::BlockResources resources;
    std::uint32_t max_blocks_per_sm = 0;
    std::optional<bool> idempotent;  // set if a mechanism asked for it (Needs::idempotence)
    std::uint64_t launches = 0;      // launches that have arrived
    std::uint64_t blocks = 0, block_cycles = 0, block_instructions = 0;
    Cycle cycles = 0;
  };
  /// In order of first launch.
  [[nodiscard]] const std::vector<KernelTotals>& kernel_totals() const { return totals_; }
  [[nodiscard]] const arch::Series& series() const { return series_; }
  [[nodiscard]] const arch::Timeline& timeline() const { return timeline_; }
  static constexpr std::size_t kMaxSamples = 100'000;  // a sample takes 250 bytes or more
  /// Keeps a sample. `total`: the counters at cycle `now` since the start of the run. Samples
  /// beyond kMaxSamples are dropped.
  void keep(Cycle now, arch::Series::Sample total);
  /// True if the stall cycles of each SM's load/store unit are kept too. keep_stalls() is
  /// called just before keep().
  [[nodiscard]] bool wants_stalls() const { return options_.timeline && options_.series_interval != 0; }
  void keep_stalls(Cycle now, const std::vector<std::uint64_t>& total);
  void check_length() const;

 private:
  static constexpr std::uint32_t kLeftOut = 0xffff'ffffU;
  Options options_;
  arch::Series series_;
  arch::Series::Sample total_;  // counters at the end of the last interval
  Cycle next_sample_ = kNever;
  bool too_many_ = false;
  arch::Timeline timeline_;
  std::vector<std::uint32_t> block_at_;  // by block place: index into the timeline's blocks
  struct Launched {
    std::uint64_t blocks_done = 0;
    Cycle last_end = 0;  // end of the last completed block
  };
  std::vector<Launched> launched_;  // by kernel arrival
  std::vector<KernelTotals> totals_;
  void add(const policy::RunningKernel& kernel, Cycle end);
  std::array<Cycle, arch::kMaxKernelSlots> last_end_{};  // by slot: end of the kernel's last completed block
  struct StallsOfSm {
    std::uint64_t total = 0;      // stall cycles up to the end of the last interval
    std::size_t last = kNoStall;  // index of its last entry in Timeline::stalls
  };
  static constexpr std::size_t kNoStall = ~std::size_t{0};
  std::vector<StallsOfSm> stalls_of_;  // by SM
};

}  // namespace gpumux::machine
