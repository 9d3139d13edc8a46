// Addresses of surface accesses (docs/textures.md).
#pragma once

#include "emulator/addresses.hpp"

namespace gpumux::emulator {

/// Computes the device addresses of the lanes' accesses of `bytes` each. Returns the lanes whose access takes
/// place: with .zero, accesses out of bounds do not. Throws SimulationFault for a lane out of bounds with
/// .trap, and for x that is no multiple of the access size.
[[nodiscard]] LaneMask place_on_surface(Addresses& addresses, const Warp& warp, const Op& op, LaneMask lanes,
                                        u32 bytes);
/// Records a surface access in which no lane accesses memory.
void keep_no_access(Warp& warp);

}  // namespace gpumux::emulator
