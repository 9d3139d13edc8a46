#include "reproduce/experiment.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>

#include "base/text.hpp"
#include "machine/config_file_fields.hpp"
#include "policy/policy.hpp"
#include "reproduce/samples.hpp"
#include "sweep/located.hpp"
#include "sweep/sweep_table.hpp"

namespace gpumux::reproduce {
namespace {

using experiment::TomlReader;
using sweep::located;
namespace fs = std::filesystem;

std::string canonical_policy(const std::string& text) {
  return policy::canonical_text(policy::parse_choice(text));
}

/// sm.l1.size is l1.size.
std::string canonical_key(const std::string& key) {
  const int field = machine::find_field(key);
  return field < 0 ? key : machine::fields()[static_cast<std::size_t>(field)].key;
}

void add_once(std::vector<std::string>& list, const std::string& text) {
  if (std::find(list.begin(), list.end(), text) == list.end()) list.push_back(text);
}

/// What the sweep has in any of its scales: what filters may name.
struct Known {
  std::vector<std::string> policies, machines, apps;
  std::map<std::string, std::vector<std::string>> set, variables;
  bool series = false;
};

/// The name of a value that a quantity's table goes through: 'ws,warps=lrr' is ws_warps_lrr.
std::string identifier(std::string_view text) {
  std::string out;
  for (const char c : text) out += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  return out;
}

/// {name} stands for the value.
struct Binding {
  std::string name, label, value;
  std::size_t index = 0;  // among its like
};

class Reader {
 public:
  Reader(const TomlReader& toml, Experiment& out, const Sources& sources)
      : toml_(toml), out_(out), sources_(sources) {}

  void read(const toml::table& root, std::string_view text) {
    static const std::vector<std::string> kKeys = {"title",    "paper", "sweep", "classes",
                                                   "quantity", "claim", "trend"};
    for (const auto& [key, node] : root) toml_.check_key(key, kKeys, "key");
    out_.title = required(root, "title", "");
    if (const toml::node* node = root.get("paper")) {
      const std::string paper = text_of(*node, "paper");
      out_.paper = located(place(*node), [&] { return sources_.claims(paper); });
    }
    sweeps(*root.get("sweep"), text);
    if (const toml::node* node = root.get("classes")) classes(*node);
    each(root, "quantity", [this](const toml::table& t) { quantities(t); });
    if (out_.quantities.empty()) throw UserError({toml_.file()}, "has no [[quantity]]");
    each(root, "claim", [this](const toml::table& t) { out_.claims.push_back(answer(t, "claim")); });
    each(root, "trend", [this](const toml::table& t) { out_.trends.push_back(answer(t, "trend")); });
  }

 private:
  [[nodiscard]] SourceLocation place(const toml::node& node) const { return toml_.place(node.source()); }
  /// {policy} as the value that it has at the moment; `as_name`: as a part of a quantity's name.
  [[nodiscard]] std::string filled(const toml::node& node, std::string text, bool as_name) const {
    for (const Binding& binding : bindings_) {
      text = replace_all(text, "{" + binding.name + "}", as_name ? identifier(binding.label) : binding.value);
      text = replace_all(text, "{" + binding.name + ".value}", binding.value);
      text = replace_all(text, "{" + binding.name + ".index}", fmt::format("{}", binding.index));
    }
    if (const std::size_t open = text.find('{'); open != std::string::npos && !bindings_.empty()) {
      toml_.fail(node, fmt::format("'{}' has a {{ that names no row or column", text));
    }
    return text;
  }
  [[nodiscard]] std::string text_of(const toml::node& node, const char* key, bool as_name = false) const {
    std::string text = filled(node, toml_.text(node, key), as_name);
    if (text.empty()) toml_.fail(node, fmt::format("'{}' is empty", key));
    return text;
  }
  /// `within`: "[[claim]]", or empty for the file.
  [[nodiscard]] std::string required(const toml::table& table, const char* key,
                                     const std::string& within) const {
    const toml::node* node = table.get(key);
    if (node != nullptr) return text_of(*node, key, std::string_view(key) == "name");
    if (within.empty()) throw UserError({toml_.file()}, fmt::format("needs '{}'", key));
    toml_.fail(table, fmt::format("{} needs '{}'", within, key));
  }
  /// One text, or a list of them.
  [[nodiscard]] std::vector<std::string> texts(const toml::node& node, const char* key) const {
    if (!node.is_array()) return {text_of(node, key)};
    if (node.as_array()->empty()) toml_.fail(node, fmt::format("'{}' is an empty list", key));
    std::vector<std::string> list = toml_.texts(node, key);
    for (std::string& text : list) text = filled(node, std::move(text), false);
    return list;
  }
  /// The same for names of quantities.
  [[nodiscard]] std::vector<std::string> names_in(const toml::node& node, const char* key) const {
    if (!node.is_array()) return {text_of(node, key, true)};
    if (node.as_array()->empty()) toml_.fail(node, fmt::format("'{}' is an empty list", key));
    std::vector<std::string> list = toml_.texts(node, key);
    for (std::string& text : list) text = filled(node, std::move(text), true);
    return list;
  }
  template <typename Take>
  void each(const toml::table& root, const char* key, const Take& take) {
    const toml::node* node = root.get(key);
    if (node == nullptr) return;
    if (!node->is_array()) toml_.fail(*node, fmt::format("'{}' must be a list of tables: [[{}]]", key, key));
    for (const toml::node& part : *node->as_array()) {
      if (!part.is_table()) toml_.fail(part, fmt::format("each '{}' must be a table: [[{}]]", key, key));
      take(*part.as_table());
    }
  }
  static void check_known(const SourceLocation& where, const char* what, const std::string& text,
                          const std::vector<std::string>& known) {
    if (std::find(known.begin(), known.end(), text) == known.end()) {
      throw UserError(where, unknown_choice(fmt::format("{} of the sweep", what), text, known));
    }
  }

  // --- the sweep ------------------------------------------------------------------------------------------

  void sweeps(const toml::node& node, std::string_view text) {
    if (node.is_table() && node.as_table()->contains("base")) {
      const toml::node& base = *node.as_table()->get("base");
      const std::string name = text_of(base, "base");
      const fs::path path = fs::path(toml_.file()).parent_path() / name;
      const std::string content = located(place(base), [&] { return sources_.file(name); });
      toml::table merged = TomlReader(path.string()).parse(content);
      merged.erase("name");
      // Nodes keep their places by being moved, out of a copy of this file.
      toml::table own = toml_.parse(text);
      replace_keys(merged, *own.get_as<toml::table>("sweep"));
      read_scales(toml_, merged, out_.id, fmt::format("{}\n# {}:\n{}", text, name, content));
    } else if (node.is_table()) {
      // The whole experiment is kept as the sweep's description.
      read_scales(toml_, *node.as_table(), out_.id, text);
    } else {
      const std::string name = text_of(node, "sweep");
      const fs::path path = fs::path(toml_.file()).parent_path() / name;
      const std::string content = located(place(node), [&] { return sources_.file(name); });
      const TomlReader other(path.string());
      read_scales(other, other.parse(content), path.stem().string(), content);
    }
    for (const auto& [scale, file] : out_.scales) note_known(file);
  }
  /// Moves the keys of `from` over those of `to`, and scale by scale those of its scales.
  static void replace_keys(toml::table& to, toml::table& from) {
    for (auto&& [key, node] : from) {
      if (key == "base") continue;
      toml::table* const there = to.get_as<toml::table>(key.str());
      if (key == "scales" && there != nullptr && node.is_table()) {
        for (auto&& [scale, keys] : *node.as_table()) {
          toml::table* const known = there->get_as<toml::table>(scale.str());
          if (known != nullptr && keys.is_table()) {
            replace_keys(*known, *keys.as_table());
          } else {
            move_node(*there, scale, keys);
          }
        }
        continue;
      }
      move_node(to, key, node);
    }
  }
  static void move_node(toml::table& to, const toml::key& key, toml::node& node) {
    node.visit([&](auto& value) { to.insert_or_assign(key, std::move(value)); });
  }
  void read_scales(const TomlReader& toml, const toml::table& root, const std::string& name,
                   std::string_view text) {
    std::vector<std::string> names = sweep::sweep_scales(toml, root);
    if (names.empty()) throw UserError({toml.file()}, "needs scales: [scales.quick] and [scales.paper]");
    const auto rank = [](const std::string& scale) {
      return scale == "quick" ? 0 : scale == "paper" ? 1 : 2;
    };
    std::stable_sort(names.begin(), names.end(),
                     [&](const std::string& a, const std::string& b) { return rank(a) < rank(b); });
    for (const std::string& scale : names) {
      out_.scales.emplace_back(scale, sweep::read_sweep_table(toml, root, name, scale, text));
    }
  }
  void note_known(const sweep::SweepFile& file) {
    for (const auto& policy : file.policies) {
      const std::string text = located(policy.where, [&] { return canonical_policy(policy.value); });
      add_once(known_.policies, text);
      for (const auto& [name, value] : policy.variables) {
        add_once(known_.variables[name], value);
        out_.variables[text].emplace(name, value);
      }
    }
    known_.series = known_.series || file.series != 0;
    for (const auto& machine : file.machines) {
      const std::string name = machine.value;
      add_once(known_.machines, name.ends_with(".toml") ? fs::path(name).stem().string() : name);
    }
    for (const sweep::SweepApp& app : file.apps) add_once(known_.apps, app.name);
    for (const sweep::MachineSetting& setting : file.settings) {
      std::vector<std::string>& values = known_.set[canonical_key(setting.key)];
      for (const auto& value : setting.values) add_once(values, value.value);
    }
  }

  void classes(const toml::node& node) {
    if (!node.is_table()) toml_.fail(node, "'classes' must be a table: [classes] with hotspot = \"C\"");
    for (const auto& [key, value] : *node.as_table()) {
      check_known(toml_.place(key.source()), "application", std::string(key.str()), known_.apps);
      const std::string text = toml_.text(value, "classes");
      if (text != "C" && text != "M") toml_.fail(value, "a class is \"C\" or \"M\"");
      out_.classes[std::string(key.str())] = text[0];
    }
  }

  // --- quantities -----------------------------------------------------------------------------------------

  [[nodiscard]] std::vector<std::string> policies(const toml::node& node) const {
    std::vector<std::string> list = texts(node, "policy");
    for (std::string& text : list) {
      text = located(place(node), [&] { return canonical_policy(text); });
      check_known(place(node), "policy", text, known_.policies);
    }
    return list;
  }
  [[nodiscard]] std::vector<std::string> known_texts(const toml::node& node, const char* key,
                                                     const char* what,
                                                     const std::vector<std::string>& known) const {
    std::vector<std::string> list = texts(node, key);
    for (const std::string& text : list) check_known(place(node), what, text, known);
    return list;
  }
  /// "M+C" is "C+M".
  [[nodiscard]] std::vector<std::string> class_list(const toml::node& node) const {
    std::vector<std::string> list = texts(node, "class");
    if (list == std::vector<std::string>{"any"}) return {};
    for (std::string& text : list) {
      std::vector<std::string> parts = split(text, '+');
      if (std::any_of(parts.begin(), parts.end(),
                      [](const std::string& p) { return p != "C" && p != "M"; })) {
        toml_.fail(
            node,
            fmt::format("'{}' is no class; classes are C, M, C+C, C+M, M+M, C+C+M and so on, and any", text));
      }
      std::sort(parts.begin(), parts.end());
      text = fmt::format("{}", fmt::join(parts, "+"));
    }
    return list;
  }
  /// l1.size = ... is a table in a table.
  template <typename Take>
  void settings(const toml::node& node, const std::string& prefix, const Take& take) const {
    if (!node.is_table()) toml_.fail(node, "'set' must be a table: {l1.size = \"48K\"}");
    for (const auto& [key, value] : *node.as_table()) {
      const std::string path = prefix + std::string(key.str());
      if (value.is_table()) {
        settings(value, path + ".", take);
        continue;
      }
      const std::string name = canonical_key(path);
      const auto known = known_.set.find(name);
      if (known == known_.set.end()) {
        std::vector<std::string> keys;
        for (const auto& [known_key, values] : known_.set) keys.push_back(known_key);
        throw UserError(toml_.place(key.source()), unknown_choice("key set by the sweep", name, keys));
      }
      std::vector<std::string> list;
      const auto add = [&](const toml::node& one) {
        std::string text;
        if (one.is_string())
          text = text_of(one, "set");
        else if (one.is_integer())
          text = fmt::format("{}", one.as_integer()->get());
        else if (one.is_floating_point())
          text = fmt::format("{}", one.as_floating_point()->get());
        else if (one.is_boolean())
          text = one.as_boolean()->get() ? "true" : "false";
        else
          toml_.fail(one, "a value must be a number, a text, true or false");
        check_known(place(one), "value", text, known->second);
        list.push_back(std::move(text));
      };
      if (value.is_array()) {
        for (const toml::node& one : *value.as_array()) add(one);
      } else {
        add(value);
      }
      if (list.empty()) toml_.fail(value, fmt::format("'{}' is an empty list", path));
      take(name, std::move(list), value);
    }
  }

  void variables(const toml::node& node, Filter& filter) const {
    if (!node.is_table()) toml_.fail(node, "'variables' must be a table: {k0 = \"3\"}");
    for (const auto& [key, value] : *node.as_table()) {
      const std::string name(key.str());
      const auto known = known_.variables.find(name);
      if (known == known_.variables.end()) {
        std::vector<std::string> names;
        for (const auto& [known_name, values] : known_.variables) names.push_back(known_name);
        throw UserError(toml_.place(key.source()),
                        unknown_choice("name in the sweep's policies", name, names));
      }
      filter.variables[name] = known_texts(value, name.c_str(), "value", known->second);
    }
  }
  /// A list of applications, or "a + b".
  [[nodiscard]] std::vector<std::string> workload(const toml::node& node) const {
    if (node.is_array()) return known_texts(node, "workload", "application", known_.apps);
    std::vector<std::string> apps;
    for (const std::string& part : split(text_of(node, "workload"), '+')) {
      apps.emplace_back(trim(part));
      check_known(place(node), "application", apps.back(), known_.apps);
    }
    return apps;
  }
  [[nodiscard]] Filter filter(const toml::node& node) const {
    if (!node.is_table()) toml_.fail(node, "'where' must be a table: {policy = \"even\", class = \"C+M\"}");
    Filter filter;
    for (const auto& [key, value] : *node.as_table()) {
      toml_.check_key(
          key,
          {"policy", "machine", "class", "app", "workload", "seed", "size", "set", "variables", "isolated"},
          "key of 'where'");
      if (key == "policy") filter.policies = policies(value);
      if (key == "machine") filter.machines = known_texts(value, "machine", "machine", known_.machines);
      if (key == "class") filter.classes = class_list(value);
      if (key == "app") filter.apps = known_texts(value, "app", "application", known_.apps);
      if (key == "workload") {
        filter.workload = workload(value);
        std::sort(filter.workload.begin(), filter.workload.end());
      }
      if (key == "seed") filter.seeds = {toml_.whole(value, "seed", 0)};
      if (key == "size") filter.size = toml_.whole(value, "size", 1);
      if (key == "set") {
        settings(value, "", [&](const std::string& name, std::vector<std::string> list, const toml::node&) {
          filter.set[name] = std::move(list);
        });
      }
      if (key == "variables") variables(value, filter);
      if (key == "isolated") {
        if (!value.is_boolean()) toml_.fail(value, "'isolated' must be true or false");
        filter.isolated = value.as_boolean()->get();
      }
    }
    return filter;
  }
  [[nodiscard]] Against against(const toml::node& node) const {
    if (!node.is_table() || node.as_table()->empty()) {
      toml_.fail(node, "'against' must be a table: {policy = \"leftover\"}");
    }
    Against against;
    const auto one = [&](const std::vector<std::string>& list, const toml::node& value) {
      if (list.size() != 1) toml_.fail(value, "'against' takes one value of each key");
      return list.front();
    };
    for (const auto& [key, value] : *node.as_table()) {
      toml_.check_key(key, {"policy", "machine", "seed", "set"}, "key of 'against'");
      if (key == "policy") against.policy = one(policies(value), value);
      if (key == "machine")
        against.machine = one(known_texts(value, "machine", "machine", known_.machines), value);
      if (key == "seed") against.seed = toml_.whole(value, "seed", 0);
      if (key == "set") {
        settings(value, "",
                 [&](const std::string& name, const std::vector<std::string>& list, const toml::node& n) {
                   against.set[name] = one(list, n);
                 });
      }
    }
    return against;
  }

  /// Of names that are quantities so far, or numbers of the paper's tables.
  [[nodiscard]] Expression of_quantities(const toml::node& node, const char* key) const {
    Expression expression(text_of(node, key, true), place(node));
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
  [[nodiscard]] Expression of_runs(const toml::node& node, const Quantity& q) const {
    Expression expression(text_of(node, "of"), place(node));
    const bool per_app = q.per != Per::Run;
    const bool over_time = q.per == Per::Interval || q.window;
    const std::vector<std::string>& known = over_time ? series_names(per_app) : sample_names(per_app);
    for (const std::string& name : expression.names()) {
      if (name.starts_with(kVariablePrefix) &&
          known_.variables.contains(name.substr(kVariablePrefix.size()))) {
        continue;
      }
      if (name.starts_with(kResultPrefix) && !over_time) continue;
      if (std::find(known.begin(), known.end(), name) == known.end()) {
        toml_.fail(node, unknown_choice(over_time ? "counter of a series"
                                        : per_app ? "counter of an application"
                                                  : "counter of a run",
                                        name, known));
      }
    }
    return expression;
  }

  void from_runs(const toml::table& table, Quantity& q) const {
    static const std::vector<std::string> kReduce = {
        "only", "mean",  "geometric",      "harmonic",         "median", "min", "max",
        "sum",  "count", "upper_quartile", "rank_correlation", "at_max", "knee"};
    static const std::vector<std::string> kCompare = {"ratio", "percent", "difference"};
    const auto choice = [&](const char* key, const std::vector<std::string>& choices) {
      const std::string text = text_of(*table.get(key), key);
      const auto found = std::find(choices.begin(), choices.end(), text);
      if (found == choices.end()) {
        toml_.fail(*table.get(key), unknown_choice(fmt::format("value of '{}'", key), text, choices));
      }
      return static_cast<int>(found - choices.begin());
    };
    if (table.contains("per")) q.per = static_cast<Per>(choice("per", {"run", "app", "interval"}));
    if (const toml::node* node = table.get("window")) q.window = window(*node);
    if (q.per == Per::Interval && !known_.series) {
      toml_.fail(*table.get("per"), "the sweep keeps no series: give it series = 1000");
    }
    if (!table.contains("reduce"))
      toml_.fail(table, "[[quantity]] with 'of' needs 'reduce', such as \"mean\"");
    q.reduce = static_cast<Reduce>(choice("reduce", kReduce));
    const toml::node& of = *table.get("of");
    if (q.reduce >= Reduce::RankCorrelation) {
      if (!of.is_array() || of.as_array()->size() != 2) {
        toml_.fail(of, fmt::format("{} needs two: of = [\"weighted_speedup\", \"lsu_stall_cycles\"]",
                                   toml_.text(*table.get("reduce"), "reduce")));
      }
      for (const toml::node& part : *of.as_array()) q.of.push_back(of_runs(part, q));
    } else {
      q.of = {of_runs(of, q)};
    }
    if (const toml::node* node = table.get("where")) q.filter = filter(*node);
    if (table.contains("compare") && !table.contains("against")) {
      toml_.fail(*table.get("compare"), "'compare' needs 'against'");
    }
    if (const toml::node* node = table.get("against")) {
      if (!table.contains("compare"))
        toml_.fail(*node, "'against' needs 'compare': ratio, percent or difference");
      q.against = against(*node);
      q.compare = static_cast<Compare>(choice("compare", kCompare));
      if (q.filter.isolated) toml_.fail(*node, "isolated runs have nothing to be compared against");
    }
  }

  [[nodiscard]] std::pair<std::uint64_t, std::uint64_t> window(const toml::node& node) const {
    const toml::array* list = node.as_array();
    if (list == nullptr || list->size() != 2) {
      toml_.fail(node, "'window' must be a list of two cycles: [200000, 400000]");
    }
    const std::uint64_t from = toml_.whole(*list->get(0), "window", 0);
    const std::uint64_t to = toml_.whole(*list->get(1), "window", 1);
    if (from >= to) toml_.fail(node, "'window' must end after it begins");
    if (!known_.series) toml_.fail(node, "the sweep keeps no series: give it series = 1000");
    return {from, to};
  }

  /// What `rows` or `columns` go through: its name and, by label, its values.
  [[nodiscard]] std::vector<Binding> dimension(const toml::node& node, const char* key) const {
    const toml::table* table = node.as_table();
    if (table == nullptr || table->size() != 1) {
      toml_.fail(node, fmt::format("'{}' must have one name: {}.policy = [\"ws\", \"spatial\"]", key, key));
    }
    const auto only = table->begin();
    const std::string name(only->first.str());
    const toml::node& values = only->second;
    std::vector<Binding> list;
    if (const toml::table* labelled = values.as_table()) {
      for (const auto& [label, value] : *labelled)
        list.push_back({name, std::string(label.str()), toml_.text(value, key), list.size()});
    } else {
      for (const std::string& value : toml_.texts(values, key))
        list.push_back({name, value, value, list.size()});
    }
    if (list.empty()) toml_.fail(values, fmt::format("'{}' is empty", name));
    return list;
  }
  /// One quantity, or, with `rows` and `columns`, a table of them.
  void quantities(const toml::table& table) {
    const toml::node* rows = table.get("rows");
    const toml::node* columns = table.get("columns");
    if (rows == nullptr && columns == nullptr) {
      quantity(table, std::nullopt);
      return;
    }
    (void)required(table, "name", "[[quantity]]");
    const std::string family = toml_.text(*table.get("name"), "name");
    const std::vector<Binding> none(1);
    const std::vector<Binding> down = rows == nullptr ? none : dimension(*rows, "rows");
    const std::vector<Binding> across = columns == nullptr ? none : dimension(*columns, "columns");
    if (down[0].name == across[0].name) toml_.fail(*columns, "rows and columns have the same name");
    for (const Binding& row : down) {
      for (const Binding& column : across) {
        bindings_.clear();
        if (!row.name.empty()) bindings_.push_back(row);
        if (!column.name.empty()) bindings_.push_back(column);
        quantity(table, Cell{family, row.label, column.label});
      }
    }
    bindings_.clear();
  }

  void quantity(const toml::table& table, std::optional<Cell> cell) {
    static const std::vector<std::string> kFromRuns = {"per",     "window",  "where",
                                                       "against", "compare", "reduce"};
    for (const auto& [key, node] : table) {
      toml_.check_key(key,
                      {"name", "what", "unit", "rows", "columns", "of", "per", "window", "where", "against",
                       "compare", "reduce", "value", "highest", "lowest"},
                      "key in [[quantity]]");
    }
    Quantity q;
    q.where = place(table);
    q.cell = std::move(cell);
    q.name = required(table, "name", "[[quantity]]");
    const toml::node& name = *table.get("name");
    const bool good = std::isalpha(static_cast<unsigned char>(q.name[0])) != 0 &&
                      std::all_of(q.name.begin(), q.name.end(),
                                  [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; });
    if (!good)
      toml_.fail(name, fmt::format("'{}': a name has letters, digits and _, a letter first", q.name));
    for (const Quantity& other : out_.quantities) {
      if (other.name == q.name) toml_.fail(name, fmt::format("there are two quantities '{}'", q.name));
    }
    if (const toml::node* node = table.get("what")) q.what = text_of(*node, "what");
    if (const toml::node* node = table.get("unit")) q.unit = text_of(*node, "unit");
    int ways = 0;
    for (const char* way : {"of", "value", "highest", "lowest"}) ways += table.contains(way) ? 1 : 0;
    if (ways != 1) toml_.fail(table, "[[quantity]] needs one of 'of', 'value', 'highest' and 'lowest'");
    if (table.contains("of")) {
      from_runs(table, q);
    } else {
      for (const std::string& key : kFromRuns) {
        if (table.contains(key)) toml_.fail(*table.get(key), fmt::format("'{}' goes with 'of'", key));
      }
      if (const toml::node* node = table.get("value")) q.value = of_quantities(*node, "value");
      for (const char* key : {"highest", "lowest"}) {
        const toml::node* node = table.get(key);
        if (node == nullptr) continue;
        q.lowest = std::string_view(key) == "lowest";
        q.candidates = names_in(*node, key);
        for (const std::string& candidate : q.candidates) {
          const auto found = std::find_if(out_.quantities.begin(), out_.quantities.end(),
                                          [&](const Quantity& other) { return other.name == candidate; });
          if (found == out_.quantities.end() || !found->candidates.empty()) {
            toml_.fail(*node, fmt::format("'{}' is no number among the quantities above", candidate));
          }
        }
      }
    }
    out_.quantities.push_back(std::move(q));
  }

  // --- claims and trends ----------------------------------------------------------------------------------

  [[nodiscard]] Answer answer(const toml::table& table, const char* kind) {
    const bool is_claim = std::string_view(kind) == "claim";
    const std::string within = fmt::format("[[{}]]", kind);
    const char* const how = is_claim ? "ours" : "holds";
    for (const auto& [key, node] : table) {
      toml_.check_key(key, {"id", how, "scales", "note"}, fmt::format("key in {}", within).c_str());
    }
    Answer answer;
    answer.where = place(table);
    answer.id = required(table, "id", within);
    const toml::node& id = *table.get("id");
    if (!out_.paper) toml_.fail(id, "speaks to a paper, but the file names none: paper = \"dai18\"");
    const bool exists = is_claim ? out_.paper->find_claim(answer.id) != nullptr
                                 : out_.paper->find_trend(answer.id) != nullptr;
    if (!exists) {
      std::vector<std::string> known;
      for (const Claim& claim : out_.paper->claims) {
        if (is_claim) known.push_back(claim.id);
      }
      for (const Trend& trend : out_.paper->trends) {
        if (!is_claim) known.push_back(trend.id);
      }
      const std::string near = nearest_choice(answer.id, known);
      toml_.fail(id, fmt::format("{} has no {} '{}'{}", out_.paper->paper, kind, answer.id,
                                 near.empty() ? "" : fmt::format("; did you mean '{}'?", near)));
    }
    if (out_.paper->unanswered.contains(answer.id)) {
      toml_.fail(id, fmt::format("the paper's claims list '{}' under [[unanswered]]", answer.id));
    }
    if (!answered_.insert(answer.id).second) toml_.fail(id, fmt::format("'{}' is answered twice", answer.id));
    (void)required(table, how, within);
    answer.ours = of_quantities(*table.get(how), how);
    if (!is_claim && !answer.ours.is_condition()) {
      toml_.fail(*table.get(how), "'holds' must compare: \"a > b\", \"a ~ b and b < c\"");
    }
    if (const toml::node* node = table.get("scales")) {
      answer.scales = texts(*node, "scales");
      std::vector<std::string> known;
      for (const auto& [scale, file] : out_.scales) known.push_back(scale);
      for (const std::string& scale : answer.scales) check_known(place(*node), "scale", scale, known);
    }
    if (const toml::node* node = table.get("note")) answer.note = text_of(*node, "note");
    return answer;
  }

  const TomlReader& toml_;
  Experiment& out_;
  const Sources& sources_;
  std::vector<Binding> bindings_;  // of the row and the column that is being read
  Known known_;
  std::set<std::string> answered_;
};

}  // namespace

const sweep::SweepFile* Experiment::find_scale(std::string_view scale) const {
  for (const auto& [name, file] : scales) {
    if (name == scale) return &file;
  }
  return nullptr;
}

bool is_experiment(std::string_view text, const std::string& path) {
  return TomlReader(path).parse(text).contains("sweep");
}

Experiment parse_experiment(std::string_view text, const std::string& path, const std::string& id,
                            const Sources& sources) {
  const TomlReader toml(path);
  const toml::table root = toml.parse(text);
  if (!root.contains("sweep")) {
    throw UserError({path}, "is no experiment: it needs 'sweep', a table or the name of a sweep file");
  }
  Experiment out;
  out.id = id;
  out.path = path;
  Reader(toml, out, sources).read(root, text);
  return out;
}

}  // namespace gpumux::reproduce
