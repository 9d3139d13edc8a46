// Formats text in columns.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace gpumux::cli {

/// A table with columns as wide as their widest cell. The first `left` columns hold names and are aligned
/// left; the other columns hold numbers and are aligned right.
class Table {
 public:
  Table(std::vector<std::string> header, std::size_t left) : left_(left) { add(std::move(header)); }
  /// Adds a row with one cell per column.
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  void rule() { rows_.emplace_back(); }
  /// The table as text. If it is wider than `width`, names are shortened in the middle; then the columns are
  /// split into several tables, each with the names. Numbers are never shortened.
  [[nodiscard]] std::string text(std::optional<std::size_t> width = {}, bool colour = false) const;

 private:
  [[nodiscard]] std::string part(const std::vector<std::size_t>& width, const std::vector<std::size_t>& shown,
                                 bool colour) const;
  std::size_t left_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace gpumux::cli
