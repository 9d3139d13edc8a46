// A synthetic paper with invented results of runs: every reduction, filter and comparison against values
// worked out by hand. Then real runs through the database.
#include "reproduce/measure.hpp"

#include <gtest/gtest.h>

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "database/results.hpp"
#include "reproduce/write_up.hpp"
#include "sweep/job.hpp"
#include "sweep/runner.hpp"
#include "temporary_folder.hpp"

namespace gpumux::reproduce {
namespace {

const std::string kClaims = R"(
paper = "p"
title = "A paper"
[[claim]]
id = "p.speedup"
source = "s"
metric = "weighted speedup"
what = "even"
value = 1.25
unit = "ratio"
better = "higher"
kind = "result"
[[claim]]
id = "p.gain"
source = "s"
metric = "weighted speedup"
what = "even over spatial"
value = 30
unit = "percent improvement"
better = "higher"
kind = "result"
[[claim]]
id = "p.unanswered"
source = "s"
metric = "m"
what = "w"
value = 3
unit = "us"
better = "lower"
kind = "result"
[[trend]]
id = "p.order"
source = "s"
relation = "even > spatial"
what = "order"
[[trend]]
id = "p.classes"
source = "s"
relation = "C+C > C+M"
what = "classes"
[[benchmark]]
table = "T1"
name = "row"
speed = 1.5
)";

const std::string kSweep = R"(
[sweep]
policies = ["even", "spatial"]
apps = ["add", "stream", "pathfinder"]
combine = "pairs"
[sweep.set]
sms = 2
[sweep.scales.quick]
cycles = 600
[sweep.scales.paper]
cycles = 700
)";

Sources sources() {
  return {[](const std::string& path) -> std::string { throw UserError("there is no " + path); },
          [](const std::string&) { return parse_claims(kClaims, "p.toml"); }};
}

Experiment experiment(const std::string& quantities, const std::string& answers = "") {
  return parse_experiment("title = \"t\"\npaper = \"p\"\n" + kSweep + quantities + answers, "e.toml", "x/e",
                          sources());
}

class Measure : public testing::Test {
 protected:
  static constexpr double kEven[] = {1.2, 1.6, 1.0};  // add+stream, add+pathfinder, stream+pathfinder
  static constexpr double kSpatial[] = {1.0, 1.25, 1.25};

  void SetUp() override {
    plan_ = sweep::expand(
        *experiment("[[quantity]]\nname = \"a\"\nof = \"cycles\"\nreduce = \"mean\"\n").find_scale("quick"));
    ASSERT_EQ(plan_.runs.size(), 3U + 6U);
    records_.resize(plan_.runs.size());
    std::size_t pair = 0;
    for (std::size_t i = 0; i < plan_.runs.size(); ++i) {
      const sweep::SweepRun& run = plan_.runs[i];
      RunRecord& record = records_[i];
      record.state = RunRecord::State::Done;
      record.run = {{"cycles", 600.0}, {"sms", 2.0}, {"lsu_stall_cycles", 0.0}, {"l1_accesses", 40.0}};
      record.document =
          R"({"metrics": {"quota": {"epochs": 7}, "none": null}, "apps": [{"x": 1}, {"x": 2}]})";
      record.apps.resize(run.spec.apps.size());
      if (run.is_baseline) {
        // A fifth of 600 cycles of 2 SMs is 240.
        record.run["lsu_stall_cycles"] = run.spec.apps[0].text == "add" ? 241.0 : 240.0;
        continue;
      }
      const bool even = run.spec.policy.name == "even";
      record.run["weighted_speedup"] = (even ? kEven : kSpatial)[pair / 2];
      record.run["l1_misses"] = 30.0 - 10.0 * static_cast<double>(pair / 2);
      for (std::size_t app = 0; app < 2; ++app) {
        record.apps[app]["normalized_ipc"] =
            0.5 + 0.1 * static_cast<double>(pair / 2) + 0.2 * static_cast<double>(app) + (even ? 0.0 : 0.01);
      }
      ++pair;
    }
  }
  /// The value of one quantity with these keys.
  [[nodiscard]] Value value(const std::string& keys) const {
    return measure(experiment("[[quantity]]\nname = \"q\"\n" + keys), plan_, records_)
        .quantities.back()
        .value;
  }
  void expect(const std::string& keys, double expected) const {
    const Value got = value(keys);
    ASSERT_TRUE(got.number) << keys << ": " << got.why;
    EXPECT_NEAR(*got.number, expected, 1e-12) << keys;
  }
  void expect_missing(const std::string& keys, const std::string& why) const {
    const Value got = value(keys);
    EXPECT_FALSE(got.number) << keys;
    EXPECT_EQ(got.why, why) << keys;
  }

  sweep::SweepPlan plan_;
  std::vector<RunRecord> records_;
};

const std::string kSpeedup = "of = \"weighted_speedup\"\n";
const std::string kOfEven = kSpeedup + "where = {policy = \"even\"}\n";

TEST_F(Measure, Reductions) {
  expect(kOfEven + "reduce = \"mean\"", 3.8 / 3);
  expect(kOfEven + "reduce = \"sum\"", 3.8);
  expect(kOfEven + "reduce = \"min\"", 1.0);
  expect(kOfEven + "reduce = \"max\"", 1.6);
  expect(kOfEven + "reduce = \"median\"", 1.2);
  expect(kSpeedup + "reduce = \"median\"", 1.225);  // of six: between 1.2 and 1.25
  expect(kOfEven + "reduce = \"geometric\"", std::cbrt(1.2 * 1.6 * 1.0));
  expect(kOfEven + "reduce = \"harmonic\"", 3 / (1 / 1.2 + 1 / 1.6 + 1));
  expect(kOfEven + "reduce = \"count\"", 3);
  expect("of = \"weighted_speedup >= 1.25\"\nreduce = \"count\"", 3);
  expect("of = \"weighted_speedup >= 1.25\"\nreduce = \"mean\"", 0.5);
  expect("of = \"l1_misses / l1_accesses\"\nwhere = {policy = \"even\"}\nreduce = \"mean\"", 0.5);
  // Ranks 2 3 1 against 3 2 1.
  expect(
      "of = [\"weighted_speedup\", \"l1_misses\"]\nwhere = {policy = \"even\"}\nreduce = "
      "\"rank_correlation\"",
      0.5);
  // Ranks 1 2.5 2.5 against 3 2 1: -1.5 / sqrt(1.5 * 2).
  expect(
      "of = [\"weighted_speedup\", \"l1_misses\"]\nwhere = {policy = \"spatial\"}\nreduce = "
      "\"rank_correlation\"",
      -1.5 / std::sqrt(3.0));
  expect_missing("of = [\"cycles\", \"l1_misses\"]\nreduce = \"rank_correlation\"",
                 "equal values have no rank correlation");
  expect_missing(kOfEven + "reduce = \"only\"", "3 samples, not one");
  expect_missing("of = \"weighted_speedup - 1\"\nreduce = \"geometric\"",
                 "such a mean needs positive values");
}

TEST_F(Measure, Filters) {
  expect(kSpeedup + "where = {workload = [\"pathfinder\", \"add\"], policy = \"even\"}\nreduce = \"only\"",
         1.6);
  expect(kSpeedup + "where = {app = \"stream\", policy = \"even\"}\nreduce = \"mean\"", 1.1);
  expect(kSpeedup + "where = {app = [\"stream\", \"add\"], policy = \"even\"}\nreduce = \"only\"", 1.2);
  expect(kSpeedup + "where = {policy = [\"even\", \"spatial\"]}\nreduce = \"count\"", 6);
  expect(kSpeedup +
             "where = {set = {sms = 2}, machine = \"dai18-maxwell\", seed = 1, size = 2}\nreduce = \"count\"",
         6);
  expect(kSpeedup + "where = {seed = 2}\nreduce = \"count\"", 0);
  expect("of = \"lsu_stall_cycles\"\nwhere = {isolated = true}\nreduce = \"max\"", 241);
  expect("of = \"cycles\"\nwhere = {isolated = true}\nreduce = \"count\"", 3);
  expect_missing(kSpeedup + "where = {size = 3}\nreduce = \"mean\"", "no run is such");
}

TEST_F(Measure, SamplesThatCount) {
  expect(kOfEven + "when = \"weighted_speedup > 1.1\"\nreduce = \"mean\"", 1.4);
  expect(kOfEven + "when = \"weighted_speedup > 1.1\"\nreduce = \"count\"", 2);
  expect(kOfEven + "when = \"weighted_speedup > 2\"\nreduce = \"count\"", 0);
  expect(kOfEven + "when = \"weighted_speedup > 2\"\nreduce = \"sum\"", 0);
  expect_missing(kOfEven + "when = \"weighted_speedup > 2\"\nreduce = \"mean\"",
                 "in no run is weighted_speedup > 2");
  expect_missing(kSpeedup + "where = {seed = 2}\nwhen = \"weighted_speedup > 2\"\nreduce = \"sum\"",
                 "no run is such");
  // Of the application's own numbers.
  expect(
      "of = \"normalized_ipc\"\nper = \"app\"\nwhere = {policy = \"even\"}\nwhen = \"normalized_ipc > "
      "0.65\"\nreduce "
      "= \"mean\"",
      0.775);
  // Compared: where it is so in both runs. 1.2 and 1.6 of even, 1.25 and 1.25 of spatial: the second pair
  // alone.
  expect(kOfEven +
             "when = \"weighted_speedup > 1.1\"\nagainst = {policy = \"spatial\"}\ncompare = \"ratio\"\n"
             "reduce = \"only\"",
         1.6 / 1.25);
  const auto made = experiment("[[quantity]]\nname = \"q\"\n" + kOfEven +
                               "when = \"weighted_speedup > 1.1\"\nreduce = \"mean\"\n");
  const MeasuredQuantity q = measure(made, plan_, records_).quantities.back();
  EXPECT_EQ(q.samples, 2U);
  EXPECT_EQ(q.evidence.workloads, 2U);
}

TEST_F(Measure, MeansOfOneWorkloadEachHaveTheIntervalOfTheWorkloadsMean) {
  std::string quantities;
  for (const std::string policy : {"even", "spatial"}) {
    std::string list;
    for (const std::string pair : {"add + stream", "add + pathfinder", "pathfinder + stream"}) {
      const std::string name = policy + "_" + identifier(pair);
      quantities += "[[quantity]]\nname = \"" + name + "\"\n" + kSpeedup + "where = {policy = \"" + policy +
                    "\", workload = \"" + pair + "\"}\nreduce = \"only\"\n";
      list += (list.empty() ? "" : ", ") + name;
    }
    quantities += "[[quantity]]\nname = \"list_" + policy + "\"\nvalue = \"mean(" + list + ")\"\n";
    quantities += "[[quantity]]\nname = \"mean_" + policy + "\"\n" + kSpeedup + "where = {policy = \"" +
                  policy + "\"}\nreduce = \"mean\"\n";
  }
  quantities += "[[quantity]]\nname = \"list_gain\"\nvalue = \"percent(list_even, list_spatial)\"\n";
  quantities += "[[quantity]]\nname = \"mean_gain\"\nvalue = \"percent(mean_even, mean_spatial)\"\n";
  quantities += "[[quantity]]\nname = \"sum\"\nvalue = \"even_add___stream + even_add___pathfinder\"\n";
  std::map<std::string, MeasuredQuantity> of;
  for (const MeasuredQuantity& q : measure(experiment(quantities), plan_, records_).quantities)
    of[q.name] = q;
  for (const std::string what : {"even", "spatial", "gain"}) {
    const Evidence& list = of.at("list_" + what).evidence;
    const Evidence& mean = of.at("mean_" + what).evidence;
    EXPECT_EQ(list.workloads, 3U) << what;
    ASSERT_TRUE(list.interval && mean.interval) << what;
    EXPECT_LT(list.interval->low, list.interval->high) << what;
    EXPECT_NEAR(list.interval->low, mean.interval->low, 1e-12) << what;
    EXPECT_NEAR(list.interval->high, mean.interval->high, 1e-12) << what;
  }
  EXPECT_FALSE(of.at("sum").evidence.interval) << "no mean over workloads";
}

TEST_F(Measure, ANumberBesideAnAnswer) {
  const Experiment made =
      experiment("[[quantity]]\nname = \"ours\"\n" + kOfEven +
                     "reduce = \"mean\"\n[[quantity]]\nname = \"other\"\n"
                     "what = \"the best pair\"\n" +
                     kOfEven + "reduce = \"max\"\n",
                 "[[claim]]\nid = \"p.speedup\"\nours = \"ours\"\nbeside = \"other\"\nnote = \"as it is\"\n");
  const std::string note = measure(made, plan_, records_).claims.at(0).verdict.note;
  EXPECT_TRUE(note.starts_with("the best pair 1.6 [1, 1.6]")) << note;
  EXPECT_NE(note.find("; as it is"), std::string::npos) << note;
}

TEST_F(Measure, GoalsOfTheSweep) {
  const Experiment made = parse_experiment(R"(
title = "t"
[sweep]
apps = ["add", "stream"]
combine = "ordered-pairs"
goals = ["50%", "80%"]
[sweep.scales.quick]
cycles = 600
[[quantity]]
name = "high"
of = "result.apps.0.goal.reached"
where = {goal = "80%"}
reduce = "mean"
[[quantity]]
name = "add_alone"
of = "result.apps.0.goal.reached"
where = {goal = ["50%", "80%"], workload = ["add", "stream"]}
reduce = "count"
[[quantity]]
name = "add_first"
of = "result.apps.0.goal.reached"
where = {first = "add"}
reduce = "mean"
)",
                                           "e.toml", "x/e", sources());
  const sweep::SweepPlan plan = sweep::expand(*made.find_scale("quick"));
  std::vector<RunRecord> records(plan.runs.size());
  for (std::size_t i = 0; i < records.size(); ++i) {
    records[i].state = RunRecord::State::Done;
    records[i].apps.resize(plan.runs[i].spec.apps.size());
    const bool reached = plan.runs[i].goals == "50%" || plan.runs[i].names[0] == "add";
    records[i].document = fmt::format(R"({{"apps": [{{"goal": {{"reached": {}}}}}]}})", reached);
  }
  const auto quantities = measure(made, plan, records).quantities;
  EXPECT_DOUBLE_EQ(*quantities[0].value.number, 0.5);
  EXPECT_DOUBLE_EQ(*quantities[1].value.number, 3) << "of both orders and goals";
  EXPECT_DOUBLE_EQ(*quantities[2].value.number, 1);
}

TEST_F(Measure, ClassesFollowFromIsolatedRuns) {
  expect(kSpeedup + "where = {class = \"M+C\", policy = \"even\"}\nreduce = \"mean\"", 1.4);
  expect(kSpeedup + "where = {class = \"C+C\", policy = \"even\"}\nreduce = \"only\"", 1.0);
  expect(kSpeedup + "where = {class = [\"C+C\", \"C+M\"], policy = \"even\"}\nreduce = \"count\"", 3);
  expect(kSpeedup + "where = {class = \"M+M\"}\nreduce = \"count\"", 0);
  expect("of = \"cycles\"\nwhere = {isolated = true, class = \"C\"}\nreduce = \"count\"", 2);
  // Or the file gives them.
  const Experiment given =
      parse_experiment("title = \"t\"\npaper = \"p\"\n[classes]\nstream = \"M\"\n" + kSweep +
                           "[[quantity]]\nname = \"q\"\nof = \"weighted_speedup\"\nwhere = {class = "
                           "\"M+M\"}\nreduce = \"mean\"\n",
                       "e.toml", "x/e", sources());
  EXPECT_DOUBLE_EQ(*measure(given, plan_, records_).quantities[0].value.number, 1.1);
}

TEST_F(Measure, PositionsAndQuartiles) {
  // Of 1.2 1.6 1.0 with misses 30 20 10: 20 where the speedup is greatest.
  expect("of = [\"weighted_speedup\", \"l1_misses\"]\nwhere = {policy = \"even\"}\nreduce = \"at_max\"", 20);
  expect(kSpeedup + "reduce = \"upper_quartile\"", 1.25);  // 1 1 1.2 1.25 1.25 1.6
  // 1.0 at 10, 1.6 at 20, 1.2 at 30: from 30 on it stays below 1.3.
  expect("of = [\"weighted_speedup\", \"l1_misses\"]\nwhere = {policy = \"even\"}\nreduce = \"knee\"", 30);
  expect_missing(
      "of = [\"weighted_speedup\", \"30 - l1_misses\"]\nwhere = {policy = \"spatial\", app = "
      "\"stream\"}\nreduce = \"knee\"",
      "it does not stay low up to the last position");
}

TEST_F(Measure, SaturationIsWithinTwoPercentOfTheLast) {
  const std::string of = "of = [\"weighted_speedup\", \"l1_misses\"]\nwhere = {policy = \"even\"}\n";
  // 1.0 at 10, 1.6 at 20, 1.2 at 30: the first is 17 percent below the last, the second above.
  expect(of + "reduce = \"saturation\"", 20);
  expect(
      "of = [\"1 / weighted_speedup\", \"l1_misses\"]\nwhere = {policy = \"even\"}\nreduce = \"saturation\"",
      10);
  expect(
      "of = [\"1.19 - 0 * l1_misses\", \"l1_misses\"]\nwhere = {policy = \"even\"}\nreduce = \"saturation\"",
      10);
}

TEST_F(Measure, SeriesGiveIntervalsAndWindows) {
  const std::string series = "[sweep]\nseries = 250\n";
  const Experiment e = parse_experiment(
      "title = \"t\"\npaper = \"p\"\n" + series + kSweep.substr(kSweep.find("policies")) +
          "[[quantity]]\nname = \"most\"\nof = \"1000 * l1_accesses / cycles\"\nper = \"interval\"\nreduce = "
          "\"max\"\n"
          "where = {app = \"add\", policy = \"even\"}\n"
          "[[quantity]]\nname = \"part\"\nof = \"l1_accesses + cycles\"\nwindow = [250, 500]\nreduce = "
          "\"sum\"\n"
          "where = {workload = \"add + stream\", policy = \"even\"}\n"
          "[[quantity]]\nname = \"beyond\"\nof = \"cycles\"\nwindow = [250, 750]\nreduce = \"sum\"\n"
          "[[quantity]]\nname = \"askew\"\nof = \"cycles\"\nwindow = [100, 500]\nreduce = \"sum\"\n",
      "e.toml", "x/e", sources());
  for (RunRecord& record : records_) {
    record.interval = 250;
    record.run_series["l1_accesses"] = {10, 20, 5};
    record.app_series.resize(record.apps.size());
    for (RunRecord::Series& app : record.app_series) app["l1_accesses"] = {1, 2, 3};
  }
  const ExperimentResult result = measure(e, plan_, records_);
  EXPECT_NEAR(*result.quantities[0].value.number, 30, 1e-12);  // 3 in the last 100 cycles
  EXPECT_EQ(result.quantities[0].samples, 6U);
  EXPECT_NEAR(*result.quantities[1].value.number, 270, 1e-12);
  EXPECT_NE(result.quantities[2].value.why.find("the run ends at cycle 600, before 750"), std::string::npos);
  EXPECT_NE(result.quantities[3].value.why.find("no whole intervals of 250"), std::string::npos);
}

TEST_F(Measure, IntervalsOfAWindowBeyondTheEndOfRuns) {
  const auto quantity = [](const std::string& name, const std::string& window, const std::string& more) {
    return "[[quantity]]\nname = \"" + name + "\"\nof = \"cycles\"\nper = \"interval\"\n" +
           "where = {app = \"add\", policy = \"even\"}\nwindow = [" + window + "]\n" + more;
  };
  const Experiment e = parse_experiment(
      "title = \"t\"\npaper = \"p\"\n[sweep]\nseries = 250\n" + kSweep.substr(kSweep.find("policies")) +
          quantity("inside", "0, 500", "reduce = \"sum\"\n") +
          quantity("beyond", "250, 750", "reduce = \"sum\"\n") +
          quantity("never", "1000, 1250", "reduce = \"sum\"\n") +
          quantity("none", "1000, 1250", "reduce = \"count\"\n") +
          quantity("askew", "100, 500", "reduce = \"sum\"\n") +
          quantity("part_{k}", "250, 750", "reduce = \"{k}\"\nrows.k = [\"min\", \"max\"]\n"),
      "e.toml", "x/e", sources());
  for (RunRecord& record : records_) {
    record.interval = 250;
    record.app_series.resize(record.apps.size());
  }
  for (std::size_t i = 0; i < plan_.runs.size(); ++i) {
    const auto& apps = plan_.runs[i].spec.apps;
    if (apps.size() == 2 && apps[0].text == "add" && apps[1].text == "pathfinder")
      records_[i].run["cycles"] = 1000.0;
  }
  ExperimentResult result = measure(e, plan_, records_);
  EXPECT_EQ(result.quantities[0].value.number, 1000);
  EXPECT_EQ(result.quantities[0].notes(), "");
  EXPECT_EQ(result.quantities[1].value.number, 350 + 500);
  EXPECT_EQ(result.quantities[1].samples, 4U);
  const std::string note =
      "cycles 250 to 750 go beyond the end of 1 of 2 runs, the first of which ends at 600: what there is "
      "counts";
  EXPECT_EQ(result.quantities[1].notes(), note);
  for (const std::size_t i : {2U, 3U}) {
    EXPECT_FALSE(result.quantities[i].value.number);
    EXPECT_EQ(result.quantities[i].notes(),
              "no run has an interval within cycles 1000 to 1250: the last ends at 1000");
  }
  EXPECT_EQ(result.quantities[4].notes(),
            "add + stream under even, sms=2: cycles 100 to 500 are no whole intervals of 250");
  const WriteUp all = write_up("quick", {result}, {});
  EXPECT_EQ(write_up_json(all)["experiments"][0]["quantities"][1]["note"], note);
  const std::string markdown = write_up_markdown(all);
  EXPECT_NE(markdown.find("| beyond |  | 850 [700, 1000] |  | 4 | " + note + " |"), std::string::npos)
      << markdown;
  EXPECT_NE(markdown.find("| min | 100 |\n| max | 250 |\n\n" + note + "\n"), std::string::npos) << markdown;
  const std::string text = write_up_text(all);
  EXPECT_NE(text.find("         850 [700, 1000] \n      " + note + "\n"), std::string::npos) << text;
  EXPECT_NE(text.find("    max  250\n      " + note + "\n"), std::string::npos) << text;

  for (RunRecord& record : records_) record.interval = 0;
  result = measure(e, plan_, records_);
  EXPECT_EQ(result.quantities[0].notes(), "add + stream under even, sms=2: the run has no series");
}

TEST_F(Measure, TablesInWriteUps) {
  const Experiment e = experiment(
      "[[quantity]]\nname = \"s_{policy}_{class}\"\nwhat = \"speedup\"\nrows.policy = [\"even\", "
      "\"spatial\"]\n"
      "columns.class = [\"C+C\", \"C+M\", \"any\"]\nof = \"weighted_speedup\"\nwhere = {policy = "
      "\"{policy}\", "
      "class = \"{class}\"}\nreduce = \"mean\"\n");
  const WriteUp all = write_up("quick", {measure(e, plan_, records_)}, {});
  EXPECT_NE(write_up_markdown(all).find("speedup:\n\n| | C+C | C+M | any |\n|---|---:|---:|---:|\n"
                                        "| even | 1 | 1.4 | 1.267 |\n| spatial | 1.25 | 1.125 | 1.167 |\n"),
            std::string::npos)
      << write_up_markdown(all);
  EXPECT_NE(write_up_text(all).find("             C+C    C+M    any\n    even        1    1.4  1.267\n"),
            std::string::npos)
      << write_up_text(all);
  EXPECT_EQ(write_up_json(all)["experiments"][0]["quantities"][1]["column"], "C+M");
}

TEST_F(Measure, SamplesOfApplications) {
  const std::string of = "of = \"normalized_ipc\"\nper = \"app\"\n";
  expect(of + "where = {policy = \"even\"}\nreduce = \"mean\"", (0.5 + 0.7 + 0.6 + 0.8 + 0.7 + 0.9) / 6);
  expect(of + "where = {policy = \"even\", app = \"stream\"}\nreduce = \"mean\"", (0.7 + 0.7) / 2);
  expect(
      of + "where = {policy = \"even\", app = \"add\", workload = [\"add\", \"stream\"]}\nreduce = \"only\"",
      0.5);
  expect(of + "where = {policy = \"even\"}\nagainst = {policy = \"spatial\"}\ncompare = \"difference\"\n"
              "reduce = \"max\"",
         -0.01);
  expect("of = \"result.x\"\nper = \"app\"\nreduce = \"sum\"", 6 * 3);
}

TEST_F(Measure, ComparisonsAgainstAnotherPolicy) {
  const std::string of = kOfEven + "against = {policy = \"spatial\"}\n";
  expect(of + "compare = \"ratio\"\nreduce = \"mean\"", (1.2 + 1.28 + 0.8) / 3);
  expect(of + "compare = \"percent\"\nreduce = \"mean\"", (20.0 + 28 - 20) / 3);
  expect(of + "compare = \"difference\"\nreduce = \"mean\"", 0.1);
  expect(of + "compare = \"ratio\"\nreduce = \"count\"", 3);
  expect_missing(
      "of = \"lsu_stall_cycles\"\nwhere = {policy = \"even\"}\nagainst = {policy = \"spatial\"}\n"
      "compare = \"ratio\"\nreduce = \"mean\"",
      "add + stream under spatial, sms=2: 0, which nothing can be compared against");
  expect_missing(kOfEven + "against = {seed = 3}\ncompare = \"ratio\"\nreduce = \"mean\"",
                 "add + stream under even, sms=2 has no run to be compared against");
}

TEST_F(Measure, PathsIntoResultDocuments) {
  expect("of = \"result.metrics.quota.epochs\"\nreduce = \"sum\"", 42);
  const std::string first = "add + stream under even, sms=2: ";
  expect_missing("of = \"result.metrics.none\"\nreduce = \"sum\"",
                 first + "result.metrics.none is undefined");
  expect_missing("of = \"result.metrics.quota\"\nreduce = \"sum\"",
                 first + "result.metrics.quota is no number");
  expect("of = \"result.apps.1.x\"\nreduce = \"sum\"", 12);
  expect_missing("of = \"result.apps.2.x\"\nreduce = \"sum\"", first + "the results have no result.apps.2.x");
  expect_missing("of = \"result.metrics.x.y\"\nreduce = \"sum\"",
                 first + "the results have no result.metrics.x.y");
}

TEST_F(Measure, WhatIsMissingSaysWhyAndSpoilsNothingElse) {
  const std::string text = kOfEven + "reduce = \"mean\"";
  std::size_t even = 0;  // of stream + pathfinder
  for (std::size_t i = 0; i < plan_.runs.size(); ++i) {
    if (!plan_.runs[i].is_baseline && plan_.runs[i].spec.policy.name == "even") even = i;
  }
  RunRecord& record = records_[even];
  record.run["weighted_speedup"] = std::nullopt;
  expect_missing(
      text,
      "stream + pathfinder under even, sms=2: weighted_speedup is undefined: an application made no "
      "progress");
  record.state = RunRecord::State::Pending;
  expect_missing(text, "the run of stream + pathfinder under even, sms=2 has not been made");
  record.state = RunRecord::State::Failed;
  record.error = "deadlock";
  expect_missing(text, "the run of stream + pathfinder under even, sms=2 failed: deadlock");
  expect(kSpeedup + "where = {policy = \"spatial\"}\nreduce = \"mean\"", 3.5 / 3);
  expect(kSpeedup + "where = {policy = \"even\", app = \"add\"}\nreduce = \"mean\"", 1.4);
  // Without its baseline, the class of add is not known.
  for (std::size_t i = 0; i < plan_.runs.size(); ++i) {
    if (plan_.runs[i].is_baseline && plan_.runs[i].spec.apps[0].text == "add") {
      records_[i].state = RunRecord::State::Failed;
      records_[i].error = "trap";
    }
  }
  expect_missing(kSpeedup + "where = {class = \"C+C\"}\nreduce = \"mean\"",
                 "its class is not known: the run of add under leftover, sms=2 failed: trap");
}

const std::string kQuantities = R"toml(
[[quantity]]
name = "even"
of = "weighted_speedup"
where = {policy = "even"}
reduce = "mean"
[[quantity]]
name = "spatial"
of = "weighted_speedup"
where = {policy = "spatial"}
reduce = "mean"
[[quantity]]
name = "gain"
value = "percent(even, spatial)"
unit = "percent improvement"
[[quantity]]
name = "cc"
of = "weighted_speedup"
where = {policy = "even", class = "C+C"}
reduce = "mean"
[[quantity]]
name = "cm"
of = "weighted_speedup"
where = {policy = "even", class = "C+M"}
reduce = "mean"
[[quantity]]
name = "best"
highest = ["cc", "cm", "even"]
[[quantity]]
name = "worst"
lowest = ["cc", "cm", "even"]
)toml";
const std::string kAnswers = R"(
[[claim]]
id = "p.speedup"
ours = "even"
note = "three pairs"
[[claim]]
id = "p.gain"
ours = "gain"
[[trend]]
id = "p.order"
holds = "even > spatial and even < benchmark.T1.row.speed"
[[trend]]
id = "p.classes"
holds = "cc > cm"
)";

TEST_F(Measure, AnswersBesideThePaper) {
  const ExperimentResult result = measure(experiment(kQuantities, kAnswers), plan_, records_);
  EXPECT_EQ(result.done, 9U);
  EXPECT_NEAR(*result.quantities[2].value.number, 100 * (3.8 / 3.5 - 1), 1e-12);
  EXPECT_EQ(result.quantities[5].text, "cm");
  EXPECT_EQ(result.quantities[6].text, "cc");
  ASSERT_EQ(result.claims.size(), 2U);
  EXPECT_NEAR(*result.claims[0].ours, 3.8 / 3, 1e-12);
  EXPECT_EQ(result.claims[0].evidence.workloads, 3U);
  ASSERT_TRUE(result.claims[0].evidence.interval);  // of three pairs with 1, 1.2 and 1.6
  EXPECT_NEAR(result.claims[0].evidence.interval->low, 1.0, 1e-12);
  EXPECT_NEAR(result.claims[0].evidence.interval->high, 1.6, 1e-12);
  EXPECT_EQ(result.claims[0].verdict.direction, Standing::Leans);
  EXPECT_EQ(result.claims[0].verdict.size, Standing::Agrees);
  EXPECT_EQ(result.claims[0].verdict.note, "three pairs; scale quick: runs of 600 cycles");
  EXPECT_EQ(result.claims[1].verdict.direction, Standing::Leans);
  EXPECT_EQ(result.claims[1].evidence.workloads, 3U);             // the same as both of which it is made
  EXPECT_EQ(result.claims[1].verdict.size, Standing::Undecided);  // 8.6 of 30
  EXPECT_EQ(result.trends[0].workloads, 3U);
  EXPECT_FALSE(result.quantities[2].evidence.is_open);
  // Of an expression over numbers of one workload each that is no mean, no interval is known.
  const std::string one =
      "of = \"weighted_speedup\"\nreduce = \"only\"\nwhere = {policy = \"even\", workload = ";
  const ExperimentResult made = measure(
      experiment("[[quantity]]\nname = \"a\"\n" + one + "\"add + stream\"}\n[[quantity]]\nname = \"b\"\n" +
                 one + "\"add + pathfinder\"}\n[[quantity]]\nname = \"both\"\nvalue = \"max(a, b)\"\n"),
      plan_, records_);
  EXPECT_EQ(made.quantities[0].evidence.workloads, 1U);
  EXPECT_FALSE(made.quantities[0].evidence.is_open);
  EXPECT_EQ(made.quantities[2].evidence.workloads, 2U);
  EXPECT_TRUE(made.quantities[2].evidence.is_open);
  EXPECT_EQ(result.trends[0].holds, true);
  EXPECT_EQ(result.trends[0].ours, "1.267 > 1.167 and 1.267 < 1.5");
  EXPECT_EQ(result.trends[1].holds, false);
  EXPECT_EQ(result.trends[1].ours, "1 > 1.4");
}

TEST_F(Measure, WriteUpsHaveEveryClaimOfThePaper) {
  const PaperClaims paper = parse_claims(kClaims, "p.toml");
  records_.back().state = RunRecord::State::Failed;  // a run of spatial
  records_.back().error = "a | b";
  const WriteUp all =
      write_up("quick", {measure(experiment(kQuantities, kAnswers), plan_, records_)}, {paper});
  const nlohmann::ordered_json document = write_up_json(all);
  ASSERT_EQ(document["claims"].size(), 3U);
  const auto& speedup = document["claims"][0];
  EXPECT_EQ(speedup["id"], "p.speedup");
  EXPECT_EQ(speedup["paper"], 1.25);
  EXPECT_NEAR(speedup["ours"].get<double>(), 3.8 / 3, 1e-12);
  EXPECT_EQ(speedup["unit"], "ratio");
  EXPECT_EQ(speedup["direction"], "leans");
  EXPECT_TRUE(speedup["direction_agrees"].is_null());
  EXPECT_EQ(speedup["size"], "agrees");
  EXPECT_EQ(speedup["size_agrees"], true);
  EXPECT_EQ(speedup["workloads"], 3);
  EXPECT_NEAR(speedup["interval"][1].get<double>(), 1.6, 1e-12);
  const auto& gain = document["claims"][1];
  for (const char* key : {"ours", "direction", "direction_agrees", "size", "size_agrees", "interval"})
    EXPECT_TRUE(gain[key].is_null()) << key;
  EXPECT_EQ(gain["note"],
            "gain: spatial: the run of stream + pathfinder under spatial, sms=2 failed: a | b; "
            "scale quick: runs of 600 cycles");
  EXPECT_EQ(document["claims"][2]["note"], "no experiment answers it yet");
  EXPECT_TRUE(document["trends"][0]["direction_agrees"].is_null());
  EXPECT_EQ(document["trends"][1]["direction_agrees"], false);
  EXPECT_EQ(document["trends"][1]["paper"], "C+C > C+M");
  EXPECT_EQ(document["trends"][1]["ours"], "1 > 1.4");
  EXPECT_EQ(document["experiments"][0]["runs"]["failed"], 1);
  EXPECT_EQ(document["experiments"][0]["quantities"][5]["value"], "cm");
  const auto& tally = document["papers"][0];
  EXPECT_EQ(tally["claims"], 3);
  EXPECT_EQ(tally["answered"], 1);
  EXPECT_EQ(tally["directions"], 0);
  EXPECT_EQ(tally["directions_lean"], 1);
  EXPECT_EQ(tally["sizes_agree"], 1);
  EXPECT_EQ(tally["trends_answered"], 1);
  EXPECT_EQ(tally["trends_agree"], 0);
  const std::string markdown = write_up_markdown(all);
  EXPECT_NE(markdown.find("| p.speedup | even | 1.25 | 1.267 [1, 1.6] | ratio | 3 | leans | agrees |"),
            std::string::npos)
      << markdown;
  EXPECT_NE(markdown.find("failed: a \\| b"), std::string::npos) << markdown;
  EXPECT_NE(write_up_text(all).find("p: 0 of 0 directions agree, 1 lean, 0 away; 1 of 1 sizes agree, 0 "
                                    "undecided; 0 of 1 trends hold; answered: 1 of 3 "
                                    "claims"),
            std::string::npos);
}

TEST_F(Measure, WhatIsInfiniteOrNoNumberSaysSoAndAgreesInNothing) {
  const std::string first = "add + stream under even, sms=2";
  const auto expect_undefined = [&](const std::string& keys, const std::string& why) {
    expect_missing(keys, why);
    EXPECT_TRUE(value(keys).is_undefined) << keys;
  };
  expect_undefined("of = \"l1_accesses / (sms - 2)\"\nwhere = {policy = \"even\"}\nreduce = \"mean\"",
                   first + ": divides by zero");
  expect_undefined("of = [\"cycles\", \"l1_misses\"]\nreduce = \"rank_correlation\"",
                   "equal values have no rank correlation");
  EXPECT_FALSE(value(kOfEven + "reduce = \"only\"").is_undefined);  // too many samples: the file is wrong
  for (std::size_t i = 0; i < plan_.runs.size(); ++i) {
    if (!plan_.runs[i].is_baseline && plan_.runs[i].spec.policy.name == "even")
      records_[i].run["weighted_speedup"] = 1e308;
  }
  expect_undefined(kOfEven + "reduce = \"sum\"", "is infinite");
  expect_undefined(kOfEven + "against = {policy = \"spatial\"}\ncompare = \"percent\"\nreduce = \"max\"",
                   first + ": is infinite");
  expect(kOfEven + "reduce = \"max\"", 1e308);
  for (RunRecord& record : records_) {
    if (record.run["weighted_speedup"] == 1e308) record.run["weighted_speedup"] = INFINITY;
  }
  for (const char* reduce : {"max", "mean", "upper_quartile"}) {
    expect_undefined(kOfEven + "reduce = \"" + reduce + "\"", "is infinite, as for " + first);
  }
  expect_undefined(kOfEven + "against = {policy = \"even\"}\ncompare = \"difference\"\nreduce = \"max\"",
                   first + ": is not a number");
  expect("of = \"weighted_speedup > 7\"\nreduce = \"sum\"", 3);
  expect(kSpeedup + "reduce = \"min\"", 1.0);

  const ExperimentResult result = measure(experiment(kQuantities, kAnswers), plan_, records_);
  const std::string why = "even: is infinite, as for " + first;
  for (const ClaimResult& claim : result.claims) {
    EXPECT_FALSE(claim.ours);
    EXPECT_EQ(claim.verdict.direction, Standing::Differs);
    EXPECT_EQ(claim.verdict.size, Standing::Differs);
    EXPECT_NE(claim.verdict.note.find(why), std::string::npos) << claim.verdict.note;
  }
  EXPECT_EQ(result.trends[0].holds, false);
  EXPECT_EQ(result.trends[0].ours, "? > 1.167 and ? < 1.5");
  EXPECT_EQ(result.trends[0].note, why + "; scale quick: runs of 600 cycles");
  const WriteUp all = write_up("quick", {result}, {});
  EXPECT_EQ(all.tallies[0].answered, 2U);
  EXPECT_EQ(all.tallies[0].directions, 2U);
  EXPECT_EQ(all.tallies[0].directions_agree + all.tallies[0].sizes_agree + all.tallies[0].trends_agree, 0U);
  const auto even = write_up_json(all)["experiments"][0]["quantities"][0];
  EXPECT_TRUE(even["value"].is_null());
  EXPECT_EQ(even["note"], "is infinite, as for " + first);
  EXPECT_NE(
      write_up_markdown(all).find("| p.speedup | even | 1.25 | - | ratio |  | differs | differs | even: is"),
      std::string::npos)
      << write_up_markdown(all);
  EXPECT_NE(write_up_text(all).find(
                "ours - of 0 workloads: direction differs, size differs\n      even: is infinite"),
            std::string::npos)
      << write_up_text(all);
}

TEST_F(Measure, ScalesThatDoNotCoverAClaim) {
  const Experiment e =
      experiment(kQuantities, "[[claim]]\nid = \"p.speedup\"\nours = \"even\"\nscales = \"paper\"\n");
  const ClaimResult claim = measure(e, plan_, records_).claims[0];
  EXPECT_FALSE(claim.ours);
  EXPECT_TRUE(claim.verdict.direction == Standing::None && claim.verdict.size == Standing::None);
  EXPECT_EQ(claim.verdict.note, "scale quick does not cover it");
  const ExperimentResult none = not_measured(e, "huge");
  EXPECT_FALSE(none.claims[0].ours);
  EXPECT_EQ(none.claims[0].verdict.note, "scale huge does not cover it: x/e has none");
  EXPECT_EQ(none.quantities.size(), e.quantities.size());
}

// A turnaround time of who got on by next to nothing is as long as the run was made.
TEST_F(Measure, NoTurnaroundWithoutProgress) {
  const test::TemporaryFolder folder;
  const std::string db = folder.path() + "/measure.sqlite";
  sweep::RunnerOptions options;
  options.work = [](const sweep::SweepRun& run, const std::vector<double>& isolated) {
    std::vector<double> alone = isolated;
    if (run.spec.policy.name == "even")
      for (double& ipc : alone) ipc *= 1e4;
    return sweep::perform(run.spec, alone);
  };
  {
    database::ResultStore store(db);
    store.plan({"x/e", "quick", "e.toml", ""}, sweep::planned_rows(plan_), false);
    EXPECT_EQ(sweep::work_off(store, plan_, options).counts.failed, 0U);
  }
  database::Connection connection(db, database::Access::Read);
  records_ = read_records(connection, plan_);
  const std::string mean = "reduce = \"mean\"";
  EXPECT_GT(value("of = \"antt\"\nwhere = {policy = \"spatial\"}\n" + mean).number, 0);
  expect_missing("of = \"antt\"\nwhere = {policy = \"even\"}\n" + mean,
                 "add + stream under even, sms=2: antt is undefined: an application made no progress");
  EXPECT_GT(value("of = \"weighted_speedup\"\nwhere = {policy = \"even\"}\n" + mean).number, 0);
}

// Simulated, kept, read back: the numbers of the runs themselves.
TEST_F(Measure, RealRunsThroughTheDatabase) {
  const test::TemporaryFolder folder;
  const std::string db = folder.path() + "/measure.sqlite";
  sweep::RunnerOptions options;
  options.jobs = 2;
  options.work = [](const sweep::SweepRun& run, const std::vector<double>& isolated) {
    const auto& apps = run.spec.apps;
    if (apps.size() == 2 && apps[1].text == "stream") throw SimulationFault("deadlock\nand its details");
    return sweep::perform(run.spec, isolated);
  };
  {
    database::ResultStore store(db);
    store.plan({"x/e", "quick", "e.toml", ""}, sweep::planned_rows(plan_), false);
    EXPECT_EQ(sweep::work_off(store, plan_, options).counts.failed, 2U);
  }
  database::Connection connection(db, database::Access::Read);
  records_ = read_records(connection, plan_);
  expect_missing(kOfEven + "reduce = \"mean\"", "the run of add + stream under even, sms=2 failed: deadlock");
  double misses = 0;
  double accesses = 0;
  double speedup = 0;
  double issued = 0;
  for (const sweep::SweepRun& run : plan_.runs) {
    if (run.is_baseline || run.spec.policy.name != "even" || run.spec.apps[1].text == "stream") continue;
    const experiment::RunResult result = experiment::simulate(run.spec);
    misses += static_cast<double>(result.gpu.l1_misses);
    accesses += static_cast<double>(result.apps[1].counters.l1_accesses);
    issued += static_cast<double>(result.schedulers.issued);
    std::vector<double> shared;
    for (const auto& app : result.apps) shared.push_back(app.ipc());
    speedup += experiment::metrics(shared, experiment::isolated_ipcs(run.spec, "")).weighted_speedup.value();
  }
  const std::string where = "where = {policy = \"even\", app = \"pathfinder\"}\n";
  expect("of = \"l1_misses\"\n" + where + "reduce = \"sum\"", misses);
  expect("of = \"schedulers.issued\"\n" + where + "reduce = \"sum\"", issued);
  expect("of = \"weighted_speedup\"\n" + where + "reduce = \"sum\"", speedup);
  expect("of = \"result.metrics.weighted_speedup\"\n" + where + "reduce = \"sum\"", speedup);
  expect("of = \"cycles * sms\"\n" + where + "reduce = \"mean\"", 1200);
  expect("of = \"l1_accesses\"\nper = \"app\"\n" + where + "reduce = \"sum\"", accesses);
  // Every name that an experiment may use is there.
  for (const bool per_app : {false, true}) {
    for (const std::string& name : sample_names(per_app ? Per::App : Per::Run)) {
      if (name == "su_gpu" || name == "ws_cpu" || name.starts_with("oss"))
        continue;  // of runs with CPU cores
      const std::string why =
          value("of = \"" + name + "\"\n" + (per_app ? "per = \"app\"\n" : "") + where + "reduce = \"sum\"")
              .why;
      EXPECT_EQ(why.find("the results have no"), std::string::npos) << why;
    }
  }
}

// CPU cores: their samples, and the metrics of runs that have some.
TEST(MeasureCpus, QuantitiesOfCpuCoresAndOfWhatTheyShare) {
  const std::string sweep = R"(title = "t"
[sweep]
machines = "kayiran14-small3x3"
apps = ["add"]
workloads = [["add"], []]
cpus = ["none", "mcf*2", "povray,-,mcf"]
cpu_warm_up = 500
cpu_instructions = 2000
[sweep.scales.quick]
)";
  // No application and no CPU program cannot be.
  const auto read = [&](std::string text) { return parse_experiment(text, "e.toml", "x/e", sources()); };
  EXPECT_THROW((void)read(sweep), UserError);
  std::string good = sweep;
  good.replace(good.find("\"none\", "), 8, "");
  const auto quantity = [](const std::string& name, const std::string& text) {
    return "[[quantity]]\nname = \"" + name + "\"\n" + text + "\n";
  };
  const std::string cpu = "per = \"cpu\"\nof = ";
  std::string all =
      good +
      quantity("ipc",
               cpu + "\"ipc\"\nreduce = \"mean\"\nwhere = {program = \"mcf\", cpus = \"mcf*2\", size = 1}") +
      quantity("without",
               cpu + "\"ipc\"\nreduce = \"mean\"\nwhere = {program = \"mcf\", cpus = \"mcf*2\", size = 0}") +
      quantity("alone", cpu + "\"ipc\"\nreduce = \"only\"\nwhere = {program = \"povray\", isolated = true}") +
      quantity("povray",
               cpu + "\"ipc_isolated\"\nreduce = \"only\"\nwhere = {program = \"povray\", app = \"add\"}") +
      quantity("cores", cpu + "\"core + 1\"\nreduce = \"sum\"\nwhere = {size = 1}") +
      quantity("oss", "of = \"oss\"\nreduce = \"only\"\nwhere = {cpus = \"mcf*2\", size = 1}") +
      quantity(
          "parts",
          "of = \"0.5 * su_gpu + 0.5 * ws_cpu\"\nreduce = \"only\"\nwhere = {cpus = \"mcf*2\", size = 1}") +
      quantity("change",
               "of = \"partitions.stall_controller + ipc\"\nreduce = \"only\"\nwhere = {cpus = \"mcf*2\", "
               "size = 1}\n"
               "against = {cpus = \"povray,-,mcf\"}\ncompare = \"difference\"") +
      quantity("alpha", "of = \"oss_alpha\"\nreduce = \"min\"") +
      quantity("isolated", "of = \"cycles\"\nreduce = \"count\"\nwhere = {isolated = true}");
  const std::vector<std::string>& names = sample_names(Per::Cpu);
  for (const char* name :
       {"core", "ipc", "normalized_ipc", "l2_mpki", "memory_latency", "l1_misses", "memory.l2_accesses"})
    EXPECT_TRUE(std::find(names.begin(), names.end(), name) != names.end()) << name;
  for (std::size_t i = 0; i < names.size(); ++i)
    all += quantity(fmt::format("name{}", i),
                    cpu + "\"" + names[i] + "\"\nreduce = \"mean\"\nwhere = {size = 1}");
  const Experiment e = read(all);
  const sweep::SweepPlan plan = sweep::expand(*e.find_scale("quick"));
  const test::TemporaryFolder folder;
  const std::string db = folder.path() + "/m.sqlite";
  {
    database::ResultStore store(db);
    store.plan({"x/e", "quick", "e.toml", ""}, sweep::planned_rows(plan), false);
    sweep::RunnerOptions options;
    options.jobs = 2;
    ASSERT_EQ(sweep::work_off(store, plan, options).counts.failed, 0U);
  }
  database::Connection connection(db, database::Access::Read);
  const ExperimentResult result = measure(e, plan, read_records(connection, plan));
  const auto value = [&](const std::string& name) {
    for (const MeasuredQuantity& q : result.quantities) {
      if (q.name != name) continue;
      EXPECT_TRUE(q.value.number) << name << ": " << q.value.why;
      return q.value.number.value_or(-1);
    }
    ADD_FAILURE() << name;
    return -1.0;
  };
  const auto find = [&](bool app, const std::string& cpus) -> const experiment::RunSpec& {
    return std::find_if(plan.runs.begin(), plan.runs.end(),
                        [&](const sweep::SweepRun& run) {
                          return !run.is_baseline && run.spec.apps.empty() != app && run.cpus == cpus;
                        })
        ->spec;
  };
  const experiment::RunResult beside = experiment::simulate(find(true, "mcf*2"));
  EXPECT_DOUBLE_EQ(value("ipc"), (beside.cpus[0].ipc() + beside.cpus[1].ipc()) / 2);
  const experiment::RunResult without = experiment::simulate(find(false, "mcf*2"));
  EXPECT_DOUBLE_EQ(value("without"), (without.cpus[0].ipc() + without.cpus[1].ipc()) / 2);
  EXPECT_NE(value("ipc"), value("without"));
  const double povray = experiment::isolated_cpu_ipcs(find(true, "povray,-,mcf"), "")[0];
  EXPECT_DOUBLE_EQ(value("alone"), povray);
  EXPECT_DOUBLE_EQ(value("povray"), povray);
  EXPECT_DOUBLE_EQ(value("cores"), 1 + 2 + 1 + 3);
  EXPECT_DOUBLE_EQ(value("oss"), value("parts"));
  EXPECT_NE(value("change"), 0.0);
  EXPECT_DOUBLE_EQ(value("alpha"), 0.5);
  EXPECT_DOUBLE_EQ(value("isolated"), 1) << "add alone: the baseline of an application";
  for (std::size_t i = 0; i < names.size(); ++i) (void)value(fmt::format("name{}", i));
  // What cannot be said.
  const auto refused = [&](const std::string& text, const char* why) {
    try {
      (void)read(good + quantity("q", text));
      ADD_FAILURE() << text;
    } catch (const UserError& error) {
      EXPECT_NE(std::string(error.what()).find(why), std::string::npos) << error.what();
    }
  };
  refused("of = \"cycles\"\nreduce = \"mean\"\nwhere = {program = \"mcf\"}", "goes with per = \"cpu\"");
  refused(cpu + "\"ipc\"\nreduce = \"mean\"\nwhere = {program = \"milc\"}", "CPU program of the sweep");
  refused(cpu + "\"ipc\"\nreduce = \"mean\"\nwhere = {cpus = \"H2\"}", "list of CPU programs of the sweep");
  refused(cpu + "\"ipc\"\nreduce = \"mean\"\nwindow = [0, 1000]", "CPU cores have no series");
  refused(cpu + "\"su_gpu\"\nreduce = \"mean\"", "counter of a CPU core");
  refused(cpu + "\"ipc\"\nreduce = \"mean\"\nagainst = {cpus = \"mcf*2\"}\ncompare = \"ratio\"",
          "has no other programs");
}

}  // namespace
}  // namespace gpumux::reproduce
