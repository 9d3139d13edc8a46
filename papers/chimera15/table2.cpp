// Table 2 of chimera15 (ASPLOS 2015): the cost of preempting a block of each kernel. The paper has one row
// per kernel; gpumux has one row per application, with the values of its kernels side by side.
#include <fmt/core.h>

#include "arch/config_file.hpp"
#include "policy/preemption/cost.hpp"
#include "ptx/idempotence.hpp"
#include "reproduce/paper_table.hpp"

namespace gpumux::papers::chimera15 {
namespace {

using experiment::KernelResult;
using experiment::RunResult;
using reproduce::AppFacts;
using reproduce::KernelFacts;
using reproduce::TableCell;
using reproduce::TableRow;

constexpr std::size_t kMostKernels = 3;

std::string joined(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : " / ") + part;
  return text;
}

std::optional<TableRow> row(std::string_view name) {
  TableRow result;
  for (const auto& [column, digits] : {std::pair{"average_drain_us", 1},
                                       {"context_kb_per_tb", 0},
                                       {"tbs_per_sm", 0},
                                       {"switch_us", 1},
                                       {"idempotent", 0}}) {
    std::vector<std::string> parts;
    for (std::size_t kernel = 0; kernel < kMostKernels; ++kernel) {
      const std::optional<TableRow> of =
          reproduce::claimed_row("chimera15", "Table 2", fmt::format("{}.{}", name, kernel));
      if (!of) continue;
      const TableCell& cell = of->at(column);
      if (const double* const number = std::get_if<double>(&cell))
        parts.push_back(fmt::format("{:.{}f}", *number, digits));
      if (const bool* const yes = std::get_if<bool>(&cell)) parts.emplace_back(*yes ? "yes" : "no");
    }
    if (parts.empty()) return std::nullopt;
    result.emplace(column, TableCell(joined(parts)));
  }
  return result;
}

template <typename Text>
TableCell of_each(const AppFacts& facts, Text&& text) {
  std::vector<std::string> parts;
  for (const KernelFacts& kernel : facts.kernels) parts.push_back(text(kernel));
  return joined(parts);
}

std::uint32_t blocks_per_sm(const AppFacts& facts, const KernelFacts& kernel) {
  const workload::BlockResources& block = kernel.resources;
  return arch::occupancy(facts.machine.sm, block.threads, block.registers_per_thread, block.shared_bytes)
      .blocks;
}

std::optional<TableCell> context(const AppFacts& facts) {
  return of_each(facts, [&](const KernelFacts& kernel) {
    const auto bytes = static_cast<double>(policy::context_bytes(facts.machine.sm, kernel.resources));
    return fmt::format("{:.0f}", bytes / 1024);
  });
}
std::optional<TableCell> blocks(const AppFacts& facts) {
  return of_each(facts,
                 [&](const KernelFacts& kernel) { return fmt::format("{}", blocks_per_sm(facts, kernel)); });
}
std::optional<TableCell> switching(const AppFacts& facts) {
  return of_each(facts, [&](const KernelFacts& kernel) {
    const std::uint64_t bytes =
        policy::context_bytes(facts.machine.sm, kernel.resources) * blocks_per_sm(facts, kernel);
    return fmt::format("{:.1f}", policy::context_cycles(facts.machine, bytes) / facts.machine.clocks.core);
  });
}
/// Idempotence of each kernel, by static analysis.
std::optional<TableCell> idempotent(const AppFacts& facts) {
  return of_each(facts, [](const KernelFacts& kernel) {
    return std::string(ptx::is_idempotent(*kernel.code) ? "yes" : "no");
  });
}
/// Drain time in us: half of a block's mean time, because preemption comes at any point of a block.
std::optional<TableCell> drain(const AppFacts& facts, const RunResult& alone) {
  return of_each(facts, [&](const KernelFacts& kernel) -> std::string {
    for (const KernelResult& of : alone.kernels) {
      if (of.name != kernel.name || of.blocks == 0) continue;
      const double cycles = static_cast<double>(of.block_cycles) / static_cast<double>(of.blocks);
      return fmt::format("{:.1f}", cycles / 2 / facts.machine.clocks.core);
    }
    return "-";
  });
}

[[maybe_unused]] const bool registered = reproduce::register_paper_table({
    .paper = "chimera15",
    .title = "chimera15 Table 2",
    .key = "table2",
    .row = row,
    .columns =
        {{.label = "drain, us", .key = "drain_us", .stated = "average_drain_us", .measured = drain},
         {.label = "context/block, KB",
          .key = "context_KB",
          .stated = "context_kb_per_tb",
          .inspected = context},
         {.label = "blocks/SM", .key = "blocks", .stated = "tbs_per_sm", .inspected = blocks},
         {.label = "switching, us", .key = "switching_us", .stated = "switch_us", .inspected = switching},
         {.label = "idempotent", .key = "idempotent", .stated = "idempotent", .inspected = idempotent}},
});

}  // namespace
}  // namespace gpumux::papers::chimera15
