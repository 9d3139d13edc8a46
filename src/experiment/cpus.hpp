// The programs of a run's CPU cores, and their measurement beside the run's applications.
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

/// The program of one CPU core: a name for results, and a source of instructions.
struct CpuProgram {
  std::string name;      // empty: the core has no program
  std::string identity;  // what determines the instructions, with contents of files
  std::function<std::unique_ptr<cpu::TraceSource>(std::uint64_t seed, std::uint32_t core)> create;
};

/// Programs by core, from the user's text. Items are separated by commas; NAME*N is for N cores. An item is a
/// mix of kayiran14's Table IV (H2, for the remaining cores), an application of its Table III (mcf), a
/// ChampSim trace (a path with a '.' or '/'), or - for no program. Relative paths are relative to `folder`.
/// Throws UserError for unknown items, and for more programs than `cores`.
[[nodiscard]] std::vector<CpuProgram> parse_cpus(std::string_view text, std::uint32_t cores,
                                                 const std::string& folder = "");
/// Indices of the cores with a program, in ascending order. Results list these cores.
[[nodiscard]] std::vector<std::uint32_t> cores_with_program(const std::vector<CpuProgram>& cpus);

/// How long CPU cores are simulated (kayiran14, section 5).
struct CpuSpan {
  std::uint64_t warm_up = 100'000;       // instructions of the slowest core before the applications start
  std::uint64_t instructions = 500'000;  // measured instructions of each core after the warm-up
};
inline constexpr Cycle kCpuCheck = 1024;  // GPU core cycles between checks of the phases

struct CpuResult {
  std::uint32_t core = 0;
  std::string program;
  cpu::Counters counters;                // of the measured instructions
  arch::MemoryCounters memory_counters;  // of the core's lines in the partitions, since measurement began
  [[nodiscard]] double ipc() const {
    return counters.cycles == 0
               ? 0
               : static_cast<double>(counters.instructions) / static_cast<double>(counters.cycles);
  }
  /// L2 misses of the core per thousand instructions; nothing without instructions.
  [[nodiscard]] std::optional<double> l2_mpki() const;
  /// Mean CPU cycles from a read request to its reply; nothing without a reply.
  [[nodiscard]] std::optional<double> memory_latency() const;
};

/// The CPU cores of a run, in two phases. Warm-up lasts until the slowest core has executed its instructions,
/// then measurement lasts until the slowest core has executed its own. Faster cores continue meanwhile.
class CpuRun {
 public:
  CpuRun(machine::Gpu& gpu, const std::vector<CpuProgram>& programs, const CpuSpan& span);
  [[nodiscard]] bool warm() const;
  /// Starts the measurement.
  void begin();
  /// True if each core has executed its measured instructions.
  [[nodiscard]] bool done() const;
  /// Throws SimulationFault if a core has executed nothing for watchdog_cycles.
  void expect_progress();
  /// Requests that all cores have sent so far.
  [[nodiscard]] std::uint64_t requests() const;
  /// Results of the measured instructions that each core has executed so far.
  [[nodiscard]] std::vector<CpuResult> results() const;

 private:
  struct Core {
    std::uint32_t index;
    std::string program;
    cpu::Counters begin;
    arch::MemoryCounters memory_begin;
    std::uint64_t seen_instructions = 0;  // by expect_progress()
    Cycle seen = 0;                       // cycle at which it last had executed more
  };
  machine::Gpu& gpu_;
  CpuSpan span_;
  std::vector<Core> cores_;
};

/// Metrics of the CPU cores (kayiran14, section 5). `alone`: IPC of each program alone on its core, as in
/// CpuResult.
struct CpuMetrics {
  std::vector<double> alone;           // as given
  std::vector<double> normalized_ipc;  // by core with a program
  double weighted_speedup = 0;         // WS_CPU: the sum of normalized_ipc
};
[[nodiscard]] CpuMetrics cpu_metrics(const std::vector<CpuResult>& shared, const std::vector<double>& alone);

}  // namespace gpumux::experiment
