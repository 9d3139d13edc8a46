// Reading and writing whole files.
#pragma once

#include <string>
#include <string_view>

namespace gpumux {

/// The file's bytes. Throws UserError that names the path when it cannot be read.
[[nodiscard]] std::string read_file(const std::string& path);

/// Writes to a temporary name in the same folder and renames it, so that a reader sees the old file
/// or the whole new one. Throws UserError that names the path.
void write_file_atomically(const std::string& path, std::string_view bytes);

}  // namespace gpumux
