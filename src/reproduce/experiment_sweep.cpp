#include "reproduce/experiment_sweep.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>

#include "arch/config_file_fields.hpp"
#include "base/located.hpp"
#include "base/text.hpp"
#include "experiment/cpus.hpp"
#include "policy/policy.hpp"
#include "sweep/sweep_table.hpp"

namespace gpumux::reproduce {
namespace {

using experiment::TomlReader;
namespace fs = std::filesystem;

void add_once(std::vector<std::string>& list, const std::string& text) {
  if (std::find(list.begin(), list.end(), text) == list.end()) list.push_back(text);
}

void move_node(toml::table& to, const toml::key& key, toml::node& node) {
  node.visit([&](auto& value) { to.insert_or_assign(key, std::move(value)); });
}

/// Moves the keys of `from` over those of `to`. Scales are merged key by key.
void replace_keys(toml::table& to, toml::table& from) {
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

void read_scales(const TomlReader& toml, const toml::table& root, const std::string& name,
                 std::string_view text, Experiment& out) {
  std::vector<std::string> names = sweep::sweep_scales(toml, root);
  if (names.empty()) throw UserError({toml.file()}, "needs scales: [scales.quick] and [scales.paper]");
  const auto rank = [](const std::string& scale) {
    return scale == "quick" ? 0 : scale == "standard" ? 1 : scale == "paper" ? 2 : 3;
  };
  std::stable_sort(names.begin(), names.end(),
                   [&](const std::string& a, const std::string& b) { return rank(a) < rank(b); });
  for (const std::string& scale : names) {
    out.scales.emplace_back(scale, sweep::read_sweep_table(toml, root, name, scale, text));
  }
}

void note_names(const sweep::SweepFile& file, SweepNames& names, Experiment& out) {
  for (const auto& policy : file.policies) {
    const std::string text = located(policy.where, [&] { return canonical_policy(policy.value); });
    add_once(names.policies, text);
    for (const auto& [name, value] : policy.variables) {
      add_once(names.variables[name], value);
      out.variables[text].emplace(name, value);
    }
  }
  names.series = names.series || file.series != 0;
  for (const auto& machine : file.machines) {
    const std::string name = machine.value;
    add_once(names.machines, name.ends_with(".toml") ? fs::path(name).stem().string() : name);
  }
  for (const sweep::SweepApp& app : file.apps) add_once(names.apps, app.name);
  for (const auto& goals : file.goals) add_once(names.goals, goals.value);
  for (const auto& cpus : file.cpus) {
    add_once(names.cpus, cpus.value);
    if (cpus.value == sweep::kNoCpus) continue;
    constexpr std::uint32_t kAnyCores = 1024;  // the machine limits the number of cores
    for (const experiment::CpuProgram& program :
         located(cpus.where, [&] { return experiment::parse_cpus(cpus.value, kAnyCores, file.folder); }))
      if (program.create) add_once(names.programs, program.name);
  }
  for (const sweep::MachineSetting& setting : file.settings) {
    std::vector<std::string>& values = names.set[canonical_key(setting.key)];
    for (const auto& value : setting.values) add_once(values, value.value);
  }
}

}  // namespace

std::string canonical_key(const std::string& key) {
  const int field = arch::find_field(key);
  return field < 0 ? key : arch::fields()[static_cast<std::size_t>(field)].key;
}

std::string canonical_policy(const std::string& text) {
  return policy::canonical_text(policy::parse_choice(text));
}

void check_known(const SourceLocation& where, const char* what, const std::string& text,
                 const std::vector<std::string>& known) {
  if (std::find(known.begin(), known.end(), text) == known.end()) {
    throw UserError(where, unknown_choice(fmt::format("{} of the sweep", what), text, known));
  }
}

SweepNames read_sweep(const TemplateReader& reader, const toml::node& node, std::string_view text,
                      const Sources& sources, Experiment& out) {
  const TomlReader& toml = reader.toml();
  const auto beside = [&](const std::string& name) { return fs::path(toml.file()).parent_path() / name; };
  if (node.is_table() && node.as_table()->contains("base")) {
    const toml::node& base = *node.as_table()->get("base");
    const std::string name = reader.text(base, "base");
    const std::string content = located(reader.place(base), [&] { return sources.file(name); });
    toml::table merged = TomlReader(beside(name).string()).parse(content);
    if (toml::table* const sweep = merged.get_as<toml::table>("sweep")) {  // of an experiment
      toml::table own_sweep = std::move(*sweep);
      merged = std::move(own_sweep);
    }
    if (merged.contains("base") || merged.contains("title"))
      toml.fail(base, fmt::format("'{}' takes its sweep from another file: name that", name));
    merged.erase("name");
    // Nodes keep their places only if they are moved, so the keys come from a second parse of this file.
    toml::table own = toml.parse(text);
    replace_keys(merged, *own.get_as<toml::table>("sweep"));
    read_scales(toml, merged, out.id, fmt::format("{}\n# {}:\n{}", text, name, content), out);
  } else if (node.is_table()) {
    // The whole experiment is kept as the description of the sweep.
    read_scales(toml, *node.as_table(), out.id, text, out);
  } else {
    const std::string name = reader.text(node, "sweep");
    const std::string content = located(reader.place(node), [&] { return sources.file(name); });
    const TomlReader other(beside(name).string());
    read_scales(other, other.parse(content), beside(name).stem().string(), content, out);
  }
  SweepNames names;
  for (const auto& [scale, file] : out.scales) note_names(file, names, out);
  return names;
}

}  // namespace gpumux::reproduce
