// Kernels of the emulator's tests, run to their ends: by the emulator alone, or, where the environment has
// GPUMUX_TIMED, on a simulated GPU. What the emulator executes the machine has to, and with the same values.
#pragma once

#include <cstdint>
#include <memory>

#include "workload/stream.hpp"

namespace gpumux::emulator::test {

[[nodiscard]] bool is_timed();
/// Warp instructions executed. Throws SimulationFault.
std::uint64_t execute(std::unique_ptr<workload::KernelSource> kernel);

}  // namespace gpumux::emulator::test
