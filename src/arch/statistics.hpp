// The counters of a run, one line each: field, unit, meaning. Sums, differences and output iterate over these
// lists (counter_table.hpp), so no counter can be forgotten in one place.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "arch/messages.hpp"
#include "isa/timing_class.hpp"

namespace gpumux::arch {

/// Defines a struct with the counters of a list, and add() and subtract(). subtract() takes earlier counts of
/// the same object. Arguments after the list are further members.
#define GPUMUX_COUNTER_FIELD(field, unit, description) std::uint64_t field = 0;
#define GPUMUX_COUNTER_ADD(field, unit, description) field += other.field;
#define GPUMUX_COUNTER_SUBTRACT(field, unit, description) field -= other.field;
#define GPUMUX_COUNTER_STRUCT(Name, LIST, ...)                                  \
  struct Name {                                                                 \
    LIST(GPUMUX_COUNTER_FIELD)                                                  \
    void add(const Name& other) { LIST(GPUMUX_COUNTER_ADD) }                    \
    void subtract(const Name& other){LIST(GPUMUX_COUNTER_SUBTRACT)} __VA_ARGS__ \
  }

// X(field, unit, description): counters of an application that SMs count, by kernel.
#define GPUMUX_KERNEL_COUNTERS(X)                                                                         \
  X(warp_instructions, "warp instructions", "issued")                                                     \
  X(thread_instructions, "thread instructions", "issued, by active lanes")                                \
  X(sp_thread_instructions, "thread instructions", "of these, executed by SP units")                      \
  X(int_thread_instructions, "thread instructions", "by INT units")                                       \
  X(dp_thread_instructions, "thread instructions", "by DP units")                                         \
  X(sfu_thread_instructions, "thread instructions", "by SFU units")                                       \
  X(tensor_thread_instructions, "thread instructions", "by tensor units")                                 \
  X(memory_thread_instructions, "thread instructions", "by the load/store unit")                          \
  X(control_thread_instructions, "thread instructions", "by no unit: branches, barriers, exits")          \
  X(uniform_thread_instructions, "thread instructions", "by the uniform datapath")                        \
  X(tensor_passes, "thread instructions", "by tensor units, each as often as it passes through them")     \
  X(register_reads, "warp registers", "32-bit registers of a warp, read as operands")                     \
  X(register_writes, "warp registers", "32-bit registers of a warp, written by instructions")             \
  X(discarded_thread_instructions, "thread instructions",                                                 \
    "of thread_instructions, those of blocks that were dropped to begin anew, by the mean of lanes, and " \
    "notices")                                                                                            \
  X(memory_instructions, "warp instructions", "issued to the load/store unit")                            \
  X(alu_issue_cycles, "unit cycles", "SP, INT, DP and SFU unit cycles occupied")                          \
  X(l1_accesses, "lines or sectors", "L1 accesses of loads, stores and atomics")                          \
  X(l1_misses, "lines or sectors", "L1 accesses that missed (merged ones included)")                      \
  X(l1_hits_pending, "lines or sectors", "misses merged into an outstanding one")                         \
  X(rsfail_line, "cycles", "head of the LSU stalled: every line of the set is reserved")                  \
  X(rsfail_mshr, "cycles", "head of the LSU stalled: no MSHR free")                                       \
  X(rsfail_merge, "cycles", "head of the LSU stalled: MSHR merge list full")                              \
  X(rsfail_miss_queue, "cycles", "head of the LSU stalled: miss queue full")                              \
  X(lsu_stall_cycles, "cycles", "head of the LSU stalled for any of these")                               \
  X(shared_accesses, "warp instructions", "shared memory instructions")                                   \
  X(shared_conflict_cycles, "cycles", "extra passes for bank conflicts")                                  \
  X(constant_accesses, "warp instructions", "loads of constants and parameters")                          \
  X(texture_accesses, "lines", "texture cache accesses; none where fetches go through L1")                \
  X(texture_misses, "lines", "texture cache accesses that missed (merged ones included)")                 \
  X(barriers, "warp instructions", "barrier arrivals")                                                    \
  X(requests_sent, "packets", "requests sent to the interconnect")                                        \
  X(request_flits, "flits", "of these requests")                                                          \
  X(reply_flits, "flits", "of replies that have come back")                                               \
  X(atomics, "operations", "global atomic operations, by lanes")                                          \
  X(blocks_completed, "thread blocks", "blocks that ran to their end")

GPUMUX_COUNTER_STRUCT(
    KernelCounters, GPUMUX_KERNEL_COUNTERS,
    /// Thread instructions that count for IPC.
    [[nodiscard]] std::uint64_t useful_instructions() const {
      return thread_instructions - discarded_thread_instructions;
    } [[nodiscard]] std::uint64_t reservation_failures()
        const { return rsfail_line + rsfail_mshr + rsfail_merge + rsfail_miss_queue; }
    /// Thread instructions executed by units of this kind.
    std::uint64_t& by_unit(isa::Unit unit) {
      return *(&sp_thread_instructions + static_cast<std::size_t>(unit));
    } [[nodiscard]] std::uint64_t by_unit(isa::Unit unit)
        const { return *(&sp_thread_instructions + static_cast<std::size_t>(unit)); });
static_assert(offsetof(KernelCounters, uniform_thread_instructions) ==
                  offsetof(KernelCounters, sp_thread_instructions) +
                      sizeof(std::uint64_t) * static_cast<std::size_t>(isa::Unit::Uniform) &&
              static_cast<unsigned>(isa::Unit::Uniform) + 1 == isa::kUnits);

// Counters of an application that memory partitions count.
#define GPUMUX_MEMORY_COUNTERS(X)                                                                          \
  X(l2_accesses, "lines or sectors", "L2 accesses")                                                        \
  X(l2_writes, "lines or sectors", "of these, by stores and atomics")                                      \
  X(l2_misses, "lines or sectors", "L2 accesses that missed (merged ones included)")                       \
  X(l2_writebacks, "lines or sectors", "dirty data evicted to DRAM")                                       \
  X(l2_wait_cycles, "core cycles", "requests' time from their arrival at a partition to their tag access") \
  X(dram_reads, "bursts", "column reads")                                                                  \
  X(dram_writes, "bursts", "column writes")                                                                \
  X(dram_row_hits, "bursts", "column commands to an open row")                                             \
  X(dram_activates, "commands", "row activations, of whose request the row was opened for")                \
  X(dram_bytes, "bytes", "moved over the data bus")                                                        \
  X(dram_wait_clocks, "DRAM clocks", "requests' time from a channel's queue to their last column command")

GPUMUX_COUNTER_STRUCT(MemoryCounters, GPUMUX_MEMORY_COUNTERS);

// Counters of an SM's schedulers. Each scheduler cycle with resident warps counts as
// exactly one of these reasons.
#define GPUMUX_SCHEDULER_COUNTERS(X)                                                         \
  X(issued, "scheduler cycles", "an instruction was issued")                                 \
  X(scoreboard_memory, "scheduler cycles", "a warp waits for memory data, none could issue") \
  X(scoreboard_alu, "scheduler cycles", "warps wait for arithmetic results alone")           \
  X(pipeline_memory, "scheduler cycles", "a ready warp found the load/store unit full")      \
  X(pipeline_alu, "scheduler cycles", "a ready warp found its arithmetic unit busy")         \
  X(synchronisation, "scheduler cycles", "warps wait at barriers or fences alone")           \
  X(fetch, "scheduler cycles", "warps wait for instructions alone")                          \
  X(throttled, "scheduler cycles", "ready warps may not issue by a policy's limit")          \
  X(idle, "scheduler cycles", "no resident warp that still runs")

GPUMUX_COUNTER_STRUCT(SchedulerCounters, GPUMUX_SCHEDULER_COUNTERS);

// Counters of a memory partition that belong to no application.
#define GPUMUX_OWN_PARTITION_COUNTERS(X)                                                         \
  X(l2_reservation_failures, "L2 cycles", "head of a slice stalled: line, MSHR or miss queue")   \
  X(stall_controller, "L2 cycles", "a slice waits because the DRAM queue is full")               \
  X(stall_network, "L2 cycles", "a slice waits because the reply network is full")               \
  X(controller_full_cycles, "core cycles", "a request waits because the DRAM queue is full")     \
  X(network_full_cycles, "core cycles", "a reply waits because the reply network is full")       \
  X(slice_full_cycles, "core cycles", "a request waits in front of a full slice; sum of slices") \
  X(atomics, "operations", "atomic operations performed")                                        \
  X(requests, "packets", "requests taken from the network")                                      \
  X(replies, "packets", "replies given to the network")                                          \
  X(dram_busy, "DRAM cycles", "data bus busy")
/// All counters of a memory partition, including the sums over all applications.
#define GPUMUX_PARTITION_COUNTERS(X) GPUMUX_MEMORY_COUNTERS(X) GPUMUX_OWN_PARTITION_COUNTERS(X)

GPUMUX_COUNTER_STRUCT(PartitionCounters, GPUMUX_PARTITION_COUNTERS);

// Counters of a pair of applications: the effect of the culprit on the victim, which may be the same
// application.
#define GPUMUX_PAIR_COUNTERS(X) \
  X(l2_evictions, "lines", "L2 lines of the victim that made place for lines of the culprit")

// Counters of the ledger of interference for a pair of applications: the time that the victim
// waited while a place served, or was held by, another application, the culprit (docs/ledger.md).
// Zero in runs without a ledger.
#define GPUMUX_LEDGER_COUNTERS(X)                                                                           \
  X(issue_cycles, "scheduler cycles", "a warp of the victim could have issued when one of the culprit did") \
  X(unit_cycles, "scheduler cycles",                                                                        \
    "ready warps of the victim found their unit, or a full queue of the load/store unit, with the culprit") \
  X(lsu_cycles, "instruction cycles", "memory instructions waited behind one of the culprit")               \
  X(l1_entry_cycles, "instruction cycles",                                                                  \
    "head of the LSU stalled, by the culprit's part of the MSHRs or of the miss queue")                     \
  X(l1_line_cycles, "request cycles",                                                                       \
    "time of requests for lines that the victim alone would have had in L1, and the culprit evicted")       \
  X(l1_extra_misses, "lines", "accesses that missed such lines")                                            \
  X(request_port_cycles, "request cycles", "requests waited behind the culprit's for the SM's port")        \
  X(l2_queue_cycles, "request cycles", "requests waited behind the culprit's for the tags of their slice")  \
  X(l2_entry_cycles, "request cycles", "head of a slice stalled, by the culprit's part of the MSHRs")       \
  X(l2_line_cycles, "request cycles",                                                                       \
    "time of requests beyond the tags for lines that the victim alone would have had, and the culprit "     \
    "evicted")                                                                                              \
  X(l2_extra_misses, "requests", "these")                                                                   \
  X(dram_bank_clocks, "DRAM clocks", "requests waited while rows of the culprit were open in their bank")   \
  X(dram_row_clocks, "DRAM clocks", "activations of a row that the victim had open before the culprit's")   \
  X(dram_bus_clocks, "DRAM clocks", "requests with an open row waited while bursts of the culprit went")    \
  X(reply_port_cycles, "request cycles", "replies waited behind the culprit's for a slice's or the SM's port")

#define GPUMUX_ALL_PAIR_COUNTERS(X) GPUMUX_PAIR_COUNTERS(X) GPUMUX_LEDGER_COUNTERS(X)
GPUMUX_COUNTER_STRUCT(PairCounters, GPUMUX_ALL_PAIR_COUNTERS);

// Counters of an application in runs with a ledger: the totals of which its waits are a part.
#define GPUMUX_LEDGER_APP_COUNTERS(X)                                                                     \
  X(resident_scheduler_cycles, "scheduler cycles", "a scheduler had warps of the application")            \
  X(memory_scheduler_cycles, "scheduler cycles",                                                          \
    "of these, none issued, none could, and one waited for memory or for the load/store unit")            \
  X(barrier_scheduler_cycles, "scheduler cycles",                                                         \
    "of these, none issued, none could, and all that waited did so at barriers or fences")                \
  X(memory_instruction_cycles, "instruction cycles", "memory instructions' time from the LSU's queue on") \
  X(lsu_queue_cycles, "instruction cycles", "of these, until the unit was through with their accesses")   \
  X(lsu_head_cycles, "cycles", "an instruction was at the head of the load/store unit")                   \
  X(lsu_head_stall_cycles, "cycles", "of these, it stalled for what L1 or the miss queue lacked")         \
  X(request_cycles, "request cycles", "requests' time from the miss queue to their last reply")           \
  X(credit_wait_cycles, "request cycles",                                                                 \
    "of these, while the SM's port waited for room in the buffers before L2")                             \
  X(tag_wait_cycles, "request cycles", "requests waited for the tags of their slice")                     \
  X(busiest_slice_cycles, "cycles",                                                                       \
    "for which the slice that was busiest for the application was so, in windows of 4096")
GPUMUX_COUNTER_STRUCT(LedgerAppCounters, GPUMUX_LEDGER_APP_COUNTERS);

// Counters of one viewed SM (docs/views.md). The first eight are the states of awatramani17 section 5.3. In
// each cycle, each resident warp is in one of the first ten states.
#define GPUMUX_SM_VIEW_COUNTERS(X)                                                                           \
  X(warps_fetch, "warp cycles", "the instruction buffer is empty")                                           \
  X(warps_alu_scoreboard, "warp cycles", "an operand comes from arithmetic")                                 \
  X(warps_memory_scoreboard, "warp cycles", "an operand comes from memory")                                  \
  X(warps_alu_stall, "warp cycles", "ready, and the arithmetic unit is busy")                                \
  X(warps_memory_stall, "warp cycles", "ready, and the load/store unit takes nothing")                       \
  X(warps_can_issue_alu, "warp cycles", "could issue an instruction of arithmetic or control")               \
  X(warps_can_issue_memory, "warp cycles", "could issue a memory instruction")                               \
  X(warps_completed, "warp cycles", "has ended, its thread block has not")                                   \
  X(warps_barrier, "warp cycles", "waits at a barrier or fence")                                             \
  X(warps_held, "warp cycles", "ready, and a limit or policy keeps it from issuing")                         \
  X(alu_in_flight, "instruction cycles", "instructions of arithmetic that have issued, until their results") \
  X(memory_in_flight, "instruction cycles", "accesses to memory beyond the SM, until they are performed")    \
  X(memory_in_flight_begun, "instructions", "these accesses, when they issue")                               \
  X(memory_overlapped, "instruction cycles", "of memory_in_flight, while arithmetic was in flight, too")     \
  X(alu_cycles, "cycles", "arithmetic was in flight")                                                        \
  X(memory_cycles, "cycles", "accesses to memory were in flight")                                            \
  X(overlap_cycles, "cycles", "both were")                                                                   \
  X(core_active_cycles, "cycles", "an instruction was issued")                                               \
  X(core_pipeline_cycles, "cycles", "none was, and a ready warp found its unit busy")                        \
  X(core_mixed_cycles, "cycles", "the same beside warps that waited, where sm.view_mixed is apart")          \
  X(core_scoreboard_cycles, "cycles", "none was, no warp was ready, and one ran")                            \
  X(core_idle_cycles, "cycles", "no warp ran")                                                               \
  X(tail_cycles, "cycles", "a resident block had warps that had ended beside others that ran")
// Warps by the phase of their kernel (isa/phases.hpp), from 1 on. Later phases count as the last one.
#define GPUMUX_PHASE_COUNTER(X, n) \
  X(phase_##n, "warp cycles", "of warps that run, in this phase of their kernel")
#define GPUMUX_TEN_PHASES(X, t) \
  GPUMUX_PHASE_COUNTER(X, t##0) \
  GPUMUX_PHASE_COUNTER(X, t##1) \
  GPUMUX_PHASE_COUNTER(X, t##2) \
  GPUMUX_PHASE_COUNTER(X, t##3) \
  GPUMUX_PHASE_COUNTER(X, t##4) \
  GPUMUX_PHASE_COUNTER(X, t##5) \
  GPUMUX_PHASE_COUNTER(X, t##6) \
  GPUMUX_PHASE_COUNTER(X, t##7) \
  GPUMUX_PHASE_COUNTER(X, t##8) \
  GPUMUX_PHASE_COUNTER(X, t##9)
#define GPUMUX_PHASE_COUNTERS(X) \
  GPUMUX_PHASE_COUNTER(X, 1)     \
  GPUMUX_PHASE_COUNTER(X, 2)     \
  GPUMUX_PHASE_COUNTER(X, 3)     \
  GPUMUX_PHASE_COUNTER(X, 4)     \
  GPUMUX_PHASE_COUNTER(X, 5)     \
  GPUMUX_PHASE_COUNTER(X, 6)     \
  GPUMUX_PHASE_COUNTER(X, 7)     \
  GPUMUX_PHASE_COUNTER(X, 8)     \
  GPUMUX_PHASE_COUNTER(X, 9)     \
  GPUMUX_TEN_PHASES(X, 1)        \
  GPUMUX_TEN_PHASES(X, 2)        \
  GPUMUX_TEN_PHASES(X, 3)        \
  GPUMUX_TEN_PHASES(X, 4)        \
  GPUMUX_TEN_PHASES(X, 5)
#define GPUMUX_ALL_SM_VIEW_COUNTERS(X) GPUMUX_SM_VIEW_COUNTERS(X) GPUMUX_PHASE_COUNTERS(X)
inline constexpr std::size_t kViewedPhases = 59;
GPUMUX_COUNTER_STRUCT(
    SmViewCounters, GPUMUX_ALL_SM_VIEW_COUNTERS,
    /// Counter of the phase with this number, from 0 on.
    std::uint64_t& phase(std::size_t number) { return *(&phase_1 + std::min(number, kViewedPhases - 1)); });
static_assert(offsetof(SmViewCounters, phase_59) ==
              offsetof(SmViewCounters, phase_1) + sizeof(std::uint64_t) * (kViewedPhases - 1));

#undef GPUMUX_COUNTER_STRUCT
#undef GPUMUX_COUNTER_FIELD
#undef GPUMUX_COUNTER_ADD
#undef GPUMUX_COUNTER_SUBTRACT

}  // namespace gpumux::arch
