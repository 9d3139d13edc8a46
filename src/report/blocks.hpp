// The data of a page: named blocks of JSON that the page reads when it needs them, so that ten thousand runs
// do not wait for counters that nobody looks at.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "database/sqlite.hpp"

namespace gpumux::report {

/// Values by row, as a JSON array; what was not set is null.
class Column {
 public:
  explicit Column(std::size_t rows) : cells_(rows) {}
  void set(std::size_t row, std::int64_t value);
  void set(std::size_t row, double value);  // null unless it is finite
  /// The number in a column of a query; NULL stays null.
  void set(std::size_t row, const database::Statement& query, int column);
  [[nodiscard]] std::string json() const;

 private:
  std::vector<std::string> cells_;  // as JSON; empty: null
};

class Blocks {
 public:
  void add(std::string name, std::string json) { blocks_.emplace_back(std::move(name), std::move(json)); }
  void add(std::string name, const nlohmann::ordered_json& value);
  /// As script elements of a type that no browser runs; nothing in the text can end an element.
  [[nodiscard]] std::string html() const;
  /// Its JSON; empty when there is none of that name.
  [[nodiscard]] std::string_view find(std::string_view name) const;

 private:
  std::vector<std::pair<std::string, std::string>> blocks_;
};

}  // namespace gpumux::report
