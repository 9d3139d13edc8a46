// Reading and writing whole files.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace gpumux {

/// What people write by hand is smaller; so is every PTX file that a compiler makes.
inline constexpr std::uint64_t kMostText = std::uint64_t{256} << 20U;

/// The file's bytes. Throws UserError that names the path when it cannot be read, or has more than `most`
/// bytes, as what has no end (a device, a pipe) has: 0 is no limit for files, and kMostText for anything
/// else.
[[nodiscard]] std::string read_file(const std::string& path, std::uint64_t most = kMostText);

/// The file that a new one of this name takes the place of by rename(): `path`, or what it leads to as a
/// link. Nothing when it is a device, a pipe or a terminal: these are written to.
[[nodiscard]] std::optional<std::string> replaceable(const std::string& path);

/// Writes to a temporary name in the same folder and renames it, so that a reader sees the old file
/// or the whole new one; what is not replaceable() is written to. Throws UserError that names the path.
void write_file_atomically(const std::string& path, std::string_view bytes);

/// The same for a name that nothing has yet: false, and nothing is written, when something has it by now, or
/// when the file system knows no hard links.
bool write_new_file(const std::string& path, std::string_view bytes);

}  // namespace gpumux
