// Table 2 of chimera15, compared with the registers and shared memory for which blocks of the applications
// chimera15/NAME count.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>

#include "arch/config_file.hpp"
#include "policy/preemption/cost.hpp"
#include "ptx/idempotence.hpp"
#include "reproduce/library.hpp"
#include "reproduce/paper_table.hpp"

namespace gpumux::reproduce {
namespace {

double number(const TableRow& row, const char* column) { return std::get<double>(row.at(column)); }

TEST(Chimera15Table2, BlocksCountForWhatItSays) {
  const arch::MachineConfig machine = arch::load_machine("chimera15-fermi30");
  // Contexts are printed in whole kB, which the switching times are not made from; allocation is in units.
  const std::map<std::string, double> wide = {{"LUD.1", 0.12}, {"LC.1", 0.08}};
  std::size_t kernels = 0;
  for (const char* app :
       {"BS", "BT", "BP", "CP", "FWT", "HW", "HS", "KM", "LC", "LUD", "MUM", "NW", "SAD", "ST"}) {
    const AppFacts facts = app_facts(std::string("chimera15/") + app, machine);
    for (std::size_t k = 0; k < facts.kernels.size(); ++k, ++kernels) {
      const std::string name = std::string(app) + "." + std::to_string(k);
      SCOPED_TRACE(name);
      const std::optional<TableRow> row = claimed_row("chimera15", "Table 2", name);
      ASSERT_TRUE(row);
      const workload::BlockResources& block = facts.kernels[k].resources;
      const auto bytes = static_cast<double>(policy::context_bytes(machine.sm, block));
      EXPECT_NEAR(bytes / 1024, number(*row, "context_kb_per_tb"), 0.5);
      const std::uint32_t blocks =
          arch::occupancy(machine.sm, block.threads, block.registers_per_thread, block.shared_bytes).blocks;
      EXPECT_EQ(blocks, number(*row, "tbs_per_sm"));
      const double us = policy::context_cycles(machine, static_cast<std::uint64_t>(bytes) * blocks) / 1400;
      const double printed = number(*row, "switch_us");
      EXPECT_NEAR(us, printed, printed * (wide.contains(name) ? wide.at(name) : 0.02));
      EXPECT_EQ(ptx::is_idempotent(*facts.kernels[k].code), std::get<bool>(row->at("idempotent")));
    }
  }
  EXPECT_EQ(kernels, 27U);
}

}  // namespace
}  // namespace gpumux::reproduce
