// The report page as text: its data, its content security policy, and its treatment of malicious input.
// tests/report/browser.py tests the page in a browser.
#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <regex>

#include "base/error.hpp"
#include "base/files.hpp"
#include "database/schema.hpp"
#include "database/store_fixture.hpp"
#include "report/base64.hpp"
#include "report/blocks.hpp"
#include "report/collect.hpp"
#include "report/page.hpp"
#include "report/reproduction.hpp"
#include "report/timeline.hpp"

namespace gpumux::report {
namespace {

using nlohmann::json;

class Report : public test::StoreTest {
 protected:
  /// Two applications, c and m, alone and together, on a machine of 2 SMs; m stalls in 20% of its SM cycles.
  void fill(std::uint64_t stalls_of_m = 400) const {
    database::ResultStore store(db());
    database::PlannedRow c = named("c");
    database::PlannedRow m = named("m");
    database::PlannedRow both = named("c");
    both.hash = "both";
    both.policy = "even";
    both.apps = {{"c", "c", 1, "c"}, {"m", "m", 2, "m"}};
    store.plan(sweep(), {c, m, both}, false);
    finish(store, {399});
    finish(store, {stalls_of_m});
    finish(store, {1, 2});
  }
  static database::PlannedRow named(const std::string& app) {
    database::PlannedRow row = run(app);
    row.machine_toml = std::make_shared<const std::string>("sms = 2\n");
    row.policy = "leftover";
    row.apps = {{app, app, 1, ""}};
    return row;
  }
  static void finish(database::ResultStore& store, const std::vector<std::uint64_t>& stalls) {
    const auto claim = store.claim();
    ASSERT_TRUE(claim);
    database::ResultRow row;
    row.cycles = 1000;
    row.document = R"({"gpu":{"ipc":3.5,"energy_joules":0.25},"metrics":{"fairness":1}})";
    row.fairness = 0.5;
    for (std::size_t i = 0; i < stalls.size(); ++i) {
      row.apps.push_back({1.5, 2.0, 0.75, 1});
      row.counters.push_back(
          {"app", static_cast<std::int64_t>(i), "lsu_stall_cycles", stalls[i], "cycles", "stalled"});
    }
    row.counters.push_back({"gpu", -1, "cycles", 1000, "core cycles", "simulated"});
    ASSERT_TRUE(store.finish(claim->id, row));
  }
  [[nodiscard]] Blocks blocks() const {
    database::Connection connection(db(), database::Access::Read);
    Blocks all;
    collect(connection, all);
    return all;
  }
  [[nodiscard]] std::string html(const std::vector<std::string>& reproductions = {}) const {
    database::Connection connection(db(), database::Access::Read);
    return report(connection, reproductions);
  }
  [[nodiscard]] std::string error_of_file(const std::string& text) const {
    write_file_atomically(folder_ + "/x.json", text);
    Blocks all;
    try {
      add_reproductions({folder_ + "/x.json"}, all);
    } catch (const UserError& error) {
      return std::string(error.what()).substr(folder_.size() + 1);
    }
    return "";
  }
};

json block(const Blocks& blocks, std::string_view name) { return json::parse(blocks.find(name)); }

TEST(Base64, TestVectorsOfTheStandard) {
  const auto of = [](std::string_view text) {
    return base64({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
  };
  EXPECT_EQ(of(""), "");
  EXPECT_EQ(of("f"), "Zg==");
  EXPECT_EQ(of("fo"), "Zm8=");
  EXPECT_EQ(of("foo"), "Zm9v");
  EXPECT_EQ(of("foob"), "Zm9vYg==");
  EXPECT_EQ(of("fooba"), "Zm9vYmE=");
  EXPECT_EQ(of("foobar"), "Zm9vYmFy");
  EXPECT_EQ(of("\xff\xfe\xfd"), "//79");
}

TEST(Column, NumbersReadBackToTheSame) {
  Column column(5);
  column.set(0, std::int64_t{1} << 53);
  column.set(1, 0.1);
  column.set(2, 1e300);
  column.set(3, std::numeric_limits<double>::quiet_NaN());
  EXPECT_EQ(json::parse(column.json()), json::parse("[9007199254740992, 0.1, 1e300, null, null]"));
  EXPECT_EQ(Column(0).json(), "[]");
}

TEST_F(Report, HoldsWhatTheDatabaseHolds) {
  fill();
  const Blocks all = blocks();
  const json core = block(all, "core");
  EXPECT_EQ(core["runs"], 3);
  EXPECT_EQ(core["apps"], 4);
  EXPECT_EQ(core["policies"], (json{"leftover", "even"}));
  EXPECT_EQ(core["app_names"], (json{"c", "m"}));
  EXPECT_EQ(core["sweeps"][0]["runs"].size(), 3U);
  EXPECT_EQ(core["extras"], (json{"energy_joules", "ipc"}));
  EXPECT_EQ(block(all, "extra-0"), (json{0.25, 0.25, 0.25}));
  EXPECT_EQ(core["overrides"], json::parse(R"([[], [["l1.size", "24K"]]])"));
  EXPECT_EQ(block(all, "run-overrides"), (json{1, 1, 1}));
  EXPECT_EQ(block(all, "run-cycles"), (json{1000, 1000, 1000}));
  EXPECT_EQ(block(all, "run-antt"), (json{nullptr, nullptr, nullptr}));
  EXPECT_EQ(block(all, "app-run"), (json{0, 1, 2, 2}));
  EXPECT_EQ(block(all, "app-isolated"), (json{0, 1, 0, 1}));
  const std::string stalls = "counter-" + core["counters"][0]["id"].dump();
  EXPECT_EQ(core["counters"][0]["name"], "lsu_stall_cycles");
  EXPECT_EQ(block(all, stalls), (json{399, 400, 1, 2}));
}

TEST_F(Report, ClassesFollowFromIsolatedRuns) {
  fill(400);
  const json core = block(blocks(), "core");
  EXPECT_EQ(core["memory_share"], 0.2);
  EXPECT_EQ(block(blocks(), "app-isolated_stall_share"), (json{0.1995, 0.2, 0.1995, 0.2}));
}

TEST_F(Report, RunsThatHaveNotEndedHaveNoClassAndFailuresTheirErrors) {
  {
    database::ResultStore store(db());
    store.plan(sweep(), {named("c"), named("m")}, false);
    const auto claim = store.claim();
    ASSERT_TRUE(claim);
    ASSERT_TRUE(store.fail(claim->id, {3, "error: <b>trap</b> & \"more\""}));
  }
  const Blocks all = blocks();
  EXPECT_EQ(block(all, "core")["failures"],
            json::parse(R"([{"run": 0, "exit_code": 3, "error": "error: <b>trap</b> & \"more\""}])"));
  EXPECT_EQ(block(all, "run-state"), (json{1, 2}));
  EXPECT_EQ(block(all, "app-isolated_stall_share"), (json{nullptr, nullptr}));
  EXPECT_EQ(html().find("<b>"), std::string::npos);
}

TEST_F(Report, SameDatabaseSameBytes) {
  fill();
  EXPECT_EQ(html(), html());
}

TEST_F(Report, NothingInTheDataEndsAnElement) {
  {
    database::ResultStore store(db());
    database::PlannedRow row = named("</script><script>alert(1)</script><!--\xff");
    row.machine_toml = std::make_shared<const std::string>("not TOML </script>");
    row.policy = "</script>";
    store.plan({"</script>", "", "</script>", "</script>"}, {row}, false);
  }
  const std::string page = html();
  std::size_t ends = 0;
  for (std::size_t at = 0; (at = page.find("</script>", at)) != std::string::npos; ++at) ++ends;
  std::size_t begins = 0;
  for (std::size_t at = 0; (at = page.find("<script", at)) != std::string::npos; ++at) ++begins;
  EXPECT_EQ(begins, ends);
  EXPECT_EQ(page.find("alert(1)</script>"), std::string::npos);
  EXPECT_EQ(block(blocks(), "core")["policies"][0], "</script>");
}

TEST_F(Report, PolicyAllowsNothingFromOutside) {
  fill();
  const std::string page = html();
  const std::size_t at = page.find("Content-Security-Policy");
  ASSERT_NE(at, std::string::npos);
  const std::string policy = page.substr(at, page.find('>', at) - at);
  EXPECT_TRUE(std::regex_search(
      policy, std::regex("default-src 'none'; script-src 'sha256-[A-Za-z0-9+/]{43}='; style-src "
                         "'sha256-[A-Za-z0-9+/]{43}='; img-src data: blob:;")));
  EXPECT_LT(at, page.find("<style"));
  // The one address in it is the name of SVG's elements.
  std::string rest = page;
  for (const std::string known = "http://www.w3.org/2000/svg"; rest.find(known) != std::string::npos;) {
    rest.erase(rest.find(known), known.size());
  }
  EXPECT_FALSE(std::regex_search(rest, std::regex("https?:/|@import|url\\(|src=\"")));
}

TEST_F(Report, OlderDatabasesAreRead) {
  database::migrate(*std::make_unique<database::Connection>(db(), database::Access::Create),
                    database::migrations().first(1));
  EXPECT_EQ(block(blocks(), "core")["runs"], 0);
}

TEST_F(Report, OtherFilesAreRefused) {
  { database::Connection(db(), database::Access::Create).execute("CREATE TABLE t (x)"); }
  EXPECT_THROW((void)blocks(), UserError);
  std::filesystem::remove(db());
  { database::Connection(db(), database::Access::Create).execute("PRAGMA user_version = 0"); }
  EXPECT_THROW((void)blocks(), UserError);
  std::filesystem::remove(db());
  EXPECT_THROW((void)blocks(), UserError);
}

TEST_F(Report, SeriesAndTimelinesWhereThereAreAny) {
  fill();
  EXPECT_EQ(block(blocks(), "core")["series"], json::array());
  execute(
      "CREATE TABLE IF NOT EXISTS series (run_id INTEGER, app INTEGER, counter_id INTEGER, interval INTEGER, "
      "samples TEXT);"
      "CREATE TABLE IF NOT EXISTS timelines (run_id INTEGER, trace TEXT);"
      "INSERT INTO series VALUES (3, 0, 1, 500, '[1, 2.5]'), (3, 1, 1, 500, '[0, null]');"
      "INSERT INTO timelines VALUES (2, '{\"traceEvents\": []}');");
  const Blocks all = blocks();
  EXPECT_EQ(block(all, "core")["series"], (json{2}));
  EXPECT_EQ(block(all, "core")["timelines"], (json{1}));
  EXPECT_EQ(block(all, "series-2"),
            json::parse(R"([{"app": 0, "counter": 1, "interval": 500, "samples": [1, 2.5]},
                                                     {"app": 1, "counter": 1, "interval": 500, "samples": [0, null]}])"));
  execute("UPDATE series SET samples = '[1,' WHERE app = 0");
  EXPECT_THROW((void)blocks(), UserError);
  execute("UPDATE series SET samples = '[]'; UPDATE timelines SET trace = '[1]'");
  EXPECT_THROW((void)blocks(), UserError);
}

TEST_F(Report, LossesHaveTheWordsOfTheCommandLineAndCpuCoresAsOne) {
  fill();
  execute(
      R"(UPDATE runs SET result = '{"apps": [{}, {}], "ledger": [
      {"victim": 0, "culprit": 1, "place": "dram_bus", "lost_share": 0.25},
      {"victim": 1, "culprit": "cpu", "place": "of another version", "lost_share": 0.5},
      {"victim": 1, "culprit": "gpu", "place": "issue", "lost_share": 0.5}]}' WHERE id = 3)");
  const Blocks all = blocks();
  EXPECT_EQ(block(all, "core")["ledger_runs"], (json{2}));
  EXPECT_EQ(block(all, "core")["ledger_places"], (json{"the DRAM bus", "of another version"}));
  EXPECT_EQ(block(all, "ledger"), json::parse("[[2, 0, 1, 0, 0.25], [2, 1, 2, 1, 0.5]]"));
}

// --- timelines --------------------------------------------------------------------------------------------

template <typename T>
std::vector<T> unpacked(const json& text) {
  const std::string digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::vector<std::uint8_t> bytes;
  std::uint32_t bits = 0;
  int count = 0;
  for (const char c : text.get<std::string>()) {
    if (c == '=') break;
    bits = (bits << 6U) | static_cast<std::uint32_t>(digits.find(c));
    if ((count += 6) >= 8)
      bytes.push_back(static_cast<std::uint8_t>(bits >> static_cast<unsigned>(count -= 8)));
  }
  std::vector<T> values(bytes.size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
  return values;
}

json packed(const std::string& trace) { return json::parse(pack_timeline(trace, "x")); }

TEST(Timeline, SpansLieInRowsOfTheirThreads) {
  const json timeline = packed(R"({"traceEvents": [
    {"ph": "M", "name": "process_name", "pid": 2, "args": {"name": "GPU"}},
    {"ph": "M", "name": "thread_name", "pid": 2, "tid": 10, "args": {"name": "SM 10"}},
    {"ph": "X", "pid": 2, "tid": 10, "name": "b", "cat": "block", "ts": 5, "dur": 5, "args": {"block": 1}},
    {"ph": "X", "pid": 2, "tid": 9, "name": "a", "cat": "block", "ts": 7, "dur": 1},
    {"ph": "X", "pid": 2, "tid": 10, "name": "a", "ts": 0, "dur": 8},
    {"ph": "X", "pid": 2, "tid": 10, "name": "a", "ts": 8, "dur": 2},
    {"ph": "B", "pid": 1, "tid": 1, "name": "c", "ts": 1}, {"ph": "E", "pid": 1, "tid": 1, "ts": 4.5},
    {"ph": "i", "pid": 1, "tid": 1, "name": "d", "ts": 4.5},
    {"ph": "C", "pid": 2, "name": "bytes", "ts": 1, "args": {"read": 3, "written": 4}}]})");
  EXPECT_EQ(timeline["unit"], "µs");
  EXPECT_EQ(
      timeline["rows"],
      json::parse(
          R"([{"process": "1", "thread": "1", "level": 0}, {"process": "GPU", "thread": "9", "level": 0},
    {"process": "GPU", "thread": "SM 10", "level": 0}, {"process": "GPU", "thread": "SM 10", "level": 1}])"));
  const json& spans = timeline["spans"];
  EXPECT_EQ(spans["count"], 6);
  EXPECT_EQ(unpacked<std::uint32_t>(spans["row"]), (std::vector<std::uint32_t>{0, 0, 1, 2, 2, 3}));
  EXPECT_EQ(unpacked<double>(spans["start"]), (std::vector<double>{1, 4.5, 7, 0, 8, 5}));
  EXPECT_EQ(unpacked<double>(spans["duration"]), (std::vector<double>{3.5, 0, 1, 8, 2, 5}));
  EXPECT_EQ(timeline["arguments"][unpacked<std::uint32_t>(spans["arguments"])[5]], R"({"block":1})");
  ASSERT_EQ(timeline["counters"].size(), 2U);
  EXPECT_EQ(timeline["counters"][1]["name"], "GPU: bytes, written");
  EXPECT_EQ(unpacked<double>(timeline["counters"][1]["value"]), (std::vector<double>{4}));
}

TEST(Timeline, CyclesWhereTheTraceKnowsThem) {
  const json timeline = packed(R"({"otherData": {"core_mhz": 1400}, "traceEvents": [
    {"ph": "X", "pid": 1, "tid": 1, "name": "a", "ts": 1.001, "dur": 2, "args": {"begin_cycle": 1401, "end_cycle": 4202, "x": 1}},
    {"ph": "X", "pid": 1, "tid": 1, "name": "b", "ts": 3.002, "dur": 1}]})");
  EXPECT_EQ(timeline["unit"], "core cycles");
  EXPECT_EQ(unpacked<double>(timeline["spans"]["start"]), (std::vector<double>{1401, 4203}));
  EXPECT_EQ(unpacked<double>(timeline["spans"]["duration"]), (std::vector<double>{2801, 1400}));
  EXPECT_EQ(timeline["arguments"], (json{"", R"({"x":1})"}));
}

TEST(Timeline, WhatIsNoTraceIsRefused) {
  for (const char* trace :
       {"", "{", "{}", "[1]", R"({"traceEvents": 1})", R"([{"ph": "X", "name": "a", "ts": 1}])",
        R"([{"ph": "X", "name": "a", "ts": "1", "dur": 1}])", R"([{"ph": "X", "ts": 1, "dur": -1}])",
        R"([{"ph": "E", "ts": 1}])", R"([{"ph": "B", "ts": 5}, {"ph": "E", "ts": 1}])"}) {
    EXPECT_THROW((void)pack_timeline(trace, "x"), UserError) << trace;
  }
  EXPECT_EQ(packed(R"([{"ph": "s"}, {"ph": "M"}, {"ph": "C"}, {}])")["spans"]["count"], 0);
}

// --- reproductions ----------------------------------------------------------------------------------------

TEST_F(Report, ReproductionsAreCheckedWithTheirPlace) {
  EXPECT_EQ(error_of_file("{\n  \"claims\": [,\n"),
            "x.json:2:14: error: is no JSON; expected what `gpumux reproduce --json` writes");
  EXPECT_EQ(error_of_file("[]"),
            "x.json: error: has no list \"claims\"; expected what `gpumux reproduce --json` writes");
  EXPECT_EQ(error_of_file(R"({"claims": [{"id": "p.a"}, {"id": 1}]})"),
            "x.json: error: claims[1] has no text \"id\"; expected what `gpumux reproduce --json` writes");
  EXPECT_EQ(error_of_file(R"({"claims": [], "trends": 1})"),
            "x.json: error: \"trends\" is no list; expected what `gpumux reproduce --json` writes");
  EXPECT_EQ(error_of_file(R"({"claims": [{"id": "p.a", "paper": 1.5, "ours": null}]})"), "");
  EXPECT_THROW((void)html({folder_ + "/none.json"}), UserError);
}

TEST_F(Report, CpuCoresHaveRows) {
  {
    database::ResultStore store(db());
    database::PlannedRow row = named("c");
    row.cpus = {{1, "mcf", "m", ""}, {3, "</b>", "x", ""}, {4, "mcf", "m", ""}};
    store.plan(sweep(), {named("a"), row}, false);
    finish(store, {1});
    const auto claim = store.claim();
    ASSERT_TRUE(claim);
    database::ResultRow done;
    done.cycles = 1000;
    done.document = R"({"gpu":{"ipc":2},"metrics":{"su_gpu":0.5,"ws_cpu":1.5,"oss":1,"oss_alpha":0.5}})";
    done.apps = {{1.5, 2.0, 0.75, 1}};
    done.cpus = {{1, 0.25, 0.5, 0.5, 2000, 8000, 40.5, 900.0}, {3, 1, 1, 1, 2000, 2000, 0.0, std::nullopt}};
    ASSERT_TRUE(store.finish(claim->id, done));
  }
  const Blocks all = blocks();
  const json core = block(all, "core");
  EXPECT_EQ(core["cpu_programs"], (json{"mcf", "</b>"}));
  EXPECT_EQ(block(all, "cpus"), json::parse("[[1,1,0,0.25,0.5,0.5,40.5,900.0],[1,3,1,1.0,1.0,1.0,0.0,null],"
                                            "[1,4,0,null,null,null,null,null]]"));
  EXPECT_EQ(core["extras"], (json{"energy_joules", "ipc", "oss", "oss_alpha", "su_gpu", "ws_cpu"}));
  EXPECT_NE(html().find("function cpusTable"), std::string::npos);
}

}  // namespace
}  // namespace gpumux::report
