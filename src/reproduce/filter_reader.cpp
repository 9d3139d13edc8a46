#include "reproduce/filter_reader.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/located.hpp"
#include "base/text.hpp"

namespace gpumux::reproduce {
namespace {

using experiment::TomlReader;

class FilterReader {
 public:
  FilterReader(const TemplateReader& reader, const SweepNames& names)
      : reader_(reader), toml_(reader.toml()), names_(names) {}

  [[nodiscard]] Filter filter(const toml::node& node) const {
    if (!node.is_table()) toml_.fail(node, "'where' must be a table: {policy = \"even\", class = \"C+M\"}");
    Filter filter;
    for (const auto& [key, value] : *node.as_table()) {
      toml_.check_key(key,
                      {"policy", "machine", "class", "app", "first", "workload", "goal", "cpus", "program",
                       "seed", "size", "set", "variables", "isolated"},
                      "key of 'where'");
      if (key == "policy") filter.policies = policies(value);
      if (key == "machine") filter.machines = known_texts(value, "machine", "machine", names_.machines);
      if (key == "class") filter.classes = class_list(value);
      if (key == "app") filter.apps = known_texts(value, "app", "application", names_.apps);
      if (key == "first") filter.first = known_texts(value, "first", "application", names_.apps);
      if (key == "goal") filter.goals = known_texts(value, "goal", "goal", names_.goals);
      if (key == "cpus") filter.cpus = known_texts(value, "cpus", "list of CPU programs", names_.cpus);
      if (key == "program") filter.programs = known_texts(value, "program", "CPU program", names_.programs);
      if (key == "workload") {
        filter.workload = workload(value);
        std::sort(filter.workload.begin(), filter.workload.end());
      }
      if (key == "seed") filter.seeds = {toml_.whole(value, "seed", 0)};
      if (key == "size") filter.size = toml_.whole(value, "size", 0);
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
      toml_.check_key(key, {"policy", "machine", "cpus", "seed", "set"}, "key of 'against'");
      if (key == "policy") against.policy = one(policies(value), value);
      if (key == "machine")
        against.machine = one(known_texts(value, "machine", "machine", names_.machines), value);
      if (key == "cpus")
        against.cpus = one(known_texts(value, "cpus", "list of CPU programs", names_.cpus), value);
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

 private:
  [[nodiscard]] std::vector<std::string> policies(const toml::node& node) const {
    std::vector<std::string> list = reader_.texts(node, "policy");
    for (std::string& text : list) {
      text = located(reader_.place(node), [&] { return canonical_policy(text); });
      check_known(reader_.place(node), "policy", text, names_.policies);
    }
    return list;
  }
  [[nodiscard]] std::vector<std::string> known_texts(const toml::node& node, const char* key,
                                                     const char* what,
                                                     const std::vector<std::string>& known) const {
    std::vector<std::string> list = reader_.texts(node, key);
    for (const std::string& text : list) check_known(reader_.place(node), what, text, known);
    return list;
  }
  /// Reads class combinations; letters are sorted, so that "M+C" becomes "C+M".
  [[nodiscard]] std::vector<std::string> class_list(const toml::node& node) const {
    std::vector<std::string> list = reader_.texts(node, "class");
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
  /// Reads the settings of a table. A nested table adds to the key: l1.size = ... is a table in a table.
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
      const auto known = names_.set.find(name);
      if (known == names_.set.end()) {
        std::vector<std::string> keys;
        for (const auto& [known_key, values] : names_.set) keys.push_back(known_key);
        throw UserError(toml_.place(key.source()), unknown_choice("key set by the sweep", name, keys));
      }
      std::vector<std::string> list;
      const auto add = [&](const toml::node& one) {
        std::string text;
        if (one.is_string())
          text = reader_.text(one, "set");
        else if (one.is_integer())
          text = fmt::format("{}", one.as_integer()->get());
        else if (one.is_floating_point())
          text = fmt::format("{}", one.as_floating_point()->get());
        else if (one.is_boolean())
          text = one.as_boolean()->get() ? "true" : "false";
        else
          toml_.fail(one, "a value must be a number, a text, true or false");
        check_known(reader_.place(one), "value", text, known->second);
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
      const auto known = names_.variables.find(name);
      if (known == names_.variables.end()) {
        std::vector<std::string> names;
        for (const auto& [known_name, values] : names_.variables) names.push_back(known_name);
        throw UserError(toml_.place(key.source()),
                        unknown_choice("name in the sweep's policies", name, names));
      }
      filter.variables[name] = known_texts(value, name.c_str(), "value", known->second);
    }
  }
  /// Reads a workload: a list of applications, or "a + b".
  [[nodiscard]] std::vector<std::string> workload(const toml::node& node) const {
    if (node.is_array()) return known_texts(node, "workload", "application", names_.apps);
    std::vector<std::string> apps;
    for (const std::string& part : split(reader_.text(node, "workload"), '+')) {
      apps.emplace_back(trim(part));
      check_known(reader_.place(node), "application", apps.back(), names_.apps);
    }
    return apps;
  }

  const TemplateReader& reader_;
  const TomlReader& toml_;
  const SweepNames& names_;
};

}  // namespace

Filter read_filter(const TemplateReader& reader, const SweepNames& names, const toml::node& node) {
  return FilterReader(reader, names).filter(node);
}

Against read_against(const TemplateReader& reader, const SweepNames& names, const toml::node& node) {
  return FilterReader(reader, names).against(node);
}

}  // namespace gpumux::reproduce
