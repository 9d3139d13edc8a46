// Reads machine files (TOML) into a MachineConfig, and writes them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "arch/config.hpp"
#include "base/error.hpp"

namespace gpumux::arch {

/// One change of a machine: text as in `--set`, and its place for messages.
struct Override {
  std::string text;  // "l1.size=48K"
  SourceLocation where;
};

/// Loads a machine from a preset's name or the path of a machine file (with '/' or ending in .toml). A file
/// may set `base = "dai18-maxwell"` and change single keys. `overrides` are texts such as "sm.schedulers=2",
/// "l1.size=48K". Throws UserError with file:line:column for unknown keys, wrong types, and impossible or
/// contradictory values. For an override, the place is "--set".
[[nodiscard]] MachineConfig load_machine(const std::string& name_or_path,
                                         const std::vector<std::string>& overrides = {});
[[nodiscard]] MachineConfig load_machine_with(const std::string& name_or_path,
                                              const std::vector<Override>& overrides);
/// Like load_machine(), from the text of a machine file. `file`: name in messages, and the path to which a
/// relative `base` is relative.
[[nodiscard]] MachineConfig parse_machine(std::string_view text, const std::string& file,
                                          const std::vector<std::string>& overrides = {});
/// The default machine with these changes. `file`: name in messages that concern no single change.
[[nodiscard]] MachineConfig machine_of_settings(const std::vector<Override>& settings,
                                                const std::string& file);
/// Warnings, one line each, about values that contradict each other although the machine can run. A preset
/// may repeat contradictions of its source.
[[nodiscard]] std::vector<std::string> machine_warnings(const MachineConfig& config);
/// Names of the presets, sorted.
[[nodiscard]] std::vector<std::string> machine_names();
/// The whole configuration as TOML, as `inspect` prints it. load_machine() reads it back
/// to an equal configuration.
[[nodiscard]] std::string to_toml(const MachineConfig& config);
/// to_toml() without name and descriptions, which do not affect results. Caches hash this text.
[[nodiscard]] std::string acting_toml(const MachineConfig& config);

/// Blocks of a kernel that fit on one empty SM, and the resource that limits them.
struct Occupancy {
  std::uint32_t blocks = 0;
  std::uint32_t by_threads = 0, by_warps = 0, by_registers = 0, by_shared = 0, by_blocks = 0;
  std::string limited_by;  // "threads", "registers", ...
};
[[nodiscard]] Occupancy occupancy(const SmConfig& sm, std::uint32_t threads,
                                  std::uint32_t registers_per_thread, std::uint32_t shared_bytes);

}  // namespace gpumux::arch
