// `gpumux run` with --series, --timeline and --db, run as a command.
#include <nlohmann/json.hpp>
#include <sstream>

#include "database/sqlite.hpp"
#include "program.hpp"

namespace gpumux::test {
namespace {

using nlohmann::json;
using Args = std::vector<std::string>;

class StoredRun : public CliTest {
 protected:
  static Args pair(const Args& more) {
    Args args = {"run", "add", "stream", "--set", "sms=2", "--cycles", "2500", "--policy", "even"};
    args.insert(args.end(), more.begin(), more.end());
    return args;
  }
  [[nodiscard]] json document(const std::string& name) const {
    json all = json::parse(read_file(path(name)));
    return all;
  }
  void expect_good(const Args& args) const {
    const Outcome o = gpumux(args);
    EXPECT_EQ(o.code, 0) << o.err;
    EXPECT_EQ(o.err, "");
  }
  [[nodiscard]] std::int64_t number(const std::string& sql) const {
    return database::Connection(path("r.sqlite"), database::Access::Write).value(sql);
  }
  void expect_error(const Args& args, const std::string& line) const {
    const Outcome o = gpumux(args);
    EXPECT_EQ(o.code, 2);
    EXPECT_EQ(o.out, "");
    EXPECT_EQ(o.err, line + "\n");
    EXPECT_FALSE(exists("r.sqlite"));
    EXPECT_FALSE(exists("t.json"));
  }
};

TEST_F(StoredRun, SeriesAndTimelineAreWritten) {
  expect_good(
      pair({"--series", "1000", "--json", "a.json", "--series-csv", "s.csv", "--timeline", "t.json"}));
  const json series = document("a.json").at("series");
  EXPECT_EQ(series.at("interval"), 1000);
  EXPECT_EQ(series.at("apps").at(1).at("l1_accesses").size(), 3U);
  EXPECT_EQ(lines(read_file(path("s.csv"))), 1U + 3 * 3);
  EXPECT_EQ(document("t.json").at("otherData").at("policy"), "even");
  // A timeline has counters even when no series is asked for.
  expect_good(pair({"--timeline", "u.json"}));
  EXPECT_EQ(document("u.json"), document("t.json"));
}

// What a run says of goals and requests is the same when it comes from the database.
TEST_F(StoredRun, GoalsAndRequestsAreKept) {
  const Args args = {"run",
                     "add:goal=1%",
                     "stream:goal=60000fps",
                     "add:loops=2,goal=ipc:100000",
                     "bfs:nodes=2000,every=1000,deadline=900,goal=1us",
                     "--set",
                     "sms=2",
                     "--cycles",
                     "20000",
                     "--db",
                     "r.sqlite",
                     "--policy",
                     "even"};
  const Outcome first = gpumux(args);
  ASSERT_EQ(first.code, 0) << first.err;
  for (const char* part :
       {"add:goal=1%: goal 1% reached: ", "stream:goal=60000fps: goal 60000fps ", " fps (IPC ",
        "goal ipc:100000 missed: ", "; alone its IPC is ", ": no sharing reaches it",
        "deadline=900,goal=1us: requests 2", "goal 1us missed: ", "; lost to others: ", " of its cycles to "})
    EXPECT_NE(first.out.find(part), std::string::npos) << part << "\n" << first.out;
  const Outcome second = gpumux(args);
  ASSERT_EQ(second.code, 0) << second.err;
  EXPECT_NE(second.out.find("from r.sqlite, not simulated again"), std::string::npos);
  const auto said = [](const std::string& text) {
    std::string all;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);)
      for (const char* part : {": goal ", ": requests ", " of its cycles to "})
        if (line.find(part) != std::string::npos) all += line + "\n";
    return all;
  };
  EXPECT_EQ(said(first.out), said(second.out));
}

TEST_F(StoredRun, SeveralPoliciesShareATimeline) {
  expect_good(pair({"--policy", "spatial", "--timeline", "t.json", "--series-csv", "s.csv"}));
  const json trace = document("t.json");
  std::size_t even = 0;
  std::size_t spatial = 0;
  for (const json& event : trace.at("traceEvents")) {
    if (event.at("name") != "process_name") continue;
    const std::string name = event.at("args").at("name");
    even += name.starts_with("even: ") ? 1 : 0;
    spatial += name.starts_with("spatial: ") ? 1 : 0;
  }
  EXPECT_EQ(even, spatial);
  EXPECT_EQ(even, 2U + 1 + 2);  // applications, GPU, SMs
  EXPECT_EQ(lines(read_file(path("s.csv"))), 1U + 2 * 3 * 3);
}

TEST_F(StoredRun, IsKeptAndTakenFromTheDatabase) {
  expect_good(pair({"--json", "plain.json"}));
  expect_good(pair({"--json", "first.json", "--db", "r.sqlite"}));
  EXPECT_EQ(document("first.json"), document("plain.json"));
  EXPECT_EQ(number("SELECT count(*) FROM runs WHERE state = 'done'"), 3);  // and two baselines
  EXPECT_EQ(number("SELECT count(*) FROM sweeps"), 0);
  const std::string first = read_file(path("first.json"));
  // The second is the first, clock included.
  const Outcome again = gpumux(pair({"--json", "second.json", "--db", "r.sqlite"}));
  EXPECT_EQ(again.code, 0) << again.err;
  EXPECT_NE(again.out.find("even: from r.sqlite, not simulated again\n"), std::string::npos) << again.out;
  EXPECT_EQ(read_file(path("second.json")), first);
  // Series and timeline are completed, once.
  expect_good(pair({"--series", "500", "--timeline", "t.json", "--json", "p.json"}));
  for (const char* name : {"third.json", "fourth.json"}) {
    const Outcome o = gpumux(pair(
        {"--series", "500", "--timeline", name + std::string(".t"), "--json", name, "--db", "r.sqlite"}));
    EXPECT_EQ(o.code, 0) << o.err;
    EXPECT_EQ(o.out.find("not simulated again") != std::string::npos, name[0] == 'f');
    EXPECT_EQ(document(name), document("p.json"));
    EXPECT_EQ(read_file(path(name + std::string(".t"))), read_file(path("t.json")));
  }
  EXPECT_EQ(number("SELECT count(*) FROM runs"), 3);
  EXPECT_EQ(number("SELECT count(*) FROM timelines"), 1);
  EXPECT_EQ(number("SELECT count(DISTINCT run_id) FROM series"), 3);
  EXPECT_EQ(number("SELECT count(*) FROM metrics m JOIN series s USING (run_id, app, counter_id) "
                   "WHERE m.value <> (SELECT sum(value) FROM json_each(s.samples))"),
            0);
}

TEST_F(StoredRun, SharesItsRunsWithSweeps) {
  write_file_atomically(
      path("s.toml"),
      "policies = [\"even\", \"spatial\"]\napps = [\"add\", \"stream\"]\ncombine = \"pairs\"\n"
      "cycles = 2500\nset.sms = 2\nseries = 1000\n");
  expect_good({"sweep", "s.toml", "--db", "r.sqlite", "--jobs", "1"});
  EXPECT_EQ(number("SELECT count(DISTINCT run_id) FROM series"), 4);
  const Outcome o = gpumux(pair({"--db", "r.sqlite", "--policy", "spatial", "--policy", "leftover"}));
  EXPECT_EQ(o.code, 0) << o.err;
  EXPECT_NE(o.out.find("even: from r.sqlite"), std::string::npos);
  EXPECT_NE(o.out.find("spatial: from r.sqlite"), std::string::npos);
  EXPECT_EQ(o.out.find("leftover: from"), std::string::npos);
  EXPECT_EQ(number("SELECT count(*) FROM runs"), 5);
  const Outcome exported = gpumux({"export", "r.sqlite", "--json"});
  EXPECT_EQ(json::parse(exported.out)["runs"][2]["result"]["series"]["gpu"]["l1_accesses"].size(), 3U);
}

TEST_F(StoredRun, AFaultIsKeptWithItsErrorAndTriedAgain) {
  const Args args = {"run",  "add",     "--set", "sms=2", "--set", "runtime.max_kernel_cycles=100",
                     "--db", "r.sqlite"};
  const Outcome plain = gpumux({args.begin(), args.end() - 2});
  EXPECT_EQ(plain.code, 3);
  for (int i = 0; i < 2; ++i) {
    const Outcome o = gpumux(args);
    EXPECT_EQ(o.code, 3);
    EXPECT_EQ(o.out, "");
    EXPECT_EQ(o.err, plain.err);
    EXPECT_EQ(number("SELECT count(*) FROM runs WHERE state = 'failed' AND exit_code = 3"), 1);
    EXPECT_EQ(number("SELECT count(*) FROM claims"), 0);
  }
}

TEST_F(StoredRun, WhatCannotBe) {
  expect_error(pair({"--series", "0"}),
               "error: --series '0' must be a whole number of at least 1, such as 500000, 5e5 or 500K");
  expect_error(pair({"--series", "many"}),
               "error: --series 'many' must be a whole number of at least 1, such as 500000, 5e5 or 500K");
  expect_error(pair({"--timeline", "none/t.json"}),
               "none/t.json: error: cannot be written: there is no folder none");
  expect_error(pair({"--timeline", "t.json", "--series-csv", "t.json"}),
               "t.json: error: would be written twice; give each result its own file");
  expect_error(pair({"--db", "r.sqlite", "--json", "r.sqlite"}),
               "r.sqlite: error: would be overwritten by a result; give the result its own file");
  expect_error(pair({"--db", "r.sqlite", "--verify"}),
               "error: --verify needs a simulation, and --db may have the run already; give one of them");
  expect_error(pair({"--db", "r.sqlite", "--baseline", "off"}),
               "error: --db keeps runs with their baselines; leave --baseline off out");
  expect_error(pair({"--db", "none/r.sqlite"}),
               "none/r.sqlite: error: cannot be made: there is no folder none");
}

TEST_F(StoredRun, CpuCoresAreKept) {
  const auto args = [](const Args& more) {
    Args all = {"run",          "add",           "--machine", "kayiran14-small3x3", "--cpu",
                "mcf,-,povray", "--cpu-warm-up", "500",       "--cpu-instructions", "2000"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  };
  expect_good(args({"--json", "plain.json"}));
  expect_good(args({"--json", "first.json", "--db", "r.sqlite"}));
  const json plain = document("plain.json");
  EXPECT_EQ(document("first.json"), plain);
  EXPECT_EQ(number("SELECT count(*) FROM runs WHERE state = 'done'"), 4);  // add, mcf and povray alone
  EXPECT_EQ(number("SELECT count(*) FROM cpus WHERE isolated_run_id IS NOT NULL"), 2);
  EXPECT_GT(plain.at("metrics").at("ws_cpu"), 0.0);
  EXPECT_LT(plain.at("cpus").at(0).at("normalized_ipc"), 1.01);
  const Outcome again = gpumux(args({"--json", "second.json", "--db", "r.sqlite"}));
  EXPECT_EQ(again.code, 0) << again.err;
  EXPECT_NE(again.out.find("leftover: from r.sqlite, not simulated again\n"), std::string::npos) << again.out;
  EXPECT_NE(again.out.find("CPU weighted speedup"), std::string::npos) << again.out;
  EXPECT_EQ(document("second.json"), plain);
  // Another weight is another figure of the same run.
  const Outcome weighed = gpumux(args({"--alpha", "1", "--json", "third.json", "--db", "r.sqlite"}));
  EXPECT_NE(weighed.out.find("not simulated again"), std::string::npos) << weighed.out;
  EXPECT_EQ(document("third.json").at("metrics").at("oss"), plain.at("metrics").at("su_gpu"));
  EXPECT_EQ(number("SELECT count(*) FROM runs"), 4);
}

}  // namespace
}  // namespace gpumux::test
