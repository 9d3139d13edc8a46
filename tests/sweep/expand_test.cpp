// Expansion of a sweep file to its runs: combinations, exclusions, baselines, and the inputs of their hashes.
#include "sweep/expand.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "arch/config_file.hpp"
#include "base/error.hpp"
#include "base/files.hpp"
#include "experiment/cpus.hpp"
#include "experiment/sources.hpp"
#include "sweep/cases.hpp"
#include "sweep/run_hash.hpp"
#include "temporary_folder.hpp"

namespace gpumux::sweep {
namespace {

const std::string kKernels = std::string(GPUMUX_SOURCE_DIR) + "/tests/experiment/kernel.ptx";

SweepPlan plan(const std::string& text, const std::string& scale = "") {
  return expand(parse_sweep(text, "s.toml", scale));
}

/// "hotspot+kmeans even sms=2 7", one per run that is no baseline.
std::vector<std::string> runs(const SweepPlan& plan) {
  std::vector<std::string> texts;
  for (const SweepRun& run : plan.runs) {
    if (run.is_baseline) continue;
    std::string text;
    for (const experiment::AppSpec& app : run.spec.apps) text += (text.empty() ? "" : "+") + app.text;
    text += " " + run.spec.policy.text;
    for (const auto& [key, value] : run.overrides) text += " " + key + "=" + value;
    texts.push_back(text + " " + std::to_string(run.spec.seed));
  }
  return texts;
}

std::vector<std::string> hashes(const SweepPlan& plan) {
  std::vector<std::string> list;
  for (const SweepRun& run : plan.runs) list.push_back(run.hash);
  return list;
}

std::size_t common(const SweepPlan& a, const SweepPlan& b) {
  const std::vector<std::string> of_a = hashes(a);
  const std::set<std::string> known(of_a.begin(), of_a.end());
  std::size_t count = 0;
  for (const std::string& hash : hashes(b)) count += known.count(hash);
  return count;
}

using Texts = std::vector<std::string>;

TEST(Expand, DefaultsAreThoseOfRun) {
  const SweepPlan p = plan("apps = [\"add\"]\ncombine = \"alone\"\n");
  EXPECT_EQ(runs(p), Texts{"add leftover 1"});
  EXPECT_EQ(p.runs[0].spec.machine.name, "dai18-maxwell");
  EXPECT_EQ(p.runs[0].spec.cycles, 0U);
  EXPECT_TRUE(p.runs[0].baselines.empty());
  EXPECT_EQ(p.file.name, "s");
}

TEST(Expand, CrossesEverything) {
  const SweepPlan p = plan(
      "machines = [\"dai18-maxwell\", \"v100\"]\npolicies = [\"even\", \"spatial\"]\nseeds = [1, 7]\n"
      "cycles = 500\napps = [\"add\", \"bfs\"]\ncombine = \"pairs\"\n"
      "[set]\nsms = [2, 4]\nl1.latency = 28\n");
  const Texts all = runs(p);
  ASSERT_EQ(all.size(), 2U * 2 * 2 * 2);
  EXPECT_EQ(all[0], "add+bfs even l1.latency=28 sms=2 1");
  EXPECT_EQ(all[1], "add+bfs even l1.latency=28 sms=2 7");
  EXPECT_EQ(all[2], "add+bfs spatial l1.latency=28 sms=2 1");
  EXPECT_EQ(all[4], "add+bfs even l1.latency=28 sms=4 1");
  const SweepRun& last = p.runs.back();
  EXPECT_EQ(last.spec.machine.name, "v100");
  EXPECT_EQ(last.spec.machine.sms, 4U);
  EXPECT_EQ(last.spec.cycles, 500U);
}

TEST(Expand, PairsAndTriosInTheOrderOfTheFile) {
  const std::string apps = "apps = [\"stream\", \"add\", \"bfs\"]\n";
  EXPECT_EQ(runs(plan(apps + "combine = \"pairs\"\n")),
            (Texts{"stream+add leftover 1", "stream+bfs leftover 1", "add+bfs leftover 1"}));
  EXPECT_EQ(runs(plan(apps + "combine = [\"trios\", \"pairs\"]\nexclude = [[\"bfs\", \"add\"]]\n")),
            (Texts{"stream+add leftover 1", "stream+bfs leftover 1"}));
  EXPECT_EQ(runs(plan(apps + "combine = \"trios\"\nworkloads = [[\"add\", \"add\"], [\"bfs\", \"add\"]]\n"
                             "exclude = [[\"stream\"]]\n")),
            (Texts{"add+add leftover 1", "bfs+add leftover 1"}));
  EXPECT_EQ(
      runs(plan(apps +
                "workloads = [[\"add\", \"add\"], [\"bfs\", \"add\"]]\nexclude = [[\"add\", \"add\"]]\n")),
      (Texts{"bfs+add leftover 1"}));
}

TEST(Expand, BaselinesAreSharedAndComeFirst) {
  const SweepPlan p = plan(
      "policies = [\"even\", \"spatial\", \"sequential\"]\napps = [\"add\", \"bfs\", \"lud\"]\ncombine = "
      "\"pairs\"\ncycles = 1000\n");
  ASSERT_EQ(p.runs.size(), 3U + 9U);
  for (std::size_t i = 0; i < p.runs.size(); ++i) {
    const SweepRun& run = p.runs[i];
    EXPECT_EQ(run.is_baseline, i < 3);
    if (i < 3) {
      EXPECT_EQ(run.spec.apps.size(), 1U);
      EXPECT_EQ(run.spec.policy.text, "leftover");
      EXPECT_TRUE(run.baselines.empty());
      continue;
    }
    ASSERT_EQ(run.baselines.size(), 2U);
    for (std::size_t a = 0; a < 2; ++a) {
      const experiment::RunSpec& alone = p.runs[run.baselines[a]].spec;
      EXPECT_EQ(alone.apps[0].identity, run.spec.apps[a].identity);
      EXPECT_EQ(alone.seed, run.spec.seed);
      EXPECT_EQ(alone.cycles, 1000U);
    }
  }
}

TEST(Expand, ABaselineThatIsAlsoAskedForIsOneRun) {
  const SweepPlan p = plan("apps = [\"add\", \"bfs\"]\ncombine = [\"alone\", \"pairs\"]\n");
  EXPECT_EQ(p.runs.size(), 3U);  // add, bfs, the pair
  EXPECT_EQ(std::count_if(p.runs.begin(), p.runs.end(), [](const SweepRun& r) { return r.is_baseline; }), 0);
}

TEST(Expand, TheSameRunTwiceIsOneRun) {
  const SweepPlan p = plan(
      "apps = [\"add\", \"bfs\"]\ncombine = \"pairs\"\nworkloads = [[\"add\", \"bfs\"]]\n"
      "policies = [\"even\", \" even \", \"even,warps=gto\"]\n");
  EXPECT_EQ(runs(p), Texts{"add+bfs even 1"});  // gto is this machine's own
  EXPECT_EQ(p.duplicates, 5U);
}

TEST(Expand, ScalesReplaceKeys) {
  const std::string text =
      "apps = [\"add\", \"bfs\", \"lud\"]\ncombine = \"pairs\"\ncycles = 9000\n"
      "[scales.quick]\ncycles = 100\nexclude = [[\"lud\"]]\n[scales.paper]\nseeds = [1, 2]\n";
  EXPECT_EQ(runs(plan(text, "quick")), Texts{"add+bfs leftover 1"});
  EXPECT_EQ(plan(text, "quick").runs.back().spec.cycles, 100U);
  EXPECT_EQ(runs(plan(text, "paper")).size(), 6U);
  EXPECT_EQ(plan(text, "paper").runs.back().spec.cycles, 9000U);
}

TEST(Expand, KernelsOfFilesHaveNames) {
  const std::string k =
      ":scale\", block = 32, args = [\"zero:f32[64]\", \"zero:f32[64]\", \"f32:2\", \"i32:64\"]";
  const SweepPlan p =
      plan("apps = [{name = \"small\", app = \"" + kKernels + k + ", grid = 1},\n{app = \"" + kKernels + k +
           ", grid = [2]}, \"add\"]\nworkloads = [[\"small\", \"add\"], [\"" + kKernels + ":scale\"]]\n");
  EXPECT_EQ(runs(p), (Texts{"small+add leftover 1", kKernels + ":scale leftover 1"}));
}

// --- hashes
// ---------------------------------------------------------------------------------------------------

const std::string kBase = "apps = [\"add\", \"bfs\"]\ncombine = \"pairs\"\ncycles = 1000\n";

TEST(Expand, OrderedPairsAndGoals) {
  const SweepPlan p = plan(
      "apps = [\"add\", \"bfs\", \"stream:words=2\"]\ncombine = \"ordered-pairs\"\n"
      "exclude = [[\"add\", \"stream:words=2\"]]\ngoals = [\"50%\", \"ipc:3/60fps\"]\n");
  EXPECT_EQ(runs(p), (Texts{"add:goal=50%+bfs leftover 1", "add:goal=ipc:3+bfs:goal=60fps leftover 1",
                            "bfs:goal=50%+add leftover 1", "bfs:goal=ipc:3+add:goal=60fps leftover 1",
                            "bfs:goal=50%+stream:words=2 leftover 1",
                            "bfs:goal=ipc:3+stream:words=2,goal=60fps leftover 1",
                            "stream:words=2,goal=50%+bfs leftover 1",
                            "stream:words=2,goal=ipc:3+bfs:goal=60fps leftover 1"}));
  EXPECT_EQ(p.runs.size(), 3U + 8) << "baselines have no goals";
  const SweepRun& last = p.runs.back();
  EXPECT_EQ(last.names, (Texts{"stream:words=2", "bfs"}));
  EXPECT_EQ(last.goals, "ipc:3/60fps");
  EXPECT_EQ(last.spec.apps[1].arrivals.goal->text, "60fps");
  EXPECT_EQ(p.runs[last.baselines[0]].spec.apps[0].text, "stream:words=2");
}

/// Of ordered pairs of `apps`.
std::vector<Workload> ordered_pairs(std::size_t apps) {
  std::vector<Workload> pairs;
  for (std::size_t i = 0; i < apps; ++i)
    for (std::size_t k = 0; k < apps; ++k)
      if (i != k) pairs.push_back({i, k});
  return pairs;
}

TEST(Cases, OneOfEachPairHasEachGoalEquallyOften) {
  const std::vector<Workload> pairs = ordered_pairs(10);
  const auto cases = choose_cases(pairs, {10, true, 90, 0});
  std::map<std::size_t, std::size_t> of_goal;
  std::map<std::pair<std::size_t, std::size_t>, std::size_t> of_first, of_second;  // and goal
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    ASSERT_EQ(cases[i].size(), 1U) << i;
    ++of_goal[cases[i][0]];
    ++of_first[{pairs[i][0], cases[i][0]}];
    ++of_second[{pairs[i][1], cases[i][0]}];
  }
  for (const auto& [goal, count] : of_goal) EXPECT_EQ(count, 9U) << goal;
  for (const auto& [of, count] : of_first) EXPECT_LE(count, 2U) << of.first << " " << of.second;
  for (const auto& [of, count] : of_second) EXPECT_LE(count, 2U) << of.first << " " << of.second;
  EXPECT_GE(of_first.size(), 80U) << "nearly each application has nearly each goal";
}

TEST(Cases, FewerTakeEachApplicationEquallyOften) {
  const std::vector<Workload> pairs = ordered_pairs(10);
  for (const std::size_t cases : {10U, 20U, 30U}) {
    const auto chosen = choose_cases(pairs, {10, true, cases, 0});
    std::map<std::size_t, std::size_t> of_goal, first, second;
    for (std::size_t i = 0; i < pairs.size(); ++i)
      for (const std::size_t goal : chosen[i]) {
        ++of_goal[goal];
        ++first[pairs[i][0]];
        ++second[pairs[i][1]];
      }
    for (std::size_t k = 0; k < 10; ++k) {
      EXPECT_EQ(of_goal[k], cases / 10);
      EXPECT_EQ(first[k], cases / 10) << k;
      EXPECT_LE(second[k], cases / 10 + 1) << k;
    }
  }
}

TEST(Cases, GoalsOfARoundThatIsNotWholeAreSpread) {
  const auto chosen = choose_cases(ordered_pairs(3), {10, true, 2, 0});
  std::set<std::size_t> goals;
  for (const auto& of : chosen) goals.insert(of.begin(), of.end());
  EXPECT_EQ(goals, (std::set<std::size_t>{0, 5}));
}

TEST(Cases, WithoutGoalsEachApplicationIsTakenAsOften) {
  std::vector<Workload> pairs;
  for (std::size_t i = 0; i < 13; ++i)
    for (std::size_t k = i + 1; k < 13; ++k) pairs.push_back({i, k});
  const auto chosen = choose_cases(pairs, {1, false, 26, 0});
  std::map<std::size_t, std::size_t> of_app;
  for (std::size_t i = 0; i < pairs.size(); ++i)
    for (const std::size_t app : pairs[i]) of_app[app] += chosen[i].size();
  for (const auto& [app, count] : of_app) {
    EXPECT_GE(count, 3U) << app;
    EXPECT_LE(count, 5U) << app;
  }
}

TEST(Cases, NamedWorkloadsComeFirst) {
  const SweepPlan p = plan(
      "apps = [\"add\", \"bfs\", \"stream\", \"lud\"]\ncombine = \"pairs\"\n"
      "workloads = [[\"stream\", \"lud\"], [\"add\", \"bfs\"]]\ncases = 3\n");
  const Texts chosen = runs(p);
  ASSERT_EQ(chosen.size(), 3U) << "the pair that is combined, too, is one workload";
  EXPECT_TRUE(std::find(chosen.begin(), chosen.end(), "stream+lud leftover 1") != chosen.end());
  EXPECT_TRUE(std::find(chosen.begin(), chosen.end(), "add+bfs leftover 1") != chosen.end());
}

TEST(Cases, MoreThanThereAreIsAll) {
  const auto all = choose_cases({{0, 1}, {1, 0}}, {2, true, 4, 0});
  EXPECT_EQ(all, (std::vector<std::vector<std::size_t>>{{0, 1}, {0, 1}}));
  EXPECT_EQ(choose_cases({{0, 1}, {1, 0}}, {2, true, 0, 0}), all);
  EXPECT_EQ(choose_cases({{0, 1}}, {1, false, 7, 0}), (std::vector<std::vector<std::size_t>>{{0}}));
  std::size_t count = 0;
  for (const auto& goals : choose_cases(ordered_pairs(4), {3, true, 35, 0})) count += goals.size();
  EXPECT_EQ(count, 35U);
}

TEST(Expand, CasesAreTheSameForAllPolicies) {
  const SweepPlan p = plan(
      "apps = [\"add\", \"bfs\", \"stream:words=2\"]\ncombine = \"ordered-pairs\"\n"
      "goals = [\"50%\", \"80%\"]\ncases = 4\npolicies = [\"even\", \"spart\"]\n");
  std::map<std::string, std::set<std::pair<std::vector<std::string>, std::string>>> cases;
  for (const SweepRun& run : p.runs)
    if (!run.is_baseline) cases[run.spec.policy.name].emplace(run.names, run.goals);
  EXPECT_EQ(cases["even"].size(), 4U);
  EXPECT_EQ(cases["even"], cases["spart"]);
}

TEST(Expand, CasesAreOfGoalsBesideCpuPrograms) {
  const SweepPlan p = plan(
      "machines = \"kayiran14-small3x3\"\napps = [\"add\", \"bfs\"]\ncombine = \"alone\"\n"
      "cpus = [\"mcf\", \"omnetpp\", \"none\"]\ncases = 3\n");
  std::set<std::string> cpus;
  std::map<std::string, std::size_t> of_app;
  for (const SweepRun& run : p.runs) {
    if (run.is_baseline) continue;
    cpus.insert(run.cpus);
    ++of_app[run.names.at(0)];
  }
  EXPECT_EQ(cpus.size(), 3U) << "each once";
  EXPECT_EQ(of_app.size(), 2U);
}

TEST(RunHash, WhatOnlyLabelsDoesNotCount) {
  const SweepPlan a = plan(kBase);
  for (const std::string& text :
       Texts{"# a comment\nname = \"other\"\n" + kBase, kBase + "machines = \"dai18-maxwell\"\nseeds = 1\n",
             kBase + "policies = [\"leftover\"]\n",
             "apps = [\"bfs\", {name = \"x\", app = \"add\"}]\nworkloads = [[\"x\", \"bfs\"]]\ncycles = "
             "1000\n"}) {
    EXPECT_EQ(hashes(plan(text)), hashes(a)) << text;
  }
}

TEST(RunHash, WhatActsCounts) {
  const SweepPlan a = plan(kBase);
  ASSERT_EQ(a.runs.size(), 3U);
  const auto shared_with = [&](const std::string& more) { return common(a, plan(kBase + more)); };
  EXPECT_EQ(shared_with("policies = \"even\"\n"), 2U);  // the baselines stay
  EXPECT_EQ(shared_with("policies = \"leftover:mode=sequential\"\n"), 2U);
  EXPECT_EQ(shared_with("policies = \"leftover,warps=lrr\"\n"), 0U);
  EXPECT_EQ(shared_with("seeds = 3\n"), 0U);
  EXPECT_EQ(shared_with("machines = \"v100\"\n"), 0U);
  EXPECT_EQ(shared_with("set.l1.size = \"48K\"\n"), 0U);
  EXPECT_EQ(common(a, plan("apps = [\"add\", \"bfs\"]\ncombine = \"pairs\"\ncycles = 1001\n")), 0U);
  EXPECT_EQ(common(a, plan("apps = [\"add\", \"bfs:nodes=4096\"]\ncombine = \"pairs\"\ncycles = 1000\n")),
            1U);
  EXPECT_EQ(common(a, plan("apps = [\"bfs\", \"add\"]\ncombine = \"pairs\"\ncycles = 1000\n")),
            2U);  // the baselines, wherever the applications stand
}

TEST(RunHash, AMachinesDescriptionDoesNotCount) {
  arch::MachineConfig m = arch::load_machine("v100");
  const std::string before = machine_hash(m);
  m.description = m.source = m.variant_of = "x";
  EXPECT_EQ(machine_hash(m), before);
  m.l1.latency += 1;
  EXPECT_NE(machine_hash(m), before);
}

TEST(Expand, RefusesMemorySchemesThatARunCannotHave) {
  try {
    (void)plan("apps = [\"add\", \"bfs\"]\ncombine = \"pairs\"\npolicies = \"even-smil:k2=1\"\n");
    FAIL() << "accepted";
  } catch (const UserError& error) {
    EXPECT_NE(std::string(error.what()).find("k2=1, but the run has 2 applications"), std::string::npos)
        << error.what();
  }
}

TEST(RunHash, TheSimulatorCounts) {
  const SweepRun run = plan(kBase).runs[0];
  EXPECT_EQ(run_hash(run.spec, run.machine_hash, simulator_sources()), run.hash);
  EXPECT_NE(run_hash(run.spec, run.machine_hash, "another"), run.hash);
  // A memory scheme and its settings count, however they are written.
  experiment::RunSpec other = run.spec;
  std::set<std::string> hashes = {run.hash};
  for (const char* text :
       {"even-smil:k0=3", "even-smil:k0=4", "even-qbmi", "even-dmil", "even-dmil:interval=256"}) {
    other.policy = policy::parse_choice(text);
    EXPECT_TRUE(hashes.insert(run_hash(other, run.machine_hash, simulator_sources())).second) << text;
  }
  other.policy = policy::parse_choice("even,memory=dmil,interval=1024");
  EXPECT_TRUE(hashes.contains(run_hash(other, run.machine_hash, simulator_sources())));
  EXPECT_EQ(simulator_sources().size(), 32U);
  // So does the policy's own file; see tests/sources.
  EXPECT_EQ(experiment::policy_sources("even").size(), 32U);
  EXPECT_NE(experiment::policy_sources("even"), experiment::policy_sources("spatial"));
  EXPECT_EQ(experiment::policy_sources("smk-p"), experiment::policy_sources("smk-pw"));
  EXPECT_EQ(experiment::policy_sources("no policy"), "");
}

TEST(RunHash, AChangedFileChangesOnlyWhatDependsOnIt) {
  const test::TemporaryFolder temporary;
  const std::string& folder = temporary.path();
  const std::string ptx = read_file(kKernels);
  write_file_atomically(folder + "/k.ptx", ptx);
  write_file_atomically(folder + "/x.txt", "1\n2\n");
  const std::string text =
      "apps = [\"add\", \"bfs\", {name = \"k\", app = \"k.ptx:scale\", grid = 1, block = 32, args = "
      "[\"in:f32=x.txt\", "
      "\"zero:f32[2]\", \"f32:2\", \"i32:2\"]}]\ncombine = \"pairs\"\n";
  const auto now = [&] { return expand(parse_sweep(text, folder + "/s.toml", "")); };
  const SweepPlan first = now();
  ASSERT_EQ(first.runs.size(), 3U + 3U);
  EXPECT_EQ(common(first, now()), 6U);
  // Alone and with either of the others.
  write_file_atomically(folder + "/k.ptx", ptx + "\n// changed\n");
  EXPECT_EQ(common(first, now()), 3U);
  write_file_atomically(folder + "/k.ptx", ptx);
  write_file_atomically(folder + "/x.txt", "1\n3\n");
  EXPECT_EQ(common(first, now()), 3U);
}

/// kayiran14's schemes are compared by the same speedups; elsewhere the warp scheduler is a part of the
/// machine.
TEST(RunHash, BesideCpuCoresALimitOfWarpsHasNoBaselineOfItsOwn) {
  const auto alone = [](const std::string& choice, bool cpus) {
    experiment::RunSpec spec;
    spec.machine = arch::load_machine("kayiran14-hetero");
    spec.apps.push_back(experiment::builtin_app("hotspot"));
    spec.policy = policy::parse_choice(choice);
    if (cpus) spec.cpus = experiment::parse_cpus("mcf", 14);
    const experiment::RunSpec isolated = experiment::isolated_run(spec, 0);
    return run_hash(isolated, machine_hash(experiment::effective_machine(isolated)), "");
  };
  EXPECT_EQ(alone("swl:4", true), alone("none", true));
  EXPECT_EQ(alone("dyncta", true), alone("none", true));
  EXPECT_NE(alone("warps=lrr", true), alone("none", true));
  EXPECT_NE(alone("swl:4", false), alone("leftover", false));
}

TEST(RunHash, GoalsAndPrioritiesBelongToARunAndToNoBaseline) {
  const auto spec_of = [](const std::string& app) {
    experiment::RunSpec spec;
    spec.machine = arch::load_machine("dai18-maxwell");
    for (const std::string& text : {app, std::string("kmeans")})
      spec.apps.push_back(experiment::builtin_app(text));
    spec.policy = policy::parse_choice("even");
    return spec;
  };
  const auto hash = [&](const std::string& app) { return run_hash(spec_of(app), "", ""); };
  const auto alone = [&](const std::string& app) {
    return run_hash(experiment::isolated_run(spec_of(app), 0), "", "");
  };
  const std::vector<std::string> apps = {"hotspot",
                                         "hotspot:goal=50%",
                                         "hotspot:goal=60%",
                                         "hotspot:priority=1",
                                         "hotspot:priority=2",
                                         "hotspot:priority=2,goal=50%"};
  for (std::size_t i = 0; i < apps.size(); ++i) {
    for (std::size_t k = 0; k < i; ++k) EXPECT_NE(hash(apps[i]), hash(apps[k])) << apps[i] << " " << apps[k];
    EXPECT_EQ(alone(apps[i]), alone("hotspot")) << apps[i];
  }
  // A deadline changes what a result says, alone too.
  EXPECT_NE(hash("hotspot:deadline=20us"), hash("hotspot:deadline=30us"));
  EXPECT_NE(alone("hotspot:deadline=20us"), alone("hotspot:deadline=30us"));
  EXPECT_EQ(alone("hotspot:deadline=20us,goal=50%"), alone("hotspot:deadline=20us"));
}

/// On a machine of 3 CPU cores.
const std::string kCpus =
    "machines = \"kayiran14-small3x3\"\napps = [\"add\", \"bfs\"]\ncpu_warm_up = 500\ncpu_instructions = "
    "2000\n";

TEST(CpuPrograms, AreAnAxisWithBaselinesOfTheirOwn) {
  const SweepPlan p = plan(kCpus + "combine = \"alone\"\ncpus = [\"none\", \"mcf*2,povray\", \"-,mcf\"]\n");
  // add and bfs alone are runs and baselines at once; mcf on core 0, povray on core 2, mcf on core 1.
  ASSERT_EQ(p.runs.size(), 2U * 3 + 3);
  Texts baselines;
  for (const SweepRun& run : p.runs)
    if (run.is_baseline) baselines.push_back(workload_text(run.spec));
  EXPECT_EQ(baselines, (Texts{"CPU program mcf on core 0", "CPU program povray on core 2",
                              "CPU program mcf on core 1"}));
  const auto found = std::find_if(p.runs.begin(), p.runs.end(),
                                  [](const SweepRun& run) { return run.cpus == "mcf*2,povray"; });
  ASSERT_NE(found, p.runs.end());
  EXPECT_EQ(workload_text(found->spec), "add beside CPU programs mcf*2,povray*1");
  EXPECT_EQ(found->spec.cpu_span.warm_up, 500U);
  EXPECT_EQ(found->spec.cpu_span.instructions, 2000U);
  ASSERT_EQ(found->baselines.size(), 1U);
  EXPECT_EQ(workload_text(p.runs[found->baselines[0]].spec), "add");
  EXPECT_EQ(p.runs[found->baselines[0]].cpus, "none");
  ASSERT_EQ(found->cpu_baselines.size(), 3U);
  EXPECT_EQ(found->cpu_baselines[0], found->cpu_baselines[1]) << "equal programs are taken as one";
  EXPECT_NE(found->cpu_baselines[0], found->cpu_baselines[2]);
}

TEST(CpuPrograms, RunWithoutAnApplicationOncePerSeed) {
  const SweepPlan p =
      plan(kCpus +
           "workloads = [[], [\"add\"]]\ncpus = [\"mcf*2\", \"povray\"]\npolicies = [\"even\", "
           "\"spatial\"]\nseeds = [1, 2]\ncycles = 3000\n");
  Texts without;
  for (const SweepRun& run : p.runs)
    if (!run.is_baseline && run.spec.apps.empty())
      without.push_back(workload_text(run.spec) + " " + run.spec.policy.text);
  const Texts once = {"CPU programs mcf*2 leftover", "CPU program povray on core 0 leftover"};
  Texts expected = {once[0], once[0], once[1], once[1]};
  EXPECT_EQ(without, expected);
  for (const SweepRun& run : p.runs) {
    if (run.spec.apps.empty() && run.cpus == "mcf*2") {
      EXPECT_EQ(run.cpu_baselines.size(), 2U);
    }
    if (run.spec.apps.empty() && run.cpus == "povray") {
      EXPECT_TRUE(run.cpu_baselines.empty()) << "its own";
    }
  }
}

TEST(RunHash, CpuProgramsTheirCoresAndTheirSpanCount) {
  std::set<std::string> hashes;
  std::size_t made = 0;
  const auto add = [&](const std::string& more) {
    const SweepPlan p =
        plan("machines = \"kayiran14-small3x3\"\napps = [\"add\"]\ncombine = \"alone\"\n" + more);
    hashes.insert(p.runs.back().hash);
    EXPECT_EQ(hashes.size(), ++made) << more;
  };
  add("");
  add("cpus = \"mcf\"\n");
  add("cpus = \"milc\"\n");
  add("cpus = \"-,mcf\"\n");
  add("cpus = \"mcf*2\"\n");
  add("cpus = \"mcf\"\ncpu_warm_up = 0\n");
  add("cpus = \"mcf\"\ncpu_instructions = 5\n");
  add("cpus = \"mcf\"\nalpha = 0.25\n");
  for (const char* same : {"cpus = \"mcf,-\"\n", "cpus = \"mcf\"\nalpha = 0.5\ncpu_warm_up = 100000\n"}) {
    const SweepPlan p = plan("machines = \"kayiran14-small3x3\"\napps = [\"add\"]\ncombine = \"alone\"\n" +
                             std::string(same));
    EXPECT_TRUE(hashes.contains(p.runs.back().hash)) << same;
  }
}

}  // namespace
}  // namespace gpumux::sweep
