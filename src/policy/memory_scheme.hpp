// Interface of memory schemes: which application issues memory instructions first, how many may be in flight,
// and how L1 is divided. A memory scheme works with any sharing policy and any warp scheduler. The mechanisms
// are in the SM (sm/memory_control.hpp, sm/way_partition.hpp); a scheme is one file in memory_schemes/ that
// selects mechanisms and settings, and registers itself under the name that users type (`memory=NAME`).
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

/// A setting of a memory scheme. `apply` changes what the SMs do, and returns false for a bad value.
/// `initial`: the default.
struct MemorySetting {
  std::string key;
  std::string description;  // with range and default
  std::string wanted;       // for errors: "a power of two from 64 to 65536"
  std::string initial;
  std::function<bool(arch::MemoryScheme& scheme, const std::string& value)> apply;
};

struct MemorySchemeInfo {
  std::string name;
  std::string description;  // one line, with its source
  std::vector<MemorySetting> settings;
  void (*begin)(arch::MemoryScheme& scheme);
  /// A setting for each application: key "k" stands for k0, k1, ... `apply` gets the value.
  struct PerApp {
    std::string key, description, wanted, initial;
    bool (*apply)(std::uint32_t& limit, const std::string& value);
  };
  PerApp per_app = {};
  /// Throws UserError if the scheme is impossible for this many applications on the machine.
  void (*check)(const arch::MemoryScheme& scheme, const std::string& name, const arch::MachineConfig& machine,
                std::size_t apps) = nullptr;
  std::string file = {};  // the registering source, without folders; register_memory_scheme() fills it in
};

/// Adds a memory scheme to the table. `path`: the calling source file.
bool register_memory_scheme(MemorySchemeInfo info, std::string_view path = __builtin_FILE());
[[nodiscard]] const std::vector<MemorySchemeInfo>& memory_schemes();  // sorted by name
/// The entry of the scheme. Throws UserError for unknown names.
[[nodiscard]] const MemorySchemeInfo& memory_scheme_info(const std::string& name);
/// True if `key` is a setting of the scheme ("k3" of smil).
[[nodiscard]] bool is_memory_setting(const MemorySchemeInfo& scheme, const std::string& key);
/// The scheme with this name and these settings; an empty name: none. Throws UserError for unknown names and
/// bad values.
[[nodiscard]] arch::MemoryScheme memory_scheme(const std::string& name, const Settings& settings);
/// The settings without those at their default value, with numbers in their usual form.
[[nodiscard]] Settings canonical_memory_settings(const std::string& name, const Settings& settings);
/// Throws UserError if the choice's memory scheme is impossible for this many applications on the machine.
void check_memory_scheme(const PolicyChoice& choice, const arch::MachineConfig& config, std::size_t apps);

/// Throws UserError "memory=NAME: WHAT".
[[noreturn]] void throw_memory_error(const std::string& name, const std::string& what);
/// Sets `flag` from one of two words; false if `value` is neither.
[[nodiscard]] bool set_flag(bool& flag, const std::string& value, const char* yes, const char* no);

}  // namespace gpumux::policy
