// Invalid sweep files: one line with the place and the error.
#include "sweep/sweep_file.hpp"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "base/files.hpp"
#include "sweep/expand.hpp"

namespace gpumux::sweep {
namespace {

std::string message(const std::string& text, const std::string& scale = "") {
  try {
    (void)expand(parse_sweep(text, "s.toml", scale));
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

void starts(const std::string& text, const std::string& begin, const std::string& scale = "") {
  EXPECT_EQ(message(text, scale).substr(0, begin.size()), begin) << text << message(text, scale);
}

const std::string kApps = "apps = [\"add\", \"bfs\"]\n";
const std::string kGood = kApps + "combine = \"pairs\"\n";

TEST(SweepFile, UnknownKeysAndWrongTypes) {
  EXPECT_EQ(message(kGood), "");
  starts(kGood + "polices = \"even\"\n",
         "s.toml:3:1: error: unknown key 'polices'; did you mean 'policies'?");
  starts(kGood + "policy = \"even\"\n", "s.toml:3:1: error: unknown key 'policy'");
  starts(kGood + "policies = 5\n", "s.toml:3:12: error: 'policies' must be a text");
  starts(kGood + "policies = []\n", "s.toml:3:12: error: 'policies' is an empty list");
  starts(kGood + "policies = [\"even\", \"even\"]\n", "s.toml:3:21: error: 'even' is given twice");
  starts(kGood + "machines = \"\"\n", "s.toml:3:12: error: 'machines' is empty");
  starts(kGood + "seeds = -1\n", "s.toml:3:9: error: 'seeds' must be a whole number of at least 0");
  starts(kGood + "seeds = [1, 1]\n", "s.toml:3:13: error: '1' is given twice");
  starts(kGood + "cycles = 0\n", "s.toml:3:10: error: 'cycles' must be a whole number of at least 1");
  starts(kGood + "cycles = [5]\n", "s.toml:3:10: error: 'cycles' must be a whole number");
  starts(kGood + "name = \"\"\n", "s.toml:3:8: error: 'name' is empty");
  starts(kGood + "set = 5\n", "s.toml:3:7: error: 'set' must be a table");
  starts(kGood + "cycles =\n", "s.toml:3:");
}

TEST(SweepFile, TemplatesOfPolicies) {
  const SweepFile file = parse_sweep(
      kGood +
          "policies = [\"leftover\", {policy = \"even-smil:k0={a},k1={b}\", a = [1, 2], b = [3, \"inf\"]}]\n",
      "s.toml", "");
  ASSERT_EQ(file.policies.size(), 5U);
  EXPECT_TRUE(file.policies[0].variables.empty());
  EXPECT_EQ(file.policies[2].value, "even-smil:k0=1,k1=inf");
  EXPECT_EQ(file.policies[3].value, "even-smil:k0=2,k1=3");
  EXPECT_EQ(file.policies[3].variables.at("a"), "2");
  EXPECT_EQ(expand(file).runs.size(), 2U + 5U);
  starts(kGood + "policies = [{a = [1]}]\n", "s.toml:3:13: error: a template needs 'policy'");
  starts(kGood + "policies = [{policy = \"even\", a = [1]}]\n", "s.toml:3:35: error: 'even' has no {a}");
  starts(kGood + "policies = [{policy = \"even-smil:k0={a}\", a = [1, 1]}]\n",
         "s.toml:3:13: error: 'even-smil:k0=1' is given twice");
  starts(kGood + "policies = [{policy = \"even-smil:k0={a}\", a = []}]\n",
         "s.toml:3:47: error: 'a' is an empty list");
  starts(kGood + "policies = [{policy = \"even-smil:k0={a}\", a = 99}]\n",
         "s.toml:3:23: error: memory=smil: k0='99'");
}

TEST(SweepFile, Applications) {
  starts("", "s.toml: error: names no application");
  starts("apps = []\n", "s.toml:1:8: error: 'apps' is an empty list");
  starts("apps = \"add\"\n", "s.toml:1:8: error: 'apps' must be a list");
  starts("apps = [5]\n", "s.toml:1:9: error: each of 'apps' must be a text or a table");
  starts("apps = [\"add\", \"add\"]\n", "s.toml:1:16: error: there are two applications 'add'");
  starts("apps = [{grid = 4}]\n", "s.toml:1:9: error: an application needs 'app'");
  starts("apps = [{app = \"add\", gird = 4}]\n",
         "s.toml:1:23: error: unknown key in [[apps]] 'gird'; did you mean");
  starts("apps = [\"addd\"]\ncombine = \"alone\"\n",
         "s.toml:1:9: error: unknown app 'addd'; did you mean 'add'?");
  starts("apps = [\"add:sise=4\"]\ncombine = \"alone\"\n", "s.toml:1:9: error: ");
  starts("apps = [{app = \"add\", grid = 4}]\ncombine = \"alone\"\n",
         "s.toml:1:9: error: --grid is for kernels of PTX files");
  starts("apps = [{app = \"none.ptx:k\", grid = 4, block = 1}]\ncombine = \"alone\"\n",
         "none.ptx: error: cannot be read");
}

TEST(SweepFile, WhatASweepWouldHaveToWrite) {
  starts("apps = [{name = \"k\", app = \"" + std::string(GPUMUX_SOURCE_DIR) +
             "/tests/experiment/kernel.ptx:outside\", grid = 1, block = 1, args = [\"out:i32[1]=y.bin\"]}]\n"
             "combine = \"alone\"\n",
         "s.toml:1:9: error: 'k' writes y.bin; a sweep keeps no files");
}

TEST(SweepFile, Workloads) {
  starts(kApps, "s.toml: error: says not what runs together");
  starts(kApps + "combine = \"pair\"\n",
         "s.toml:2:11: error: unknown value of 'combine' 'pair'; did you mean 'pairs'?");
  starts(kApps + "combine = [\"pairs\", \"pairs\"]\n", "s.toml:2:21: error: 'pairs' is given twice");
  starts(kApps + "combine = \"trios\"\n", "s.toml: error: has no run: there are fewer applications");
  starts(kApps + "workloads = []\n", "s.toml: error: says not what runs together");
  starts(kApps + "workloads = [\"add\"]\n", "s.toml:2:14: error: each of 'workloads' must be a list");
  starts(kApps + "workloads = [[]]\n", "s.toml:2:14: error: has no application, and 'cpus' has none");
  starts(kApps + "workloads = [[\"ad\"]]\n", "s.toml:2:15: error: unknown application 'ad'; known: add, bfs");
  std::string many;
  for (int i = 0; i < 17; ++i) many += "\"add\",";
  starts(kApps + "workloads = [[" + many + "]]\n",
         "s.toml:2:14: error: has 17 applications; at most 16 run together");
  starts(kGood + "exclude = [[\"ad\"]]\n", "s.toml:3:13: error: unknown application 'ad'");
  starts(kGood + "exclude = [[\"add\"], [\"bfs\"]]\n", "s.toml:3:21: error: excludes nothing");
  starts(kGood + "exclude = [[\"add\"]]\n", "s.toml: error: has no run: every workload is excluded");
}

TEST(SweepFile, Cases) {
  EXPECT_EQ(message(kGood + "cases = 1\n"), "");
  starts(kGood + "cases = 0\n", "s.toml:3:9: error: 'cases' must be");
  starts(kGood + "cases = \"all\"\n", "s.toml:3:9: error: 'cases' must be");
}

TEST(SweepFile, Goals) {
  EXPECT_EQ(message(kGood + "goals = \"80%\"\n"), "");
  starts(kGood + "goals = []\n", "s.toml:3:9: error: 'goals' is an empty list");
  starts(kGood + "goals = [\"80%\", \"fast\"]\n", "s.toml:3:17: error: 'fast' must be 80% (of its IPC alone");
  starts(kGood + "goals = [\"80%/\"]\n", "s.toml:3:10: error: '80%/' must be 80%");
  starts(kGood + "goals = [\"80%\", \"80%\"]\n", "s.toml:3:17: error: '80%' is given twice");
  starts(kGood + "goals = \"1%/2%/3%\"\n",
         "s.toml:3:9: error: '1%/2%/3%' has 3 goals, and a workload 2 applications");
  starts("apps = [\"add:goal=3%\", \"bfs\"]\ncombine = \"pairs\"\ngoals = \"80%\"\n",
         "s.toml:3:9: error: add:goal=3% has a goal of its own; give one");
}

TEST(SweepFile, MachinesAndPolicies) {
  starts(kGood + "machines = [\"v100\", \"v10\"]\n", "s.toml:3:21: error: unknown machine 'v10'");
  starts(kGood + "machines = \"./none.toml\"\n", "./none.toml: error: cannot be read");
  starts(kGood + "policies = [\"even\", \"evn\"]\n",
         "s.toml:3:21: error: unknown policy 'evn'; did you mean 'even'?");
  starts(kGood + "policies = \"even:k=3\"\n", "s.toml:3:12: error: policy even: unknown setting 'k'");
  starts(kGood + "[set]\nl1.siez = 3\n",
         "s.toml:4:11: error: unknown key in [l1] 'siez'; did you mean 'size'?");
  starts(kGood + "[set]\nl1.size = [\"48K\", \"10000\"]\n", "s.toml:4:19: error: ");
  starts(kGood + "[set]\nl1.size = [\"48K\", \"much\"]\n", "s.toml:4:19: error: ");
  starts(kGood + "[set]\nl1.size = \"48K\"\nsm.l1.size = \"24K\"\n",
         "s.toml:5:14: error: 'l1.size' is set twice");
  starts(kGood + "[set]\nsms = []\n", "s.toml:4:7: error: 'sms' is an empty list");
  starts(kGood + "[set]\nsms = [[[1]]]\n", "s.toml:4:9: error: 'sms' has lists in lists in lists");
  starts(kGood + "[set]\nsms = 1979-05-27\n", "s.toml:4:7: error: 'sms' must be a number");
}

TEST(SweepFile, Scales) {
  const std::string scaled = kGood + "[scales.quick]\ncycles = 100\n[scales.paper]\n";
  EXPECT_EQ(message(scaled, "quick"), "");
  starts(scaled, "s.toml: error: has scales; choose one: --scale paper, --scale quick");
  starts(scaled, "s.toml: error: unknown scale 'quik'; did you mean 'quick'?", "quik");
  starts(kGood, "s.toml: error: has no scale 'quick', nor any other", "quick");
  starts(kGood + "[scales]\nquick = 4\n", "s.toml:4:9: error: scale 'quick' must be a table", "quick");
  starts(kGood + "scales = 4\n", "s.toml:3:10: error: 'scales' must hold tables", "quick");
  // Also in the scale that is not asked for.
  starts(scaled + "cylces = 100\n",
         "s.toml:6:1: error: unknown key of a scale 'cylces'; did you mean 'cycles'?", "quick");
  starts(scaled + "cycles = \"many\"\n", "s.toml:6:10: error: 'cycles' must be a whole number", "quick");
}

TEST(SweepFile, TheDocumentationsExampleIsRead) {
  const std::string page = read_file(std::string(GPUMUX_SOURCE_DIR) + "/docs/sweeps.md");
  const std::size_t begin = page.find("```toml\n") + 8;
  const std::string text = page.substr(begin, page.find("```", begin) - begin);
  const SweepFile sweep = parse_sweep(text, "docs/sweeps.toml", "quick");
  EXPECT_EQ(sweep.name, "l1");
  EXPECT_EQ(sweep.folder, "docs");
  EXPECT_EQ(sweep.machines.size(), 2U);
  EXPECT_EQ(sweep.settings.size(), 2U);
  EXPECT_EQ(sweep.apps.size(), 4U);
  EXPECT_EQ(sweep.cycles, 20000U);
  EXPECT_EQ(sweep.seeds, std::vector<std::uint64_t>{1});
  EXPECT_EQ(parse_sweep(text, "s.toml", "paper").cycles, 500000U);
}

TEST(SweepFile, TooManyRuns) {
  std::string seeds;
  for (int i = 0; i < 400; ++i) seeds += std::to_string(i) + ",";
  starts(kGood + "seeds = [" + seeds + "]\n[set]\nsms = [" + seeds.substr(2) + "]\n",
         "s.toml: error: has 159600 runs; at most 100000 fit a sweep");
}

TEST(SweepFile, CpuPrograms) {
  const std::string hetero = kGood + "machines = \"kayiran14-small3x3\"\n";
  EXPECT_EQ(message(hetero + "cpus = [\"mcf\", \"\"]\nalpha = 1\n"), "");
  starts(kGood + "cpus = [\"none\", \"mcf\"]\n",
         "s.toml:3:17: error: 'mcf': machine dai18-maxwell has no CPU cores (cpus)");
  starts(hetero + "cpus = [\"\", \"none\"]\n", "s.toml:4:13: error: 'none' is given twice");
  starts(hetero + "cpus = \"mfc\"\n", "s.toml:4:8: error: CPU program 'mfc' is no mix (");
  starts(hetero + "cpus = \"mcf*4\"\n",
         "s.toml:4:8: error: CPU programs 'mcf*4': more than the machine's CPU cores, cpus = 3");
  starts(hetero + "cpus = 3\n", "s.toml:4:8: error: 'cpus' must be a text");
  for (const char* key : {"cpu_warm_up", "cpu_instructions", "alpha"})
    starts(hetero + key + " = 1\n", fmt::format("s.toml:4:{}: error: '{}' is of CPU programs: add cpus =",
                                                std::string(key).size() + 4, key));
  starts(hetero + "cpus = \"mcf\"\nalpha = 1.5\n", "s.toml:5:9: error: 'alpha' must be a number from 0 to 1");
  starts(hetero + "cpus = \"mcf\"\nalpha = \"x\"\n",
         "s.toml:5:9: error: 'alpha' must be a number from 0 to 1");
  starts(hetero + "cpus = \"mcf\"\ncpu_instructions = 0\n",
         "s.toml:5:20: error: 'cpu_instructions' must be a whole number of at least 1");
  starts(hetero + "workloads = [[]]\n",
         "s.toml:4:14: error: has no application, and 'cpus' has none: nothing would run");
}

}  // namespace
}  // namespace gpumux::sweep
