#include <algorithm>

#include "base/error.hpp"
#include "base/text.hpp"
#include "policy/block_scheduler.hpp"
#include "policy/concurrency_control.hpp"
#include "policy/core_control.hpp"
#include "policy/mechanism_table.hpp"
#include "policy/memory_scheme.hpp"
#include "policy/policy.hpp"

namespace gpumux::policy {
namespace {

MechanismTable<PolicyInfo>& policy_table() {
  static MechanismTable<PolicyInfo> policies;
  return policies;
}

/// A name that may stand alone in place of a policy, with the level that it belongs to. Memory schemes are
/// not among them, because their settings follow a comma.
struct LoneName {
  std::string name;
  const char* level;
};
std::vector<LoneName> lone_names() {
  std::vector<LoneName> names = {{std::string(kNoConcurrencyControl), "concurrency"}};
  for (const ConcurrencyControlInfo& info : concurrency_controls())
    names.push_back({info.name, "concurrency"});
  for (const BlockSchedulerInfo& info : block_schedulers()) names.push_back({info.name, "blocks"});
  for (const CoreControlInfo& info : core_controls()) names.push_back({info.name, "cores"});
  for (const std::string& name : arch::warp_scheduler_names()) names.push_back({name, "warps"});
  for (const char* name : {"ccws", "swl"}) names.push_back({name, "warps"});
  return names;
}

const PolicyInfo& find(const std::string& name) {
  if (const PolicyInfo* info = policy_table().find(name)) return *info;
  std::vector<std::string> known = policy_table().names();
  // There are many names of a policy joined with a memory scheme, so only the one closest to `name` is
  // suggested.
  std::vector<std::string> joined;
  for (const PolicyInfo& info : policy_table().all())
    for (const MemorySchemeInfo& scheme : memory_schemes()) joined.push_back(info.name + "-" + scheme.name);
  if (const std::string nearest = nearest_choice(name, joined);
      nearest_choice(name, known).empty() && !nearest.empty())
    known.push_back(nearest);
  std::vector<std::string> lone;
  for (const LoneName& of : lone_names()) lone.push_back(of.name);
  if (const std::string nearest = nearest_choice(name, lone);
      nearest_choice(name, known).empty() && !nearest.empty())
    known.push_back(nearest);
  throw UserError(unknown_choice("policy", name, known));
}

/// Splits a joined name: "ws-smil" is ws with memory=smil, unless a policy has the whole name. If several
/// schemes end the name, the longest applies.
void split_joined_name(PolicyChoice& choice) {
  const std::string name = choice.name;
  const auto is_policy = [](const std::string& text) { return policy_table().find(text) != nullptr; };
  if (is_policy(name)) return;
  for (const MemorySchemeInfo& scheme : memory_schemes()) {
    const std::string end = "-" + scheme.name;
    if (!name.ends_with(end) || scheme.name.size() <= choice.memory.size()) continue;
    const std::string partition = name.substr(0, name.size() - end.size());
    if (!is_policy(partition)) continue;
    choice.name = partition;
    choice.memory = scheme.name;
  }
}

/// Adds the level to a name that stands alone: "cm-bal:2" becomes concurrency=cm-bal:2, "dyncta" becomes
/// blocks=dyncta.
void name_level(std::string& first_part) {
  const std::string name(trim(std::string_view(first_part).substr(0, first_part.find(':'))));
  if (policy_table().find(name) != nullptr) return;
  for (const LoneName& of : lone_names()) {
    if (of.name != name) continue;
    first_part = fmt::format("{}={}", of.level, trim(first_part));
    return;
  }
}

bool is_setting(const PolicyInfo& info, const std::string& key) {
  return std::any_of(info.settings.begin(), info.settings.end(),
                     [&](const auto& setting) { return setting.first == key; });
}

constexpr const char* kLevels[] = {"warps", "blocks", "cores", "concurrency", "memory"};
bool is_level(std::string_view key) {
  return std::any_of(std::begin(kLevels), std::end(kLevels),
                     [&](const char* level) { return trim(key) == level; });
}

/// Splits "key=value". `bare`: the key of a value without `key=`; empty: such a value is an error.
std::pair<std::string, std::string> key_and_value(const std::string& part, const std::string& bare) {
  const std::size_t equals = part.find('=');
  if (equals == std::string::npos) {
    if (!bare.empty()) return {bare, std::string(trim(part))};
    throw UserError(fmt::format("policy setting '{}' must be key=value", part));
  }
  return {std::string(trim(part.substr(0, equals))), std::string(trim(part.substr(equals + 1)))};
}

}  // namespace

bool register_policy(PolicyInfo info, std::string_view path) {
  return policy_table().add(std::move(info), path);
}

const std::vector<PolicyInfo>& policies() { return policy_table().all(); }

PolicyChoice parse_choice(std::string_view text) {
  PolicyChoice choice;
  choice.text = std::string(text);
  std::vector<std::string> parts = split(text, ',');
  name_level(parts[0]);
  // The first part may be "name:key=value"; later parts are settings or levels.
  const bool levels_alone = is_level(parts[0].substr(0, parts[0].find('=')));
  const std::size_t colon = levels_alone ? std::string::npos : parts[0].find(':');
  choice.name = levels_alone ? kUsualPolicy : trim(parts[0].substr(0, colon));
  split_joined_name(choice);
  const PolicyInfo& info = find(choice.name);
  if (colon != std::string::npos) {
    parts[0] = parts[0].substr(colon + 1);
  } else if (!levels_alone) {
    parts.erase(parts.begin());
  }
  std::vector<std::string> known(std::begin(kLevels), std::end(kLevels));
  for (const auto& [key, description] : info.settings) known.push_back(key);
  const auto know_memory = [&](const MemorySchemeInfo& scheme) {
    if (!scheme.per_app.key.empty())
      known.push_back(scheme.per_app.key + "0, " + scheme.per_app.key + "1, ...");
    for (const MemorySetting& setting : scheme.settings) known.push_back(setting.key);
    return &scheme;
  };
  const MemorySchemeInfo* memory =
      choice.memory.empty() ? nullptr : know_memory(memory_scheme_info(choice.memory));
  for (const std::string& part : parts) {
    const auto [key, value] = key_and_value(part, info.bare);
    if (key == "warps") {
      (void)arch::parse_warps(value);
      choice.warps = value;
    } else if (key == "blocks") {
      (void)create_block_scheduler(value);
      choice.blocks = value == kUsualBlockScheduler ? "" : value;
    } else if (key == "cores") {
      (void)create_core_control(value);
      choice.cores = value == kAllCores ? "" : value;
    } else if (key == "concurrency") {
      (void)create_concurrency_control(value);
      choice.concurrency = value == kNoConcurrencyControl ? "" : value;
    } else if (key == "memory") {
      if (memory != nullptr)
        throw UserError(
            fmt::format("policy {}: two memory schemes, {} and {}; give one", text, choice.memory, value));
      memory = know_memory(memory_scheme_info(value));
      choice.memory = value;
    } else if (const std::string of_memory = choice.memory + ".";
               memory != nullptr && key.starts_with(of_memory) &&
               is_memory_setting(*memory, key.substr(of_memory.size()))) {
      choice.memory_settings[key.substr(of_memory.size())] = value;
    } else if (const std::string of_policy = choice.name + ".";
               key.starts_with(of_policy) && is_setting(info, key.substr(of_policy.size()))) {
      choice.settings[key.substr(of_policy.size())] = value;
    } else if (memory != nullptr && is_memory_setting(*memory, key)) {
      if (is_setting(info, key))
        throw UserError(
            fmt::format("policy {}: {}= is a setting of {} and of memory={}: write {}.{}= or {}.{}=", text,
                        key, choice.name, choice.memory, choice.name, key, choice.memory, key));
      choice.memory_settings[key] = value;
    } else if (std::find(known.begin(), known.end(), key) == known.end()) {
      throw UserError(fmt::format("policy {}: {}", choice.name, unknown_choice("setting", key, known)));
    } else if (part.find('=') == std::string::npos && choice.settings.contains(key)) {
      throw UserError(fmt::format("policy {}: {}= is given twice, as '{}' and '{}'; parts are separated by /",
                                  choice.name, key, choice.settings[key], value));
    } else {
      choice.settings[key] = value;
    }
  }
  const std::unique_ptr<Policy> policy =
      create(choice);  // a bad value is an error now, not when the run starts
  if (const std::string_view why = policy->needs_all_sms(); !choice.cores.empty() && !why.empty())
    throw UserError(
        fmt::format("policy {}: cores={} cannot go with {}, which {}", text, choice.cores, choice.name, why));
  if (!choice.concurrency.empty() && policy->isolates())
    throw UserError(
        fmt::format("policy {}: concurrency={} cannot go with {}, whose applications feel nothing of each "
                    "other: it decides by what all do to memory",
                    text, choice.concurrency, choice.name));
  if (!choice.concurrency.empty() && !choice.warps.empty() && arch::parse_warps(choice.warps).limit != 0)
    throw UserError(fmt::format(
        "policy {}: concurrency={} cannot go with warps={}, which fixes the number of warps that it sets",
        text, choice.concurrency, choice.warps));
  (void)memory_scheme(choice.memory, choice.memory_settings);
  return choice;
}

std::string canonical_text(const PolicyChoice& choice) {
  std::string text = choice.name;
  char separator = ':';
  for (const auto& [key, value] : choice.settings) {
    text += fmt::format("{}{}={}", separator, key, value);
    separator = ',';
  }
  if (!choice.memory.empty()) text += ",memory=" + choice.memory;
  for (const auto& [key, value] : canonical_memory_settings(choice.memory, choice.memory_settings)) {
    const bool is_both = is_setting(find(choice.name), key);
    text += fmt::format(",{}{}={}", is_both ? choice.memory + "." : "", key, value);
  }
  if (!choice.blocks.empty()) text += fmt::format(",blocks={}", choice.blocks);
  if (!choice.cores.empty()) text += fmt::format(",cores={}", choice.cores);
  if (!choice.concurrency.empty()) text += fmt::format(",concurrency={}", choice.concurrency);
  if (!choice.warps.empty()) text += fmt::format(",warps={}", choice.warps);
  return text;
}

void check_choice(const PolicyChoice& choice, const arch::MachineConfig& config, std::size_t apps) {
  create(choice)->check(config, apps);
  check_memory_scheme(choice, config, apps);
  if (const std::unique_ptr<CoreControl> cores = create_core_control(choice.cores)) cores->check(config);
  if (const auto concurrency = create_concurrency_control(choice.concurrency)) concurrency->check(config);
}

std::unique_ptr<Policy> create(const PolicyChoice& choice) {
  return find(choice.name).create(choice.settings);
}

}  // namespace gpumux::policy
