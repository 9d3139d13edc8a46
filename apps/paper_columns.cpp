#include "paper_columns.hpp"

#include <fmt/core.h>

#include <utility>
#include <variant>
#include <vector>

#include "base/error.hpp"
#include "reproduce/paper_table.hpp"
#include "table.hpp"

namespace gpumux::cli {
namespace {

using nlohmann::ordered_json;
using reproduce::PaperColumn;
using reproduce::PrintedRow;
using reproduce::TableCell;

constexpr const char* kPercent = "percent";

std::string heading(const PaperColumn& column) {
  return column.unit.empty() || column.unit == kPercent ? column.label : column.label + ", " + column.unit;
}

std::string cell(const std::optional<TableCell>& value, const PaperColumn& column, int digits) {
  if (!value) return "-";
  if (const double* number = std::get_if<double>(&*value))
    return fmt::format("{:.{}f}{}", *number, digits, column.unit == kPercent ? "%" : "");
  if (const bool* is = std::get_if<bool>(&*value)) return *is ? "yes" : "no";
  return std::get<std::string>(*value);
}

ordered_json member(const std::optional<TableCell>& value) {
  if (!value) return nullptr;
  return std::visit([](const auto& held) { return ordered_json(held); }, *value);
}

std::optional<TableCell> stated(const PrintedRow& printed, const PaperColumn& column) {
  const auto found = printed.row.find(column.stated);
  return found == printed.row.end() ? std::nullopt : std::optional<TableCell>(found->second);
}

}  // namespace

std::string paper_columns_text(const std::string& app, const arch::MachineConfig& machine,
                               const experiment::RunResult* alone, std::optional<std::size_t> width,
                               bool colour) {
  const std::vector<PrintedRow> rows = reproduce::printed_rows(app);
  if (rows.empty()) return "";
  const reproduce::AppFacts facts = reproduce::app_facts(app, machine);
  std::string out;
  for (const PrintedRow& printed : rows) {
    std::vector<std::string> head = {printed.table->title};
    std::vector<std::string> ours = {"ours"};
    std::vector<std::string> paper = {"paper"};
    for (const PaperColumn& column : printed.table->columns) {
      head.push_back(heading(column));
      ours.push_back(cell(column.ours(facts, alone), column, column.digits));
      paper.push_back(cell(stated(printed, column), column, column.stated_digits));
    }
    Table table(std::move(head), 1);
    table.add(std::move(ours));
    table.add(std::move(paper));
    out += '\n';
    out += table.text(width, colour);
  }
  return out;
}

void add_paper_columns(ordered_json& document, const std::string& app, const arch::MachineConfig& machine,
                       const experiment::RunResult* alone) {
  const std::vector<PrintedRow> rows = reproduce::printed_rows(app);
  if (rows.empty()) return;
  const reproduce::AppFacts facts = reproduce::app_facts(app, machine);
  for (const PrintedRow& printed : rows) {
    if (alone != nullptr && !printed.table->in_results) continue;
    ordered_json ours = ordered_json::object();
    ordered_json paper = ordered_json::object();
    for (const PaperColumn& column : printed.table->columns) {
      if (column.key.empty()) continue;
      if (column.inspected || (column.measured && alone != nullptr))
        ours[column.member()] = member(column.ours(facts, alone));
      if (const std::optional<TableCell> value = stated(printed, column))
        paper[column.member()] = member(value);
    }
    GPUMUX_CHECK(!document.contains(printed.table->key));
    document[printed.table->key] = {{"ours", std::move(ours)}, {"paper", std::move(paper)}};
  }
}

}  // namespace gpumux::cli
