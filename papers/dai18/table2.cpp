// Table 2 of dai18 (HPCA 2018): resources that the blocks of an application take of an SM, and its demand on
// the memory pipeline when it runs alone. docs/dai18-applications.md defines the columns.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "arch/config_file.hpp"
#include "database/workload_class.hpp"
#include "reproduce/paper_table.hpp"

namespace gpumux::papers::dai18 {
namespace {

using experiment::RunResult;
using reproduce::AppFacts;
using reproduce::TableCell;
using reproduce::TableRow;

std::optional<TableRow> row(std::string_view name) {
  std::optional<TableRow> row = reproduce::claimed_row("dai18", "Table 2", name);
  // The table has no column of stalls, but its type says on which side of 20% they are (section 2.4).
  if (row) row->emplace("stalls", row->at("type") == TableCell("M") ? "> 20%" : "<= 20%");
  return row;
}

/// Percentage of an SM's resource that the blocks which fit on an empty SM take. `of_block`, `of_sm`: amounts
/// of the resource.
double share(const AppFacts& facts, std::uint64_t of_block, std::uint64_t of_sm) {
  const workload::BlockResources& block = facts.kernels.front().resources;
  const double blocks =
      arch::occupancy(facts.machine.sm, block.threads, block.registers_per_thread, block.shared_bytes).blocks;
  if (of_sm == 0) return 0;
  return 100.0 * blocks * static_cast<double>(of_block) / static_cast<double>(of_sm);
}

/// Threads that a block occupies: those of its warps.
std::uint64_t lanes(const workload::BlockResources& block) {
  return std::uint64_t{block.warps()} * kWarpSize;
}

std::optional<TableCell> registers(const AppFacts& facts) {
  const workload::BlockResources& block = facts.kernels.front().resources;
  return share(facts, block.registers_per_thread * lanes(block), facts.machine.sm.registers);
}
std::optional<TableCell> shared(const AppFacts& facts) {
  return share(facts, facts.kernels.front().resources.shared_bytes, facts.machine.sm.shared_bytes);
}
std::optional<TableCell> threads(const AppFacts& facts) {
  return share(facts, lanes(facts.kernels.front().resources), facts.machine.sm.max_threads);
}
std::optional<TableCell> blocks(const AppFacts& facts) {
  return share(facts, 1, facts.machine.sm.max_blocks);
}

std::optional<TableCell> quotient(std::uint64_t part, std::uint64_t whole) {
  if (whole == 0) return std::nullopt;
  return static_cast<double>(part) / static_cast<double>(whole);
}

const arch::KernelCounters& counters(const RunResult& alone) { return alone.apps.front().counters; }

/// Compute instructions per memory instruction. Loads of constants and parameters count as neither.
std::optional<TableCell> compute_per_memory(const AppFacts&, const RunResult& alone) {
  const arch::KernelCounters& c = counters(alone);
  return quotient(c.warp_instructions - c.memory_instructions, c.memory_instructions - c.constant_accesses);
}
/// Requests per memory instruction. Accesses to shared and constant memory make no requests, and are left
/// out.
std::optional<TableCell> requests_per_memory(const AppFacts&, const RunResult& alone) {
  const arch::KernelCounters& c = counters(alone);
  return quotient(c.l1_accesses, c.memory_instructions - c.shared_accesses - c.constant_accesses);
}
/// L1 miss rate. Accesses that are merged into an outstanding miss count as misses.
std::optional<TableCell> miss_rate(const AppFacts&, const RunResult& alone) {
  return quotient(counters(alone).l1_misses, counters(alone).l1_accesses);
}
std::optional<TableCell> reservation_failures(const AppFacts&, const RunResult& alone) {
  return quotient(counters(alone).reservation_failures(), counters(alone).l1_accesses);
}
/// LSU stalls in percent of SM cycles.
std::optional<TableCell> stalls(const AppFacts& facts, const RunResult& alone) {
  const std::uint64_t sm_cycles = alone.cycles * facts.machine.sms;
  if (sm_cycles == 0) return std::nullopt;
  return 100 * (static_cast<double>(counters(alone).lsu_stall_cycles) / static_cast<double>(sm_cycles));
}
std::optional<TableCell> type(const AppFacts& facts, const RunResult& alone) {
  return std::string(1, database::application_class(static_cast<double>(counters(alone).lsu_stall_cycles),
                                                    static_cast<double>(alone.cycles * facts.machine.sms)));
}

[[maybe_unused]] const bool registered = reproduce::register_paper_table({
    .paper = "dai18",
    .title = "dai18 Table 2",
    .key = "table2",
    .in_results = false,  // not in results of runs, which must stay the same byte for byte
    .row = row,
    .columns =
        {{.label = "RF_oc",
          .key = "registers",
          .unit = "percent",
          .stated = "rf_occupancy_pct",
          .digits = 1,
          .stated_digits = 1,
          .inspected = registers},
         {.label = "SMEM_oc",
          .key = "shared",
          .unit = "percent",
          .stated = "smem_occupancy_pct",
          .digits = 1,
          .stated_digits = 1,
          .inspected = shared},
         {.label = "Thread_oc",
          .key = "threads",
          .unit = "percent",
          .stated = "thread_occupancy_pct",
          .digits = 1,
          .stated_digits = 1,
          .inspected = threads},
         {.label = "TB_oc",
          .key = "blocks",
          .unit = "percent",
          .stated = "tb_occupancy_pct",
          .digits = 1,
          .stated_digits = 1,
          .inspected = blocks},
         {.label = "Cinst/Minst",
          .key = "compute_per_memory",
          .stated = "cinst_per_minst",
          .stated_digits = 0,
          .measured = compute_per_memory},
         {.label = "Req/Minst",
          .key = "requests_per_memory",
          .stated = "req_per_minst",
          .stated_digits = 0,
          .measured = requests_per_memory},
         {.label = "L1 miss", .key = "miss_rate", .stated = "l1d_miss_rate", .measured = miss_rate},
         {.label = "L1 rsfail",
          .key = "reservation_failures",
          .stated = "l1d_rsfail_rate",
          .measured = reservation_failures},
         {.label = "LSU stalls", .unit = "percent", .stated = "stalls", .digits = 1, .measured = stalls},
         {.label = "type", .key = "type", .stated = "type", .measured = type}},
});

}  // namespace
}  // namespace gpumux::papers::dai18
