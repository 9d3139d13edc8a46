// Interface of concurrency controls: how many warps of each SM may issue, adjusted during the run. The
// sharing policy decides which kernels' blocks an SM holds; the warp scheduler chooses among the warps that
// may issue. A concurrency control is one file in concurrency_controls/ that derives from ConcurrencyControl
// and registers itself under the name that users type (`concurrency=NAME`).
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "policy/mechanism.hpp"

namespace gpumux::policy {

class ConcurrencyControl : public Mechanism {
 public:
  /// Throws UserError if the machine cannot have this control.
  virtual void check(const arch::MachineConfig&) const {}
};

struct ConcurrencyControlInfo {
  std::string name;
  std::string description;  // one line, with its source
  std::string argument;     // what follows "NAME:", with its range
  std::unique_ptr<ConcurrencyControl> (*create)(
      const std::string& argument);  // throws UserError if it is bad
  std::string example = {};          // an argument, as after "NAME:"
  std::string file = {};  // its source, without folders; register_concurrency_control() fills it in
};

/// Adds a concurrency control to the table. `path`: the calling source file.
bool register_concurrency_control(ConcurrencyControlInfo info, std::string_view path = __builtin_FILE());
[[nodiscard]] const std::vector<ConcurrencyControlInfo>& concurrency_controls();  // sorted by name
/// The value of `concurrency=` for no control: all warps may issue. This is the default.
inline constexpr std::string_view kNoConcurrencyControl = "none";
/// Creates the concurrency control that `text` names, such as "cm-cpu" or "cm-bal:2"; nullptr for none.
/// Throws UserError for unknown names and bad arguments.
[[nodiscard]] std::unique_ptr<ConcurrencyControl> create_concurrency_control(std::string_view text);
/// The entry of the control that `text` names, nullptr for none. Throws UserError for unknown names.
[[nodiscard]] const ConcurrencyControlInfo* concurrency_control(std::string_view text);

}  // namespace gpumux::policy
