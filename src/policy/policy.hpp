// How a sharing policy plugs in: a mechanism (mechanism.hpp) that decides which SMs serve which kernels, with
// how many blocks, and what else control.hpp lets it set. A policy is one file in this folder that derives
// from Policy and registers itself under the name that users type.
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
  /// Throws UserError when the settings are impossible for so many applications on the machine.
  virtual void check(const arch::MachineConfig&, std::size_t) const {}
  /// Why it needs all SMs throughout; empty: it shares those that serve (cores=), whichever they are.
  [[nodiscard]] virtual std::string_view needs_all_sms() const { return {}; }
  /// Applications are to feel nothing of each other: nothing may decide for all of them by what some do.
  [[nodiscard]] virtual bool isolates() const { return false; }
  /// Parts of the machine that the applications have for themselves, by AppId; empty: they share it. For a
  /// choice that check() has let through.
  [[nodiscard]] virtual std::vector<arch::Instance> instances(const arch::MachineConfig&, std::size_t) const {
    return {};
  }
  /// SMs that may hold blocks of the application when no other has a kernel. A cooperative grid that needs
  /// more is refused at its launch. For a choice that check() has let through.
  [[nodiscard]] virtual std::uint32_t most_sms(const arch::MachineConfig& config, AppId) const {
    return config.sms;
  }
  /// Kernels of `later` that arrive behind a cooperative grid of `grid`, which its share does not hold, are
  /// kept waiting until it has been placed. False: the policy serves `later` before `grid` anyway.
  [[nodiscard]] virtual bool waits_behind(AppId /*later*/, AppId /*grid*/) const { return true; }
  /// Core cycles for which it may leave a kernel unserved that it will serve later, beside its epochs.
  [[nodiscard]] virtual Cycle longest_wait(const View&) const { return 0; }
  /// What has to be known of each application alone; use_profiles() gets it, by AppId, before the run begins.
  [[nodiscard]] virtual ProfileRequest profile_request() const { return {}; }
  virtual void use_profiles(const std::vector<AppProfile>&) {}
  /// What applications say of themselves (priority=), by AppId, before the run begins: greater first, 0 where
  /// one says nothing. Called only when some application does.
  virtual void use_priorities(const std::vector<std::uint32_t>&) {}
  /// Goals of applications (goal=), by AppId, before the run begins: thread instructions per core cycle that
  /// each is to execute while it has kernels. Called only when some application has one.
  virtual void use_goals(const std::vector<std::optional<double>>&) {}
  /// A policy has to say of each new kernel where it may run.
  void kernel_arrived(Control&, const RunningKernel&) override = 0;
};

/// Settings of a policy, "key=value" pairs after its name.
using Settings = std::map<std::string, std::string>;

struct PolicyInfo {
  std::string name;
  std::string description;                                      // one line, with its source
  std::vector<std::pair<std::string, std::string>> settings;    // key, description with range and default
  std::unique_ptr<Policy> (*create)(const Settings& settings);  // throws UserError for a bad value
  std::string bare = {};  // the setting that a value without key= means: mps:70/30
  std::string file = {};  // that registers it, without folders; register_policy() fills it in
};

/// `path`: of the calling file.
bool register_policy(PolicyInfo info, std::string_view path = __builtin_FILE());
[[nodiscard]] const std::vector<PolicyInfo>& policies();  // sorted by name

/// What `--policy` says: a policy with its settings, and level settings.
struct PolicyChoice {
  std::string text;  // as typed
  std::string name;
  Settings settings;
  std::string memory;  // memory scheme, empty: none
  Settings memory_settings;
  std::string warps;        // warp scheduler, empty: the machine's
  std::string blocks;       // block scheduler, empty: the usual one
  std::string cores;        // core control, empty: all SMs serve
  std::string concurrency;  // concurrency control, empty: none
};
/// Meant where levels alone are given, as in "blocks=limit:4", or what one of them chooses, as in "dyncta".
inline constexpr std::string_view kUsualPolicy = "leftover";
/// "even", "leftover:mode=sequential,warps=lrr", "even,memory=smil,k0=3,k1=1" or the same as
/// "even-smil:k0=3,k1=1". What follows `memory=` belongs to the scheme when it knows the key. Throws
/// UserError for unknown names, keys and levels.
[[nodiscard]] PolicyChoice parse_choice(std::string_view text);
/// The one text of all that mean the same choice: settings in order of their keys, then levels, without
/// spaces.
[[nodiscard]] std::string canonical_text(const PolicyChoice& choice);
[[nodiscard]] std::unique_ptr<Policy> create(const PolicyChoice& choice);
/// Throws UserError when the choice, its policy or its memory scheme, is impossible for so many applications
/// on the machine.
void check_choice(const PolicyChoice& choice, const arch::MachineConfig& config, std::size_t apps);

}  // namespace gpumux::policy
