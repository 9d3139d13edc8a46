// Isolated baselines: the contents of the cache, runs that the cache must distinguish, and that a damaged
// cache never affects a result.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "arch/config_file.hpp"
#include "base/files.hpp"
#include "experiment/file_program.hpp"
#include "experiment/run.hpp"
#include "temporary_folder.hpp"

namespace gpumux::experiment {
namespace {

namespace fs = std::filesystem;

class Isolated : public testing::Test {
 protected:
  void SetUp() override {
    spec_.machine = arch::load_machine("dai18-maxwell", {"sms=2"});
    spec_.policy = policy::parse_choice("even");
    spec_.apps = {app("2"), app("3")};
    spec_.cycles = 5000;
  }

  static AppSpec app(const std::string& factor) {
    FileKernelSpec s;
    s.path = std::string(GPUMUX_SOURCE_DIR) + "/tests/experiment/kernel.ptx";
    s.kernel = "scale";
    s.text = "scale" + factor;
    s.grid = "8";
    s.block = "128";
    s.args = {"zero:f32[1024]", "zero:f32[1024]", "f32:" + factor, "i32:1024"};
    return file_kernel(s).app;
  }
  [[nodiscard]] std::vector<fs::path> entries() const {
    std::vector<fs::path> found;
    if (!fs::exists(folder_)) return found;
    for (const auto& entry : fs::recursive_directory_iterator(folder_)) {
      if (entry.is_regular_file()) found.push_back(entry.path());
    }
    return found;
  }

  test::TemporaryFolder temporary_;
  const std::string folder_ = temporary_.path() + "/cache";
  RunSpec spec_;
};

TEST_F(Isolated, EqualsARunAlone) {
  const std::vector<double> ipcs = isolated_ipcs(spec_, "");
  ASSERT_EQ(ipcs.size(), 2U);
  RunSpec alone = spec_;
  alone.apps = {spec_.apps[1]};
  alone.policy = policy::parse_choice("sequential");
  EXPECT_EQ(simulate(alone).apps[0].ipc(), ipcs[1]);
  EXPECT_GT(ipcs[0], 0);
}

TEST_F(Isolated, EqualApplicationsHaveOneBaselineWhereverTheyStand) {
  RunSpec twice = spec_;
  twice.apps = {spec_.apps[0], spec_.apps[0], spec_.apps[1]};
  const std::vector<double> ipcs = isolated_ipcs(twice, folder_);
  EXPECT_EQ(entries().size(), 2U);
  EXPECT_EQ(ipcs[0], ipcs[1]);
  std::swap(twice.apps[0], twice.apps[2]);
  const std::vector<double> turned = isolated_ipcs(twice, folder_);
  EXPECT_EQ(entries().size(), 2U);
  EXPECT_EQ(turned, (std::vector<double>{ipcs[2], ipcs[1], ipcs[0]}));
}

TEST_F(Isolated, InputsDoNotDependOnThePlace) {
  // bfs walks a graph that the seed makes: its instructions tell whether it was the same one.
  RunSpec run;
  run.machine = arch::load_machine("dai18-maxwell", {"sms=4"});
  run.policy = policy::parse_choice("spatial");
  const auto instructions_of_bfs = [&](std::vector<AppSpec> apps, std::size_t place) {
    run.apps = std::move(apps);
    const RunResult result = simulate(run);
    EXPECT_EQ(result.apps[place].completions, 1U);
    return result.apps[place].counters.thread_instructions;
  };
  const AppSpec bfs = builtin_app("bfs:nodes=1024");
  const AppSpec add = builtin_app("add:blocks=4");
  const std::uint64_t alone = instructions_of_bfs({bfs}, 0);
  EXPECT_EQ(instructions_of_bfs({add, bfs}, 1), alone);
  run.seed = 7;
  EXPECT_NE(instructions_of_bfs({add, bfs}, 1), alone);
}

TEST_F(Isolated, IsKeptAndFoundAgain) {
  const std::vector<double> first = isolated_ipcs(spec_, folder_);
  const std::vector<fs::path> files = entries();
  ASSERT_EQ(files.size(), 2U);
  // A kept value is used: change one and see it come back.
  for (const fs::path& file : files) {
    auto entry = nlohmann::json::parse(read_file(file.string()));
    entry["ipc"] = entry["ipc"].get<double>() + 1;
    write_file_atomically(file.string(), entry.dump());
  }
  const std::vector<double> second = isolated_ipcs(spec_, folder_);
  EXPECT_EQ(second[0], first[0] + 1);
  EXPECT_EQ(second[1], first[1] + 1);
}

TEST_F(Isolated, WhatDeterminesItHasItsOwnEntry) {
  std::size_t expected = 2;
  const auto adds = [&](const char* what, const RunSpec& spec, std::size_t entries_added) {
    (void)isolated_ipcs(spec, folder_);
    expected += entries_added;
    EXPECT_EQ(entries().size(), expected) << what;
  };
  adds("first", spec_, 0);
  adds("again", spec_, 0);
  RunSpec changed = spec_;
  changed.policy = policy::parse_choice("spatial");
  changed.threads = 2;
  adds("policy and threads change no baseline", changed, 0);
  changed = spec_;
  changed.cycles = 6000;
  adds("cycles", changed, 2);
  changed = spec_;
  changed.seed = 100;
  adds("seed", changed, 2);
  changed = spec_;
  changed.machine.l1.latency += 1;
  adds("machine", changed, 2);
  changed = spec_;
  changed.policy = policy::parse_choice("even,warps=lrr");
  adds("warp scheduler", changed, 2);
  changed = spec_;
  changed.apps = {app("5")};
  adds("application", changed, 1);
}

TEST_F(Isolated, DamagedEntriesAreIgnoredAndRewritten) {
  const std::vector<double> first = isolated_ipcs(spec_, folder_);
  for (const char* damage : {"", "{", "[]", "{\"schema\":\"gpumux.isolated/1\"}", "null",
                             "{\"schema\":\"gpumux.isolated/1\",\"key\":\"x\",\"ipc\":5}"}) {
    for (const fs::path& file : entries()) write_file_atomically(file.string(), damage);
    EXPECT_EQ(isolated_ipcs(spec_, folder_), first) << damage;
    for (const fs::path& file : entries()) EXPECT_NE(read_file(file.string()), damage);
  }
}

TEST_F(Isolated, AnEntryWithAnImpossibleIpcIsIgnored) {
  const std::vector<double> first = isolated_ipcs(spec_, folder_);
  for (const fs::path& file : entries()) {
    auto entry = nlohmann::json::parse(read_file(file.string()));
    entry["ipc"] = -1;
    write_file_atomically(file.string(), entry.dump());
  }
  EXPECT_EQ(isolated_ipcs(spec_, folder_), first);
}

TEST_F(Isolated, WithoutAFolderNothingIsKept) {
  (void)isolated_ipcs(spec_, "");
  EXPECT_TRUE(entries().empty());
}

TEST_F(Isolated, AFolderThatCannotBeMadeCostsOnlyTime) {
  write_file_atomically(temporary_.path() + "/blocked", "a file in the way");
  EXPECT_EQ(isolated_ipcs(spec_, temporary_.path() + "/blocked/cache").size(), 2U);
}

}  // namespace
}  // namespace gpumux::experiment
