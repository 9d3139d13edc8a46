// Energy: each event by hand, sums over components and applications, and the energy of one more instruction.
#include <gtest/gtest.h>

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "arch/config_file.hpp"
#include "arch/config_file_fields.hpp"
#include "experiment/result_json.hpp"
#include "experiment/run.hpp"

namespace gpumux::experiment {
namespace {

using arch::KernelCounters;
using arch::MemoryCounters;
using nlohmann::json;

/// A machine at 1 GHz whose energies are different powers of two, and nothing static.
arch::MachineConfig machine() {
  arch::MachineConfig config = arch::default_machine();
  config.clocks.core = 1000;
  double each = 1;
  for (const arch::Field& field : arch::fields()) {
    if (field.table() != "energy" || field.unit != "pJ") continue;
    std::get<arch::Field::Member<double>>(field.access)(config) = each;
    each *= 2;
  }
  return config;
}

arch::CounterTable nothing() { return arch::CounterTable(2); }

double picojoules(const arch::CounterTable& counters) {
  const std::optional<Energy> of = energy(machine(), counters, 1000, 0);
  EXPECT_TRUE(of);
  return of->joules() * 1e12;
}

TEST(Energy, OfAMachineWithoutEnergiesIsNotKnown) {
  EXPECT_FALSE(arch::default_machine().energy.known());
  EXPECT_FALSE(energy(arch::default_machine(), nothing(), 1000, 16000));
}

TEST(Energy, OneEventAddsItsCoefficientAlone) {
  const arch::EnergyConfig each = machine().energy;
  const std::pair<std::uint64_t KernelCounters::*, double> of_sms[] = {
      {&KernelCounters::warp_instructions, each.instruction},
      {&KernelCounters::sp_thread_instructions, each.sp},
      {&KernelCounters::int_thread_instructions, each.int_},
      {&KernelCounters::dp_thread_instructions, each.dp},
      {&KernelCounters::sfu_thread_instructions, each.sfu},
      {&KernelCounters::tensor_passes, each.tensor},
      {&KernelCounters::uniform_thread_instructions, each.uniform},
      {&KernelCounters::memory_thread_instructions, 0},
      {&KernelCounters::control_thread_instructions, 0},
      {&KernelCounters::register_reads, each.register_read},
      {&KernelCounters::register_writes, each.register_write},
      {&KernelCounters::shared_accesses, each.shared},
      {&KernelCounters::shared_conflict_cycles, each.shared},
      {&KernelCounters::constant_accesses, each.constant},
      {&KernelCounters::l1_accesses, each.l1},
      {&KernelCounters::l1_misses, 0},
      {&KernelCounters::request_flits, each.flit},
      {&KernelCounters::reply_flits, each.flit}};
  for (const auto& [counter, coefficient] : of_sms) {
    arch::CounterTable table = nothing();
    table.apps[1].*counter = 3;
    EXPECT_DOUBLE_EQ(picojoules(table), 3 * coefficient);
  }
  const std::pair<std::uint64_t MemoryCounters::*, double> of_memory[] = {
      {&MemoryCounters::l2_accesses, each.l2_read},
      {&MemoryCounters::l2_writebacks, 0},
      {&MemoryCounters::dram_activates, each.dram_activation},
      {&MemoryCounters::dram_reads, each.dram_read},
      {&MemoryCounters::dram_writes, each.dram_write}};
  for (const auto& [counter, coefficient] : of_memory) {
    arch::CounterTable table = nothing();
    table.memory[1].*counter = 3;
    EXPECT_DOUBLE_EQ(picojoules(table), 3 * coefficient);
  }
  arch::CounterTable table = nothing();
  table.memory[0].l2_accesses = 5;
  table.memory[0].l2_writes = 2;
  EXPECT_DOUBLE_EQ(picojoules(table), 3 * each.l2_read + 2 * each.l2_write);
}

TEST(Energy, StaticIsOfPoweredCyclesAndOfTime) {
  arch::MachineConfig config = machine();
  config.energy.sm_watts = 2;
  config.energy.uncore_watts = 30;
  arch::CounterTable table = nothing();
  table.apps[0].warp_instructions = 2'000'000;  // 1 pJ each
  table.apps[0].thread_instructions = 50'000;
  table.apps[0].discarded_thread_instructions = 10'000;
  table.apps[1].thread_instructions = 20'000;
  const Energy of = *energy(config, table, 10'000, 40'000);  // 10 us, four SMs
  EXPECT_DOUBLE_EQ(of.seconds, 1e-5);
  EXPECT_DOUBLE_EQ(of.static_sms, 4 * 2 * 1e-5);
  EXPECT_DOUBLE_EQ(of.static_uncore, 30 * 1e-5);
  EXPECT_DOUBLE_EQ(of.apps[0].total(), 2e-6);
  EXPECT_DOUBLE_EQ(of.apps[1].total(), 0);
  EXPECT_DOUBLE_EQ(of.joules(), 38 * 1e-5 + 2e-6);
  EXPECT_DOUBLE_EQ(of.watts(), 38.2);
  EXPECT_DOUBLE_EQ(*of.instructions_per_watt(), 6 / 38.2);
  const Energy gated = *energy(config, table, 10'000, 10'000);
  EXPECT_DOUBLE_EQ(of.joules() - gated.joules(), 3 * 2 * 1e-5);
  EXPECT_FALSE(energy(machine(), nothing(), 0, 0)->instructions_per_watt());
}

// --- whole runs --------------------------------------------------------------------------------------------

RunSpec pair(const std::string& preset, const std::vector<std::string>& settings = {}) {
  RunSpec spec;
  spec.machine = arch::load_machine(preset, settings);
  spec.apps = {builtin_app("hotspot:size=61,steps=5"), builtin_app("spmv:rows=2000,nonzeros=9")};
  spec.policy = policy::parse_choice("even");
  return spec;
}

json document_of(const RunResult& result) { return json::parse(result_json(result, {}, {})); }

class EveryPreset : public testing::TestWithParam<std::string> {};

TEST_P(EveryPreset, ComponentsAndApplicationsAddUpToTheWhole) {
  if (arch::load_machine(GetParam()).cpus > 0)
    GTEST_SKIP() << "nothing is published of a chip with CPU cores";
  const RunResult result = simulate(pair(GetParam(), {"sms=2"}));
  const json document = document_of(result);
  const json& gpu = document["gpu"];
  const double all = gpu["energy_joules"].get<double>();
  EXPECT_GT(all, 0);
  double components = 0;
  for (const auto& [name, joules] : gpu["energy"].items()) components += joules.get<double>();
  EXPECT_NEAR(components, all, 1e-12 * all);
  double by_app = gpu["energy"]["static_sms"].get<double>() + gpu["energy"]["static_uncore"].get<double>();
  for (const json& app : document["apps"]) {
    double own = 0;
    for (const auto& [name, joules] : app["energy"].items()) own += joules.get<double>();
    EXPECT_NEAR(own, app["energy_joules"].get<double>(), 1e-12 * all);
    EXPECT_GT(own, 0);
    by_app += own;
  }
  EXPECT_NEAR(by_app, all, 1e-12 * all);
  // From the counters of the whole GPU at once.
  arch::CounterTable together(1);
  together.apps[0] = result.gpu;
  for (const AppResult& app : result.apps) together.memory[0].add(app.memory_counters);
  EXPECT_EQ(together.memory[0].dram_activates, result.partitions.dram_activates);
  EXPECT_NEAR(energy(pair(GetParam()).machine, together, result.cycles, result.cycles * 2)->joules(), all,
              1e-12 * all);
  EXPECT_EQ(gpu["powered_sm_cycles"], result.cycles * 2);
  const double seconds = static_cast<double>(result.cycles) / (pair(GetParam()).machine.clocks.core * 1e6);
  EXPECT_NEAR(gpu["average_watts"].get<double>(), all / seconds, 1e-9 * all / seconds);
  EXPECT_DOUBLE_EQ(gpu["instructions_per_watt"].get<double>(),
                   gpu["ipc"].get<double>() / gpu["average_watts"].get<double>());
  EXPECT_EQ(document["metrics"]["energy_joules"], gpu["energy_joules"]);
  EXPECT_EQ(document["metrics"]["instructions_per_watt"], gpu["instructions_per_watt"]);
}

INSTANTIATE_TEST_SUITE_P(Machines, EveryPreset, testing::ValuesIn(arch::machine_names()),
                         [](const auto& machine) {
                           std::string name = machine.param;
                           for (char& c : name) c = c == '-' ? '_' : c;
                           return name;
                         });

TEST(EnergyOfRuns, IsTheSameForAnyNumberOfThreads) {
  RunSpec spec = pair("dai18-maxwell");
  const std::string one = document_of(simulate(spec))["gpu"]["energy"].dump();
  spec.threads = 3;
  EXPECT_EQ(document_of(simulate(spec))["gpu"]["energy"].dump(), one);
}

TEST(EnergyOfRuns, ChangesNothingElse) {
  RunSpec spec = pair("dai18-maxwell", {"sms=2"});
  json with = document_of(simulate(spec));
  spec.machine.energy = {};
  json without = document_of(simulate(spec));
  for (const char* key :
       {"powered_sm_cycles", "energy_joules", "energy", "average_watts", "instructions_per_watt"})
    EXPECT_EQ(with["gpu"].erase(key), 1U) << key;
  for (json& app : with["apps"]) EXPECT_EQ(app.erase("energy_joules") + app.erase("energy"), 2U);
  EXPECT_EQ(with["metrics"].erase("energy_joules") + with["metrics"].erase("instructions_per_watt"), 2U);
  EXPECT_EQ(with, without);
}

/// One warp of `lanes` threads that executes `line` `times` times.
class Repeated final : public runtime::Application {
 public:
  Repeated(std::string line, int times, std::uint32_t lanes)
      : line_(std::move(line)), times_(times), lanes_(lanes) {}
  runtime::Task run(runtime::Host& host, bool) override {
    std::string text = R"(.version 6.4
.target sm_50
.address_size 64
.visible .entry repeated(.param .u64 out, .param .f32 factor) {
  .reg .f32 %f<4>;
  .reg .f64 %d<4>;
  .reg .b32 %r<4>;
  .reg .b64 %rd<4>;
  .shared .align 4 .b8 words[256];
  ld.param.u64 %rd1, [out];
  ld.param.f32 %f2, [factor];
  mov.f32 %f1, %f2;
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, words;
  cvt.f64.f32 %d1, %f2;
  mov.f64 %d2, %d1;
)";
    for (int i = 0; i < times_; ++i) text += "  " + line_ + "\n";
    text += R"(  cvt.rn.f32.f64 %f3, %d1;
  add.f32 %f1, %f1, %f3;
  st.global.f32 [%rd1], %f1;
  st.global.u32 [%rd1+4], %r1;
  ret;
}
)";
    const std::uint32_t module = host.load_module(text, "repeated.ptx");
    const auto out = host.malloc<float>(64);
    const runtime::LaunchSpec spec{Dim3{1, 1, 1}, Dim3{lanes_, 1, 1}, 0, 0};
    host.launch(module, "repeated", spec, out, 0.5F);
    co_await host.synchronize();
  }

 private:
  std::string line_;
  int times_;
  std::uint32_t lanes_;
};

double dynamic_picojoules(const std::string& line, int times, std::uint32_t lanes) {
  RunSpec spec;
  spec.machine = arch::load_machine("dai18-maxwell", {"code=ptx", "sms=1", "unit.int.count=4"});
  const double clock = spec.machine.clocks.core;
  spec.machine.energy = machine().energy;
  spec.machine.clocks.core = clock;
  spec.policy = policy::parse_choice("leftover");
  AppSpec app;
  app.text = app.name = app.identity = "repeated";
  app.create = [=](std::uint64_t) { return std::make_unique<Repeated>(line, times, lanes); };
  spec.apps.push_back(app);
  return simulate(spec).energy->apps[0].total() * 1e12;
}

/// What the fifth takes beside the fourth.
double one_more(const std::string& line, std::uint32_t lanes = 32) {
  return dynamic_picojoules(line, 5, lanes) - dynamic_picojoules(line, 4, lanes);
}

TEST(EnergyOfRuns, OneMoreInstructionTakesWhatItDoes) {
  const arch::EnergyConfig each = machine().energy;
  const double always = each.instruction;
  const auto near = [](double ours, double theirs) { EXPECT_NEAR(ours, theirs, 1e-3) << theirs; };
  near(one_more("fma.rn.f32 %f1, %f1, %f2, %f2;"),
       always + 32 * each.sp + 2 * each.register_read + each.register_write);
  near(one_more("fma.rn.f32 %f1, %f1, %f2, %f2;", 7),
       always + 7 * each.sp + 2 * each.register_read + each.register_write);
  near(one_more("add.u32 %r1, %r1, 3;"), always + 32 * each.int_ + each.register_read + each.register_write);
  near(one_more("add.f64 %d1, %d1, %d2;"),
       always + 32 * each.dp + 4 * each.register_read + 2 * each.register_write);
  near(one_more("sin.approx.f32 %f1, %f1;"),
       always + 32 * each.sfu + each.register_read + each.register_write);
  near(one_more("st.shared.u32 [%r2], %r1;"), always + 2 * each.register_read + each.shared);
  near(one_more("ld.global.f32 %f1, [%rd1];"),
       always + 2 * each.register_read + each.register_write + each.l1);
  near(one_more("bar.sync 0;"), always);
}

}  // namespace
}  // namespace gpumux::experiment
