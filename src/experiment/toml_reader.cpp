#include "experiment/toml_reader.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "base/text.hpp"
#include "base/toml_text.hpp"
#include "experiment/arrivals.hpp"

namespace gpumux::experiment {

toml::table TomlReader::parse(std::string_view text) const { return parse_toml(text, file_); }

SourceLocation TomlReader::place(const toml::source_region& region) const {
  // A value from another file, such as the base of a sweep, carries the path of that file.
  return {region.path ? *region.path : file_, static_cast<std::uint32_t>(region.begin.line),
          static_cast<std::uint32_t>(region.begin.column)};
}

void TomlReader::fail(const toml::node& node, const std::string& message) const {
  throw UserError(place(node.source()), message);
}

void TomlReader::check_key(const toml::key& key, const std::vector<std::string>& known,
                           const char* what) const {
  for (const std::string& choice : known) {
    if (key.str() == choice) return;
  }
  throw UserError(place(key.source()), unknown_choice(what, key.str(), known));
}

std::string TomlReader::text(const toml::node& node, const char* key) const {
  if (!node.is_string()) fail(node, fmt::format("'{}' must be a text", key));
  return node.as_string()->get();
}

std::uint64_t TomlReader::whole(const toml::node& node, const char* key, std::int64_t low) const {
  if (!node.is_integer() || node.as_integer()->get() < low) {
    fail(node, fmt::format("'{}' must be a whole number of at least {}", key, low));
  }
  return static_cast<std::uint64_t>(node.as_integer()->get());
}

bool TomlReader::flag(const toml::node& node, const char* key) const {
  if (!node.is_boolean()) fail(node, fmt::format("'{}' must be true or false", key));
  return node.as_boolean()->get();
}

std::vector<std::string> TomlReader::texts(const toml::node& node, const char* key) const {
  if (!node.is_array()) fail(node, fmt::format("'{}' must be a list of texts", key));
  std::vector<std::string> values;
  for (const toml::node& part : *node.as_array()) values.push_back(text(part, key));
  return values;
}

std::string TomlReader::dimensions(const toml::node& node, const char* key) const {
  if (node.is_string()) return node.as_string()->get();
  if (node.is_integer()) return fmt::format("{}", whole(node, key, 1));
  if (!node.is_array()) fail(node, fmt::format("'{}' must be X, [X, Y] or [X, Y, Z]", key));
  std::string out;
  for (const toml::node& part : *node.as_array()) {
    out += fmt::format("{}{}", out.empty() ? "" : ",", whole(part, key, 1));
  }
  return out;
}

std::vector<std::uint64_t> TomlReader::wholes(const toml::node& node, const char* key,
                                              std::int64_t low) const {
  if (!node.is_array()) return {whole(node, key, low)};
  std::vector<std::uint64_t> values;
  for (const toml::node& part : *node.as_array()) values.push_back(whole(part, key, low));
  return values;
}

template <typename Launch>
bool TomlReader::launch_key(const toml::key& key, const toml::node& value, Launch& launch) const {
  if (key == "grid") {
    launch.grid = dimensions(value, "grid");
  } else if (key == "block") {
    launch.block = dimensions(value, "block");
  } else if (key == "shared") {
    launch.shared = value.is_integer() ? fmt::format("{}", whole(value, "shared", 0)) : text(value, "shared");
  } else if (key == "args") {
    launch.args = texts(value, "args");
  } else if (key == "symbols") {
    launch.symbols = texts(value, "symbols");
  } else {
    return false;
  }
  return true;
}

LaunchArguments TomlReader::launch(const toml::node& node) const {
  static const std::vector<std::string> kKeys = {"kernel", "grid",    "block",  "shared",
                                                 "args",   "symbols", "stream", "after"};
  if (!node.is_table()) fail(node, "each of 'launches' must be a table: [[apps.launches]]");
  LaunchArguments launch;
  launch.where = place(node.source());
  for (const auto& [key, value] : *node.as_table()) {
    check_key(key, kKeys, "key in [[apps.launches]]");
    if (launch_key(key, value, launch)) continue;
    if (key == "kernel") launch.kernel = text(value, "kernel");
    if (key == "stream") launch.stream = whole(value, "stream", 0);
    if (key == "after") launch.after = wholes(value, "after", 1);
  }
  if (launch.kernel.empty()) fail(node, "a launch needs 'kernel', such as kernel = \"k.ptx:scale\"");
  return launch;
}

std::string TomlReader::setting(const toml::node& node, const toml::key& key) const {
  const std::string name(key.str());
  if (node.is_integer()) return fmt::format("{}", whole(node, name.c_str(), 0));
  std::string value = text(node, name.c_str());
  if (value.find_first_of(",:") != std::string::npos && !value.starts_with("poisson:"))
    fail(node, fmt::format("'{}' must be one value, without ',' and ':'", name));
  return value;
}

void TomlReader::check_program(const toml::table& table, const AppArguments& app) const {
  // With several kernels, the keys of a kernel belong to its launches. Without launches, an application has
  // no buffers.
  for (const auto& [key, value] : table) {
    const bool of_launch =
        key == "grid" || key == "block" || key == "shared" || key == "args" || key == "symbols";
    const bool of_program = key == "buffers" || key == "repeat";
    if (!app.launches.empty() && of_launch)
      fail(value, fmt::format("'{}' belongs to each of 'launches' here", key.str()));
    if (app.launches.empty() && of_program)
      fail(value, fmt::format("'{}' is for applications with 'launches'", key.str()));
  }
}

AppArguments TomlReader::app(const toml::table& table, const std::vector<std::string>& more) const {
  std::vector<std::string> known = {"app",     "grid",    "block",    "shared", "args",
                                    "symbols", "buffers", "launches", "repeat"};
  known.insert(known.end(), kArrivalKeys.begin(), kArrivalKeys.end());
  known.insert(known.end(), more.begin(), more.end());
  AppArguments app;
  std::string arrivals;  // as settings after the application's name
  app.where = place(table.source());
  for (const auto& [key, value] : table) {
    check_key(key, known, "key in [[apps]]");
    if (launch_key(key, value, app)) continue;
    if (key == "app") app.app = text(value, "app");
    if (key == "repeat") app.repeat = whole(value, "repeat", 1);
    if (std::find(kArrivalKeys.begin(), kArrivalKeys.end(), key.str()) != kArrivalKeys.end())
      arrivals += fmt::format("{}{}={}", arrivals.empty() ? "" : ",", key.str(), setting(value, key));
    if (key == "buffers") {
      if (!value.is_table()) fail(value, "'buffers' must be a table: buffers = {x = \"zero:f32[64]\"}");
      for (const auto& [name, buffer] : *value.as_table())
        app.buffers.emplace_back(std::string(name.str()), text(buffer, std::string(name.str()).c_str()));
    }
    if (key == "launches") {
      if (!value.is_array() || value.as_array()->empty())
        fail(value, "'launches' must be a list of tables: [[apps.launches]]");
      for (const toml::node& part : *value.as_array()) app.launches.push_back(launch(part));
    }
  }
  check_program(table, app);
  if (!app.app.empty() && !arrivals.empty())
    app.app += (app.app.find(':') == std::string::npos ? ':' : ',') + arrivals;
  return app;
}

}  // namespace gpumux::experiment
