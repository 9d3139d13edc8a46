#include "policy/level_arguments.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "base/error.hpp"
#include "base/text.hpp"

namespace gpumux::policy {

LevelArguments::LevelArguments(std::string level, std::string name, const std::string& text)
    : where_(std::move(level) + "=" + std::move(name)) {
  if (text.empty()) return;
  for (const std::string& part : split(text, '/')) {
    const std::size_t equals = part.find('=');
    if (equals == std::string::npos)
      throw UserError(fmt::format("{}:{}: '{}' must be key=value", where_, text, part));
    given_.emplace_back(trim(part.substr(0, equals)), trim(part.substr(equals + 1)));
  }
}

const std::string* LevelArguments::find(const std::string& key) {
  known_.push_back(key);
  for (const auto& [name, value] : given_)
    if (name == key) return &value;
  return nullptr;
}

std::uint64_t LevelArguments::whole(const std::string& key, std::uint64_t fallback, std::uint64_t least,
                                    std::uint64_t most) {
  const std::string* value = find(key);
  if (value == nullptr) return fallback;
  const std::optional<std::uint64_t> number = parse_uint(*value);
  if (!number || *number < least || *number > most)
    throw UserError(
        fmt::format("{}: {}={} must be a whole number from {} to {}", where_, key, *value, least, most));
  return *number;
}

double LevelArguments::real(const std::string& key, double fallback, double least, double most) {
  const std::string* value = find(key);
  if (value == nullptr) return fallback;
  const std::optional<double> number = parse_double(*value);
  if (!number || !(*number >= least && *number <= most))
    throw UserError(
        fmt::format("{}: {}={} must be a number from {} to {}", where_, key, *value, least, most));
  return *number;
}

std::string LevelArguments::choice(const std::string& key, const std::string& fallback,
                                   const std::vector<std::string>& choices) {
  const std::string* value = find(key);
  if (value == nullptr) return fallback;
  if (std::find(choices.begin(), choices.end(), *value) != choices.end()) return *value;
  throw UserError(fmt::format("{}: {}", where_, unknown_choice("value of " + key, *value, choices)));
}

void LevelArguments::done() const {
  for (const auto& [name, value] : given_)
    if (std::find(known_.begin(), known_.end(), name) == known_.end())
      throw UserError(fmt::format("{}: {}", where_, unknown_choice("setting", name, known_)));
}

}  // namespace gpumux::policy
