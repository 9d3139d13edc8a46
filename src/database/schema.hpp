// The tables of a results database, and the migration of older databases. docs/sweeps.md describes every
// column.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "database/sqlite.hpp"

namespace gpumux::database {

/// PRAGMA user_version of the databases that this program writes.
inline constexpr int kSchemaVersion = 4;
/// The first version with series and timelines.
inline constexpr int kSeriesVersion = 2;
/// The first version with counters of pairs of applications.
inline constexpr int kPairVersion = 3;
/// The first version with CPU cores and with metrics of runs that have CPU cores.
inline constexpr int kCpuVersion = 4;
/// PRAGMA application_id: "gpmx".
inline constexpr int kApplicationId = 0x67706d78;

/// Step i migrates from schema version i to i + 1.
using Migrations = std::span<const char* const>;
[[nodiscard]] Migrations migrations();

/// Brings a new, empty or older database to the version after the last of `steps`, in one transaction, and
/// turns on the write-ahead log. Throws UserError for databases of other programs or of a newer schema.
void migrate(Connection& connection, Migrations steps = migrations());

/// The first missing table or column of the database's own schema version; nothing if none is missing.
[[nodiscard]] std::optional<std::string> missing_in_schema(Connection& connection);

/// Returns the schema version. For readers that also accept older schemas: throws UserError unless this is a
/// results database of this program's schema or an older one.
std::int64_t check_readable(Connection& connection);

}  // namespace gpumux::database
