// Every parameter of a machine. Machine files (machines/*.toml) fill it; see arch/config_file.hpp.
// Latencies and bandwidths are in cycles of the clock that the comment names.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "arch/choices.hpp"
#include "arch/cpu_config.hpp"
#include "arch/warp_scheduler.hpp"
#include "base/types.hpp"
#include "isa/timing_class.hpp"

namespace gpumux::arch {

struct ClocksConfig {  // MHz
  double core = 1400;
  double noc = 1400;
  double l2 = 700;
  double dram = 924;  // command clock
  double cpu = 2000;  // of the CPU cores
};

struct UnitConfig {
  std::uint32_t count = 1;         // units per SM (scheduler-private: a multiple of the schedulers)
  std::uint32_t lanes = 32;        // a warp instruction occupies the unit ceil(32 / lanes) cycles or
                                   // the class's initiation interval, whichever is longer
  bool scheduler_private = false;  // each scheduler owns count / schedulers of the units
  isa::Unit on = isa::Unit::Sp;    // with count 0: the kind of units that executes its instructions
};

struct LatencyConfig {           // core cycles, for a 32-lane warp
  std::uint32_t latency = 4;     // issue to earliest issue of a dependent instruction (>= 1)
  std::uint32_t initiation = 1;  // cycles between two such instructions on one unit (>= 1)
};

struct SmConfig {
  std::uint32_t max_threads = 1536;
  std::uint32_t max_warps = 48;  // at most 64 per scheduler
  std::uint32_t max_blocks = 8;
  std::uint32_t registers = 32768;              // 32-bit registers
  std::uint32_t register_allocation_unit = 64;  // registers per warp are rounded up to this
  std::uint32_t shared_bytes = 49152;
  std::uint32_t shared_allocation_unit = 128;  // bytes per block are rounded up to this
  std::uint32_t schedulers = 2;
  std::uint32_t issue_interval = 1;  // core cycles between two issues of one scheduler
  std::uint32_t issue_width = 1;     // instructions of a warp per issue
  bool issue_to_other_units = true;  // each of these instructions goes to another kind of
                                     // unit than the previous one
  WarpScheduler warp_scheduler = WarpScheduler::gto;
  std::uint32_t ready_queue = 6;  // two-level schedulers: warps of a scheduler that may issue
  // Which warp of tlphase's ready queue issues.
  ReadyOrder tlphase_order = ReadyOrder::RoundRobin;
  std::uint32_t warp_limit = 0;                    // warps of the SM that may issue, oldest first; 0: all
  WarpLimitPer warp_limit_per = WarpLimitPer::Sm;  // whether a limit counts the warps of
                                                   // the SM or of each scheduler
  PhaseLoads phase_loads = PhaseLoads::Issue;      // cycles that a load adds to the length of its phase
  std::uint32_t phase_distance_most = 512;         // cycles beyond which distances are considered equal
  std::uint32_t phase_distance_unit = 1;           // cycles; distances are rounded up to a multiple
  std::uint32_t power_up_latency = 0;              // core cycles from the return of a gated
                                                   // SM's power to its next block
  std::uint32_t register_banks = 16;               // of the whole SM, split evenly among the schedulers
  std::uint32_t register_ports = 1;                // registers that a bank reads per core cycle
  bool register_writes = false;                    // results also use the ports of their bank
  std::uint32_t collectors_per_scheduler = 8;      // instructions that may collect operands at a time
  bool collectors_wait = false;                    // an instruction for a busy unit waits in its collector
  std::uint32_t result_buses = 8;          // write-backs per cycle of the whole SM, fixed-latency results
  std::uint32_t fetch_interval = 1;        // core cycles between two fetches of one scheduler
  std::uint32_t fetch_width = 2;           // instructions per fetch
  std::uint32_t instruction_buffer = 2;    // decoded instructions per warp
  std::uint32_t branch_latency = 4;        // issue of a taken branch to issue at its target
  std::uint32_t barrier_latency = 1;       // last arrival to release
  std::uint32_t block_launch_latency = 0;  // dispatch of a block to its first fetch
  std::uint32_t memory_issue_width = 1;    // memory instructions the LSU accepts per cycle
  std::uint32_t memory_queue = 8;          // instructions between issue and the LSU
  std::uint32_t operand_latency = 0;       // core cycles from issue to execution
  std::uint32_t writeback_latency = 0;     // core cycles from a result to its register
  // Views: how a cycle counts in which some warps are ready and others wait.
  ViewMixed view_mixed = ViewMixed::Pipeline;
};

struct SharedMemoryConfig {
  std::uint32_t banks = 32;
  std::uint32_t latency = 24;         // core cycles, conflict-free access to use
  std::uint32_t atomic_interval = 1;  // core cycles per pass of an atomic
};

struct InstructionCacheConfig {
  std::uint32_t bytes = 0;  // 0: perfect
  std::uint32_t ways = 4;
  std::uint32_t line_bytes = 128;
  std::uint32_t instruction_bytes = 8;
};

struct ConstantCacheConfig {
  std::uint32_t bytes = 0;  // 0: perfect
  std::uint32_t ways = 2;
  std::uint32_t line_bytes = 64;
  std::uint32_t latency = 8;  // core cycles
};

/// The cache of texture fetches, with 128-byte lines. The defaults apply to machines that give this cache a
/// size. Ways, MSHR entries and merges are those of GPGPU-Sim's GTX 480 file (24 ways; 128 fetches in flight,
/// all of which may want one line). The latency is that of Accel-Sim's texture instructions.
struct TextureCacheConfig {
  std::uint32_t bytes = 0;  // 0: texture fetches go through L1
  std::uint32_t ways = 24;
  std::uint32_t latency = 200;  // core cycles, hit to use
  std::uint32_t mshr_entries = 128;
  std::uint32_t mshr_merges = 128;  // requests per entry, including the first
};

struct L1Config {
  std::uint32_t bytes = 16384;
  std::uint32_t ways = 4;
  bool sectored = false;
  L1Index index = L1Index::Xor;
  Allocate allocate = Allocate::OnMiss;
  L1Write write = L1Write::Evict;
  std::uint32_t written_kept = 0;  // percent of the lines; up to this share, lines written
                                   // by stores are not evicted
  std::uint32_t mshr_entries = 32;
  std::uint32_t mshr_merges = 8;  // requests per entry, including the first
  std::uint32_t miss_queue = 8;
  std::uint32_t latency = 30;     // core cycles, hit to use
  std::uint32_t tag_latency = 0;  // core cycles from the access to its miss
  std::uint32_t banks = 1;
  std::uint32_t bank_bytes = 128;  // bytes that a bank reads or writes per cycle: 32, 64 or 128
  bool flush_at_kernel_start = false;
  bool caches_global = true;  // false: global loads skip L1
  /// Volta: one array for L1 and shared memory. The shared part is the smallest carve-out that holds what the
  /// resident kernels' full occupancy needs. L1 gets the rest, and its number of ways scales with its size.
  std::uint32_t unified_bytes = 0;  // 0: separate
  std::vector<std::uint32_t> shared_carveouts;
};

/// Cache-conscious warp scheduling (Rogers et al., MICRO 2012).
struct CcwsConfig {
  bool on = false;
  CcwsHolds holds = CcwsHolds::Loads;
  std::uint32_t victim_tags = 16;  // of each warp
  std::uint32_t victim_ways = 8;
  std::uint32_t base_score = 100;  // score of a warp that has lost no line; the cutoff is this
                                   // value times the running warps
  std::uint32_t throttle = 8;      // score that each lost line adds
};

struct NocConfig {
  std::uint32_t flit_bytes = 32;
  std::uint32_t header_bytes = 8;  // of each packet
  std::uint32_t latency = 8;       // NoC cycles from port to port, without serialisation; in a mesh: from the
                                   // sender to its queue at its router
  std::uint32_t input_buffer_flits = 8;   // per source port
  std::uint32_t output_buffer_flits = 8;  // per destination port
  Topology topology = Topology::Crossbar;
  // Parameters of a mesh, see docs/mesh.md. Cycles are NoC cycles.
  std::string nodes;                  // rows of letters, from north to south: arch/placement.hpp
  std::uint32_t vcs = 4;              // virtual channels per port
  std::uint32_t vc_flits = 4;         // buffer of each VC
  std::uint32_t router_cycles = 2;    // pipeline stages
  std::uint32_t link_cycles = 1;      // between routers
  std::uint32_t local_cycles = 1;     // between a queue and its router
  std::uint32_t credit_cycles = 1;    // from a flit's grant until its place is free again
  std::uint32_t ejection_flits = 16;  // receive buffer of each endpoint at its router
  std::uint32_t cpu_vcs = 0;  // VCs of `vcs` that, with their share of each link, form a separate network for
                              // CPU cores; 0: shared network
};

struct L2Config {
  std::uint32_t partitions = 6;  // memory partitions (one DRAM channel each)
  std::uint32_t slices_per_partition = 2;
  std::uint32_t cpu_partitions = 0;  // the last partitions, for CPU cores only; 0: all partitions are shared
  std::uint32_t slice_bytes = 65536;
  std::uint32_t ways = 8;
  bool sectored = false;
  IndexFunction index = IndexFunction::Linear;
  Allocate allocate = Allocate::OnMiss;
  IndexFunction partition_hash = IndexFunction::Linear;  // partition of an interleave unit
  std::uint32_t interleave_bytes = 256;
  std::uint32_t mshr_entries = 32;  // per slice
  std::uint32_t mshr_merges = 4;
  std::uint32_t miss_queue = 4;
  std::uint32_t input_queue = 8;        // requests waiting at the slice
  std::uint32_t output_queue = 8;       // replies waiting for the network
  std::uint32_t latency = 120;          // L2 cycles, request arrival to hit reply
  std::uint32_t port_bytes = 32;        // data port: bytes read or written per L2 cycle
  std::uint32_t atomic_interval = 1;    // rounds that a slice performs per L2 cycle; 0: unlimited
  std::uint32_t atomics_per_cycle = 1;  // rounds that a slice performs per L2 cycle; 0: not limited
};

struct DramConfig {
  std::uint32_t bus_bytes = 8;     // per channel
  double transfers_per_clock = 4;  // data transfers per command clock
  std::uint32_t burst_bytes = 32;  // bytes moved by one column command
  std::uint32_t row_bytes = 2048;
  std::uint32_t banks = 16;
  std::uint32_t bank_groups = 4;
  std::string address_map;     // arch/address_bits.hpp; empty: l2.interleave_size and dram/address_map.hpp
  bool bank_group_low = true;  // with address_map: the bank's lowest bits, not its highest,
                               // are the number of its group
  DramOrder scheduler = DramOrder::FrFcfs;
  std::uint32_t queue = 16;  // requests per channel; of a sectored L2: fetched sectors
  std::uint32_t return_queue = 116;
  std::uint32_t fixed_latency = 100;       // core cycles added to each access
  bool separate_row_bus = false;           // HBM: row and column commands in the same cycle
  std::uint32_t write_high_watermark = 0;  // 0: reads and writes share one queue (GPGPU-Sim)
  std::uint32_t write_low_watermark = 0;
  // Timing, command clocks
  std::uint32_t CL = 12, RP = 12, RC = 40, RAS = 28, RCD = 12, RRD = 6, CCD = 2, CCDL = 3, WL = 4, CDLR = 5,
                WR = 12, RTPL = 2, FAW = 0, REFI = 0, RFC = 0;  // FAW, REFI 0: not modelled for this part
};

/// Energy of events in picojoules, and constant power in watts. All 0: unknown.
struct EnergyConfig {
  double instruction = 0;  // per warp instruction: fetch, decode, schedule, pipeline
  double sp = 0, int_ = 0, dp = 0, sfu = 0, tensor = 0, uniform = 0;  // per operation of a lane
  double register_read = 0, register_write = 0;                       // per register of 32 lanes
  double shared = 0;                                                  // per pass over the banks
  double constant = 0;
  double l1 = 0;
  double flit = 0;
  double l2_read = 0, l2_write = 0;
  double dram_activation = 0, dram_read = 0, dram_write = 0;
  double sm_watts = 0;        // per SM with power
  double gated_sm_watts = 0;  // leakage per SM whose power is gated
  double uncore_watts = 0;    // all other parts of the GPU together
  friend bool operator==(const EnergyConfig&, const EnergyConfig&) = default;
  [[nodiscard]] bool known() const { return *this != EnergyConfig(); }
};

struct RuntimeConfig {
  std::uint32_t kernel_launch_latency = 0;  // core cycles
  std::uint32_t max_concurrent_kernels = 32;
  // Until when a kernel counts among the concurrent kernels.
  KernelLeaves kernel_leaves = KernelLeaves::Ended;
  WhenFull launch_when_full = WhenFull::Wait;  // a launch beyond max_concurrent_kernels
  std::uint32_t blocks_per_cycle = 1;          // blocks dispatched by the whole GPU, at most one per SM
  double copy_bytes_per_second = 0;            // host copies; 0: copies take no time
  bool copies_write_l2 = false;                // data copied to the device is in L2 one launch latency later
  ContextMoves context_moves = ContextMoves::Traffic;
  std::uint64_t max_warp_instructions = 1'000'000'000;  // most instructions of one warp, beyond which its
                                                        // kernel counts as endless; 0: no limit
  std::uint32_t heap_bytes = 8U << 20U;                 // for malloc in the kernels of one application
  std::uint32_t compute_capability = 75;  // reported to CUDA programs: 75 is 7.5. No cycle depends on it
  Cycle max_kernel_cycles = 200'000'000;  // most core cycles of one kernel, beyond which it
                                          // counts as endless; 0: no limit
};

struct MachineConfig {
  std::string name;
  std::string description;
  std::string source;                             // paper and table of the numbers
  isa::CodeLevel code = isa::CodeLevel::Machine;  // level of PTX code; traces are executed as they are
  std::uint32_t sms = 16;
  std::uint32_t cpus = 0;  // CPU cores on the SMs' network
  std::string variant_of;  // informative
  ClocksConfig clocks;
  SmConfig sm;
  std::array<UnitConfig, isa::kUnits> units;                // by isa::Unit
  std::uint32_t tensor_multiply_adds = 256;                 // f16 multiply-adds of one pass of a tensor unit
  std::array<LatencyConfig, isa::kLatencyClasses> latency;  // by isa::LatencyClass
  SharedMemoryConfig shared;
  InstructionCacheConfig icache;
  ConstantCacheConfig constant;
  TextureCacheConfig texture;
  L1Config l1;
  CcwsConfig ccws;
  CpuConfig cpu;  // of each CPU core
  NocConfig noc;
  L2Config l2;
  DramConfig dram;
  EnergyConfig energy;
  RuntimeConfig runtime;
  std::uint64_t watchdog_cycles = 2'000'000;  // cycles without any progress, while work is
                                              // outstanding, after which a run fails

  /// The kind of units that executes instructions of `unit`: if there are no units of a kind, the kind that
  /// its configuration names. A machine that was loaded has units of the returned kind, or it is memory or
  /// control, which are then not limited.
  [[nodiscard]] isa::Unit serving(isa::Unit unit) const {
    for (unsigned step = 0; step < isa::kUnits && isa::is_arithmetic(unit); ++step) {
      const UnitConfig& own = units[static_cast<std::size_t>(unit)];
      if (own.count > 0) break;
      unit = own.on;
    }
    return unit;
  }
  /// Passes of a tensor unit that an instruction takes. Each pass takes the initiation interval.
  [[nodiscard]] std::uint32_t tensor_passes(const isa::StaticInst& inst) const {
    return std::max(1U, (inst.multiply_adds + tensor_multiply_adds - 1) / tensor_multiply_adds);
  }
  /// Core cycles for which an instruction of the tensor units holds the unit that executes it.
  [[nodiscard]] std::uint64_t tensor_cycles(const isa::StaticInst& inst) const {
    const std::uint32_t lanes =
        std::max(1U, units[static_cast<std::size_t>(serving(isa::Unit::Tensor))].lanes);
    const LatencyConfig& row = latency[static_cast<std::size_t>(isa::LatencyClass::Tensor)];
    return std::uint64_t{tensor_passes(inst)} *
           std::max({(kWarpSize + lanes - 1) / lanes, row.initiation, 1U});
  }
  /// Upper limit of tensor_cycles(). sm/scoreboard.hpp cannot represent more. With sm.collectors_wait, the
  /// limit is smaller, because the units' use by instructions in collectors is booked ahead.
  [[nodiscard]] std::uint64_t most_tensor_cycles() const {
    return sm.collectors_wait ? kMostAhead / (sm.schedulers * (sm.collectors_per_scheduler + isa::kUnits))
                              : kMostBusy;
  }
  static constexpr std::uint64_t kMostBusy = 8192;   // most core cycles that an instruction occupies its unit
  static constexpr std::uint64_t kMostAhead = 6144;  // most core cycles that instructions may wait in
                                                     // collectors
  /// Peak DRAM bandwidth in bytes per second.
  [[nodiscard]] double dram_peak_bytes_per_second() const {
    return l2.partitions * static_cast<double>(dram.bus_bytes) * dram.transfers_per_clock * clocks.dram * 1e6;
  }
};

}  // namespace gpumux::arch
