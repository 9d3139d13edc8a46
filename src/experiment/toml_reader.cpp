#include "experiment/toml_reader.hpp"

#include <fmt/format.h>

#include "base/text.hpp"
#include "base/toml_text.hpp"

namespace gpumux::experiment {

toml::table TomlReader::parse(std::string_view text) const {
  try {
    check_toml_characters(text, file_);
    return toml::parse(text, std::string_view(file_));
  } catch (const toml::parse_error& error) {
    throw UserError(place(error.source()), std::string(error.description()));
  }
}

SourceLocation TomlReader::place(const toml::source_region& region) const {
  // What comes from another file, such as the base of a sweep, says so itself.
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

AppArguments TomlReader::app(const toml::table& table, const std::vector<std::string>& more) const {
  std::vector<std::string> known = {"app", "grid", "block", "shared", "args", "symbols"};
  known.insert(known.end(), more.begin(), more.end());
  AppArguments app;
  for (const auto& [key, value] : table) {
    check_key(key, known, "key in [[apps]]");
    if (key == "app") app.app = text(value, "app");
    if (key == "grid") app.grid = dimensions(value, "grid");
    if (key == "block") app.block = dimensions(value, "block");
    if (key == "shared") {
      app.shared = value.is_integer() ? fmt::format("{}", whole(value, "shared", 0)) : text(value, "shared");
    }
    if (key == "args") app.args = texts(value, "args");
    if (key == "symbols") app.symbols = texts(value, "symbols");
  }
  return app;
}

}  // namespace gpumux::experiment
