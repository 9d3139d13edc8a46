// Every key of a machine file has an effect: if it alone changes, the counters change of a run that uses its
// mechanism.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "arch/config_file.hpp"
#include "arch/config_file_fields.hpp"
#include "base/error.hpp"
#include "base/files.hpp"
#include "experiment/run.hpp"
#include "sm/harness.hpp"
#include "tests/figures.hpp"

namespace gpumux {
namespace {

/// Two pairs of launches of the kernel of keys.ptx, on two streams.
class Everything final : public runtime::Application {
 public:
  explicit Everything(Dim3 block, std::uint32_t blocks) : block_(block), blocks_(blocks) {}
  runtime::Task run(runtime::Host& host, bool) override {
    const std::string file = std::string(GPUMUX_SOURCE_DIR) + "/tests/machine/data/keys.ptx";
    const std::uint32_t module = host.load_module(read_file(file), file);
    const std::vector<float> values(std::size_t{8192} * std::max(8U, blocks_), 1.0F);
    const std::vector<std::uint32_t> zeroes(std::size_t{65536} + 64, 0);
    const auto counts = host.malloc<std::uint32_t>(zeroes.size());
    const runtime::StreamId other = host.create_stream();
    host.to_device(counts, zeroes);
    std::vector<float> result(16);
    for (const runtime::StreamId stream : {runtime::StreamId{0}, other}) {
      const auto in = host.malloc<float>(values.size());
      const auto out = host.malloc<float>(values.size());
      host.to_device(in, values, stream);
      for (int launch = 0; launch < 2; ++launch) {
        host.launch(module, "everything", {{blocks_, 1, 1}, block_, 0, stream}, in, out, counts, 6);
      }
      host.from_device(result, out, stream);
    }
    co_await host.synchronize();
  }

 private:
  Dim3 block_;
  std::uint32_t blocks_;
};

/// Fetches from a texture that fits into no cache of an SM, some of which warps share.
class Textured final : public runtime::Application {
 public:
  explicit Textured(Dim3 block, std::uint32_t blocks) : block_(block), blocks_(blocks) {}
  runtime::Task run(runtime::Host& host, bool) override {
    const std::string file = std::string(GPUMUX_SOURCE_DIR) + "/tests/machine/data/textures.ptx";
    const std::uint32_t module = host.load_module(read_file(file), file);
    const std::vector<float> texels(16384, 1.0F);
    const auto memory = host.malloc<float>(texels.size());
    host.to_device(memory, texels);
    const runtime::TextureObject texture =
        host.create_texture(workload::TextureResource::linear(memory.address, {}, 16384));
    const auto out = host.malloc<float>(std::size_t{blocks_} * block_.x);
    host.launch(module, "textured", {{blocks_, 1, 1}, block_, 0, 0}, texture, out);
    co_await host.synchronize();
    host.destroy_texture(texture);
  }

 private:
  Dim3 block_;
  std::uint32_t blocks_;
};

using Settings = std::vector<std::string>;

/// A small machine that both runs of a comparison start from.
const Settings kSmall = {"code=machine",       "sms=2",          "l2.partitions=2", "l2.slice_size=16K",
                         "sm.max_threads=768", "sm.max_warps=24"};

/// Everything that a run counts, or how it fails.
template <typename App>
std::string count_of(const Settings& settings, Dim3 block, std::uint32_t blocks) {
  Settings all = kSmall;
  all.insert(all.end(), settings.begin(), settings.end());
  experiment::RunSpec spec;
  spec.machine = arch::load_machine("dai18-maxwell", all);
  spec.policy = policy::parse_choice("even");
  experiment::AppSpec app;
  app.text = app.name = app.identity = "everything";
  app.create = [=](std::uint64_t) { return std::make_unique<App>(block, blocks); };
  spec.apps.push_back(app);
  if (spec.machine.cpus > 0) spec.cpus = experiment::parse_cpus("mcf,hmmer", spec.machine.cpus);
  spec.cpu_span = {500, 3000};
  experiment::RunResult result;
  try {
    result = experiment::simulate(spec);
  } catch (const SimulationFault& fault) {
    return fault.what();
  }
  return figures(result);
}

std::string count(const std::string& key, const Settings& settings, Dim3 block, std::uint32_t blocks) {
  return key.starts_with("texture.") ? count_of<Textured>(settings, block, blocks)
                                     : count_of<Everything>(settings, block, blocks);
}

struct Change {
  std::string value;  // of the key in the second run
  Settings both;      // settings of both runs, which let the key's mechanism act
  Dim3 block = {128, 1, 1};
  std::uint32_t blocks = 8;
};

const std::map<std::string, Change>& changes() {
  static const Settings kIcache = {"icache.size=1K", "icache.ways=2", "icache.line_size=64"};
  static const Settings kUnified = {"l1.unified_size=48K", "l1.shared_carveouts=[8K,24K]",
                                    "sm.shared_size=24K", "l1.size=8K", "l1.ways=4"};
  static const Settings kRefresh = {"dram.REFI=1000", "dram.RFC=100"};
  static const Settings kWatermarks = {"dram.write_high_watermark=12", "dram.write_low_watermark=8"};
  static const char* const kLetters = "dramid@8;RRRR.RRRR.RBBB.BCCC.CCCS.SSSS";
  static const Settings kLosesLines = {"l1.size=1K", "l1.ways=2", "ccws.throttle=800"};
  static const Settings kCcws = {"l1.size=1K", "l1.ways=2", "ccws.throttle=800", "ccws.on=true"};
  static const Settings kTextures = {"texture.size=12K"};
  static const Settings kMesh = {"noc.topology=mesh", "noc.nodes=GM GM", "noc.vc_flits=2"};
  static const Settings kCpus = {"noc.topology=mesh", "noc.nodes=GCM GCM", "cpus=2"};
  static const Settings kPredicted = {"noc.topology=mesh", "noc.nodes=GCM GCM", "cpus=2",
                                      "cpu.predictor_bits=4"};
  static const Settings kManySmallBlocks = {"sm.max_blocks=16"};
  static const std::map<std::string, Change> kChanges = {
      {"code", {"ptx", {}}},
      {"sms", {"3", {}}},
      {"clocks.core_mhz", {"1000", {}}},
      {"clocks.noc_mhz", {"700", {}}},
      {"clocks.l2_mhz", {"700", {}}},
      {"clocks.dram_mhz", {"500", {}}},
      {"sm.max_threads", {"256", {}}},
      {"sm.max_warps", {"32", {"sm.max_threads=512", "sm.max_warps=16"}, {40, 1, 1}, 32}},
      {"sm.max_blocks", {"2", {}}},
      {"sm.registers", {"8192", {}}},
      {"sm.register_allocation_unit", {"4096", {"sm.registers=32768"}}},
      {"sm.shared_size", {"8K", {}}},
      {"sm.shared_allocation_unit", {"32K", {}}},
      {"sm.schedulers", {"2", {}}},
      {"sm.issue_interval", {"2", {}}},
      {"sm.issue_width", {"2", {}}},
      {"sm.issue_to_other_units", {"false", {"sm.issue_width=2", "unit.sp.count=8"}}},
      {"sm.warp_scheduler", {"lrr", {}}},
      {"sm.ready_queue", {"1", {"sm.warp_scheduler=tlrr"}}},
      {"sm.tlphase_order", {"oldest", {"sm.warp_scheduler=tlphase"}}},
      {"sm.warp_limit", {"2", {}}},
      {"sm.warp_limit_per", {"scheduler", {"sm.warp_limit=2"}}},
      {"sm.phase_loads", {"latency", {"sm.warp_scheduler=phase"}}},
      {"sm.phase_distance_most", {"8", {"sm.warp_scheduler=phase"}}},
      {"sm.phase_distance_unit", {"64", {"sm.warp_scheduler=phase"}}},
      {"ccws.on", {"true", kLosesLines}},
      {"ccws.holds", {"all", kCcws}},
      {"ccws.victim_tags", {"128", kCcws}},
      {"ccws.victim_ways", {"1", kCcws}},
      {"ccws.base_score", {"2000", kCcws}},
      {"ccws.throttle", {"8", kCcws}},
      {"sm.register_banks", {"4", {}}},
      {"sm.collectors_per_scheduler", {"1", {"sm.register_banks=4"}}},
      {"sm.result_buses", {"1", {}}},
      {"sm.fetch_interval", {"4", {}}},
      {"sm.fetch_width", {"1", {}}},
      {"sm.instruction_buffer", {"4", {}}},
      {"sm.branch_latency", {"20", {}}},
      {"sm.barrier_latency", {"20", {}}},
      {"sm.block_launch_latency", {"100", {}}},
      {"sm.memory_issue_width", {"4", {"unit.memory.count=4"}}},
      {"sm.memory_queue", {"1", {}}},
      {"sm.operand_latency", {"8", {}}},
      {"sm.register_ports", {"2", {}}},
      {"sm.register_writes", {"true", {}}},
      {"sm.collectors_wait", {"true", {"sm.collectors_per_scheduler=2"}}},
      {"sm.writeback_latency", {"8", {}}},
      {"unit.sp.count", {"8", {}}},
      {"unit.sp.lanes", {"16", {}}},
      {"unit.sp.scheduler_private", {"false", {}}},
      {"unit.int.count", {"4", {}}},
      {"unit.int.on", {"sfu", {}}},
      {"unit.int.lanes", {"4", {"unit.int.count=4"}}},
      {"unit.int.scheduler_private", {"true", {"unit.int.count=4", "unit.int.lanes=8"}}},
      {"unit.dp.count", {"2", {}}},
      {"unit.dp.on", {"sfu", {"unit.dp.count=0"}}},
      {"unit.dp.lanes", {"1", {}}},
      {"unit.dp.scheduler_private", {"true", {"unit.dp.count=4"}}},
      {"unit.sfu.count", {"8", {}}},
      {"unit.sfu.on", {"dp", {"unit.sfu.count=0"}}},
      {"unit.sfu.lanes", {"2", {}}},
      {"unit.sfu.scheduler_private", {"false", {}}},
      {"unit.memory.count", {"2", {"unit.memory.lanes=4", "sm.memory_issue_width=4"}}},
      {"unit.memory.lanes", {"4", {}}},
      {"unit.memory.scheduler_private",
       {"true", {"unit.memory.count=4", "unit.memory.lanes=2", "sm.memory_issue_width=4"}}},
      {"unit.control.count", {"0", {"unit.control.lanes=2"}}},
      {"unit.control.lanes", {"2", {}}},
      {"unit.control.scheduler_private", {"false", {"unit.control.lanes=2"}}},
      {"latency.int_add", {"[9, 1]", {}}},
      {"latency.int_max", {"[30, 2]", {}}},
      {"latency.int_mul", {"[30, 2]", {}}},
      {"latency.int_mad", {"[30, 1]", {}}},
      {"latency.fp_add", {"[30, 1]", {}}},
      {"latency.fp_max", {"[30, 2]", {}}},
      {"latency.fp_mul", {"[30, 1]", {}}},
      {"latency.fp_mad", {"[30, 1]", {}}},
      {"latency.dp_add", {"[30, 8]", {}}},
      {"latency.dp_max", {"[60, 16]", {}}},
      {"latency.dp_mul", {"[30, 8]", {}}},
      {"latency.dp_mad", {"[30, 8]", {}}},
      {"latency.sfu", {"[60, 4]", {}}},
      {"latency.control", {"[4, 8]", {}}},
      {"latency.memory", {"[4, 8]", {}}},
      {"shared.banks", {"4", {}}},
      {"shared.latency", {"60", {}}},
      {"icache.size", {"1K", {"icache.ways=2", "icache.line_size=64"}}},
      {"icache.ways", {"4", kIcache}},
      {"icache.line_size", {"128", kIcache}},
      {"icache.instruction_size", {"16", kIcache}},
      {"constant.size", {"1K", {}}},
      {"constant.ways", {"8", {"constant.size=1K"}}},
      {"constant.line_size", {"128", {}}},
      {"constant.latency", {"4000", {"constant.size=64K"}}},  // below that it is hidden
      {"texture.size", {"12K", {}}},
      {"texture.ways", {"4", kTextures}},
      {"texture.latency", {"800", kTextures}},
      {"texture.mshr_entries", {"2", kTextures}},
      {"texture.mshr_merges", {"1", kTextures}},
      {"l1.size", {"6K", {}}},
      {"l1.ways", {"3", {}}},
      {"l1.sectored", {"true", {}}},
      {"l1.index", {"linear", {}}},
      {"l1.allocate", {"on-fill", {}}},
      {"l1.write", {"through", {"l1.size=96K"}}},
      {"l1.written_kept", {"50", {"l1.write=allocate"}}},
      {"l1.mshr_entries", {"8", {}}},
      {"l1.mshr_merges", {"1", {}}},
      {"l1.miss_queue", {"1", {}}},
      {"l1.latency", {"60", {"l1.size=96K"}}},
      {"l1.tag_latency", {"40", {}}},
      {"l1.banks", {"4", {}}},
      {"l1.bank_size", {"32", {}}},
      {"l1.flush_at_kernel_start", {"true", {"l1.size=96K"}}},
      {"l1.caches_global", {"false", {}}},
      {"l1.unified_size", {"56K", kUnified}},
      {"l1.shared_carveouts", {"[4K,32K]", kUnified}},
      {"noc.flit_size", {"16", {"noc.input_buffer_flits=16", "noc.output_buffer_flits=16"}}},
      {"noc.header_size", {"40", {}}},
      {"noc.latency", {"20", {}}},
      {"noc.input_buffer_flits", {"64", {}}},
      {"noc.output_buffer_flits", {"64", {}}},
      {"noc.nodes", {"GM MG", kMesh}},
      {"noc.vcs", {"1", kMesh}},
      {"noc.vc_flits", {"1", kMesh}},
      {"noc.router_cycles", {"4", kMesh}},
      {"noc.link_cycles", {"3", kMesh}},
      {"noc.local_cycles", {"3", kMesh}},
      {"noc.credit_cycles", {"6", kMesh}},
      {"noc.ejection_flits", {"1", {"noc.topology=mesh", "noc.nodes=GM GM", "noc.output_buffer_flits=5"}}},
      {"noc.cpu_vcs", {"1", kCpus}},
      {"clocks.cpu_mhz", {"900", kCpus}},
      {"cpu.window", {"16", kCpus}},
      {"cpu.width", {"1", kCpus}},
      {"cpu.l1_size", {"4K", kCpus}},
      {"cpu.l1_ways", {"1", kCpus}},
      {"cpu.l1_latency", {"5", kCpus}},
      {"cpu.l2_size", {"32K", kCpus}},
      {"cpu.l2_ways", {"1", {"noc.topology=mesh", "noc.nodes=GCM GCM", "cpus=2", "cpu.l2_size=32K"}}},
      {"cpu.l2_latency", {"20", kCpus}},
      {"cpu.mshrs", {"1", kCpus}},
      {"cpu.outbox", {"1", kCpus}},
      {"cpu.predictor_bits", {"4", kCpus}},
      {"cpu.redirect", {"40", kPredicted}},
      {"cpu.forward_stores", {"false", kCpus}},
      {"l2.cpu_partitions", {"1", kCpus}},
      {"l2.partitions", {"4", {}}},
      {"l2.slices_per_partition", {"2", {}}},
      {"l2.slice_size", {"32K", {}}},
      {"l2.ways", {"4", {}}},
      {"l2.sectored", {"true", {"l1.sectored=true"}}},
      {"l2.index", {"linear", {}}},
      {"l2.allocate", {"on-fill", {}}},
      {"l2.partition_hash", {"xor", {"l2.partitions=4"}}},
      {"l2.interleave_size", {"512", {}}},
      {"l2.mshr_entries", {"4", {}}},
      {"l2.mshr_merges", {"1", {}}},
      {"l2.miss_queue", {"1", {}}},
      {"l2.input_queue", {"1", {}}},
      {"l2.output_queue", {"1", {}}},
      {"l2.latency", {"60", {}}},
      {"l2.port_size", {"8", {}}},
      {"l2.atomic_interval", {"8", {}}},
      {"dram.bus_size", {"8", {}}},
      {"dram.transfers_per_clock", {"1", {}}},
      {"dram.burst_size", {"64", {"l1.sectored=true", "l2.sectored=true"}}},
      {"dram.row_size", {"512", {}}},
      {"dram.banks", {"4", {}}},
      {"dram.bank_groups", {"1", {"dram.CCDL=8"}}},
      {"dram.address_map", {kLetters, {}}},
      {"dram.bank_group_low", {"false", {std::string("dram.address_map=") + kLetters}}},
      {"dram.scheduler", {"fcfs", {}}},
      {"dram.queue", {"2", {}}},
      {"dram.return_queue", {"1", {}}},
      {"dram.fixed_latency", {"300", {}}},
      {"dram.separate_row_bus", {"true", {}}},
      {"dram.write_high_watermark", {"12", {}}},
      {"dram.write_low_watermark", {"1", kWatermarks}},
      {"dram.CL", {"40", {}}},
      {"dram.RP", {"20", {"dram.RC=60"}}},
      {"dram.RC", {"80", {}}},
      {"dram.RAS", {"60", {"dram.RC=80"}}},
      {"dram.RCD", {"24", {}}},
      {"dram.RRD", {"20", {}}},
      {"dram.CCD", {"3", {}}},
      {"dram.CCDL", {"12", {}}},
      {"dram.WL", {"12", {}}},
      {"dram.CDLR", {"20", {}}},
      {"dram.WR", {"40", {}}},
      {"dram.RTPL", {"30", {}}},
      {"dram.FAW", {"100", {}}},
      {"dram.REFI", {"500", kRefresh}},
      {"dram.RFC", {"200", kRefresh}},
      {"energy.instruction", {"1", {}}},
      {"energy.sp", {"1", {}}},
      {"energy.int", {"1", {"unit.int.count=4"}}},
      {"energy.dp", {"1", {}}},
      {"energy.sfu", {"1", {}}},
      {"energy.register_read", {"1", {}}},
      {"energy.register_write", {"1", {}}},
      {"energy.shared", {"1", {}}},
      {"energy.constant", {"1", {}}},
      {"energy.l1", {"1", {}}},
      {"energy.flit", {"1", {}}},
      {"energy.l2_read", {"1", {}}},
      {"energy.l2_write", {"1", {}}},
      {"energy.dram_activation", {"1", {}}},
      {"energy.dram_read", {"1", {}}},
      {"energy.dram_write", {"1", {}}},
      {"energy.sm_watts", {"1", {}}},
      {"energy.uncore_watts", {"1", {}}},
      {"runtime.kernel_launch_latency", {"1000", {}}},
      {"runtime.max_concurrent_kernels", {"1", {}}},
      {"runtime.kernel_leaves", {"dispatched", {"runtime.max_concurrent_kernels=1"}}},
      {"runtime.launch_when_full", {"fail", {"runtime.max_concurrent_kernels=1"}}},
      {"runtime.blocks_per_cycle", {"4", {}}},
      {"runtime.copy_bytes_per_second", {"1e10", {}}},
      {"runtime.copies_write_l2", {"true", {"l2.slice_size=2M"}}},
      {"runtime.max_warp_instructions", {"100", {}}},
      {"runtime.max_kernel_cycles", {"1000", {}}},
  };
  return kChanges;
}

/// Keys that no run can show, and why.
const std::map<std::string, std::string>& exempt() {
  static const std::map<std::string, std::string> kExempt = {
      {"name", "a label of results"},
      {"description", "a text of gpumux list"},
      {"source", "a text of gpumux list"},
      {"variant_of", "a text of gpumux list"},
      {"runtime.compute_capability",
       "CUDA programs alone are told: LiveRun.TheDeviceIsTheSimulatedMachine in tests/program"},
      {"noc.topology", "a mesh has nodes, and a crossbar none: MeshMachine.AndCrossbarDiffer"},
      {"cpus", "their nodes change with them: MeshMachine.CpuCoresExecuteWhatIsAskedFor"},
      {"cpu.fold_stack_pointer", "generated programs have no stack: CpuCore.* in tests/cpu"},
      {"sm.power_up_latency", "no core control here: CoreControl.PowerTakesItsTimeToComeBack"},
      {"sm.view_mixed", "no SM is viewed here: View.CyclesOfReadyWarpsBesideOthersThatWait in tests/sm"},
      {"energy.gated_sm_watts", "the same: CoreControl.TheFirstAloneServe"},
      {"watchdog_cycles", "acts where nothing moves: Watchdog.NamesAKernelThatItsPolicyForgot"},
      {"runtime.context_moves", "no block is switched here: ContextTraffic.* in tests/experiment"},
      {"runtime.heap_size", "ProgramAtFault.TheHeapHasTheBytesThatTheMachineSays"},
      {"latency.int_div", "PTX's divisions become sequences as in ptxas: RowsOfOtherStreams below"},
      {"latency.fp_div", "the same"},
      {"latency.dp_div", "the same"},
      {"unit.tensor.count", "no kernel of keys.cu multiplies matrices: TensorUnits below"},
      {"unit.tensor.multiply_adds", "the same: Tensor.* beside this file"},
      {"shared.atomic_interval",
       "no atomic of shared memory here: "
       "LoadStoreUnit.AtomicsOfSharedMemoryTakeTheirIntervalForEachPass"},
      {"unit.tensor.on", "as its count"},
      {"unit.tensor.lanes", "as its count"},
      {"unit.tensor.scheduler_private", "the same"},
      {"latency.tensor", "the same"},
      {"unit.uniform.count",
       "traces alone have such instructions: Units.TheUniformDatapathHasARowOfItsOwnWhereThereIsOne"},
      {"unit.uniform.on", "the same"},
      {"unit.uniform.lanes", "the same"},
      {"unit.uniform.scheduler_private", "the same"},
      {"latency.uniform", "the same"},
      {"energy.tensor", "as the unit's count: Energy.OneEventAddsItsCoefficientAlone in tests/experiment"},
      {"energy.uniform", "the same"},
      {"l2.atomics_per_cycle",
       "L2Atomic.ASlicePerformsSoManyRoundsACycle: here one line at a time is wanted"},
  };
  return kExempt;
}

TEST(Keys, EachIsChangedOrExempt) {
  std::set<std::string> known;
  for (const arch::Field& field : arch::fields()) {
    known.insert(field.key);
    EXPECT_EQ(changes().count(field.key) + exempt().count(field.key), 1U) << field.key;
  }
  for (const auto& [key, change] : changes()) EXPECT_EQ(known.count(key), 1U) << key << " is no key";
  for (const auto& [key, why] : exempt()) EXPECT_EQ(known.count(key), 1U) << key << " is no key";
}

class Key : public testing::TestWithParam<std::string> {};

TEST_P(Key, Acts) {
  const Change& change = changes().at(GetParam());
  Settings changed = change.both;
  changed.push_back(GetParam() + "=" + change.value);
  EXPECT_NE(count(GetParam(), change.both, change.block, change.blocks),
            count(GetParam(), changed, change.block, change.blocks))
      << GetParam() << " = " << change.value << " changes nothing";
}

std::vector<std::string> changed_keys() {
  std::vector<std::string> keys;
  for (const auto& [key, change] : changes()) keys.push_back(key);
  return keys;
}

INSTANTIATE_TEST_SUITE_P(All, Key, testing::ValuesIn(changed_keys()), [](const auto& key) {
  std::string name = key.param;
  std::replace(name.begin(), name.end(), '.', '_');
  return name;
});

/// Cycles of three warps of 32 instructions each, in four chains, on one unit.
Cycle chain_cycles(const arch::MachineConfig& config, isa::Unit unit, isa::LatencyClass row) {
  using namespace sm::testing;
  Program program;
  WarpCode code;
  for (std::uint16_t i = 0; i < 4; ++i) program.add(inst(unit, row, {i}, {i}));
  for (std::uint32_t i = 0; i < 32; ++i) code.run(i % 4);
  program.add(control(isa::kExit));
  code.run(4);
  return time_of(config, program, {code, code, code});
}

Cycle tensor_cycles(const arch::MachineConfig& config) {
  return chain_cycles(config, isa::Unit::Tensor, isa::LatencyClass::Tensor);
}

TEST(Keys, RowsOfOtherStreamsAct) {
  const std::pair<isa::Unit, isa::LatencyClass> rows[] = {{isa::Unit::Int, isa::LatencyClass::IntDiv},
                                                          {isa::Unit::Sfu, isa::LatencyClass::FpDiv},
                                                          {isa::Unit::Dp, isa::LatencyClass::DpDiv}};
  for (const auto& [unit, row] : rows) {
    arch::MachineConfig config = sm::testing::plain_machine();
    const Cycle start = chain_cycles(config, unit, row);
    config.latency[static_cast<std::size_t>(row)].latency += 50;
    EXPECT_LT(start, chain_cycles(config, unit, row));
  }
}

TEST(Keys, TensorUnitsAndTheirLatencyAct) {
  arch::MachineConfig config = sm::testing::plain_machine();
  config.sm.schedulers = 2;
  auto& unit = config.units[static_cast<std::size_t>(isa::Unit::Tensor)];
  unit = {2, 8, false};
  const Cycle start = tensor_cycles(config);
  auto changed = [&](auto change) {
    arch::MachineConfig other = config;
    change(other, other.units[static_cast<std::size_t>(isa::Unit::Tensor)]);
    return tensor_cycles(other);
  };
  EXPECT_LT(start, changed([](auto&, auto& u) { u.count = 1; }));
  EXPECT_LT(start, changed([](auto&, auto& u) { u.lanes = 4; }));
  EXPECT_NE(changed([](auto&, auto& u) {
              u.count = 2;
              u.lanes = 2;
            }),
            changed([](auto&, auto& u) {
              u.count = 2;
              u.lanes = 2;
              u.scheduler_private = true;
            }));
  const auto row = static_cast<std::size_t>(isa::LatencyClass::Tensor);
  EXPECT_LT(start, changed([row](auto& c, auto&) { c.latency[row].latency += 50; }));
  EXPECT_LT(start, changed([row](auto& c, auto&) { c.latency[row].initiation += 10; }));
}

}  // namespace
}  // namespace gpumux
