#include "policy/memory_scheme.hpp"

#include <algorithm>
#include <optional>

#include "base/error.hpp"
#include "base/text.hpp"
#include "policy/mechanism_table.hpp"

namespace gpumux::policy {
namespace {

using arch::MemoryScheme;

MechanismTable<MemorySchemeInfo>& memory_scheme_table() {
  static MechanismTable<MemorySchemeInfo> schemes;
  return schemes;
}

UserError bad_value(const std::string& scheme, const std::string& key, const std::string& value,
                    const std::string& wanted) {
  return UserError(fmt::format("memory={}: {}='{}' must be {}", scheme, key, value, wanted));
}

/// The application in a key of the per-application setting: 12 for "k12" if the setting is "k".
std::optional<std::uint32_t> application(const MemorySchemeInfo& scheme, const std::string& key) {
  const std::string& prefix = scheme.per_app.key;
  if (prefix.empty() || !key.starts_with(prefix)) return std::nullopt;
  const std::string number = key.substr(prefix.size());
  if (number.empty() || number.size() > 2 || (number.size() == 2 && number[0] == '0')) return std::nullopt;
  if (!std::all_of(number.begin(), number.end(), [](char c) { return c >= '0' && c <= '9'; }))
    return std::nullopt;
  return static_cast<std::uint32_t>(*parse_uint(number));
}

}  // namespace

bool register_memory_scheme(MemorySchemeInfo info, std::string_view path) {
  return memory_scheme_table().add(std::move(info), path);
}

const std::vector<MemorySchemeInfo>& memory_schemes() { return memory_scheme_table().all(); }

const MemorySchemeInfo& memory_scheme_info(const std::string& name) {
  if (const MemorySchemeInfo* info = memory_scheme_table().find(name)) return *info;
  throw UserError(unknown_choice("memory scheme", name, memory_scheme_table().names()));
}

bool is_memory_setting(const MemorySchemeInfo& scheme, const std::string& key) {
  return application(scheme, key) ||
         std::any_of(scheme.settings.begin(), scheme.settings.end(),
                     [&](const MemorySetting& setting) { return key == setting.key; });
}

MemoryScheme memory_scheme(const std::string& name, const Settings& settings) {
  MemoryScheme made;
  if (name.empty()) return made;
  const MemorySchemeInfo& scheme = memory_scheme_info(name);
  scheme.begin(made);
  for (const auto& [key, value] : settings) {
    if (const std::optional<std::uint32_t> app = application(scheme, key)) {
      if (*app >= kMaxApps)
        throw_memory_error(
            name, fmt::format("a run has at most {} applications, {}0 to {}{}; there is no {}", kMaxApps,
                              scheme.per_app.key, scheme.per_app.key, kMaxApps - 1, key));
      if (!scheme.per_app.apply(made.limits[*app], value))
        throw bad_value(name, key, value, scheme.per_app.wanted);
      continue;
    }
    for (const MemorySetting& setting : scheme.settings)
      if (key == setting.key && !setting.apply(made, value))
        throw bad_value(name, key, value, setting.wanted);
  }
  return made;
}

Settings canonical_memory_settings(const std::string& name, const Settings& settings) {
  Settings canonical;
  if (name.empty()) return canonical;
  const MemorySchemeInfo& scheme = memory_scheme_info(name);
  for (const auto& [key, value] : settings) {
    const std::optional<std::uint64_t> number = parse_uint(value);
    const std::string text = number ? std::to_string(*number) : value;
    std::string initial = scheme.per_app.initial;
    for (const MemorySetting& setting : scheme.settings)
      if (key == setting.key) initial = setting.initial;
    if (text != initial) canonical[key] = text;
  }
  return canonical;
}

void check_memory_scheme(const PolicyChoice& choice, const arch::MachineConfig& config, std::size_t apps) {
  if (choice.memory.empty()) return;
  const MemorySchemeInfo& info = memory_scheme_info(choice.memory);
  const MemoryScheme scheme = memory_scheme(choice.memory, choice.memory_settings);
  for (const auto& [key, value] : choice.memory_settings) {
    const std::optional<std::uint32_t> app = application(info, key);
    if (app && *app >= apps)
      throw_memory_error(
          choice.memory,
          fmt::format("{}={}, but the run has {} application{}: {}0{}", key, value, apps,
                      apps == 1 ? "" : "s", info.per_app.key,
                      apps == 1 ? std::string() : fmt::format(" to {}{}", info.per_app.key, apps - 1)));
  }
  if (info.check != nullptr) info.check(scheme, choice.memory, config, apps);
}

void throw_memory_error(const std::string& name, const std::string& what) {
  throw UserError(fmt::format("memory={}: {}", name, what));
}

bool set_flag(bool& flag, const std::string& value, const char* yes, const char* no) {
  if (value != yes && value != no) return false;
  flag = value == yes;
  return true;
}

}  // namespace gpumux::policy
