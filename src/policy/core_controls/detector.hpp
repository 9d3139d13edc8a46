// What core controls have in common that sample the machine with fewer and fewer, or more and more, cores.
// Source: awatramani17 sections 4.4.2.3 to 4.4.2.5.
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

/// How core controls sample.
struct CoreSampling {
  std::uint32_t waves = 4;   // in a sample
  std::uint32_t warmup = 1;  // samples of all cores that are dropped before the first that counts
  bool each = false;         // cores measure by themselves
  /// Options waves=, warmup= and period= of a core control.
  static CoreSampling read(LevelArguments& arguments);
};

/// At the begin of a kernel, and whenever the kernels that run together have changed, all SMs serve and a
/// search begins. Before each further sample all SMs are paused until nothing that they have issued is in
/// flight; then the first ones go on. Their IPC is measured from the end of a block on over so many waves:
/// ends of blocks, as many as they hold together, so that it covers about as many begins as ends where blocks
/// that began together go on together. All have one period: an SM with its own would end it the sooner the
/// faster it has been meanwhile at others' cost. Once the number is found, the others run their blocks to the
/// end and have their power gated, until the next kernel. A search that has not come to an end when a kernel
/// has no block left is given up, and all SMs serve. Beside a cooperative grid all serve, and none is begun.
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
  /// Searches begun, and those that came to an end; of the latter the mean samples and cores; the cycles of
  /// all; and of each kernel's last search a curve, IPC by cores.
  [[nodiscard]] Report report(const Probes&) const override;

 private:
  enum class Phase : std::uint8_t { Resting, Emptying, Sampling };
  struct Sample {
    bool begun = false;
    Cycle begin = 0;
    std::uint64_t instructions = 0;  // of these SMs' kernels before it
    std::uint64_t ended = 0;         // blocks since it began
  };
  struct Holder {  // an SM that is sampled
    std::uint32_t blocks = 0;
    Cycle last = kNever;         // a block ended,
    std::uint32_t together = 0;  // and how many since with it
    Sample own;                  // where cores measure by themselves
    bool measured = false;
    double ipc = 0;
  };

  void begin_search(Control& control);
  /// Asks all SMs to come to rest.
  void empty(Control& control);
  void begin_sample(Control& control);
  void end_search(Control& control);
  void give_up(Control& control);
  /// The first `active` SMs serve; others have this duty.
  static void set_active(Control& control, std::uint32_t active, SmDuty others);
  /// The oldest kernel that has blocks on no SM; nullptr: there is none.
  [[nodiscard]] static const RunningKernel* with_blocks_left(const Control& control);
  /// Of the SMs that are sampled.
  [[nodiscard]] std::uint64_t instructions(const Control& control) const;
  [[nodiscard]] static std::uint64_t instructions(const Control& control, SmId sm);
  /// The sample's IPC, when this end of a block on the SM has completed it: of all cores together, or as the
  /// sum of their own.
  [[nodiscard]] std::optional<double> measure_together(const Control& control);
  [[nodiscard]] std::optional<double> measure_each(const Control& control, SmId sm);
  [[nodiscard]] static std::uint32_t resident(const Control& control, SmId sm);

  MakeSearch make_search_;
  CoreSampling how_;
  std::uint32_t warm_ = 0;  // samples that are yet to be dropped
  Phase phase_ = Phase::Resting;
  std::unique_ptr<CoreSearch> search_;
  Sample sample_;
  std::vector<Holder> holders_;  // by SM
  Cycle search_begin_ = 0;
  bool over_ = false;  // no block is left to dispatch
  // For the report:
  std::uint64_t begun_ = 0, found_ = 0, found_cores_ = 0, found_samples_ = 0;
  Cycle search_cycles_ = 0;
  std::pair<AppId, std::string> kernel_;                                                     // of the search
  std::map<std::pair<AppId, std::string>, std::vector<std::pair<double, double>>> sampled_;  // cores, IPC
};

}  // namespace gpumux::policy
