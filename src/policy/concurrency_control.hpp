// How a concurrency control plugs in: how many warps of each SM may issue, changed while it runs. It stands
// beside the sharing policy, which says whose blocks an SM has, and the warp scheduler, which chooses among
// the warps that may issue. A concurrency control is one file in concurrency_controls/ that derives from
// ConcurrencyControl and registers itself under the name that users type (`concurrency=NAME`).
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "policy/mechanism.hpp"

namespace gpumux::policy {

class ConcurrencyControl : public Mechanism {
 public:
  /// Throws UserError when it is impossible on the machine.
  virtual void check(const arch::MachineConfig&) const {}
};

struct ConcurrencyControlInfo {
  std::string name;
  std::string description;  // one line, with its source
  std::string argument;     // what follows "NAME:", with its range
  std::unique_ptr<ConcurrencyControl> (*create)(
      const std::string& argument);  // throws UserError for a bad one
  std::string example = {};          // of what follows "NAME:"
  std::string file = {};  // that registers it, without folders; register_concurrency_control() fills it in
};

/// `path`: of the calling file.
bool register_concurrency_control(ConcurrencyControlInfo info, std::string_view path = __builtin_FILE());
[[nodiscard]] const std::vector<ConcurrencyControlInfo>& concurrency_controls();  // sorted by name
/// What `concurrency=` says where all warps may issue, as they do where it is not given.
inline constexpr std::string_view kNoConcurrencyControl = "none";
/// "cm-cpu", "cm-bal:2"; nullptr for none. Throws UserError for unknown names and bad arguments.
[[nodiscard]] std::unique_ptr<ConcurrencyControl> create_concurrency_control(std::string_view text);
/// nullptr for none.
[[nodiscard]] const ConcurrencyControlInfo* concurrency_control(std::string_view text);

}  // namespace gpumux::policy
