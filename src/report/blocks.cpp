#include "report/blocks.hpp"

#include <fmt/core.h>
#include "base/dump_json.hpp"

#include <cmath>

namespace gpumux::report {

void Column::set(std::size_t row, std::int64_t value) { cells_[row] = fmt::format("{}", value); }

void Column::set(std::size_t row, double value) {
  if (std::isfinite(value)) cells_[row] = fmt::format("{}", value);
}

void Column::set(std::size_t row, const database::Statement& query, int column) {
  switch (query.kind(column)) {
    case database::Kind::Integer: set(row, query.integer(column)); break;
    case database::Kind::Real: set(row, query.real(column)); break;
    default: break;
  }
}

std::string Column::json() const {
  std::string text = "[";
  for (const std::string& cell : cells_) {
    text += cell.empty() ? "null" : cell;
    text += ',';
  }
  if (cells_.empty()) return "[]";
  text.back() = ']';
  return text;
}

void Blocks::add(std::string name, const nlohmann::ordered_json& value) {
  // Names of files need not be UTF-8.
  add(std::move(name), dump_json(value));
}

std::string Blocks::html() const {
  std::string html;
  for (const auto& [name, json] : blocks_) {
    html += fmt::format("<script type=\"application/json\" id=\"data-{}\">", name);
    for (const char c : json) {
      if (c == '<') {  // only in strings
        html += "\\u003c";
      } else {
        html += c;
      }
    }
    html += "</script>\n";
  }
  return html;
}

std::string_view Blocks::find(std::string_view name) const {
  for (const auto& [key, json] : blocks_) {
    if (key == name) return json;
  }
  return {};
}

}  // namespace gpumux::report
