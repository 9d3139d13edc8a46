// How a core control plugs in: which SMs serve kernels at all, and which have their power gated. It stands
// above the sharing policy, which treats all SMs alike, and those that do not serve as if they were full. A
// core control is one file in core_controls/ that derives from CoreControl and registers itself under the
// name that users type (`cores=NAME`).
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "policy/mechanism.hpp"

namespace gpumux::policy {

class CoreControl : public Mechanism {
 public:
  /// Throws UserError when it is impossible on the machine.
  virtual void check(const arch::MachineConfig&) const {}
  /// SMs that it lets serve at most.
  [[nodiscard]] virtual std::uint32_t most_sms(const arch::MachineConfig& config) const { return config.sms; }
};

struct CoreControlInfo {
  std::string name;
  std::string description;  // one line, with its source
  std::string argument;     // what follows "NAME:", with its range; empty: nothing does
  std::unique_ptr<CoreControl> (*create)(const std::string& argument);  // throws UserError for a bad one
  std::string example = {};                                             // of what follows "NAME:"
  std::string file = {};  // that registers it, without folders; register_core_control() fills it in
};

/// `path`: of the calling file.
bool register_core_control(CoreControlInfo info, std::string_view path = __builtin_FILE());
[[nodiscard]] const std::vector<CoreControlInfo>& core_controls();  // sorted by name
/// What `cores=` says where all SMs serve, as they do where it is not given.
inline constexpr std::string_view kAllCores = "all";
/// "onac", "first:4"; nullptr for all cores. Throws UserError for unknown names and bad arguments.
[[nodiscard]] std::unique_ptr<CoreControl> create_core_control(std::string_view text);
/// nullptr for all cores.
[[nodiscard]] const CoreControlInfo* core_control(std::string_view text);

}  // namespace gpumux::policy
