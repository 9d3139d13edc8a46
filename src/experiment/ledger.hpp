// Cost of sharing for an application, from the ledger of interference: parts of its time by culprit and
// place.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "arch/ledger_places.hpp"
#include "experiment/run.hpp"

namespace gpumux::experiment {

/// A place in the machine where applications wait for each other.
using Place = arch::LedgerPlace;
[[nodiscard]] const std::vector<Place>& ledger_places();

/// Part of the victim's cycles that the culprit cost it at a place.
struct LostCycles {
  std::size_t victim = 0;
  std::size_t culprit = 0;  // application; CPU cores: one more than the last application
  std::size_t place = 0;    // index in ledger_places()
  double share = 0;         // of the cycles in which schedulers had warps of the victim, 0 to 1
};

/// All nonzero losses, by victim, then culprit, then place.
/// A wait in the issue stage is a lost cycle. A cycle in which the victim's schedulers wait for memory counts
/// in part: by the fraction of its memory instructions' time that is waits for others, as a mean over all
/// memory instructions.
[[nodiscard]] std::vector<LostCycles> lost_cycles(const RunResult& result);

/// Sum of the victim's losses over culprits and places, 0 to 1.
[[nodiscard]] double lost_share(const std::vector<LostCycles>& lost, std::size_t victim);

/// Mean wait of a CPU core's request for a culprit at a place, in GPU core cycles, over all requests of CPU
/// cores.
struct CpuWait {
  std::size_t culprit = 0;  // application; other CPU cores: one more than the last application
  std::size_t place = 0;
  double cycles = 0;
};
/// All nonzero waits of CPU cores, by culprit, then place.
[[nodiscard]] std::vector<CpuWait> cpu_waits(const RunResult& result);

/// The losses as text: "sgemm lost 31.0% of its cycles to lbm: 22.1% DRAM bus, 6.0% L1 MSHRs and miss queue".
/// Each pair with at least a thousandth has a line; places with less are left out.
[[nodiscard]] std::string ledger_lines(const RunResult& result);

}  // namespace gpumux::experiment
