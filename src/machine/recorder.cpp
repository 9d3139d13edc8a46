#include "machine/recorder.hpp"

#include <algorithm>
#include <utility>

#include "base/error.hpp"

namespace gpumux::machine {
Recorder::Recorder(const Options& options, std::uint32_t block_places) : options_(options) {
  series_.interval = options.series_interval;
  if (options.series_interval != 0) next_sample_ = options.series_interval;
  total_ = arch::CounterTable(options.apps, options.ledger, options.viewed);
  if (options.timeline) block_at_.assign(block_places, kLeftOut);
}

void Recorder::sample(const policy::Probes& probes) {
  if (wants_stalls()) {
    std::vector<std::uint64_t> stalls;
    for (std::uint32_t sm = 0; sm < probes.config().sms; ++sm) stalls.push_back(probes.lsu_stalls(sm));
    keep_stalls(probes.now(), stalls);
  }
  keep(probes.now(), probes.counter_table(options_.apps));
}

void Recorder::run_ended(const policy::Probes& probes) {
  if (series_.interval != 0 && series_.end < probes.now()) sample(probes);
  for (const policy::RunningKernel& kernel : probes.kernels()) add(kernel, probes.now());
  check_length();
}

void Recorder::keep(Cycle now, arch::Series::Sample total) {
  if (series_.samples.size() == kMaxSamples) {  // the error is thrown when a kernel ends: until
                                                // then the run may be endless
    too_many_ = true;
    next_sample_ = kNever;
    return;
  }
  arch::Series::Sample added = total;
  added.subtract(total_);
  series_.samples.push_back(std::move(added));
  series_.end = now;
  total_ = std::move(total);
  next_sample_ = now + series_.interval;
}

void Recorder::check_length() const {
  if (!too_many_) return;
  throw UserError(fmt::format("series {}: the run has more than {} intervals; choose longer ones",
                              series_.interval, kMaxSamples));
}

void Recorder::keep_stalls(Cycle now, const std::vector<std::uint64_t>& total) {
  const Cycle begin = series_.end;
  stalls_of_.resize(total.size());
  for (std::size_t sm = 0; sm < total.size(); ++sm) {
    StallsOfSm& of = stalls_of_[sm];
    const std::uint64_t stalled = total[sm] - of.total;
    of.total = total[sm];
    if (static_cast<double>(stalled) <= arch::Timeline::kStallShare * static_cast<double>(now - begin))
      continue;
    if (of.last == kNoStall || timeline_.stalls[of.last].end != begin) {
      of.last = timeline_.stalls.size();
      timeline_.stalls.push_back({static_cast<SmId>(sm), begin, begin, 0});
    }
    timeline_.stalls[of.last].end = now;
    timeline_.stalls[of.last].cycles += stalled;
  }
}

void Recorder::kernel_arrived(const policy::View&, const policy::RunningKernel& kernel,
                              const policy::Launch& launch) {
  const auto same = [&](const KernelTotals& of) { return of.app == kernel.app && of.name == kernel.name; };
  auto of = std::find_if(totals_.begin(), totals_.end(), same);
  if (of == totals_.end())
    of = totals_.insert(
        of, {kernel.app, kernel.name, kernel.resources, kernel.max_blocks_per_sm, kernel.idempotent});
  ++of->launches;
  last_end_[kernel.slot] = 0;
  if (!options_.timeline) return;
  GPUMUX_CHECK(kernel.arrival == timeline_.kernels.size());
  timeline_.kernels.push_back({kernel.name, kernel.app, launch.stream, launch.grid, launch.block,
                               launch.submitted, kernel.arrival_cycle, kNever, kNever});
  launched_.emplace_back();
}

void Recorder::block_began(const policy::View&, const policy::RunningKernel& kernel, std::uint64_t index,
                           const policy::BlockPlace& place, Cycle begin) {
  if (!options_.timeline) return;
  arch::Timeline::Kernel& launch = timeline_.kernels[kernel.arrival];
  launch.first_block = std::min(launch.first_block, begin);
  if (timeline_.blocks.size() == arch::Timeline::kMaxBlocks) {
    ++timeline_.blocks_left_out;
    block_at_[place.number] = kLeftOut;
    return;
  }
  block_at_[place.number] = static_cast<std::uint32_t>(timeline_.blocks.size());
  timeline_.blocks.push_back(
      {static_cast<std::uint32_t>(kernel.arrival), index, place.sm, place.slot, begin, kNever});
}

void Recorder::block_left(const policy::View&, const policy::RunningKernel&, const policy::BlockPlace& place,
                          Cycle end) {
  if (!options_.timeline) return;
  const std::uint32_t block = block_at_[place.number];
  if (block != kLeftOut) timeline_.blocks[block].end = end;
}

void Recorder::kernel_ended(const policy::View&, const policy::RunningKernel& kernel) {
  check_length();
  add(kernel, last_end_[kernel.slot]);
  if (!options_.timeline) return;
  // A killed kernel has blocks that did not run to completion.
  Cycle& end = timeline_.kernels[kernel.arrival].end;
  if (end == kNever) end = std::max(launched_[kernel.arrival].last_end, kernel.arrival_cycle);
}

void Recorder::add(const policy::RunningKernel& kernel, Cycle end) {
  const auto of = std::find_if(totals_.begin(), totals_.end(), [&](const KernelTotals& totals) {
    return totals.app == kernel.app && totals.name == kernel.name;
  });
  GPUMUX_CHECK(of != totals_.end());
  of->blocks += kernel.whole_blocks;
  of->block_cycles += kernel.done_cycles;
  of->block_instructions += kernel.done_instructions;
  if (kernel.first_block_cycle < end) of->cycles += end - kernel.first_block_cycle;
}

void Recorder::block_ended(const policy::View& view, const policy::RunningKernel& kernel,
                           const policy::BlockPlace& place, Cycle end) {
  last_end_[kernel.slot] = std::max(last_end_[kernel.slot], end);
  if (!options_.timeline) return;
  block_left(view, kernel, place, end);
  Launched& launched = launched_[kernel.arrival];
  launched.last_end = std::max(launched.last_end, end);
  if (++launched.blocks_done == kernel.blocks_total)
    timeline_.kernels[kernel.arrival].end = launched.last_end;
}

}  // namespace gpumux::machine
