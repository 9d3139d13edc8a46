#include "table2_text.hpp"

#include <fmt/format.h>

#include "arch/config_file.hpp"
#include "database/workload_class.hpp"
#include "table.hpp"

namespace gpumux::cli {
namespace {

using nlohmann::ordered_json;

std::optional<double> quotient(std::uint64_t part, std::uint64_t whole) {
  if (whole == 0) return std::nullopt;
  return static_cast<double>(part) / static_cast<double>(whole);
}

std::string number(const std::optional<double>& value, int digits) {
  return value ? fmt::format("{:.{}f}", *value, digits) : "-";
}

std::string percent(double value) { return fmt::format("{:.1f}%", value); }

}  // namespace

Table2Occupancy table2_occupancy(const benchmarks::Table2Row& row, const arch::MachineConfig& machine) {
  const arch::SmConfig& sm = machine.sm;
  const double blocks = arch::occupancy(sm, row.threads, row.registers, row.shared_bytes).blocks;
  const auto share = [&](std::uint64_t of_block, std::uint64_t of_sm) {
    return of_sm == 0 ? 0.0 : 100.0 * blocks * static_cast<double>(of_block) / static_cast<double>(of_sm);
  };
  return {share(std::uint64_t{row.registers} * row.threads, sm.registers),
          share(row.shared_bytes, sm.shared_bytes), share(row.threads, sm.max_threads),
          share(1, sm.max_blocks)};
}

Table2Measures table2_measures(const experiment::RunResult& run, const arch::MachineConfig& machine) {
  const arch::KernelCounters& c = run.apps.front().counters;
  Table2Measures result;
  result.compute_per_memory = quotient(c.warp_instructions - c.memory_instructions, c.memory_instructions);
  result.requests_per_memory = quotient(c.l1_accesses, c.memory_instructions - c.shared_accesses);
  result.miss_rate = quotient(c.l1_misses, c.l1_accesses);
  result.reservation_failures = quotient(c.reservation_failures(), c.l1_accesses);
  result.stall_share = quotient(c.lsu_stall_cycles, run.cycles * machine.sms);
  result.type = result.stall_share.value_or(0) > database::kMemoryStallShare ? 'M' : 'C';
  return result;
}

const benchmarks::Table2Row* table2_row(const std::string& app) {
  return benchmarks::dai18_row(std::string_view(app).substr(0, app.find(':')));
}

std::string table2_text(const benchmarks::Table2Row& row, const arch::MachineConfig& machine,
                        const experiment::RunResult* run, std::optional<std::size_t> width, bool colour) {
  Table table({"dai18 Table 2", "RF_oc", "SMEM_oc", "Thread_oc", "TB_oc", "Cinst/Minst", "Req/Minst",
               "L1 miss", "L1 rsfail", "LSU stalls", "type"},
              1);
  const Table2Occupancy o = table2_occupancy(row, machine);
  Table2Measures m;
  if (run != nullptr) m = table2_measures(*run, machine);
  table.add({"ours", percent(o.registers), percent(o.shared), percent(o.threads), percent(o.blocks),
             number(m.compute_per_memory, 2), number(m.requests_per_memory, 2), number(m.miss_rate, 2),
             number(m.reservation_failures, 2), m.stall_share ? percent(100 * *m.stall_share) : "-",
             run == nullptr ? "-" : std::string(1, m.type)});
  table.add({"paper", percent(row.registers_percent), percent(row.shared_percent),
             percent(row.threads_percent), percent(row.blocks_percent), number(row.compute_per_memory, 0),
             number(row.requests_per_memory, 0), number(row.miss_rate, 2),
             number(row.reservation_failures, 2), row.type == 'M' ? "> 20%" : "<= 20%",
             std::string(1, row.type)});
  return table.text(width, colour);
}

ordered_json table2_json(const benchmarks::Table2Row& row, const arch::MachineConfig& machine) {
  const Table2Occupancy o = table2_occupancy(row, machine);
  return {{"ours",
           {{"registers_percent", o.registers},
            {"shared_percent", o.shared},
            {"threads_percent", o.threads},
            {"blocks_percent", o.blocks}}},
          {"paper",
           {{"registers_percent", row.registers_percent},
            {"shared_percent", row.shared_percent},
            {"threads_percent", row.threads_percent},
            {"blocks_percent", row.blocks_percent},
            {"compute_per_memory", row.compute_per_memory},
            {"requests_per_memory", row.requests_per_memory},
            {"miss_rate", row.miss_rate},
            {"reservation_failures", row.reservation_failures},
            {"type", std::string(1, row.type)}}}};
}

}  // namespace gpumux::cli
