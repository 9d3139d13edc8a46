// Text in columns.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace gpumux::cli {

/// Columns as wide as their widest cell. The first `left` hold names and are flush left; the others hold
/// numbers and are flush right.
class Table {
 public:
  Table(std::vector<std::string> header, std::size_t left) : left_(left) { add(std::move(header)); }
  /// A row with a cell per column.
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  void rule() { rows_.emplace_back(); }
  /// Where it is wider than `width`, names are shortened in their middle, and then the columns come in
  /// several tables, each with the names. Nothing of a number is ever left out.
  [[nodiscard]] std::string text(std::optional<std::size_t> width = {}, bool colour = false) const;

 private:
  [[nodiscard]] std::string part(const std::vector<std::size_t>& width, const std::vector<std::size_t>& shown,
                                 bool colour) const;
  std::size_t left_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace gpumux::cli
