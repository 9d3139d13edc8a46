// How a sharing policy plugs in: probes that it may read, knobs that it may turn, and the moments at
// which it is called. A policy is one file in this folder that derives from Policy and registers itself
// under the name that users type.
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
#include "arch/memory_scheme.hpp"
#include "arch/messages.hpp"
#include "arch/statistics.hpp"
#include "policy/profile.hpp"
#include "workload/stream.hpp"

namespace gpumux::policy {

using arch::KernelSlot;

/// A kernel that has arrived and has not ended.
struct RunningKernel {
  KernelSlot slot = 0;
  AppId app = 0;
  std::string name;
  std::uint64_t arrival = 0;  // order of arrival over the whole run, from 0
  Cycle arrival_cycle = 0;
  Cycle first_block_cycle = kNever;  // dispatch of its first block
  workload::BlockResources resources;
  std::uint64_t blocks_total = 0;
  std::uint64_t blocks_dispatched = 0;  // handed to SMs
  std::uint64_t blocks_done = 0;
  std::uint32_t max_blocks_per_sm = 0;  // alone on an empty SM (occupancy)
};

/// No limit on resident blocks.
inline constexpr std::uint32_t kUnlimited = 0xffff'ffffU;

/// The machine as a policy sees it. Calls are made between windows of time, never inside an SM.
class Control {
 public:
  virtual ~Control() = default;

  // --- probes ---------------------------------------------------------------------------------------
  [[nodiscard]] virtual const arch::MachineConfig& config() const = 0;
  [[nodiscard]] virtual Cycle now() const = 0;
  /// Kernels in order of arrival.
  [[nodiscard]] virtual const std::vector<RunningKernel>& kernels() const = 0;
  [[nodiscard]] virtual std::uint32_t resident_blocks(SmId sm, KernelSlot kernel) const = 0;
  [[nodiscard]] virtual const arch::KernelCounters& counters(SmId sm, KernelSlot kernel) const = 0;
  [[nodiscard]] virtual const arch::PartitionCounters& partition_counters(PartitionId partition) const = 0;
  /// Memory instructions in flight, limits and quotas, while a memory scheme is on.
  [[nodiscard]] virtual arch::MemoryClient memory_client(SmId sm, AppId app) const = 0;
  /// Of all kernels on the SM together.
  [[nodiscard]] virtual arch::SchedulerCounters scheduler_counters(SmId sm) const = 0;

  // --- knobs ----------------------------------------------------------------------------------------
  /// At most `blocks` blocks of `kernel` on `sm` at a time; 0: the SM does not serve the kernel. Blocks
  /// that are resident beyond a lowered limit run to their end. A kernel starts with 0 everywhere.
  virtual void set_block_limit(SmId sm, KernelSlot kernel, std::uint32_t blocks) = 0;
  /// Kernels from which an SM with room takes its next block, in this order. A kernel that is missing
  /// gets no block. Starts empty.
  virtual void set_dispatch_order(const std::vector<KernelSlot>& order) = 0;
  /// False: the kernel's resident warps issue nothing on this SM.
  virtual void set_may_issue(SmId sm, KernelSlot kernel, bool allowed) = 0;
  /// On `sm` the kernel may issue so many warp instructions of each set of quotas, exactly: then it waits
  /// until all kernels with a quota have used up theirs, but for those that have no block there or may not
  /// issue; in that cycle the SM gives all of them the next set. 0: no limit, as every kernel begins. Gives a
  /// whole set at once. Source: dai18 section 4 (SMK-(P+W)).
  virtual void set_issue_quota(SmId sm, KernelSlot kernel, std::uint32_t instructions) = 0;
  /// Policy::alarm() is called at the first moment between windows that is not before `cycle`; a later call
  /// replaces an earlier one. kNever: it is not.
  virtual void set_alarm(Cycle cycle) = 0;
};

/// What a policy has to say of a run: named numbers, and curves by kernel. Names are lower_case.
struct Report {
  struct Number {
    std::string name;
    double value = 0;
    std::optional<AppId> app;  // nothing: of the whole run
  };
  struct Curve {
    std::string name;
    AppId app = 0;
    std::string kernel;
    std::vector<std::pair<double, double>> points;
  };
  std::vector<Number> numbers;
  std::vector<Curve> curves;
  [[nodiscard]] bool empty() const { return numbers.empty() && curves.empty(); }
};

class Policy {
 public:
  virtual ~Policy() = default;
  /// Throws UserError when the settings are impossible for so many applications on the machine.
  virtual void check(const arch::MachineConfig&, std::size_t) const {}
  /// What has to be known of each application alone; use_profiles() gets it, by AppId, before the run begins.
  [[nodiscard]] virtual ProfileRequest profile_request() const { return {}; }
  virtual void use_profiles(const std::vector<AppProfile>&) {}
  /// Called with the new kernel already in control.kernels().
  virtual void kernel_arrived(Control& control, const RunningKernel& kernel) = 0;
  /// Called when the last block has ended, with the kernel already removed.
  virtual void kernel_ended(Control& control, const RunningKernel& kernel) = 0;
  /// The kernel has handed its last block to an SM.
  virtual void kernel_fully_dispatched(Control&, const RunningKernel&) {}
  virtual void block_ended(Control&, const RunningKernel&, SmId) {}
  /// False: as things stand, block_ended() and kernel_fully_dispatched() read no probe of an SM or partition,
  /// neither the time nor blocks_done, and let no SM do more than before. Then the machine may simulate some
  /// SMs further ahead than others, and tell later, SM by SM, of blocks that have ended. May change its
  /// answer in kernel_arrived(), kernel_ended() and epoch_ended() alone.
  [[nodiscard]] virtual bool watches_blocks(const Control&) const { return true; }
  /// False, throughout the run: kernel_ended() reads no probe of an SM or partition, sets no alarm and lets
  /// no SM do more than before. Then the machine may have simulated some SMs further when it is called.
  [[nodiscard]] virtual bool watches_ends() const { return true; }
  /// Length of the policy's epoch in cycles; 0: epoch_ended() is never called.
  [[nodiscard]] virtual Cycle epoch() const { return 0; }
  virtual void epoch_ended(Control&) {}
  /// See Control::set_alarm().
  virtual void alarm(Control&) {}
  /// Called once, after the last cycle; may read probes. What it says goes into the result
  /// (docs/policies.md).
  [[nodiscard]] virtual Report report(const Control&) const { return {}; }
};

/// Settings of a policy, "key=value" pairs after its name.
using Settings = std::map<std::string, std::string>;

struct PolicyInfo {
  std::string name;
  std::string description;                                      // one line, with its source
  std::vector<std::pair<std::string, std::string>> settings;    // key, description with range and default
  std::unique_ptr<Policy> (*create)(const Settings& settings);  // throws UserError for a bad value
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
  std::string warps;  // warp scheduler, empty: the machine's
};
/// "even", "leftover:mode=strict,warps=lrr", "even,memory=smil,k0=3,k1=1" or the same as
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

// --- level `memory`: memory_level.cpp ----------------------------------------------------------------
struct MemorySchemeInfo {
  std::string name;
  std::string description;                                    // one line, with its source
  std::vector<std::pair<std::string, std::string>> settings;  // key, description with range and default
};
[[nodiscard]] const std::vector<MemorySchemeInfo>& memory_schemes();
/// `key` is a setting of the scheme ("k3" of smil).
[[nodiscard]] bool is_memory_setting(const MemorySchemeInfo& scheme, const std::string& key);
/// The scheme that a name says, empty: none. Throws UserError for unknown names and bad values.
[[nodiscard]] arch::MemoryScheme memory_scheme(const std::string& name, const Settings& settings);
/// Without settings that have their default value, numbers as they are written usually.
[[nodiscard]] Settings canonical_memory_settings(const std::string& name, const Settings& settings);
/// Throws UserError when the choice's scheme is impossible for so many applications on the machine: a limit
/// of an application that is not there, fewer ways or miss resources than applications.
void check_memory_scheme(const PolicyChoice& choice, const arch::MachineConfig& config, std::size_t apps);

}  // namespace gpumux::policy
