// Interface of core controls: which SMs serve kernels at all, and which SMs have their power gated. The
// sharing policy treats all SMs alike; an SM that does not serve looks full to the policy. A core control is
// one file in core_controls/ that derives from CoreControl and registers itself under the name that users
// type (`cores=NAME`).
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "policy/mechanism.hpp"

namespace gpumux::policy {

class CoreControl : public Mechanism {
 public:
  /// Throws UserError if the machine cannot have this control.
  virtual void check(const arch::MachineConfig&) const {}
  /// The most SMs that serve at a time under this control.
  [[nodiscard]] virtual std::uint32_t most_sms(const arch::MachineConfig& config) const { return config.sms; }
};

struct CoreControlInfo {
  std::string name;
  std::string description;  // one line, with its source
  std::string argument;     // what follows "NAME:", with its range; empty: no argument
  std::unique_ptr<CoreControl> (*create)(const std::string& argument);  // throws UserError if it is bad
  std::string example = {};                                             // an argument, as after "NAME:"
  std::string file = {};  // the registering source, without folders; register_core_control() fills it in
};

/// Adds a core control to the table. `path`: the calling source file.
bool register_core_control(CoreControlInfo info, std::string_view path = __builtin_FILE());
[[nodiscard]] const std::vector<CoreControlInfo>& core_controls();  // sorted by name
/// The value of `cores=` for no control: all SMs serve. This is the default.
inline constexpr std::string_view kAllCores = "all";
/// Creates the core control that `text` names, such as "onac" or "first:4"; nullptr for all cores. Throws
/// UserError for unknown names and bad arguments.
[[nodiscard]] std::unique_ptr<CoreControl> create_core_control(std::string_view text);
/// The entry of the control that `text` names, nullptr for all cores. Throws UserError for unknown names.
[[nodiscard]] const CoreControlInfo* core_control(std::string_view text);

}  // namespace gpumux::policy
