// Files of claims: the built-in files, one file in detail, and invalid files.
#include "reproduce/claims.hpp"

#include <gtest/gtest.h>

#include <array>
#include <map>

#include "reproduce/library.hpp"

namespace gpumux::reproduce {
namespace {

const std::string kHead = "paper = \"p\"\ntitle = \"T\"\n";
const std::string kClaim =
    "[[claim]]\nid = \"p.a\"\nsource = \"s\"\nmetric = \"m\"\nwhat = \"w\"\nvalue = 1.5\nunit = \"ratio\"\n"
    "kind = \"result\"\n";

TEST(Claims, EveryKeyIsRead) {
  const PaperClaims paper = parse_claims(
      kHead + kClaim +
          "setup = {machine = \"mm\", baseline = \"bb\", workloads = \"ww\", kernels = 2}\nbound = \">=\"\n"
          "better = \"lower\"\nheadline = true\nnote = \"n\"\n"
          "[[claim]]\nid = \"p.b\"\nsource = \"s\"\nmetric = \"m\"\nwhat = \"w\"\nvalue = 7\nunit = "
          "\"percent\"\n"
          "no_effect = 0\nkind = \"cost\"\n"
          "[[trend]]\nid = \"p.t\"\nsource = \"s2\"\nrelation = \"a > b\"\nwhat = \"x\"\n"
          "[[benchmark]]\ntable = \"Table 2\"\nname = \"BS.0\"\nmiss_rate = 0.45\ntbs = 16\nkind = "
          "\"C\"\nidempotent = true\n"
          "in = [\"suite\"]\n",
      "p.toml");
  ASSERT_EQ(paper.claims.size(), 2U);
  const Claim& a = paper.claims[0];
  EXPECT_EQ(
      a.id + a.source + a.metric + a.what + a.machine + a.baseline + a.workloads + a.unit + a.kind + a.note,
      "p.asmwmmbbwwratioresultn");
  EXPECT_EQ(a.value, 1.5);
  EXPECT_EQ(a.kernels, 2U);
  EXPECT_EQ(a.bound, Bound::GreaterEqual);
  EXPECT_EQ(a.better, Better::Lower);
  EXPECT_EQ(a.no_effect, 1.0);
  EXPECT_TRUE(a.headline);
  const Claim& b = paper.claims[1];
  EXPECT_EQ(b.better, Better::None);
  EXPECT_EQ(b.bound, Bound::None);
  EXPECT_EQ(b.no_effect, 0.0);
  EXPECT_FALSE(b.headline);
  EXPECT_EQ(paper.find_trend("p.t")->relation, "a > b");
  EXPECT_EQ(paper.find_claim("p.t"), nullptr);
  EXPECT_EQ(paper.benchmarks, (std::map<std::string, double>{{"benchmark.Table_2.BS_0.miss_rate", 0.45},
                                                             {"benchmark.Table_2.BS_0.tbs", 16}}));
  const TableRow row = {{"table", "Table 2"}, {"name", "BS.0"}, {"miss_rate", 0.45},
                        {"tbs", 16.0},        {"kind", "C"},    {"idempotent", true}};
  EXPECT_EQ(paper.rows,
            (std::map<std::pair<std::string, std::string>, TableRow>{{{"Table 2", "BS.0"}, row}}));
}

TEST(Claims, UnitsSayWhereNothingDiffers) {
  const auto no_effect = [](const std::string& unit) {
    return parse_claims(
               kHead + "[[claim]]\nid = \"p.a\"\nsource = \"s\"\nmetric = \"m\"\nwhat = \"w\"\nvalue = 1\n" +
                   "kind = \"result\"\nunit = \"" + unit + "\"\n",
               "p.toml")
        .claims[0]
        .no_effect;
  };
  EXPECT_EQ(no_effect("ratio"), 1.0);
  EXPECT_EQ(no_effect("x"), 1.0);
  EXPECT_EQ(no_effect("percent improvement"), 0.0);
  EXPECT_EQ(no_effect("percent loss"), 0.0);
  EXPECT_EQ(no_effect("percent of baseline"), 100.0);
  EXPECT_EQ(no_effect("percent"), std::nullopt);
  EXPECT_EQ(no_effect("us"), std::nullopt);
}

TEST(Claims, WrongOnesAreRefusedAtTheirPlace) {
  const std::pair<std::string, const char*> cases[] = {
      {"title = \"T\"\n", "p.toml: error: needs 'paper'"},
      {kHead + "claims = 1\n", "p.toml:3:1: error: unknown key 'claims'; did you mean 'claim'?"},
      {kHead + "claim = 1\n", "p.toml:3:9: error: 'claim' must be a list of tables"},
      {kHead + kClaim + "valeu = 1\n",
       "p.toml:11:1: error: unknown key in [[claim]] 'valeu'; did you mean 'value'?"},
      {kHead + kClaim + kClaim, "p.toml:12:6: error: there are two 'p.a'"},
      {kHead + "[[claim]]\nid = \"q.a\"\n", "p.toml:4:6: error: 'q.a' must begin with the paper: 'p.'"},
      {kHead + "[[claim]]\nid = \"p.a\"\n", "p.toml:3:1: error: [[claim]] needs 'source'"},
      {kHead + kClaim + "better = \"more\"\n", "p.toml:11:10: error: 'better' must be"},
      {kHead + kClaim + "bound = \"=\"\n", "p.toml:11:9: error: 'bound' must be"},
      {kHead + kClaim + "bound = \"\"\n", "p.toml:11:9: error: 'bound' must be"},
      {kHead + kClaim + "headline = 1\n", "p.toml:11:12: error: 'headline' must be true or false"},
      {kHead + kClaim + "no_effect = nan\n", "p.toml:11:13: error: 'no_effect' must be a number"},
      {kHead + kClaim + "setup = {kernels = 0}\n", "p.toml:11:20: error: 'kernels' must be"},
      {kHead + kClaim + "setup = {kernel = 1}\n", "p.toml:11:10: error: unknown key of 'setup' 'kernel'"},
      {kHead + "[[claim]]\nid = \"p.a\"\nsource = \"s\"\nmetric = \"m\"\nwhat = \"w\"\nunit = \"x\"\nkind = "
               "\"rsult\"\n",
       "p.toml:9:8: error: unknown kind 'rsult'; did you mean 'result'?"},
      {kHead + "[[benchmark]]\ntable = \"T\"\nname = \"a\"\n[[benchmark]]\ntable = \"T\"\nname = \"a\"\n",
       "p.toml:6:1: error: there are two rows"},
      {kHead + "[[benchmark]]\ntable = \"T\"\nname = \"a\"\nx = [1]\n",
       "p.toml:6:6: error: 'x' must be a text"},
      {kHead + "[[trend]]\nid = \"p.t\"\nsource = \"s\"\nwhat = \"w\"\n",
       "p.toml:3:1: error: [[trend]] needs 'relation'"},
      {"paper = [", "p.toml:1"},
  };
  for (const auto& [text, message] : cases) {
    try {
      (void)parse_claims(text, "p.toml");
      ADD_FAILURE() << "accepted: " << text;
    } catch (const UserError& error) {
      EXPECT_TRUE(std::string_view(error.what()).starts_with(message))
          << error.what() << "\nexpected: " << message;
    }
  }
}

TEST(Claims, ReasonsWhyThereIsNoAnswer) {
  const std::string head =
      "paper = \"p\"\ntitle = \"T\"\n[[trend]]\nid = \"p.t\"\nsource = \"s\"\nrelation = \"r\"\nwhat = "
      "\"w\"\n";
  const std::string one = "[[unanswered]]\nid = \"p.t\"\nwhy = \"a definition\"\n";
  EXPECT_EQ(parse_claims(head + one, "p.toml").unanswered.at("p.t"), "a definition");
  for (const auto& [text, message] : std::initializer_list<std::pair<std::string, std::string>>{
           {one + one, "p.toml:12:6: error: 'p.t' is listed twice"},
           {"[[unanswered]]\nid = \"p.x\"\nwhy = \"w\"\n",
            "p.toml:9:6: error: p has no claim and no trend 'p.x'"},
           {"[[unanswered]]\nid = \"p.t\"\n", "p.toml:8:1: error: [[unanswered]] needs 'why'"}}) {
    try {
      (void)parse_claims(head + text, "p.toml");
      ADD_FAILURE() << "accepted: " << text;
    } catch (const UserError& error) {
      EXPECT_TRUE(std::string_view(error.what()).starts_with(message)) << error.what();
    }
  }
}

TEST(Claims, TheFivePapersAreAllThere) {
  const std::map<std::string, std::array<std::size_t, 2>> expected = {{"awatramani17", {123, 17}},
                                                                      {"chimera15", {49, 11}},
                                                                      {"dai18", {60, 15}},
                                                                      {"kayiran14", {32, 16}},
                                                                      {"wang17", {33, 10}}};
  ASSERT_EQ(paper_names().size(), expected.size());
  for (const std::string& name : paper_names()) {
    const PaperClaims paper = paper_claims(name);
    EXPECT_EQ(paper.paper, name);
    EXPECT_EQ(paper.claims.size(), expected.at(name)[0]) << name;
    EXPECT_EQ(paper.trends.size(), expected.at(name)[1]) << name;
  }
  const PaperClaims dai18 = paper_claims("dai18");
  EXPECT_EQ(dai18.find_claim("dai18.fig12.ws_dmil_over_ws_weighted_speedup")->value, 24.6);
  EXPECT_EQ(dai18.benchmarks.at("benchmark.Table_2.cp.l1d_miss_rate"), 0.45);
  EXPECT_EQ(paper_claims("wang17").find_claim("wang17.fig8c.last_three_gain")->bound, Bound::Greater);
}

}  // namespace
}  // namespace gpumux::reproduce
