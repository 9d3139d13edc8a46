// The texts of an experiment's file. Where a quantity is a table of quantities, {name} in them stands for the
// value of the row or the column that is being read.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "experiment/toml_reader.hpp"

namespace gpumux::reproduce {

/// A value that {name} stands for.
struct Binding {
  std::string name, label, value;
  std::size_t index = 0;  // among the values of `name`
};

/// A TomlReader that fills in. All throw UserError with file:line:column.
class TemplateReader {
 public:
  explicit TemplateReader(const experiment::TomlReader& toml) : toml_(toml) {}

  [[nodiscard]] const experiment::TomlReader& toml() const { return toml_; }
  [[nodiscard]] SourceLocation place(const toml::node& node) const { return toml_.place(node.source()); }
  /// What names stand for from now on.
  void bind(std::vector<Binding> bindings) { bindings_ = std::move(bindings); }

  /// Not empty. `as_name`: the text is the name of a quantity, in which labels stand as parts of a name.
  [[nodiscard]] std::string text(const toml::node& node, const char* key, bool as_name = false) const;
  /// `within`: "[[claim]]", or empty for the file.
  [[nodiscard]] std::string required(const toml::table& table, const char* key,
                                     const std::string& within) const;
  /// One text, or a list of them.
  [[nodiscard]] std::vector<std::string> texts(const toml::node& node, const char* key,
                                               bool as_names = false) const;
  /// What `rows` or `columns` go through: the name and its values, each with its label, in the order of the
  /// file.
  [[nodiscard]] std::vector<Binding> dimension(const toml::node& node, const char* key) const;

 private:
  [[nodiscard]] std::string filled(const toml::node& node, std::string text, bool as_name) const;

  const experiment::TomlReader& toml_;
  std::vector<Binding> bindings_;
};

}  // namespace gpumux::reproduce
