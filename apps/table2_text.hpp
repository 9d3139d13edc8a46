// The columns of dai18's Table 2, the paper's beside ours, for `inspect` and for a run of dai18/NAME alone.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "arch/config.hpp"
#include "benchmarks/dai18_table2.hpp"
#include "experiment/run.hpp"

namespace gpumux::cli {

/// Shares of an SM that the blocks that fit take, percent, from the row's metadata (dai18, Table 2).
struct Table2Occupancy {
  double registers = 0;
  double shared = 0;
  double threads = 0;
  double blocks = 0;
};
[[nodiscard]] Table2Occupancy table2_occupancy(const benchmarks::Table2Row& row,
                                               const arch::MachineConfig& machine);

/// What a run alone measured. Nothing where it is a quotient by zero.
struct Table2Measures {
  std::optional<double>
      compute_per_memory;  // instructions that do not go to the load/store unit per one that does
  std::optional<double> requests_per_memory;  // L1 accesses per such instruction that is not of shared memory
  std::optional<double> miss_rate;            // misses, merged ones included, per L1 access
  std::optional<double>
      reservation_failures;           // cycles that the head of the load/store unit failed per L1 access
  std::optional<double> stall_share;  // LSU stall cycles per SM cycle
  char type = 'C';                    // M above database::kMemoryStallShare
};
[[nodiscard]] Table2Measures table2_measures(const experiment::RunResult& run,
                                             const arch::MachineConfig& machine);

/// The row of a built-in application's text ("dai18/bp:inputs=512"); nullptr for others.
[[nodiscard]] const benchmarks::Table2Row* table2_row(const std::string& app);

/// Two lines under a heading. `run`: nullptr leaves ours of the measured columns out.
[[nodiscard]] std::string table2_text(const benchmarks::Table2Row& row, const arch::MachineConfig& machine,
                                      const experiment::RunResult* run, std::optional<std::size_t> width,
                                      bool colour);
/// {"ours": {...}, "paper": {...}} with occupancies as percent.
[[nodiscard]] nlohmann::ordered_json table2_json(const benchmarks::Table2Row& row,
                                                 const arch::MachineConfig& machine);

}  // namespace gpumux::cli
