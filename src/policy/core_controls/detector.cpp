#include "policy/core_controls/detector.hpp"

#include <algorithm>
#include <utility>

namespace gpumux::policy {

CoreSampling CoreSampling::read(LevelArguments& arguments) {
  const auto whole = [&](const char* name, std::uint32_t usual, std::uint64_t least, std::uint64_t most) {
    return static_cast<std::uint32_t>(arguments.whole(name, usual, least, most));
  };
  CoreSampling sampling;
  sampling.waves = whole("waves", sampling.waves, 1, 1000);
  sampling.warmup = whole("warmup", sampling.warmup, 0, 100);
  sampling.each = arguments.choice("period", "one", {"one", "each"}) == "each";
  return sampling;
}

Needs CoreDetector::needs(const View&) const {
  return {.windows = phase_ == Phase::Emptying,
          .block_ends = phase_ == Phase::Sampling,
          .dispatch_ends = phase_ != Phase::Resting};
}

void CoreDetector::kernel_arrived(Control& control, const RunningKernel&) { begin_search(control); }

void CoreDetector::kernel_ended(Control& control, const RunningKernel&) {
  if (with_blocks_left(control) != nullptr) return begin_search(control);
  if (phase_ != Phase::Resting) give_up(control);
}

/// Gives the search up, even if other kernels have blocks left: they may have to wait for the end of this
/// kernel.
void CoreDetector::kernel_fully_dispatched(Control& control, const RunningKernel&) {
  over_ = true;
  control.set_alarm(control.now());  // not while blocks are dispatched
}

void CoreDetector::alarm(Control& control) {
  if (over_ && phase_ != Phase::Resting) give_up(control);
}

void CoreDetector::window_ended(Control& control) {
  if (phase_ != Phase::Emptying) return;
  for (std::uint32_t sm = 0; sm < control.config().sms; ++sm)
    if (std::as_const(control).sm(sm).memory_in_flight() != 0) return;
  set_active(control, search_->cores(), SmDuty::Closed);
  begin_sample(control);
  control.set_alarm(control.now());  // because needs() has changed, as in empty() and end_search()
}

void CoreDetector::block_ended(Control& control, const RunningKernel&, SmId sm) {
  if (phase_ != Phase::Sampling || sm >= search_->cores()) return;
  // Blocks that end on an SM in the same window have all left before the first of these calls.
  Holder& holder = holders_[sm];
  if (std::exchange(holder.last, control.now()) != control.now()) holder.together = 0;
  holder.blocks = std::max(holder.blocks, resident(control, sm) + ++holder.together);
  const std::optional<double> ipc = how_.each ? measure_each(control, sm) : measure_together(control);
  if (!ipc) return;
  if (warm_ != 0) {
    --warm_;
    return begin_sample(control);
  }
  sampled_[kernel_].emplace_back(search_->cores(), *ipc);
  search_->sample(*ipc);
  if (search_->found()) {
    end_search(control);
  } else {
    empty(control);
  }
}

std::optional<double> CoreDetector::measure_together(const Control& control) {
  if (!sample_.begun)
    sample_ = {.begun = true, .begin = control.now(), .instructions = instructions(control)};
  if (control.now() == sample_.begin) return std::nullopt;
  ++sample_.ended;
  const auto goes_on = [&] {
    std::uint64_t wave = 0;
    for (std::uint32_t i = 0; i < search_->cores(); ++i) wave += holders_[i].blocks;
    return sample_.ended < how_.waves * wave;
  };
  if (goes_on()) return std::nullopt;
  // SMs on which no block has ended also hold blocks.
  for (std::uint32_t i = 0; i < search_->cores(); ++i)
    holders_[i].blocks = std::max(holders_[i].blocks, resident(control, static_cast<SmId>(i)));
  if (goes_on()) return std::nullopt;
  return static_cast<double>(instructions(control) - sample_.instructions) /
         static_cast<double>(control.now() - sample_.begin);
}

std::optional<double> CoreDetector::measure_each(const Control& control, SmId sm) {
  Holder& holder = holders_[sm];
  if (holder.measured) return std::nullopt;
  if (!holder.own.begun)
    holder.own = {.begun = true, .begin = control.now(), .instructions = instructions(control, sm)};
  if (control.now() == holder.own.begin) return std::nullopt;
  if (++holder.own.ended < std::uint64_t{how_.waves} * holder.blocks) return std::nullopt;
  holder.measured = true;
  holder.ipc = static_cast<double>(instructions(control, sm) - holder.own.instructions) /
               static_cast<double>(control.now() - holder.own.begin);
  double sum = 0;
  for (std::uint32_t i = 0; i < search_->cores(); ++i) {
    if (!holders_[i].measured) return std::nullopt;
    sum += holders_[i].ipc;
  }
  return sum;
}

void CoreDetector::begin_search(Control& control) {
  if (phase_ != Phase::Resting) search_cycles_ += control.now() - search_begin_;
  // A paused SM would hold up the whole grid, and the samples of the other SMs with it.
  if (std::any_of(control.kernels().begin(), control.kernels().end(),
                  [](const RunningKernel& kernel) { return kernel.cooperative; })) {
    phase_ = Phase::Resting;
    return set_active(control, control.config().sms, SmDuty::Serves);
  }
  search_ = make_search_(control.config().sms);
  const RunningKernel* kernel = with_blocks_left(control);
  if (kernel == nullptr) kernel = &control.kernels().back();
  kernel_ = {kernel->app, kernel->name};
  sampled_[kernel_].clear();
  search_begin_ = control.now();
  over_ = false;
  warm_ = how_.warmup;
  ++begun_;
  set_active(control, control.config().sms, SmDuty::Serves);
  begin_sample(control);
}

void CoreDetector::empty(Control& control) {
  phase_ = Phase::Emptying;
  for (std::uint32_t sm = 0; sm < control.config().sms; ++sm) {
    control.set_duty(static_cast<SmId>(sm), SmDuty::Closed);
    control.sm(sm).pause(true);
  }
  control.set_alarm(control.now());
}

void CoreDetector::begin_sample(Control& control) {
  phase_ = Phase::Sampling;
  sample_ = {};
  holders_.assign(control.config().sms, {});
}

void CoreDetector::end_search(Control& control) {
  ++found_;
  found_cores_ += search_->cores();
  found_samples_ += search_->samples();
  phase_ = Phase::Resting;
  search_cycles_ += control.now() - search_begin_;
  set_active(control, search_->cores(), SmDuty::Gated);
  for (std::uint32_t sm = 0; sm < control.config().sms; ++sm) control.sm(sm).pause(false);
  control.set_alarm(control.now());
}

void CoreDetector::give_up(Control& control) {
  phase_ = Phase::Resting;
  search_cycles_ += control.now() - search_begin_;
  set_active(control, control.config().sms, SmDuty::Serves);
}

void CoreDetector::set_active(Control& control, std::uint32_t active, SmDuty others) {
  for (std::uint32_t sm = 0; sm < control.config().sms; ++sm) {
    const auto id = static_cast<SmId>(sm);
    control.set_duty(id, sm < active ? SmDuty::Serves : others);
    control.sm(sm).pause(sm >= active);
  }
}

const RunningKernel* CoreDetector::with_blocks_left(const Control& control) {
  for (const RunningKernel& kernel : control.kernels())
    if (kernel.blocks_dispatched < kernel.blocks_total || kernel.blocks_waiting != 0) return &kernel;
  return nullptr;
}

std::uint64_t CoreDetector::instructions(const Control& control) const {
  std::uint64_t sum = 0;
  for (std::uint32_t sm = 0; sm < search_->cores(); ++sm) sum += instructions(control, static_cast<SmId>(sm));
  return sum;
}

std::uint64_t CoreDetector::instructions(const Control& control, SmId sm) {
  std::uint64_t sum = 0;
  for (const RunningKernel& kernel : control.kernels())
    sum += control.sm(sm).counters(kernel.slot).thread_instructions;
  return sum;
}

std::uint32_t CoreDetector::resident(const Control& control, SmId sm) {
  std::uint32_t sum = 0;
  for (const RunningKernel& kernel : control.kernels()) sum += control.sm(sm).resident_blocks(kernel.slot);
  return sum;
}

Report CoreDetector::report(const Probes& probes) const {
  const auto mean = [this](std::uint64_t sum) {
    return found_ == 0 ? 0 : static_cast<double>(sum) / static_cast<double>(found_);
  };
  const Cycle open = phase_ == Phase::Resting ? 0 : probes.now() - search_begin_;
  Report report;
  report.numbers.push_back({"core_searches", static_cast<double>(begun_), {}});
  report.numbers.push_back({"core_searches_found", static_cast<double>(found_), {}});
  report.numbers.push_back({"core_search_cycles", static_cast<double>(search_cycles_ + open), {}});
  for (const auto& [of, samples] : sampled_)
    if (!samples.empty()) report.curves.push_back({"core_sample_ipc", of.first, of.second, samples});
  if (found_ == 0) return report;
  report.numbers.push_back({"core_search_samples", mean(found_samples_), {}});
  report.numbers.push_back({"active_cores", mean(found_cores_), {}});
  return report;
}

}  // namespace gpumux::policy
