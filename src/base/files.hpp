// Reading and writing whole files.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace gpumux {

/// The file's bytes. Throws UserError that names the path when it cannot be read.
[[nodiscard]] std::string read_file(const std::string& path);

/// The file that a new one of this name takes the place of by rename(): `path`, or what it leads to as a
/// link. Nothing when it is a device, a pipe or a terminal: these are written to.
[[nodiscard]] std::optional<std::string> replaceable(const std::string& path);

/// Writes to a temporary name in the same folder and renames it, so that a reader sees the old file
/// or the whole new one; what is not replaceable() is written to. Throws UserError that names the path.
void write_file_atomically(const std::string& path, std::string_view bytes);

}  // namespace gpumux
