#include "reproduce/paper_table.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "base/error.hpp"
#include "base/text.hpp"
#include "reproduce/library.hpp"

namespace gpumux::reproduce {
namespace {

std::vector<PaperTable>& registry() {
  static std::vector<PaperTable> all;
  return all;
}

/// The application without settings: "dai18/bp" for "dai18/bp:inputs=512".
std::string without_settings(const std::string& app) { return app.substr(0, app.find(':')); }

const runtime::AppInfo& built_in(const std::string& name) {
  const runtime::AppInfo* info = runtime::find_app(name);
  if (info == nullptr) {
    std::vector<std::string> known;
    for (const runtime::AppInfo& app : runtime::apps()) known.push_back(app.name);
    throw UserError(unknown_choice("app", name, known));
  }
  return *info;
}

}  // namespace

std::string PaperColumn::member() const { return key.empty() || unit.empty() ? key : key + "_" + unit; }

std::optional<TableCell> PaperColumn::ours(const AppFacts& facts, const experiment::RunResult* alone) const {
  if (inspected) return inspected(facts);
  if (measured && alone != nullptr) return measured(facts, *alone);
  return std::nullopt;
}

bool register_paper_table(PaperTable table) {
  GPUMUX_CHECK(!table.paper.empty() && !table.title.empty() && !table.key.empty());
  GPUMUX_CHECK(table.row && !table.columns.empty());
  std::set<std::string> labels;
  std::set<std::string> members;
  for (const PaperColumn& column : table.columns) {
    GPUMUX_CHECK(!column.label.empty() && labels.insert(column.label).second);
    GPUMUX_CHECK(column.key.empty() || members.insert(column.member()).second);
    GPUMUX_CHECK(!(column.inspected && column.measured));
  }
  std::vector<PaperTable>& all = registry();
  const auto place = [](const PaperTable& t) { return std::pair(t.paper, t.key); };
  const auto at = std::lower_bound(all.begin(), all.end(), table,
                                   [&](const auto& a, const auto& b) { return place(a) < place(b); });
  GPUMUX_CHECK(at == all.end() || place(*at) != place(table));
  all.insert(at, std::move(table));
  return true;
}

const std::vector<PaperTable>& paper_tables() { return registry(); }

std::vector<PrintedRow> printed_rows(const std::string& app) {
  const std::string name = without_settings(app);
  const std::size_t slash = name.find('/');
  if (slash == std::string::npos || runtime::find_app(name) == nullptr) return {};
  std::vector<PrintedRow> found;
  for (const PaperTable& table : paper_tables()) {
    if (table.paper != std::string_view(name).substr(0, slash)) continue;
    if (std::optional<TableRow> row = table.row(std::string_view(name).substr(slash + 1)))
      found.push_back({&table, std::move(*row)});
  }
  return found;
}

AppFacts app_facts(const std::string& app, const arch::MachineConfig& machine) {
  const std::string name = without_settings(app);
  const runtime::AppInfo& info = built_in(name);
  AppFacts facts;
  facts.name = name.substr(name.find('/') + 1);
  facts.params = runtime::parse_params(
      info, name.size() == app.size() ? std::string_view() : std::string_view(app).substr(name.size() + 1));
  facts.machine = machine;
  facts.module = emulator::compile_module(info.ptx_text, info.ptx_file, {.level = machine.code});
  const auto metadata = info.create(facts.params, 1)->block_metadata();
  for (const runtime::AppInfo::KernelShape& shape : info.shapes(facts.params)) {
    const emulator::KernelInfo& kernel = facts.module->kernels.at(shape.kernel);
    kernel.check();
    const auto found = metadata.find(shape.kernel);
    const workload::BlockMetadata counted =
        found == metadata.end() ? workload::BlockMetadata{} : found->second;
    const auto compiled_shared =
        static_cast<std::uint32_t>(kernel.code.shared_bytes) + shape.dynamic_shared_bytes;
    facts.kernels.push_back(
        {shape.kernel,
         shape.grid,
         shape.block,
         {static_cast<std::uint32_t>(shape.block.count()),
          counted.registers_per_thread != 0 ? counted.registers_per_thread : kernel.registers,
          counted.shared_bytes != 0 ? counted.shared_bytes : compiled_shared},
         &kernel.code});
  }
  return facts;
}

std::optional<TableRow> claimed_row(const std::string& paper, const std::string& table,
                                    std::string_view name) {
  PaperClaims claims = paper_claims(paper);
  const auto found = claims.rows.find({table, std::string(name)});
  if (found == claims.rows.end()) return std::nullopt;
  return std::move(found->second);
}

}  // namespace gpumux::reproduce
