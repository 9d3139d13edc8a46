// The copies of dai18's Table 2 agree. The paper's claims have it (for the columns of the table and for
// expressions such as benchmark.Table_2.cp.l1d_miss_rate). The metadata of the applications dai18/NAME and
// the classes of experiments repeat parts of it.
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "arch/config_file.hpp"
#include "base/error.hpp"
#include "emulator/program.hpp"
#include "reproduce/library.hpp"
#include "reproduce/paper_table.hpp"
#include "runtime/application.hpp"
#include "workload/device_memory.hpp"

namespace gpumux::reproduce {
namespace {

const std::vector<std::string> kNames = {"cp", "hs", "dc", "pf", "bp", "bs", "st",
                                         "3m", "sv", "cd", "s2", "ks", "ax"};

TableRow claimed(const std::string& name) { return claimed_row("dai18", "Table 2", name).value(); }
double cell_number(const TableRow& row, const char* column) { return std::get<double>(row.at(column)); }

TEST(Dai18Table2, TheClaimsAndTheApplicationsHaveTheSameRows) {
  std::set<std::string> rows;
  for (const auto& [place, row] : paper_claims("dai18").rows) {
    if (place.first == "Table 2") rows.insert(place.second);
  }
  EXPECT_EQ(rows, std::set<std::string>(kNames.begin(), kNames.end()));
  std::set<std::string> apps;
  for (const runtime::AppInfo& app : runtime::apps()) {
    if (app.name.starts_with("dai18/")) apps.insert(app.name.substr(6));
  }
  EXPECT_EQ(apps, rows);
}

TEST(Dai18Table2, ClassesOfExperimentsAreItsTypes) {
  std::size_t given = 0;
  for (const Experiment& e : choose("dai18").experiments) {
    for (const auto& [app, type] : e.classes) {
      ASSERT_TRUE(app.starts_with("dai18/")) << e.id << ' ' << app;
      EXPECT_EQ(TableCell(std::string(1, type)), claimed(app.substr(6)).at("type")) << e.id << ' ' << app;
      ++given;
    }
  }
  EXPECT_GT(given, 0U);
}

class Dai18Row : public testing::TestWithParam<std::string> {
 protected:
  const std::string app_ = "dai18/" + GetParam();
  const TableRow row_ = claimed(GetParam());
};

/// An SM holds whole warps: a block of 511 threads counts as 512.
std::uint32_t in_whole_warps(std::uint32_t threads) {
  return (threads + kWarpSize - 1) / kWarpSize * kWarpSize;
}

TEST_P(Dai18Row, OccupanciesAreThePrintedOnes) {
  const arch::MachineConfig machine = arch::load_machine("dai18-maxwell");
  const AppFacts facts = app_facts(app_, machine);
  ASSERT_EQ(facts.kernels.size(), 1U);
  const workload::BlockResources& block = facts.kernels[0].resources;
  const std::uint32_t threads = in_whole_warps(block.threads);
  EXPECT_EQ(threads, cell_number(row_, "derived_threads_per_tb"));
  EXPECT_EQ(block.registers_per_thread, cell_number(row_, "derived_regs_per_thread"));
  EXPECT_EQ(block.shared_bytes, cell_number(row_, "derived_smem_bytes_per_tb"));
  const double blocks =
      arch::occupancy(machine.sm, block.threads, block.registers_per_thread, block.shared_bytes).blocks;
  EXPECT_EQ(blocks, cell_number(row_, "derived_tbs_per_sm"));
  const auto same = [&](const char* column, double of_block, double of_sm) {
    EXPECT_EQ(fmt::format("{:.1f}", 100 * blocks * of_block / of_sm),
              fmt::format("{:.1f}", cell_number(row_, column)))
        << column;
  };
  same("rf_occupancy_pct", block.registers_per_thread * threads, 65536);
  same("smem_occupancy_pct", block.shared_bytes, 98304);
  same("thread_occupancy_pct", threads, 3072);
  same("tb_occupancy_pct", 1, 16);

  const std::vector<PrintedRow> printed = printed_rows(app_);
  ASSERT_EQ(printed.size(), 1U);
  std::size_t inspected = 0;
  for (const PaperColumn& column : printed[0].table->columns) {
    const std::optional<TableCell> ours = column.ours(facts, nullptr);
    if (!ours) continue;
    ++inspected;
    EXPECT_EQ(fmt::format("{:.1f}", std::get<double>(*ours)),
              fmt::format("{:.1f}", cell_number(printed[0].row, column.stated.c_str())))
        << column.label;
  }
  EXPECT_EQ(inspected, 4U);
}

TEST_P(Dai18Row, TheMachineSeesItsResources) {
  const AppFacts facts = app_facts(app_, arch::load_machine("dai18-maxwell"));
  const KernelFacts& fact = facts.kernels.at(0);
  const runtime::AppInfo* info = runtime::find_app(app_);
  workload::DeviceMemory memory{AppId{0}};
  emulator::LoadedModule module(facts.module, memory, AppId{0}, nullptr);
  const emulator::KernelInfo* kernel = module.find(fact.name);
  ASSERT_NE(kernel, nullptr);
  emulator::LaunchConfig config;
  config.grid = fact.grid;
  config.block = fact.block;
  config.parameters.resize(kernel->code.param_bytes);
  const auto metadata = info->create(facts.params, 1)->block_metadata();
  const auto launch = module.launch(*kernel, config, metadata.at(fact.name));
  EXPECT_EQ(in_whole_warps(launch->resources().threads), cell_number(row_, "derived_threads_per_tb"));
  EXPECT_EQ(launch->resources().registers_per_thread, cell_number(row_, "derived_regs_per_thread"));
  EXPECT_EQ(launch->resources().shared_bytes, cell_number(row_, "derived_smem_bytes_per_tb"));
  // Without metadata they are the code's own; metadata must not take shared memory away from it.
  EXPECT_EQ(module.launch(*kernel, config)->resources().shared_bytes, kernel->code.shared_bytes);
  if (kernel->code.shared_bytes > 1) {
    EXPECT_THROW((void)module.launch(*kernel, config, {.registers_per_thread = 8, .shared_bytes = 1}),
                 InternalError);
  }
}

INSTANTIATE_TEST_SUITE_P(Table2, Dai18Row, testing::ValuesIn(kNames),
                         [](const auto& param) { return "row_" + param.param; });

/// What a run alone says of the memory pipeline, from counters made by hand.
TEST(Dai18Table2, MeasuredColumnsFollowFromCounters) {
  const AppFacts facts = app_facts("dai18/ks", arch::load_machine("dai18-maxwell"));
  experiment::RunResult alone;
  alone.apps.resize(1);
  const auto value = [&](const char* label) {
    for (const PaperColumn& column : printed_rows("dai18/ks").at(0).table->columns) {
      if (column.label == label) return column.ours(facts, &alone);
    }
    ADD_FAILURE() << label;
    return std::optional<TableCell>();
  };
  for (const char* quotient : {"Cinst/Minst", "Req/Minst", "L1 miss", "L1 rsfail", "LSU stalls"})
    EXPECT_EQ(value(quotient), std::nullopt) << quotient;
  EXPECT_EQ(value("type"), TableCell("C"));

  alone.cycles = 100;
  arch::KernelCounters& c = alone.apps[0].counters;
  c.warp_instructions = 50;
  c.memory_instructions = 10;
  c.shared_accesses = 2;
  c.constant_accesses = 2;
  c.l1_accesses = 40;
  c.l1_misses = 30;
  c.lsu_stall_cycles = 100 * facts.machine.sms / 5;  // 20%: not more
  EXPECT_EQ(value("Cinst/Minst"), TableCell(5.0));
  EXPECT_EQ(value("Req/Minst"), TableCell(40.0 / 6));
  EXPECT_EQ(value("L1 miss"), TableCell(0.75));
  EXPECT_EQ(value("LSU stalls"), TableCell(20.0));
  EXPECT_EQ(value("type"), TableCell("C"));
  ++c.lsu_stall_cycles;
  EXPECT_EQ(value("type"), TableCell("M"));
}

}  // namespace
}  // namespace gpumux::reproduce
