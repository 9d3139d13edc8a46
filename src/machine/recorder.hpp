// Keeps what happens while a Gpu runs, for those who ask for it: samples of the counters, and when kernels
// and blocks began and ended. It is told of them between windows, and changes nothing.
#pragma once

#include <cstdint>
#include <vector>

#include "arch/series.hpp"
#include "arch/timeline.hpp"
#include "policy/policy.hpp"
#include "workload/stream.hpp"

namespace gpumux::machine {

class Recorder {
 public:
  struct Options {
    Cycle series_interval = 0;  // core cycles; 0: no samples
    unsigned apps = 0;          // of the run
    bool timeline = false;
  };
  Recorder(const Options& options, std::uint32_t block_places);

  [[nodiscard]] unsigned apps() const { return options_.apps; }
  /// The end of the interval that is being simulated; kNever: none is.
  [[nodiscard]] Cycle next_sample() const { return next_sample_; }
  /// `total`: the counters at cycle `now` since the begin of the run. Beyond kMaxSamples none is kept.
  void sample(Cycle now, arch::Series::Sample total);
  /// Throws UserError when there were more intervals than are kept.
  void check_length() const;
  static constexpr std::size_t kMaxSamples = 100'000;  // of some 250 bytes and more
  /// Samples want sample_stalls() as well, just before them.
  [[nodiscard]] bool wants_stalls() const { return options_.timeline && options_.series_interval != 0; }
  /// `total`: cycles that the load/store unit of each SM has stalled since the begin of the run.
  void sample_stalls(Cycle now, const std::vector<std::uint64_t>& total);

  void kernel_arrived(const policy::RunningKernel& kernel, const workload::KernelSource& source,
                      std::uint32_t stream, Cycle submitted);
  /// `place` numbers the block slots of all SMs, `places_per_sm` of each.
  void block_began(const policy::RunningKernel& kernel, std::uint64_t index, std::uint32_t place,
                   std::uint32_t places_per_sm, Cycle begin);
  void block_ended(const policy::RunningKernel& kernel, std::uint32_t place, Cycle end);

  [[nodiscard]] const arch::Series& series() const { return series_; }
  [[nodiscard]] const arch::Timeline& timeline() const { return timeline_; }

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
  struct StallsOfSm {
    std::uint64_t total = 0;      // at the end of the last interval
    std::size_t last = kNoStall;  // its last one
  };
  static constexpr std::size_t kNoStall = ~std::size_t{0};
  std::vector<StallsOfSm> stalls_of_;  // by SM
};

}  // namespace gpumux::machine
