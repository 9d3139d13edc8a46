#include "sweep/sweep_file.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "base/files.hpp"
#include "base/text.hpp"
#include "base/types.hpp"
#include "experiment/goal.hpp"
#include "sweep/sweep_table.hpp"

namespace gpumux::sweep {
namespace {

using experiment::TomlReader;
/// Values by key, after the scale has replaced some.
using Values = std::map<std::string, const toml::node*>;

class Reader {
 public:
  Reader(const TomlReader& toml, const Values& values) : toml_(toml), values_(values) {}

  void read(SweepFile& sweep) {
    sweep.machines = texts("machines", experiment::kDefaultMachine);
    sweep.policies = policies();
    sweep.seeds = seeds();
    if (const toml::node* node = find("cycles")) sweep.cycles = toml_.whole(*node, "cycles", 1);
    if (const toml::node* node = find("instructions"))
      sweep.instructions = toml_.whole(*node, "instructions", 1);
    if (const toml::node* node = find("series")) sweep.series = toml_.whole(*node, "series", 1);
    if (const toml::node* node = find("timeline")) {
      sweep.timeline = toml_.flag(*node, "timeline");
      if (sweep.timeline && sweep.series == 0) sweep.series = experiment::kDefaultSeries;
    }
    if (const toml::node* node = find("view_sms")) sweep.view_sms = placed_text(*node, "view_sms");
    cpus(sweep);
    if (const toml::node* node = find("set")) {
      if (!node->is_table())
        toml_.fail(*node, "'set' must be a table: [set] with l1.size = [\"24K\", \"48K\"]");
      settings(sweep, *node->as_table(), "");
    }
    const toml::node* list = find("apps");
    if (list == nullptr)
      throw UserError({toml_.file()}, "names no application; add apps = [\"hotspot\", ...]");
    apps(sweep, *list);
    if (const toml::node* node = find("combine")) combine(*node, sweep);
    if (find("goals") != nullptr) {
      sweep.goals = texts("goals", "");
      for (const Placed<std::string>& goals : sweep.goals) {
        for (const std::string& goal : split(goals.value, '/')) {
          if (!experiment::parse_goal(goal))
            throw UserError(goals.where, fmt::format("'{}' must be {}, or several: 25%/25%", goals.value,
                                                     experiment::kGoalHelp));
        }
      }
    }
    if (const toml::node* node = find("cases")) sweep.cases = toml_.whole(*node, "cases", 1);
    if (const toml::node* node = find("workloads")) {
      for (Placed<Workload>& workload : workloads(sweep, *node, "workloads")) {
        sweep.workloads.push_back(std::move(workload.value));
      }
    }
    if (sweep.combine.empty() && !sweep.ordered_pairs && sweep.workloads.empty()) {
      throw UserError(
          {toml_.file()},
          "says not what runs together; add combine = \"pairs\" or workloads = [[\"hotspot\", ...]]");
    }
    if (const toml::node* node = find("exclude")) sweep.exclude = workloads(sweep, *node, "exclude");
  }

 private:
  void cpus(SweepFile& sweep) const {
    if (const toml::node* node = find("cpus")) {
      std::set<std::string> seen;
      for (const toml::node* part : elements(*node, "cpus")) {
        std::string text = toml_.text(*part, "cpus");
        if (text.empty()) text = kNoCpus;
        once(seen, text, *part);
        sweep.cpus.push_back({std::move(text), toml_.place(part->source())});
      }
    } else {
      sweep.cpus = {{kNoCpus, {toml_.file()}}};
    }
    const bool none = sweep.cpus.size() == 1 && sweep.cpus.front().value == kNoCpus;
    for (const char* key : {"cpu_warm_up", "cpu_instructions", "alpha"}) {
      if (const toml::node* node = find(key); node != nullptr && none)
        toml_.fail(*node, fmt::format("'{}' is of CPU programs: add cpus = [\"H2\", ...]", key));
    }
    if (const toml::node* node = find("cpu_warm_up"))
      sweep.cpu_warm_up = toml_.whole(*node, "cpu_warm_up", 0);
    if (const toml::node* node = find("cpu_instructions"))
      sweep.cpu_instructions = toml_.whole(*node, "cpu_instructions", 1);
    if (const toml::node* node = find("alpha")) {
      const std::optional<double> alpha = node->value<double>();
      if (!node->is_number() || !(*alpha >= 0 && *alpha <= 1))
        toml_.fail(*node, "'alpha' must be a number from 0 to 1");
      sweep.alpha = *alpha;
    }
  }
  [[nodiscard]] const toml::node* find(const char* key) const {
    const auto found = values_.find(key);
    return found == values_.end() ? nullptr : found->second;
  }
  [[nodiscard]] Placed<std::string> placed_text(const toml::node& node, const char* key) const {
    std::string text = toml_.text(node, key);
    if (text.empty()) toml_.fail(node, fmt::format("'{}' is empty", key));
    return {std::move(text), toml_.place(node.source())};
  }
  /// The elements of a list, or the one value that is not in a list.
  [[nodiscard]] std::vector<const toml::node*> elements(const toml::node& node, const char* key) const {
    if (!node.is_array()) return {&node};
    std::vector<const toml::node*> parts;
    for (const toml::node& part : *node.as_array()) parts.push_back(&part);
    if (parts.empty()) toml_.fail(node, fmt::format("'{}' is an empty list", key));
    return parts;
  }
  template <typename T>
  void once(std::set<T>& seen, const T& value, const toml::node& node) const {
    if (!seen.insert(value).second) toml_.fail(node, fmt::format("'{}' is given twice", value));
  }

  [[nodiscard]] std::vector<Placed<std::string>> texts(const char* key, const char* otherwise) const {
    const toml::node* node = find(key);
    if (node == nullptr) return {{otherwise, {toml_.file()}}};
    std::vector<Placed<std::string>> values;
    std::set<std::string> seen;
    for (const toml::node* part : elements(*node, key)) {
      values.push_back(placed_text(*part, key));
      once(seen, values.back().value, *part);
    }
    return values;
  }
  /// Texts and templates. The template {policy = "ws-smil:k0={a}", a = [1, 2]} gives a policy for each value.
  [[nodiscard]] std::vector<SweepPolicy> policies() const {
    const toml::node* node = find("policies");
    if (node == nullptr) return {{{experiment::kDefaultPolicy, {toml_.file()}}, {}}};
    std::vector<SweepPolicy> all;
    std::set<std::string> seen;
    for (const toml::node* part : elements(*node, "policies")) {
      if (const toml::table* pattern = part->as_table()) {
        for (SweepPolicy& policy : from_template(*pattern)) {
          once(seen, policy.value, *part);
          all.push_back(std::move(policy));
        }
        continue;
      }
      all.push_back({placed_text(*part, "policies"), {}});
      once(seen, all.back().value, *part);
    }
    return all;
  }
  /// The cross product of the values of a template's names. The last name in alphabetical order varies
  /// fastest.
  [[nodiscard]] std::vector<SweepPolicy> from_template(const toml::table& pattern) const {
    const toml::node* text = pattern.get("policy");
    if (text == nullptr)
      toml_.fail(pattern, "a template needs 'policy', such as policy = \"ws-smil:k0={a}\"");
    std::vector<SweepPolicy> all = {{placed_text(*text, "policy"), {}}};
    for (const auto& [key, node] : pattern) {
      if (key == "policy") continue;
      const std::string name(key.str());
      const std::string place = "{" + name + "}";
      if (all.front().value.find(place) == std::string::npos) {
        toml_.fail(node, fmt::format("'{}' has no {}", text->as_string()->get(), place));
      }
      std::vector<SweepPolicy> next;
      for (const SweepPolicy& policy : all) {
        for (const toml::node* part : elements(node, name.c_str())) {
          SweepPolicy one = policy;
          const std::string value = setting_text(*part, name);
          one.value = replace_all(one.value, place, value);
          one.variables[name] = value;
          next.push_back(std::move(one));
        }
      }
      all = std::move(next);
      constexpr std::size_t kMost = 10'000;
      if (all.size() > kMost) toml_.fail(pattern, fmt::format("has more than {} policies", kMost));
    }
    return all;
  }
  [[nodiscard]] std::vector<std::uint64_t> seeds() const {
    const toml::node* node = find("seeds");
    if (node == nullptr) return {1};
    std::vector<std::uint64_t> values;
    std::set<std::uint64_t> seen;
    for (const toml::node* part : elements(*node, "seeds")) {
      values.push_back(toml_.whole(*part, "seeds", 0));
      once(seen, values.back(), *part);
    }
    return values;
  }

  /// A value as text for --set: a list (for a key whose value is a list) becomes [a,b].
  [[nodiscard]] std::string setting_text(const toml::node& node, const std::string& key) const {
    if (const auto* text = node.as_string()) return text->get();
    if (const auto* number = node.as_integer()) return fmt::format("{}", number->get());
    if (const auto* number = node.as_floating_point()) return fmt::format("{}", number->get());
    if (const auto* flag = node.as_boolean()) return flag->get() ? "true" : "false";
    if (const auto* list = node.as_array()) {
      std::vector<std::string> parts;
      for (const toml::node& part : *list) {
        if (part.is_array()) toml_.fail(part, fmt::format("'{}' has lists in lists in lists", key));
        parts.push_back(setting_text(part, key));
      }
      return fmt::format("[{}]", fmt::join(parts, ","));
    }
    toml_.fail(node, fmt::format("'{}' must be a number, a text, true or false, or a list of such", key));
  }
  /// Reads the settings of a table. A nested table adds to the key: l1.size = ... is a table in a table.
  void settings(SweepFile& sweep, const toml::table& table, const std::string& prefix) const {
    for (const auto& [key, node] : table) {
      const std::string path = prefix + std::string(key.str());
      if (node.is_table()) {
        settings(sweep, *node.as_table(), path + ".");
        continue;
      }
      MachineSetting setting{path, {}};
      std::set<std::string> seen;
      for (const toml::node* part : elements(node, path.c_str())) {
        setting.values.push_back({setting_text(*part, path), toml_.place(part->source())});
        once(seen, setting.values.back().value, *part);
      }
      sweep.settings.push_back(std::move(setting));
    }
  }

  void apps(SweepFile& sweep, const toml::node& list) const {
    if (!list.is_array()) toml_.fail(list, "'apps' must be a list: [\"hotspot\", {app = \"k.ptx:k\", ...}]");
    std::set<std::string> seen;
    for (const toml::node& part : *list.as_array()) {
      SweepApp app;
      app.where = toml_.place(part.source());
      if (part.is_string()) {
        app.name = app.arguments.app = placed_text(part, "apps").value;
      } else if (part.is_table()) {
        app.arguments = toml_.app(*part.as_table(), {"name"});
        if (app.arguments.app.empty())
          toml_.fail(part, "an application needs 'app', such as app = \"hotspot\"");
        const toml::node* name = part.as_table()->get("name");
        app.name = name == nullptr ? app.arguments.app : placed_text(*name, "name").value;
      } else {
        toml_.fail(part, "each of 'apps' must be a text or a table");
      }
      if (!is_one_line(app.name)) toml_.fail(part, "the name of an application must be on one line");
      if (!seen.insert(app.name).second) {
        toml_.fail(part, fmt::format("there are two applications '{}'; give one a 'name'", app.name));
      }
      sweep.apps.push_back(std::move(app));
    }
    if (sweep.apps.empty()) toml_.fail(list, "'apps' is an empty list");
  }
  void combine(const toml::node& node, SweepFile& sweep) const {
    static const std::vector<std::string> kSizes = {"alone", "pairs", "trios", "ordered-pairs"};
    std::set<std::string> seen;
    for (const toml::node* part : elements(node, "combine")) {
      const std::string word = toml_.text(*part, "combine");
      const auto found = std::find(kSizes.begin(), kSizes.end(), word);
      if (found == kSizes.end()) toml_.fail(*part, unknown_choice("value of 'combine'", word, kSizes));
      once(seen, word, *part);
      if (word == "ordered-pairs") {
        sweep.ordered_pairs = true;
      } else {
        sweep.combine.push_back(static_cast<std::size_t>(found - kSizes.begin()) + 1);
      }
    }
  }
  [[nodiscard]] std::vector<Placed<Workload>> workloads(const SweepFile& sweep, const toml::node& node,
                                                        const char* key) const {
    std::vector<std::string> known;
    for (const SweepApp& app : sweep.apps) known.push_back(app.name);
    if (!node.is_array()) toml_.fail(node, fmt::format("'{}' must be a list of lists of applications", key));
    std::vector<Placed<Workload>> list;
    for (const toml::node& part : *node.as_array()) {
      const bool alone = part.is_array() && part.as_array()->empty() && key == std::string_view("workloads");
      if (alone && std::any_of(sweep.cpus.begin(), sweep.cpus.end(),
                               [](const auto& cpus) { return cpus.value == kNoCpus; }))
        toml_.fail(part, "has no application, and 'cpus' has none: nothing would run");
      if (!part.is_array() || (part.as_array()->empty() && !alone)) {
        toml_.fail(part, fmt::format("each of '{}' must be a list of applications: [\"hotspot\", ...]", key));
      }
      Placed<Workload> workload{{}, toml_.place(part.source())};
      for (const toml::node& name : *part.as_array()) {
        const std::string text = toml_.text(name, key);
        const auto found = std::find(known.begin(), known.end(), text);
        if (found == known.end()) toml_.fail(name, unknown_choice("application", text, known));
        workload.value.push_back(static_cast<std::size_t>(found - known.begin()));
      }
      if (workload.value.size() > kMaxApps) {
        toml_.fail(part, fmt::format("has {} applications; at most {} run together", workload.value.size(),
                                     kMaxApps));
      }
      list.push_back(std::move(workload));
    }
    return list;
  }

  const TomlReader& toml_;
  const Values& values_;
};

const std::vector<std::string> kKeys = {
    "machines",     "set",         "policies",         "seeds",     "cycles",
    "instructions", "apps",        "combine",          "workloads", "exclude",
    "goals",        "cases",       "series",           "timeline",  "view_sms",
    "cpus",         "cpu_warm_up", "cpu_instructions", "alpha"};

/// The sweep for `scale`, one of the file's scales, or for none.
SweepFile read_scale(const TomlReader& toml, const toml::table& root, const std::string& name,
                     const std::string& scale) {
  SweepFile sweep;
  sweep.name = name;
  sweep.scale = scale;
  Values values;
  std::vector<std::string> known = kKeys;
  known.insert(known.end(), {"name", "scales"});
  for (const auto& [key, node] : root) {
    toml.check_key(key, known, "key");
    if (key == "name") {
      sweep.name = toml.text(node, "name");
      if (sweep.name.empty()) toml.fail(node, "'name' is empty");
      if (!is_one_line(sweep.name)) toml.fail(node, "'name' must be on one line");
    } else if (key != "scales") {
      values[std::string(key.str())] = &node;
    }
  }
  if (!scale.empty()) {
    for (const auto& [key, node] : *root["scales"][scale].as_table()) {
      toml.check_key(key, kKeys, "key of a scale");
      values[std::string(key.str())] = &node;
    }
  }
  Reader(toml, values).read(sweep);
  return sweep;
}

}  // namespace

std::vector<std::string> sweep_scales(const TomlReader& toml, const toml::table& root) {
  std::vector<std::string> names;
  const toml::node* scales = root.get("scales");
  if (scales == nullptr) return names;
  if (!scales->is_table()) toml.fail(*scales, "'scales' must hold tables: [scales.quick]");
  for (const auto& [key, node] : *scales->as_table()) {
    if (!node.is_table())
      toml.fail(node, fmt::format("scale '{}' must be a table: [scales.{}]", key.str(), key.str()));
    names.emplace_back(key.str());
  }
  return names;
}

SweepFile read_sweep_table(const TomlReader& toml, const toml::table& root, const std::string& name,
                           const std::string& scale, std::string_view text) {
  const std::string& path = toml.file();
  const std::vector<std::string> scales = sweep_scales(toml, root);
  if (scale.empty() && !scales.empty()) {
    throw UserError({path},
                    fmt::format("has scales; choose one: --scale {}", fmt::join(scales, ", --scale ")));
  }
  if (!scale.empty() && std::find(scales.begin(), scales.end(), scale) == scales.end()) {
    throw UserError({path}, scales.empty() ? fmt::format("has no scale '{}', nor any other", scale)
                                           : unknown_choice("scale", scale, scales));
  }
  for (const std::string& other : scales) (void)read_scale(toml, root, name, other);
  SweepFile sweep = read_scale(toml, root, name, scale);
  sweep.path = path;
  sweep.folder = std::filesystem::path(path).parent_path().string();
  sweep.text = text;
  return sweep;
}

SweepFile parse_sweep(std::string_view text, const std::string& path, const std::string& scale) {
  const TomlReader toml(path);
  return read_sweep_table(toml, toml.parse(text), std::filesystem::path(path).stem().string(), scale, text);
}

SweepFile read_sweep(const std::string& path, const std::string& scale) {
  return parse_sweep(read_file(path), path, scale);
}

}  // namespace gpumux::sweep
