#include "policy/preemption/kernel_scheduler.hpp"

#include <algorithm>
#include <numeric>

#include "base/error.hpp"
#include "base/percentile.hpp"
#include "policy/sm_division.hpp"

namespace gpumux::policy {

namespace {

/// True if the machine can restart the block safely, whatever the notices say; also true for a block that has
/// left.
bool may_restart(const arch::SmProbes& sm, std::uint32_t residency) {
  for (const arch::ResidentBlock& block : sm.blocks())
    if (block.residency == residency) return block.may_restart;
  return true;
}

/// True if the block has been asked to leave the SM.
bool stops(const arch::SmProbes& sm, std::uint32_t residency) {
  for (const arch::ResidentBlock& block : sm.blocks())
    if (block.residency == residency) return block.stops;
  return true;  // the block has left already
}

}  // namespace

Allowed PreemptionSettings::allowed() const {
  const bool all = technique == "chimera";
  return {all || technique == "switch" || technique == "ideal", all || technique == "drain",
          all || technique == "flush" || technique == "flush-strict"};
}

PreemptionSettings preemption_settings(const SettingReader& read, const std::string& usual_technique) {
  PreemptionSettings settings;
  settings.technique = read.choice("preempt", usual_technique,
                                   {"switch", "drain", "flush", "flush-strict", "chimera", "ideal"});
  if (read.has("relaxed") && settings.technique != "flush" && settings.technique != "chimera")
    read.fail("relaxed", "left out unless preempt is flush or chimera");
  settings.notified = read.choice("relaxed", "notified", {"notified", "exact"}) == "notified";
  settings.limit = read.duration("limit", {15, "us"});
  settings.scope =
      read.choice("scope", "sm", {"sm", "blocks"}) == "sm" ? SwitchScope::Sm : SwitchScope::Blocks;
  const std::string context = read.choice("context", "machine", {"machine", "traffic", "halt"});
  if (context != "machine")
    settings.context = context == "traffic" ? arch::ContextMoves::Traffic : arch::ContextMoves::Halt;
  settings.drain = read.choice("drain_overhead", "most", {"most", "least"}) == "most"
                       ? DrainOverhead::ToMost
                       : DrainOverhead::ToLeast;
  settings.switching = read.choice("switch_overhead", "block", {"block", "sm"}) == "sm"
                           ? SwitchOverhead::OfSm
                           : SwitchOverhead::OfBlock;
  settings.flush_rounds = read.whole("flush_rounds", 8, 0, 1'000'000);
  return settings;
}

std::vector<std::pair<std::string, std::string>> with_preemption_settings(
    std::vector<std::pair<std::string, std::string>> settings, const std::string& usual_technique) {
  settings.emplace_back("preempt",
                        "how blocks leave an SM that changes hands: switch, drain, flush, flush-strict, "
                        "chimera, or ideal: switched in no "
                        "time [" +
                            usual_technique + "]");
  settings.emplace_back(
      "relaxed",
      "what tells that a block can no longer be flushed, with flush and chimera: notified: a "
      "store that the compiler puts before what may do so; exact: what it has done [notified]");
  settings.emplace_back(
      "limit",
      "latency that chimera keeps if it can, and beyond which a preemption counts as a violation: "
      "15us, or core cycles [15us]");
  settings.emplace_back(
      "scope",
      "what a switched block waits for: sm: as long as the context of a full SM takes; blocks: as "
      "those that are switched there take [sm]");
  settings.emplace_back(
      "context",
      "how contexts move: traffic: through L2 and DRAM; halt: in the time that the estimate says; "
      "machine: as runtime.context_moves says [machine]");
  settings.emplace_back(
      "drain_overhead",
      "instructions that a drained block counts for in chimera's choice: most: it is behind the "
      "farthest of its SM; least: it is before the last [most]");
  settings.emplace_back(
      "switch_overhead",
      "instructions that a switched block counts for in chimera's choice: those that it would issue "
      "meanwhile, or its whole SM: block or sm [block]");
  settings.emplace_back(
      "flush_rounds",
      "preemptions that may flush blocks of a kernel before one of it is done; after them its blocks "
      "run to their ends; 0: any number, 0 to 1000000 [8]");
  return settings;
}

Needs KernelScheduler::needs(const View& view) const {
  const Allowed allowed = settings_.allowed();
  return {.block_ends = under_way() || view.kernels().size() > 1,
          .block_stops = allowed.switching || allowed.flushing,
          .block_drops = allowed.flushing,
          .notices = allowed.flushing && !settings_.strict() && settings_.notified,
          .idempotence = settings_.strict()};
}

std::uint32_t KernelScheduler::sms_of(KernelSlot slot) const {
  return static_cast<std::uint32_t>(std::count_if(
      places_.begin(), places_.end(), [slot](const Place& place) { return place.holder() == slot; }));
}

void KernelScheduler::serve(Control& control, std::uint32_t sm, std::uint32_t slot) {
  Place& place = places_[sm];
  if (!place.changes && place.owner != kNobody && place.owner != slot)
    control.sm(sm).limit_blocks(static_cast<KernelSlot>(place.owner), 0);
  place = Place{};
  place.owner = slot;
  if (slot != kNobody) control.sm(sm).limit_blocks(static_cast<KernelSlot>(slot), kUnlimited);
}

void KernelScheduler::kernel_ended(Control& control, const RunningKernel& kernel) {
  for (std::uint32_t sm = 0; sm < places_.size(); ++sm) {
    Place& place = places_[sm];
    if (place.changes && place.next == kernel.slot) place.next = kNobody;
    if (place.owner != kernel.slot) continue;
    if (place.changes) {
      block_gone(control, static_cast<SmId>(sm));
    } else {
      place.owner = kNobody;  // the limits of the kernel's slot are gone as well
    }
  }
}

void KernelScheduler::block_gone(Control& control, SmId sm) {
  if (sm >= places_.size() || !places_[sm].changes) return;
  const Place place = places_[sm];
  if (static_cast<const Control&>(control).sm(sm).resident_blocks(static_cast<KernelSlot>(place.owner)) > 0)
    return;
  done_.push_back({control.now() - place.asked, place.predicted});
  settle(control, sm, true);
  serve(control, sm, place.next);
}

void KernelScheduler::settle(const Control& control, std::uint32_t sm, bool done) {
  const Place& place = places_[sm];
  if (place.late_from)
    late_[place.app] +=
        control.sm(sm).counters(static_cast<KernelSlot>(place.owner)).thread_instructions - *place.late_from;
  if (!done) ++given_up_;
  if (events_.size() < Report::kMostPreemptions)
    events_.push_back({static_cast<SmId>(sm), place.app, place.asked, control.now(), place.blocks, done});
}

void KernelScheduler::limits_passed(const Control& control) {
  const Cycle limit = settings_.limit.cycles(control.config());
  for (std::uint32_t sm = 0; sm < places_.size(); ++sm) {
    Place& place = places_[sm];
    if (place.changes && !place.late_from && place.asked + limit <= control.now())
      place.late_from = control.sm(sm).counters(static_cast<KernelSlot>(place.owner)).thread_instructions;
  }
}

Cycle KernelScheduler::next_limit(const View& view) const {
  const Cycle limit = settings_.limit.cycles(view.config());
  Cycle next = kNever;
  for (const Place& place : places_)
    if (place.changes && !place.late_from) next = std::min(next, place.asked + limit);
  return next;
}

void KernelScheduler::assign(Control& control, std::vector<std::uint32_t> shares) {
  places_.resize(control.config().sms);
  const std::vector<RunningKernel>& kernels = control.kernels();
  for (std::size_t i = 0; i < kernels.size(); ++i)
    if (shares[i] > 0 && resident_blocks(kernels[i]) > 0 && is_torn(kernels[i], shares[i]))
      shares[i] = std::max(shares[i], sms_of(kernels[i].slot));
  std::vector<KernelSlot> order;
  for (const RunningKernel& kernel : kernels) {
    order.push_back(kernel.slot);
    apps_ |= 1U << kernel.app;
  }
  const auto missing = [&](std::size_t i) {
    return shares[i] - std::min(shares[i], sms_of(kernels[i].slot));
  };
  // First, a kernel takes back SMs that drain for no other kernel. Then come SMs without a kernel, and SMs
  // that will be free.
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    for (std::uint32_t sm = 0; sm < places_.size() && missing(i) > 0; ++sm) {
      const Place& place = places_[sm];
      if (place.changes && place.drains && place.owner == kernels[i].slot && place.next == kNobody) {
        settle(control, sm, false);
        serve(control, sm, kernels[i].slot);
      }
    }
  }
  std::size_t lacking = 0;
  for (std::size_t i = 0; i < kernels.size(); ++i) lacking += missing(i);
  const auto nobodys = static_cast<std::size_t>(std::count_if(
      places_.begin(), places_.end(), [](const Place& place) { return place.holder() == kNobody; }));
  std::size_t taken = lacking - std::min(lacking, nobodys);
  for (std::size_t i = 0; i < kernels.size() && taken > 0; ++i) {
    const std::uint32_t have = sms_of(kernels[i].slot);
    if (have <= shares[i]) continue;
    const std::size_t count = std::min<std::size_t>(have - shares[i], taken);
    take(control, kernels[i], taken_with(control, kernels[i], shares[i], count));
    taken -= count;
  }
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    for (const bool changes : {false, true}) {
      for (std::uint32_t sm = 0; sm < places_.size() && missing(i) > 0; ++sm) {
        Place& place = places_[sm];
        if (place.changes != changes || place.holder() != kNobody) continue;
        if (changes) {
          place.next = kernels[i].slot;
        } else {
          serve(control, sm, kernels[i].slot);
        }
      }
    }
  }
  control.set_dispatch_order(order);
}

std::size_t KernelScheduler::taken_with(const Control& control, const RunningKernel& kernel,
                                        std::uint32_t share, std::size_t count) const {
  if (!kernel.cooperative || share > 0) return count;
  std::size_t held = 0;
  std::size_t free = 0;
  for (std::uint32_t sm = 0; sm < places_.size(); ++sm) {
    if (places_[sm].holder() != kernel.slot) continue;
    ++held;
    const std::uint32_t resident = control.sm(sm).resident_blocks(kernel.slot);
    if (places_[sm].changes || resident == 0) ++free;
  }
  return count <= free ? count : held;
}

Allowed KernelScheduler::allowed(const RunningKernel& kernel) const {
  Allowed allowed = settings_.allowed();
  if (kernel.cooperative) allowed = {allowed.switching, !allowed.switching, false};
  return allowed;
}

void KernelScheduler::take(Control& control, const RunningKernel& kernel, std::size_t count) {
  // SMs that the kernel has not received yet, and SMs without its blocks, are taken at no cost.
  for (std::uint32_t sm = 0; sm < places_.size() && count > 0; ++sm) {
    Place& place = places_[sm];
    if (place.holder() != kernel.slot) continue;
    if (place.changes) {
      place.next = kNobody;
    } else if (static_cast<const Control&>(control).sm(sm).resident_blocks(kernel.slot) == 0) {
      serve(control, sm, kNobody);
    } else {
      continue;
    }
    --count;
  }
  if (count == 0) return;
  const KernelProgress progress = progress_of(control, kernel);
  const bool drops = may_drop(kernel);
  std::vector<SmPlan> plans;
  for (std::uint32_t sm = 0; sm < places_.size(); ++sm)
    if (!places_[sm].changes && places_[sm].owner == kernel.slot)
      plans.push_back(plan(control, sm, kernel, progress, drops));
  const double limit = settings_.technique == "chimera"
                           ? static_cast<double>(settings_.limit.cycles(control.config()))
                           : kMostCost;
  const std::uint64_t before = blocks_[static_cast<std::size_t>(Technique::Flush)];
  for (const SmPlan& chosen : select_sms(std::move(plans), count, limit)) carry_out(control, chosen, kernel);
  if (blocks_[static_cast<std::size_t>(Technique::Flush)] != before) ++drops_[kernel.slot].rounds;
}

bool KernelScheduler::may_drop(const RunningKernel& kernel) {
  Drops& drops = drops_[kernel.slot];
  if (drops.arrival != kernel.arrival || drops.done != kernel.blocks_done)
    drops = {kernel.arrival, kernel.blocks_done, 0};
  return settings_.flush_rounds == 0 || drops.rounds < settings_.flush_rounds;
}

KernelProgress KernelScheduler::progress_of(const Control& control, const RunningKernel& kernel) const {
  KernelProgress progress{kernel.blocks_done, kernel.done_instructions, kernel.done_instructions,
                          kernel.done_cycles};
  for (std::uint32_t sm = 0; sm < places_.size(); ++sm) {
    for (const arch::ResidentBlock& block : control.sm(sm).blocks()) {
      if (block.kernel != kernel.slot) continue;
      progress.instructions += block.instructions;
      progress.cycles += block.cycles;
    }
  }
  return progress;
}

double KernelScheduler::switch_cycles(const Control& control, const RunningKernel& kernel,
                                      std::size_t blocks) const {
  if (settings_.technique == "ideal") return 0;
  const std::uint64_t of_block = context_bytes(control.config().sm, kernel.resources);
  return context_cycles(control.config(),
                        of_block * (settings_.scope == SwitchScope::Sm ? kernel.max_blocks_per_sm : blocks));
}

arch::ContextMove KernelScheduler::context_move(const Control& control, const RunningKernel& kernel,
                                                std::size_t switched) const {
  if (settings_.technique == "ideal") return {};
  return policy::context_move(control.config(), kernel.resources,
                              settings_.context.value_or(control.config().runtime.context_moves),
                              switch_cycles(control, kernel, switched));
}

SmPlan KernelScheduler::plan(const Control& control, std::uint32_t sm, const RunningKernel& kernel,
                             const KernelProgress& progress, bool may_drop) const {
  std::vector<Candidate> blocks;
  for (const arch::ResidentBlock& block : control.sm(sm).blocks())
    if (block.kernel == kernel.slot) blocks.push_back({block, may_drop && may_be_flushed(kernel, block)});
  const std::vector<BlockCosts> costs = estimate_costs(
      progress, blocks, switch_cycles(control, kernel, blocks.size()), settings_.drain, settings_.switching);
  const double limit = settings_.technique == "chimera"
                           ? static_cast<double>(settings_.limit.cycles(control.config()))
                           : kMostCost;
  return plan_sm(sm, blocks, costs, allowed(kernel), limit);
}

bool KernelScheduler::may_be_flushed(const RunningKernel& kernel, const arch::ResidentBlock& block) const {
  if (settings_.strict()) return kernel.idempotent.value_or(false);
  return settings_.notified && kernel.has_notices ? !block.notified : block.may_restart;
}

void KernelScheduler::carry_out(Control& control, const SmPlan& plan, const RunningKernel& kernel) {
  Place& place = places_[plan.sm];
  place.changes = true;
  place.next = kNobody;
  place.asked = control.now();
  place.predicted = plan.latency;
  place.late_from.reset();
  place.app = kernel.app;
  place.blocks = {};
  arch::SmControl& sm = control.sm(plan.sm);
  sm.limit_blocks(kernel.slot, 0);
  const auto switched = static_cast<std::size_t>(
      std::count_if(plan.blocks.begin(), plan.blocks.end(),
                    [](const BlockPlan& block) { return block.technique == Technique::Switch; }));
  const arch::ContextMove move = context_move(control, kernel, switched);
  place.drains = true;
  for (const BlockPlan& block : plan.blocks) {
    if (block.technique == Technique::Switch) sm.stop_block(block.residency, move);
    if (block.technique == Technique::Flush) {
      if (!may_restart(sm, block.residency)) ++missed_notices_;
      sm.drop_block(block.residency);
    }
    // A block whose warps have all exited only waits for its stores, so it counts as drained.
    const bool leaves = block.technique != Technique::Drain && stops(sm, block.residency);
    const auto how = static_cast<std::size_t>(leaves ? block.technique : Technique::Drain);
    ++blocks_[how];
    ++place.blocks[how];
    if (!leaves) continue;
    place.drains = false;
    if (block.technique == Technique::Flush)
      flushed_instructions_ += static_cast<std::uint64_t>(block.cost.overhead);
  }
}

void KernelScheduler::report(const Probes& control, Report& to) const {
  const auto number = [&](const std::string& name, double value) { to.numbers.push_back({name, value, {}}); };
  number("preemptions", static_cast<double>(done_.size()));
  number("preempted_blocks_switched",
         static_cast<double>(blocks_[static_cast<std::size_t>(Technique::Switch)]));
  number("preempted_blocks_drained",
         static_cast<double>(blocks_[static_cast<std::size_t>(Technique::Drain)]));
  number("preempted_blocks_flushed",
         static_cast<double>(blocks_[static_cast<std::size_t>(Technique::Flush)]));
  number("flushed_warp_instructions", static_cast<double>(flushed_instructions_));
  if (settings_.allowed().flushing) number("missed_notices", static_cast<double>(missed_notices_));
  number("preemptions_given_up", static_cast<double>(given_up_));
  for (std::size_t app = 0; app < late_.size(); ++app)
    if ((apps_ >> app & 1U) != 0)
      to.numbers.push_back(
          {"late_thread_instructions", static_cast<double>(late_[app]), static_cast<AppId>(app)});
  to.preemptions = events_;
  std::vector<Cycle> latencies;
  for (const Preemption& preemption : done_) latencies.push_back(preemption.latency);
  std::sort(latencies.begin(), latencies.end());
  const auto part = [&](double of) { return static_cast<double>(percentile(latencies, of)); };
  const Cycle limit = settings_.limit.cycles(control.config());
  number("preemptions_over_limit",
         static_cast<double>(latencies.end() - std::upper_bound(latencies.begin(), latencies.end(), limit)));
  report_estimates(to, limit);
  if (done_.empty()) return;
  number("preemption_latency_mean",
         static_cast<double>(std::accumulate(latencies.begin(), latencies.end(), Cycle{0})) /
             static_cast<double>(latencies.size()));
  number("preemption_latency_p50", part(0.5));
  number("preemption_latency_p95", part(0.95));
  number("preemption_latency_p99", part(0.99));
  number("preemption_latency_max", static_cast<double>(latencies.back()));
}

/// Reports how accurate the estimates were on which the choice of techniques rests.
void KernelScheduler::report_estimates(Report& to, Cycle limit) const {
  double predicted = 0;
  double actual = 0;
  std::vector<double> ratios;
  std::vector<double> errors;  // of late preemptions that were predicted to be in time
  for (const Preemption& preemption : done_) {
    if (!preemption.was_predicted()) continue;
    const auto latency = static_cast<double>(preemption.latency);
    predicted += preemption.predicted;
    actual += latency;
    if (latency > 0) ratios.push_back(preemption.predicted / latency);
    if (preemption.latency > limit && preemption.predicted <= static_cast<double>(limit))
      errors.push_back(latency - preemption.predicted);
  }
  const auto number = [&](const std::string& name, double value) { to.numbers.push_back({name, value, {}}); };
  if (actual > 0) number("predicted_over_actual_latency", predicted / actual);
  std::sort(ratios.begin(), ratios.end());
  if (!ratios.empty()) {
    number("predicted_over_actual_p5", percentile(ratios, 0.05));
    number("predicted_over_actual_p50", percentile(ratios, 0.5));
    number("predicted_over_actual_p95", percentile(ratios, 0.95));
  }
  number("underestimated_preemptions", static_cast<double>(errors.size()));
  number("underestimated_by_mean", errors.empty() ? 0.0
                                                  : std::accumulate(errors.begin(), errors.end(), 0.0) /
                                                        static_cast<double>(errors.size()));
}

}  // namespace gpumux::policy
