// The common part of all microbenchmarks: a fixture over every preset, and the arithmetic of one SM and of
// clocks for the expected values. It is written from the meaning of the machine's keys, not from the model's
// code.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "arch/config_file.hpp"
#include "sm/harness.hpp"

namespace gpumux::micro {

using namespace sm::testing;  // NOLINT(google-build-using-namespace): programs and streams by hand
using arch::MachineConfig;
using workload::Transaction;

inline std::string preset_name(const testing::TestParamInfo<std::string>& preset) {
  std::string name = preset.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

/// The machine with a crossbar instead of a mesh. Routers are tested in tests/noc and
/// machine/mesh_machine_test.cpp.
inline MachineConfig as_crossbar(MachineConfig config) {
  if (config.noc.topology != arch::Topology::Mesh) return config;
  config.noc.topology = arch::Topology::Crossbar;
  config.noc.latency = arch::NocConfig().latency;  // from port to port
  return config;
}

/// The machine without the features that other tests cover. pipeline_test.cpp covers: stages around
/// execution, collectors that wait for a unit, ports of register banks, the tags' pipeline, and L1 banks
/// narrower than a line. units_test.cpp covers the issue of several instructions per cycle,
/// memory/address_map_test.cpp covers other address maps, and as_crossbar() removes routers.
inline MachineConfig without_pipeline(MachineConfig config) {
  config.sm.operand_latency = config.sm.writeback_latency = 0;
  config.sm.register_ports = 1;
  config.sm.register_writes = config.sm.collectors_wait = false;
  config.l1.tag_latency = 0;
  config.l1.bank_bytes = kLineBytes;
  config.sm.issue_width = 1;
  config.dram.address_map.clear();
  config.l1.caches_global = true;
  return as_crossbar(std::move(config));
}

class Preset : public testing::TestWithParam<std::string> {
 protected:
  MachineConfig config_ = without_pipeline(arch::load_machine(GetParam()));

  /// Cycle of the first issue of a block that is launched in cycle 0. Its first instruction is fetched in
  /// cycle 0.
  static constexpr Cycle kFirstIssue = 1;
  /// Cycle of the access of a memory instruction that is issued first: the load/store unit is one stage
  /// later.
  static constexpr Cycle kFirstAccess = 2;

  [[nodiscard]] const arch::UnitConfig& unit(isa::Unit u) const {
    return config_.units[static_cast<std::size_t>(config_.serving(u))];
  }
  [[nodiscard]] const arch::LatencyConfig& row(LatencyClass c) const {
    return config_.latency[static_cast<std::size_t>(c)];
  }
  /// Cycles for which one warp instruction occupies a unit: the passes of its lanes, or the initiation
  /// interval of its latency class.
  [[nodiscard]] Cycle occupied(isa::Unit u, LatencyClass c) const {
    return std::max<Cycle>((kWarpSize + unit(u).lanes - 1) / unit(u).lanes, row(c).initiation);
  }
  /// Cycles between two memory instructions of one warp.
  [[nodiscard]] Cycle memory_interval() const {
    return std::max<Cycle>(config_.sm.issue_interval, occupied(isa::Unit::Memory, LatencyClass::Memory));
  }
  /// Cycles of one instruction with `n` L1 accesses.
  [[nodiscard]] Cycle access_cycles(std::uint32_t n) const {
    return (n + config_.l1.banks - 1) / config_.l1.banks;
  }
  /// L1 size in bytes when no block has shared memory.
  [[nodiscard]] std::uint32_t l1_bytes() const {
    if (config_.l1.unified_bytes == 0) return config_.l1.bytes;
    return config_.l1.unified_bytes -
           (config_.l1.shared_carveouts.empty() ? 0 : config_.l1.shared_carveouts.front());
  }
  /// Network latency in core cycles.
  [[nodiscard]] Cycle network_latency() const { return noc::Network(config_).latency; }
  [[nodiscard]] std::uint32_t flits(std::uint32_t data_bytes) const {
    return (config_.noc.header_bytes + data_bytes + config_.noc.flit_bytes - 1) / config_.noc.flit_bytes;
  }
  [[nodiscard]] bool on_miss() const { return config_.l1.allocate == arch::Allocate::OnMiss; }
};

#define GPUMUX_ON_EVERY_PRESET(suite) \
  INSTANTIATE_TEST_SUITE_P(Presets, suite, testing::ValuesIn(arch::machine_names()), preset_name)

/// A load whose address is in register `address`.
inline StaticInst chained_load(std::uint16_t dst, std::uint16_t address, std::uint16_t flags = 0) {
  return inst(Unit::Memory, LatencyClass::Memory, {dst}, {address},
              static_cast<std::uint16_t>(isa::kLoad | flags));
}
/// Adds a global access of one warp to `n` lines that start at `first`, with equal numbers of lanes per line.
inline void access_lines(WarpCode& code, std::uint32_t pc, std::uint64_t first, std::uint32_t n,
                         std::uint64_t stride = 1) {
  code.run(pc);
  workload::MemHeader header;
  header.where = Where::Global;
  header.transactions = static_cast<std::uint16_t>(n);
  code.memory.push_back(std::bit_cast<std::uint64_t>(header));
  for (std::uint32_t i = 0; i < n; ++i)
    code.memory.push_back(Transaction::make(first + i * stride, 0xf, std::max(1U, kWarpSize / n)).word);
}
/// Runs up to and including cycle `cycle`, in windows that the network allows.
inline void run_through(Bench& bench, Cycle cycle) {
  while (bench.now <= cycle) bench.window(std::min(bench.now + 5, cycle + 1));
}

}  // namespace gpumux::micro
