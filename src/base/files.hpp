// Reading and writing whole files.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace gpumux {

/// Limit for text files in bytes: 256 MiB, more than any hand-written text or PTX file of a compiler.
inline constexpr std::uint64_t kMostText = std::uint64_t{256} << 20U;

/// Reads a whole file. Throws UserError that names the path when the file cannot be read or has more than
/// `most` bytes. The limit also stops devices and pipes without an end. With `most` = 0, regular files have
/// no limit, and anything else has kMostText.
[[nodiscard]] std::string read_file(const std::string& path, std::uint64_t most = kMostText);

/// The path of the file that a new file `path` would replace by rename(): `path`, or the target of its links.
/// Nothing for a device, a pipe or a terminal, which are written to directly.
[[nodiscard]] std::optional<std::string> replaceable(const std::string& path);

/// Writes to a temporary name in the same folder and renames the file, so that a reader sees either the old
/// file or the complete new one. A target that is not replaceable() is written to directly. Throws UserError
/// that names the path.
void write_file_atomically(const std::string& path, std::string_view bytes);

/// Like write_file_atomically(), but never replaces a file. Returns false and writes nothing if the name
/// exists already, or if the file system has no hard links.
bool write_new_file(const std::string& path, std::string_view bytes);

}  // namespace gpumux
