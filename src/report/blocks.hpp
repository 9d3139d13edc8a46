// The data of a page: named blocks of JSON, which the page parses only when it needs them. A page of ten
// thousand runs thus does not wait for counters that are not shown.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "database/sqlite.hpp"

namespace gpumux::report {

/// Values by row, as a JSON array. Rows without a value are null.
class Column {
 public:
  explicit Column(std::size_t rows) : cells_(rows) {}
  void set(std::size_t row, std::int64_t value);
  void set(std::size_t row, double value);  // null if not finite
  /// Sets the number in a column of a query; NULL stays null.
  void set(std::size_t row, const database::Statement& query, int column);
  [[nodiscard]] std::string json() const;

 private:
  std::vector<std::string> cells_;  // as JSON; empty: null
};

class Blocks {
 public:
  void add(std::string name, std::string json) { blocks_.emplace_back(std::move(name), std::move(json)); }
  void add(std::string name, const nlohmann::ordered_json& value);
  /// The blocks as script elements of a type that browsers do not execute. The text cannot end an element.
  [[nodiscard]] std::string html() const;
  /// The JSON of a block; empty if there is no block of this name.
  [[nodiscard]] std::string_view find(std::string_view name) const;

 private:
  std::vector<std::pair<std::string, std::string>> blocks_;
};

}  // namespace gpumux::report
