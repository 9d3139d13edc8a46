// A database that nobody writes: its bytes, and how a new one comes to be.
#pragma once

#include <cstdint>
#include <string>

namespace gpumux::database {

/// Bytes of a database, from sqlite3_malloc64, or nothing.
struct Bytes {
  unsigned char* data = nullptr;
  std::int64_t size = 0;
};

/// The whole database as of one moment, its write-ahead mode turned off; to be freed by sqlite3_free. Nothing
/// when a log with rows lies beside the file, it changes meanwhile, is no database, or has more than
/// kMostAtRest bytes. A reader of these bytes makes no -wal and -shm, which a signal could leave behind.
[[nodiscard]] Bytes read_at_rest(const std::string& path);
inline constexpr std::int64_t kMostAtRest = std::int64_t{256} << 20U;

/// Makes the file with the tables of migrations(), complete or not at all. False, and nothing is made, when
/// something has the name by now, the log of an older database lies there, or the file system has no links.
/// Throws UserError when it cannot be written.
bool make_new(const std::string& path);

}  // namespace gpumux::database
