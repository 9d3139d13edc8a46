// Memory at generic addresses, as services of the run time read and write it on behalf of a lane.
#pragma once

#include "base/types.hpp"
#include "emulator/warp.hpp"

namespace gpumux::emulator {

/// Fault as a load or store of the lane would.
void read_generic(const Warp& warp, std::uint32_t lane, Address address, void* to, std::uint32_t bytes);
void write_generic(const Warp& warp, std::uint32_t lane, Address address, const void* from,
                   std::uint32_t bytes);

}  // namespace gpumux::emulator
