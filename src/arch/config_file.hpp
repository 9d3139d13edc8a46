// Machine files (TOML) -> MachineConfig.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "arch/config.hpp"
#include "base/error.hpp"

namespace gpumux::arch {

/// One change of a machine: the text as `--set` takes it, and the place that messages name.
struct Override {
  std::string text;  // "l1.size=48K"
  SourceLocation where;
};

/// A preset's name or the path of a machine file (it contains '/' or ends in .toml). A file may say
/// `base = "dai18-maxwell"` and change single keys. `overrides` are "sm.schedulers=2", "l1.size=48K".
/// Throws UserError with file:line:column for unknown keys, wrong types, impossible or contradictory
/// values; for an override the place is "--set".
[[nodiscard]] MachineConfig load_machine(const std::string& name_or_path,
                                         const std::vector<std::string>& overrides = {});
[[nodiscard]] MachineConfig load_machine_with(const std::string& name_or_path,
                                              const std::vector<Override>& overrides);
/// The same from the text of a machine file; `file` is its name in messages, and what a relative `base` is
/// relative to.
[[nodiscard]] MachineConfig parse_machine(std::string_view text, const std::string& file,
                                          const std::vector<std::string>& overrides = {});
/// The defaults with these changes; `file` is named by messages about a machine where no change is at fault.
[[nodiscard]] MachineConfig machine_of_settings(const std::vector<Override>& settings,
                                                const std::string& file);
/// What a machine says that cannot all hold, though it can run: a line each, for people. A preset may repeat
/// what its source says.
[[nodiscard]] std::vector<std::string> machine_warnings(const MachineConfig& config);
/// Names of the presets, sorted.
[[nodiscard]] std::vector<std::string> machine_names();
/// The whole configuration as TOML that load_machine() reads back to the same value: what `inspect`
/// prints.
[[nodiscard]] std::string to_toml(const MachineConfig& config);
/// The same without name and descriptions, which label it alone: what caches hash.
[[nodiscard]] std::string acting_toml(const MachineConfig& config);

/// Blocks of a kernel that fit on one empty SM, and which resource binds.
struct Occupancy {
  std::uint32_t blocks = 0;
  std::uint32_t by_threads = 0, by_warps = 0, by_registers = 0, by_shared = 0, by_blocks = 0;
  std::string limited_by;  // "threads", "registers", ...
};
[[nodiscard]] Occupancy occupancy(const SmConfig& sm, std::uint32_t threads,
                                  std::uint32_t registers_per_thread, std::uint32_t shared_bytes);

}  // namespace gpumux::arch
