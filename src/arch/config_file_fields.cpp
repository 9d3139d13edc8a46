#include "arch/config_file_fields.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <array>

#include "arch/messages.hpp"

namespace gpumux::arch {
namespace {

using Fields = std::vector<Field>;
// Upper limits: far beyond real machines, but small enough for the host's memory.
constexpr double kMaxSmStore = 1U << 24U;        // shared memory, L1
constexpr double kMaxReadOnlyCache = 1U << 20U;  // instruction and constant cache
constexpr double kMaxSlice = 1U << 28U;
constexpr double kMaxCycles = 1e6;
constexpr double kMaxLatency = 8192;  // of the SM: sm/scoreboard.hpp stores ready cycles in 15 bits

// Function that returns the member of a configuration.
#define GPUMUX_MEMBER(path) \
  [](MachineConfig & c) -> auto& { return c.path; }
// Like GPUMUX_MEMBER for enumerations, as a byte. An unsigned char may alias any object.
#define GPUMUX_BYTE(path)                           \
  [](MachineConfig& c) -> std::uint8_t& {           \
    static_assert(sizeof(c.path) == 1);             \
    return reinterpret_cast<std::uint8_t&>(c.path); \
  }

void count(Fields& out, std::string key, Field::Member<std::uint32_t> member, double low, double high,
           std::string unit, std::string description) {
  out.push_back({std::move(key), std::move(unit), std::move(description), std::move(member), low, high, {}});
}
void size(Fields& out, std::string key, Field::Member<std::uint32_t> member, double low, double high,
          std::string description) {
  count(out, std::move(key), std::move(member), low, high, "bytes", std::move(description));
}
void limit(Fields& out, std::string key, Field::Member<std::uint64_t> member, std::string unit,
           std::string description) {
  out.push_back({std::move(key), std::move(unit), std::move(description), std::move(member), 0, 1e15, {}});
}
void number(Fields& out, std::string key, Field::Member<double> member, double low, double high,
            std::string unit, std::string description) {
  out.push_back({std::move(key), std::move(unit), std::move(description), std::move(member), low, high, {}});
}
void flag(Fields& out, std::string key, Field::Member<bool> member, std::string description) {
  out.push_back({std::move(key), "", std::move(description), std::move(member), 0, 1, {}});
}
void text(Fields& out, std::string key, Field::Member<std::string> member, std::string description) {
  out.push_back({std::move(key), "", std::move(description), std::move(member), 0, 0, {}});
}
/// `words`: the words of the enumeration in order, possibly without the last ones.
template <typename Words>
void choice(Fields& out, std::string key, Field::Member<std::uint8_t> member, const Words& words,
            std::string description) {
  out.push_back(
      {std::move(key), "", std::move(description), std::move(member), 0, 0, {words.begin(), words.end()}});
}

void add_general(Fields& f) {
  text(f, "name", GPUMUX_MEMBER(name), "name in results; without it, the file's name");
  text(f, "description", GPUMUX_MEMBER(description), "one line for `gpumux list machines`");
  text(f, "source", GPUMUX_MEMBER(source), "where the numbers come from");
  text(f, "variant_of", GPUMUX_MEMBER(variant_of), "the machine that this one changes; set by `base`");
  choice(f, "code", GPUMUX_BYTE(code), kCodeLevelWords,
         "what is timed of a PTX file: machine: our back end's instructions; ptx: the file's own in their "
         "order, "
         "with the registers of the first; traces are as they are");
  count(f, "sms", GPUMUX_MEMBER(sms), 1, 1024, "SMs", "streaming multiprocessors");
  count(f, "cpus", GPUMUX_MEMBER(cpus), 0, kMaxApps, "cores",
        "CPU cores, on the SMs' network (noc.topology = \"mesh\")");
  f.push_back({"watchdog_cycles",
               "core cycles",
               "the run stops when work is outstanding and nothing has moved for so long",
               Field::Member<std::uint64_t>(GPUMUX_MEMBER(watchdog_cycles)),
               1000,
               1e15,
               {}});

  const auto clock = [&f](std::string key, Field::Member<double> member, std::string description) {
    number(f, std::move(key), std::move(member), 1, 10000, "MHz", std::move(description));
  };
  clock("clocks.core_mhz", GPUMUX_MEMBER(clocks.core), "SM clock: the clock of all cycle counts");
  clock("clocks.noc_mhz", GPUMUX_MEMBER(clocks.noc), "interconnect clock");
  clock("clocks.l2_mhz", GPUMUX_MEMBER(clocks.l2), "L2 clock");
  clock("clocks.dram_mhz", GPUMUX_MEMBER(clocks.dram), "DRAM command clock");
  clock("clocks.cpu_mhz", GPUMUX_MEMBER(clocks.cpu), "clock of CPU cores");
}

void add_sm(Fields& f) {
  count(f, "sm.max_threads", GPUMUX_MEMBER(sm.max_threads), 32, 8192, "threads", "resident threads");
  count(f, "sm.max_warps", GPUMUX_MEMBER(sm.max_warps), 1, 256, "warps",
        "resident warps, at most 64 per scheduler");
  count(f, "sm.max_blocks", GPUMUX_MEMBER(sm.max_blocks), 1, 64, "blocks", "resident thread blocks");
  count(f, "sm.registers", GPUMUX_MEMBER(sm.registers), 1024, 1 << 20, "32-bit registers", "register file");
  count(f, "sm.register_allocation_unit", GPUMUX_MEMBER(sm.register_allocation_unit), 1, 4096,
        "32-bit registers", "a warp's registers are rounded up to this");
  size(f, "sm.shared_size", GPUMUX_MEMBER(sm.shared_bytes), 0, kMaxSmStore,
       "shared memory that blocks may use");
  size(f, "sm.shared_allocation_unit", GPUMUX_MEMBER(sm.shared_allocation_unit), 1, 65536,
       "a block's shared memory is rounded up to this");
  count(f, "sm.schedulers", GPUMUX_MEMBER(sm.schedulers), 1, 4, "schedulers", "warp schedulers");
  count(f, "sm.issue_interval", GPUMUX_MEMBER(sm.issue_interval), 1, 64, "core cycles",
        "between two issues of one scheduler");
  count(f, "sm.issue_width", GPUMUX_MEMBER(sm.issue_width), 1, 4, "instructions",
        "of the warp that it has chosen, that a scheduler issues at once; the second and later ones are no "
        "memory "
        "instructions under a memory scheme");
  flag(f, "sm.issue_to_other_units", GPUMUX_MEMBER(sm.issue_to_other_units),
       "of these, each goes to another kind of unit than the one before");
  choice(f, "sm.warp_scheduler", GPUMUX_BYTE(sm.warp_scheduler), warp_scheduler_names(),
         warp_scheduler_help());
  count(f, "sm.ready_queue", GPUMUX_MEMBER(sm.ready_queue), 1, 64, "warps",
        "of a scheduler that may issue, under the two-level ones");
  choice(
      f, "sm.tlphase_order", GPUMUX_BYTE(sm.tlphase_order), kReadyOrderWords,
      "which warp of the ready queue issues under tlphase: the next in turn, the oldest, or the nearest to "
      "the end of its phase, as under phase (awatramani17 section 3.4.2.2 does not say)");
  count(f, "sm.warp_limit", GPUMUX_MEMBER(sm.warp_limit), 0, 256, "warps",
        "of the whole SM that may issue at a time: the oldest that do not wait at a barrier; 0: all");
  choice(f, "sm.warp_limit_per", GPUMUX_BYTE(sm.warp_limit_per), kWarpLimitPerWords,
         "whose warps such a limit counts: the SM's, or each scheduler's by itself (kayiran14 does not say)");
  choice(
      f, "sm.phase_loads", GPUMUX_BYTE(sm.phase_loads), kPhaseLoadsWords,
      "what a load from outside the SM adds to the length of its phase: the issue interval, or the latency "
      "of L1 (awatramani17 does not say)");
  count(f, "sm.phase_distance_most", GPUMUX_MEMBER(sm.phase_distance_most), 1, 65535, "core cycles",
        "beyond which distances to a phase's end are not told apart (awatramani17 section 3.4.2.2)");
  count(f, "sm.phase_distance_unit", GPUMUX_MEMBER(sm.phase_distance_unit), 1, 64, "core cycles",
        "that such a distance is rounded up to: 2 where 8 bits hold up to 512");
  count(f, "sm.power_up_latency", GPUMUX_MEMBER(sm.power_up_latency), 0, 1'000'000, "core cycles",
        "from the return of power that a core control (`cores=`) had gated to the next block, which comes "
        "with a window");
  count(f, "sm.register_banks", GPUMUX_MEMBER(sm.register_banks), 1, 256, "banks",
        "of the whole SM, split evenly among the schedulers");
  count(f, "sm.register_ports", GPUMUX_MEMBER(sm.register_ports), 1, 8, "registers per core cycle",
        "that a bank reads");
  flag(f, "sm.register_writes", GPUMUX_MEMBER(sm.register_writes),
       "a result takes the place of a read in its bank; false: write ports of their own");
  count(f, "sm.collectors_per_scheduler", GPUMUX_MEMBER(sm.collectors_per_scheduler), 1, 64, "instructions",
        "that may be collecting operands at once");
  flag(f, "sm.collectors_wait", GPUMUX_MEMBER(sm.collectors_wait),
       "an instruction waits for a busy unit, or the load/store unit, in its operand collector, and issue "
       "goes on until these are full; false: it does not issue, and memory instructions wait in "
       "sm.memory_queue");
  count(f, "sm.result_buses", GPUMUX_MEMBER(sm.result_buses), 1, 64, "results per core cycle",
        "write-backs of fixed-latency results of the whole SM");
  count(f, "sm.fetch_interval", GPUMUX_MEMBER(sm.fetch_interval), 1, 64, "core cycles",
        "between two fetches of one scheduler");
  count(f, "sm.fetch_width", GPUMUX_MEMBER(sm.fetch_width), 1, 16, "instructions", "per fetch");
  count(f, "sm.instruction_buffer", GPUMUX_MEMBER(sm.instruction_buffer), 1, 16, "instructions",
        "decoded ones that a warp may hold");
  count(f, "sm.branch_latency", GPUMUX_MEMBER(sm.branch_latency), 1, 1000, "core cycles",
        "issue of a taken branch to issue at its target");
  count(f, "sm.barrier_latency", GPUMUX_MEMBER(sm.barrier_latency), 1, 1000, "core cycles",
        "last arrival to release");
  count(f, "sm.block_launch_latency", GPUMUX_MEMBER(sm.block_launch_latency), 0, kMaxCycles, "core cycles",
        "dispatch of a block to its first fetch");
  count(f, "sm.memory_issue_width", GPUMUX_MEMBER(sm.memory_issue_width), 1, 16,
        "instructions per core cycle",
        "memory instructions that the load/store unit accepts; not with sm.collectors_wait");
  count(f, "sm.memory_queue", GPUMUX_MEMBER(sm.memory_queue), 1, 256, "instructions",
        "between issue and the load/store unit; not with sm.collectors_wait");
  count(f, "sm.operand_latency", GPUMUX_MEMBER(sm.operand_latency), 0, 64, "core cycles",
        "issue to execution, operands without conflicts; not in the units' latencies");
  count(f, "sm.writeback_latency", GPUMUX_MEMBER(sm.writeback_latency), 0, 64, "core cycles",
        "a result to its register; not in the latencies of units, shared memory and caches");
  choice(
      f, "sm.view_mixed", GPUMUX_BYTE(sm.view_mixed), kViewMixedWords,
      "what --view-sms counts a cycle as in which some warps are ready, but their units are busy, and others "
      "wait: a stall of the pipeline, of the scoreboard, or core_mixed_cycles (awatramani17 section 4.3.1.3 "
      "does not say)");
}

constexpr std::array<const char*, isa::kUnits> kUnitKeys = {"sp",     "int",    "dp",      "sfu",
                                                            "tensor", "memory", "control", "uniform"};
constexpr std::array kServingUnits = {"sp", "int", "dp", "sfu", "tensor"};  // choices of UnitConfig::on, in
                                                                            // the order of isa::Unit
constexpr std::array<const char*, isa::kLatencyClasses> kLatencyKeys = {
    "int_add", "int_max", "int_mul", "int_mad", "int_div", "fp_add", "fp_max",
    "fp_mul",  "fp_mad",  "fp_div",  "dp_add",  "dp_max",  "dp_mul", "dp_mad",
    "dp_div",  "sfu",     "tensor",  "control", "memory",  "uniform"};

void add_units(Fields& f) {
  for (std::size_t u = 0; u < isa::kUnits; ++u) {
    const std::string prefix = fmt::format("unit.{}.", kUnitKeys[u]);
    const bool arithmetic = isa::is_arithmetic(static_cast<isa::Unit>(u));
    const bool needed = u == static_cast<std::size_t>(isa::Unit::Sp);
    count(
        f, prefix + "count", [u](MachineConfig& c) -> std::uint32_t& { return c.units[u].count; },
        needed ? 1 : 0, 64, "units",
        needed       ? "pipelines of this kind per SM"
        : arithmetic ? fmt::format("the same; 0: the units of {}on execute these instructions", prefix)
                     : "the same; 0: not limited");
    if (arithmetic && !needed) {
      choice(
          f, prefix + "on",
          [u](MachineConfig& c) -> std::uint8_t& { return reinterpret_cast<std::uint8_t&>(c.units[u].on); },
          kServingUnits, "the kind of units that executes these instructions where count is 0");
    }
    count(
        f, prefix + "lanes", [u](MachineConfig& c) -> std::uint32_t& { return c.units[u].lanes; }, 1, 32,
        "lanes", "of each; a warp instruction holds it ceil(32 / lanes) cycles or its initiation interval");
    flag(
        f, prefix + "scheduler_private",
        [u](MachineConfig& c) -> bool& { return c.units[u].scheduler_private; },
        "each scheduler owns count / schedulers of them");
    if (static_cast<isa::Unit>(u) == isa::Unit::Tensor) {
      count(f, prefix + "multiply_adds", GPUMUX_MEMBER(tensor_multiply_adds), 64, isa::kMostMultiplyAdds,
            "multiply-adds",
            "of f16, that a warp's instruction does in one initiation interval; matrix products take "
            "as many intervals as their multiply-adds need, those of bf16 alike, tf32 twice, f64 16 times, "
            "fp8 and 8-bit integers half, 4-bit ones a quarter, bits a sixteenth of it");
    }
  }
  for (std::size_t l = 0; l < isa::kLatencyClasses; ++l) {
    f.push_back(
        {fmt::format("latency.{}", kLatencyKeys[l]),
         "core cycles",
         "[latency to a dependent issue, without sm.operand_latency and sm.writeback_latency; initiation "
         "interval]",
         Field::Member<LatencyConfig>([l](MachineConfig& c) -> LatencyConfig& { return c.latency[l]; }),
         1,
         4096,
         {}});
  }
}

void add_caches(Fields& f) {
  count(f, "shared.banks", GPUMUX_MEMBER(shared.banks), 1, 32, "banks",
        "of shared memory, 4 bytes wide; a power of two");
  count(f, "shared.latency", GPUMUX_MEMBER(shared.latency), 1, kMaxLatency, "core cycles",
        "conflict-free access to use");

  count(f, "shared.atomic_interval", GPUMUX_MEMBER(shared.atomic_interval), 1, 64, "core cycles",
        "per pass of an atomic operation: one to each bank, lanes of the same address one after another");

  size(f, "icache.size", GPUMUX_MEMBER(icache.bytes), 0, kMaxReadOnlyCache, "instruction cache; 0: perfect");
  count(f, "icache.ways", GPUMUX_MEMBER(icache.ways), 1, 1024, "ways", "associativity");
  size(f, "icache.line_size", GPUMUX_MEMBER(icache.line_bytes), kSectorBytes, kLineBytes, "line");
  size(f, "icache.instruction_size", GPUMUX_MEMBER(icache.instruction_bytes), 4, 32, "one instruction");

  size(f, "constant.size", GPUMUX_MEMBER(constant.bytes), 0, kMaxReadOnlyCache, "constant cache; 0: perfect");
  count(f, "constant.ways", GPUMUX_MEMBER(constant.ways), 1, 1024, "ways", "associativity");
  size(f, "constant.line_size", GPUMUX_MEMBER(constant.line_bytes), kSectorBytes, kLineBytes, "line");
  count(f, "constant.latency", GPUMUX_MEMBER(constant.latency), 1, kMaxLatency, "core cycles", "hit to use");

  size(f, "texture.size", GPUMUX_MEMBER(texture.bytes), 0, kMaxReadOnlyCache,
       "texture cache, 128-byte lines; 0: texture fetches go through L1");
  count(f, "texture.ways", GPUMUX_MEMBER(texture.ways), 1, 1024, "ways", "associativity");
  count(f, "texture.latency", GPUMUX_MEMBER(texture.latency), 1, kMaxLatency, "core cycles", "hit to use");
  count(f, "texture.mshr_entries", GPUMUX_MEMBER(texture.mshr_entries), 1, 65534, "entries",
        "outstanding lines");
  count(f, "texture.mshr_merges", GPUMUX_MEMBER(texture.mshr_merges), 1, 255, "requests",
        "per MSHR entry, the first included");

  flag(f, "ccws.on", GPUMUX_MEMBER(ccws.on),
       "cache-conscious warp scheduling: warps may issue no loads while those whose lines L1 has evicted "
       "before "
       "they came back to them need it (Rogers et al., MICRO 2012); `warps=ccws` is this with gto");
  choice(f, "ccws.holds", GPUMUX_BYTE(ccws.holds), kCcwsHoldsWords,
         "what those have to wait with: loads, or everything (kayiran14; awatramani17 section 3.6.3)");
  count(f, "ccws.victim_tags", GPUMUX_MEMBER(ccws.victim_tags), 1, 1024, "lines",
        "of each warp that are remembered after their eviction");
  count(f, "ccws.victim_ways", GPUMUX_MEMBER(ccws.victim_ways), 1, 1024, "ways",
        "of these, in one set; victim_tags is a multiple");
  count(f, "ccws.base_score", GPUMUX_MEMBER(ccws.base_score), 1, 1'000'000, "points",
        "of a warp that has lost nothing; times the running warps: what scores may add up to");
  count(f, "ccws.throttle", GPUMUX_MEMBER(ccws.throttle), 1, 1'000'000, "",
        "by how much a lost line counts: the score is lost lines x throttle x the most sum / instructions");
  size(f, "l1.size", GPUMUX_MEMBER(l1.bytes), kLineBytes, kMaxSmStore,
       "L1 data cache per SM, 128-byte lines");
  count(f, "l1.ways", GPUMUX_MEMBER(l1.ways), 1, 4096, "ways", "associativity");
  flag(f, "l1.sectored", GPUMUX_MEMBER(l1.sectored), "32-byte sectors are fetched and counted, not lines");
  choice(f, "l1.index", GPUMUX_BYTE(l1.index), kL1IndexWords,
         "set index function: all upper bits folded, or those that Fermi was measured to take");
  choice(f, "l1.allocate", GPUMUX_BYTE(l1.allocate), kAllocateWords,
         "when a line is reserved: at the miss, or only when the data comes");
  choice(f, "l1.write", GPUMUX_BYTE(l1.write), kL1WriteWords,
         "write-evict; write-through where a hit updates the line; or where a store takes a line, too, whose "
         "sectors it makes readable if it covers them whole");
  count(f, "l1.written_kept", GPUMUX_MEMBER(l1.written_kept), 0, 100, "percent",
        "of L1's lines: while fewer are written, written ones are not evicted; of `write = \"allocate\"`, "
        "where no "
        "policy divides ways");
  count(f, "l1.mshr_entries", GPUMUX_MEMBER(l1.mshr_entries), 1, 65534, "entries", "outstanding lines");
  count(f, "l1.mshr_merges", GPUMUX_MEMBER(l1.mshr_merges), 1, 255, "requests",
        "per MSHR entry, the first included");
  count(f, "l1.miss_queue", GPUMUX_MEMBER(l1.miss_queue), 1, 1024, "requests", "waiting for the network");
  count(f, "l1.latency", GPUMUX_MEMBER(l1.latency), 1, kMaxLatency, "core cycles", "hit to use");
  count(f, "l1.tag_latency", GPUMUX_MEMBER(l1.tag_latency), 0, kMaxLatency, "core cycles",
        "an access to its miss, if it is one");
  count(
      f, "l1.banks", GPUMUX_MEMBER(l1.banks), 1, 32, "banks",
      "consecutive pieces of a line, or lines, lie in different ones; each takes one access per core cycle");
  size(f, "l1.bank_size", GPUMUX_MEMBER(l1.bank_bytes), kSectorBytes, kLineBytes,
       "that a bank reads or writes at once: a sector, two, or a line");
  flag(f, "l1.flush_at_kernel_start", GPUMUX_MEMBER(l1.flush_at_kernel_start),
       "empty the L1 when a kernel starts");
  flag(f, "l1.caches_global", GPUMUX_MEMBER(l1.caches_global), "false: global loads skip L1");
  size(f, "l1.unified_size", GPUMUX_MEMBER(l1.unified_bytes), 0, kMaxSmStore,
       "one array for L1 and shared memory; 0: separate");
  f.push_back({"l1.shared_carveouts",
               "bytes",
               "sizes that the shared part of a unified array may have, ascending",
               Field::Member<std::vector<std::uint32_t>>(GPUMUX_MEMBER(l1.shared_carveouts)),
               0,
               kMaxSmStore,
               {}});
}

void add_cpu(Fields& f) {
  const std::string cycles = "CPU cycles";
  count(f, "cpu.window", GPUMUX_MEMBER(cpu.window), 1, 128, "instructions",
        "between dispatch and retirement");
  count(f, "cpu.width", GPUMUX_MEMBER(cpu.width), 1, 16, "instructions",
        "dispatched, issued and retired per cycle");
  size(f, "cpu.l1_size", GPUMUX_MEMBER(cpu.l1.bytes), kLineBytes, 1U << 24U,
       "L1 data cache, 128-byte lines, write-back");
  count(f, "cpu.l1_ways", GPUMUX_MEMBER(cpu.l1.ways), 1, 64, "ways", "associativity");
  count(f, "cpu.l1_latency", GPUMUX_MEMBER(cpu.l1.latency), 1, 62, cycles, "lookup");
  size(f, "cpu.l2_size", GPUMUX_MEMBER(cpu.l2.bytes), kLineBytes, 1U << 28U, "private L2 cache, write-back");
  count(f, "cpu.l2_ways", GPUMUX_MEMBER(cpu.l2.ways), 1, 64, "ways", "associativity");
  count(f, "cpu.l2_latency", GPUMUX_MEMBER(cpu.l2.latency), 1, 62, cycles, "lookup, after that of L1");
  count(f, "cpu.mshrs", GPUMUX_MEMBER(cpu.mshrs), 1, 64, "lines", "under way to L1");
  count(f, "cpu.outbox", GPUMUX_MEMBER(cpu.outbox), 1, 1024, "requests",
        "that wait for the network, beyond which misses wait");
  flag(f, "cpu.fold_stack_pointer", GPUMUX_MEMBER(cpu.fold_stack_pointer),
       "the stack pointer is known at decode but for changes by a variable amount");
  flag(f, "cpu.forward_stores", GPUMUX_MEMBER(cpu.forward_stores),
       "a load of a word that the window stores to has it from there");
  count(f, "cpu.predictor_bits", GPUMUX_MEMBER(cpu.predictor_bits), 0, 20, "bits",
        "gshare with 2^so many counters; 0: every branch is predicted");
  count(f, "cpu.redirect", GPUMUX_MEMBER(cpu.redirect), 0, 1000, cycles,
        "from a mispredicted branch's completion to what enters the window next");
}

void add_memory(Fields& f) {
  size(f, "noc.flit_size", GPUMUX_MEMBER(noc.flit_bytes), 8, 256, "width of a port: one flit per NoC cycle");
  size(f, "noc.header_size", GPUMUX_MEMBER(noc.header_bytes), 0, 64, "of each packet");
  count(f, "noc.latency", GPUMUX_MEMBER(noc.latency), 1, 1000, "NoC cycles",
        "port to port, without serialisation; of a mesh: into the sender's queue at his router");
  count(f, "noc.input_buffer_flits", GPUMUX_MEMBER(noc.input_buffer_flits), 1, 4096, "flits",
        "buffer of a source port");
  count(f, "noc.output_buffer_flits", GPUMUX_MEMBER(noc.output_buffer_flits), 1, 4096, "flits",
        "buffer of a destination port");
  choice(f, "noc.topology", GPUMUX_BYTE(noc.topology), kTopologyWords,
         "a crossbar, or a two-dimensional mesh of routers with virtual channels (docs/mesh.md)");
  text(f, "noc.nodes", GPUMUX_MEMBER(noc.nodes),
       "of a mesh: its rows from north to south, parted by spaces, a letter a node: G SMs, C CPU cores, M "
       "memory partitions, each spread evenly over its nodes in reading order; . a router alone");
  count(f, "noc.vcs", GPUMUX_MEMBER(noc.vcs), 1, 8, "channels", "virtual channels per port of a mesh");
  count(f, "noc.vc_flits", GPUMUX_MEMBER(noc.vc_flits), 1, 255, "flits", "buffer of each virtual channel");
  count(f, "noc.router_cycles", GPUMUX_MEMBER(noc.router_cycles), 1, 16, "NoC cycles",
        "pipeline of a router");
  count(f, "noc.link_cycles", GPUMUX_MEMBER(noc.link_cycles), 1, 16, "NoC cycles", "between two routers");
  count(f, "noc.local_cycles", GPUMUX_MEMBER(noc.local_cycles), 1, 16, "NoC cycles",
        "between a queue and its router");
  count(f, "noc.credit_cycles", GPUMUX_MEMBER(noc.credit_cycles), 1, 16, "NoC cycles",
        "from a flit's grant until its place counts again at the router before");
  count(f, "noc.ejection_flits", GPUMUX_MEMBER(noc.ejection_flits), 1, 4096, "flits",
        "queue of each receiver at its router of a mesh");
  count(f, "noc.cpu_vcs", GPUMUX_MEMBER(noc.cpu_vcs), 0, 7, "channels",
        "of noc.vcs, with as large a part of each link, as a network for CPU cores alone (kayiran14 section "
        "2.2: 3G1C is 1 of 4); 0: all share one");

  count(f, "l2.partitions", GPUMUX_MEMBER(l2.partitions), 1, 128, "partitions",
        "memory partitions: L2 slices with one DRAM channel");
  count(f, "l2.slices_per_partition", GPUMUX_MEMBER(l2.slices_per_partition), 1, 16, "slices", "L2 slices");
  count(f, "l2.cpu_partitions", GPUMUX_MEMBER(l2.cpu_partitions), 0, 127, "partitions",
        "the last ones, which serve CPU cores alone, as the others do SMs (kayiran14 section 2.2: 1G7C is 7 "
        "of 8); 0: all serve both");
  size(f, "l2.slice_size", GPUMUX_MEMBER(l2.slice_bytes), kLineBytes, kMaxSlice, "one slice, 128-byte lines");
  count(f, "l2.ways", GPUMUX_MEMBER(l2.ways), 1, 4096, "ways", "associativity");
  flag(f, "l2.sectored", GPUMUX_MEMBER(l2.sectored), "32-byte sectors are fetched and counted, not lines");
  choice(f, "l2.index", GPUMUX_BYTE(l2.index), kIndexFunctionWords, "set index function");
  choice(f, "l2.allocate", GPUMUX_BYTE(l2.allocate), kAllocateWords,
         "when a line is reserved: at the miss, or only when the data comes");
  choice(f, "l2.partition_hash", GPUMUX_BYTE(l2.partition_hash), kIndexFunctionWords,
         "which slice of which partition an interleave unit goes to");
  size(f, "l2.interleave_size", GPUMUX_MEMBER(l2.interleave_bytes), kLineBytes, 65536,
       "consecutive bytes that stay in one slice; not with dram.address_map");
  count(f, "l2.mshr_entries", GPUMUX_MEMBER(l2.mshr_entries), 1, 65534, "entries",
        "outstanding lines per slice");
  count(f, "l2.mshr_merges", GPUMUX_MEMBER(l2.mshr_merges), 1, 1024, "requests",
        "per MSHR entry, the first included");
  count(f, "l2.miss_queue", GPUMUX_MEMBER(l2.miss_queue), 1, 1024, "requests",
        "of a slice, waiting for the DRAM controller");
  count(f, "l2.input_queue", GPUMUX_MEMBER(l2.input_queue), 1, 4096, "requests", "waiting at a slice");
  count(f, "l2.output_queue", GPUMUX_MEMBER(l2.output_queue), 1, 4096, "replies", "waiting for the network");
  count(f, "l2.latency", GPUMUX_MEMBER(l2.latency), 1, kMaxCycles, "L2 cycles",
        "arrival of a request to its hit reply");
  size(f, "l2.port_size", GPUMUX_MEMBER(l2.port_bytes), 1, 1024, "read or written per L2 cycle and slice");
  count(f, "l2.atomic_interval", GPUMUX_MEMBER(l2.atomic_interval), 1, 1000, "L2 cycles",
        "per round of atomic operations on one line: one to each of its addresses in a sector");
  count(f, "l2.atomics_per_cycle", GPUMUX_MEMBER(l2.atomics_per_cycle), 0, 64, "rounds per L2 cycle",
        "of atomic operations that a slice performs; 0: not limited");

  size(f, "dram.bus_size", GPUMUX_MEMBER(dram.bus_bytes), 1, 256, "data bus of one channel");
  number(f, "dram.transfers_per_clock", GPUMUX_MEMBER(dram.transfers_per_clock), 0.25, 16, "transfers",
         "per command clock");
  size(f, "dram.burst_size", GPUMUX_MEMBER(dram.burst_bytes), 8, kLineBytes, "moved by one column command");
  size(f, "dram.row_size", GPUMUX_MEMBER(dram.row_bytes), kLineBytes, 1 << 20, "one open row of a bank");
  count(f, "dram.banks", GPUMUX_MEMBER(dram.banks), 1, 64, "banks", "per channel");
  count(f, "dram.bank_groups", GPUMUX_MEMBER(dram.bank_groups), 1, 64, "bank groups", "per channel");
  text(f, "dram.address_map", GPUMUX_MEMBER(dram.address_map),
       "bits of an address from the highest on: R row, B bank (its lowest tell slices apart), C or S column, "
       "D "
       "channel, 0 none; `dramid@N;` before them: from bit N on the address counts channels, letters are of "
       "the "
       "rest. Empty: l2.interleave_size, then 256 bytes of a row in each bank group in turn, rows rotating "
       "banks");
  flag(f, "dram.bank_group_low", GPUMUX_MEMBER(dram.bank_group_low),
       "with dram.address_map: the lowest bits of the bank are its group's number; false: the highest");
  choice(f, "dram.scheduler", GPUMUX_BYTE(dram.scheduler), kDramOrderWords,
         "open rows first, or in order of arrival");
  count(f, "dram.queue", GPUMUX_MEMBER(dram.queue), 1, 4096, "requests",
        "per channel; below a sectored L2, each sector that it fetches is one");
  count(f, "dram.return_queue", GPUMUX_MEMBER(dram.return_queue), 1, 4096, "requests",
        "done, waiting for the L2");
  count(f, "dram.fixed_latency", GPUMUX_MEMBER(dram.fixed_latency), 0, kMaxCycles, "core cycles",
        "added to each access");
  flag(f, "dram.separate_row_bus", GPUMUX_MEMBER(dram.separate_row_bus),
       "row and column commands in the same cycle (HBM)");
  count(f, "dram.write_high_watermark", GPUMUX_MEMBER(dram.write_high_watermark), 0, 4096, "requests",
        "writes drain from here on; 0: reads and writes share one queue");
  count(f, "dram.write_low_watermark", GPUMUX_MEMBER(dram.write_low_watermark), 0, 4096, "requests",
        "writes drain down to here");
  const auto timing = [&f](const std::string& name, Field::Member<std::uint32_t> member, double low,
                           std::string description) {
    count(f, "dram." + name, std::move(member), low, 100000, "DRAM cycles", std::move(description));
  };
  timing("CL", GPUMUX_MEMBER(dram.CL), 1, "read command to data");
  timing("RP", GPUMUX_MEMBER(dram.RP), 1, "precharge to activate");
  timing("RC", GPUMUX_MEMBER(dram.RC), 1, "activate to activate of the same bank");
  timing("RAS", GPUMUX_MEMBER(dram.RAS), 1, "activate to precharge");
  timing("RCD", GPUMUX_MEMBER(dram.RCD), 1, "activate to column command");
  timing("RRD", GPUMUX_MEMBER(dram.RRD), 1, "activate to activate of another bank");
  timing("CCD", GPUMUX_MEMBER(dram.CCD), 1, "column command to column command");
  timing("CCDL", GPUMUX_MEMBER(dram.CCDL), 1, "the same within one bank group");
  timing("WL", GPUMUX_MEMBER(dram.WL), 1, "write command to data");
  timing("CDLR", GPUMUX_MEMBER(dram.CDLR), 0, "end of write data to read command");
  timing("WR", GPUMUX_MEMBER(dram.WR), 0, "end of write data to precharge");
  timing("RTPL", GPUMUX_MEMBER(dram.RTPL), 0, "read command to precharge");
  timing("FAW", GPUMUX_MEMBER(dram.FAW), 0, "window of at most four activates; 0: not modelled");
  timing("REFI", GPUMUX_MEMBER(dram.REFI), 0, "between two refreshes; 0: not modelled");
  timing("RFC", GPUMUX_MEMBER(dram.RFC), 0, "length of a refresh");

  count(f, "runtime.kernel_launch_latency", GPUMUX_MEMBER(runtime.kernel_launch_latency), 0, 1e8,
        "core cycles", "a launch at the head of its stream to its first block");
  count(f, "runtime.max_concurrent_kernels", GPUMUX_MEMBER(runtime.max_concurrent_kernels), 1,
        kMaxKernelSlots, "kernels", "running at once on the GPU");
  choice(f, "runtime.kernel_leaves", GPUMUX_BYTE(runtime.kernel_leaves), kKernelLeavesWords,
         "until when a kernel counts among these: until its last block has ended, or has been dispatched "
         "(awatramani17 section 5.4.1 says both)");
  choice(f, "runtime.launch_when_full", GPUMUX_BYTE(runtime.launch_when_full), kWhenFullWords,
         "a launch that comes while so many run: it waits, as on GPUs, or the run ends with an error "
         "(awatramani17 section 5.4.1)");
  count(f, "runtime.blocks_per_cycle", GPUMUX_MEMBER(runtime.blocks_per_cycle), 1, 4096, "blocks",
        "dispatched per core cycle over the whole GPU, at most one to an SM");
  choice(f, "runtime.context_moves", GPUMUX_BYTE(runtime.context_moves), kContextMovesWords,
         "how the context of a switched thread block moves: traffic: through L2 and DRAM; halt: in the time "
         "that "
         "the SM's part of the DRAM's bandwidth takes, felt by nobody else");
  number(f, "runtime.copy_bytes_per_second", GPUMUX_MEMBER(runtime.copy_bytes_per_second), 0, 1e15,
         "bytes per second", "of copies between host and device; 0: they take no time");
  flag(f, "runtime.copies_write_l2", GPUMUX_MEMBER(runtime.copies_write_l2),
       "data copied to the device lies in L2, from kernel_launch_latency after the copy");
  size(f, "runtime.heap_size", GPUMUX_MEMBER(runtime.heap_bytes), 0, 0xf000'0000U,
       "for malloc in the kernels of one application (cudaLimitMallocHeapSize)");
  count(f, "runtime.compute_capability", GPUMUX_MEMBER(runtime.compute_capability), 20, 129, "",
        "that CUDA programs are told, 75 of 7.5; of a program's PTX, that of the highest one up to it runs");
  limit(f, "runtime.max_warp_instructions", GPUMUX_MEMBER(runtime.max_warp_instructions), "warp instructions",
        "of one warp, then its kernel counts as endless; 0: none, nor are loops searched that repeat "
        "themselves");
  limit(f, "runtime.max_kernel_cycles", GPUMUX_MEMBER(runtime.max_kernel_cycles), "core cycles",
        "of one kernel, then it counts as endless; 0: none");
}

void add_energy(Fields& f) {
  const auto event = [&f](const std::string& name, Field::Member<double> member, std::string description) {
    number(f, "energy." + name, std::move(member), 0, 1e6, "pJ", std::move(description));
  };
  event("instruction", GPUMUX_MEMBER(energy.instruction),
        "of a warp: fetched, decoded, scheduled, brought through the pipeline");
  event("sp", GPUMUX_MEMBER(energy.sp), "one lane of an instruction on the SP units");
  event("int", GPUMUX_MEMBER(energy.int_), "on the INT units");
  event("dp", GPUMUX_MEMBER(energy.dp), "on the DP units");
  event("sfu", GPUMUX_MEMBER(energy.sfu), "on the SFU units");
  event("tensor", GPUMUX_MEMBER(energy.tensor), "on the tensor units");
  event("uniform", GPUMUX_MEMBER(energy.uniform), "on the uniform datapath");
  event("register_read", GPUMUX_MEMBER(energy.register_read), "a 32-bit register of a warp as an operand");
  event("register_write", GPUMUX_MEMBER(energy.register_write), "a 32-bit register of a warp as a result");
  event("shared", GPUMUX_MEMBER(energy.shared),
        "a pass over the banks of shared memory: one of an instruction without conflicts");
  event("constant", GPUMUX_MEMBER(energy.constant), "a load of constants or parameters");
  event("l1", GPUMUX_MEMBER(energy.l1), "an access to L1: of a line, or a sector where l1.sectored");
  event("flit", GPUMUX_MEMBER(energy.flit), "a flit of noc.flit_size through the network");
  event("l2_read", GPUMUX_MEMBER(energy.l2_read),
        "a read of L2: of a line, or a sector where l2.sectored; missing ones as well");
  event("l2_write", GPUMUX_MEMBER(energy.l2_write), "the same of stores and atomics");
  event("dram_activation", GPUMUX_MEMBER(energy.dram_activation), "a row opened, and closed again");
  event("dram_read", GPUMUX_MEMBER(energy.dram_read), "dram.burst_size read, with the controller");
  event("dram_write", GPUMUX_MEMBER(energy.dram_write), "dram.burst_size written");
  number(f, "energy.sm_watts", GPUMUX_MEMBER(energy.sm_watts), 0, 100, "W",
         "of an SM, as long as it is powered");
  number(f, "energy.gated_sm_watts", GPUMUX_MEMBER(energy.gated_sm_watts), 0, 100, "W",
         "static, of each SM while its power is gated: what leaks");
  number(f, "energy.uncore_watts", GPUMUX_MEMBER(energy.uncore_watts), 0, 1000, "W",
         "of all outside SMs, all the time");
}

Fields make_fields() {
  Fields f;
  add_general(f);
  add_sm(f);
  add_units(f);
  add_caches(f);
  add_cpu(f);
  add_memory(f);
  add_energy(f);
  return f;
}

std::string size_text(std::uint64_t bytes) {
  if (bytes != 0 && bytes % (1U << 20U) == 0) return fmt::format("\"{}M\"", bytes >> 20U);
  if (bytes != 0 && bytes % 1024 == 0) return fmt::format("\"{}K\"", bytes >> 10U);
  return fmt::format("{}", bytes);
}

std::string in_quotes(std::string_view value) {
  std::string out = "\"";
  for (const char c : value) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      out += fmt::format("\\u{:04X}", static_cast<unsigned>(c));
    } else {
      out += c;
    }
  }
  return out + '"';
}

}  // namespace

std::string_view Field::table() const {
  const std::size_t dot = key.rfind('.');
  return dot == std::string::npos ? std::string_view() : std::string_view(key).substr(0, dot);
}

std::string_view Field::name() const {
  const std::size_t dot = key.rfind('.');
  return dot == std::string::npos ? std::string_view(key) : std::string_view(key).substr(dot + 1);
}

const std::vector<Field>& fields() {
  static const Fields kFields = make_fields();
  return kFields;
}

int find_field(std::string_view key) {
  const std::vector<Field>& all = fields();
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].key == key) return static_cast<int>(i);
  }
  constexpr std::string_view kSm = "sm.";
  if (!key.starts_with(kSm)) return -1;
  key.remove_prefix(kSm.size());
  for (const std::string_view part :
       {"l1.", "shared.", "icache.", "constant.", "texture.", "unit.", "latency."}) {
    if (key.starts_with(part)) return find_field(key);
  }
  return -1;
}

MachineConfig default_machine() {
  MachineConfig config;
  // Values of GPGPU-Sim 3.2's GTX 480 file. Each row: {latency, initiation} of ADD, MAX, MUL, MAD, DIV.
  constexpr std::array<LatencyConfig, isa::kLatencyClasses> kUsual = {{
      {4, 1},  {13, 2},  {4, 2}, {5, 1}, {145, 8},    // int
      {4, 1},  {13, 2},  {4, 1}, {5, 1}, {39, 4},     // fp
      {8, 8},  {19, 16}, {8, 8}, {8, 8}, {330, 130},  // dp
      {20, 4},                                        // sfu: initiation for units with a quarter of the lanes
      {8, 2},                                         // tensor
      {4, 1},                                         // control
      {1, 1},                                         // memory: address generation
      {4, 1},                                         // uniform: like int
  }};
  config.latency = kUsual;
  UnitConfig& uniform = config.units[static_cast<std::size_t>(isa::Unit::Uniform)];
  uniform.count = 0;  // machines from Turing on have uniform units
  uniform.on = isa::Unit::Int;
  return config;
}

std::string field_text(const Field& field, const MachineConfig& const_config) {
  // The accessors return references for reading and writing; nothing is written here.
  auto& config = const_cast<MachineConfig&>(const_config);
  return std::visit(
      [&](const auto& member) -> std::string {
        const auto& value = member(config);
        using T = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<T, std::string>) {
          return in_quotes(value);
        } else if constexpr (std::is_same_v<T, std::uint8_t>) {
          return in_quotes(field.choices.at(value));
        } else if constexpr (std::is_same_v<T, LatencyConfig>) {
          return fmt::format("[{}, {}]", value.latency, value.initiation);
        } else if constexpr (std::is_same_v<T, std::vector<std::uint32_t>>) {
          std::vector<std::string> parts;
          for (const std::uint32_t part : value) parts.push_back(size_text(part));
          return fmt::format("[{}]", fmt::join(parts, ", "));
        } else if constexpr (std::is_same_v<T, std::uint32_t>) {
          return field.is_size() ? size_text(value) : fmt::format("{}", value);
        } else {
          return fmt::format("{}", value);
        }
      },
      field.access);
}

std::string range_text(const Field& field) {
  if (std::holds_alternative<Field::Member<bool>>(field.access)) return "true or false";
  if (std::holds_alternative<Field::Member<std::uint8_t>>(field.access) ||
      std::holds_alternative<Field::Member<std::string>>(field.access)) {
    return field.choices.empty() ? "text" : fmt::format("{}", fmt::join(field.choices, ", "));
  }
  return fmt::format("{} to {}", field.low, field.high);
}

std::string fields_markdown() {
  const MachineConfig defaults = default_machine();
  std::string out;
  std::string_view table = "?";
  for (const Field& field : fields()) {
    if (field.table() != table) {
      table = field.table();
      out += table.empty() ? "\n### Outside tables\n\n" : fmt::format("\n### `[{}]`\n\n", table);
      out += "| key | unit | values | default | meaning |\n| --- | --- | --- | --- | --- |\n";
    }
    out += fmt::format("| `{}` | {} | {} | `{}` | {} |\n", field.name(), field.unit, range_text(field),
                       field_text(field, defaults), field.description);
  }
  return out;
}

}  // namespace gpumux::arch
