// Databases to which no process writes: readers create no files beside them, and new databases appear
// complete.
#include "database/at_rest.hpp"

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <filesystem>
#include <string>

#include "base/error.hpp"
#include "base/files.hpp"
#include "database/schema.hpp"
#include "database/store_fixture.hpp"

namespace gpumux::database {
namespace {

namespace fs = std::filesystem;

class AtRest : public test::StoreTest {
 protected:
  [[nodiscard]] std::size_t files() const {
    std::size_t count = 0;
    for (const auto& entry : fs::directory_iterator(folder_)) count += entry.exists() ? 1 : 0;
    return count;
  }
  [[nodiscard]] bool at_rest() const {
    const Bytes bytes = read_at_rest(db());
    sqlite3_free(bytes.data);
    return bytes.data != nullptr;
  }
};

constexpr const char* kCountRuns = "SELECT count(*) FROM runs";

TEST_F(AtRest, AReaderMakesNoFile) {
  {
    ResultStore store(db());
    store.plan(sweep(), {run("a"), run("b")}, false);
  }
  ASSERT_EQ(files(), 1U);
  const std::string before = read_file(db(), 0);
  Connection reader(db(), Access::Read);
  EXPECT_EQ(reader.value(kCountRuns), 2);
  EXPECT_EQ(check_readable(reader), kSchemaVersion);
  EXPECT_EQ(files(), 1U);
  EXPECT_THROW(reader.execute("DELETE FROM runs"), UserError);
  EXPECT_EQ(read_file(db(), 0), before);
}

TEST_F(AtRest, RowsInALogAreRead) {
  ResultStore store(db());
  store.plan(sweep(), {run("a")}, false);
  EXPECT_FALSE(at_rest());
  Connection reader(db(), Access::Read);
  EXPECT_EQ(reader.value(kCountRuns), 1);
  store.plan(sweep(), {run("a"), run("b")}, false);
  EXPECT_EQ(reader.value(kCountRuns), 2);  // it shares the log with the writer
}

TEST_F(AtRest, AnEmptyLogHasNoRows) {
  { ResultStore store(db()); }
  write_file_atomically(db() + "-wal", "");
  EXPECT_TRUE(at_rest());
  write_file_atomically(db() + "-journal", "");
  EXPECT_FALSE(at_rest());
}

TEST_F(AtRest, WhatIsNoDatabaseIsNotTaken) {
  EXPECT_FALSE(at_rest());
  write_file_atomically(db(), "");
  EXPECT_FALSE(at_rest());
  write_file_atomically(db(), std::string(4096, 'x'));
  EXPECT_FALSE(at_rest());
  fs::remove(db());
  fs::create_directory(db());
  EXPECT_FALSE(at_rest());
}

TEST_F(AtRest, ANewOneIsComplete) {
  ASSERT_TRUE(make_new(db()));
  EXPECT_EQ(files(), 1U);
  {
    Connection reader(db(), Access::Read);
    EXPECT_EQ(check_readable(reader), kSchemaVersion);
    EXPECT_EQ(reader.value(kCountRuns), 0);
  }
  EXPECT_EQ(text("PRAGMA journal_mode"), "wal");
  EXPECT_EQ(text("PRAGMA integrity_check"), "ok");
  ResultStore store(db());
  store.plan(sweep(), {run("a")}, false);
  EXPECT_EQ(number(kCountRuns), 1);
}

TEST_F(AtRest, NothingIsTakenThePlaceOf) {
  write_file_atomically(db(), "mine");
  EXPECT_FALSE(make_new(db()));
  EXPECT_EQ(read_file(db()), "mine");
  EXPECT_EQ(files(), 1U);
}

TEST_F(AtRest, TheLogOfAnOlderDatabaseIsNotItsOwn) {
  std::string log;
  {
    ResultStore store(db());
    store.plan(sweep(), {run("a")}, false);
    log = read_file(db() + "-wal", 0);
  }
  ASSERT_FALSE(log.empty());
  fs::remove(db());
  write_file_atomically(db() + "-wal", log);
  EXPECT_FALSE(make_new(db()));
  EXPECT_FALSE(fs::exists(db()));
  { ResultStore store(db()); }
  EXPECT_EQ(number(kCountRuns), 0);
}

TEST_F(AtRest, ALinkIsFollowed) {
  fs::create_symlink(folder_ + "/target.sqlite", db());
  { ResultStore store(db()); }
  EXPECT_TRUE(fs::is_symlink(db()));
  EXPECT_GT(fs::file_size(folder_ + "/target.sqlite"), 4096U);
}

}  // namespace
}  // namespace gpumux::database
