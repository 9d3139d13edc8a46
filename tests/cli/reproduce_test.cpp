// `gpumux reproduce` and `gpumux list experiments`, run as commands.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "program.hpp"

namespace gpumux::test {
namespace {

using nlohmann::json;

class Reproduce : public CliTest {
 protected:
  void SetUp() override {
    CliTest::SetUp();
    write_file_atomically(path("e.toml"), R"(title = "t"
paper = "claims.toml"
[sweep]
apps = ["add", "stream"]
policies = ["even", "spatial"]
combine = "pairs"
set.sms = 2
[sweep.scales.quick]
cycles = 600
[[quantity]]
name = "even"
of = "weighted_speedup"
where = {policy = "even"}
reduce = "mean"
[[claim]]
id = "p.a"
ours = "even"
[[trend]]
id = "p.t"
holds = "even > 0"
)");
    write_file_atomically(path("claims.toml"), R"(paper = "p"
title = "T"
[[claim]]
id = "p.a"
source = "s"
metric = "m"
what = "w"
value = 1.1
unit = "ratio"
better = "higher"
kind = "result"
[[trend]]
id = "p.t"
source = "s"
relation = "r"
what = "w"
)");
  }
};

TEST_F(Reproduce, SaysWhatItWouldDo) {
  const Outcome o = gpumux({"reproduce", "e.toml", "--db", "r.sqlite", "--jobs", "2", "--dry-run"});
  EXPECT_EQ(o.code, 0) << o.err;
  EXPECT_TRUE(
      o.out.starts_with("e.toml (quick): 4 runs, 2 of them applications alone\n"
                        "r.sqlite has 0; 4 to do, about 0:0"))
      << o.out;
  EXPECT_FALSE(exists("r.sqlite"));
  const Outcome with_json =
      gpumux({"reproduce", "e.toml", "--db", "r.sqlite", "--dry-run", "--json", "r.json"});
  EXPECT_EQ(with_json.code, 2);
  EXPECT_EQ(with_json.err, "error: --dry-run makes no results: leave out --json and --markdown\n");
}

TEST_F(Reproduce, RunsWhatIsMissingAndWritesEverything) {
  const Outcome o =
      gpumux({"reproduce", "e.toml", "--db", "r.sqlite", "--json", "r.json", "--markdown", "r.md"});
  ASSERT_EQ(o.code, 0) << o.err;
  EXPECT_EQ(o.err, "");
  EXPECT_NE(o.out.find("p.a"), std::string::npos) << o.out;
  const std::string text = read_file(path("r.json"));
  const json document = json::parse(text);
  EXPECT_EQ(document["schema"], "gpumux.reproduce/1");
  EXPECT_EQ(document["scale"], "quick");
  EXPECT_EQ(document["experiments"][0]["runs"]["done"], 4);
  EXPECT_GT(document["claims"][0]["ours"], 0);
  // Of one pair: that decides nothing.
  EXPECT_EQ(document["claims"][0]["direction"], document["claims"][0]["ours"] > 1 ? "leans" : "leans away");
  EXPECT_EQ(document["claims"][0]["workloads"], 1);
  EXPECT_EQ(document["trends"][0]["direction_agrees"], true);
  EXPECT_EQ(document["papers"][0]["title"], "T");
  EXPECT_NE(read_file(path("r.md")).find("| p.a |"), std::string::npos);
  // Everything is there: the same bytes, and not a run more.
  const std::string before = gpumux({"export", "r.sqlite", "--json"}).out;
  EXPECT_EQ(gpumux({"reproduce", "e.toml", "--db", "r.sqlite", "--json", "r.json", "--quiet"}).out, "");
  EXPECT_EQ(read_file(path("r.json")), text);
  EXPECT_EQ(gpumux({"export", "r.sqlite", "--json"}).out, before);
}

TEST_F(Reproduce, RefusesWhatIsWrongBeforeTheFirstRun) {
  const auto refused = [this](std::vector<std::string> args, const std::string& part) {
    args.insert(args.begin(), "reproduce");
    args.insert(args.end(), {"--db", "r.sqlite"});
    const Outcome o = gpumux(args);
    EXPECT_EQ(o.code, 2) << part;
    EXPECT_EQ(lines(o.err), 1U) << o.err;
    EXPECT_NE(o.err.find(part), std::string::npos) << o.err;
    EXPECT_FALSE(exists("r.sqlite")) << part;
  };
  refused({"basics/sharin"}, "did you mean 'basics/sharing'?");
  refused({"e.toml", "--scale", "quik"}, "unknown scale 'quik'; did you mean 'quick'?");
  refused({"e.toml", "--json", "no/r.json"}, "there is no folder no");
  refused({"e.toml", "--json", "r.x", "--markdown", "r.x"}, "would be written twice");
  refused({"e.toml", "--json", "r.x", "--markdown", "./r.x"}, "would be written twice");
  refused({"e.toml", "--json", "./r.sqlite"}, "would be overwritten by a result");
  refused({"e.toml", "--markdown", "r.sqlite-wal"}, "would be overwritten by a result");
  refused({"none.toml"}, "none.toml");
  write_file_atomically(path("bad.toml"), "title = \"t\"\nsweep = \"e.toml\"\n");
  refused({"bad.toml"}, "e.toml:");
}

TEST_F(Reproduce, ListsExperimentsWithTheirSizes) {
  const json list = json::parse(gpumux({"list", "experiments", "--json"}).out)["experiments"];
  ASSERT_GE(list.size(), 3U);
  const auto sharing = std::find_if(list.begin(), list.end(),
                                    [](const json& entry) { return entry["name"] == "basics/sharing"; });
  ASSERT_NE(sharing, list.end());
  EXPECT_EQ((*sharing)["scales"]["quick"]["runs"], 378);
  EXPECT_EQ((*sharing)["scales"]["paper"]["cycles"], 2000000);
  EXPECT_GT((*sharing)["scales"]["quick"]["usual_seconds"], 0) << "run experiments/measure.sh";
  EXPECT_NE(gpumux({"list", "experiments"}).out.find("basics/sharing"), std::string::npos);
}

}  // namespace
}  // namespace gpumux::test
