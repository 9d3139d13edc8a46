#include "reproduce/template_reader.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/text.hpp"
#include "reproduce/expression.hpp"

namespace gpumux::reproduce {

std::string TemplateReader::filled(const toml::node& node, std::string text, bool as_name) const {
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

std::string TemplateReader::text(const toml::node& node, const char* key, bool as_name) const {
  std::string text = filled(node, toml_.text(node, key), as_name);
  if (text.empty()) toml_.fail(node, fmt::format("'{}' is empty", key));
  return text;
}

std::string TemplateReader::required(const toml::table& table, const char* key,
                                     const std::string& within) const {
  const toml::node* node = table.get(key);
  if (node != nullptr) return text(*node, key, std::string_view(key) == "name");
  if (within.empty()) throw UserError({toml_.file()}, fmt::format("needs '{}'", key));
  toml_.fail(table, fmt::format("{} needs '{}'", within, key));
}

std::vector<std::string> TemplateReader::texts(const toml::node& node, const char* key, bool as_names) const {
  if (!node.is_array()) return {text(node, key, as_names)};
  if (node.as_array()->empty()) toml_.fail(node, fmt::format("'{}' is an empty list", key));
  std::vector<std::string> list = toml_.texts(node, key);
  for (std::string& text : list) text = filled(node, std::move(text), as_names);
  return list;
}

std::vector<Binding> TemplateReader::dimension(const toml::node& node, const char* key) const {
  const toml::table* table = node.as_table();
  if (table == nullptr || table->size() != 1) {
    toml_.fail(node, fmt::format("'{}' must have one name: {}.policy = [\"ws\", \"spatial\"]", key, key));
  }
  const auto only = table->begin();
  const std::string name(only->first.str());
  const toml::node& values = only->second;
  std::vector<Binding> list;
  if (const toml::table* labelled = values.as_table()) {
    // The TOML reader sorts keys by the alphabet, so the order of the file is restored.
    std::vector<std::pair<toml::source_position, Binding>> placed;
    for (const auto& [label, value] : *labelled) {
      placed.emplace_back(label.source().begin,
                          Binding{name, std::string(label.str()), toml_.text(value, key)});
    }
    std::sort(placed.begin(), placed.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    for (auto& [position, binding] : placed) {
      binding.index = list.size();
      list.push_back(std::move(binding));
    }
  } else {
    for (const std::string& value : toml_.texts(values, key))
      list.push_back({name, value, value, list.size()});
  }
  if (list.empty()) toml_.fail(values, fmt::format("'{}' is empty", name));
  return list;
}

}  // namespace gpumux::reproduce
