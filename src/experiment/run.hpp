// One simulation from its description to its figures, and the isolated baselines beside it.
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

/// An application of a run: a name for results, what identifies it for caches, and how to make it.
struct AppSpec {
  std::string text;      // as typed: "hotspot:size=256", "k.ptx:scale"
  std::string name;      // "hotspot", "k.ptx:scale"
  std::string identity;  // everything that determines its behaviour: parameters, content of its files
  using Create = std::function<std::unique_ptr<runtime::Application>(std::uint64_t seed)>;
  Create create;
  ArrivalSpec arrivals;                         // when its runs are asked for
  std::uint64_t untimed_warp_instructions = 0;  // of a run of a trace (trace/executed.hpp)
  bool live = false;  // what else determines its behaviour cannot be known: no run of it is kept
  /// For runs beside the one that was asked for, whose output files nobody wants. Empty: as create.
  Create create_aside;
  [[nodiscard]] AppSpec aside() const;
  /// They belong to what determines its behaviour.
  void use(const ArrivalSpec& spec);
  /// Beside what it says of itself, and in its text. Throws UserError: it has one.
  void give_goal(const GoalSpec& goal);
  /// Running all the time, as profiles want it.
  [[nodiscard]] AppSpec without_arrivals() const;
};

/// A built-in application by "name" or "name:key=value,...". Throws UserError.
[[nodiscard]] AppSpec builtin_app(std::string_view text);

/// In builds with GPUMUX_DEBUG_CHECKS and, for tests of other builds, when the environment has GPUMUX_AUDIT.
[[nodiscard]] bool audit_by_default();

inline constexpr Cycle kInstructionCheck = 4096;

struct RunSpec {
  arch::MachineConfig machine;
  std::vector<AppSpec> apps;
  std::vector<CpuProgram> cpus;  // by core of the machine; may be the only ones of simulate_under()
  CpuSpan cpu_span;
  double alpha = 0.5;  // Metrics::alpha of its result: no cycle depends on it
  policy::PolicyChoice policy;
  std::uint64_t seed = 1;
  Cycle cycles = 0;  // 0: until the last application has ended once; otherwise they restart until then
  /// An application counts as ended, too, once it has executed so many thread instructions, looked at every
  /// kInstructionCheck cycles; its IPC is that up to its end. 0: no matter how many.
  std::uint64_t instructions = 0;
  unsigned threads = 1;
  bool verify = false;        // check every completed run of each application
  bool no_skip = false;       // visit every window, also where nothing can happen (for tests)
  Cycle series = 0;           // core cycles of an interval of RunResult::series; 0: none
  bool timeline = false;      // make RunResult::timeline
  bool ledger = false;        // keep the ledger of interference (experiment/ledger.hpp)
  std::vector<SmId> viewed;   // SMs, rising, whose warps are looked at in each cycle (docs/views.md)
  bool device_output = true;  // what kernels print goes to standard output
  /// Races of kernels are looked for (docs/races.md): no cycle depends on it.
  std::optional<emulator::RaceMode> races;
  /// Ends with the machine's conservation checks (InternalError when one fails).
  bool audit = audit_by_default();
  /// Where isolated runs for policies' profiles are kept (experiment/profile.hpp); empty: nowhere.
  std::string cache_folder;
  /// Called now and then with the cycle reached, from the calling thread.
  std::function<void(Cycle)> progress;
  /// Asked more often than that, first when the host programs have begun. True: the run ends there, as it
  /// does at a limit.
  std::function<bool(Cycle)> stop;
  /// Who watches it, beside those that `series` and `timeline` ask for. They change nothing.
  std::vector<std::shared_ptr<policy::Observer>> observers;
};

/// The run's machine with what its policy's levels change of it (`warps=`).
[[nodiscard]] arch::MachineConfig effective_machine(const RunSpec& spec);

/// What the memory scheme did for one application.
struct MemoryReport {
  std::uint32_t peak_in_flight = 0;                                   // memory instructions on one SM
  std::uint32_t lowest_limit = arch::kNoMemoryLimit;                  // of any SM at any time
  std::uint64_t limit_updates = 0, quota_rounds = 0;                  // of all SMs
  std::vector<std::uint32_t> limits, requests_per_instruction, ways;  // by SM, at the end of the run
};

struct AppResult {
  std::string app;
  arch::KernelCounters counters;                // sums over SMs and kernels
  arch::MemoryCounters memory_counters;         // sums over partitions
  std::uint64_t untimed_warp_instructions = 0;  // AppSpec's
  std::uint64_t completions = 0;
  Cycle first_completion = 0;  // cycle at which the first run ended; 0: none did
  Cycle active_cycles = 0;     // cycles that count for its IPC: the whole run, or
  std::optional<std::uint64_t>
      active_instructions;  // with RunSpec::instructions, those until it counted as ended, with these
  std::optional<MemoryReport> memory;  // of runs with a memory scheme
  std::optional<RequestResult>
      requests;                    // of an application that says when its runs arrive, or by when they end
  Cycle under_way_cycles = 0;      // in which one of its runs had begun and had not ended
  std::optional<GoalResult> goal;  // of an application that has one
  bool host_order_varies = false;  // runtime::Application's: another run may give another result
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
  workload::BlockResources resources;   // what a block counts for
  std::uint32_t max_blocks_per_sm = 0;  // of an empty SM
  double switch_cycles = 0;             // to save the contexts of so many blocks (policy/preemption/cost.hpp)
  std::optional<bool> idempotent;       // by static analysis, where the policy asks for it
  std::uint64_t launches = 0;
  std::uint64_t blocks = 0;              // that have come to their ends,
  std::uint64_t block_cycles = 0;        // cycles that these were on SMs,
  std::uint64_t block_instructions = 0;  // and warp instructions that they have issued
  Cycle cycles = 0;                      // from first blocks of launches to the ends of their last
};

/// What CPU cores, taken together, and applications have waited for each other: of a ledger. Where packets
/// meet in a mesh's routers it is not taken down.
struct CpuWaits {
  std::uint64_t requests = 0;               // of CPU cores, sent
  std::vector<arch::PairCounters> of_app;   // an application's waits for CPU cores
  std::vector<arch::PairCounters> for_app;  // CPU cores' waits for an application
  arch::PairCounters among;                 // CPU cores' waits for other cores
  /// `earlier`: of the same run.
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
  /// When the applications began: after the CPU cores' warm-up, which is in no counter. `cycles` count from
  /// there.
  Cycle begin = 0;
  std::vector<KernelResult> kernels;  // in the order of their first launches
  arch::KernelCounters gpu;
  arch::SchedulerCounters schedulers;
  arch::PartitionCounters partitions;
  std::vector<arch::PairCounters> pairs;  // as in arch::CounterTable
  double cycles_of_dram_clock = 1;        // core cycles
  std::uint32_t schedulers_per_sm = 1;
  std::vector<arch::LedgerAppCounters> ledger;   // likewise; empty: none was kept
  std::optional<CpuWaits> cpu_waits;             // of a ledger with CPU cores
  std::vector<arch::CounterTable::OfSm> viewed;  // likewise, of RunSpec::viewed
  /// Counters that a result which an older program wrote does not have, as "scope.name": left out of all
  /// output.
  std::set<std::string> absent;
  double dram_bandwidth_utilization = 0;  // bytes moved / (peak bytes per second x simulated time)
  double alu_utilization = 0;             // occupied unit cycles / (units x cycles) of SP, INT, DP, SFU
  std::uint64_t powered_sm_cycles = 0;    // cycles that SMs were powered: the sum over them
  std::optional<Energy> energy;           // of a machine that says what events take
  arch::Series series;                    // of RunSpec::series
  std::optional<arch::Timeline> timeline;
  policy::Report policy_report;
  std::optional<emulator::RaceLog> races;  // of RunSpec::races
};

/// SMs, as users name them for RunSpec::viewed: numbers from 0 on and ranges, "0,4-7", or "all". Throws
/// UserError for what a machine of so many SMs has not.
[[nodiscard]] std::vector<SmId> parse_sms(std::string_view text, std::uint32_t sms);

/// The counters of the table, which is of as many applications.
void set_counters(RunResult& result, const arch::CounterTable& table);

/// Runs it. Throws UserError, SimulationFault (with the watchdog's report), InternalError.
[[nodiscard]] RunResult simulate(const RunSpec& spec);
/// The same under this policy, which is given no profiles; spec.policy has the level settings and the name.
[[nodiscard]] RunResult simulate_under(const RunSpec& spec, std::unique_ptr<policy::Policy> policy);

/// Metrics of Eyerman and Eeckhout as the papers use them. `isolated[i]` is the IPC of application i
/// alone. A metric is empty when an application made no progress.
struct Metrics {
  std::vector<std::optional<double>> normalized_ipc;
  std::optional<CpuMetrics> cpus;  // of runs with CPU cores that have baselines
  double alpha = 0.5;              // importance of the applications in overall_speedup(), 0..1
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

/// The run of application `index` alone that is its baseline: the same machine, cycle limit and warp
/// scheduler, the same inputs (every application makes them from the run's seed, wherever it stands), and the
/// whole GPU, which the left-over policy gives to whoever is alone.
[[nodiscard]] RunSpec isolated_run(const RunSpec& spec, std::size_t index);
/// An application alone, `spec` being what isolated_run() gives: from the cache when it holds it, else
/// simulated and kept. An empty folder name keeps nothing.
[[nodiscard]] Alone run_alone(const RunSpec& spec, const std::string& cache_folder);
/// What RunSpec::progress is to be for the run of an application alone.
using ProgressOf = std::function<std::function<void(Cycle)>(const std::string& app)>;
/// IPC of each application alone on the same machine with the same cycle limit, seed and warp scheduler:
/// from the cache when it holds them, else simulated and kept. An empty folder name keeps nothing.
[[nodiscard]] std::vector<double> isolated_ipcs(const RunSpec& spec, const std::string& cache_folder,
                                                const ProgressOf& progress = {});

/// The run of one core's program alone that is its baseline: no application, no other core.
[[nodiscard]] RunSpec isolated_cpu_run(const RunSpec& spec, std::size_t core);
/// IPC of each of spec.cpus alone, on its core of the machine and without applications: equal programs are
/// taken as one, on the first core that has it. As isolated_ipcs(); nothing for cores without a program.
[[nodiscard]] std::vector<double> isolated_cpu_ipcs(const RunSpec& spec, const std::string& cache_folder,
                                                    const ProgressOf& progress = {});

/// The document of `--json`, schema gpumux.result/1, with `series` when the run has one.
[[nodiscard]] std::string result_json(const RunResult& result, const std::vector<double>& isolated,
                                      const Metrics& metrics);

}  // namespace gpumux::experiment
