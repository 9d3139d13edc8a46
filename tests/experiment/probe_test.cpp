// Probes of a memory hierarchy measure what the machine's keys say.
#include <gtest/gtest.h>

#include "arch/config_file.hpp"
#include "experiment/make_app.hpp"
#include "experiment/run.hpp"
#include "trace/output.hpp"
#include "trace/probe.hpp"
#include "trace/trace_file.hpp"

namespace gpumux {
namespace {

using trace::Probe;
using trace::ProbeKind;

experiment::RunResult run(const Probe& probe, const arch::MachineConfig& machine, unsigned threads = 1) {
  trace::MemoryOutput output;
  trace::write_probe(probe, output);
  experiment::RunSpec spec;
  spec.machine = machine;
  spec.policy = policy::parse_choice("leftover");
  spec.threads = threads;
  spec.audit = true;
  spec.apps.push_back(experiment::trace_app("probe", trace::Trace::from_bytes(output.take(), "probe")));
  return experiment::simulate(spec);
}

/// Cycles per load behind `warm` others.
double latency(const arch::MachineConfig& machine, std::uint64_t footprint, std::uint32_t warm) {
  constexpr std::uint32_t kLoads = 512;
  const Probe first{ProbeKind::Latency, footprint, 1, warm};
  const Probe second{ProbeKind::Latency, footprint, 1, warm + kLoads};
  return static_cast<double>(run(second, machine).cycles - run(first, machine).cycles) / kLoads;
}

TEST(Probe, ALoadTakesWhatTheKeysSay) {
  // One stage to the load/store unit, the hit, and the stages around execution.
  const arch::MachineConfig v100 = arch::load_machine("v100-measured");
  const double stages = 1.0 + v100.sm.operand_latency + v100.sm.writeback_latency - 1;
  EXPECT_NEAR(latency(v100, 32 << 10, 256), v100.l1.latency + stages, 0.2);
  const double l2 = latency(v100, 1 << 20, 8192);
  arch::MachineConfig slower = v100;
  slower.l2.latency += 50;
  EXPECT_NEAR(latency(slower, 1 << 20, 8192), l2 + 50, 0.5);
  slower = v100;
  slower.dram.fixed_latency += 70;
  EXPECT_NEAR(latency(slower, 1 << 20, 8192), l2, 0.1);
  const double dram = latency(v100, 64 << 20, 512);
  EXPECT_NEAR(latency(slower, 64 << 20, 512), dram + 70, 1);
  EXPECT_GT(dram, l2 + v100.dram.fixed_latency);
}

TEST(Probe, MeasuredMachinesHaveTheLatenciesOfTheirSource) {
  EXPECT_NEAR(latency(arch::load_machine("v100-measured"), 32 << 10, 256), 28.1, 0.5);
  EXPECT_NEAR(latency(arch::load_machine("v100-measured"), 1 << 20, 8192), 212, 1);
  EXPECT_NEAR(latency(arch::load_machine("a100-measured"), 32 << 10, 256), 33.2, 0.5);
  EXPECT_NEAR(latency(arch::load_machine("a100-measured"), 1 << 20, 8192), 205.9, 1);
  EXPECT_NEAR(latency(arch::load_machine("h100-measured"), 32 << 10, 256), 32.2, 0.5);
  EXPECT_NEAR(latency(arch::load_machine("h100-measured"), 1 << 20, 8192), 285.0, 1);
}

TEST(Probe, MovesTheBytesThatItSays) {
  arch::MachineConfig machine = arch::load_machine("v100-measured");
  for (const ProbeKind kind : {ProbeKind::Init, ProbeKind::Load, ProbeKind::Scale, ProbeKind::Triad}) {
    const Probe probe{kind, 4 << 20, 1, 1000};
    const experiment::RunResult result = run(probe, machine);
    EXPECT_EQ(result.gpu.l1_accesses * kSectorBytes, bytes_of(probe)) << static_cast<int>(kind);
    EXPECT_EQ(trace::bytes_of({kind, 4 << 20, 1, 500}) * 2, bytes_of(probe));
    EXPECT_EQ(run(probe, machine, 4).cycles, result.cycles);
  }
  const Probe read{ProbeKind::Read, 32 << 10, 3, 2};
  // And a store of each thread at the end.
  EXPECT_EQ(run(read, machine).gpu.l1_accesses * kSectorBytes, bytes_of(read) + 3 * 1024 * 4);
}

}  // namespace
}  // namespace gpumux
