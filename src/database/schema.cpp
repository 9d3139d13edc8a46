#include "database/schema.hpp"

#include <fmt/core.h>

#include <map>
#include <string>

#include "base/error.hpp"

namespace gpumux::database {
namespace {

// All columns are deterministic, except wall_seconds, finished_at and the table of claims.
constexpr const char* kVersion1 = R"sql(
CREATE TABLE machines (
  id INTEGER PRIMARY KEY,
  hash TEXT NOT NULL UNIQUE,
  name TEXT NOT NULL,
  toml TEXT NOT NULL
) STRICT;

CREATE TABLE runs (
  id INTEGER PRIMARY KEY,
  hash TEXT NOT NULL UNIQUE,
  state TEXT NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'done', 'failed')),
  machine_id INTEGER NOT NULL REFERENCES machines (id),
  policy TEXT NOT NULL,
  seed INTEGER NOT NULL,
  cycle_limit INTEGER,
  program TEXT NOT NULL,
  cycles INTEGER,
  weighted_speedup REAL,
  antt REAL,
  stp REAL,
  fairness REAL,
  result TEXT,
  exit_code INTEGER,
  error TEXT,
  wall_seconds REAL,
  finished_at TEXT
) STRICT;
CREATE INDEX runs_pending ON runs (state) WHERE state = 'pending';

CREATE TABLE overrides (
  run_id INTEGER NOT NULL REFERENCES runs (id),
  position INTEGER NOT NULL,
  key TEXT NOT NULL,
  value TEXT NOT NULL,
  PRIMARY KEY (run_id, position)
) STRICT, WITHOUT ROWID;

CREATE TABLE apps (
  run_id INTEGER NOT NULL REFERENCES runs (id),
  position INTEGER NOT NULL,
  app TEXT NOT NULL,
  identity TEXT NOT NULL,
  seed INTEGER NOT NULL,
  isolated_run_id INTEGER REFERENCES runs (id),
  ipc REAL,
  ipc_isolated REAL,
  normalized_ipc REAL,
  completions INTEGER,
  PRIMARY KEY (run_id, position)
) STRICT, WITHOUT ROWID;
CREATE INDEX apps_isolated ON apps (isolated_run_id);

CREATE TABLE counters (
  id INTEGER PRIMARY KEY,
  scope TEXT NOT NULL,
  name TEXT NOT NULL,
  unit TEXT NOT NULL,
  meaning TEXT NOT NULL,
  UNIQUE (scope, name)
) STRICT;

CREATE TABLE metrics (
  run_id INTEGER NOT NULL REFERENCES runs (id),
  app INTEGER NOT NULL,
  counter_id INTEGER NOT NULL REFERENCES counters (id),
  value INTEGER NOT NULL,
  PRIMARY KEY (run_id, app, counter_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE sweeps (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  scale TEXT NOT NULL,
  file TEXT NOT NULL,
  toml TEXT NOT NULL,
  UNIQUE (name, scale)
) STRICT;

CREATE TABLE sweep_runs (
  sweep_id INTEGER NOT NULL REFERENCES sweeps (id),
  position INTEGER NOT NULL,
  run_id INTEGER NOT NULL REFERENCES runs (id),
  role TEXT NOT NULL CHECK (role IN ('baseline', 'run')),
  PRIMARY KEY (sweep_id, position)
) STRICT, WITHOUT ROWID;

CREATE TABLE claims (
  run_id INTEGER PRIMARY KEY REFERENCES runs (id),
  host TEXT NOT NULL,
  pid INTEGER NOT NULL,
  started INTEGER NOT NULL,
  heartbeat INTEGER NOT NULL
) STRICT;
)sql";

// `samples`: a JSON array of numbers, one per interval from cycle 0. `trace`: a Chrome trace.
constexpr const char* kVersion2 = R"sql(
CREATE TABLE series (
  run_id INTEGER NOT NULL REFERENCES runs (id),
  app INTEGER NOT NULL,
  counter_id INTEGER NOT NULL REFERENCES counters (id),
  interval INTEGER NOT NULL,
  samples TEXT NOT NULL,
  PRIMARY KEY (run_id, app, counter_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE timelines (
  run_id INTEGER PRIMARY KEY REFERENCES runs (id),
  trace TEXT NOT NULL
) STRICT;
)sql";

// Counters of pairs: the effect of one application, the culprit, on another, the victim. Positions are as in
// `apps`.
constexpr const char* kVersion3 = R"sql(
CREATE TABLE pair_metrics (
  run_id INTEGER NOT NULL REFERENCES runs (id),
  victim INTEGER NOT NULL,
  culprit INTEGER NOT NULL,
  counter_id INTEGER NOT NULL REFERENCES counters (id),
  value INTEGER NOT NULL,
  PRIMARY KEY (run_id, victim, culprit, counter_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE pair_series (
  run_id INTEGER NOT NULL REFERENCES runs (id),
  victim INTEGER NOT NULL,
  culprit INTEGER NOT NULL,
  counter_id INTEGER NOT NULL REFERENCES counters (id),
  interval INTEGER NOT NULL,
  samples TEXT NOT NULL,
  PRIMARY KEY (run_id, victim, culprit, counter_id)
) STRICT, WITHOUT ROWID;
)sql";

// CPU cores with a program, and kayiran14's metrics of runs with CPU cores (experiment::Metrics).
constexpr const char* kVersion4 = R"sql(
CREATE TABLE cpus (
  run_id INTEGER NOT NULL REFERENCES runs (id),
  core INTEGER NOT NULL,
  program TEXT NOT NULL,
  identity TEXT NOT NULL,
  isolated_run_id INTEGER REFERENCES runs (id),
  ipc REAL,
  ipc_isolated REAL,
  normalized_ipc REAL,
  instructions INTEGER,
  cycles INTEGER,
  l2_mpki REAL,
  memory_latency REAL,
  PRIMARY KEY (run_id, core)
) STRICT, WITHOUT ROWID;
CREATE INDEX cpus_isolated ON cpus (isolated_run_id);

ALTER TABLE runs ADD COLUMN su_gpu REAL;
ALTER TABLE runs ADD COLUMN ws_cpu REAL;
ALTER TABLE runs ADD COLUMN oss REAL;
)sql";

constexpr const char* kMigrations[] = {kVersion1, kVersion2, kVersion3, kVersion4};

struct Header {
  std::int64_t application_id;
  std::int64_t version;
  bool empty;
};

Header read_header(Connection& connection) {
  return {connection.value("PRAGMA application_id"), connection.value("PRAGMA user_version"),
          connection.value("SELECT count(*) FROM sqlite_schema") == 0};
}

/// Reads the header at one moment, because another process may be creating the database.
Header consistent_header(Connection& connection) {
  connection.execute("BEGIN");
  const Header header = read_header(connection);
  connection.execute("COMMIT");
  return header;
}

/// Throws UserError if the database is not a results database, or belongs to a newer program.
void check_header(const Connection& connection, const Header& header, std::size_t newest) {
  const SourceLocation where{connection.path()};
  if (header.application_id != kApplicationId && !(header.empty && header.version == 0)) {
    throw UserError(where, "is a database of something else than gpumux; name another file");
  }
  if (header.version < 0) {
    throw UserError(where, fmt::format("is damaged: it has schema version {}", header.version));
  }
  if (header.version > static_cast<std::int64_t>(newest)) {
    throw UserError(where,
                    fmt::format("has schema version {}; this gpumux knows up to {}: use a newer gpumux",
                                header.version, newest));
  }
}

/// Columns of the tables, by table.
std::map<std::string, std::string> tables(Connection& connection) {
  std::map<std::string, std::string> found;
  Statement query = connection.prepare(
      "SELECT t.name, group_concat(c.name) FROM sqlite_schema t, pragma_table_info(t.name) c WHERE t.type = "
      "'table' AND t.name NOT LIKE 'sqlite_%' GROUP BY t.name");
  while (query.step()) found[query.text(0)] = query.text(1);
  return found;
}

}  // namespace

std::optional<std::string> missing_in_schema(Connection& connection) {
  const std::int64_t version = connection.value("PRAGMA user_version");
  Connection right = Connection::in_memory();
  for (std::int64_t i = 0; i < version && i < kSchemaVersion; ++i)
    right.execute(migrations()[static_cast<std::size_t>(i)]);
  const std::map<std::string, std::string> found = tables(connection);
  for (const auto& [name, columns] : tables(right)) {
    const auto table = found.find(name);
    if (table == found.end()) return fmt::format("there is no table {}", name);
    if (table->second != columns)
      return fmt::format("table {} has the columns {} instead of {}", name, table->second, columns);
  }
  return std::nullopt;
}

namespace {

/// Throws UserError unless a database of an earlier version has exactly that version's tables.
void check_version(Connection& connection, std::int64_t version) {
  Connection right = Connection::in_memory();
  for (std::int64_t i = 0; i < version; ++i) right.execute(migrations()[static_cast<std::size_t>(i)]);
  if (tables(connection) == tables(right)) return;
  throw UserError(
      {connection.path()},
      fmt::format("is damaged: it says that it has schema version {}, and has other tables", version));
}

void check_tables(Connection& connection) {
  if (const auto missing = missing_in_schema(connection)) {
    throw UserError({connection.path()},
                    fmt::format("is damaged: {}; `sqlite3 FILE .recover` saves what can be read", *missing));
  }
}

}  // namespace

Migrations migrations() {
  static_assert(std::size(kMigrations) == kSchemaVersion);
  return kMigrations;
}

void migrate(Connection& connection, Migrations steps) {
  // The header is checked first, so that nothing of another program's file is changed, not even its journal
  // mode.
  check_header(connection, consistent_header(connection), steps.size());
  connection.use_write_ahead_log();
  connection.execute("PRAGMA synchronous = FULL");
  connection.execute("PRAGMA foreign_keys = ON");
  connection.execute("PRAGMA temp_store = MEMORY");
  if (const Header now = consistent_header(connection);
      now.application_id == kApplicationId && now.version == static_cast<std::int64_t>(steps.size())) {
    if (steps.data() == migrations().data()) check_tables(connection);
    return;
  }
  Transaction transaction(connection);
  const Header header = read_header(connection);  // another process may have migrated it
  check_header(connection, header, steps.size());
  if (!header.empty && steps.data() == migrations().data()) check_version(connection, header.version);
  for (std::size_t i = static_cast<std::size_t>(header.version); i < steps.size(); ++i) {
    connection.execute(steps[i]);
  }
  connection.execute(
      fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {}", kApplicationId, steps.size())
          .c_str());
  transaction.commit();
}

std::int64_t check_readable(Connection& connection) {
  const Header header = read_header(connection);
  check_header(connection, header, kSchemaVersion);
  if (header.version < 1) {
    check_version(connection, 0);
    throw UserError({connection.path()}, "is empty; name a database that `gpumux sweep` made");
  }
  check_tables(connection);
  return header.version;
}

}  // namespace gpumux::database
