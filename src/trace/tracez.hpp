// Reader of Accel-Sim's .tracez format, in which the instructions of each warp are compressed separately.
#pragma once

#include <memory>
#include <string>

#include "base/byte_stream.hpp"

namespace gpumux::trace {

/// Opens a .tracez file as the text of the equivalent .traceg file. The file has a header up to a zero byte,
/// then blocks, and an index at its end. Warps are Zstandard frames with a common dictionary. Throws
/// UserError for a file that cannot be opened. read() throws DamagedFile.
[[nodiscard]] std::unique_ptr<ByteStream> open_tracez(const std::string& path);

}  // namespace gpumux::trace
