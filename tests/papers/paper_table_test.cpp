// `inspect` and `run` get the columns of papers from one registry: those of the built-in papers, and those of
// an invented paper, the example of docs/adding-a-paper.md.
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "arch/config_file.hpp"
#include "base/error.hpp"
#include "commands.hpp"
#include "experiment/workload_file.hpp"
#include "reproduce/paper_table.hpp"
#include "runtime/application.hpp"

namespace gpumux::reproduce {
namespace {

using nlohmann::json;

/// The example's columns are of doe21/add: `add` under another name.
class InventedPaper : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (runtime::find_app("doe21/add") != nullptr) return;
    runtime::AppInfo add = *runtime::find_app("add");
    add.name = "doe21/add";
    runtime::register_app(std::move(add));
  }
  static std::string inspect(const cli::Arguments& args) {
    return printed([&] { return cli::inspect_command(args); });
  }
  static std::string run(cli::Arguments args) {
    args.insert(args.end(), {"--cycles", "20000", "--baseline", "off", "--progress", "off"});
    return printed([&] { return cli::run_command(args); });
  }

 private:
  template <typename Command>
  static std::string printed(const Command& command) {
    testing::internal::CaptureStdout();
    EXPECT_NO_THROW(EXPECT_EQ(command(), 0));
    return testing::internal::GetCapturedStdout();
  }
};

TEST_F(InventedPaper, InspectShowsItsColumns) {
  const std::string text = inspect({"doe21/add"});
  EXPECT_TRUE(
      text.ends_with("\n\n"
                     "doe21 Table 1  TBs/SM  block time, us\n"
                     "ours               12               -\n"
                     "paper               6             3.5\n"))
      << text;
  const json document = json::parse(inspect({"doe21/add", "--json"}));
  EXPECT_EQ(document["table1"], json({{"ours", {{"blocks_per_sm", 12.0}}},
                                      {"paper", {{"blocks_per_sm", 6.0}, {"block_time_us", 3.5}}}}));
  // What is not measured follows the machine and its changes.
  EXPECT_EQ(json::parse(inspect({"doe21/add", "--json", "--set", "sm.max_blocks=5"}))["table1"]["ours"],
            json({{"blocks_per_sm", 5.0}}));
}

TEST_F(InventedPaper, ARunAloneShowsThemToo) {
  const json document = json::parse(run({"doe21/add", "--json", "-"}));
  const double blocks = document["apps"][0]["blocks_completed"].get<double>();
  ASSERT_GT(blocks, 0);
  const double core = arch::load_machine(experiment::kDefaultMachine).clocks.core;
  const double us = document["cycles"].get<double>() * document["sms"].get<double>() / blocks / core;
  EXPECT_EQ(document["table1"]["ours"]["blocks_per_sm"], 12.0);
  EXPECT_DOUBLE_EQ(document["table1"]["ours"]["block_time_us"].get<double>(), us);
  EXPECT_EQ(document["table1"]["paper"], json({{"blocks_per_sm", 6.0}, {"block_time_us", 3.5}}));

  const std::string text = run({"doe21/add:loops=20"});
  EXPECT_TRUE(
      text.ends_with(fmt::format("\n\n"
                                 "doe21 Table 1  TBs/SM  block time, us\n"
                                 "ours               12{:>16}\n"
                                 "paper               6             3.5\n",
                                 fmt::format("{:.2f}", us))))
      << text;
  // Where nothing came of it: a block takes longer than a hundred cycles.
  const json early =
      json::parse(run({"doe21/add", "--json", "-", "--set", "runtime.kernel_launch_latency=19999"}));
  EXPECT_EQ(early["table1"]["ours"], json({{"blocks_per_sm", 12.0}, {"block_time_us", nullptr}}));
}

TEST_F(InventedPaper, EachPolicysDocumentHasThem) {
  const json documents = json::parse(run({"doe21/add", "--json", "-", "--policy", "leftover,even"}));
  ASSERT_EQ(documents.size(), 2U);
  for (const json& document : documents) EXPECT_TRUE(document.contains("table1"));
}

TEST_F(InventedPaper, OthersHaveNoneOfThem) {
  EXPECT_EQ(inspect({"add"}).find("doe21"), std::string::npos);
  EXPECT_FALSE(json::parse(inspect({"add", "--json"})).contains("table1"));
  EXPECT_FALSE(json::parse(run({"add", "--json", "-"})).contains("table1"));
  // Columns are of an application alone.
  EXPECT_FALSE(json::parse(run({"doe21/add", "add", "--json", "-"})).contains("table1"));
  EXPECT_EQ(run({"doe21/add", "add"}).find("doe21 Table 1"), std::string::npos);
}

TEST_F(InventedPaper, OnlyApplicationsThatATableHasAreInIt) {
  ASSERT_EQ(printed_rows("doe21/add:loops=3").size(), 1U);
  EXPECT_EQ(printed_rows("doe21/add")[0].table->title, "doe21 Table 1");
  EXPECT_EQ(printed_rows("doe21/add")[0].row.at("tb_us"), TableCell(3.5));
  for (const char* other : {"add", "doe21", "doe21/", "doe21/mul", "doe21/ad", "doe21/add.ptx:k",
                            "/doe21/add", "dai18/add", "./doe21/add"})
    EXPECT_TRUE(printed_rows(other).empty()) << other;
}

TEST_F(InventedPaper, FactsAreThoseOfTheSettings) {
  const AppFacts facts =
      app_facts("doe21/add:blocks=7", arch::load_machine(experiment::kDefaultMachine, {"code=machine"}));
  EXPECT_EQ(facts.name, "add");
  EXPECT_EQ(facts.params.at("blocks"), 7);
  EXPECT_EQ(facts.params.at("loops"), 20);
  ASSERT_EQ(facts.kernels.size(), 1U);
  EXPECT_EQ(facts.kernels[0].name, facts.kernels[0].code->name);
  EXPECT_EQ(facts.kernels[0].grid.count(), 7U);
  EXPECT_EQ(facts.kernels[0].resources.threads, 256U);
  EXPECT_EQ(facts.kernels[0].resources.registers_per_thread, facts.kernels[0].code->num_reg32);
  EXPECT_THROW((void)app_facts("doe21/add:blocks=x", facts.machine), UserError);
  EXPECT_THROW((void)app_facts("doe21/mul", facts.machine), UserError);
}

TEST(PaperTables, MistakesAreFoundWhenTheyAreRegistered) {
  const auto row = [](std::string_view) { return std::optional<TableRow>(); };
  const auto fact = [](const AppFacts&) { return std::optional<TableCell>(1.0); };
  const auto measure = [](const AppFacts&, const experiment::RunResult&) {
    return std::optional<TableCell>();
  };
  const PaperTable good{.paper = "roe22",
                        .title = "roe22 Table 9",
                        .key = "table9",
                        .row = row,
                        .columns = {{.label = "a", .key = "a"}}};
  const auto refused = [&](auto change) {
    PaperTable table = good;
    change(table);
    EXPECT_THROW(register_paper_table(table), InternalError);
  };
  refused([](PaperTable& t) { t.paper.clear(); });
  refused([](PaperTable& t) { t.title.clear(); });
  refused([](PaperTable& t) { t.key.clear(); });
  refused([](PaperTable& t) { t.row = nullptr; });
  refused([](PaperTable& t) { t.columns.clear(); });
  refused([](PaperTable& t) { t.columns[0].label.clear(); });
  refused([](PaperTable& t) { t.columns.push_back({.label = "a"}); });
  refused([](PaperTable& t) { t.columns.push_back({.label = "b", .key = "a"}); });
  refused([&](PaperTable& t) {
    t.columns[0].inspected = fact;
    t.columns[0].measured = measure;
  });
  refused([](PaperTable& t) { t.paper = "dai18", t.key = "table2"; });  // there is one
}

/// Whoever reads a document or a table knows which application and column is meant.
TEST(PaperTables, ThoseThatAreRegisteredHoldTogether) {
  const arch::MachineConfig machine = arch::load_machine(experiment::kDefaultMachine);
  std::set<std::string> papers;
  for (const PaperTable& table : paper_tables()) {
    papers.insert(table.paper);
    std::set<std::string> stated;
    for (const runtime::AppInfo& app : runtime::apps()) {
      if (!app.name.starts_with(table.paper + "/")) continue;
      const std::optional<TableRow> row = table.row(app.name.substr(table.paper.size() + 1));
      if (!row) continue;
      SCOPED_TRACE(table.title + ": " + app.name);
      const AppFacts facts = app_facts(app.name, machine);
      for (const PaperColumn& column : table.columns) {
        if (row->contains(column.stated)) stated.insert(column.stated);
        const std::optional<TableCell> ours = column.ours(facts, nullptr);
        if (!ours) continue;
        const double* number = std::get_if<double>(&*ours);
        EXPECT_TRUE(number == nullptr ? column.unit.empty() : std::isfinite(*number)) << column.label;
      }
    }
    if (table.paper == "doe21") continue;  // it has an application only in other tests
    for (const PaperColumn& column : table.columns) {
      EXPECT_TRUE(column.stated.empty() || stated.contains(column.stated))
          << table.title << ": no application has a '" << column.stated << "'";
    }
  }
  EXPECT_TRUE(papers.contains("dai18"));
}

}  // namespace
}  // namespace gpumux::reproduce
