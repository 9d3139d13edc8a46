// What sharing costs an application, from the ledger of interference: parts of its time by culprit and place.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "arch/ledger_places.hpp"
#include "experiment/run.hpp"

namespace gpumux::experiment {

/// A place where applications meet.
using Place = arch::LedgerPlace;
[[nodiscard]] const std::vector<Place>& ledger_places();

/// Cycles that the culprit cost the victim at a place.
struct LostCycles {
  std::size_t victim = 0;
  std::size_t culprit = 0;  // one more than the last application: CPU cores
  std::size_t place = 0;    // of ledger_places()
  double share = 0;         // of the cycles in which schedulers had warps of the victim; 0 to 1
};

/// All that are more than nothing, by victim, then culprit, then place. A wait of the issue stage is a lost
/// cycle. Cycles in which a victim's schedulers wait for memory are lost as far as its memory instructions'
/// time is made of waits for others, as a mean over all of them.
[[nodiscard]] std::vector<LostCycles> lost_cycles(const RunResult& result);

/// Their sum over culprits and places: 0 to 1.
[[nodiscard]] double lost_share(const std::vector<LostCycles>& lost, std::size_t victim);

/// How long a request of a CPU core has waited for a culprit at a place, as a mean over all of them, in GPU
/// core cycles.
struct CpuWait {
  std::size_t culprit = 0;  // application, or one more than the last: other CPU cores
  std::size_t place = 0;
  double cycles = 0;
};
/// All that are more than nothing, by culprit, then place.
[[nodiscard]] std::vector<CpuWait> cpu_waits(const RunResult& result);

/// "sgemm lost 31.0% of its cycles to lbm: 22.1% DRAM bus, 6.0% L1 MSHRs and miss queue", a line for each
/// pair with at least a thousandth; places of less are left out.
[[nodiscard]] std::string ledger_lines(const RunResult& result);

}  // namespace gpumux::experiment
