// Interface of sharing policies: mechanisms (mechanism.hpp) that decide which SMs serve which kernels, with
// how many blocks, and set other knobs of control.hpp. A policy is one file in this folder that derives from
// Policy and registers itself under the name that users type.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "arch/config.hpp"
#include "arch/instance.hpp"
#include "policy/mechanism.hpp"
#include "policy/profile.hpp"

namespace gpumux::policy {

class Policy : public Mechanism {
 public:
  /// Throws UserError if the settings are impossible for this many applications on the machine.
  virtual void check(const arch::MachineConfig&, std::size_t) const {}
  /// The reason why the policy needs all SMs throughout, for error messages; empty: it can share any subset
  /// that a core control (cores=) lets serve.
  [[nodiscard]] virtual std::string_view needs_all_sms() const { return {}; }
  /// True if applications must not influence each other. Then no level may decide for all applications by
  /// what some do.
  [[nodiscard]] virtual bool isolates() const { return false; }
  /// The parts of the machine that applications have for themselves, by AppId; empty: they share the machine.
  /// Called only for a choice that check() accepted.
  [[nodiscard]] virtual std::vector<arch::Instance> instances(const arch::MachineConfig&, std::size_t) const {
    return {};
  }
  /// The most SMs that may hold blocks of the application when no other application has a kernel. A
  /// cooperative grid that needs more is refused at its launch. Called only for a choice that check()
  /// accepted.
  [[nodiscard]] virtual std::uint32_t most_sms(const arch::MachineConfig& config, AppId) const {
    return config.sms;
  }
  /// True: if the share of `grid` does not hold its cooperative grid, kernels of `later` that arrive after
  /// the grid wait until it is placed. False: the policy serves `later` before `grid` anyway.
  [[nodiscard]] virtual bool waits_behind(AppId /*later*/, AppId /*grid*/) const { return true; }
  /// The longest time, in core cycles, that the policy may leave a kernel unserved and serve it later, apart
  /// from epochs.
  [[nodiscard]] virtual Cycle longest_wait(const View&) const { return 0; }
  /// The isolated profiles that the policy needs. use_profiles() gets it, by AppId, before the run starts.
  [[nodiscard]] virtual ProfileRequest profile_request() const { return {}; }
  virtual void use_profiles(const std::vector<AppProfile>&) {}
  /// Takes the priorities that applications declare (priority=), by AppId, before the run starts: the largest
  /// is the highest, 0 for an application without one. Called only if an application declares one.
  virtual void use_priorities(const std::vector<std::uint32_t>&) {}
  /// Takes the goals of applications (goal=), by AppId, before the run starts: thread instructions per core
  /// cycle that each should execute while it has kernels. Called only if an application has a goal.
  virtual void use_goals(const std::vector<std::optional<double>>&) {}
  /// Called for each new kernel. A policy must say where the kernel may run.
  void kernel_arrived(Control&, const RunningKernel&) override = 0;
};

/// Settings of a policy, "key=value" pairs after its name.
using Settings = std::map<std::string, std::string>;

struct PolicyInfo {
  std::string name;
  std::string description;                                      // one line, with its source
  std::vector<std::pair<std::string, std::string>> settings;    // key, description with range and default
  std::unique_ptr<Policy> (*create)(const Settings& settings);  // throws UserError for a bad value
  std::string bare = {};  // the setting of a value without key=, as in mps:70/30
  std::string file = {};  // the registering source, without folders; register_policy() fills it in
};

/// Adds a policy to the table. `path`: the calling source file.
bool register_policy(PolicyInfo info, std::string_view path = __builtin_FILE());
[[nodiscard]] const std::vector<PolicyInfo>& policies();  // sorted by name

/// The parsed value of `--policy`: a policy with its settings, and the settings of the other levels.
struct PolicyChoice {
  std::string text;  // as typed
  std::string name;
  Settings settings;
  std::string memory;  // memory scheme; empty: none
  Settings memory_settings;
  std::string warps;        // warp scheduler; empty: the machine's
  std::string blocks;       // block scheduler; empty: kUsualBlockScheduler
  std::string cores;        // core control; empty: all SMs serve
  std::string concurrency;  // concurrency control; empty: none
};
/// The policy if `--policy` names only other levels, as in "blocks=limit:4" or "dyncta".
inline constexpr std::string_view kUsualPolicy = "leftover";
/// Parses `--policy`: "even", "leftover:mode=sequential,warps=lrr", "even,memory=smil,k0=3,k1=1" or,
/// equivalently, "even-smil:k0=3,k1=1". A key after `memory=` belongs to the memory scheme if the scheme
/// knows the key. Throws UserError for unknown names, keys and levels.
[[nodiscard]] PolicyChoice parse_choice(std::string_view text);
/// The canonical text of a choice, equal for all equivalent choices: settings in order of their keys, then
/// levels, without spaces.
[[nodiscard]] std::string canonical_text(const PolicyChoice& choice);
[[nodiscard]] std::unique_ptr<Policy> create(const PolicyChoice& choice);
/// Throws UserError if the policy or another level of the choice is impossible for this many applications on
/// the machine.
void check_choice(const PolicyChoice& choice, const arch::MachineConfig& config, std::size_t apps);

}  // namespace gpumux::policy
