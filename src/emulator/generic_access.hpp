// Accesses to generic addresses by services of the run time on behalf of a lane.
#pragma once

#include "base/types.hpp"
#include "emulator/warp.hpp"

namespace gpumux::emulator {

/// Copies between host memory and a generic address. They fault like a load or store of the lane.
void read_generic(const Warp& warp, std::uint32_t lane, Address address, void* to, std::uint32_t bytes);
void write_generic(const Warp& warp, std::uint32_t lane, Address address, const void* from,
                   std::uint32_t bytes);

}  // namespace gpumux::emulator
