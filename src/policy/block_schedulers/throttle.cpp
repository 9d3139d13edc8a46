#include "policy/block_schedulers/throttle.hpp"

#include <fmt/core.h>

#include "base/error.hpp"
#include "base/text.hpp"

namespace gpumux::policy {

BlockArguments::BlockArguments(std::string scheduler, const std::string& text)
    : scheduler_(std::move(scheduler)) {
  if (text.empty()) return;
  for (const std::string& part : split(text, '/')) {
    const std::size_t equals = part.find('=');
    if (equals == std::string::npos)
      throw UserError(fmt::format("blocks={}:{}: '{}' must be key=value", scheduler_, text, part));
    given_.emplace_back(trim(part.substr(0, equals)), trim(part.substr(equals + 1)));
  }
}

std::uint64_t BlockArguments::whole(const std::string& key, std::uint64_t fallback, std::uint64_t least,
                                    std::uint64_t most) {
  known_.push_back(key);
  for (const auto& [name, value] : given_) {
    if (name != key) continue;
    const std::optional<std::uint64_t> number = parse_uint(value);
    if (!number || *number < least || *number > most)
      throw UserError(fmt::format("blocks={}: {}={} must be a whole number from {} to {}", scheduler_, key,
                                  value, least, most));
    return *number;
  }
  return fallback;
}

std::string BlockArguments::choice(const std::string& key, const std::string& fallback,
                                   const std::vector<std::string>& choices) {
  known_.push_back(key);
  for (const auto& [name, value] : given_) {
    if (name != key) continue;
    if (std::find(choices.begin(), choices.end(), value) != choices.end()) return value;
    throw UserError(
        fmt::format("blocks={}: {}", scheduler_, unknown_choice("value of " + key, value, choices)));
  }
  return fallback;
}

void BlockArguments::done() const {
  for (const auto& [name, value] : given_)
    if (std::find(known_.begin(), known_.end(), name) == known_.end())
      throw UserError(fmt::format("blocks={}: {}", scheduler_, unknown_choice("setting", name, known_)));
}

}  // namespace gpumux::policy
