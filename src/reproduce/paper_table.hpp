// Tables in which a paper prints columns for each of its applications, and how ours follow: what `inspect`
// and `run` show of an application whose name begins with the paper's, dai18/bp. Each paper's are in
// papers/PAPER/; docs/adding-a-paper.md.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "arch/config.hpp"
#include "base/types.hpp"
#include "emulator/program.hpp"
#include "experiment/run.hpp"
#include "reproduce/claims.hpp"
#include "runtime/application.hpp"
#include "workload/stream.hpp"

namespace gpumux::reproduce {

/// A kernel of an application as it is launched.
struct KernelFacts {
  std::string name;
  Dim3 grid;   // blocks
  Dim3 block;  // threads
  /// What a block counts for on an SM: the application's metadata, else what compilation found.
  workload::BlockResources resources;
  const isa::Function* code = nullptr;  // compiled
};

/// What is known of an application before it runs.
struct AppFacts {
  std::string name;                  // without paper and settings: "bp" of "dai18/bp:inputs=512"
  runtime::AppParams params;         // settings, defaults included
  arch::MachineConfig machine;       // that it is inspected for or runs on
  std::vector<KernelFacts> kernels;  // in the order of runtime::AppInfo::shapes
  std::shared_ptr<const emulator::CompiledModule> module;  // holds their code
};

/// A column. At most one of `inspected` and `measured` is set; without both, ours is not known.
struct PaperColumn {
  /// Heads it in texts: "TB_oc".
  std::string label = {};
  /// Its member in documents, before "_UNIT"; empty: it is in texts alone.
  std::string key = {};
  /// One word: "percent", "us", "KB", "cycles"; empty: a ratio, or no number.
  std::string unit = {};
  /// What names the paper's value in its row; empty: the paper prints none.
  std::string stated = {};
  /// In texts, behind the decimal point: of ours, and of the paper's as printed.
  int digits = 2, stated_digits = 2;
  /// Ours from facts alone. Nothing where it cannot be known.
  std::function<std::optional<TableCell>(const AppFacts&)> inspected = nullptr;
  /// Ours from a finished run of the application alone on the machine of the facts. Nothing likewise.
  std::function<std::optional<TableCell>(const AppFacts&, const experiment::RunResult& alone)> measured =
      nullptr;

  /// "blocks_percent"; empty: it is in texts alone.
  [[nodiscard]] std::string member() const;
  /// Of ours, where it can be had: a column that is measured needs `alone`.
  [[nodiscard]] std::optional<TableCell> ours(const AppFacts& facts,
                                              const experiment::RunResult* alone) const;
};

struct PaperTable {
  std::string paper;       // its applications are PAPER/NAME: "dai18"
  std::string title;       // heads the table in texts: "dai18 Table 2"
  std::string key;         // its member in documents: "table2"; no member that these have otherwise
  bool in_results = true;  // in the documents of `run --json` too, not in those of `inspect --json` alone
  /// What the paper prints of the application PAPER/`name`; nothing for one that the table does not have.
  std::function<std::optional<TableRow>(std::string_view name)> row;
  std::vector<PaperColumn> columns;
};

/// Called by a static object in each of a paper's files. Throws InternalError for a table without paper,
/// title, key, row or columns, for a second one with the paper and key, and for columns without a label, with
/// one that another has, with another's member, or with two ways to ours.
bool register_paper_table(PaperTable table);
/// By paper and key.
[[nodiscard]] const std::vector<PaperTable>& paper_tables();

/// A table that has an application, and the row there.
struct PrintedRow {
  const PaperTable* table = nullptr;
  TableRow row;
};
/// `app`: as typed, "dai18/bp:inputs=512". Empty for other applications, files and traces.
[[nodiscard]] std::vector<PrintedRow> printed_rows(const std::string& app);

/// Of a built-in application as typed. Throws UserError for one that does not exist, and for settings that it
/// refuses.
[[nodiscard]] AppFacts app_facts(const std::string& app, const arch::MachineConfig& machine);

/// The row that the claims of the paper (experiments/claims/PAPER.toml) have as [[benchmark]] of this table
/// and name, for PaperTable::row.
[[nodiscard]] std::optional<TableRow> claimed_row(const std::string& paper, const std::string& table,
                                                  std::string_view name);

}  // namespace gpumux::reproduce
