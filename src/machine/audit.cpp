// Conservation checks over the whole machine.
#include <algorithm>

#include "base/error.hpp"
#include "machine/gpu.hpp"

namespace gpumux::machine {

namespace {

void check(bool holds, const char* what, std::uint64_t a, std::uint64_t b) {
  if (!holds) throw InternalError(fmt::format("conservation: {}: {} and {}", what, a, b));
}

}  // namespace

void Gpu::check_conservation() const {
  std::uint64_t out = 0, found = 0, sent = 0;
  for (std::uint32_t i = 0; i < parts_.sms(); ++i) {
    out += parts_.sm(i).requests_out();
    found += parts_.sm(i).replies_waiting();
  }
  for (std::uint32_t i = 0; i < parts_.partitions(); ++i) found += parts_.partition(i).answers_owed();
  for (std::uint32_t i = 0; i < parts_.cpus(); ++i) {
    if (parts_.cpu(i) == nullptr) continue;
    out += parts_.cpu(i)->awaited();
    found += parts_.cpu(i)->replies_waiting();
    sent += parts_.cpu(i)->requests_sent();
  }
  found += parts_.awaited_on_the_way();
  check(out == found, "requests that wait for a reply, and those that will give one", out, found);

  for (unsigned app = 0; app < kMaxApps; ++app) {
    const arch::KernelCounters counters = app_counters(static_cast<AppId>(app));
    sent += counters.requests_sent;
    std::uint64_t executed = 0;
    for (unsigned unit = 0; unit < isa::kUnits; ++unit)
      executed += counters.by_unit(static_cast<isa::Unit>(unit));
    check(executed == counters.thread_instructions, "thread instructions of all units, and issued", executed,
          counters.thread_instructions);
    check(counters.request_flits >= counters.requests_sent, "flits of requests, and requests",
          counters.request_flits, counters.requests_sent);
    check(counters.lsu_stall_cycles == counters.reservation_failures(), "LSU stalls, and their causes",
          counters.lsu_stall_cycles, counters.reservation_failures());
    check(counters.l1_misses <= counters.l1_accesses, "L1 misses and accesses", counters.l1_misses,
          counters.l1_accesses);
    check(counters.l1_hits_pending <= counters.l1_misses, "merged L1 misses, and all of them",
          counters.l1_hits_pending, counters.l1_misses);
  }
  const arch::PartitionCounters memory = partition_counters();
  check(memory.requests <= sent, "requests taken and sent", memory.requests, sent);
  check(memory.replies <= memory.requests, "replies and requests", memory.replies, memory.requests);
  check(memory.l2_writes <= memory.l2_accesses, "L2 writes and accesses", memory.l2_writes,
        memory.l2_accesses);
  check(memory.l2_misses <= memory.l2_accesses, "L2 misses and accesses", memory.l2_misses,
        memory.l2_accesses);
  const std::uint64_t bursts = memory.dram_reads + memory.dram_writes;
  check(memory.dram_bytes == bursts * config_.dram.burst_bytes, "DRAM bytes, and those of its bursts",
        memory.dram_bytes, bursts * config_.dram.burst_bytes);
}

void Gpu::check_drained() {
  GPUMUX_CHECK(kernels().empty());
  for (std::uint32_t i = 0; i < parts_.cpus(); ++i)
    if (parts_.cpu(i) != nullptr) parts_.cpu(i)->stop();
  const auto busy = [this] {
    bool some = work_.some_slot_is_used();
    for (std::uint32_t i = 0; i < parts_.sms(); ++i) some = some || parts_.sm(i).requests_out() > 0;
    for (std::uint32_t i = 0; i < parts_.partitions(); ++i) some = some || !parts_.partition(i).idle();
    for (std::uint32_t i = 0; i < parts_.cpus(); ++i)
      some = some || (parts_.cpu(i) != nullptr && parts_.cpu(i)->awaited() > 0);
    some = some || !parts_.network_drained();
    return some;
  };
  // Credits are returned after the last reply, so run on until the machine has been quiet for this long.
  const Cycle limit = now() + config_.watchdog_cycles;
  for (Cycle quiet = 0; quiet < 4 * parts_.network().latency + 64;) {
    run_parts(parts_.windows().end(now()));
    work_.recycle();
    quiet = busy() ? 0 : quiet + parts_.windows().length;
    if (now() > limit)
      throw InternalError("conservation: the machine does not come to rest\n" + work_.wait_report());
  }
  check_conservation();
  for (std::uint32_t i = 0; i < parts_.sms(); ++i) parts_.sm(i).check_drained(true);
  for (std::uint32_t i = 0; i < parts_.partitions(); ++i) parts_.partition(i).check_drained();

  for (std::uint32_t i = 0; i < parts_.cpus(); ++i)
    if (parts_.cpu(i) != nullptr) parts_.cpu(i)->check_drained();

  arch::KernelCounters sms;
  for (unsigned app = 0; app < kMaxApps; ++app) sms.add(app_counters(static_cast<AppId>(app)));
  const arch::PartitionCounters memory = partition_counters();
  std::uint64_t sent = sms.requests_sent, answered = sms.requests_sent;
  for (std::uint32_t i = 0; i < parts_.cpus(); ++i) {
    if (parts_.cpu(i) == nullptr) continue;
    sent += parts_.cpu(i)->requests_sent();
    answered += parts_.cpu(i)->replies_taken();
  }
  check(memory.requests == sent, "requests taken and sent", memory.requests, sent);
  check(memory.replies == answered, "replies and requests", memory.replies, answered);
  check(memory.atomics == sms.atomics, "atomic operations performed and asked for", memory.atomics,
        sms.atomics);
  const arch::SchedulerCounters schedulers = scheduler_counters();
  const arch::SmConfig& sm = config_.sm;
  check((sm.issue_width > 1 ? schedulers.issued * sm.issue_width >= sms.warp_instructions
                            : schedulers.issued >= sms.warp_instructions) &&
            (sm.issue_interval > 1 || schedulers.issued <= sms.warp_instructions),
        "issue cycles and instructions", schedulers.issued, sms.warp_instructions);
  const arch::DramConfig& dram = config_.dram;
  if (dram.REFI == 0 && dram.write_high_watermark == 0) {  // otherwise a row may be closed unused
    const std::uint64_t columns = memory.dram_reads + memory.dram_writes;
    check(memory.dram_row_hits + memory.dram_activates == columns,
          "row hits and activations, and column commands", memory.dram_row_hits + memory.dram_activates,
          columns);
  }
  const std::uint64_t unit = config_.l2.sectored ? kSectorBytes : kLineBytes;
  if (dram.burst_bytes <= unit) {  // otherwise a burst moves more than what is counted
    const std::uint64_t written = memory.dram_writes * dram.burst_bytes,
                        read = memory.dram_reads * dram.burst_bytes;
    check(written == memory.l2_writebacks * unit, "bytes written to DRAM and evicted from L2", written,
          memory.l2_writebacks * unit);
    check(read <= memory.l2_misses * unit, "bytes read from DRAM and missed in L2", read,
          memory.l2_misses * unit);
  }
}

}  // namespace gpumux::machine
