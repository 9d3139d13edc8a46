// `gpumux profile`, and runs that use its file, run as commands.
#include <nlohmann/json.hpp>

#include "database/sqlite.hpp"
#include "program.hpp"

namespace gpumux::test {
namespace {

using nlohmann::json;
using Args = std::vector<std::string>;

class Profile : public CliTest {
 protected:
  void make(const std::string& cycles, const std::string& file = "p.json") const {
    const Outcome o =
        gpumux({"profile", "add", "stream:words=1", "--set", "sms=2", "--cycles", cycles, "-o", file});
    EXPECT_EQ(o.code, 0) << o.err;
    EXPECT_EQ(lines(o.out), 2U) << o.out;
  }
  static Args run(const Args& more) {
    Args args = {"run", "add", "stream:words=1", "--set", "sms=2", "--cycles", "3000"};
    args.insert(args.end(), more.begin(), more.end());
    return args;
  }
  [[nodiscard]] json document(const std::string& name) const {
    json all = json::parse(read_file(path(name)));
    return all;
  }
  void expect_error(const Args& args, const std::string& line) const {
    const Outcome o = gpumux(args);
    EXPECT_EQ(o.code, 2);
    EXPECT_EQ(o.out, "");
    EXPECT_EQ(o.err, line + "\n");
    EXPECT_FALSE(exists("r.json"));
  }
};

TEST_F(Profile, IsAFileThatRunsUse) {
  make("1500");
  const json profile = json::parse(read_file(path("p.json")));
  EXPECT_EQ(profile["schema"], "gpumux.profile/1");
  ASSERT_EQ(profile["apps"].size(), 2U);
  EXPECT_EQ(profile["apps"][0]["kernels"][0]["points"].size(), 12U) << "3072 threads in blocks of 256";
  const Outcome o = gpumux(run({"--policy", "ws-static:profile=p.json", "--json", "r.json"}));
  EXPECT_EQ(o.code, 0) << o.err;
  EXPECT_NE(o.out.find("blocks per SM: add "), std::string::npos) << o.out;
  const json result = document("r.json");
  EXPECT_GE(result["apps"][1]["policy"]["blocks_per_sm"], 1);
  EXPECT_GT(result["metrics"]["policy"]["theoretical_weighted_speedup"], 0.5);
}

TEST_F(Profile, ADatabaseKeepsWhatThePolicyReportsAndKnowsTheFile) {
  make("1500");
  const Args stored = run({"--policy", "ws-static:profile=p.json", "--json", "r.json", "--db", "r.sqlite"});
  EXPECT_EQ(gpumux(run({"--policy", "ws-static:profile=p.json", "--json", "a.json"})).code, 0);
  EXPECT_EQ(gpumux(stored).code, 0);
  EXPECT_EQ(document("r.json"), document("a.json"));
  EXPECT_EQ(gpumux(stored).code, 0) << "from the database";
  EXPECT_EQ(document("r.json"), document("a.json"));
  const auto runs = [this] {
    return database::Connection(path("r.sqlite"), database::Access::Write)
        .value("SELECT count(*) FROM runs WHERE policy LIKE 'ws-static%'");
  };
  EXPECT_EQ(runs(), 1);
  make("2500");  // another content under the same name is another run
  EXPECT_EQ(gpumux(stored).code, 0);
  EXPECT_EQ(runs(), 2);
}

TEST_F(Profile, OneErrorEach) {
  make("1500");
  const Args files = {"--json", "r.json", "--policy"};
  const auto with = [&](const std::string& policy, const Args& more = {}) {
    Args args = run(files);
    args.push_back(policy);
    args.insert(args.end(), more.begin(), more.end());
    return args;
  };
  expect_error(with("smk-pw:profile=none.json"),
               "none.json: error: cannot be read (No such file or directory)");
  expect_error(
      with("ws-static:profile=p.json", {"--set", "sms=3"}),
      "p.json: error: is a profile of another machine (dai18-maxwell, or with other settings); make one for "
      "this machine with gpumux profile");
  expect_error(
      {"run", "add", "bfs", "--set", "sms=2", "--json", "r.json", "--policy", "ws-static:profile=p.json"},
      "p.json: error: has no profile of bfs; make one of all applications of the run with gpumux profile");
  expect_error({"profile", "-o", "q.json"},
               "error: profile needs at least one APP, such as hotspot (see gpumux list apps)");
  expect_error({"profile", "add", "--cycles", "10", "-o", "q.json"},
               "error: --cycles '10' must be a whole number of at least 1000");
  EXPECT_FALSE(exists("q.json"));
}

}  // namespace
}  // namespace gpumux::test
