// A database that no process writes: reading its bytes, and creating a new one.
#pragma once

#include <cstdint>
#include <string>

namespace gpumux::database {

/// Bytes of a database, from sqlite3_malloc64; or none.
struct Bytes {
  unsigned char* data = nullptr;
  std::int64_t size = 0;
};

/// The whole database at one moment, with write-ahead mode turned off; free with sqlite3_free.
/// Nothing if a log with rows exists beside the file, or if the file changes meanwhile, is not a database, or
/// has more than kMostAtRest bytes. A reader of these bytes creates no -wal and -shm files, which a signal
/// could leave behind.
[[nodiscard]] Bytes read_at_rest(const std::string& path);
inline constexpr std::int64_t kMostAtRest = std::int64_t{256} << 20U;

/// Creates the file with the tables of migrations(), completely or not at all. False, without creating it, if
/// the name exists by now, if the log of an older database exists, or if the file system has no links. Throws
/// UserError if the file cannot be written.
bool make_new(const std::string& path);

}  // namespace gpumux::database
