// Where accesses to surfaces go: docs/textures.md.
#pragma once

#include "emulator/addresses.hpp"

namespace gpumux::emulator {

/// The device addresses of the lanes' accesses of `bytes` each, and which of them take place: with .zero,
/// those outside do not. Throws SimulationFault for a lane outside with .trap, and one whose x is no multiple
/// of what it accesses.
[[nodiscard]] LaneMask place_on_surface(Addresses& addresses, const Warp& warp, const Op& op, LaneMask lanes,
                                        u32 bytes);
/// The record of an access to memory that no lane makes.
void keep_no_access(Warp& warp);

}  // namespace gpumux::emulator
