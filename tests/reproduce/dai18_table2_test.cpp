// Table 2 of dai18 is there more than once: for the applications dai18/NAME, for expressions
// (benchmark.Table_2.cp.l1d_miss_rate) and as the classes of experiments. All have the same numbers and
// types.
#include <gtest/gtest.h>
#include <toml++/toml.h>

#include <set>
#include <string>

#include "arch/config_file.hpp"
#include "benchmarks/dai18_table2.hpp"
#include "reproduce/library.hpp"

namespace gpumux::reproduce {
namespace {

/// The row `name` of Table 2 in the paper's claims; nullptr when there is none.
const toml::table* row_of_claims(const toml::table& claims, std::string_view name) {
  for (const toml::node& node : *claims["benchmark"].as_array()) {
    const toml::table& row = *node.as_table();
    if (row["table"].value<std::string>() == "Table 2" && row["name"].value<std::string>() == name)
      return &row;
  }
  return nullptr;
}

TEST(Dai18Table2, TheApplicationsAndTheClaimsHaveTheSameNumbers) {
  const toml::table claims = toml::parse_file(GPUMUX_SOURCE_DIR "/experiments/claims/dai18.toml");
  const arch::SmConfig sm = arch::load_machine("dai18-maxwell").sm;
  for (const benchmarks::Table2Row& row : benchmarks::kDai18Table2) {
    SCOPED_TRACE(row.app);
    const toml::table* printed = row_of_claims(claims, row.app);
    ASSERT_NE(printed, nullptr);
    std::set<std::string> compared = {"table", "name", "application", "suite"};  // not what it ran
    const auto same = [&](const char* column, double ours) {
      compared.insert(column);
      EXPECT_EQ((*printed)[column].value<double>(), ours) << column;
    };
    same("rf_occupancy_pct", row.registers_percent);
    same("smem_occupancy_pct", row.shared_percent);
    same("thread_occupancy_pct", row.threads_percent);
    same("tb_occupancy_pct", row.blocks_percent);
    same("cinst_per_minst", row.compute_per_memory);
    same("req_per_minst", row.requests_per_memory);
    same("l1d_miss_rate", row.miss_rate);
    same("l1d_rsfail_rate", row.reservation_failures);
    same("derived_threads_per_tb", row.threads);
    same("derived_regs_per_thread", row.registers);
    same("derived_smem_bytes_per_tb", row.shared_bytes);
    same("derived_tbs_per_sm", arch::occupancy(sm, row.threads, row.registers, row.shared_bytes).blocks);
    compared.insert("type");
    EXPECT_EQ((*printed)["type"].value<std::string>(), std::string(1, row.type));
    for (const auto& [column, value] : *printed) {
      EXPECT_TRUE(compared.contains(std::string(column.str()))) << column.str() << " is not compared";
    }
  }
}

TEST(Dai18Table2, TheClaimsHaveNoOtherRows) {
  const toml::table claims = toml::parse_file(GPUMUX_SOURCE_DIR "/experiments/claims/dai18.toml");
  std::size_t rows = 0;
  for (const toml::node& node : *claims["benchmark"].as_array()) {
    rows += node.as_table()->get("table")->value<std::string>() == "Table 2" ? 1 : 0;
  }
  EXPECT_EQ(rows, benchmarks::kDai18Table2.size());
}

TEST(Dai18Table2, ClassesOfExperimentsAreItsTypes) {
  std::size_t given = 0;
  for (const Experiment& e : choose("dai18").experiments) {
    for (const auto& [app, type] : e.classes) {
      const benchmarks::Table2Row* row = benchmarks::dai18_row(app);
      ASSERT_NE(row, nullptr) << e.id << ' ' << app;
      EXPECT_EQ(type, row->type) << e.id << ' ' << app;
      ++given;
    }
  }
  EXPECT_GT(given, 0U);
}

}  // namespace
}  // namespace gpumux::reproduce
