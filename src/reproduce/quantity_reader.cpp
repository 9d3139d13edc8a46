#include "reproduce/quantity_reader.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <string_view>
#include <vector>

#include "base/text.hpp"
#include "reproduce/filter_reader.hpp"
#include "reproduce/samples.hpp"

namespace gpumux::reproduce {

void QuantityReader::read(const toml::table& table) {
  const toml::node* rows = table.get("rows");
  const toml::node* columns = table.get("columns");
  if (rows == nullptr && columns == nullptr) {
    quantity(table, std::nullopt);
    return;
  }
  (void)reader_.required(table, "name", "[[quantity]]");
  const std::string family = toml_.text(*table.get("name"), "name");
  const std::vector<Binding> none(1);
  const std::vector<Binding> down = rows == nullptr ? none : reader_.dimension(*rows, "rows");
  const std::vector<Binding> across = columns == nullptr ? none : reader_.dimension(*columns, "columns");
  if (down[0].name == across[0].name) toml_.fail(*columns, "rows and columns have the same name");
  for (const Binding& row : down) {
    for (const Binding& column : across) {
      std::vector<Binding> bindings;
      if (!row.name.empty()) bindings.push_back(row);
      if (!column.name.empty()) bindings.push_back(column);
      reader_.bind(std::move(bindings));
      quantity(table, Cell{family, row.label, column.label});
    }
  }
  reader_.bind({});
}

void QuantityReader::quantity(const toml::table& table, std::optional<Cell> cell) {
  static const std::vector<std::string> kFromRuns = {"per",     "window",  "where", "when",
                                                     "against", "compare", "reduce"};
  for (const auto& [key, node] : table) {
    toml_.check_key(key,
                    {"name", "what", "unit", "rows", "columns", "of", "per", "window", "where", "when",
                     "against", "compare", "reduce", "value", "highest", "lowest"},
                    "key in [[quantity]]");
  }
  Quantity q;
  q.where = reader_.place(table);
  q.cell = std::move(cell);
  q.name = name_of(table);
  if (const toml::node* node = table.get("what")) q.what = reader_.text(*node, "what");
  if (const toml::node* node = table.get("unit")) q.unit = reader_.text(*node, "unit");
  int ways = 0;
  for (const char* way : {"of", "value", "highest", "lowest"}) ways += table.contains(way) ? 1 : 0;
  if (ways != 1) toml_.fail(table, "[[quantity]] needs one of 'of', 'value', 'highest' and 'lowest'");
  if (table.contains("of")) {
    from_runs(table, q);
  } else {
    for (const std::string& key : kFromRuns) {
      if (table.contains(key)) toml_.fail(*table.get(key), fmt::format("'{}' goes with 'of'", key));
    }
    from_quantities(table, q);
  }
  out_.quantities.push_back(std::move(q));
}

std::string QuantityReader::name_of(const toml::table& table) const {
  std::string text = reader_.required(table, "name", "[[quantity]]");
  const toml::node& node = *table.get("name");
  const bool good =
      std::isalpha(static_cast<unsigned char>(text[0])) != 0 &&
      std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; });
  if (!good) toml_.fail(node, fmt::format("'{}': a name has letters, digits and _, a letter first", text));
  for (const Quantity& other : out_.quantities) {
    if (other.name == text) toml_.fail(node, fmt::format("there are two quantities '{}'", text));
  }
  return text;
}

void QuantityReader::from_runs(const toml::table& table, Quantity& q) const {
  static const std::vector<std::string> kReduce = {
      "only", "mean",  "geometric",      "harmonic",         "median", "min",  "max",
      "sum",  "count", "upper_quartile", "rank_correlation", "at_max", "knee", "saturation"};
  static const std::vector<std::string> kCompare = {"ratio", "percent", "difference"};
  const auto choice = [&](const char* key, const std::vector<std::string>& choices) {
    const std::string text = reader_.text(*table.get(key), key);
    const auto found = std::find(choices.begin(), choices.end(), text);
    if (found == choices.end()) {
      toml_.fail(*table.get(key), unknown_choice(fmt::format("value of '{}'", key), text, choices));
    }
    return static_cast<int>(found - choices.begin());
  };
  if (table.contains("per")) q.per = static_cast<Per>(choice("per", {"run", "app", "interval", "cpu"}));
  if (const toml::node* node = table.get("window")) {
    if (q.per == Per::Cpu) toml_.fail(*node, "CPU cores have no series, so 'window' is not theirs");
    q.window = window(*node);
  }
  if (q.per == Per::Interval && !names_.series) {
    toml_.fail(*table.get("per"), "the sweep keeps no series: give it series = 1000");
  }
  if (!table.contains("reduce")) toml_.fail(table, "[[quantity]] with 'of' needs 'reduce', such as \"mean\"");
  q.reduce = static_cast<Reduce>(choice("reduce", kReduce));
  const toml::node& of = *table.get("of");
  if (q.reduce >= Reduce::RankCorrelation) {
    if (!of.is_array() || of.as_array()->size() != 2) {
      toml_.fail(of, fmt::format("{} needs two: of = [\"weighted_speedup\", \"lsu_stall_cycles\"]",
                                 toml_.text(*table.get("reduce"), "reduce")));
    }
    for (const toml::node& part : *of.as_array()) q.of.push_back(of_runs(part, "of", q));
  } else {
    q.of = {of_runs(of, "of", q)};
  }
  if (const toml::node* node = table.get("when")) q.when = of_runs(*node, "when", q);
  if (const toml::node* node = table.get("where")) q.filter = read_filter(reader_, names_, *node);
  if (!q.filter.programs.empty() && q.per != Per::Cpu)
    toml_.fail(*table.get("where"), "'program' picks CPU cores: it goes with per = \"cpu\"");
  if (table.contains("compare") && !table.contains("against")) {
    toml_.fail(*table.get("compare"), "'compare' needs 'against'");
  }
  if (const toml::node* node = table.get("against")) {
    if (!table.contains("compare"))
      toml_.fail(*node, "'against' needs 'compare': ratio, percent or difference");
    q.against = read_against(reader_, names_, *node);
    q.compare = static_cast<Compare>(choice("compare", kCompare));
    if (q.against->cpus && q.per == Per::Cpu)
      toml_.fail(*node, "a CPU core has no other programs to be compared against; make two quantities");
    if (q.filter.isolated) toml_.fail(*node, "isolated runs have nothing to be compared against");
  }
}

Expression QuantityReader::of_runs(const toml::node& node, const char* key, const Quantity& q) const {
  Expression expression(reader_.text(node, key), reader_.place(node));
  const bool per_app = q.per == Per::App || q.per == Per::Interval;
  const bool over_time = q.per == Per::Interval || q.window;
  const std::vector<std::string>& known = over_time ? series_names(per_app) : sample_names(q.per);
  for (const std::string& name : expression.names()) {
    if (name.starts_with(kVariablePrefix) && names_.variables.contains(name.substr(kVariablePrefix.size()))) {
      continue;
    }
    if (name.starts_with(kResultPrefix) && !over_time) continue;
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      toml_.fail(node, unknown_choice(over_time           ? "counter of a series"
                                      : per_app           ? "counter of an application"
                                      : q.per == Per::Cpu ? "counter of a CPU core"
                                                          : "counter of a run",
                                      name, known));
    }
  }
  return expression;
}

std::pair<std::uint64_t, std::uint64_t> QuantityReader::window(const toml::node& node) const {
  const toml::array* list = node.as_array();
  if (list == nullptr || list->size() != 2) {
    toml_.fail(node, "'window' must be a list of two cycles: [200000, 400000]");
  }
  const std::uint64_t from = toml_.whole(*list->get(0), "window", 0);
  const std::uint64_t to = toml_.whole(*list->get(1), "window", 1);
  if (from >= to) toml_.fail(node, "'window' must end after it begins");
  if (!names_.series) toml_.fail(node, "the sweep keeps no series: give it series = 1000");
  return {from, to};
}

void QuantityReader::from_quantities(const toml::table& table, Quantity& q) const {
  if (const toml::node* node = table.get("value")) q.value = of_quantities(*node, "value");
  for (const char* key : {"highest", "lowest"}) {
    const toml::node* node = table.get(key);
    if (node == nullptr) continue;
    q.lowest = std::string_view(key) == "lowest";
    q.candidates = reader_.texts(*node, key, true);
    for (const std::string& candidate : q.candidates) {
      const auto found = std::find_if(out_.quantities.begin(), out_.quantities.end(),
                                      [&](const Quantity& other) { return other.name == candidate; });
      if (found == out_.quantities.end() || !found->candidates.empty()) {
        toml_.fail(*node, fmt::format("'{}' is no number among the quantities above", candidate));
      }
    }
  }
}

Expression QuantityReader::of_quantities(const toml::node& node, const char* key) const {
  Expression expression(reader_.text(node, key, true), reader_.place(node));
  for (const std::string& name : expression.names()) {
    if (out_.paper && out_.paper->benchmarks.contains(name)) continue;
    std::vector<std::string> known;
    bool is_text = false;
    for (const Quantity& quantity : out_.quantities) {
      known.push_back(quantity.name);
      is_text = is_text || (quantity.name == name && !quantity.candidates.empty());
    }
    if (is_text) toml_.fail(node, fmt::format("'{}' is the name of a quantity, not a number", name));
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      toml_.fail(node, unknown_choice("quantity", name, known));
    }
  }
  return expression;
}

}  // namespace gpumux::reproduce
