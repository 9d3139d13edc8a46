// Phases of a kernel: stretches of code in which no instruction reads the result of a long-latency
// instruction of the same stretch. Source: awatramani17 sections 3.3.1 and 3.4.2.1.
#pragma once

#include <cstdint>
#include <vector>

#include "isa/timing_class.hpp"

namespace gpumux::isa {

/// Resolution of the distance to the end of the phase that is annotated to an instruction (section 3.4.2.2).
struct PhaseAnnotation {
  std::uint32_t most = 512;  // limit in cycles; longer distances are stored as this value
  std::uint32_t unit = 1;    // cycles to whose multiples distances are rounded up
};

struct Phase {
  std::uint32_t first = 0;   // pc
  std::uint32_t end = 0;     // pc after its last instruction
  std::uint32_t length = 0;  // cycles from its first instruction to its end
  friend bool operator==(const Phase&, const Phase&) = default;
};

/// The phases of `table` in its order. A phase starts with a basic block: at a kLeader, and after an
/// instruction that may redirect or hold a warp. A phase also starts at an instruction that reads or
/// overwrites a register which the phase has loaded from outside the SM, atomic operations included. Shared
/// memory and constants answer within the SM and start no phase. In traces, only code after a gap is known to
/// be a branch target. `cycles`: by pc, the cycles that the instruction adds to its phase's length.
[[nodiscard]] std::vector<Phase> find_phases(const std::vector<StaticInst>& table,
                                             const std::vector<std::uint32_t>& cycles);

/// By pc, the cycles from the instruction, its own included, to the end of its phase, rounded and limited by
/// `annotation`.
[[nodiscard]] std::vector<std::uint16_t> phase_distances(const std::vector<Phase>& phases,
                                                         const std::vector<std::uint32_t>& cycles,
                                                         const PhaseAnnotation& annotation = {});

}  // namespace gpumux::isa
