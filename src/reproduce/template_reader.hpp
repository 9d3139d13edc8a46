// Reads the texts of an experiment file. In a table of quantities, {name} stands for the value of the present
// row or column.
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

/// Reads TOML and fills in bindings. Every error is a UserError with file:line:column.
class TemplateReader {
 public:
  explicit TemplateReader(const experiment::TomlReader& toml) : toml_(toml) {}

  [[nodiscard]] const experiment::TomlReader& toml() const { return toml_; }
  [[nodiscard]] SourceLocation place(const toml::node& node) const { return toml_.place(node.source()); }
  /// Sets the bindings that apply from now on.
  void bind(std::vector<Binding> bindings) { bindings_ = std::move(bindings); }

  /// A text, not empty. `as_name`: the text is a quantity's name, and labels are converted to parts of a
  /// name.
  [[nodiscard]] std::string text(const toml::node& node, const char* key, bool as_name = false) const;
  /// A text that the table must have. `within`: "[[claim]]", or empty for the file.
  [[nodiscard]] std::string required(const toml::table& table, const char* key,
                                     const std::string& within) const;
  /// A list of texts, or a single text.
  [[nodiscard]] std::vector<std::string> texts(const toml::node& node, const char* key,
                                               bool as_names = false) const;
  /// The values of `rows` or `columns`: name and value, each with its label, in the order of the file.
  [[nodiscard]] std::vector<Binding> dimension(const toml::node& node, const char* key) const;

 private:
  [[nodiscard]] std::string filled(const toml::node& node, std::string text, bool as_name) const;

  const experiment::TomlReader& toml_;
  std::vector<Binding> bindings_;
};

}  // namespace gpumux::reproduce
