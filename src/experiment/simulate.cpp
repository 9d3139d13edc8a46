#include <algorithm>
#include <bit>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/text.hpp"
#include "emulator/program.hpp"
#include "experiment/memory_report.hpp"
#include "experiment/profile.hpp"
#include "experiment/run.hpp"
#include "machine/gpu.hpp"
#include "policy/block_scheduler.hpp"
#include "policy/concurrency_control.hpp"
#include "policy/core_control.hpp"
#include "policy/memory_scheme.hpp"
#include "policy/preemption/cost.hpp"
#include "runtime/context.hpp"

namespace gpumux::experiment {
namespace {

/// Prints device printf to standard output, as on a GPU.
class StandardOutput final : public emulator::PrintSink {
 public:
  void print(AppId, std::string_view text) override { std::fwrite(text.data(), 1, text.size(), stdout); }
};

/// Runs the applications of a run, and counts how often each has completed.
class Programs {
 public:
  /// `origin`: the cycle at which the applications start, and from which their arrivals count.
  Programs(const RunSpec& spec, machine::Gpu& gpu, Cycle origin)
      : gpu_(gpu),
        instructions_(spec.instructions),
        choice_(spec.policy.text),
        measured_to_end_(!spec.cpus.empty() && spec.cycles == 0),
        origin_(origin),
        next_check_(origin + kInstructionCheck),
        results_(spec.apps.size()),
        running_(spec.apps.size()) {
    for (std::size_t i = 0; i < spec.apps.size(); ++i) {
      const AppSpec& app = spec.apps[i];
      contexts_.push_back(std::make_unique<runtime::Context>(static_cast<AppId>(i), app.name,
                                                             app.create(spec.seed), gpu, spec.verify,
                                                             spec.device_output ? &output_ : nullptr));
      results_[i].app = app.text;
      results_[i].untimed_warp_instructions = app.untimed_warp_instructions;
      // The first of several equal applications has the same arrivals as in its isolated run; the others have
      // different ones.
      const auto equal =
          std::count_if(spec.apps.begin(), spec.apps.begin() + static_cast<std::ptrdiff_t>(i),
                        [&](const AppSpec& earlier) { return earlier.identity == app.identity; });
      requests_.emplace_back(app.arrivals, spec.machine,
                             mix64(spec.seed) + static_cast<std::uint64_t>(equal));
      if (!app.arrivals.times.empty()) lists_ |= std::uint32_t{1} << i;
      reported_.push_back(app.arrivals.reported());
      started_.push_back(kNever);
      killed_.push_back(false);
      drop_at_.push_back(kNever);
      dropped_.push_back(false);
      live_ = live_ || app.live;
    }
    if (live_) gpu_.set_interrupt([this] { return look_for_hosts(); });
  }
  ~Programs() { gpu_.set_interrupt({}); }
  Programs(const Programs&) = delete;
  Programs& operator=(const Programs&) = delete;

  /// Advances all host programs at cycle `now`, and restarts programs that ended. False if the run is over:
  /// without a cycle limit, when each application has ended once.
  bool pump(Cycle now, bool endless) {
    if (instructions_ != 0 && now >= next_check_) {
      next_check_ = now - now % kInstructionCheck + kInstructionCheck;
      for (std::size_t i = 0; i < contexts_.size(); ++i)
        if (executed(i) >= instructions_) counts_as_ended(i, now);
      if (!endless && everyone_ended()) return false;
    }
    for (std::size_t i = 0; i < contexts_.size(); ++i) {
      for (bool goes_on = true; goes_on;) {
        goes_on = false;
        if (running_[i]) contexts_[i]->pump();
        if (running_[i]) drop_if_abandoned(i, now);
        if (running_[i] && !killed_[i] && !contexts_[i]->finished() &&
            now >= after_origin(requests_[i].kill_at())) {
          contexts_[i]->kill();
          killed_[i] = true;
        }
        if (running_[i] && killed_[i] && contexts_[i]->finished()) {
          requests_[i].killed();
          results_[i].under_way_cycles += now - started_[i];
          running_[i] = killed_[i] = false;
          had_its_time_ |= std::uint32_t{1} << i;
          if (!endless && everyone_ended()) return false;
        }
        if (running_[i] && !killed_[i] && contexts_[i]->finished()) {
          AppResult& result = results_[i];
          if (++result.completions == 1) {
            result.first_completion = now - origin_;
            if (instructions_ != 0 || measured_to_end_) counts_as_ended(i, now);
          }
          requests_[i].end(now - origin_);
          results_[i].under_way_cycles += now - started_[i];
          running_[i] = false;
          if (!endless && everyone_ended()) return false;
          if (started_[i] == now) {
            throw UserError(
                fmt::format("app {}: it ends without running anything that takes time", result.app));
          }
        }
        if (requests_[i].begin(now - origin_)) {
          running_[i] = goes_on = true;
          drop_at_[i] = kNever;
          dropped_[i] = false;
          started_[i] = now;
          contexts_[i]->start();
        }
      }
    }
    return true;
  }

  /// Applications that have not ended yet, as a mask. An application with a list of requests ends with the
  /// last request, any other with its first run.
  [[nodiscard]] std::uint32_t not_ended() const {
    std::uint32_t apps = 0;
    for (std::size_t i = 0; i < results_.size(); ++i)
      if (!has_ended(i)) apps |= std::uint32_t{1} << i;
    return apps;
  }
  /// Applications of not_ended() whose kernels must end by themselves for the run to end, as a mask.
  [[nodiscard]] std::uint32_t to_end_by_themselves() const {
    if (instructions_ != 0) return 0;
    const std::uint32_t apps = not_ended();
    for (const auto& requests : requests_)
      if (requests.kill_at() != kNever) return 0;  // a kill may let the other applications continue
    return apps;
  }
  /// Throws SimulationFault if an application makes no progress while all applications that have ended run
  /// repeatedly.
  void expect_progress(Cycle now);
  [[nodiscard]] Cycle next_event() const {
    Cycle next = instructions_ != 0 ? next_check_ : kNever;
    for (std::size_t i = 0; i < contexts_.size(); ++i)
      next = std::min({next, running_[i] ? contexts_[i]->next_event() : kNever,
                       after_origin(requests_[i].next_arrival()), running_[i] ? drop_at_[i] : kNever,
                       killed_[i] ? kNever : after_origin(requests_[i].kill_at())});
    return next;
  }
  /// The results, at the end of the run. `now`: its last cycle.
  [[nodiscard]] std::vector<AppResult>& results(Cycle now) {
    for (std::size_t i = 0; instructions_ != 0 && i < contexts_.size(); ++i) counts_as_ended(i, now);
    for (std::size_t i = 0; i < results_.size(); ++i) {
      if (reported_[i]) results_[i].requests = requests_[i].result(now - origin_);
      if (running_[i]) results_[i].under_way_cycles += now - started_[i];
      results_[i].host_order_varies = contexts_[i]->host_order_varies();
    }
    return results_;
  }

 private:
  [[nodiscard]] bool has_ended(std::size_t i) const {
    if ((lists_ >> i & 1U) != 0) return requests_[i].all_done();
    return results_[i].completions > 0 || results_[i].active_instructions || (had_its_time_ >> i & 1U) != 0;
  }
  /// True if the process of a live program has exited in the middle of a run. Queries the system at most ten
  /// times a second.
  bool look_for_hosts() {
    constexpr std::chrono::milliseconds kInterval{100};
    const auto now = std::chrono::steady_clock::now();
    if (now < next_wall_look_) return false;
    next_wall_look_ = now + kInterval;
    bool gone = false;
    for (std::size_t i = 0; i < contexts_.size(); ++i) {
      if (!running_[i] || killed_[i] || dropped_[i]) continue;
      contexts_[i]->look_for_host();
      gone = gone || contexts_[i]->is_abandoned();
    }
    return gone;
  }
  /// Ends the work of a run whose host process has exited, at the next meeting of the machine's parts.
  void drop_if_abandoned(std::size_t i, Cycle now) {
    if (!contexts_[i]->is_abandoned()) drop_at_[i] = kNever;  // the remaining work has ended by itself
    if (killed_[i] || dropped_[i] || !contexts_[i]->is_abandoned()) return;
    // Not before the first launch of the run could have started. Otherwise a run could take no time, and
    // restart forever.
    if (drop_at_[i] == kNever)
      drop_at_[i] =
          std::max(gpu_.next_meeting(), started_[i] + gpu_.config().runtime.kernel_launch_latency + 1);
    if (now < drop_at_[i]) return;
    drop_at_[i] = kNever;
    dropped_[i] = true;
    contexts_[i]->drop_work();
    contexts_[i]->pump();
  }
  [[nodiscard]] bool everyone_ended() const { return not_ended() == 0; }
  [[nodiscard]] Cycle after_origin(Cycle cycle) const {
    return cycle > kNever - origin_ ? kNever : cycle + origin_;
  }
  [[nodiscard]] std::uint64_t executed(std::size_t i) const {
    return std::as_const(gpu_).app_counters(static_cast<AppId>(i)).useful_instructions();
  }
  void counts_as_ended(std::size_t i, Cycle now) {
    if (results_[i].active_instructions) return;
    results_[i].active_instructions = executed(i);
    results_[i].active_cycles = now - origin_;
  }

  /// State of an application that has made no progress since cycle `since`.
  struct Rest {
    Cycle since = 0;
    std::uint64_t instructions = 0;
    std::uint64_t blocks = 0;
    std::vector<std::uint64_t> completions;  // of all applications at that time
  };
  [[nodiscard]] bool moves(std::size_t i, Rest& rest);

  machine::Gpu& gpu_;
  std::uint64_t instructions_;  // RunSpec::instructions
  std::string choice_;          // of the policy, for errors
  bool measured_to_end_;        // an application's IPC is that of its first run; it restarts beside CPU cores
  Cycle origin_;
  Cycle next_check_;

  StandardOutput output_;
  std::vector<std::unique_ptr<runtime::Context>> contexts_;
  std::vector<AppResult> results_;
  std::vector<Requests> requests_;  // by application, as in the members below
  std::vector<bool> reported_;
  std::vector<bool> running_;       // a run is in progress
  std::vector<Cycle> started_;      // cycle at which the last run started
  std::uint32_t lists_ = 0;         // applications with a list of requests, as bits
  std::vector<bool> killed_;        // its run was killed, and the machine has not released it yet
  std::uint32_t had_its_time_ = 0;  // applications with a killed run, as bits
  std::vector<Cycle> drop_at_;      // when the work of an abandoned run ends; or kNever
  std::vector<bool> dropped_;       // the work of its run was dropped
  bool live_ = false;               // some applications are programs in processes of their own
  std::chrono::steady_clock::time_point next_wall_look_{};
  std::vector<Rest> rests_;  // empty: not checked yet
  Cycle next_look_ = 0;      // of expect_progress()
};

/// True if the application makes progress. Instructions alone do not count, because blocks that wait for
/// others may issue forever.
bool Programs::moves(std::size_t i, Rest& rest) {
  const auto app = static_cast<AppId>(i);
  const std::uint64_t instructions = std::exchange(rest.instructions, executed(i));
  const std::uint64_t blocks = std::exchange(rest.blocks, gpu_.block_moves(app));
  return !gpu_.has_kernel(app) || rest.blocks != blocks ||
         (rest.instructions != instructions && !gpu_.stands_still(app));
}

void Programs::expect_progress(Cycle now) {
  constexpr Cycle kLook = 1 << 17;
  constexpr std::uint64_t kRuns = 3;
  if (now < next_look_) return;
  next_look_ = now + kLook;
  const std::uint32_t open = not_ended();
  const std::uint32_t to_end = to_end_by_themselves();
  if (to_end == 0 || std::popcount(open) == static_cast<int>(results_.size())) return;
  std::vector<std::uint64_t> completions;
  for (const AppResult& result : results_) completions.push_back(result.completions);
  rests_.resize(results_.size());
  std::uint32_t resting = 0;
  for (std::size_t i = 0; i < rests_.size(); ++i) {
    if ((open >> i & 1U) == 0) continue;
    Rest& rest = rests_[i];
    if (rest.completions.empty() || moves(i, rest)) {
      rest = {now, executed(i), gpu_.block_moves(static_cast<AppId>(i)), completions};
      continue;
    }
    bool often = now - rest.since >= gpu_.patience();
    for (std::size_t j = 0; j < rests_.size(); ++j)
      often = often && ((open >> j & 1U) != 0 || completions[j] >= rest.completions[j] + kRuns);
    if (often) resting |= std::uint32_t{1} << i;
  }
  if (resting != open || (resting & to_end) == 0) return;
  const auto starved = static_cast<std::size_t>(std::countr_zero(resting & to_end));
  throw SimulationFault(
      fmt::format("error: app {}: starved: it has got nowhere since cycle {}, while each application that "
                  "has ended ran {} times and more; policy {} does not serve it beside them\n{}",
                  results_[starved].app, rests_[starved].since, kRuns, choice_, gpu_.wait_report()));
}

/// Counters at the start of the applications, after the warm-up of CPU cores.
struct Begin {
  Cycle cycle = 0;
  arch::CounterTable counters;
  std::uint64_t powered_sm_cycles = 0;
};

void fill_totals(RunResult& result, const RunSpec& spec, const machine::Gpu& gpu, const Begin& begin) {
  arch::CounterTable table = gpu.counter_table(result.apps.size());
  if (begin.cycle > 0) table.subtract(begin.counters);
  set_counters(result, table);
  for (AppResult& app : result.apps)
    if (!app.active_instructions) app.active_cycles = result.cycles;
  const arch::MachineConfig& config = spec.machine;
  const double seconds = static_cast<double>(result.cycles) / (config.clocks.core * 1e6);
  double units = 0;
  for (const isa::Unit unit : {isa::Unit::Sp, isa::Unit::Int, isa::Unit::Dp, isa::Unit::Sfu}) {
    units += config.units[static_cast<std::size_t>(unit)].count;
  }
  result.powered_sm_cycles = gpu.powered_sm_cycles() - begin.powered_sm_cycles;
  result.energy = energy(config, table, result.cycles, result.powered_sm_cycles);
  if (result.cycles > 0) {
    result.dram_bandwidth_utilization =
        static_cast<double>(result.partitions.dram_bytes) / (config.dram_peak_bytes_per_second() * seconds);
    result.alu_utilization = static_cast<double>(result.gpu.alu_issue_cycles) /
                             (units * config.sms * static_cast<double>(result.cycles));
  }
}

machine::Parts::CpuTraces cpu_traces(const RunSpec& spec) {
  machine::Parts::CpuTraces traces;
  for (std::uint32_t i = 0; i < spec.cpus.size(); ++i)
    traces.push_back(spec.cpus[i].create ? spec.cpus[i].create(spec.seed, i) : nullptr);
  return traces;
}

CpuWaits cpu_waits(const machine::Gpu& gpu, const RunSpec& spec, std::uint64_t requests) {
  CpuWaits waits{requests, {}, {}, {}};
  for (std::size_t app = 0; app < spec.apps.size(); ++app) {
    arch::PairCounters& of = waits.of_app.emplace_back();
    arch::PairCounters& for_it = waits.for_app.emplace_back();
    for (std::uint32_t i = 0; i < spec.cpus.size(); ++i) {
      of.add(gpu.pair_counters(static_cast<AppId>(app), machine::cpu_app(i)));
      for_it.add(gpu.pair_counters(machine::cpu_app(i), static_cast<AppId>(app)));
    }
  }
  for (std::uint32_t i = 0; i < spec.cpus.size(); ++i)
    for (std::uint32_t j = 0; j < spec.cpus.size(); ++j)
      if (i != j) waits.among.add(gpu.pair_counters(machine::cpu_app(i), machine::cpu_app(j)));
  return waits;
}

void check_apps(const RunSpec& spec) {
  if ((spec.apps.empty() && spec.cpus.empty()) || spec.apps.size() > kMaxApps) {
    throw UserError(
        fmt::format("a run needs 1 to {} applications; {} were given", kMaxApps, spec.apps.size()));
  }
  if (spec.cpus.size() > spec.machine.cpus || spec.apps.size() + spec.cpus.size() > kMaxApps) {
    throw UserError(
        fmt::format("{} applications and {} CPU programs on a machine of {} CPU cores: {} at most in all",
                    spec.apps.size(), spec.cpus.size(), spec.machine.cpus, kMaxApps));
  }
  if (!spec.cpus.empty() && spec.cycles != 0) {
    throw UserError(fmt::format(
        "cycles = {}: with CPU programs a run ends when each core has executed {} instructions and "
        "each application has ended once; leave the limit out",
        spec.cycles, spec.cpu_span.instructions));
  }
  policy::check_choice(spec.policy, spec.machine, spec.apps.size());
}

}  // namespace

void set_counters(RunResult& result, const arch::CounterTable& table) {
  GPUMUX_CHECK(table.apps.size() == result.apps.size());
  result.gpu = {};
  for (std::size_t i = 0; i < result.apps.size(); ++i) {
    result.apps[i].counters = table.apps[i];
    result.apps[i].memory_counters = table.memory[i];
    result.gpu.add(table.apps[i]);
  }
  result.schedulers = table.schedulers;
  result.partitions = table.partitions;
  result.pairs = table.pairs;
  result.ledger = table.ledger;
  result.viewed = table.sms;
}

std::vector<SmId> parse_sms(std::string_view text, std::uint32_t sms) {
  const auto fail = [&](std::string_view why) {
    throw UserError(fmt::format("SMs '{}' to view: {}; give numbers from 0 to {}, such as 0,2-3, or all",
                                text, why, sms - 1));
  };
  std::vector<SmId> found;
  if (text == "all") {
    for (std::uint32_t sm = 0; sm < sms; ++sm) found.push_back(static_cast<SmId>(sm));
    return found;
  }
  for (const std::string& part : split(text, ',')) {
    const std::size_t dash = part.find('-');
    const auto first = parse_uint(part.substr(0, dash));
    const auto last = dash == std::string::npos ? first : parse_uint(part.substr(dash + 1));
    if (!first || !last || *first > *last) fail(fmt::format("'{}' is no number or range", part));
    if (*last >= sms) fail(fmt::format("there is no SM {}", *last));
    for (std::uint64_t sm = *first; sm <= *last; ++sm) found.push_back(static_cast<SmId>(sm));
  }
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

bool audit_by_default() {
#ifdef GPUMUX_DEBUG_CHECKS
  return true;
#else
  return std::getenv("GPUMUX_AUDIT") != nullptr;
#endif
}

arch::MachineConfig effective_machine(const RunSpec& spec) {
  arch::MachineConfig machine = spec.machine;
  if (spec.policy.warps.empty()) return machine;
  const arch::WarpsChoice warps = arch::parse_warps(spec.policy.warps);
  machine.sm.warp_scheduler = warps.scheduler;
  if (warps.limit != 0) machine.sm.warp_limit = warps.limit;
  if (warps.ccws) machine.ccws.on = true;
  return machine;
}

RunResult simulate(const RunSpec& spec) {
  check_apps(spec);
  std::unique_ptr<policy::Policy> policy = policy::create(spec.policy);
  std::vector<std::uint32_t> priorities;
  for (const AppSpec& app : spec.apps) priorities.push_back(app.arrivals.priority);
  if (std::any_of(priorities.begin(), priorities.end(), [](std::uint32_t p) { return p != 0; }))
    policy->use_priorities(priorities);
  const policy::ProfileRequest request = policy->profile_request();
  if (request.depth != policy::ProfileRequest::Depth::None)
    policy->use_profiles(profiles(spec, request, spec.cache_folder));
  const std::vector<std::optional<GoalTarget>> goals = goal_targets(spec, spec.cache_folder);
  if (std::any_of(goals.begin(), goals.end(), [](const auto& goal) { return goal.has_value(); })) {
    std::vector<std::optional<double>> of_kernels;
    for (const auto& goal : goals)
      of_kernels.push_back(goal ? std::optional<double>(goal->kernel_ipc) : std::nullopt);
    policy->use_goals(of_kernels);
  }
  RunResult result = simulate_under(spec, std::move(policy));
  set_goals(spec, goals, result);
  return result;
}

RunResult simulate_under(const RunSpec& spec, std::unique_ptr<policy::Policy> policy) {
  check_apps(spec);
  const auto begin = std::chrono::steady_clock::now();
  const arch::MachineConfig config = effective_machine(spec);

  // Blocks in the GPU refer to modules in the contexts, and contexts submit to the GPU. Therefore the GPU is
  // constructed first, and its work is dropped (drop_work) before the contexts are destroyed.
  const machine::Recorder::Options record{spec.series, static_cast<unsigned>(spec.apps.size()), spec.timeline,
                                          spec.ledger, spec.viewed};
  const arch::MemoryScheme memory = policy::memory_scheme(spec.policy.memory, spec.policy.memory_settings);
  std::vector<arch::Instance> instances = policy->instances(config, spec.apps.size());
  if (!instances.empty() && !spec.cpus.empty()) {
    throw UserError(
        fmt::format("policy {} divides the memory partitions among applications, and CPU cores have "
                    "none of them: leave CPU programs out",
                    spec.policy.text));
  }
  std::optional<emulator::RaceLog> races;
  if (spec.races) races.emplace(*spec.races);
  machine::Gpu gpu(config, std::move(policy),
                   {.threads = spec.threads,
                    .no_skip = spec.no_skip,
                    .record = record,
                    .memory = memory,
                    .ledger = spec.ledger,
                    .viewed = spec.viewed,
                    .blocks = policy::create_block_scheduler(spec.policy.blocks),
                    .cores = policy::create_core_control(spec.policy.cores),
                    .concurrency = policy::create_concurrency_control(spec.policy.concurrency),
                    .observers = spec.observers,
                    .instances = std::move(instances),
                    .cpu_traces = cpu_traces(spec),
                    .choice = spec.policy.text,
                    .races = races ? &*races : nullptr});
  constexpr Cycle kProgressInterval = 1 << 16;
  constexpr Cycle kStopInterval = 1 << 12;
  Cycle next_progress = 0;
  const auto show_progress = [&] {
    if (!spec.progress || gpu.now() < next_progress) return;
    spec.progress(gpu.now());
    next_progress = gpu.now() + kProgressInterval;
  };
  CpuRun cpus(gpu, spec.cpus, spec.cpu_span);
  while (!cpus.warm()) {
    cpus.expect_progress();
    show_progress();
    gpu.advance(kNever, kNever, gpu.now() - gpu.now() % kCpuCheck + kCpuCheck);
  }
  cpus.begin();
  const Begin at_begin{gpu.now(), gpu.counter_table(spec.apps.size()), gpu.powered_sm_cycles()};
  CpuWaits waits_at_begin;
  if (spec.ledger && !spec.cpus.empty()) waits_at_begin = cpu_waits(gpu, spec, cpus.requests());
  Programs programs(spec, gpu, at_begin.cycle);
  struct DropWork {
    machine::Gpu& gpu;
    ~DropWork() { gpu.drop_work(); }
  } drop_work{gpu};

  const Cycle limit = spec.cycles == 0 ? kNever : at_begin.cycle + spec.cycles;
  const bool to_limit = spec.cycles != 0 && spec.instructions == 0;
  const auto pause = [&] {
    if (!spec.cpus.empty()) return gpu.now() - gpu.now() % kCpuCheck + kCpuCheck;
    return gpu.now() + (spec.stop ? kStopInterval : kProgressInterval);
  };
  for (;;) {
    const bool cpus_done = cpus.done();
    cpus.expect_progress();
    if (!programs.pump(gpu.now(), to_limit || !cpus_done) || gpu.now() >= limit) break;
    // The run has only waited for the CPU cores.
    if (!spec.cpus.empty() && !to_limit && cpus_done && programs.not_ended() == 0) break;
    show_progress();
    if (spec.stop && spec.stop(gpu.now())) break;
    const bool to_ends = !to_limit && cpus_done;
    if (to_ends) programs.expect_progress(gpu.now());
    gpu.expect_ends_of(to_ends && spec.cycles == 0 ? programs.to_end_by_themselves() : 0);
    if (spec.instructions == 0 && spec.cpus.empty())
      gpu.set_awaited(spec.cycles != 0 ? 0 : programs.not_ended());
    gpu.advance(limit, programs.next_event(), pause());
  }

  RunResult result;
  result.machine = spec.machine.name;
  result.sms = spec.machine.sms;
  result.policy = spec.policy.text;
  result.seed = spec.seed;
  result.cycles_of_dram_clock = config.clocks.core / config.clocks.dram;
  result.schedulers_per_sm = config.sm.schedulers;
  result.cycles = gpu.now() - at_begin.cycle;
  result.begin = at_begin.cycle;
  result.cpus = cpus.results();
  if (spec.ledger && !spec.cpus.empty()) {
    result.cpu_waits = cpu_waits(gpu, spec, cpus.requests());
    result.cpu_waits->subtract(waits_at_begin);
  }
  result.apps = programs.results(gpu.now());
  fill_totals(result, spec, gpu, at_begin);
  for (std::size_t i = 0; memory.on() && i < result.apps.size(); ++i)
    result.apps[i].memory = memory_report(gpu, static_cast<AppId>(i));
  gpu.end_run();
  for (const auto& [app, name, resources, most, idempotent, launches, blocks, block_cycles, instructions,
                    cycles] : gpu.recorder().kernel_totals()) {
    const double switch_cycles =
        policy::context_cycles(config, policy::context_bytes(config.sm, resources) * most);
    result.kernels.push_back({app, name, resources, most, switch_cycles, idempotent, launches, blocks,
                              block_cycles, instructions, cycles});
  }
  result.series = gpu.recorder().series();
  result.policy_report = gpu.report();
  if (races) result.races = *races;
  if (spec.timeline) result.timeline = gpu.recorder().timeline();
  result.wall_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  if (spec.audit) {
    gpu.check_conservation();
    if (gpu.kernels().empty()) gpu.check_drained();
  }
  return result;
}

}  // namespace gpumux::experiment
