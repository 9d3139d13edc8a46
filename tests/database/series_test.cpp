// Series and timelines in a database: they are kept with results and completed if they are missing, and
// results never depend on them.
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "database/damage.hpp"
#include "database/export.hpp"
#include "database/results.hpp"
#include "database/schema.hpp"
#include "store_fixture.hpp"

namespace gpumux::database {
namespace {

class SeriesStore : public test::StoreTest {
 protected:
  static PlannedRow wanting(const std::string& hash, std::uint64_t interval, bool timeline = false) {
    PlannedRow row = run(hash);
    row.series_interval = interval;
    row.timeline = timeline;
    return row;
  }
  static ResultRow with_series(std::uint64_t interval, const std::string& samples = "[3,4]") {
    ResultRow row = result(1.5);
    row.series_interval = interval;
    for (const CounterRow& counter : row.counters) row.series.push_back({counter, samples});
    return row;
  }
  void finish_plain(const std::string& hash) const {
    ResultStore store(db());
    store.plan({run(hash)}, false);
    ASSERT_TRUE(store.finish(store.claim().value().id, result(1.5)));
  }
};

TEST_F(SeriesStore, AreKeptWithTheirRun) {
  ResultStore store(db());
  store.plan({wanting("a", 500, true)}, false);
  ResultRow row = with_series(500);
  row.timeline = "{}";
  ASSERT_TRUE(store.finish(store.claim().value().id, row));
  EXPECT_EQ(store.counts().pending, 0U);
  EXPECT_FALSE(store.claim());
  EXPECT_EQ(number("SELECT count(*) FROM series WHERE run_id = 1 AND interval = 500"), 2);
  EXPECT_EQ(text("SELECT samples FROM series WHERE app = -1"), "[3,4]");
  EXPECT_EQ(text("SELECT trace FROM timelines WHERE run_id = 1"), "{}");
  EXPECT_EQ(number("SELECT count(*) FROM sweeps"), 0);  // runs of no sweep

  const ResultRow back = store.result(0).value();
  EXPECT_EQ(back.series_interval, 500U);
  ASSERT_EQ(back.series.size(), 2U);
  EXPECT_EQ(back.series[0].counter.scope, "gpu");
  EXPECT_EQ(back.series[1].counter.name, "loads");
  EXPECT_EQ(back.series[1].samples, "[3,4]");
  EXPECT_EQ(back.timeline, "{}");
  EXPECT_EQ(back.counters.size(), 2U);
  EXPECT_EQ(back.counters[0].value, 9U);
  EXPECT_EQ(back.apps.at(0).ipc, 1.5);
  EXPECT_EQ(back.cycles, 1000U);
}

TEST_F(SeriesStore, ARunThatLacksThemIsDoneAgain) {
  finish_plain("a");
  const std::string before = text("SELECT group_concat(hash || state || result || finished_at) FROM runs");
  ResultStore store(db());
  store.plan(sweep(), {wanting("a", 500)}, false);
  EXPECT_EQ(store.counts().pending, 1U);
  EXPECT_EQ(store.counts().done, 0U);
  const Claim claim = store.claim().value();
  EXPECT_FALSE(store.claim());  // it is at work on it
  EXPECT_EQ(number("SELECT count(*) FROM runs WHERE state = 'done'"), 1);
  ASSERT_TRUE(store.finish(claim.id, with_series(500)));
  EXPECT_EQ(store.counts().done, 1U);
  EXPECT_FALSE(store.claim());
  EXPECT_EQ(text("SELECT group_concat(hash || state || result || finished_at) FROM runs"), before);
  EXPECT_EQ(number("SELECT count(*) FROM metrics"), 2);
  // Who wants no series, or the same, finds all done.
  for (const std::uint64_t interval : {0U, 500U}) {
    store.plan(sweep(), {wanting("a", interval)}, false);
    EXPECT_EQ(store.counts().done, 1U);
    EXPECT_FALSE(store.claim());
  }
  store.plan({wanting("a", 500, true)}, false);
  EXPECT_EQ(store.counts().pending, 1U);  // its timeline
}

TEST_F(SeriesStore, ARunThatSomeoneFinishesWithoutThemIsDoneAgain) {
  ResultStore wants(db());
  wants.plan({wanting("a", 500)}, false);
  finish_plain("a");
  EXPECT_EQ(wants.counts().pending, 1U);
  ASSERT_TRUE(wants.finish(wants.claim().value().id, with_series(500)));
  EXPECT_EQ(wants.counts().pending, 0U);
}

TEST_F(SeriesStore, TheLastIntervalStaysAndNobodyGoesRoundInCircles) {
  ResultStore first(db());
  ResultStore second(db());
  first.plan({wanting("a", 500)}, false);
  second.plan({wanting("a", 100)}, false);
  ASSERT_TRUE(first.finish(first.claim().value().id, with_series(500)));
  ASSERT_TRUE(second.finish(second.claim().value().id, with_series(100, "[1,2,4]")));
  for (ResultStore* store : {&first, &second}) {
    EXPECT_EQ(store->counts().pending, 0U);
    EXPECT_FALSE(store->claim());
  }
  EXPECT_EQ(number("SELECT count(*) FROM series"), 2);
  EXPECT_EQ(number("SELECT min(interval) FROM series"), 100);
}

// What another process takes away while this one is at work is done again, and nobody waits for ever.
TEST_F(SeriesStore, WhatIsTakenAwayIsDoneAgain) {
  ResultStore maker(db());
  maker.plan({wanting("a", 500)}, false);
  ASSERT_TRUE(maker.finish(maker.claim().value().id, with_series(500)));
  ResultStore first(db());
  first.plan({wanting("a", 500), run("b")}, false);
  const Claim b = first.claim().value();
  ResultStore second(db());
  second.plan({wanting("a", 100)}, false);
  ASSERT_TRUE(second.finish(second.claim().value().id, with_series(100, "[1,2,4]")));
  ASSERT_TRUE(first.finish(b.id, result(1.5)));
  EXPECT_EQ(first.counts().pending, 1U);
  std::optional<Claim> again = first.claim();
  if (!again) again = first.claim();  // the first search in vain looks for more
  ASSERT_TRUE(again);
  ASSERT_TRUE(first.finish(again->id, with_series(500)));
  EXPECT_EQ(first.counts().pending, 0U);
  EXPECT_EQ(number("SELECT max(interval) FROM series"), 500);
}

TEST_F(SeriesStore, ARunThatIsTriedAgainElsewhereIsTakenOver) {
  ResultStore first(db());
  first.plan(sweep(), {run("a")}, false);
  ASSERT_TRUE(first.fail(first.claim().value().id, {3, "error: trap"}));
  EXPECT_FALSE(first.claim());
  {
    ResultStore other(db());
    other.plan(sweep(), {run("a")}, true);  // pending again, and its process ends
  }
  EXPECT_EQ(first.counts().pending, 1U);
  std::optional<Claim> again = first.claim();
  if (!again) again = first.claim();
  ASSERT_TRUE(again);
  ASSERT_TRUE(first.finish(again->id, result(1.5)));
  EXPECT_EQ(first.counts().done, 1U);
}

TEST_F(SeriesStore, AResultWithoutThemLeavesTheRunOpen) {
  ResultStore store(db());
  store.plan({wanting("a", 500)}, false);
  ASSERT_TRUE(store.finish(store.claim().value().id, result(1.5)));  // made for somebody else
  EXPECT_EQ(store.counts().pending, 1U);
  std::optional<Claim> again = store.claim();
  if (!again) again = store.claim();
  ASSERT_TRUE(again);
  ASSERT_TRUE(store.finish(again->id, with_series(500)));
  EXPECT_EQ(store.counts().done, 1U);
}

TEST_F(SeriesStore, ATimelineGoesWithTheSeriesThatItShows) {
  ResultStore store(db());
  store.plan({wanting("a", 500, true)}, false);
  ResultRow row = with_series(500);
  row.timeline = "{}";
  ASSERT_TRUE(store.finish(store.claim().value().id, row));
  store.plan({wanting("a", 100)}, false);
  ASSERT_TRUE(store.finish(store.claim().value().id, with_series(100, "[1,2,4]")));
  EXPECT_EQ(number("SELECT count(*) FROM timelines"), 0);
}

TEST_F(SeriesStore, AnotherResultIsAnErrorAndChangesNothing) {
  finish_plain("a");
  ResultStore store(db());
  store.plan({wanting("a", 500)}, false);
  ResultRow other = with_series(500);
  other.counters[1].value = 10;
  EXPECT_THROW((void)store.finish(store.claim().value().id, other), ContentError);
  EXPECT_EQ(number("SELECT count(*) FROM series"), 0);
  EXPECT_EQ(number("SELECT max(value) FROM metrics"), 9);
}

TEST_F(SeriesStore, AFailureLeavesTheResult) {
  finish_plain("a");
  ResultStore store(db());
  store.plan({wanting("a", 500)}, false);
  ASSERT_TRUE(store.fail(store.claim().value().id, {2, "error: too many intervals"}));
  EXPECT_FALSE(store.claim());
  EXPECT_EQ(store.counts().failed, 1U);
  ASSERT_EQ(store.failures().size(), 1U);
  EXPECT_EQ(store.failures()[0].second.exit_code, 2);
  EXPECT_EQ(store.failures()[0].second.error, "error: too many intervals");
  EXPECT_EQ(text("SELECT state FROM runs"), "done");
  EXPECT_EQ(text("SELECT result FROM runs"), result(1.5).document);
}

TEST_F(SeriesStore, AnOldDatabaseTakesThem) {
  {
    Connection connection(db(), Access::Create);
    migrate(connection, migrations().first(1));
    connection.execute(
        "INSERT INTO machines VALUES (1, 'm', 'machine', ''); "
        "INSERT INTO runs (hash, state, machine_id, policy, seed, program, result) "
        "VALUES ('a', 'done', 1, 'even', 1, '', '{\"seed\":1}'); "
        "INSERT INTO apps (run_id, position, app, identity, seed) VALUES (1, 0, 'app', 'app', 1); "
        "INSERT INTO counters VALUES (1, 'app', 'loads', 'loads', 'issued'), (2, 'gpu', 'loads', 'loads', "
        "''); "
        "INSERT INTO metrics VALUES (1, 0, 1, 7), (1, -1, 2, 9)");
  }
  EXPECT_EQ(number("PRAGMA user_version"), 1);
  ResultStore store(db());
  EXPECT_EQ(number("PRAGMA user_version"), kSchemaVersion);
  store.plan({wanting("a", 500)}, false);
  ASSERT_TRUE(store.finish(store.claim().value().id, with_series(500)));
  EXPECT_EQ(number("SELECT count(*) FROM series"), 2);
  EXPECT_EQ(number("SELECT count(*) FROM runs"), 1);

  std::string out;
  Connection connection(db(), Access::Read);
  export_json(connection, [&](std::string_view part) { out += part; });
  const auto series = nlohmann::json::parse(out)["runs"][0]["result"]["series"];
  EXPECT_EQ(series.dump(), R"({"apps":[{"loads":[3,4]}],"gpu":{"loads":[3,4]},"interval":500})");
}

}  // namespace
}  // namespace gpumux::database
