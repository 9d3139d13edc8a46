// A simulation from its specification to its results, and its isolated baselines.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "arch/config.hpp"
#include "arch/counter_table.hpp"
#include "arch/series.hpp"
#include "arch/statistics.hpp"
#include "arch/timeline.hpp"
#include "emulator/race_log.hpp"
#include "experiment/arrivals.hpp"
#include "experiment/cpus.hpp"
#include "experiment/energy.hpp"
#include "policy/observer.hpp"
#include "policy/policy.hpp"
#include "runtime/application.hpp"

namespace gpumux::experiment {

/// An application of a run: a name for results, an identity for caches, and a function that creates it.
struct AppSpec {
  std::string text;      // as typed: "hotspot:size=256", "k.ptx:scale"
  std::string name;      // "hotspot", "k.ptx:scale"
  std::string identity;  // all that determines its behaviour: parameters, content of its files
  using Create = std::function<std::unique_ptr<runtime::Application>(std::uint64_t seed)>;
  Create create;
  ArrivalSpec arrivals;                         // when its runs are requested
  std::uint64_t untimed_warp_instructions = 0;  // of one run of a trace (trace/executed.hpp)
  bool live = false;  // its behaviour depends on things unknown here, so no run of it is cached
  /// Creates the application for runs beside the requested one, whose output files are not wanted. Empty: as
  /// `create`.
  Create create_aside;
  [[nodiscard]] AppSpec aside() const;
  /// Sets the arrivals, and adds them to the identity.
  void use(const ArrivalSpec& spec);
  /// Adds a goal to the arrivals and to `text`. Throws UserError if the application has a goal already.
  void give_goal(const GoalSpec& goal);
  /// A copy of the application without arrivals, which runs all the time. Profiles use it.
  [[nodiscard]] AppSpec without_arrivals() const;
};

/// A built-in application by "name" or "name:key=value,...". Throws UserError.
[[nodiscard]] AppSpec builtin_app(std::string_view text);

/// Default of RunSpec::audit: true in builds with GPUMUX_DEBUG_CHECKS and, for tests of other builds, if the
/// environment has GPUMUX_AUDIT.
[[nodiscard]] bool audit_by_default();

inline constexpr Cycle kInstructionCheck = 4096;

struct RunSpec {
  arch::MachineConfig machine;
  std::vector<AppSpec> apps;
  std::vector<CpuProgram> cpus;  // by core of the machine; enough for simulate_under(), without `apps`
  CpuSpan cpu_span;
  double alpha = 0.5;  // Metrics::alpha of the result; does not affect the simulation
  policy::PolicyChoice policy;
  std::uint64_t seed = 1;
  Cycle cycles = 0;  // limit; 0: the run ends when each application has completed once
  /// An application also counts as ended once it has executed this many thread instructions, checked every
  /// kInstructionCheck cycles. Its IPC is then that up to this moment. 0: no such limit.
  std::uint64_t instructions = 0;
  unsigned threads = 1;
  bool verify = false;        // check every completed run of each application
  bool no_skip = false;       // visit every window, even if nothing can happen (for tests)
  Cycle series = 0;           // interval of RunResult::series in core cycles; 0: no series
  bool timeline = false;      // record RunResult::timeline
  bool ledger = false;        // keep the ledger of interference (experiment/ledger.hpp)
  std::vector<SmId> viewed;   // SMs, in ascending order, whose warps are viewed in each cycle (docs/views.md)
  bool device_output = true;  // print to standard output what kernels print
  /// Look for races of kernels (docs/races.md). Does not affect the simulation.
  std::optional<emulator::RaceMode> races;
  /// End with the machine's conservation checks, which throw InternalError.
  bool audit = audit_by_default();
  /// Folder for the isolated runs of policies' profiles (experiment/profile.hpp); empty: not kept.
  std::string cache_folder;
  /// Called from time to time with the present cycle, from the calling thread.
  std::function<void(Cycle)> progress;
  /// Called more often than `progress`, first when the host programs have started. True: the run ends there,
  /// as at a cycle limit.
  std::function<bool(Cycle)> stop;
  /// Observers of the run, in addition to those for `series` and `timeline`. They change nothing.
  std::vector<std::shared_ptr<policy::Observer>> observers;
};

/// The run's machine with the changes that levels of its policy make (`warps=`).
[[nodiscard]] arch::MachineConfig effective_machine(const RunSpec& spec);

/// The effects of the memory scheme on one application.
struct MemoryReport {
  std::uint32_t peak_in_flight = 0;                                   // memory instructions on one SM
  std::uint32_t lowest_limit = arch::kNoMemoryLimit;                  // of any SM at any time
  std::uint64_t limit_updates = 0, quota_rounds = 0;                  // sums over SMs
  std::vector<std::uint32_t> limits, requests_per_instruction, ways;  // by SM, at the end of the run
};

struct AppResult {
  std::string app;
  arch::KernelCounters counters;                // sums over SMs and kernels
  arch::MemoryCounters memory_counters;         // sums over partitions
  std::uint64_t untimed_warp_instructions = 0;  // as in AppSpec
  std::uint64_t completions = 0;
  Cycle first_completion = 0;  // end of the first completed run; 0: none completed
  Cycle active_cycles = 0;     // cycles that count for its IPC: all, or until it counted as ended
  std::optional<std::uint64_t>
      active_instructions;  // thread instructions in active_cycles, if the application counted as ended
  std::optional<MemoryReport> memory;  // of runs with a memory scheme
  std::optional<RequestResult>
      requests;                    // of an application that gives arrival times of its runs, or a deadline
  Cycle under_way_cycles = 0;      // cycles with a run of it in progress
  std::optional<GoalResult> goal;  // of an application with a goal
  bool host_order_varies = false;  // as in runtime::Application: another run may give another result
  [[nodiscard]] double ipc() const {
    return active_cycles == 0
               ? 0.0
               : static_cast<double>(active_instructions.value_or(counters.useful_instructions())) /
                     static_cast<double>(active_cycles);
  }
};

/// All launches of one kernel in a run.
struct KernelResult {
  AppId app = 0;
  std::string name;
  workload::BlockResources resources;   // resources of a block
  std::uint32_t max_blocks_per_sm = 0;  // on an empty SM
  double switch_cycles = 0;             // to save contexts of max_blocks_per_sm blocks (preemption/cost.hpp)
  std::optional<bool> idempotent;       // by static analysis, if the policy asks for it
  std::uint64_t launches = 0;
  std::uint64_t blocks = 0;              // completed blocks
  std::uint64_t block_cycles = 0;        // cycles that completed blocks were on SMs
  std::uint64_t block_instructions = 0;  // warp instructions of completed blocks
  Cycle cycles = 0;                      // sum over launches, from first block to end of the last
};

/// Waits between CPU cores (all together) and applications, from a ledger. Waits in a mesh's routers are not
/// recorded.
struct CpuWaits {
  std::uint64_t requests = 0;               // sent by CPU cores
  std::vector<arch::PairCounters> of_app;   // an application's waits for CPU cores
  std::vector<arch::PairCounters> for_app;  // CPU cores' waits for an application
  arch::PairCounters among;                 // CPU cores' waits for other cores
  /// Subtracts the waits at an earlier time of the same run.
  void subtract(const CpuWaits& earlier);
};

struct RunResult {
  std::string machine;
  std::uint32_t sms = 0;  // of the machine
  std::string policy;
  Cycle cycles = 0;
  std::uint64_t seed = 0;
  double wall_seconds = 0;
  std::vector<AppResult> apps;
  std::vector<CpuResult> cpus;  // of cores with a program
  /// The cycle at which the applications started, after the warm-up of CPU cores. `cycles` and all counters
  /// start from there.
  Cycle begin = 0;
  std::vector<KernelResult> kernels;  // in the order of their first launches
  arch::KernelCounters gpu;
  arch::SchedulerCounters schedulers;
  arch::PartitionCounters partitions;
  std::vector<arch::PairCounters> pairs;  // as in arch::CounterTable
  double cycles_of_dram_clock = 1;        // core cycles
  std::uint32_t schedulers_per_sm = 1;
  std::vector<arch::LedgerAppCounters> ledger;   // as in arch::CounterTable; empty: no ledger was kept
  std::optional<CpuWaits> cpu_waits;             // of a ledger with CPU cores
  std::vector<arch::CounterTable::OfSm> viewed;  // as in arch::CounterTable, for RunSpec::viewed
  /// Counters, as "scope.name", that a result written by an older program does not have. All output leaves
  /// them out.
  std::set<std::string> absent;
  double dram_bandwidth_utilization = 0;  // bytes moved / (peak bytes per second x simulated time)
  double alu_utilization = 0;             // occupied unit cycles / (units x cycles) of SP, INT, DP, SFU
  std::uint64_t powered_sm_cycles = 0;    // cycles that SMs were powered, summed over SMs
  std::optional<Energy> energy;           // of a machine with known energies
  arch::Series series;                    // for RunSpec::series
  std::optional<arch::Timeline> timeline;
  policy::Report policy_report;
  std::optional<emulator::RaceLog> races;  // for RunSpec::races
};

/// Parses SMs for RunSpec::viewed: numbers from 0 on and ranges, "0,4-7", or "all". Throws UserError for SMs
/// that a machine with `sms` SMs does not have.
[[nodiscard]] std::vector<SmId> parse_sms(std::string_view text, std::uint32_t sms);

/// Sets the counters of the result from a table of as many applications.
void set_counters(RunResult& result, const arch::CounterTable& table);

/// Performs the run. Throws UserError, SimulationFault (with the watchdog's report), InternalError.
[[nodiscard]] RunResult simulate(const RunSpec& spec);
/// Performs the run under `policy`, which gets no profiles. spec.policy has the settings of levels and the
/// name.
[[nodiscard]] RunResult simulate_under(const RunSpec& spec, std::unique_ptr<policy::Policy> policy);

/// Metrics of Eyerman and Eeckhout as the papers use them. `isolated[i]` is the IPC of application i alone.
/// All metrics are empty if an application made no progress alone; `antt` also if it made none in the shared
/// run.
struct Metrics {
  std::vector<std::optional<double>> normalized_ipc;
  std::optional<CpuMetrics> cpus;  // of runs with CPU cores and their baselines
  double alpha = 0.5;              // weight of the applications in overall_speedup(), 0..1
  std::optional<double> weighted_speedup;
  std::optional<double> antt;
  std::optional<double> stp;
  std::optional<double> fairness;
  /// SU_GPU of kayiran14, section 5: the mean of the applications' normalized IPC.
  [[nodiscard]] std::optional<double> gpu_speedup() const;
  /// OSS: (1 - alpha) WS_CPU + alpha SU_GPU.
  [[nodiscard]] std::optional<double> overall_speedup() const;
};
[[nodiscard]] Metrics metrics(const std::vector<double>& shared, const std::vector<double>& isolated);

/// The isolated run of application `index` that is its baseline, with the same machine, cycle limit, warp
/// scheduler and inputs. The left-over policy gives the application the whole GPU. (Inputs follow from the
/// run's seed, whatever the application's position.)
[[nodiscard]] RunSpec isolated_run(const RunSpec& spec, std::size_t index);
/// Performs an isolated run from isolated_run(), or takes it from the cache. A simulated run is added to the
/// cache; an empty folder name keeps nothing.
[[nodiscard]] Alone run_alone(const RunSpec& spec, const std::string& cache_folder);
/// Returns RunSpec::progress for the isolated run of an application.
using ProgressOf = std::function<std::function<void(Cycle)>(const std::string& app)>;
/// IPC of each application alone, with the same machine, cycle limit, seed and warp scheduler. Runs come from
/// the cache, or are simulated and kept there; an empty folder name keeps nothing.
[[nodiscard]] std::vector<double> isolated_ipcs(const RunSpec& spec, const std::string& cache_folder,
                                                const ProgressOf& progress = {});

/// The isolated run of one core's program that is its baseline: no application, no other core.
[[nodiscard]] RunSpec isolated_cpu_run(const RunSpec& spec, std::size_t core);
/// IPC of each program of spec.cpus alone on its core, without applications. Equal programs are simulated
/// once, on their first core. Cores without a program are left out. The cache is used as in isolated_ipcs().
[[nodiscard]] std::vector<double> isolated_cpu_ipcs(const RunSpec& spec, const std::string& cache_folder,
                                                    const ProgressOf& progress = {});

/// The document of `--json`, schema gpumux.result/1, with `series` if the run has one.
[[nodiscard]] std::string result_json(const RunResult& result, const std::vector<double>& isolated,
                                      const Metrics& metrics);

}  // namespace gpumux::experiment
