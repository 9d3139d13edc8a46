// Runs kernels of the emulator's tests to completion. The emulator runs them alone or, if the environment
// variable GPUMUX_TIMED is set, on a simulated GPU. The simulated GPU must execute everything that the
// emulator executes, with the same values.
#pragma once

#include <cstdint>
#include <memory>

#include "workload/stream.hpp"

namespace gpumux::emulator::test {

[[nodiscard]] bool is_timed();
/// Runs the kernel. Returns the number of warp instructions. Throws SimulationFault.
std::uint64_t execute(std::unique_ptr<workload::KernelSource> kernel);

}  // namespace gpumux::emulator::test
