// How a memory scheme plugs in: who issues memory instructions first, how many may be in flight, and how L1
// is divided, over any partition of thread blocks and any warp scheduler. The mechanisms are the SM's
// (sm/memory_control.hpp, sm/way_partition.hpp); a scheme is one file in memory_schemes/ that says which of
// them it uses, with which settings, and registers itself under the name that users type (`memory=NAME`).
#pragma once

#include <bit>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "arch/config.hpp"
#include "arch/memory_scheme.hpp"
#include "policy/policy.hpp"

namespace gpumux::policy {

/// A setting of a scheme: how its text changes what the SMs do (false: a bad value), and what its default is.
struct MemorySetting {
  std::string key;
  std::string description;  // with range and default
  std::string wanted;       // "a power of two from 64 to 65536"
  std::string initial;
  std::function<bool(arch::MemoryScheme& scheme, const std::string& value)> apply;
};

struct MemorySchemeInfo {
  std::string name;
  std::string description;  // one line, with its source
  std::vector<MemorySetting> settings;
  void (*begin)(arch::MemoryScheme& scheme);
  /// A setting of this key for each application: "k" stands for k0, k1, ...; `apply` gets its value.
  struct PerApp {
    std::string key, description, wanted, initial;
    bool (*apply)(std::uint32_t& limit, const std::string& value);
  };
  PerApp per_app = {};
  /// Throws UserError when the scheme is impossible for so many applications on the machine.
  void (*check)(const arch::MemoryScheme& scheme, const std::string& name, const arch::MachineConfig& machine,
                std::size_t apps) = nullptr;
  std::string file = {};  // that registers it, without folders; register_memory_scheme() fills it in
};

/// `path`: of the calling file.
bool register_memory_scheme(MemorySchemeInfo info, std::string_view path = __builtin_FILE());
[[nodiscard]] const std::vector<MemorySchemeInfo>& memory_schemes();  // sorted by name
/// Throws UserError for unknown names.
[[nodiscard]] const MemorySchemeInfo& memory_scheme_info(const std::string& name);
/// `key` is a setting of the scheme ("k3" of smil).
[[nodiscard]] bool is_memory_setting(const MemorySchemeInfo& scheme, const std::string& key);
/// The scheme that a name says, empty: none. Throws UserError for unknown names and bad values.
[[nodiscard]] arch::MemoryScheme memory_scheme(const std::string& name, const Settings& settings);
/// Without settings that have their default value, numbers as they are written usually.
[[nodiscard]] Settings canonical_memory_settings(const std::string& name, const Settings& settings);
/// Throws UserError when the choice's scheme is impossible for so many applications on the machine.
void check_memory_scheme(const PolicyChoice& choice, const arch::MachineConfig& config, std::size_t apps);

/// "memory=NAME: what is wrong".
[[noreturn]] void throw_memory_error(const std::string& name, const std::string& what);
/// Of a setting that takes two words.
[[nodiscard]] bool set_flag(bool& flag, const std::string& value, const char* yes, const char* no);

}  // namespace gpumux::policy
