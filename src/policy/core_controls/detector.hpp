// Common part of core controls that sample the machine with different numbers of cores. Source: awatramani17
// sections 4.4.2.3 to 4.4.2.5.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "policy/core_control.hpp"
#include "policy/core_controls/core_search.hpp"
#include "policy/level_arguments.hpp"

namespace gpumux::policy {

/// Settings of the samples.
struct CoreSampling {
  std::uint32_t waves = 4;   // length of a sample, in waves of blocks
  std::uint32_t warmup = 1;  // samples of all cores that are dropped first
  bool each = false;         // each core measures for itself
  /// Options waves=, warmup= and period= of a core control.
  static CoreSampling read(LevelArguments& arguments);
};

/// Searches for the number of cores (SMs) that should serve.
/// A search starts when a kernel arrives and when the set of running kernels has changed; all SMs then serve.
/// Before each further sample, all SMs are paused until no memory instruction is in flight; then the first
/// SMs continue. A sample measures their IPC over a number of waves, starting when a block ends. A wave is as
/// many ends of blocks as the SMs hold blocks, so that a sample covers about as many starts as ends even if
/// blocks run in step.
/// All SMs have one sample period. With a period of its own, an SM that is faster at the cost of others would
/// end its period sooner.
/// When the search has ended, the other SMs run their blocks to completion and are power gated until the next
/// search. If a kernel has no block left before the search has ended, the search is given up and all SMs
/// serve. While a cooperative grid runs, all SMs serve and no search starts.
class CoreDetector final : public CoreControl {
 public:
  using MakeSearch = std::function<std::unique_ptr<CoreSearch>(std::uint32_t all)>;
  CoreDetector(MakeSearch make_search, CoreSampling sampling)
      : make_search_(std::move(make_search)), how_(sampling) {}

  [[nodiscard]] Needs needs(const View&) const override;
  void kernel_arrived(Control& control, const RunningKernel&) override;
  void kernel_ended(Control& control, const RunningKernel&) override;
  void kernel_fully_dispatched(Control& control, const RunningKernel&) override;
  void block_ended(Control& control, const RunningKernel&, SmId sm) override;
  void window_ended(Control& control) override;
  void alarm(Control& control) override;
  /// Reports the number of searches, the number that ended with a result and the cycles of all searches; of
  /// those with a result, the mean samples and cores; and for each kernel's last search a curve of IPC by
  /// cores.
  [[nodiscard]] Report report(const Probes&) const override;

 private:
  enum class Phase : std::uint8_t { Resting, Emptying, Sampling };
  struct Sample {
    bool begun = false;
    Cycle begin = 0;
    std::uint64_t instructions = 0;  // of these SMs' kernels before the sample
    std::uint64_t ended = 0;         // blocks that ended since the start
  };
  struct Holder {  // an SM that is sampled
    std::uint32_t blocks = 0;
    Cycle last = kNever;         // cycle of the last end of a block
    std::uint32_t together = 0;  // blocks that ended at cycle `last`
    Sample own;                  // the SM's own sample, if cores measure for themselves
    bool measured = false;
    double ipc = 0;
  };

  void begin_search(Control& control);
  /// Pauses all SMs until no memory instruction is in flight.
  void empty(Control& control);
  void begin_sample(Control& control);
  void end_search(Control& control);
  void give_up(Control& control);
  /// Lets the first `active` SMs serve; other SMs get the duty `others`.
  static void set_active(Control& control, std::uint32_t active, SmDuty others);
  /// The oldest kernel with blocks that are not on an SM yet; nullptr if there is none.
  [[nodiscard]] static const RunningKernel* with_blocks_left(const Control& control);
  /// Thread instructions of the running kernels on the SMs that are sampled.
  [[nodiscard]] std::uint64_t instructions(const Control& control) const;
  [[nodiscard]] static std::uint64_t instructions(const Control& control, SmId sm);
  /// The IPC of all sampled cores together, if this end of a block has completed the sample; else nothing.
  [[nodiscard]] std::optional<double> measure_together(const Control& control);
  [[nodiscard]] std::optional<double> measure_each(const Control& control, SmId sm);
  [[nodiscard]] static std::uint32_t resident(const Control& control, SmId sm);

  MakeSearch make_search_;
  CoreSampling how_;
  std::uint32_t warm_ = 0;  // samples still to be dropped
  Phase phase_ = Phase::Resting;
  std::unique_ptr<CoreSearch> search_;
  Sample sample_;
  std::vector<Holder> holders_;  // by SM
  Cycle search_begin_ = 0;
  bool over_ = false;  // no block is left to dispatch
  // For the report.
  std::uint64_t begun_ = 0, found_ = 0, found_cores_ = 0, found_samples_ = 0;
  Cycle search_cycles_ = 0;
  std::pair<AppId, std::string> kernel_;                                                     // of the search
  std::map<std::pair<AppId, std::string>, std::vector<std::pair<double, double>>> sampled_;  // cores, IPC
};

}  // namespace gpumux::policy
