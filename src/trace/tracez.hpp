// Accel-Sim's .tracez: a kernel's trace with the instructions of each warp compressed apart.
#pragma once

#include <memory>
#include <string>

#include "base/byte_stream.hpp"

namespace gpumux::trace {

/// The text that the same trace has as a .traceg: a header up to a zero byte, then by an index at the end of
/// the file the blocks, whose warps are Zstandard frames with a common dictionary. Throws UserError for a
/// file that cannot be opened; read() throws a DamagedFile.
[[nodiscard]] std::unique_ptr<ByteStream> open_tracez(const std::string& path);

}  // namespace gpumux::trace
