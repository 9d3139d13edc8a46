// Phases of a kernel: stretches of code none of whose instructions reads what a long-latency instruction of
// the same stretch has written. Source: awatramani17 sections 3.3.1 and 3.4.2.1.
#pragma once

#include <cstdint>
#include <vector>

#include "isa/timing_class.hpp"

namespace gpumux::isa {

/// What the annotation of an instruction holds of its distance to its phase's end (section 3.4.2.2).
struct PhaseAnnotation {
  std::uint32_t most = 512;  // cycles beyond which distances are not told apart
  std::uint32_t unit = 1;    // cycles that they are rounded up to
};

struct Phase {
  std::uint32_t first = 0;   // pc
  std::uint32_t end = 0;     // pc behind its last instruction
  std::uint32_t length = 0;  // cycles from its first instruction to its end
  friend bool operator==(const Phase&, const Phase&) = default;
};

/// The phases of `table`, in its order. A phase begins with a basic block (kLeader, and behind what may
/// redirect or hold a warp) and at an instruction that reads or overwrites what a load from outside the SM,
/// or an atomic operation there, has brought in the phase; shared memory and constants answer within the SM.
/// In traces, where a branch leads is known only of code behind a gap. `cycles`: by pc, what each instruction
/// adds to its phase's length.
[[nodiscard]] std::vector<Phase> find_phases(const std::vector<StaticInst>& table,
                                             const std::vector<std::uint32_t>& cycles);

/// By pc: cycles from the instruction to the end of its phase, its own included, as far as the annotation
/// holds them.
[[nodiscard]] std::vector<std::uint16_t> phase_distances(const std::vector<Phase>& phases,
                                                         const std::vector<std::uint32_t>& cycles,
                                                         const PhaseAnnotation& annotation = {});

}  // namespace gpumux::isa
