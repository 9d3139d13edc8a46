// chimera15/BT, SAD and MUM: their data structures and CPU references against cases worked by hand, the
// registers and shared memory of their blocks against Table 2 of the paper, and parameters that must be
// refused.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "arch/config_file.hpp"
#include "base/error.hpp"
#include "base/hash.hpp"
#include "benchmarks/btree/btree.hpp"
#include "benchmarks/functional_host.hpp"
#include "emulator/program.hpp"
#include "policy/preemption/cost.hpp"
#include "runtime/application.hpp"
#include "workload/device_memory.hpp"
#include "workload/overwrites.hpp"

namespace gpumux::benchmarks {
namespace {

constexpr std::int32_t kNone = std::numeric_limits<std::int32_t>::max();
constexpr std::int32_t kFirst = std::numeric_limits<std::int32_t>::min();

struct TableRow {
  const char* app;
  const char* kernel;
  std::uint32_t threads;
  std::uint64_t context_kb;  // whole ones: the table's switching times say that it leaves out the rest
  std::uint32_t blocks;
};

class Chimera15Tree : public testing::TestWithParam<TableRow> {};

TEST_P(Chimera15Tree, ContextAndBlocksAreThoseOfTable2) {
  const TableRow& row = GetParam();
  const arch::MachineConfig machine = arch::load_machine("chimera15-fermi30");
  const runtime::AppInfo* const info = runtime::find_app(row.app);
  ASSERT_NE(info, nullptr);
  const runtime::AppParams params = runtime::parse_params(*info, "");
  workload::DeviceMemory memory{AppId{0}};
  emulator::LoadedModule module(emulator::compile_module(info->ptx_text, info->ptx_file, {}), memory,
                                AppId{0}, nullptr);
  const emulator::KernelInfo* const kernel = module.find(row.kernel);
  ASSERT_NE(kernel, nullptr);
  const auto shapes = info->shapes(params);
  const auto shape =
      std::find_if(shapes.begin(), shapes.end(), [&](const auto& each) { return each.kernel == row.kernel; });
  ASSERT_NE(shape, shapes.end());
  emulator::LaunchConfig config;
  config.grid = shape->grid;
  config.block = shape->block;
  config.parameters.resize(kernel->code.param_bytes);
  const auto metadata = info->create(params, 1)->block_metadata();
  const auto launch = module.launch(*kernel, config, metadata.at(row.kernel));
  const workload::BlockResources& block = launch->resources();
  EXPECT_EQ(block.threads, row.threads);
  EXPECT_EQ(policy::context_bytes(machine.sm, block) / 1024, row.context_kb);
  EXPECT_EQ(arch::occupancy(machine.sm, block.threads, block.registers_per_thread, block.shared_bytes).blocks,
            row.blocks);
}

INSTANTIATE_TEST_SUITE_P(Table2, Chimera15Tree,
                         testing::Values(TableRow{"chimera15/BT", "findRangeK", 256, 46, 2},
                                         TableRow{"chimera15/BT", "findK", 256, 36, 3}),
                         [](const auto& param) { return std::string(param.param.kernel); });

/// Counts by kernel the blocks that overwrite what they have read.
class OverwriteCounter final : public testing_support::FunctionalHost {
 public:
  OverwriteCounter() : FunctionalHost(1) {}
  struct Count {
    std::uint64_t blocks = 0, overwriting = 0;
  };
  std::map<std::string, Count> counts;

 protected:
  std::uint64_t run(workload::KernelSource& kernel) override {
    std::uint64_t executed = 0;
    for (std::uint64_t index = 0; index < kernel.blocks(); ++index) {
      const auto block = kernel.begin_block(index, 0, 0, 0);
      workload::Overwrites overwrites(block->warps());
      std::vector<std::uint64_t> records(block->warps());
      for (bool finished = false; !finished;) {
        finished = true;
        for (std::uint32_t w = 0; w < block->warps(); ++w) {
          workload::WarpStream& stream = block->stream(w);
          if (!stream.finished) block->refill(w, 16);
          for (; stream.next != stream.end; ++stream.next, ++records[w], ++executed) {
            const isa::StaticInst& inst = kernel.static_table()[stream.next->pc];
            if (inst.unit != isa::Unit::Memory) continue;
            const auto header = std::bit_cast<workload::MemHeader>(*stream.mem_next++);
            overwrites.executed(w, records[w], inst, header, stream.mem_next);
            stream.mem_next += header.transactions;
          }
          finished = finished && stream.finished;
        }
      }
      bool overwriting = false;
      for (std::uint32_t w = 0; w < block->warps(); ++w) {
        overwriting = overwriting || overwrites.first(w) != workload::Overwrites::kNone;
      }
      ++counts[kernel.name()].blocks;
      if (overwriting) ++counts[kernel.name()].overwriting;
    }
    return executed;
  }
};

TEST(Chimera15Trees, OnlyTheTreesQueriesOverwriteWhatTheyRead) {
  for (const auto& [text, kernels, overwriting] :
       {std::tuple("chimera15/BT:keys=9001,ranges=70,range=500,queries=90", 2U, true)}) {
    const std::string app = text;
    const std::size_t colon = app.find(':');
    const runtime::AppInfo* const info = runtime::find_app(app.substr(0, colon));
    ASSERT_NE(info, nullptr) << app;
    const auto application = info->create(runtime::parse_params(*info, app.substr(colon + 1)), 1);
    OverwriteCounter host;
    runtime::Task task = application->run(host, true);
    while (!task.done()) task.resume();
    EXPECT_EQ(host.counts.size(), kernels);
    for (const auto& [kernel, count] : host.counts) {
      EXPECT_EQ(count.overwriting, overwriting ? count.blocks : 0) << app << ' ' << kernel;
    }
  }
}

TEST(Chimera15TreesParams, BadOnesAreRefused) {
  for (const char* text :
       {"btree:keys=0", "btree:order=15", "btree:order=1025", "btree:keys=10,range=11",
        "chimera15/BT:queries=65536", "chimera15/BT:keys=4194305", "chimera15/BT:depth=3"}) {
    const std::string app = text;
    const std::size_t colon = app.find(':');
    const runtime::AppInfo* info = runtime::find_app(app.substr(0, colon));
    ASSERT_NE(info, nullptr) << app;
    try {
      (void)info->create(runtime::parse_params(*info, app.substr(colon + 1)), 1);
      ADD_FAILURE() << app << " was taken";
    } catch (const UserError& error) {
      EXPECT_NE(std::string(error.what()).find("app " + app.substr(0, colon) + ":"), std::string::npos)
          << error.what();
    }
  }
}

TEST(BtreeBuild, FullNodesAreHalved) {
  // Of order 4: a leaf has up to 3 records. The fourth makes two leaves of two.
  const btree::Tree one = btree::build({{30, 3}, {10, 1}, {20, 2}}, 4);
  EXPECT_EQ(one.height, 0U);
  EXPECT_EQ(one.nodes, (std::vector<std::int32_t>{0, 0, 1, 2, 0, 0, 10, 20, 30, kNone, kNone, 1, 3}));
  EXPECT_EQ(one.records, (std::vector<std::int32_t>{1, 2, 3}));

  const btree::Tree two = btree::build({{30, 3}, {10, 1}, {40, 4}, {20, 2}}, 4);
  EXPECT_EQ(two.height, 1U);
  EXPECT_EQ(two.leaves, 2U);
  EXPECT_EQ(two.nodes, (std::vector<std::int32_t>{0, 1, 2, 0, 0, 0, kFirst, 30, kNone, kNone, kNone, 0, 1,  //
                                                  1, 0, 1, 0, 0, 0, 10,     20, kNone, kNone, kNone, 1, 2,  //
                                                  2, 2, 3, 0, 0, 0, 30,     40, kNone, kNone, kNone, 1, 2}));
  EXPECT_EQ(two.records, (std::vector<std::int32_t>{1, 2, 3, 4}));
  EXPECT_EQ(two.leaf_of(29), 1);
  EXPECT_EQ(two.leaf_of(30), 2);
  EXPECT_EQ(two.leaf_of(-5), 1);
}

TEST(BtreeBuild, EveryKeyIsFoundByItsWayDown) {
  Random random(3);
  for (const std::size_t order : {4U, 5U, 16U}) {
    std::vector<btree::Entry> entries;
    for (std::int32_t i = 0; i < 1000; ++i) entries.push_back({10 * i, i});
    for (std::uint32_t i = 1000; i > 1; --i) std::swap(entries[i - 1], entries[random.below(i)]);
    const btree::Tree tree = btree::build(entries, order);
    ASSERT_EQ(tree.records.size(), 1000U);
    for (std::int32_t key = -5; key < 10'005; key += 5) {
      std::size_t at = 0;
      for (std::uint32_t level = 0; level < tree.height; ++level) {
        const std::int32_t* node = &tree.nodes[at * tree.layout.words()];
        EXPECT_EQ(node[tree.layout.is_leaf()], 0);
        std::size_t chosen = order;
        for (std::size_t i = 0; i < order; ++i) {
          const std::int32_t* keys = node + tree.layout.keys() + i;
          if (keys[0] > key || keys[1] <= key) continue;
          EXPECT_EQ(chosen, order) << "two children for " << key;
          chosen = i;
        }
        ASSERT_LT(chosen, order) << "no child for " << key;
        at = static_cast<std::size_t>(node[tree.layout.indices() + chosen]);
      }
      EXPECT_EQ(tree.leaf_of(key), static_cast<std::int64_t>(at));
      const std::int32_t* leaf = &tree.nodes[at * tree.layout.words()];
      EXPECT_EQ(leaf[tree.layout.is_leaf()], 1);
      EXPECT_LT(leaf[tree.layout.key_count()], static_cast<std::int32_t>(order));
      std::int32_t value = -1;
      for (std::size_t i = 0; i < order; ++i) {
        if (leaf[tree.layout.keys() + i] != key) continue;
        value = tree.records[static_cast<std::size_t>(leaf[tree.layout.indices() + i])];
      }
      EXPECT_EQ(value, key >= 0 && key < 10'000 && key % 10 == 0 ? key / 10 : -1);
    }
  }
}

TEST(BtreeReference, KeysAndRangesByTheirRanks) {
  const std::vector<btree::Entry> sorted = {{10, 7}, {20, 8}, {30, 9}};
  EXPECT_EQ(btree::reference_find(sorted, {20, 15, 30, 31}), (std::vector<std::int32_t>{8, -1, 9, -1}));
  const btree::Ranges ranges = btree::reference_ranges(sorted, {20, 20, 5, 20}, {30, 20, 20, 25});
  EXPECT_EQ(ranges.first, (std::vector<std::int32_t>{1, 1, 0, 1}));
  EXPECT_EQ(ranges.length, (std::vector<std::int32_t>{2, 1, 2, 0}));
}

}  // namespace
}  // namespace gpumux::benchmarks
