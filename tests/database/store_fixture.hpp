// A results database in its own folder, and rows for it.
#pragma once

#include <gtest/gtest.h>

#include <ctime>
#include <filesystem>
#include <string>

#include "database/results.hpp"
#include "database/sqlite.hpp"
#include "temporary_folder.hpp"

namespace gpumux::test {

class StoreTest : public testing::Test {
 protected:
  [[nodiscard]] std::string db() const { return folder_ + "/r.sqlite"; }

  static database::SweepRow sweep(const std::string& name = "sweep") { return {name, "", "sweep.toml", ""}; }
  /// A run of one application, with a baseline if `isolated` names one.
  static database::PlannedRow run(const std::string& hash, const std::string& isolated = "") {
    database::PlannedRow row;
    row.hash = hash;
    row.machine_hash = std::string("m");  // with a char*, GCC 12 warns wrongly of an overlap
    row.machine = "machine";
    row.policy = "even";
    row.apps = {{"app", "app", 1, isolated}};
    row.overrides = {{"l1.size", "24K"}};
    return row;
  }
  static database::ResultRow result(double ipc) {
    database::ResultRow row;
    row.cycles = 1000;
    row.document = R"({"schema":"gpumux.result/1","seed":1})";
    row.apps = {{ipc, ipc, 1.0, 2}};
    row.counters = {{"app", 0, "loads", 7, "loads", "issued"}, {"gpu", -1, "loads", 9, "loads", "issued"}};
    return row;
  }

  /// Result of a query on a separate connection, as another program would make it.
  [[nodiscard]] std::string text(const std::string& sql) const {
    database::Connection connection(db(), database::Access::Write);
    database::Statement query = connection.prepare(sql);
    return query.step() ? query.text(0) : "";
  }
  [[nodiscard]] std::int64_t number(const std::string& sql) const {
    database::Connection connection(db(), database::Access::Write);
    return connection.value(sql);
  }
  void execute(const std::string& sql) const {
    database::Connection(db(), database::Access::Write).execute(sql.c_str());
  }
  void set_claim(database::RunId run, const std::string& host, std::int64_t pid, std::int64_t started,
                 std::int64_t heartbeat) const {
    database::Connection connection(db(), database::Access::Write);
    connection.prepare("INSERT OR REPLACE INTO claims VALUES (?, ?, ?, ?, ?)")
        .bind(run)
        .bind(host)
        .bind(pid)
        .bind(started)
        .bind(heartbeat)
        .run();
  }

  TemporaryFolder temporary_;
  const std::string folder_ = temporary_.path();
};

}  // namespace gpumux::test
