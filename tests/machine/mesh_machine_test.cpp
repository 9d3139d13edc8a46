// Machines whose network is a mesh, with and without CPU cores.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "arch/config_file.hpp"
#include "arch/placement.hpp"
#include "base/error.hpp"
#include "experiment/ledger.hpp"
#include "experiment/run.hpp"
#include "machine/cpu_node.hpp"
#include "machine/mesh_network.hpp"
#include "tests/figures.hpp"

namespace gpumux {
namespace {

using Settings = std::vector<std::string>;

experiment::RunSpec spec_of(const std::string& machine, const Settings& settings, const char* cpus,
                            std::vector<const char*> apps = {"hotspot:size=128"}) {
  experiment::RunSpec spec;
  spec.machine = arch::load_machine(machine, settings);
  for (const char* app : apps) spec.apps.push_back(experiment::builtin_app(app));
  spec.policy = policy::parse_choice("even");
  if (*cpus != 0) spec.cpus = experiment::parse_cpus(cpus, spec.machine.cpus);
  spec.cpu_span = {1000, 4000};
  return spec;
}

std::string outcome(const experiment::RunSpec& spec) {
  experiment::RunResult result = experiment::simulate(spec);
  result.wall_seconds = 0;
  result.series = {};
  return experiment::result_json(result, {}, {}) + figures(result);
}

experiment::RunSpec busy_spec(const Settings& settings) {
  experiment::RunSpec spec =
      spec_of("kayiran14-hetero", settings, "mcf*2,-,milc,povray*3", {"hotspot:size=128", "kmeans"});
  spec.instructions = 100'000;
  spec.cpu_span = {500, 2000};
  return spec;
}

TEST(MeshMachine, ThreadsDoNotChangeResults) {
  for (const Settings& settings : {Settings{}, Settings{"noc.cpu_vcs=1"}}) {
    experiment::RunSpec spec = busy_spec(settings);
    const std::string expected = outcome(spec);
    for (const unsigned threads : {2U, 4U}) {
      spec.threads = threads;
      EXPECT_EQ(expected, outcome(spec)) << threads << " threads";
    }
  }
}

TEST(MeshMachine, SkippingAndSamplesAreInvisible) {
  for (const Settings& settings :
       {Settings{}, Settings{"noc.cpu_vcs=1"}, Settings{"l2.cpu_partitions=3"},
        Settings{"clocks.noc_mhz=900", "noc.latency=900"},  // windows beyond the longest run of an SM
        Settings{"clocks.noc_mhz=2100", "l2.slices_per_partition=2", "l2.slice_size=512K"}}) {
    experiment::RunSpec spec = busy_spec(settings);
    const std::string expected = outcome(spec);
    spec.no_skip = true;
    EXPECT_EQ(expected, outcome(spec)) << "visiting every window";
    spec.no_skip = false;
    spec.series = 777;  // in the middle of windows
    EXPECT_EQ(expected, outcome(spec)) << "with samples";
  }
}

TEST(MeshMachine, AndCrossbarDiffer) {
  const auto cycles = [](const Settings& settings) {
    return experiment::simulate(spec_of("dai18-maxwell", settings, "", {"stream:blocks=64"})).cycles;
  };
  const Settings mesh = {"noc.topology=mesh", "noc.nodes=GMGMGMGM GMGMGMGM MGMGMGMG MGMGMGMG"};
  EXPECT_LT(cycles({}), cycles(mesh)) << "routers take time";
  Settings slow = mesh;
  slow.emplace_back("noc.router_cycles=8");
  EXPECT_LT(cycles(mesh), cycles(slow));
}

TEST(MeshMachine, CpuCoresExecuteWhatIsAskedFor) {
  const experiment::RunSpec spec = spec_of("kayiran14-hetero", {}, "mcf,-,perlbench");
  const experiment::RunResult result = experiment::simulate(spec);
  ASSERT_EQ(result.cpus.size(), 2U);
  EXPECT_EQ(result.cpus[0].program, "mcf");
  EXPECT_EQ(result.cpus[1].core, 2U);
  for (const experiment::CpuResult& cpu : result.cpus) {
    EXPECT_GE(cpu.counters.instructions, 4000U);
    EXPECT_LT(cpu.counters.instructions, 4000U + spec.machine.cpu.width) << "the cycle that reaches them";
    EXPECT_EQ(cpu.memory_counters.l2_accesses > 0, true);
  }
  EXPECT_GT(result.begin, 0U);
  EXPECT_EQ(result.begin % experiment::kCpuCheck, 0U);
  EXPECT_LT(result.cpus[0].ipc(), result.cpus[1].ipc()) << "mcf misses far more often";
  EXPECT_EQ(result.apps[0].completions >= 1, true);
  EXPECT_LE(result.apps[0].active_cycles, result.cycles - result.begin);
}

// The way of a line, by hand: L1 and L2 of the core are looked up, the request leaves in the next GPU cycle,
// is in the queue a latency later and crosses the mesh; behind the ports it is any request; a line of 5 flits
// comes back. Machines that differ in one of these differ by it and nothing else.
TEST(MeshMachine, ACpuCoresLoadTakesTheWaysOfTheMesh) {
  const auto latency = [](const Settings& settings) {
    experiment::RunSpec spec = spec_of("kayiran14-hetero", settings, "povray");
    spec.machine.clocks.cpu = spec.machine.clocks.core;
    spec.apps.clear();
    spec.cpu_span = {20'000, 20'000};
    const experiment::CpuResult cpu =
        experiment::simulate_under(spec, policy::create(policy::parse_choice("leftover"))).cpus.front();
    return static_cast<double>(cpu.counters.memory_latency) / static_cast<double>(cpu.counters.replies);
  };
  const double base = latency({});
  EXPECT_NEAR(latency({"noc.latency=14"}) - base, 20, 4) << "ten cycles more, there and back";
  EXPECT_NEAR(latency({"noc.local_cycles=3"}) - base, 8, 2) << "two more, into and out of the routers, twice";
  EXPECT_NEAR(latency({"dram.fixed_latency=150"}) - base, 50, 3);
}

TEST(MeshMachine, PartitionsOfCpuCoresServeTheseAlone) {
  experiment::RunSpec spec = spec_of("kayiran14-hetero", {"l2.cpu_partitions=7"}, "mcf*14");
  spec.ledger = true;
  const experiment::RunResult narrow = experiment::simulate(spec);
  ASSERT_TRUE(narrow.cpu_waits);
  EXPECT_GT(narrow.cpus[0].memory_counters.l2_accesses, 0U);
  for (const experiment::CpuWait& wait : experiment::cpu_waits(narrow))
    EXPECT_EQ(wait.culprit, 1U) << "they meet other cores alone, at "
                                << experiment::ledger_places()[wait.place].words;
  for (const experiment::LostCycles& lost : experiment::lost_cycles(narrow)) EXPECT_NE(lost.culprit, 1U);
  spec.machine.l2.cpu_partitions = 0;
  const experiment::RunResult shared = experiment::simulate(spec);
  const std::vector<experiment::CpuWait> waits = experiment::cpu_waits(shared);
  EXPECT_TRUE(std::any_of(waits.begin(), waits.end(), [](const auto& wait) { return wait.culprit == 0; }));
  spec.machine.l2.cpu_partitions = 1;
  EXPECT_LT(narrow.apps[0].ipc() * 1.5, experiment::simulate(spec).apps[0].ipc())
      << "one controller for all SMs, and seven";
}

TEST(MeshMachine, ANetworkOfTheirOwnShieldsCpuCores) {
  // Stores fill the request network, and the DRAM has time.
  const auto latency = [](Settings settings) {
    settings.insert(settings.end(),
                    {"dram.fixed_latency=1", "l2.slice_size=4M", "noc.input_buffer_flits=32"});
    experiment::RunSpec spec = spec_of("kayiran14-hetero", settings, "omnetpp*2", {"awatramani17/stream"});
    const experiment::RunResult result = experiment::simulate(spec);
    return static_cast<double>(result.cpus[0].counters.memory_latency) /
           static_cast<double>(result.cpus[0].counters.replies);
  };
  EXPECT_LT(latency({"noc.cpu_vcs=2"}), latency({}));
}

TEST(MeshMachine, RefusesWhatDoesNotGoTogether) {
  experiment::RunSpec spec = spec_of("kayiran14-hetero", {}, "mcf", {"hotspot:size=128", "kmeans"});
  spec.policy = policy::parse_choice("mig");
  EXPECT_THROW((void)experiment::simulate(spec), UserError) << "instances have all partitions";
  spec.policy = policy::parse_choice("even");
  spec.cycles = 1000;
  EXPECT_THROW((void)experiment::simulate(spec), UserError) << "a limit beside the instructions of CPU cores";
}

TEST(MeshMachine, ACoreThatNothingReachesIsTold) {
  experiment::RunSpec spec = spec_of("kayiran14-hetero", {"noc.latency=1000"}, "mcf");
  spec.machine.watchdog_cycles = 1500;  // less than the way there and back
  try {
    (void)experiment::simulate(spec);
    ADD_FAILURE();
  } catch (const SimulationFault& fault) {
    EXPECT_NE(std::string(fault.what()).find("CPU core 0 (mcf)"), std::string::npos) << fault.what();
  }
}

TEST(MeshMachine, ALedgerSaysWhatCpuCoresAndApplicationsCostEachOther) {
  experiment::RunSpec spec = spec_of("kayiran14-hetero", {}, "mcf*4,-,milc*2");
  spec.cpu_span = {2000, 20'000};
  spec.apps = {experiment::builtin_app("dai18/bp")};
  spec.instructions = 100'000;
  const std::string expected = figures(experiment::simulate(spec));
  spec.ledger = true;
  const experiment::RunResult result = experiment::simulate(spec);
  EXPECT_EQ(expected, figures(result)) << "it changes nothing";
  double for_app = 0, for_others = 0, lost = 0;
  for (const experiment::CpuWait& wait : experiment::cpu_waits(result))
    (wait.culprit == 0 ? for_app : for_others) += wait.cycles;
  for (const experiment::LostCycles& entry : experiment::lost_cycles(result))
    if (entry.culprit == 1) lost += entry.share;
  EXPECT_GT(for_app, for_others) << "28 SMs against six cores";
  EXPECT_GT(for_others, 0);
  EXPECT_GT(lost, 0);
  EXPECT_LT(lost, 0.2);
  spec.apps = {experiment::builtin_app("hotspot:size=128")};
  spec.cpus = experiment::parse_cpus("mcf", spec.machine.cpus);
  const experiment::RunResult one = experiment::simulate(spec);
  EXPECT_EQ(one.cpu_waits->among.l2_queue_cycles, 0U) << "a core alone waits for no other";
}

TEST(Placement, ReadsRowsOfLetters) {
  const arch::MachineConfig config = arch::load_machine("kayiran14-hetero");
  const arch::Placement place = arch::placement(config);
  EXPECT_EQ(place.width, 6U);
  EXPECT_EQ(place.height, 6U);
  EXPECT_EQ(place.sms.size(), 28U);
  EXPECT_EQ(place.sms[0], place.sms[1]) << "two at a node";
  EXPECT_EQ(place.sms[2], 2U);
  EXPECT_EQ(place.cpus[0], 1U);
  EXPECT_EQ(place.partitions[0], 7U) << "row 1, column 1";
}

TEST(Placement, RefusesWhatDoesNotComeOutEven) {
  const auto refused = [](const char* nodes, const char* why) {
    try {
      (void)arch::load_machine("kayiran14-small3x3", {std::string("noc.nodes=") + nodes});
      ADD_FAILURE() << nodes;
    } catch (const UserError& error) {
      EXPECT_NE(std::string(error.what()).find(why), std::string::npos) << error.what();
    }
  };
  refused("GCG MCM GC", "row 3 has 2 letters");
  refused("GCG MCM GCX", "no letter of a node");
  refused("GCG MCM GC.", "for sms = 4");
  refused("GCG MMM GCG", "for cpus = 3");
}

TEST(CpuPrograms, AreReadFromTheirList) {
  const auto names = [](const char* text, std::uint32_t cores) {
    std::string all;
    for (const experiment::CpuProgram& program : experiment::parse_cpus(text, cores))
      all += (program.name.empty() ? "-" : program.name) + " ";
    return all;
  };
  EXPECT_EQ(names("mcf*2,-,milc", 14), "mcf mcf - milc ");
  EXPECT_EQ(names("H2", 3), "omnetpp omnetpp omnetpp ") << "as many of the mix as there are cores";
  EXPECT_EQ(experiment::parse_cpus("M1", 14).size(), 14U);
  for (const char* wrong : {"mcf*15", "nosuch", "mcf*0", "mcf*", "-", "", "H2,mcf", "./absent.xz"})
    EXPECT_THROW((void)experiment::parse_cpus(wrong, 14), UserError) << wrong;
}

}  // namespace
}  // namespace gpumux
