// Experiment files: the built-in files, and invalid files.
#include "reproduce/experiment.hpp"

#include <gtest/gtest.h>

#include <map>

#include "base/files.hpp"
#include "reproduce/library.hpp"
#include "sweep/expand.hpp"

namespace gpumux::reproduce {
namespace {

const std::string kExperimentHead = R"(title = "t"
paper = "dai18"
[sweep]
apps = ["add", "stream"]
policies = ["even", "leftover"]
combine = "pairs"
set.l1.size = ["24K", "48K"]
[sweep.scales.quick]
cycles = 600
[[quantity]]
name = "a"
of = "weighted_speedup"
reduce = "mean"
)";

Experiment parse(const std::string& text) {
  return parse_experiment(
      text, "f/e.toml", "f/e",
      {[](const std::string& path) -> std::string {
         if (path == "s.toml")
           return "apps = [\"add\"]\ncombine = \"alone\"\nscales.paper = {}\nscales.quick = {}\n";
         if (path == "flat.toml") return "apps = [\"add\"]\ncombine = \"alone\"\n";
         if (path == "base.toml")
           return "name = \"b\"\napps = [\"add\", \"stream\"]\npolicies = [\"leftover\"]\n"
                  "[scales.quick]\ncycles = 600\ncombine = \"pairs\"\n[scales.paper]\ncycles = 0\n"
                  "combine = \"pairs\"\n";
         if (path == "whole.toml")
           return "title = \"w\"\n[sweep]\napps = [\"add\", \"stream\"]\ncombine = \"pairs\"\n"
                  "[sweep.scales.paper]\n[sweep.scales.standard]\ncases = 1\n[sweep.scales.quick]\n"
                  "cycles = 5\n" +
                  std::string("[[quantity]]\nname = \"a\"\nof = \"ipc\"\nreduce = \"mean\"\n");
         if (path == "of_base.toml") return "title = \"w\"\n[sweep]\nbase = \"whole.toml\"\n";
         if (path == "bad.toml") return "apps = 1\nscales.quick = {}\n";
         throw UserError("there is no " + path);
       },
       paper_claims});
}

TEST(ExperimentFile, ReadsASweepOfItsOwnOrOfAFile) {
  const Experiment own = parse(kExperimentHead);
  ASSERT_EQ(own.scales.size(), 1U);
  EXPECT_EQ(own.scales[0].second.name, "f/e");
  EXPECT_EQ(own.scales[0].second.text, kExperimentHead);
  const Experiment other = parse(
      "title = \"t\"\nsweep = \"s.toml\"\n[[quantity]]\nname = \"a\"\nof = \"ipc\"\nreduce = \"mean\"\n");
  ASSERT_EQ(other.scales.size(), 2U);
  EXPECT_EQ(other.scales[0].first, "quick");
  EXPECT_EQ(other.scales[1].first, "paper");
  EXPECT_EQ(other.scales[0].second.name, "s");  // the same sweep as `gpumux sweep` of the file
  EXPECT_EQ(other.scales[0].second.path, "f/s.toml");
}

const std::string kMean = "[[quantity]]\nname = \"a\"\nof = \"ipc\"\nreduce = \"mean\"\n";

TEST(ExperimentFile, ASweepHasTheKeysOfItsBaseThatItDoesNotReplace) {
  const Experiment e =
      parse("title = \"t\"\n[sweep]\nbase = \"base.toml\"\npolicies = [\"even\"]\nscales.paper.cycles = 7\n" +
            kMean);
  ASSERT_EQ(e.scales.size(), 2U);
  const sweep::SweepFile& quick = e.scales[0].second;
  EXPECT_EQ(quick.name, "f/e");
  EXPECT_EQ(quick.cycles, 600U);
  ASSERT_EQ(quick.policies.size(), 1U);
  EXPECT_EQ(quick.policies[0].value, "even");
  EXPECT_EQ(quick.apps.size(), 2U);
  EXPECT_EQ(e.scales[1].second.cycles, 7U);
  EXPECT_EQ(e.scales[1].second.combine, std::vector<std::size_t>{2});
  // Faults are told where they are: in the base, or here.
  const auto message = [](const std::string& keys) -> std::string {
    try {
      (void)parse("title = \"t\"\n[sweep]\nbase = \"base.toml\"\n" + keys + kMean);
    } catch (const UserError& error) {
      return error.what();
    }
    return "accepted";
  };
  EXPECT_TRUE(message("scales.paper.seeds = 1\n").starts_with("f/base.toml:8:10: error: 'cycles'"))
      << message("");
  const std::string own = message("scales.paper.cycles = 7\npolicies = 5\n");
  EXPECT_TRUE(own.starts_with("f/e.toml:5:12: error: 'policies' must be a text")) << own;
  const std::string none = message("");
  EXPECT_NE(none, "accepted");
}

TEST(ExperimentFile, TheBaseMayBeAnExperiment) {
  const Experiment e = parse(
      "title = \"t\"\n[sweep]\nbase = \"whole.toml\"\npolicies = [\"even\"]\nscales.quick.cycles = 7\n" +
      kMean);
  ASSERT_EQ(e.scales.size(), 3U);
  EXPECT_EQ(e.scales[0].second.cycles, 7U);
  EXPECT_EQ(e.scales[1].first, "standard");
  EXPECT_EQ(e.scales[1].second.cases, 1U);
  EXPECT_EQ(e.scales[2].first, "paper");
  EXPECT_EQ(e.scales[2].second.policies.at(0).value, "even");
  EXPECT_EQ(e.quantities.size(), 1U) << "the base's are its own";
  try {
    (void)parse("title = \"t\"\n[sweep]\nbase = \"of_base.toml\"\n" + kMean);
    FAIL();
  } catch (const UserError& error) {
    EXPECT_STREQ(error.what(),
                 "f/e.toml:3:8: error: 'of_base.toml' takes its sweep from another file: name that");
  }
}

TEST(ExperimentFile, RowsAndColumnsMakeOneQuantityEach) {
  const Experiment e = parse(kExperimentHead + R"([[quantity]]
name = "speedup_{policy}_{size}"
rows.policy = ["even", "leftover"]
columns.size = {small = "24K", large = "48K"}
of = "weighted_speedup"
where = {policy = "{policy}", set = {l1.size = "{size}"}, class = "any"}
reduce = "mean"
[[quantity]]
name = "gain_{size}"
columns.size = ["small", "large"]
value = "percent(speedup_even_{size}, speedup_leftover_{size}) + {size.index}"
)");
  ASSERT_EQ(e.quantities.size(), 7U);
  EXPECT_EQ(e.quantities[1].name, "speedup_even_small");
  EXPECT_EQ(e.quantities[2].name, "speedup_even_large");
  EXPECT_EQ(e.quantities[3].name, "speedup_leftover_small");
  EXPECT_EQ(e.quantities[4].name, "speedup_leftover_large");
  EXPECT_EQ(e.quantities[4].filter.policies, std::vector<std::string>{"leftover"});
  EXPECT_EQ(e.quantities[4].filter.set.at("l1.size"), std::vector<std::string>{"48K"});
  EXPECT_TRUE(e.quantities[4].filter.classes.empty());
  ASSERT_TRUE(e.quantities[4].cell);
  EXPECT_EQ(e.quantities[4].cell->family, "speedup_{policy}_{size}");
  EXPECT_EQ(e.quantities[4].cell->row, "leftover");
  EXPECT_EQ(e.quantities[4].cell->column, "large");
  EXPECT_EQ(e.quantities[6].value->text(), "percent(speedup_even_large, speedup_leftover_large) + 1");
}

TEST(ExperimentFile, RowsAndColumnsKeepTheOrderOfTheFile) {
  const Experiment e = parse(kExperimentHead + R"([[quantity]]
name = "q_{x}_{y}"
columns.y.b = "2"
rows.x = {"z" = "1", "a" = "2", "m" = "3"}
columns.y.a = "1"
value = "a + 10 * {x.index} + {y.index}"
)");
  std::vector<std::string> names;
  for (std::size_t i = 1; i < e.quantities.size(); ++i) names.push_back(e.quantities[i].name);
  EXPECT_EQ(names, (std::vector<std::string>{"q_z_b", "q_z_a", "q_a_b", "q_a_a", "q_m_b", "q_m_a"}));
  EXPECT_EQ(e.quantities.back().value->text(), "a + 10 * 2 + 1");
}

TEST(ExperimentFile, TemplatesOfPoliciesNameTheirValues) {
  const std::string head =
      "title = \"t\"\n[sweep]\napps = [\"add\", \"stream\"]\ncombine = \"pairs\"\nscales.quick.cycles = 600\n"
      "policies = [{policy = \"even-smil:k0={a},k1={b}\", a = [1, 3], b = [2, \"inf\"]}]\n";
  const Experiment e =
      parse(head +
            "[[quantity]]\nname = \"q\"\nof = [\"weighted_speedup\", \"policy.a\"]\nreduce = "
            "\"at_max\"\nwhere = {variables = {b = \"inf\"}}\n");
  ASSERT_EQ(e.scales[0].second.policies.size(), 4U);
  EXPECT_EQ(e.scales[0].second.policies[1].value, "even-smil:k0=1,k1=inf");
  ASSERT_EQ(e.variables.size(), 4U);
  EXPECT_EQ(e.variables.at("even,memory=smil,k0=3").at("b"), "inf");
  const auto refused = [&](const std::string& quantity, const std::string& begin) {
    try {
      (void)parse(head + "[[quantity]]\nname = \"q\"\nreduce = \"mean\"\n" + quantity);
      ADD_FAILURE() << "accepted: " << quantity;
    } catch (const UserError& error) {
      EXPECT_TRUE(std::string_view(error.what()).starts_with(begin)) << error.what();
    }
  };
  refused("of = \"policy.c\"\n", "f/e.toml:10:6: error: unknown counter of a run 'policy.c'");
  refused("of = \"ipc\"\nwhere = {variables = {c = \"1\"}}\n",
          "f/e.toml:11:23: error: unknown name in the sweep's policies 'c'");
  refused("of = \"ipc\"\nwhere = {variables = {a = \"7\"}}\n",
          "f/e.toml:11:27: error: unknown value of the sweep '7'");
}

TEST(ExperimentFile, NamesAreMadeOne) {
  const Experiment e = parse(kExperimentHead +
                             "[[quantity]]\nname = \"b\"\nof = \"ipc\"\nreduce = \"max\"\n"
                             "where = {class = \"M+C\", set = {sm.l1.size = \"48K\"}, policy = \" even\"}\n");
  const Filter& filter = e.quantities[1].filter;
  EXPECT_EQ(filter.classes, std::vector<std::string>{"C+M"});
  EXPECT_EQ(filter.policies, std::vector<std::string>{"even"});
  EXPECT_EQ(filter.set.at("l1.size"), std::vector<std::string>{"48K"});
}

TEST(ExperimentFile, WrongOnesAreRefusedAtTheirPlace) {
  const std::string q = "[[quantity]]\nname = \"b\"\n";            // lines 14 and 15
  const std::string of = q + "of = \"ipc\"\nreduce = \"mean\"\n";  // to line 17
  const std::pair<std::string, const char*> cases[] = {
      {"title = \"t\"\n", "f/e.toml: error: is no experiment: it needs 'sweep'"},
      {"sweep = \"s.toml\"\n", "f/e.toml: error: needs 'title'"},
      {"title = \"t\"\nsweep = \"s.toml\"\n", "f/e.toml: error: has no [[quantity]]"},
      {"title = \"t\"\nsweep = \"none.toml\"\n", "f/e.toml:2:9: error: there is no none.toml"},
      {"title = \"t\"\nsweep = \"flat.toml\"\n", "f/flat.toml: error: needs scales"},
      {kExperimentHead +
           "[[claim]]\nid = \"dai18.fig12.spatial_weighted_speedup\"\nours = \"a\"\nbeside = \"a + a\"\n",
       "f/e.toml:17:10: error: unknown quantity 'a + a'"},
      {kExperimentHead + "[[quantity]]\nname = \"b\"\nof = \"ipc\"\nwhen = \"ipcs\"\nreduce = \"mean\"\n",
       "f/e.toml:17:8: error: unknown counter of a run 'ipcs'"},
      {"title = \"t\"\nsweep = \"bad.toml\"\n", "f/bad.toml:1:8: error: 'apps' must be a list"},
      {"title = \"t\"\nsweep = 3\n", "f/e.toml:2:9: error: 'sweep' must be a text"},
      {"title = \"t\"\npaper = \"dai19\"\nsweep = \"s.toml\"\n",
       "f/e.toml:2:9: error: unknown paper 'dai19'; did you mean 'dai18'?"},
      {kExperimentHead + "quantities = 1\n",
       "f/e.toml:14:1: error: unknown key in [[quantity]] 'quantities'"},
      {"titel = \"t\"\n" + kExperimentHead,
       "f/e.toml:1:1: error: unknown key 'titel'; did you mean 'title'?"},
      {kExperimentHead + q, "f/e.toml:14:1: error: [[quantity]] needs one of"},
      {kExperimentHead + of + "value = \"a\"\n", "f/e.toml:14:1: error: [[quantity]] needs one of"},
      {kExperimentHead + q + "value = \"a\"\nreduce = \"mean\"\n",
       "f/e.toml:17:10: error: 'reduce' goes with 'of'"},
      {kExperimentHead + q + "of = \"ipc\"\n", "f/e.toml:14:1: error: [[quantity]] with 'of' needs 'reduce'"},
      {kExperimentHead + q + "of = \"ipc\"\nreduce = \"average\"\n",
       "f/e.toml:17:10: error: unknown value of 'reduce' 'average'"},
      {kExperimentHead + q + "of = \"ipcs\"\nreduce = \"mean\"\n",
       "f/e.toml:16:6: error: unknown counter of a run 'ipcs'; did you mean 'ipc'?"},
      {kExperimentHead + q + "of = \"weighted_speedup\"\nper = \"app\"\nreduce = \"mean\"\n",
       "f/e.toml:16:6: error: unknown counter of an application 'weighted_speedup'"},
      {kExperimentHead + q + "of = \"ipc +\"\nreduce = \"mean\"\n", "f/e.toml:16:6: error: in 'ipc +'"},
      {kExperimentHead + q + "of = \"ipc\"\nreduce = \"rank_correlation\"\n",
       "f/e.toml:16:6: error: rank_correlation needs two"},
      {kExperimentHead + q + "value = \"a + c\"\n", "f/e.toml:16:9: error: unknown quantity 'c'"},
      {kExperimentHead + q + "value = \"b\"\n",
       "f/e.toml:16:9: error: unknown quantity 'b'"},  // not of itself
      {kExperimentHead + q + "value = \"benchmark.Table_2.cp.nothing\"\n",
       "f/e.toml:16:9: error: unknown quantity"},
      {kExperimentHead + q + "highest = [\"a\", \"c\"]\n",
       "f/e.toml:16:11: error: 'c' is no number among the quantities above"},
      {kExperimentHead + q + "highest = [\"a\"]\n[[quantity]]\nname = \"c\"\nvalue = \"b\"\n",
       "f/e.toml:19:9: error: 'b' is the name of a quantity, not a number"},
      {kExperimentHead + "[[quantity]]\nname = \"a\"\n",
       "f/e.toml:15:8: error: there are two quantities 'a'"},
      {kExperimentHead + "[[quantity]]\nname = \"a-b\"\n", "f/e.toml:15:8: error: 'a-b': a name has letters"},
      {kExperimentHead + of + "where = {policy = \"evn\"}\n",
       "f/e.toml:18:19: error: unknown policy 'evn'; did you mean 'even'?"},
      {kExperimentHead + of + "where = {policy = \"spatial\"}\n",
       "f/e.toml:18:19: error: unknown policy of the sweep 'spatial'"},
      {kExperimentHead + of + "where = {app = \"hotspot\"}\n",
       "f/e.toml:18:16: error: unknown application of the sweep 'hotspot'"},
      {kExperimentHead + of + "where = {machine = \"v100\"}\n",
       "f/e.toml:18:20: error: unknown machine of the sweep 'v100'"},
      {kExperimentHead + of + "where = {class = \"C+X\"}\n", "f/e.toml:18:18: error: 'C+X' is no class"},
      {kExperimentHead + of + "where = {set = {l1.size = \"96K\"}}\n",
       "f/e.toml:18:27: error: unknown value of the sweep '96K'"},
      {kExperimentHead + of + "where = {set = {l2.size = 1}}\n", "f/e.toml:18:"},
      {kExperimentHead + of + "where = {clas = \"C\"}\n",
       "f/e.toml:18:10: error: unknown key of 'where' 'clas'"},
      {kExperimentHead + of + "rows = 5\n", "f/e.toml:18:8: error: 'rows' must have one name"},
      {kExperimentHead + of + "rows.x = []\n", "f/e.toml:18:10: error: 'x' is empty"},
      {kExperimentHead + "[[quantity]]\nname = \"b_{y}\"\nrows.x = [\"1\"]\nvalue = \"a\"\n",
       "f/e.toml:15:8: error: 'b_{y}' has a { that names no row or column"},
      {kExperimentHead + of + "per = \"interval\"\n", "f/e.toml:18:7: error: the sweep keeps no series"},
      {kExperimentHead + of + "window = [0, 100]\n", "f/e.toml:18:10: error: the sweep keeps no series"},
      {kExperimentHead + of + "window = [9, 9]\n",
       "f/e.toml:18:10: error: 'window' must end after it begins"},
      {kExperimentHead + of + "window = 5\n", "f/e.toml:18:10: error: 'window' must be a list of two cycles"},
      {kExperimentHead + q + "of = \"ipc\"\nreduce = \"knee\"\n", "f/e.toml:16:6: error: knee needs two"},
      {kExperimentHead + "[[claim]]\nid = \"dai18.table2.lsu_stall_class_threshold\"\nours = \"a\"\n",
       "f/e.toml:15:6: error: the paper's claims list 'dai18.table2.lsu_stall_class_threshold' under"},
      {kExperimentHead + of + "where = {isolated = 1}\n",
       "f/e.toml:18:21: error: 'isolated' must be true or false"},
      {kExperimentHead + of + "against = {policy = \"even\"}\n",
       "f/e.toml:18:11: error: 'against' needs 'compare'"},
      {kExperimentHead + of + "compare = \"ratio\"\n", "f/e.toml:18:11: error: 'compare' needs 'against'"},
      {kExperimentHead + of + "against = {}\ncompare = \"ratio\"\n",
       "f/e.toml:18:11: error: 'against' must be a table"},
      {kExperimentHead + of + "against = {policy = [\"even\", \"leftover\"]}\ncompare = \"ratio\"\n",
       "f/e.toml:18:21: error: 'against' takes one value"},
      {kExperimentHead + "[[claim]]\nid = \"dai18.fig12.spatial_weighted_speed\"\nours = \"a\"\n",
       "f/e.toml:15:6: error: dai18 has no claim 'dai18.fig12.spatial_weighted_speed'; did you mean "
       "'dai18.fig12.spatial_weighted_speedup'?"},
      {kExperimentHead + "[[claim]]\nid = \"dai18.trend.cc_flat\"\nours = \"a\"\n",
       "f/e.toml:15:6: error: dai18 has no claim"},
      {kExperimentHead + "[[claim]]\nid = \"dai18.fig12.ws_weighted_speedup\"\n",
       "f/e.toml:14:1: error: [[claim]] needs 'ours'"},
      {kExperimentHead + "[[claim]]\nid = \"dai18.fig12.ws_weighted_speedup\"\nours = \"z\"\n",
       "f/e.toml:16:8: error: unknown quantity 'z'"},
      {kExperimentHead +
           "[[claim]]\nid = \"dai18.fig12.ws_weighted_speedup\"\nours = \"a\"\nscales = \"paper\"\n",
       "f/e.toml:17:10: error: unknown scale of the sweep 'paper'"},
      {kExperimentHead + "[[trend]]\nid = \"dai18.trend.cc_flat\"\nholds = \"a + 1\"\n",
       "f/e.toml:16:9: error: 'holds' must compare"},
      {kExperimentHead + "[[trend]]\nid = \"dai18.trend.cc_flat\"\nholds = \"a > 1\"\n" +
           "[[trend]]\nid = \"dai18.trend.cc_flat\"\nholds = \"a > 1\"\n",
       "f/e.toml:18:6: error: 'dai18.trend.cc_flat' is answered twice"},
      {"title = \"t\"\nsweep = \"s.toml\"\n[[quantity]]\nname = \"a\"\nof = \"ipc\"\nreduce = "
       "\"mean\"\n[[claim]]\n"
       "id = \"x\"\nours = \"a\"\n",
       "f/e.toml:8:6: error: speaks to a paper, but the file names none"},
  };
  for (const auto& [text, message] : cases) {
    try {
      (void)parse(text);
      ADD_FAILURE() << "accepted: " << text << "\nexpected: " << message;
    } catch (const UserError& error) {
      EXPECT_TRUE(std::string_view(error.what()).starts_with(message))
          << error.what() << "\nexpected: " << message;
    }
  }
}

TEST(Library, EveryExperimentIsReadyAtAllScales) {
  std::map<std::string, std::string> answered;  // claims and trends, by whom
  ASSERT_FALSE(experiment_ids().empty());
  for (const std::string& id : experiment_ids()) {
    const Experiment e = builtin_experiment(id);
    EXPECT_EQ(e.id, id);
    for (const char* scale : {"quick", "standard", "paper"}) {
      ASSERT_NE(e.find_scale(scale), nullptr) << id;
      EXPECT_FALSE(sweep::expand(*e.find_scale(scale)).runs.empty()) << id;
    }
    for (const std::vector<Answer>* answers : {&e.claims, &e.trends}) {
      for (const Answer& answer : *answers) {
        EXPECT_TRUE(answered.emplace(answer.id, id).second)
            << answer.id << " is answered by " << answered[answer.id];
      }
    }
  }
}

TEST(Library, EveryClaimAndTrendOfDai18IsAnsweredOrHasAReason) {
  std::map<std::string, std::string> answered;
  for (const Experiment& e : choose("dai18").experiments) {
    for (const Answer& answer : e.claims) answered[answer.id] = e.id;
    for (const Answer& answer : e.trends) answered[answer.id] = e.id;
  }
  const PaperClaims paper = paper_claims("dai18");
  const auto check = [&](const std::string& id) {
    EXPECT_NE(answered.contains(id), paper.unanswered.contains(id)) << id;
  };
  for (const Claim& claim : paper.claims) check(claim.id);
  for (const Trend& trend : paper.trends) check(trend.id);
}

TEST(Library, ChoosesWhatIsMeant) {
  const auto ids = [](const std::string& what) {
    std::vector<std::string> list;
    for (const Experiment& e : choose(what).experiments) list.push_back(e.id);
    return list;
  };
  EXPECT_EQ(ids("basics/sharing"), std::vector<std::string>{"basics/sharing"});
  EXPECT_EQ(ids("sharing"), std::vector<std::string>{"basics/sharing"});
  EXPECT_EQ(ids("basics"), std::vector<std::string>{"basics/sharing"});
  EXPECT_EQ(ids("dai18").size(), 18U);
  EXPECT_EQ(ids("fig12"), std::vector<std::string>{"dai18/fig12"});
  EXPECT_EQ(ids("all"), experiment_ids());
  EXPECT_EQ(choose("all").papers.size(), 5U);
  EXPECT_EQ(choose("dai18").papers.size(), 1U);
  EXPECT_TRUE(choose("basics").papers.empty());
  EXPECT_THROW((void)choose("dai81"), UserError);
  EXPECT_THROW((void)choose("none.toml"), UserError);
  EXPECT_THROW((void)choose(""), UserError);
}

}  // namespace
}  // namespace gpumux::reproduce
