// One SM as sharing mechanisms see it: probes that they may read, knobs that they may turn, between windows
// of time and never inside one.
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
  std::uint32_t residency = 0;     // its number, as long as it lives, on whatever SM
  bool stops = false;              // stop_block() or drop_block() has been called for it
  std::uint64_t instructions = 0;  // warp instructions that it has issued since it began, on whatever SMs
  Cycle cycles = 0;                // that it has been on SMs since then
  bool may_restart =
      false;              // it is kept (Needs::block_drops), and has done nothing that it could not do anew
  bool notified = false;  // it has issued a notice (isa::kNotice) since it began: soon it may do such a thing
  bool restores = false;  // its context has yet to come back from memory, before which it issues nothing
  friend bool operator==(const ResidentBlock&, const ResidentBlock&) = default;
};

/// What moving a block's context takes beyond what is in flight, in core cycles: the block does not leave
/// within `save` of being asked, and after its dispatch elsewhere waits `restore` before it issues.
struct ContextMove {
  Cycle save = 0;
  Cycle restore = 0;
  std::uint32_t lines = 0;  // of 128 bytes that go to memory when it has nothing else in flight, and come
                            // back before it issues; within these times, too
};

/// PROBE(type, name, parameters, arguments).
/// - resident_blocks: of the kernel on the SM; block_limit: what limit_blocks() has set.
/// - may_issue: what allow_issue() has set; issue_budget: what is left of the kernel's instructions.
/// - warp_samples: what triggers that sample have seen.
/// - counters: of the kernel on the SM; scheduler_counters: of all kernels on the SM together.
/// - blocks: those that are resident, the oldest first.
/// - memory_client: memory instructions in flight, limits and quotas, while a memory scheme is on.
/// - memory_in_flight: memory instructions of resident blocks that are not performed, stores included.
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

/// KNOB(name, parameters, arguments). A knob is a line here and the definition of sm::Sm::NAME in the file of
/// its mechanism: the declarations of the SM and of doubles in tests come from this list.
/// - limit_blocks: at most `blocks` blocks of the kernel at a time; 0: the SM does not serve it. Blocks that
///   are resident beyond a lowered limit run to their end. A kernel starts with 0.
/// - allow_issue: false: the kernel's resident warps issue nothing. A kernel starts with true.
/// - limit_warps: only so many of the kernel's warps on the SM may issue, the oldest that do not wait at a
///   barrier; 0: all. Source: static warp limiting, kayiran14 sections 2.1, 6.3.
/// - limit_all_warps: likewise of all kernels together, or on each scheduler (sm.warp_limit_per); stands in
///   for sm.warp_limit.
/// - pause: true: nothing is issued on the SM; what is in flight completes.
/// - set_issue_budget: the kernel may issue so many instructions, then waits for a refill
///   (arch/issue_budget.hpp); begins with a whole budget. A kernel starts without.
/// - add_issue_budget: so many more (or fewer) to a kernel that has a budget; with some left it goes on at
///   once.
/// - arm: a trigger, to act at an exact cycle between two meetings (arch/trigger.hpp); disarm: the one of
///   this id.
/// - stop_block: it issues nothing more, leaves the SM when all that it has in flight is performed and its
/// context
///   is saved, and goes on from there on whatever SM has room next, before others of its kernel.
/// - drop_block: it leaves at once, and begins anew; what it has in flight is performed, for nobody. Does
/// nothing for
///   a block that could not (ResidentBlock::may_restart).
///   Both by residency. They do nothing for a block that is not here or whose warps have all exited, and act
///   while a mechanism has said that it needs it (policy::Needs::block_stops, block_drops).
/// - set_memory_sharers: applications that have a kernel, as bits: of these, those that have blocks here get
///   quotas, ways and shares of L1's resources from the memory scheme.
/// - set_memory_limit: at most so many (1 or more) memory instructions of the application in flight; acts
///   while a memory scheme is on, or a mechanism has said that it needs it (policy::Needs).
/// - set_l1_ways: in a full set of L1, at most so many lines are the application's: with as many, one of
///   its own makes place for its next; 0: as many as there are. Acts while a mechanism has said that it
///   needs it (policy::Needs::l1_ways), and where no memory scheme divides the ways.
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
/// What a probe that a double leaves out reads.
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

/// Hands everything on to another: for doubles in tests.
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
