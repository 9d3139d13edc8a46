// The tables of a results database, and how older ones become new ones. docs/sweeps.md describes every
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
/// The first version with CPU cores, and with the metrics of runs that have some.
inline constexpr int kCpuVersion = 4;
/// PRAGMA application_id: "gpmx".
inline constexpr int kApplicationId = 0x67706d78;

/// What makes schema version i + 1 of version i.
using Migrations = std::span<const char* const>;
[[nodiscard]] Migrations migrations();

/// Brings a new, empty or older database to the last of `steps`, in one transaction, and turns the
/// write-ahead log on. Throws UserError for a database of something else, and for one of a newer schema.
void migrate(Connection& connection, Migrations steps = migrations());

/// The first table or column of the database's schema version that is not there; nothing when all are.
[[nodiscard]] std::optional<std::string> missing_in_schema(Connection& connection);

/// Throws UserError unless this is a results database of this program's schema or an older one: for readers
/// that do without what older ones lack. Returns its version.
std::int64_t check_readable(Connection& connection);

}  // namespace gpumux::database
