// Reads [[quantity]]: how a number follows from runs or from other quantities. An entry is one quantity or a
// table.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "reproduce/experiment.hpp"
#include "reproduce/experiment_sweep.hpp"
#include "reproduce/template_reader.hpp"

namespace gpumux::reproduce {

/// Adds quantities to `out`, whose paper must be set. Every error is a UserError with file:line:column.
class QuantityReader {
 public:
  QuantityReader(TemplateReader& reader, const SweepNames& names, Experiment& out)
      : reader_(reader), toml_(reader.toml()), names_(names), out_(out) {}

  /// Reads one quantity or, with `rows` and `columns`, a table of quantities.
  void read(const toml::table& table);
  /// Reads an expression over names of earlier quantities and numbers of the paper's tables.
  [[nodiscard]] Expression of_quantities(const toml::node& node, const char* key) const;

 private:
  void quantity(const toml::table& table, std::optional<Cell> cell);
  [[nodiscard]] std::string name_of(const toml::table& table) const;
  void from_runs(const toml::table& table, Quantity& q) const;
  [[nodiscard]] Expression of_runs(const toml::node& node, const char* key, const Quantity& q) const;
  void from_quantities(const toml::table& table, Quantity& q) const;
  [[nodiscard]] std::pair<std::uint64_t, std::uint64_t> window(const toml::node& node) const;

  TemplateReader& reader_;
  const experiment::TomlReader& toml_;
  const SweepNames& names_;
  Experiment& out_;
};

}  // namespace gpumux::reproduce
