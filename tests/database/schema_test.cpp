// Databases of other versions of gpumux, databases of other programs, and files that are not databases.
#include "database/schema.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <functional>

#include "base/error.hpp"
#include "base/files.hpp"
#include "database/export.hpp"
#include "store_fixture.hpp"

namespace gpumux::database {
namespace {

class Schema : public test::StoreTest {
 protected:
  [[nodiscard]] std::string open_error(const std::string& path) const {
    try {
      ResultStore store(path);
    } catch (const UserError& error) {
      return error.what();
    }
    return "";
  }
  [[nodiscard]] std::string export_error(const std::string& path) const {
    try {
      Connection connection(path, Access::Read);
      export_csv(connection, [](std::string_view) {});
    } catch (const UserError& error) {
      return error.what();
    }
    return "";
  }
  void expect_refused(const std::string& message) const {
    const std::string before = read_file(db());
    EXPECT_EQ(open_error(db()), db() + ": error: " + message);
    EXPECT_EQ(export_error(db()), db() + ": error: " + message);
    EXPECT_EQ(read_file(db()), before);  // untouched
  }
};

TEST_F(Schema, ANewDatabaseHasTheLastVersion) {
  ResultStore store(db());
  EXPECT_EQ(number("PRAGMA user_version"), kSchemaVersion);
  EXPECT_EQ(number("PRAGMA application_id"), kApplicationId);
  EXPECT_EQ(text("PRAGMA journal_mode"), "wal");
}

TEST_F(Schema, AnEmptyFileIsANewDatabase) {
  write_file_atomically(db(), "");
  EXPECT_EQ(open_error(db()), "");
  EXPECT_EQ(number("PRAGMA user_version"), kSchemaVersion);
}

TEST_F(Schema, AnOlderDatabaseIsMigratedAndKeepsItsRows) {
  const char* first = "CREATE TABLE colours (name TEXT) STRICT";
  const char* second = "ALTER TABLE colours ADD COLUMN hue INTEGER NOT NULL DEFAULT 120";
  const char* third = "CREATE TABLE shapes (name TEXT) STRICT";
  const std::vector<const char*> steps = {first, second, third};
  {
    Connection connection(db(), Access::Create);
    migrate(connection, {steps.data(), 1});
    connection.execute("INSERT INTO colours VALUES ('green')");
  }
  EXPECT_EQ(number("PRAGMA user_version"), 1);
  {
    Connection connection(db(), Access::Create);
    migrate(connection, steps);
    migrate(connection, steps);  // nothing more to do
  }
  EXPECT_EQ(number("PRAGMA user_version"), 3);
  EXPECT_EQ(text("SELECT name || hue FROM colours"), "green120");
  EXPECT_EQ(number("SELECT count(*) FROM shapes"), 0);
}

TEST_F(Schema, AMigrationThatFailsLeavesTheOldDatabase) {
  const std::vector<const char*> steps = {"CREATE TABLE colours (name TEXT) STRICT",
                                          "CREATE TABLE shapes (name TEXT) STRICT",
                                          "CREATE TABLE shapes (name TEXT) STRICT"};
  {
    Connection connection(db(), Access::Create);
    migrate(connection, {steps.data(), 1});
    EXPECT_THROW(migrate(connection, steps), InternalError);
  }
  EXPECT_EQ(number("PRAGMA user_version"), 1);
  EXPECT_EQ(text("SELECT group_concat(name) FROM sqlite_schema"), "colours");
}

TEST_F(Schema, AnOlderDatabaseIsReadOnlyAfterItsMigration) {
  {
    Connection connection(db(), Access::Create);
    migrate(connection, {});  // version 0
  }
  EXPECT_EQ(export_error(db()), db() + ": error: is empty; name a database that `gpumux sweep` made");
  EXPECT_EQ(open_error(db()), "");
  EXPECT_EQ(export_error(db()), "");
}

TEST_F(Schema, ANewerDatabaseIsRefused) {
  { ResultStore store(db()); }
  execute("PRAGMA user_version = 7");
  expect_refused("has schema version 7; this gpumux knows up to 4: use a newer gpumux");
}

TEST_F(Schema, AVersionThatItsTablesAreNotOfIsDamage) {
  { ResultStore store(db()); }
  for (const int version : {1, 0}) {
    Connection(db(), Access::Write).execute(fmt::format("PRAGMA user_version = {}", version).c_str());
    const std::string error = fmt::format(
        "{}: error: is damaged: it says that it has schema version {}, and has other tables", db(), version);
    EXPECT_EQ(open_error(db()), error);
    if (version == 0) {
      EXPECT_EQ(export_error(db()), error);
    }
  }
}

TEST_F(Schema, AnotherProgramsDatabaseIsRefused) {
  Connection(db(), Access::Create).execute("CREATE TABLE songs (name TEXT)");
  expect_refused("is a database of something else than gpumux; name another file");
  execute("PRAGMA user_version = 1");
  expect_refused("is a database of something else than gpumux; name another file");
}

TEST_F(Schema, WhatIsNoDatabaseIsRefused) {
  write_file_atomically(db(), std::string(5000, 'x'));
  expect_refused("is no SQLite database, or its first bytes are damaged");
  write_file_atomically(db(), "policy = 3\n");
  expect_refused("is no SQLite database, or its first bytes are damaged");
}

TEST_F(Schema, PathsThatCannotBe) {
  EXPECT_EQ(open_error(folder_), folder_ + ": error: is a folder; a database was expected");
  EXPECT_EQ(open_error(folder_ + "/none/r.sqlite"),
            folder_ + "/none/r.sqlite: error: cannot be made: there is no folder " + folder_ + "/none");
  EXPECT_EQ(open_error(""), "error: the name of the database is empty");
  EXPECT_EQ(export_error(db()), db() + ": error: does not exist");
  EXPECT_EQ(open_error("/proc/r.sqlite"),
            "/proc/r.sqlite: error: cannot be written (No such file or directory)");
  EXPECT_FALSE(std::filesystem::exists(db()));
}

TEST_F(Schema, AReaderWritesNothing) {
  { ResultStore store(db()); }
  Connection connection(db(), Access::Read);
  try {
    connection.execute("DELETE FROM runs");
    FAIL();
  } catch (const UserError& error) {
    EXPECT_EQ(std::string(error.what()), db() + ": error: cannot be written: it is read-only");
  }
}

/// What `work` returns in a process that root's rights do not help.
std::string as_anyone(const std::function<std::string()>& work) {
  std::array<int, 2> ends{};
  if (::pipe(ends.data()) != 0) return "no pipe";
  const pid_t child = ::fork();
  if (child == 0) {
    constexpr uid_t kNobody = 65534;
    const std::string text = ::geteuid() != 0 || ::setuid(kNobody) == 0 ? work() : "cannot be anyone";
    ::_exit(::write(ends[1], text.data(), text.size()) == static_cast<ssize_t>(text.size()) ? 0 : 1);
  }
  ::close(ends[1]);
  std::string text(4096, '\0');
  const ssize_t got = ::read(ends[0], text.data(), text.size());
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  ::close(ends[0]);
  ::waitpid(child, nullptr, 0);
  return text;
}

TEST_F(Schema, WithoutPermissionItIsReadAndNotWritten) {
  {
    ResultStore store(db());
    store.plan(sweep(), {run("a")}, false);
  }
  namespace fs = std::filesystem;
  fs::permissions(db(), fs::perms::owner_read | fs::perms::group_read | fs::perms::others_read);
  constexpr fs::perms kLook = fs::perms::owner_read | fs::perms::owner_exec | fs::perms::group_read |
                              fs::perms::group_exec | fs::perms::others_read | fs::perms::others_exec;
  fs::permissions(folder_, kLook);
  EXPECT_EQ(as_anyone([&] { return export_error(db()) + "exported"; }), "exported");
  EXPECT_EQ(as_anyone([&] { return open_error(db()); }), db() + ": error: cannot be written: no permission");
  EXPECT_EQ(as_anyone([&] { return open_error(folder_ + "/new"); }),
            folder_ + "/new: error: cannot be made: no permission in " + folder_);
  fs::permissions(folder_, kLook | fs::perms::owner_write);
}

TEST_F(Schema, ALockedDatabaseIsGivenUpAfterItsTime) {
  { ResultStore store(db()); }
  Connection holder(db(), Access::Write);
  const Transaction lock(holder);
  Connection other(db(), Access::Write, 1);
  const auto begin = std::chrono::steady_clock::now();
  try {
    const Transaction second(other);
    FAIL() << "it was not locked";
  } catch (const UserError& error) {
    EXPECT_EQ(std::string(error.what()), db() + ": error: is locked by another program; given up after 1 s");
  }
  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(900));
}

TEST_F(Schema, ADamagedDatabaseIsOneError) {
  {
    ResultStore store(db());
    store.plan(sweep(), {run("a"), run("b")}, false);
  }
  std::string bytes = read_file(db());
  std::fill(bytes.begin() + 200, bytes.end(), '\x5a');
  write_file_atomically(db(), bytes);
  EXPECT_NE(open_error(db()).find("is damaged"), std::string::npos) << open_error(db());
  EXPECT_NE(export_error(db()).find("is damaged"), std::string::npos) << export_error(db());
}

TEST_F(Schema, ADatabaseFromBeforeCpuCoresIsReadAndMigrated) {
  {
    Connection connection(db(), Access::Create);
    migrate(connection, migrations().first(kCpuVersion - 1));
    connection.execute(
        "INSERT INTO machines VALUES (1, 'm', 'machine', ''); INSERT INTO runs (id, hash, machine_id, "
        "policy, seed, "
        "program) VALUES (1, 'a', 1, 'even', 1, 'p'); INSERT INTO apps (run_id, position, app, identity, "
        "seed) "
        "VALUES (1, 0, 'app', 'app', 1)");
  }
  const auto exported = [&](auto write) {
    Connection connection(db(), Access::Read);
    std::string text;
    write(connection, [&](std::string_view part) { text += part; });
    return text;
  };
  const std::string before = exported(export_csv);
  EXPECT_NE(before.find("\na,machine,,even,1,"), std::string::npos) << before;
  EXPECT_EQ(exported(export_cpus_csv).find('\n'), exported(export_cpus_csv).size() - 1)
      << "no line but the first";
  EXPECT_EQ(exported(export_json).find("\"cpus\""), std::string::npos);
  EXPECT_EQ(number("PRAGMA user_version"), kCpuVersion - 1) << "a reader changes nothing";
  { ResultStore store(db()); }
  EXPECT_EQ(number("PRAGMA user_version"), kSchemaVersion);
  EXPECT_EQ(exported(export_csv), before);
  EXPECT_EQ(number("SELECT count(*) FROM cpus"), 0);
}

}  // namespace
}  // namespace gpumux::database
