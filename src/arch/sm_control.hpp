// One SM as sharing mechanisms see it: probes to read and knobs to set, between windows of time
// and never inside a window.
#pragma once

#include <cstdint>
#include <type_traits>
#include <vector>

#include "arch/issue_budget.hpp"
#include "arch/memory_scheme.hpp"
#include "arch/messages.hpp"
#include "arch/statistics.hpp"
#include "arch/trigger.hpp"

namespace gpumux::arch {

/// No limit on resident blocks.
inline constexpr std::uint32_t kUnlimited = 0xffff'ffffU;

/// A thread block on an SM.
struct ResidentBlock {
  KernelSlot kernel = 0;
  std::uint32_t residency = 0;     // number of the block, unchanged while the block lives, on any SM
  bool stops = false;              // stop_block() or drop_block() has been called for it
  std::uint64_t instructions = 0;  // warp instructions issued since the block's start, on all SMs
  Cycle cycles = 0;                // cycles on SMs since the block's start
  bool may_restart = false;        // the block's records are kept (Needs::block_drops), and it has done
                                   // nothing that cannot be repeated
  bool notified = false;  // the block has issued a notice (isa::kNotice) since its start: it may soon do
                          // something that cannot be repeated
  bool restores = false;  // the block issues nothing until its context has come back from memory
  friend bool operator==(const ResidentBlock&, const ResidentBlock&) = default;
};

/// Time to move a block's context, in addition to draining what is in flight, in core cycles. The
/// block leaves no earlier than `save` after the request, and after its dispatch elsewhere waits
/// `restore` before it issues.
struct ContextMove {
  Cycle save = 0;
  Cycle restore = 0;
  std::uint32_t lines = 0;  // 128-byte lines that go to memory when nothing else of the block is in flight,
                            // and come back before it issues; also within these times
};

/// PROBE(type, name, parameters, arguments) declares a probe of an SM.
/// - resident_blocks: resident blocks of the kernel; block_limit: value set by limit_blocks().
/// - may_issue: value set by allow_issue(); issue_budget: state of the kernel's instruction budget.
/// - warp_samples: samples taken by triggers.
/// - counters: of the kernel on the SM; scheduler_counters: of all kernels on the SM together.
/// - blocks: resident blocks, oldest first.
/// - memory_client: memory instructions in flight, limits and quotas, while a memory scheme is on.
/// - memory_in_flight: memory instructions of resident blocks that are not performed, including stores.
#define GPUMUX_SM_PROBES(PROBE)                                               \
  PROBE(std::uint32_t, resident_blocks, (KernelSlot kernel), (kernel))        \
  PROBE(std::uint32_t, block_limit, (KernelSlot kernel), (kernel))            \
  PROBE(bool, may_issue, (KernelSlot kernel), (kernel))                       \
  PROBE(arch::IssueBudgetState, issue_budget, (KernelSlot kernel), (kernel))  \
  PROBE(arch::WarpSamples, warp_samples, (KernelSlot kernel), (kernel))       \
  PROBE(const arch::KernelCounters&, counters, (KernelSlot kernel), (kernel)) \
  PROBE(arch::SchedulerCounters, scheduler_counters, (), ())                  \
  PROBE(std::vector<arch::ResidentBlock>, blocks, (), ())                     \
  PROBE(arch::MemoryClient, memory_client, (AppId app), (app))                \
  PROBE(std::uint32_t, memory_in_flight, (), ())

/// KNOB(name, parameters, arguments) declares a knob of an SM. A knob consists of a line here and the
/// definition of sm::Sm::NAME in the file of its mechanism. The declarations of the SM and of test doubles
/// are generated from this list.
/// - limit_blocks: at most `blocks` blocks of the kernel at a time; 0: the SM does not serve the
///   kernel. Resident blocks beyond a lowered limit run to completion. A kernel starts with 0.
/// - allow_issue: false: the kernel's resident warps issue nothing. A kernel starts with true.
/// - limit_warps: at most `warps` warps of the kernel on the SM may issue, the oldest that do not wait at a
///   barrier; 0: all. Source: static warp limiting, kayiran14 sections 2.1, 6.3.
/// - limit_all_warps: at most `warps` warps of all kernels together, or of each scheduler
///   (sm.warp_limit_per), may issue. Replaces sm.warp_limit.
/// - pause: true: the SM issues nothing; what is in flight completes.
/// - set_issue_budget: the kernel may issue the budget's instructions, then waits for a refill
///   (arch/issue_budget.hpp). Starts with a full budget. A kernel starts without a budget.
/// - add_issue_budget: adds `instructions` (may be negative) to a kernel's budget. If some budget is then
///   left, the kernel continues at once.
/// - arm: arms a trigger that acts at an exact cycle between two meetings (arch/trigger.hpp). disarm: removes
///   the trigger with this id.
/// - stop_block: the block issues nothing more, leaves the SM when all that it has in flight is performed and
///   its context is saved, and continues on the next SM that has room, before other blocks of its kernel.
/// - drop_block: the block leaves at once and restarts later. What it has in flight is performed, and the
///   results are discarded. No effect on a block that cannot be restarted (ResidentBlock::may_restart).
/// - stop_block and drop_block name the block by residency. Both have no effect on a block that is not on the
///   SM or whose warps have all exited, and require that a mechanism has declared the need
///   (policy::Needs::block_stops, block_drops).
/// - set_memory_sharers: mask of the applications that have a kernel. The applications of the mask that
///   have blocks on the SM get quotas, ways and shares of L1's resources from the memory scheme.
/// - set_memory_limit: at most `limit` (1 or more) memory instructions of the application in flight. Requires
///   that a memory scheme is on, or that a mechanism has declared the need (policy::Needs).
/// - set_l1_ways: the application has at most `ways` lines in a full set of L1; at the limit, a new line
///   replaces one of its own. 0: no limit. Requires that a mechanism has declared the need
///   (policy::Needs::l1_ways), and that no memory scheme divides the ways.
#define GPUMUX_SM_KNOBS(KNOB)                                                                    \
  KNOB(limit_blocks, (KernelSlot kernel, std::uint32_t blocks), (kernel, blocks))                \
  KNOB(allow_issue, (KernelSlot kernel, bool allowed), (kernel, allowed))                        \
  KNOB(limit_warps, (KernelSlot kernel, std::uint32_t warps), (kernel, warps))                   \
  KNOB(limit_all_warps, (std::uint32_t warps), (warps))                                          \
  KNOB(pause, (bool paused), (paused))                                                           \
  KNOB(set_issue_budget, (KernelSlot kernel, const arch::IssueBudget& budget), (kernel, budget)) \
  KNOB(add_issue_budget, (KernelSlot kernel, std::int64_t instructions), (kernel, instructions)) \
  KNOB(arm, (const arch::Trigger& trigger), (trigger))                                           \
  KNOB(disarm, (std::uint32_t id), (id))                                                         \
  KNOB(stop_block, (std::uint32_t residency, arch::ContextMove move), (residency, move))         \
  KNOB(drop_block, (std::uint32_t residency), (residency))                                       \
  KNOB(set_memory_sharers, (std::uint32_t apps), (apps))                                         \
  KNOB(set_memory_limit, (AppId app, std::uint32_t limit), (app, limit))                         \
  KNOB(set_l1_ways, (AppId app, std::uint32_t ways), (app, ways))

template <typename... T>
void unused(const T&...) {}
/// Value of a probe that a test double does not define.
template <typename T>
[[nodiscard]] const T& nothing() {
  static const T value{};
  return value;
}

class SmProbes {
 public:
  virtual ~SmProbes() = default;
#define GPUMUX_PROBE(type, name, parameters, arguments) \
  [[nodiscard]] virtual type name parameters const {    \
    unused arguments;                                   \
    return nothing<std::remove_cvref_t<type>>();        \
  }
  GPUMUX_SM_PROBES(GPUMUX_PROBE)
#undef GPUMUX_PROBE
};

class SmControl : public SmProbes {
 public:
#define GPUMUX_KNOB(name, parameters, arguments) \
  virtual void name parameters { unused arguments; }
  GPUMUX_SM_KNOBS(GPUMUX_KNOB)
#undef GPUMUX_KNOB
};

/// Forwards everything to another SM. Base of test doubles.
class ForwardingSm : public SmControl {
 public:
  explicit ForwardingSm(SmControl& inside) : inside_(inside) {}
#define GPUMUX_PROBE(type, name, parameters, arguments) \
  [[nodiscard]] type name parameters const override { return inside_.name arguments; }
  GPUMUX_SM_PROBES(GPUMUX_PROBE)
#undef GPUMUX_PROBE
#define GPUMUX_KNOB(name, parameters, arguments) \
  void name parameters override { inside_.name arguments; }
  GPUMUX_SM_KNOBS(GPUMUX_KNOB)
#undef GPUMUX_KNOB

 private:
  SmControl& inside_;
};

}  // namespace gpumux::arch
