// doe21, a paper that does not exist: what its Table 1 prints of each application, beside ours.
// The worked example of docs/adding-a-paper.md; as papers/doe21/table1.cpp it would be complete.
#include <optional>
#include <string_view>

#include "arch/config_file.hpp"
#include "reproduce/paper_table.hpp"

namespace gpumux::papers {
namespace {

using experiment::RunResult;
using reproduce::AppFacts;
using reproduce::TableCell;
using reproduce::TableRow;

/// What the paper prints of doe21/`name`. With claims, experiments/claims/doe21.toml, this is
/// reproduce::claimed_row("doe21", "Table 1", name).
std::optional<TableRow> row(std::string_view name) {
  if (name == "add") return TableRow{{"tbs_per_sm", 6.0}, {"tb_us", 3.5}};
  return std::nullopt;
}

/// Known without a run: blocks that fit on an empty SM.
std::optional<TableCell> blocks_per_sm(const AppFacts& facts) {
  const workload::BlockResources& block = facts.kernels.front().resources;
  const arch::Occupancy fit =
      arch::occupancy(facts.machine.sm, block.threads, block.registers_per_thread, block.shared_bytes);
  return static_cast<double>(fit.blocks);
}

/// Measured: SM time for each block that ended, in us. Nothing where none did.
std::optional<TableCell> block_time(const AppFacts& facts, const RunResult& alone) {
  const double blocks = static_cast<double>(alone.apps.front().counters.blocks_completed);
  if (blocks == 0) return std::nullopt;
  const double cycles = static_cast<double>(alone.cycles) * alone.sms / blocks;
  return cycles / facts.machine.clocks.core;  // which is in MHz
}

[[maybe_unused]] const bool registered_columns = reproduce::register_paper_table({
    .paper = "doe21",
    .title = "doe21 Table 1",
    .key = "table1",
    .row = row,
    .columns = {{.label = "TBs/SM",
                 .key = "blocks_per_sm",
                 .stated = "tbs_per_sm",
                 .digits = 0,
                 .stated_digits = 0,
                 .inspected = blocks_per_sm},
                {.label = "block time",
                 .key = "block_time",
                 .unit = "us",
                 .stated = "tb_us",
                 .stated_digits = 1,
                 .measured = block_time}},
});

}  // namespace
}  // namespace gpumux::papers
