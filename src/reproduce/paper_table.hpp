// Tables in which a paper prints columns for each of its applications, and the same columns from gpumux.
// `inspect` and `run` show them for applications of a paper, such as dai18/bp. Each paper's tables are in
// papers/PAPER/; see docs/adding-a-paper.md.
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

/// A kernel of an application, as it is launched.
struct KernelFacts {
  std::string name;
  Dim3 grid;   // blocks
  Dim3 block;  // threads
  /// Resources of a block on an SM: from the application's metadata, else from compilation.
  workload::BlockResources resources;
  const isa::Function* code = nullptr;  // compiled
};

/// Facts about an application that are known before it runs.
struct AppFacts {
  std::string name;                  // without paper and settings: "bp" for "dai18/bp:inputs=512"
  runtime::AppParams params;         // settings, with defaults
  arch::MachineConfig machine;       // on which it is inspected or runs
  std::vector<KernelFacts> kernels;  // in the order of runtime::AppInfo::shapes
  std::shared_ptr<const emulator::CompiledModule> module;  // owns the code of the kernels
};

/// A column. At most one of `inspected` and `measured` is set; without both, gpumux has no value for the
/// column.
struct PaperColumn {
  /// Heading in texts: "TB_oc".
  std::string label = {};
  /// Member in documents, before "_UNIT"; empty: the column is only in texts.
  std::string key = {};
  /// Unit in one word: "percent", "us", "KB", "cycles"; empty: a ratio, or not a number.
  std::string unit = {};
  /// Name of the paper's value in its row; empty: the paper prints none.
  std::string stated = {};
  /// Digits after the decimal point in texts: of our value, and of the paper's as printed.
  int digits = 2, stated_digits = 2;
  /// Computes our value from facts alone; nothing if it is unknown.
  std::function<std::optional<TableCell>(const AppFacts&)> inspected = nullptr;
  /// Computes our value from a completed isolated run on the machine of the facts; nothing if it is unknown.
  std::function<std::optional<TableCell>(const AppFacts&, const experiment::RunResult& alone)> measured =
      nullptr;

  /// Member in documents: "blocks_percent"; empty: the column is only in texts.
  [[nodiscard]] std::string member() const;
  /// Our value; nothing if it is unknown. A measured column needs `alone`.
  [[nodiscard]] std::optional<TableCell> ours(const AppFacts& facts,
                                              const experiment::RunResult* alone) const;
};

struct PaperTable {
  std::string paper;       // the paper's applications are PAPER/NAME: "dai18"
  std::string title;       // heading of the table in texts: "dai18 Table 2"
  std::string key;         // member in documents, such as "table2"; must not clash with others
  bool in_results = true;  // also in documents of `run --json`, not only of `inspect --json`
  /// The paper's row for the application PAPER/`name`; nothing for applications that are not in the table.
  std::function<std::optional<TableRow>(std::string_view name)> row;
  std::vector<PaperColumn> columns;
};

/// Adds a table. Called by a static object in each of a paper's files. Throws InternalError for a table
/// without paper, title, key, row or columns, for a repeated paper and key, and for columns without a label,
/// with a repeated label or member, or with both `inspected` and `measured`.
bool register_paper_table(PaperTable table);
/// All tables, sorted by paper and key.
[[nodiscard]] const std::vector<PaperTable>& paper_tables();

/// The row of an application in a table.
struct PrintedRow {
  const PaperTable* table = nullptr;
  TableRow row;
};
/// The rows of an application, which is given as typed, "dai18/bp:inputs=512". Empty for other applications,
/// files and traces.
[[nodiscard]] std::vector<PrintedRow> printed_rows(const std::string& app);

/// Facts of a built-in application, which is given as typed. Throws UserError for unknown applications and
/// bad settings.
[[nodiscard]] AppFacts app_facts(const std::string& app, const arch::MachineConfig& machine);

/// The row of a [[benchmark]] in the paper's claims (experiments/claims/PAPER.toml), by table and name. For
/// PaperTable::row.
[[nodiscard]] std::optional<TableRow> claimed_row(const std::string& paper, const std::string& table,
                                                  std::string_view name);

}  // namespace gpumux::reproduce
