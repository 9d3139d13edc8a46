// What the CPU cores of a run execute, and how they are measured beside its applications.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "arch/config.hpp"
#include "arch/statistics.hpp"
#include "cpu/config.hpp"
#include "cpu/trace/source.hpp"

namespace gpumux::machine {
class Gpu;
}

namespace gpumux::experiment {

/// A program of one CPU core: a name for results, and what determines its instructions.
struct CpuProgram {
  std::string name;      // empty: the core has none
  std::string identity;  // of files their content
  std::function<std::unique_ptr<cpu::TraceSource>(std::uint64_t seed, std::uint32_t core)> create;
};

/// Programs by core, as users write them: separated by commas, each a mix of kayiran14's Table IV (H2, for as
/// many cores as are left), an application of its Table III (mcf), a ChampSim trace (a path with a '.' or
/// '/'), or - for none; NAME*N for N cores. Relative paths are relative to `folder`. Throws UserError for
/// what is unknown, and for more than `cores`.
[[nodiscard]] std::vector<CpuProgram> parse_cpus(std::string_view text, std::uint32_t cores,
                                                 const std::string& folder = "");
/// Cores with a program, rising: those of which there are results.
[[nodiscard]] std::vector<std::uint32_t> cores_with_program(const std::vector<CpuProgram>& cpus);

/// How long CPU cores are simulated (kayiran14, section 5).
struct CpuSpan {
  std::uint64_t warm_up = 100'000;       // instructions of the slowest core before the applications begin
  std::uint64_t instructions = 500'000;  // of each core that count from there on
};
inline constexpr Cycle kCpuCheck = 1024;  // GPU core cycles between two looks at it

struct CpuResult {
  std::uint32_t core = 0;
  std::string program;
  cpu::Counters counters;                // of the instructions that count
  arch::MemoryCounters memory_counters;  // of its lines in the partitions, since measurement began
  [[nodiscard]] double ipc() const {
    return counters.cycles == 0
               ? 0
               : static_cast<double>(counters.instructions) / static_cast<double>(counters.cycles);
  }
  /// Misses of its L2 per thousand instructions; nothing before the first.
  [[nodiscard]] std::optional<double> l2_mpki() const;
  /// Mean CPU cycles from a read request to its reply; nothing before the first.
  [[nodiscard]] std::optional<double> memory_latency() const;
};

/// Those of a run, in their phases: warm-up until the slowest has come so far, then measurement until the
/// slowest has; the others go on meanwhile.
class CpuRun {
 public:
  CpuRun(machine::Gpu& gpu, const std::vector<CpuProgram>& programs, const CpuSpan& span);
  [[nodiscard]] bool warm() const;
  /// From now on instructions count.
  void begin();
  /// Each core has executed all that count.
  [[nodiscard]] bool done() const;
  /// Throws SimulationFault when a core has executed nothing for watchdog_cycles.
  void expect_progress();
  /// Requests of all cores so far.
  [[nodiscard]] std::uint64_t requests() const;
  /// What each has executed of it by now.
  [[nodiscard]] std::vector<CpuResult> results() const;

 private:
  struct Core {
    std::uint32_t index;
    std::string program;
    cpu::Counters begin;
    arch::MemoryCounters memory_begin;
    std::uint64_t seen_instructions = 0;  // by expect_progress()
    Cycle seen = 0;                       // when it had executed more
  };
  machine::Gpu& gpu_;
  CpuSpan span_;
  std::vector<Core> cores_;
};

/// kayiran14, section 5. `alone` are IPCs of the same programs alone on their cores, as CpuResult.
struct CpuMetrics {
  std::vector<double> alone;           // as given
  std::vector<double> normalized_ipc;  // by core with a program
  double weighted_speedup = 0;         // WS_CPU: their sum
};
[[nodiscard]] CpuMetrics cpu_metrics(const std::vector<CpuResult>& shared, const std::vector<double>& alone);

}  // namespace gpumux::experiment
