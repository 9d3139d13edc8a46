#include <algorithm>
#include <array>

#include "base/error.hpp"
#include "base/text.hpp"
#include "policy/policy.hpp"

namespace gpumux::policy {
namespace {

std::vector<PolicyInfo>& table() {
  static std::vector<PolicyInfo> policies;
  return policies;
}

const PolicyInfo& find(const std::string& name) {
  std::vector<std::string> known;
  for (const PolicyInfo& info : table()) {
    if (info.name == name) return info;
    known.push_back(info.name);
  }
  throw UserError(unknown_choice("policy", name, known));
}

std::pair<std::string, std::string> key_and_value(const std::string& part) {
  const std::size_t equals = part.find('=');
  if (equals == std::string::npos) {
    throw UserError(fmt::format("policy setting '{}' must be key=value", part));
  }
  return {std::string(trim(part.substr(0, equals))), std::string(trim(part.substr(equals + 1)))};
}

constexpr std::array<const char*, 2> kWarpSchedulers = {"gto", "lrr"};

}  // namespace

bool register_policy(PolicyInfo info) {
  std::vector<PolicyInfo>& policies = table();
  const auto at =
      std::lower_bound(policies.begin(), policies.end(), info.name,
                       [](const PolicyInfo& a, const std::string& name) { return a.name < name; });
  GPUMUX_CHECK(at == policies.end() || at->name != info.name);
  policies.insert(at, std::move(info));
  return true;
}

const std::vector<PolicyInfo>& policies() { return table(); }

PolicyChoice parse_choice(std::string_view text) {
  PolicyChoice choice;
  choice.text = std::string(text);
  std::vector<std::string> parts = split(text, ',');
  // "name:key=value" begins the settings; later parts are settings too, or levels.
  const std::size_t colon = parts[0].find(':');
  choice.name = std::string(trim(parts[0].substr(0, colon)));
  const PolicyInfo& info = find(choice.name);
  if (colon == std::string::npos) {
    parts.erase(parts.begin());
  } else {
    parts[0] = parts[0].substr(colon + 1);
  }
  std::vector<std::string> known = {"warps"};
  for (const auto& [key, description] : info.settings) known.push_back(key);
  for (const std::string& part : parts) {
    const auto [key, value] = key_and_value(part);
    if (key == "warps") {
      if (std::find(kWarpSchedulers.begin(), kWarpSchedulers.end(), value) == kWarpSchedulers.end()) {
        const std::vector<std::string> schedulers(kWarpSchedulers.begin(), kWarpSchedulers.end());
        throw UserError(unknown_choice("warp scheduler", value, schedulers));
      }
      choice.warps = value;
    } else if (std::find(known.begin(), known.end(), key) == known.end()) {
      throw UserError(fmt::format("policy {}: {}", choice.name, unknown_choice("setting", key, known)));
    } else {
      choice.settings[key] = value;
    }
  }
  (void)create(choice);  // a bad value is an error now, not when the run starts
  return choice;
}

std::string canonical_text(const PolicyChoice& choice) {
  std::string text = choice.name;
  char separator = ':';
  for (const auto& [key, value] : choice.settings) {
    text += fmt::format("{}{}={}", separator, key, value);
    separator = ',';
  }
  if (!choice.warps.empty()) text += fmt::format(",warps={}", choice.warps);
  return text;
}

std::unique_ptr<Policy> create(const PolicyChoice& choice) {
  return find(choice.name).create(choice.settings);
}

}  // namespace gpumux::policy
