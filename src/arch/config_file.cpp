#include "arch/config_file.hpp"

#include <fmt/format.h>

#include <toml++/toml.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "arch/config_file_fields.hpp"
#include "base/error.hpp"
#include "base/files.hpp"
#include "base/text.hpp"
#include "base/toml_text.hpp"
#include "embedded/machines.hpp"

namespace gpumux::arch {
namespace {

constexpr int kMaxBaseDepth = 8;

struct Loading {
  MachineConfig config = default_machine();
  Provenance provenance;
  int settings = 0;

  Loading() { provenance.places.resize(fields().size()); }
  void placed(std::size_t field, const SourceLocation& where) {
    provenance.places[field] = {where.file, where.line, where.column, settings++};
  }
};

SourceLocation place(const std::string& file, const toml::source_region& region) {
  return {file, static_cast<std::uint32_t>(region.begin.line),
          static_cast<std::uint32_t>(region.begin.column)};
}

[[noreturn]] void wrong_type(const Field& field, const SourceLocation& where, std::string_view wanted,
                             std::string_view got) {
  throw UserError(where, fmt::format("'{}' must be {}; this is {}", field.key, wanted, got));
}

void check_range(const Field& field, const SourceLocation& where, double value) {
  if (!(value >= field.low && value <= field.high)) {
    const std::string unit = field.unit.empty() ? "" : " " + field.unit;
    throw UserError(where, fmt::format("'{}' is {}; it must be {} to {}{}", field.key, value, field.low,
                                       field.high, unit));
  }
}

std::string_view kind_text(const toml::node& node) {
  switch (node.type()) {
    case toml::node_type::table: return "a table";
    case toml::node_type::array: return "a list";
    case toml::node_type::string: return "a text";
    case toml::node_type::integer: return "a whole number";
    case toml::node_type::floating_point: return "a number with a fraction";
    case toml::node_type::boolean: return "true or false";
    default: return "a date or time";
  }
}

/// A whole number in a file. For sizes, also a text such as "48K".
std::uint64_t whole_number(const Field& field, const toml::node& node, const SourceLocation& where) {
  if (const auto* integer = node.as_integer()) {
    check_range(field, where, static_cast<double>(integer->get()));
    return static_cast<std::uint64_t>(integer->get());
  }
  if (field.is_size()) {
    if (const auto* text = node.as_string()) {
      const std::optional<std::uint64_t> bytes = parse_bytes(text->get());
      if (!bytes) {
        throw UserError(where,
                        fmt::format("'{}' is not a size: \"{}\"; write bytes, or a text such as \"48K\"",
                                    field.key, text->get()));
      }
      check_range(field, where, static_cast<double>(*bytes));
      return *bytes;
    }
    wrong_type(field, where, "a size in bytes, or a text such as \"48K\"", kind_text(node));
  }
  wrong_type(field, where, "a whole number", kind_text(node));
}

/// Index of the value among the choices; 0 for a free text.
std::uint8_t checked_choice(const Field& field, const SourceLocation& where, const std::string& value) {
  if (!is_one_line(value)) throw UserError(where, fmt::format("'{}' must be on one line", field.key));
  if (field.choices.empty()) return 0;
  const auto found = std::find(field.choices.begin(), field.choices.end(), value);
  if (found != field.choices.end()) return static_cast<std::uint8_t>(found - field.choices.begin());
  throw UserError(where, unknown_choice(fmt::format("value of '{}'", field.key), value, field.choices));
}

void set_from_node(Loading& loading, const Field& field, const toml::node& node, const std::string& file) {
  const SourceLocation where = place(file, node.source());
  std::visit(
      [&](const auto& member) {
        auto& target = member(loading.config);
        using T = std::decay_t<decltype(target)>;
        if constexpr (std::is_same_v<T, bool>) {
          const auto* value = node.as_boolean();
          if (value == nullptr) wrong_type(field, where, "true or false", kind_text(node));
          target = value->get();
        } else if constexpr (std::is_same_v<T, std::string> || std::is_same_v<T, std::uint8_t>) {
          const auto* value = node.as_string();
          if (value == nullptr) wrong_type(field, where, "a text", kind_text(node));
          const std::uint8_t index = checked_choice(field, where, value->get());
          if constexpr (std::is_same_v<T, std::string>) {
            target = value->get();
          } else {
            target = index;
          }
        } else if constexpr (std::is_same_v<T, double>) {
          const std::optional<double> value = node.value<double>();
          if (!value || node.is_boolean()) wrong_type(field, where, "a number", kind_text(node));
          check_range(field, where, *value);
          target = *value;
        } else if constexpr (std::is_same_v<T, LatencyConfig>) {
          const auto* list = node.as_array();
          if (list == nullptr || list->size() != 2) {
            wrong_type(field, where, "a list of two: [latency, initiation interval]",
                       list == nullptr ? kind_text(node) : fmt::format("a list of {}", list->size()));
          }
          target.latency =
              static_cast<std::uint32_t>(whole_number(field, (*list)[0], place(file, (*list)[0].source())));
          target.initiation =
              static_cast<std::uint32_t>(whole_number(field, (*list)[1], place(file, (*list)[1].source())));
        } else if constexpr (std::is_same_v<T, std::vector<std::uint32_t>>) {
          const auto* list = node.as_array();
          if (list == nullptr) wrong_type(field, where, "a list of sizes", kind_text(node));
          target.clear();
          for (const toml::node& part : *list) {
            target.push_back(
                static_cast<std::uint32_t>(whole_number(field, part, place(file, part.source()))));
          }
        } else {
          target = static_cast<T>(whole_number(field, node, where));
        }
      },
      field.access);
}

/// Sets a field from the text of an override.
void set_from_text(Loading& loading, const Field& field, std::string_view text, const SourceLocation& where) {
  const auto whole = [&](std::string_view part) -> std::uint64_t {
    const std::optional<std::uint64_t> value = field.is_size() ? parse_bytes(part) : parse_uint(part);
    if (!value) {
      throw UserError(where, fmt::format("'{}' must be {}; this is '{}'", field.key,
                                         field.is_size() ? "a size such as 48K" : "a whole number", part));
    }
    check_range(field, where, static_cast<double>(*value));
    return *value;
  };
  const auto list = [&]() {
    std::string_view inner = trim(text);
    if (inner.starts_with('[') && inner.ends_with(']')) inner = inner.substr(1, inner.size() - 2);
    std::vector<std::uint32_t> values;
    if (trim(inner).empty()) return values;
    for (const std::string& part : split(inner, ',')) {
      values.push_back(static_cast<std::uint32_t>(whole(trim(part))));
    }
    return values;
  };
  std::visit(
      [&](const auto& member) {
        auto& target = member(loading.config);
        using T = std::decay_t<decltype(target)>;
        if constexpr (std::is_same_v<T, bool>) {
          if (text != "true" && text != "false") {
            throw UserError(where, fmt::format("'{}' must be true or false; this is '{}'", field.key, text));
          }
          target = text == "true";
        } else if constexpr (std::is_same_v<T, std::string>) {
          (void)checked_choice(field, where, std::string(text));
          target = text;
        } else if constexpr (std::is_same_v<T, std::uint8_t>) {
          target = checked_choice(field, where, std::string(text));
        } else if constexpr (std::is_same_v<T, double>) {
          const std::optional<double> value = parse_double(text);
          if (!value) {
            throw UserError(where, fmt::format("'{}' must be a number; this is '{}'", field.key, text));
          }
          check_range(field, where, *value);
          target = *value;
        } else if constexpr (std::is_same_v<T, LatencyConfig>) {
          const std::vector<std::uint32_t> values = list();
          if (values.size() != 2) {
            throw UserError(where, fmt::format("'{}' must be two numbers: latency,initiation interval; this "
                                               "is '{}'",
                                               field.key, text));
          }
          target = {values[0], values[1]};
        } else if constexpr (std::is_same_v<T, std::vector<std::uint32_t>>) {
          target = list();
        } else {
          target = static_cast<T>(whole(text));
        }
      },
      field.access);
}

/// Keys and tables directly inside a table, for messages.
std::vector<std::string> keys_inside(std::string_view table) {
  std::vector<std::string> known;
  if (table.empty()) known.emplace_back("base");
  for (const Field& field : fields()) {
    std::string_view key = field.key;
    if (!table.empty()) {
      if (!key.starts_with(table) || key.size() <= table.size() || key[table.size()] != '.') continue;
      key.remove_prefix(table.size() + 1);
    }
    const std::string child(key.substr(0, key.find('.')));
    if (known.empty() || known.back() != child) known.push_back(child);
  }
  return known;
}

bool is_table(std::string_view path) {
  for (const Field& field : fields()) {
    if (field.key.size() > path.size() && field.key.starts_with(path) && field.key[path.size()] == '.') {
      return true;
    }
  }
  return false;
}

/// The table's name without "sm.": "sm.l1" is another name of "l1".
std::string canonical(std::string_view path) {
  constexpr std::string_view kSm = "sm.";
  if (path.starts_with(kSm) && !is_table(path) && find_field(path) < 0) {
    for (const std::string_view part : {"l1", "shared", "icache", "constant", "texture", "unit", "latency"}) {
      if (path.substr(kSm.size()) == part) return std::string(part);
    }
  }
  return std::string(path);
}

void read_table(Loading& loading, const toml::table& table, const std::string& prefix,
                const std::string& file) {
  for (const auto& [key, node] : table) {
    const std::string path =
        prefix.empty() ? std::string(key.str()) : fmt::format("{}.{}", prefix, key.str());
    if (path == "base") continue;
    const SourceLocation where = place(file, key.source());
    const std::string known_table = canonical(path);
    if (is_table(known_table)) {
      if (!node.is_table()) {
        throw UserError(place(file, node.source()),
                        fmt::format("'{}' must be a table; this is {}", path, kind_text(node)));
      }
      read_table(loading, *node.as_table(), known_table, file);
      continue;
    }
    const int index = find_field(path);
    if (index < 0) {
      const std::string what = prefix.empty() ? "key" : fmt::format("key in [{}]", prefix);
      throw UserError(where, unknown_choice(what, key.str(), keys_inside(prefix)));
    }
    set_from_node(loading, fields()[static_cast<std::size_t>(index)], node, file);
    loading.placed(static_cast<std::size_t>(index), place(file, node.source()));
  }
}

bool is_path(std::string_view name) {
  return name.find('/') != std::string_view::npos || name.ends_with(".toml");
}

std::string_view preset_text(const std::string& name) {
  for (const auto& [preset, text] : embedded::machines) {
    if (preset == name) return text;
  }
  return {};
}

void read_text(Loading& loading, std::string_view text, const std::string& file, int depth);

/// `where`: place of the name, if a file contains it. `folder`: folder of that file.
void read_named(Loading& loading, const std::string& name, const SourceLocation& where,
                const std::string& folder, int depth) {
  if (is_path(name)) {
    const std::string path =
        folder.empty() || name.starts_with('/') ? name : (std::filesystem::path(folder) / name).string();
    read_text(loading, read_file(path), path, depth);
    return;
  }
  const std::string_view text = preset_text(name);
  if (text.empty()) {
    const std::string message = unknown_choice("machine", name, machine_names());
    if (where.file.empty()) throw UserError(message);
    throw UserError(where, message);
  }
  read_text(loading, text, name + ".toml", depth);
}

void read_text(Loading& loading, std::string_view text, const std::string& file, int depth) {
  toml::table root = parse_toml(text, file);
  if (root.empty()) {
    throw UserError(
        SourceLocation{file, 1, 1},
        "this machine file has no keys; begin with `base = \"NAME\"`, one of `gpumux list machines`");
  }
  if (const toml::node* base = root.get("base")) {
    const SourceLocation where = place(file, base->source());
    if (!base->is_string()) {
      throw UserError(
          where, fmt::format("'base' must be a text, the name of a machine; this is {}", kind_text(*base)));
    }
    if (depth >= kMaxBaseDepth) {
      throw UserError(
          where,
          fmt::format("machines based on each other, more than {} deep; is there a circle?", kMaxBaseDepth));
    }
    const std::string name = base->as_string()->get();
    read_named(loading, name, where, std::filesystem::path(file).parent_path().string(), depth + 1);
    loading.config.variant_of = loading.config.name;
  }
  loading.config.name = std::filesystem::path(file).stem().string();
  loading.provenance.file = file;
  read_table(loading, root, "", file);
  if (loading.config.name.empty()) {
    throw UserError(place(file, root.get("name")->source()), "'name' is empty");
  }
}

void apply_override(Loading& loading, const std::string& text, const SourceLocation& where) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos) throw UserError(where, "write KEY=VALUE, such as sm.l1.size=48K");
  const std::string key(trim(std::string_view(text).substr(0, equals)));
  const int index = find_field(key);
  if (index < 0) {
    std::vector<std::string> all;
    for (const Field& field : fields()) all.push_back(field.key);
    if (is_table(canonical(key))) {
      throw UserError(where, fmt::format("'{}' is a table of keys; set one of {}.{}", key, key,
                                         fmt::join(keys_inside(canonical(key)), fmt::format(", {}.", key))));
    }
    // All of some 150 keys would be too long a message, so name those of the table, or the tables.
    const std::size_t dot = key.rfind('.');
    const std::string table = canonical(dot == std::string::npos ? "" : key.substr(0, dot));
    if (!table.empty() && is_table(table)) {
      throw UserError(
          where, unknown_choice(fmt::format("key in [{}]", table), key.substr(dot + 1), keys_inside(table)));
    }
    const std::string nearest = nearest_choice(key, all);
    if (!nearest.empty()) {
      throw UserError(where, fmt::format("unknown key '{}'; did you mean '{}'?", key, nearest));
    }
    throw UserError(where, unknown_choice("key", key, keys_inside("")));
  }
  set_from_text(loading, fields()[static_cast<std::size_t>(index)],
                trim(std::string_view(text).substr(equals + 1)), where);
  loading.placed(static_cast<std::size_t>(index), where);
}

MachineConfig finish(Loading& loading, const std::vector<Override>& overrides) {
  for (const Override& change : overrides) apply_override(loading, change.text, change.where);
  check_consistency(loading.config, loading.provenance);
  return std::move(loading.config);
}

std::vector<Override> from_options(const std::vector<std::string>& texts) {
  std::vector<Override> overrides;
  for (const std::string& text : texts) overrides.push_back({text, {"--set " + text}});
  return overrides;
}

}  // namespace

MachineConfig load_machine_with(const std::string& name_or_path, const std::vector<Override>& overrides) {
  Loading loading;
  read_named(loading, name_or_path, {}, "", 0);
  return finish(loading, overrides);
}

MachineConfig load_machine(const std::string& name_or_path, const std::vector<std::string>& overrides) {
  return load_machine_with(name_or_path, from_options(overrides));
}

MachineConfig parse_machine(std::string_view text, const std::string& file,
                            const std::vector<std::string>& overrides) {
  Loading loading;
  read_text(loading, text, file, 0);
  return finish(loading, from_options(overrides));
}

MachineConfig machine_of_settings(const std::vector<Override>& settings, const std::string& file) {
  Loading loading;
  loading.provenance.file = file;
  return finish(loading, settings);
}

std::vector<std::string> machine_names() {
  std::vector<std::string> names;
  for (const auto& [name, text] : embedded::machines) names.emplace_back(name);
  std::sort(names.begin(), names.end());
  return names;
}

std::string to_toml(const MachineConfig& config) {
  std::string out;
  std::string_view table;
  for (const Field& field : fields()) {
    if (field.table() != table) {
      table = field.table();
      out += fmt::format("\n[{}]\n", table);
    }
    out += fmt::format("{} = {}\n", field.name(), field_text(field, config));
  }
  return out;
}

std::string acting_toml(const MachineConfig& config) {
  MachineConfig acting = config;
  for (std::string* label : {&acting.name, &acting.description, &acting.source, &acting.variant_of})
    label->clear();
  // Only running programs ask for the compute capability, and their runs are not cached.
  acting.runtime.compute_capability = RuntimeConfig().compute_capability;
  return to_toml(acting);
}

}  // namespace gpumux::arch
