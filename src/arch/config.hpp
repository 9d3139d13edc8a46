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
  double cpu = 2000;  // of CPU cores
};

struct UnitConfig {
  std::uint32_t count = 1;         // units per SM (scheduler-private: a multiple of the schedulers)
  std::uint32_t lanes = 32;        // a warp instruction occupies the unit ceil(32 / lanes) cycles or
                                   // the class's initiation interval, whichever is longer
  bool scheduler_private = false;  // each scheduler owns count / schedulers of them
  isa::Unit on = isa::Unit::Sp;    // count 0: whose pipelines execute its instructions
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
  bool issue_to_other_units = true;  // of which each goes to another kind of unit than the one before
  WarpScheduler warp_scheduler = WarpScheduler::gto;
  std::uint32_t ready_queue = 6;  // warps of a scheduler that may issue, of two-level ones
  // Who of tlphase's ready queue issues.
  ReadyOrder tlphase_order = ReadyOrder::RoundRobin;
  std::uint32_t warp_limit = 0;                    // warps of the SM that may issue, the oldest; 0: all
  WarpLimitPer warp_limit_per = WarpLimitPer::Sm;  // of each scheduler: so many of its own
  PhaseLoads phase_loads = PhaseLoads::Issue;      // what a load adds to the length of its phase
  std::uint32_t phase_distance_most = 512;         // cycles beyond which distances are not told apart
  std::uint32_t phase_distance_unit = 1;           // cycles that distances are rounded up to
  std::uint32_t power_up_latency = 0;              // of an SM whose power was gated, to its next block
  std::uint32_t register_banks = 16;               // of the whole SM, split evenly among the schedulers
  std::uint32_t register_ports = 1;                // registers that a bank reads per core cycle
  bool register_writes = false;                    // results take a turn of their bank's ports, too
  std::uint32_t collectors_per_scheduler = 8;      // instructions that may be collecting operands at once
  bool collectors_wait = false;                    // what waits for a busy unit waits in its collector
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
  // Of views: a cycle with warps that are ready, and others that wait.
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

/// The cache of texture fetches, 128-byte lines. The defaults of its other parameters hold where a machine
/// gives it a size: GPGPU-Sim's of its GTX 480 file (24 ways; 128 fetches under way, which may all want one
/// line); for the latency Accel-Sim's of texture instructions.
struct TextureCacheConfig {
  std::uint32_t bytes = 0;  // 0: texture fetches go through L1
  std::uint32_t ways = 24;
  std::uint32_t latency = 200;  // core cycles, hit to use
  std::uint32_t mshr_entries = 128;
  std::uint32_t mshr_merges = 128;  // requests per entry, the first included
};

struct L1Config {
  std::uint32_t bytes = 16384;
  std::uint32_t ways = 4;
  bool sectored = false;
  L1Index index = L1Index::Xor;
  Allocate allocate = Allocate::OnMiss;
  L1Write write = L1Write::Evict;
  std::uint32_t written_kept = 0;  // percent of the lines; of those that stores took, so many are not evicted
  std::uint32_t mshr_entries = 32;
  std::uint32_t mshr_merges = 8;  // requests per entry, the first included
  std::uint32_t miss_queue = 8;
  std::uint32_t latency = 30;     // core cycles, hit to use
  std::uint32_t tag_latency = 0;  // core cycles from the access to its miss
  std::uint32_t banks = 1;
  std::uint32_t bank_bytes = 128;  // that a bank reads or writes per cycle, 32, 64 or 128
  bool flush_at_kernel_start = false;
  bool caches_global = true;  // false: global loads skip L1
  /// Volta: one array for L1 and shared memory; the shared part is the smallest of the carve-outs that
  /// holds what the resident kernels' full occupancy needs, and L1 gets the rest (ways scale).
  std::uint32_t unified_bytes = 0;  // 0: separate
  std::vector<std::uint32_t> shared_carveouts;
};

/// Cache-conscious warp scheduling (Rogers et al., MICRO 2012).
struct CcwsConfig {
  bool on = false;
  CcwsHolds holds = CcwsHolds::Loads;
  std::uint32_t victim_tags = 16;  // of each warp
  std::uint32_t victim_ways = 8;
  std::uint32_t base_score =
      100;                     // of a warp that has lost nothing; the cutoff is this times the running warps
  std::uint32_t throttle = 8;  // by how much a lost line counts
};

struct NocConfig {
  std::uint32_t flit_bytes = 32;
  std::uint32_t header_bytes = 8;  // of each packet
  std::uint32_t latency = 8;  // NoC cycles from port to port, without serialisation; of a mesh: from whoever
                              // sends into his queue at his router
  std::uint32_t input_buffer_flits = 8;   // per source port
  std::uint32_t output_buffer_flits = 8;  // per destination port
  Topology topology = Topology::Crossbar;
  // Of a mesh, see docs/mesh.md. Cycles of the NoC.
  std::string nodes;                  // rows of letters, from north to south: arch/placement.hpp
  std::uint32_t vcs = 4;              // virtual channels per port
  std::uint32_t vc_flits = 4;         // buffer of each
  std::uint32_t router_cycles = 2;    // pipeline
  std::uint32_t link_cycles = 1;      // between routers
  std::uint32_t local_cycles = 1;     // between a queue and its router
  std::uint32_t credit_cycles = 1;    // until a place counts again
  std::uint32_t ejection_flits = 16;  // queue of each receiver at its router
  std::uint32_t cpu_vcs =
      0;  // of vcs, with as much of each link, as a network for CPU cores alone; 0: shared
};

struct L2Config {
  std::uint32_t partitions = 6;  // memory partitions (one DRAM channel each)
  std::uint32_t slices_per_partition = 2;
  std::uint32_t cpu_partitions = 0;  // the last ones, for CPU cores alone; 0: all are shared
  std::uint32_t slice_bytes = 65536;
  std::uint32_t ways = 8;
  bool sectored = false;
  IndexFunction index = IndexFunction::Linear;
  Allocate allocate = Allocate::OnMiss;
  IndexFunction partition_hash = IndexFunction::Linear;  // which partition an interleave unit goes to
  std::uint32_t interleave_bytes = 256;
  std::uint32_t mshr_entries = 32;  // per slice
  std::uint32_t mshr_merges = 4;
  std::uint32_t miss_queue = 4;
  std::uint32_t input_queue = 8;        // requests waiting at the slice
  std::uint32_t output_queue = 8;       // replies waiting for the network
  std::uint32_t latency = 120;          // L2 cycles, request arrival to hit reply
  std::uint32_t port_bytes = 32;        // data port: bytes read or written per L2 cycle
  std::uint32_t atomic_interval = 1;    // L2 cycles per round of atomic operations on one line
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
  bool bank_group_low = true;  // with it: the bank's lowest bits are its group's number, not its highest
  DramOrder scheduler = DramOrder::FrFcfs;
  std::uint32_t queue = 16;  // requests per channel; of a sectored L2, sectors fetched
  std::uint32_t return_queue = 116;
  std::uint32_t fixed_latency = 100;       // core cycles added to each access
  bool separate_row_bus = false;           // HBM: row and column commands in the same cycle
  std::uint32_t write_high_watermark = 0;  // 0: reads and writes share one queue (GPGPU-Sim)
  std::uint32_t write_low_watermark = 0;
  // Timing, command clocks
  std::uint32_t CL = 12, RP = 12, RC = 40, RAS = 28, RCD = 12, RRD = 6, CCD = 2, CCDL = 3, WL = 4, CDLR = 5,
                WR = 12, RTPL = 2, FAW = 0, REFI = 0, RFC = 0;  // FAW, REFI 0: not modelled for this part
};

/// What events take, in picojoules, and what is drawn all the time, in watts. All 0: not known.
struct EnergyConfig {
  double instruction = 0;  // of a warp: fetch, decode, schedule, pipeline
  double sp = 0, int_ = 0, dp = 0, sfu = 0, tensor = 0, uniform = 0;  // a lane's operation
  double register_read = 0, register_write = 0;                       // a register of all 32 lanes
  double shared = 0;                                                  // a pass over the banks
  double constant = 0;
  double l1 = 0;
  double flit = 0;
  double l2_read = 0, l2_write = 0;
  double dram_activation = 0, dram_read = 0, dram_write = 0;
  double sm_watts = 0;        // of one that is powered
  double gated_sm_watts = 0;  // of one whose power is gated: what leaks
  double uncore_watts = 0;    // of all the rest
  friend bool operator==(const EnergyConfig&, const EnergyConfig&) = default;
  [[nodiscard]] bool known() const { return *this != EnergyConfig(); }
};

struct RuntimeConfig {
  std::uint32_t kernel_launch_latency = 0;  // core cycles
  std::uint32_t max_concurrent_kernels = 32;
  // Until when a kernel counts among these.
  KernelLeaves kernel_leaves = KernelLeaves::Ended;
  WhenFull launch_when_full = WhenFull::Wait;  // a launch when so many run
  std::uint32_t blocks_per_cycle = 1;          // dispatched by the whole GPU, at most one to an SM
  double copy_bytes_per_second = 0;            // host copies; 0: they take no time
  bool copies_write_l2 = false;                // data copied to the device lies in L2, a launch latency later
  ContextMoves context_moves = ContextMoves::Traffic;
  std::uint64_t max_warp_instructions =
      1'000'000'000;                      // of one warp, then the kernel counts as endless; 0: none
  std::uint32_t heap_bytes = 8U << 20U;   // for malloc in the kernels of one application
  std::uint32_t compute_capability = 75;  // that CUDA programs are told: 75 of 7.5. No cycle depends on it
  Cycle max_kernel_cycles = 200'000'000;  // core cycles of one kernel, then it counts as endless; 0: none
};

struct MachineConfig {
  std::string name;
  std::string description;
  std::string source;                             // paper and table that the numbers come from
  isa::CodeLevel code = isa::CodeLevel::Machine;  // of PTX files; traces are as they are
  std::uint32_t sms = 16;
  std::uint32_t cpus = 0;  // CPU cores, on the SMs' network
  std::string variant_of;  // informative
  ClocksConfig clocks;
  SmConfig sm;
  std::array<UnitConfig, isa::kUnits> units;                // by isa::Unit
  std::uint32_t tensor_multiply_adds = 256;                 // of f16, that one pass of a tensor unit does
  std::array<LatencyConfig, isa::kLatencyClasses> latency;  // by isa::LatencyClass
  SharedMemoryConfig shared;
  InstructionCacheConfig icache;
  ConstantCacheConfig constant;
  TextureCacheConfig texture;
  L1Config l1;
  CcwsConfig ccws;
  CpuConfig cpu;  // each of its cores
  NocConfig noc;
  L2Config l2;
  DramConfig dram;
  EnergyConfig energy;
  RuntimeConfig runtime;
  std::uint64_t watchdog_cycles = 2'000'000;  // without any progress while work is outstanding

  /// The kind of units that executes instructions of `unit`: where a kind has none, the one that it names. A
  /// machine that was read has units of that kind, or they are memory or control, then not limited.
  [[nodiscard]] isa::Unit serving(isa::Unit unit) const {
    for (unsigned step = 0; step < isa::kUnits && isa::is_arithmetic(unit); ++step) {
      const UnitConfig& own = units[static_cast<std::size_t>(unit)];
      if (own.count > 0) break;
      unit = own.on;
    }
    return unit;
  }
  /// Passes of a tensor unit, each of its initiation interval, that an instruction takes.
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
  /// The most that tensor_cycles() may be: what sm/scoreboard.hpp can say, and with sm.collectors_wait, where
  /// what waits in collectors is booked ahead, half of that.
  [[nodiscard]] std::uint64_t most_tensor_cycles() const {
    return sm.collectors_wait ? kMostAhead / (sm.schedulers * (sm.collectors_per_scheduler + isa::kUnits))
                              : kMostBusy;
  }
  static constexpr std::uint64_t kMostBusy = 8192;   // core cycles of one instruction in its unit
  static constexpr std::uint64_t kMostAhead = 6144;  // core cycles that instructions in collectors may wait
  /// Peak DRAM bandwidth in bytes per second.
  [[nodiscard]] double dram_peak_bytes_per_second() const {
    return l2.partitions * static_cast<double>(dram.bus_bytes) * dram.transfers_per_clock * clocks.dram * 1e6;
  }
};

}  // namespace gpumux::arch
