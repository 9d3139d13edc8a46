// Whole-machine golden statistics: exact counters of small pairs under every policy, block scheduler, memory
// scheme and warp scheduler. New ones are enrolled automatically. A difference means that the model, the back
// end or an application's code changed. If the change is intended, write the file again and give the reason
// in the commit:
//   GPUMUX_GOLDEN=write build/release/bin/test_machine --gtest_filter=Golden.*
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <sstream>

#include "arch/config_file.hpp"
#include "base/files.hpp"
#include "experiment/goal.hpp"
#include "experiment/run.hpp"
#include "tests/machine/short_policies.hpp"

namespace gpumux {
namespace {

const std::string kFile = std::string(GPUMUX_SOURCE_DIR) + "/tests/machine/data/golden.txt";

struct Pair {
  const char* name;
  std::vector<const char*> apps;
  const char* goal = nullptr;  // of the first one
};

/// "key = figures" of one run: a line of the machine and one per application.
std::vector<std::pair<std::string, std::string>> golden_figures(const std::string& machine, const Pair& pair,
                                                                const std::string& policy) {
  experiment::RunSpec spec;
  spec.machine = arch::load_machine(machine);
  // Pages of results stand on golden runs of their machines (docs/results/fingerprint.py).
  if (spec.machine.cpus == 0) spec.machine = arch::load_machine(machine, {"sms=4"});
  for (const char* app : pair.apps) spec.apps.push_back(experiment::builtin_app(app));
  if (pair.goal != nullptr) spec.apps[0].give_goal(*experiment::parse_goal(pair.goal));
  spec.policy = policy::parse_choice(policy);
  spec.cycles = 20'000;
  const experiment::RunResult result = experiment::simulate(spec);
  const std::string key = fmt::format("{} {} {}", machine, pair.name, policy);
  std::vector<std::pair<std::string, std::string>> lines;
  const arch::PartitionCounters& p = result.partitions;
  lines.emplace_back(key, fmt::format("cycles {} l2_accesses {} l2_misses {} dram_reads {} dram_writes {} "
                                      "dram_row_hits {}",
                                      result.cycles, p.l2_accesses, p.l2_misses, p.dram_reads, p.dram_writes,
                                      p.dram_row_hits));
  for (const experiment::AppResult& app : result.apps) {
    const arch::KernelCounters& c = app.counters;
    lines.emplace_back(key + " " + app.app,
                       fmt::format("warp_instructions {} l1_accesses {} l1_misses {} reservation_failures {} "
                                   "blocks_completed {} completions {} first_completion {}",
                                   c.warp_instructions, c.l1_accesses, c.l1_misses, c.reservation_failures(),
                                   c.blocks_completed, app.completions, app.first_completion));
  }
  return lines;
}

std::map<std::string, std::string> read_golden() {
  std::map<std::string, std::string> golden;
  std::istringstream in(read_file(kFile));
  for (std::string line; std::getline(in, line);) {
    const std::size_t equals = line.find(" = ");  // application names hold "=" without spaces
    if (line.starts_with('#') || equals == std::string::npos) continue;
    golden[line.substr(0, equals)] = line.substr(equals + 3);
  }
  return golden;
}

/// Every level and policy there is.
std::vector<std::string> mechanisms() {
  std::vector<std::string> all = test::short_policies();
  all.push_back("interleaved");
  for (const auto& levels :
       {test::short_block_schedulers(), test::short_core_controls(), test::short_concurrency_controls(),
        test::short_memory_schemes(), test::short_warp_schedulers()})
    for (const std::string& level : levels) all.push_back("even," + level);
  return all;
}

TEST(Golden, StatisticsAreUnchanged) {
  const std::vector<Pair> pairs = {{"memory+compute", {"bfs:nodes=4096", "hotspot:size=64"}},
                                   {"stream+shared", {"stream:blocks=64", "pathfinder:columns=4096"}}};
  const char* mode = std::getenv("GPUMUX_GOLDEN");
  const bool write = mode != nullptr && std::string_view(mode) == "write";
  const std::map<std::string, std::string> golden =
      write ? std::map<std::string, std::string>() : read_golden();
  std::string text =
      "# Exact counters of small runs, compared by tests/machine/golden_test.cpp, which says how to make "
      "this "
      "file\n# anew. Every change of it needs a reason in its commit.\n";
  std::size_t lines = 0;
  const auto compare = [&](const std::string& machine, const Pair& pair, const std::string& policy) {
    for (const auto& [key, value] : golden_figures(machine, pair, policy)) {
      text += fmt::format("{} = {}\n", key, value);
      ++lines;
      if (write) continue;
      const auto found = golden.find(key);
      if (found == golden.end()) {
        ADD_FAILURE() << key << " is not in " << kFile;
        continue;
      }
      EXPECT_EQ(value, found->second) << key;
    }
  };
  for (const char* machine : {"dai18-maxwell", "v100"})
    for (const Pair& pair : pairs)
      for (const char* policy : {"sequential", "leftover", "spatial", "even"}) compare(machine, pair, policy);
  for (const std::string& policy : mechanisms()) compare("wang17-16sm", pairs[0], policy);
  const Pair with_goal = {"memory+compute, goal", pairs[0].apps, "ipc:25"};
  for (const char* policy :
       {"qos-naive", "qos-history", "qos-elastic", "qos-rollover", "qos-rollover-time", "spart"})
    compare("wang17-16sm", with_goal, policy);
  for (const std::string& machine : arch::machine_names())
    if (machine != "dai18-maxwell" && machine != "v100" && machine != "wang17-16sm")
      compare(machine, pairs[0], "even");
  if (write) {
    write_file_atomically(kFile, text);
    return;
  }
  EXPECT_EQ(golden.size(), lines) << "lines that no run makes";
  if (HasFailure()) {
    ADD_FAILURE() << "If these figures should move, run this test with GPUMUX_GOLDEN=write, look at the "
                     "difference of "
                  << kFile << ", and give the reason in the commit.";
  }
}

}  // namespace
}  // namespace gpumux
