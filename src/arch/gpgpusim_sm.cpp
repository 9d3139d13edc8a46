// Imports GPGPU-Sim's options of an SM, its units and its caches. Facts about GPGPU-Sim refer to version 4.2.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "arch/gpgpusim_import.hpp"
#include "base/text.hpp"
#include "base/types.hpp"

namespace gpumux::arch {
namespace {

constexpr std::array<std::string_view, 8> kSpecialUnit = {
    "-specialized_unit_1", "-specialized_unit_2", "-specialized_unit_3", "-specialized_unit_4",
    "-specialized_unit_5", "-specialized_unit_6", "-specialized_unit_7", "-specialized_unit_8"};
constexpr std::array<std::string_view, 4> kSpecialLatency = {
    "-trace_opcode_latency_initiation_spec_op_1", "-trace_opcode_latency_initiation_spec_op_2",
    "-trace_opcode_latency_initiation_spec_op_3", "-trace_opcode_latency_initiation_spec_op_4"};
/// Index into the two lists above of the unit for a kind of instructions in traces.
enum SpecialUnit : std::uint8_t { kBranchUnit, kTextureUnit, kTensorUnit, kUniformUnit, kSpecialUnits };

constexpr std::array<std::string_view, 5> kIntClasses = {
    "latency.int_add", "latency.int_max", "latency.int_mul", "latency.int_mad", "latency.int_div"};
constexpr std::array<std::string_view, 5> kFpClasses = {"latency.fp_add", "latency.fp_max", "latency.fp_mul",
                                                        "latency.fp_mad", "latency.fp_div"};
constexpr std::array<std::string_view, 5> kDpClasses = {"latency.dp_add", "latency.dp_max", "latency.dp_mul",
                                                        "latency.dp_mad", "latency.dp_div"};

/// Multiply-adds (f16) of the largest matrix instruction that the compiler generates for a compute
/// capability: a step of HMMA.884, HMMA.1688 or HMMA.16816.
std::uint64_t multiply_adds(std::uint64_t capability) {
  return capability < 75 ? 256 : capability < 80 ? 1024 : 2048;
}

std::uint64_t rounded_up(std::uint64_t a, std::uint64_t b) { return (a + b - 1) / b; }

}  // namespace

void GpgpusimImport::sm() {
  constexpr std::string_view kPipeline = "-gpgpu_shader_core_pipeline";
  const std::vector<std::uint64_t> threads = wholes(kPipeline, ":", 2, 2);
  if (threads[1] != kWarpSize) {
    throw UserError(
        option(kPipeline).parts(":")[1].at,
        fmt::format("{}: warps of {} lanes; here a warp has {}", kPipeline, threads[1], kWarpSize));
  }
  set_number("sm.max_threads", threads[0], {kPipeline});
  set_number("sm.max_warps", threads[0] / kWarpSize, {kPipeline});
  set_number("sm.max_blocks", whole("-gpgpu_shader_cta"), {"-gpgpu_shader_cta"});
  set_number("sm.registers", whole("-gpgpu_shader_registers"), {"-gpgpu_shader_registers"});
  set("sm.register_allocation_unit", "128", {}, "GPGPU-Sim rounds to 4 registers of a thread");
  schedulers_ = whole("-gpgpu_num_sched_per_core");
  set_number("sm.schedulers", schedulers_, {"-gpgpu_num_sched_per_core"});
  schedulers_ = std::max<std::uint64_t>(schedulers_, 1);
  issue_width_ = whole("-gpgpu_max_insn_issue_per_warp");
  set_number("sm.issue_width", issue_width_, {"-gpgpu_max_insn_issue_per_warp"});
  set_flag("sm.issue_to_other_units", flag("-gpgpu_dual_issue_diff_exec_units"),
           {"-gpgpu_dual_issue_diff_exec_units"});
  warp_scheduler();
  front_end();
  register_file();
  units();
  set("unit.memory.count", "1", {}, "GPGPU-Sim has one load/store unit");
  set("sm.operand_latency", "3", {}, "issue, operand collection and dispatch of GPGPU-Sim");
  set("sm.writeback_latency", "2", {}, "write-back of GPGPU-Sim");
  shared_memory();
  l1();
  read_only_caches();
  texture_cache();
}

void GpgpusimImport::warp_scheduler() {
  constexpr std::string_view kScheduler = "-gpgpu_scheduler";
  const GpgpusimOption found = option(kScheduler);
  const std::vector<GpgpusimPart> parts = found.parts(":");
  const auto takes = [&](std::size_t numbers) {
    if (parts.size() == numbers + 1) return;
    throw UserError(found.at(), fmt::format("{}: '{}' is followed by {} numbers; {} are expected", kScheduler,
                                            parts[0].text, parts.size() - 1, numbers));
  };
  const auto set_scheduler = [&](std::string_view ours) {
    set("sm.warp_scheduler", std::string(ours), {kScheduler});
  };
  const std::string& name = parts[0].text;
  if (name == "lrr" || name == "gto") {
    takes(0);
    set_scheduler(name);
  } else if (name == "old") {
    takes(0);
    set_scheduler("oldest");
  } else if (name == "rrr") {
    takes(0);
    set_scheduler("lrr");
    warn(kScheduler, "rrr stays with a warp until that has issued; lrr here goes on to the next that can");
  } else if (name == "two_level_active") {
    takes(3);
    set_scheduler("tlrr");
    set_number("sm.ready_queue", whole(kScheduler, parts[1]), {kScheduler}, "", &parts[1].at);
    if (parts[2].text != "0" || parts[3].text != "1") {
      warn(kScheduler, "the warps of the ready queue issue in turn, and enter it in turn (0:1)",
           &parts[2].at);
    }
  } else if (name == "warp_limiting") {
    takes(2);
    set_scheduler("gto");
    const std::uint64_t limit = whole(kScheduler, parts[2]);
    if (limit == 0) throw UserError(parts[2].at, fmt::format("{}: no warp could issue", kScheduler));
    set_number("sm.warp_limit", limit, {kScheduler}, "", &parts[2].at);
    set("sm.warp_limit_per", "scheduler", {kScheduler});
    if (parts[1].text != "2")
      warn(kScheduler, "the limited warps issue greedy then oldest (2)", &parts[1].at);
  } else {
    throw UserError(parts[0].at,
                    unknown_choice(fmt::format("scheduler of {}", kScheduler), name,
                                   std::vector<std::string>{"lrr", "gto", "old", "rrr",
                                                            "two_level_active:N:0:1", "warp_limiting:2:N"}));
  }
}

/// Imports the front end. GPGPU-Sim fetches for a given number of warps of the SM per cycle, two instructions
/// each, into two places of a warp that must be empty. Here, each scheduler fetches for its own warps.
void GpgpusimImport::front_end() {
  constexpr std::string_view kFetches = "-gpgpu_inst_fetch_throughput";
  const std::uint64_t fetches = whole(kFetches);
  if (fetches == 0) throw UserError(place(kFetches), fmt::format("{}: nothing would be fetched", kFetches));
  const std::uint64_t interval = rounded_up(schedulers_, fetches);
  set_number("sm.fetch_interval", interval, {kFetches},
             fetches > schedulers_
                 ? fmt::format("{} fetches of the SM a cycle, here one of each scheduler", fetches)
                 : "");
  set("sm.fetch_width", "2", {}, "GPGPU-Sim decodes two instructions of a fetch");
  set("sm.instruction_buffer", "2", {}, "GPGPU-Sim's buffer of a warp");
  if (fetches < schedulers_ && schedulers_ % fetches != 0) {
    warn(kFetches,
         fmt::format("{} fetches a cycle of {} schedulers; here each scheduler fetches every {} cycles",
                     fetches, schedulers_, interval));
  }
}

void GpgpusimImport::register_file() {
  set_number("sm.register_banks", whole("-gpgpu_num_reg_banks"), {"-gpgpu_num_reg_banks"});
  set_number("sm.register_ports", whole("-gpgpu_reg_file_port_throughput"),
             {"-gpgpu_reg_file_port_throughput"});
  set_flag("sm.register_writes", true, {}, "results go before reads of their bank in GPGPU-Sim");
  struct Kind {
    std::string_view units, in, out;
    bool used;
  };
  const bool specialized = flag("-gpgpu_enable_specialized_operand_collector");
  const std::array<Kind, 7> kinds = {{
      {"-gpgpu_operand_collector_num_units_gen", "-gpgpu_operand_collector_num_in_ports_gen",
       "-gpgpu_operand_collector_num_out_ports_gen", true},
      {"-gpgpu_operand_collector_num_units_sp", "-gpgpu_operand_collector_num_in_ports_sp",
       "-gpgpu_operand_collector_num_out_ports_sp", specialized},
      {"-gpgpu_operand_collector_num_units_sfu", "-gpgpu_operand_collector_num_in_ports_sfu",
       "-gpgpu_operand_collector_num_out_ports_sfu", specialized},
      {"-gpgpu_operand_collector_num_units_mem", "-gpgpu_operand_collector_num_in_ports_mem",
       "-gpgpu_operand_collector_num_out_ports_mem", specialized},
      {"-gpgpu_operand_collector_num_units_dp", "-gpgpu_operand_collector_num_in_ports_dp",
       "-gpgpu_operand_collector_num_out_ports_dp", specialized && whole("-gpgpu_num_dp_units") > 0},
      {"-gpgpu_operand_collector_num_units_int", "-gpgpu_operand_collector_num_in_ports_int",
       "-gpgpu_operand_collector_num_out_ports_int", specialized && whole("-gpgpu_num_int_units") > 0},
      {"-gpgpu_operand_collector_num_units_tensor_core", "-gpgpu_operand_collector_num_in_ports_tensor_core",
       "-gpgpu_operand_collector_num_out_ports_tensor_core",
       specialized && whole("-gpgpu_tensor_core_avail") > 0},
  }};
  std::uint64_t collectors = 0;
  for (const Kind& kind : kinds) {
    if (!kind.used) continue;
    const std::uint64_t units = whole(kind.units);
    collectors += units;
    for (const std::string_view ports : {kind.in, kind.out}) {
      if (units > 0 && given(ports) && whole(ports) < schedulers_ * issue_width_)
        warn(ports, "any number of instructions enter and leave the collectors in a cycle");
    }
  }
  const std::string_view key = specialized ? kinds[1].units : kinds[0].units;
  if (collectors == 0) {
    throw UserError(place(key),
                    fmt::format("{}: no operand collector is there, so nothing could issue", key));
  }
  const std::uint64_t each = std::max<std::uint64_t>(collectors / schedulers_, 1);
  const std::string note =
      fmt::format("{} of the SM{}", collectors, specialized ? ", of all kinds of units" : "");
  if (specialized) {
    set_number("sm.collectors_per_scheduler", each, {kinds[1].units, kinds[2].units, kinds[3].units}, note);
    warn(key, fmt::format("all kinds of units share the {} collectors of a scheduler", each));
  } else {
    set_number("sm.collectors_per_scheduler", each, {kinds[0].units}, note);
  }
  if (each * schedulers_ != collectors)
    warn(key, fmt::format("{} collectors of {} schedulers; here each has {}", collectors, schedulers_, each));
}

// --- units -----------------------------------------------------------------------------------------------

void GpgpusimImport::units() {
  Pipes sp{whole("-gpgpu_num_sp_units")};
  Pipes integer{whole("-gpgpu_num_int_units")};
  Pipes dp{whole("-gpgpu_num_dp_units")};
  Pipes sfu{whole("-gpgpu_num_sfu_units")};
  if (traces_) {
    trace_units(sp, integer, dp, sfu);
  } else {
    ptx_units(sp, integer, dp, sfu);
  }
  pipeline_widths(sp, integer, dp, sfu);
}

void GpgpusimImport::set_pipes(const std::string& unit, const Pipes& pipes, std::string_view count_from,
                               Keys initiation) {
  set_number(unit + ".count", pipes.count, {count_from});
  if (pipes.count == 0) return;
  const std::uint64_t lanes = rounded_up(kWarpSize, std::max<std::uint64_t>(pipes.initiation, 1));
  set_number(unit + ".lanes", lanes, initiation);
  const bool split = flag("-gpgpu_sub_core_model");
  const bool whole_share = pipes.count % schedulers_ == 0;
  set_flag(unit + ".scheduler_private", split && whole_share, {"-gpgpu_sub_core_model"});
  if (split && !whole_share) {
    warn(count_from, fmt::format("{} units cannot be private to {} schedulers, which share them here",
                                 pipes.count, schedulers_));
  }
}

void GpgpusimImport::set_latencies(std::span<const std::string_view> classes,
                                   const std::vector<std::uint64_t>& pair, std::string_view from) {
  for (const std::string_view latency : classes)
    set(latency, fmt::format("[{}, {}]", pair[0], pair[1]), {from});
}

/// Instructions of traces have one latency per kind of unit.
void GpgpusimImport::trace_units(Pipes& sp, Pipes& integer, Pipes& dp, Pipes& sfu) {
  constexpr std::string_view kInt = "-trace_opcode_latency_initiation_int";
  constexpr std::string_view kSp = "-trace_opcode_latency_initiation_sp";
  constexpr std::string_view kDp = "-trace_opcode_latency_initiation_dp";
  constexpr std::string_view kSfu = "-trace_opcode_latency_initiation_sfu";
  const std::vector<std::uint64_t> of_int = wholes(kInt, ",", 2, 2);
  const std::vector<std::uint64_t> of_sp = wholes(kSp, ",", 2, 2);
  const std::vector<std::uint64_t> of_dp = wholes(kDp, ",", 2, 2);
  const std::vector<std::uint64_t> of_sfu = wholes(kSfu, ",", 2, 2);
  set_latencies(kIntClasses, of_int, kInt);
  set_latencies(kFpClasses, of_sp, kSp);
  set_latencies(kDpClasses, of_dp, kDp);
  set_latencies(std::array<std::string_view, 1>{"latency.sfu"}, of_sfu, kSfu);
  integer.initiation = of_int[1];
  sp.initiation = integer.count > 0 ? of_sp[1] : std::min(of_sp[1], of_int[1]);
  dp.initiation = of_dp[1];
  sfu.initiation = dp.count > 0 ? of_sfu[1] : std::min(of_sfu[1], of_dp[1]);
  set_pipes("unit.sp", sp, "-gpgpu_num_sp_units", {kSp});
  set_pipes("unit.int", integer, "-gpgpu_num_int_units", {kInt});
  if (integer.count == 0) set("unit.int.on", "sp", {"-gpgpu_num_int_units"});
  set_pipes("unit.dp", dp, "-gpgpu_num_dp_units", {kDp});
  if (dp.count == 0) set("unit.dp.on", "sfu", {"-gpgpu_num_dp_units"});
  set_pipes("unit.sfu", sfu, "-gpgpu_num_sfu_units", {kSfu});
  special_units({sp.count, of_int[1]});
}

/// Imports the units that trace.config adds. Without a branch unit, branches go to the SP units, with the
/// latency of integer instructions.
void GpgpusimImport::special_units(const Pipes& branches) {
  struct Special {
    std::uint64_t count = 0;
    std::vector<std::uint64_t> pair;
  };
  std::array<Special, kSpecialUnits> special;
  bool last = false;  // GPGPU-Sim counts units up to the first one that is off
  for (std::size_t i = 0; i < kSpecialUnit.size(); ++i) {
    const GpgpusimOption found = option(kSpecialUnit[i]);
    const std::vector<GpgpusimPart> parts = found.parts(",");
    if (parts.size() != 6) {
      throw UserError(found.at(),
                      fmt::format("{}: '{}' is no unit; expected ENABLED,UNITS,LATENCY,ID_OC_WIDTH,"
                                  "OC_EX_WIDTH,NAME",
                                  kSpecialUnit[i], found.value));
    }
    const bool on = whole(kSpecialUnit[i], parts[0]) != 0;
    if (on && last) warn(kSpecialUnit[i], "a unit with a lower number is off, so that this one is, too");
    last = last || !on;
    if (last) continue;
    if (i >= kSpecialUnits) {
      warn(kSpecialUnit[i], "no instruction of a trace goes to it");
      continue;
    }
    special[i] = {whole(kSpecialUnit[i], parts[1]), wholes(kSpecialLatency[i], ",", 2, 2)};
  }
  const auto set_special = [&](const std::string& unit, std::string_view latency, SpecialUnit which) {
    set_pipes(unit, {special[which].count, special[which].pair[1]}, kSpecialUnit[which],
              {kSpecialLatency[which]});
    set_latencies(std::array<std::string_view, 1>{latency}, special[which].pair, kSpecialLatency[which]);
  };
  if (special[kBranchUnit].count > 0) {
    set_special("unit.control", "latency.control", kBranchUnit);
  } else {
    constexpr std::string_view kInt = "-trace_opcode_latency_initiation_int";
    set_pipes("unit.control", branches, "-gpgpu_num_sp_units", {kInt});
    set_latencies(std::array<std::string_view, 1>{"latency.control"}, wholes(kInt, ",", 2, 2), kInt);
  }
  constexpr std::string_view kTensor = "-trace_opcode_latency_initiation_tensor";
  constexpr std::string_view kTensorUnits = "-gpgpu_num_tensor_core_units";
  bool has_tensor = special[kTensorUnit].count > 0;
  if (has_tensor) {
    set_special("unit.tensor", "latency.tensor", kTensorUnit);
  } else {
    const std::uint64_t count = whole("-gpgpu_tensor_core_avail") == 0 ? 0 : whole(kTensorUnits);
    const std::vector<std::uint64_t> pair = wholes(kTensor, ",", 2, 2);
    set_pipes("unit.tensor", {count, pair[1]}, kTensorUnits, {kTensor});
    has_tensor = count > 0;
    if (has_tensor) set_latencies(std::array<std::string_view, 1>{"latency.tensor"}, pair, kTensor);
  }
  if (has_tensor) {
    set_number("unit.tensor.multiply_adds", multiply_adds(capability_), {"-gpgpu_compute_capability_major"},
               "of the part's matrix instruction; traces have these as they are");
  }
  if (special[kUniformUnit].count > 0) set_special("unit.uniform", "latency.uniform", kUniformUnit);
  if (special[kTextureUnit].count > 0)
    warn(kSpecialUnit[kTextureUnit], "texture instructions of traces take the special function units");
}

/// Instructions of PTX have a latency per operation.
void GpgpusimImport::ptx_units(Pipes& sp, Pipes& integer, Pipes& dp, Pipes& sfu) {
  set("code", "ptx", {}, "no trace.config is given: as GPGPU-Sim times PTX");
  // Sets the latency classes. Returns the shortest interval of the first four classes,
  // and the last one's interval.
  const auto set_all = [this](std::span<const std::string_view> classes, std::string_view latency_key,
                              std::string_view initiation_key, std::size_t most) {
    const std::vector<std::uint64_t> latency = wholes(latency_key, ",", classes.size(), most);
    const std::vector<std::uint64_t> initiation = wholes(initiation_key, ",", classes.size(), most);
    std::size_t i = 0;
    for (const std::string_view ours : classes) {
      set(ours, fmt::format("[{}, {}]", latency[i], initiation[i]), {latency_key, initiation_key});
      ++i;
    }
    return std::pair{*std::min_element(initiation.begin(), initiation.begin() + 4), initiation[4]};
  };
  constexpr std::string_view kInt = "-ptx_opcode_initiation_int";
  constexpr std::string_view kFp = "-ptx_opcode_initiation_fp";
  constexpr std::string_view kDp = "-ptx_opcode_initiation_dp";
  constexpr std::string_view kSfu = "-ptx_opcode_initiation_sfu";
  constexpr std::string_view kSfuLatency = "-ptx_opcode_latency_sfu";
  constexpr std::size_t kWithShuffles = 6;
  const auto of_int = set_all(kIntClasses, "-ptx_opcode_latency_int", kInt, kWithShuffles);
  const auto of_fp = set_all(kFpClasses, "-ptx_opcode_latency_fp", kFp, kFpClasses.size());
  const auto of_dp = set_all(kDpClasses, "-ptx_opcode_latency_dp", kDp, kDpClasses.size());
  if (given("-ptx_opcode_latency_int") &&
      option("-ptx_opcode_latency_int").parts(",").size() == kWithShuffles) {
    const SourceLocation at = option("-ptx_opcode_latency_int").parts(",")[kWithShuffles - 1].at;
    warn("-ptx_opcode_latency_int", "shuffles take the special function units, with latency.sfu", &at);
  }
  const std::uint64_t of_sfu = whole(kSfu);
  set("latency.sfu", fmt::format("[{}, {}]", whole(kSfuLatency), of_sfu), {kSfuLatency, kSfu});
  integer.initiation = std::min(of_int.first, of_int.second);
  sp.initiation = integer.count > 0 ? of_fp.first : std::min(of_fp.first, integer.initiation);
  dp.initiation = std::min(of_dp.first, of_dp.second);
  // The SFUs also execute single-precision divisions.
  sfu.initiation = std::min(of_sfu, of_fp.second);
  if (dp.count == 0) sfu.initiation = std::min(sfu.initiation, dp.initiation);
  set_pipes("unit.sp", sp, "-gpgpu_num_sp_units", {kFp});
  set_pipes("unit.int", integer, "-gpgpu_num_int_units", {kInt});
  if (integer.count == 0) set("unit.int.on", "sp", {"-gpgpu_num_int_units"});
  set_pipes("unit.dp", dp, "-gpgpu_num_dp_units", {kDp});
  if (dp.count == 0) set("unit.dp.on", "sfu", {"-gpgpu_num_dp_units"});
  set_pipes("unit.sfu", sfu, "-gpgpu_num_sfu_units", {kSfu, kFp});
  set_pipes("unit.control", {sp.count, 1}, "-gpgpu_num_sp_units", {});
  set("latency.control", "[1, 1]", {}, "GPGPU-Sim's of branches in PTX");
  constexpr std::string_view kTensorUnits = "-gpgpu_num_tensor_core_units";
  constexpr std::string_view kTensorLatency = "-ptx_opcode_latency_tesnor";
  constexpr std::string_view kTensor = "-ptx_opcode_initiation_tensor";
  const std::uint64_t tensor_units = whole("-gpgpu_tensor_core_avail") == 0 ? 0 : whole(kTensorUnits);
  const std::uint64_t of_tensor = whole(kTensor);
  const std::uint64_t tensor_latency = whole(kTensorLatency);
  set_pipes("unit.tensor", {tensor_units, of_tensor}, kTensorUnits, {kTensor});
  if (tensor_units == 0) return;
  set("latency.tensor", fmt::format("[{}, {}]", tensor_latency, of_tensor), {kTensorLatency, kTensor});
  set("unit.tensor.multiply_adds", "4096", {}, "a wmma.mma of 16 x 16 x 16 takes one interval in GPGPU-Sim");
}

/// Imports the pipeline widths. Only the number of results per cycle has a key. Here, each unit
/// takes an instruction per cycle. In GPGPU-Sim, that requires as many places between collectors and
/// units as there are units.
void GpgpusimImport::pipeline_widths(const Pipes& sp, const Pipes& integer, const Pipes& dp,
                                     const Pipes& sfu) {
  constexpr std::string_view kWidths = "-gpgpu_pipeline_widths";
  const GpgpusimOption found = option(kWidths);
  const std::vector<GpgpusimPart> parts = found.parts(",");
  // Number of widths in versions in which DP units, INT units and tensor cores had no stages of their own.
  constexpr std::size_t kOldest = 7;
  constexpr std::size_t kOld = 11;
  constexpr std::size_t kAll = 13;
  if (parts.size() != kOldest && parts.size() != kOld && parts.size() != kAll) {
    throw UserError(found.at(), fmt::format("{}: {} widths; {}, {} or {} are expected", kWidths, parts.size(),
                                            kOldest, kOld, kAll));
  }
  const bool oldest = parts.size() == kOldest;
  const GpgpusimPart& results = parts[oldest ? 6 : 10];
  set_number("sm.result_buses", whole(kWidths, results), {kWidths}, "", &results.at);
  struct Stage {
    std::size_t place;
    const Pipes& pipes;
    std::string_view name;
  };
  const std::vector<Stage> stages =
      oldest ? std::vector<Stage>{{3, sp, "SP"}, {4, sfu, "SFU"}}
             : std::vector<Stage>{{5, sp, "SP"}, {6, dp, "DP"}, {7, integer, "INT"}, {8, sfu, "SFU"}};
  for (const Stage& stage : stages) {
    const std::uint64_t width = whole(kWidths, parts[stage.place]);
    if (width < stage.pipes.count) {
      warn(kWidths,
           fmt::format("OC_EX_{} is {}; here each of the {} units takes an instruction in a cycle",
                       stage.name, width, stage.pipes.count),
           &parts[stage.place].at);
    }
  }
}

// --- shared memory and L1 --------------------------------------------------------------------------------

void GpgpusimImport::shared_memory() {
  constexpr std::string_view kSize = "-gpgpu_shmem_size";
  set_number("sm.shared_size", whole(kSize), {kSize});
  set("sm.shared_allocation_unit", "1", {}, "GPGPU-Sim does not round a block's shared memory");
  set_number("shared.banks", whole("-gpgpu_shmem_num_banks"), {"-gpgpu_shmem_num_banks"});
  constexpr std::string_view kLatency = "-gpgpu_smem_latency";
  set_number("shared.latency", whole(kLatency), {kLatency});
}

void GpgpusimImport::l1() {
  constexpr std::string_view kL1 = "-gpgpu_cache:dl1";
  const GpgpusimCache text = cache(kL1);
  const bool skipped = flag("-gpgpu_gmem_skip_L1D");
  set_flag("l1.caches_global", !text.none && !skipped, {"-gpgpu_gmem_skip_L1D", kL1});
  set_flag("l1.flush_at_kernel_start", flag("-gpgpu_flush_l1_cache"), {"-gpgpu_flush_l1_cache"});
  constexpr std::string_view kLatency = "-gpgpu_l1_latency";
  const std::uint64_t latency = std::max<std::uint64_t>(whole(kLatency), 1);
  set_number("l1.latency", latency, {kLatency});
  set_number("l1.tag_latency", latency, {kLatency}, "GPGPU-Sim tells hits and misses apart at the end");
  l1_banks();
  if (text.none) {
    warn(kL1, "without an L1, local memory still goes through one, of the default size");
    return;
  }
  if (text.line != kLineBytes) {
    throw UserError(text.line_at, fmt::format("{}: lines of {} bytes; lines of L1 have {} here", kL1,
                                              text.line, kLineBytes));
  }
  set_number("l1.size", text.bytes(), {kL1});
  set_number("l1.ways", text.ways, {kL1});
  set_flag("l1.sectored", text.type.text == "S", {kL1});
  l1_policies(text);
  set_number("l1.mshr_entries", text.entries, {kL1}, "", &text.entries_at);
  constexpr std::uint64_t kMostMerges = 255;
  set_number("l1.mshr_merges", at_most(text.merges, kMostMerges, kL1, "requests of an MSHR", &text.merges_at),
             {kL1}, "", &text.merges_at);
  set_number("l1.miss_queue", text.miss_queue, {kL1});
  if (flag("-gpgpu_adaptive_cache_config")) unified(text.sets * text.line);
  other_splits();
}

void GpgpusimImport::l1_policies(const GpgpusimCache& text) {
  constexpr std::string_view kL1 = "-gpgpu_cache:dl1";
  const char write = text.write.text[0];
  const bool allocates = text.write_allocate.text != "N";
  const bool skipped = flag("-gpgpu_gmem_skip_L1D");
  if (write == 'E' || (write == 'L' && !allocates && !skipped)) {
    set("l1.write", "evict", {kL1});
  } else {
    set("l1.write", allocates ? "allocate" : "through", {kL1});
  }
  if (write == 'R') throw UserError(text.write.at, fmt::format("{}: L1 is no read-only cache (R)", kL1));
  if (write == 'B') {
    warn(kL1, "stores are not kept in L1 until their line is evicted (B), but go to L2 at once",
         &text.write.at);
  } else if (write == 'L') {
    warn(kL1,
         "stores to local memory are not kept in L1 until their line is evicted (L), but go to L2 at once",
         &text.write.at);
  }
  if (text.write_allocate.text == "W" || text.write_allocate.text == "F") {
    warn(kL1, "a store that misses does not fetch the rest of its line; it is fetched when it is read",
         &text.write_allocate.at);
  }
  set("l1.allocate", text.allocate.text == "m" ? "on-miss" : "on-fill", {kL1});
  if (text.allocate.text == "s" && flag("-gpgpu_adaptive_cache_config"))
    warn(kL1, "lines are reserved when data comes, also where L1 has the whole array (s)", &text.allocate.at);
  const char index = text.index.text[0];
  const bool fermi = index == 'H' && (text.sets == 32 || text.sets == 64);
  set("l1.index",
      fermi                          ? "fermi"
      : index == 'L' || index == 'C' ? "linear"
                                     : "xor",
      {kL1}, "", &text.index.at);
  if (index != 'L' && index != 'X' && !fermi) {
    warn(kL1,
         fmt::format("the index function {} has no counterpart; {}", index, index == 'C' ? "linear" : "xor"),
         &text.index.at);
  }
  constexpr std::string_view kRatio = "-gpgpu_l1_cache_write_ratio";
  set_number("l1.written_kept", at_most(whole(kRatio), 100, kRatio, "percent"), {kRatio});
}

void GpgpusimImport::l1_banks() {
  set_number("l1.banks", whole("-gpgpu_l1_banks"), {"-gpgpu_l1_banks"});
  constexpr std::string_view kCoalescing = "-gpgpu_coalesce_arch";
  constexpr std::string_view kInterleave = "-gpgpu_l1_banks_byte_interleaving";
  // Accesses are sectors from Maxwell on. On Fermi and Kepler, accesses are sectors only if they bypass L1.
  const std::uint64_t part = whole(kCoalescing);
  const bool sectors = part >= 40 || (part >= 20 && flag("-gpgpu_gmem_skip_L1D"));
  if (!sectors) {
    set("l1.bank_size", fmt::format("{}", kLineBytes), {kCoalescing}, "an access is of a whole line");
    return;
  }
  const std::uint64_t bytes = whole(kInterleave);
  set_number("l1.bank_size", bytes, {kInterleave}, "an access is of a sector");
}

void GpgpusimImport::unified(std::uint64_t set_bytes) {
  constexpr std::string_view kUnified = "-gpgpu_unified_l1d_size";
  constexpr std::string_view kOptions = "-gpgpu_shmem_option";
  constexpr std::uint64_t kKilo = 1024;
  const std::uint64_t whole_size = whole(kUnified) * kKilo;
  if (whole_size == 0) {
    constexpr std::string_view kAdaptive = "-gpgpu_adaptive_cache_config";
    const std::string_view key = given(kUnified) ? kUnified : kAdaptive;
    throw UserError(place(key),
                    fmt::format("{}: {} 1 needs {}, the size of the array in KB", key, kAdaptive, kUnified));
  }
  std::vector<std::uint64_t> sizes;
  for (const GpgpusimPart& part : option(kOptions).parts(",")) {
    std::uint64_t size = whole(kOptions, part) * kKilo;
    if (size < whole_size && (whole_size - size) % set_bytes != 0) {
      size = whole_size - (whole_size - size) / set_bytes * set_bytes;
      warn(kOptions, fmt::format("{} KB leave L1 no whole number of ways; here {} bytes", part.text, size),
           &part.at);
    }
    sizes.push_back(size);
  }
  std::sort(sizes.begin(), sizes.end());
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  set_number("l1.unified_size", whole_size, {kUnified});
  set("l1.shared_carveouts", fmt::format("[{}]", fmt::join(sizes, ", ")), {kOptions});
  constexpr std::string_view kShared = "-gpgpu_shmem_size";
  if (const std::uint64_t shared = whole(kShared); shared > sizes.back()) {
    set_number("sm.shared_size", sizes.back(), {kOptions});
    warn(kShared, fmt::format("{} bytes of shared memory; the largest of {} gives {}", shared, kOptions,
                              sizes.back()));
  }
}

/// Warns of other splits of the SM's memory. Kernels may request one (cudaFuncSetCacheConfig); here, all
/// kernels have the same split.
void GpgpusimImport::other_splits() {
  const auto compare = [this](std::string_view key, std::string_view usual, std::string_view why) {
    if (given(key) && option(key).value != option(usual).value) warn(key, std::string(why));
  };
  constexpr std::string_view kSplit = "kernels that ask for this split get the usual one";
  compare("-gpgpu_cache:dl1PrefL1", "-gpgpu_cache:dl1", kSplit);
  compare("-gpgpu_cache:dl1PrefShared", "-gpgpu_cache:dl1", kSplit);
  compare("-gpgpu_shmem_size_PrefL1", "-gpgpu_shmem_size", kSplit);
  compare("-gpgpu_shmem_size_PrefShared", "-gpgpu_shmem_size", kSplit);
  compare("-gpgpu_shmem_sizeDefault", "-gpgpu_shmem_size", "shared memory is that of -gpgpu_shmem_size");
}

// --- read-only caches ------------------------------------------------------------------------------------

void GpgpusimImport::read_only_caches() {
  constexpr std::string_view kPerfect = "-gpgpu_perfect_inst_const_cache";
  constexpr std::string_view kInstructions = "-gpgpu_cache:il1";
  constexpr std::string_view kConstants = "-gpgpu_const_cache:l1";
  if (flag(kPerfect)) {
    set("icache.size", "0", {kPerfect});
    set("constant.size", "0", {kPerfect});
    return;
  }
  const auto set_cache = [this](const std::string& ours, std::string_view key) {
    const GpgpusimCache text = cache(key);
    if (text.none) throw UserError(place(key), fmt::format("{}: GPGPU-Sim always has this cache", key));
    std::uint64_t line = text.line;
    if (line > kLineBytes) {
      line = kLineBytes;
      warn(key, fmt::format("lines of {} bytes; here of {}, and more of them", text.line, line),
           &text.line_at);
    }
    set_number(ours + ".size", text.bytes(), {key});
    set_number(ours + ".ways", text.ways, {key});
    set_number(ours + ".line_size", line, {key}, "", &text.line_at);
  };
  set_cache("icache", kInstructions);
  constexpr std::uint64_t kVolta = 70;
  const bool wide = traces_ && capability_ >= kVolta;
  set("icache.instruction_size", wide ? "16" : "8", {},
      wide ? "machine code from Volta on" : "two instructions in the 16 bytes of a fetch");
  set_cache("constant", kConstants);
}

void GpgpusimImport::texture_cache() {
  constexpr std::string_view kTexture = "-gpgpu_tex_cache:l1";
  const GpgpusimCache text = cache(kTexture);
  if (text.none)
    throw UserError(place(kTexture), fmt::format("{}: GPGPU-Sim always has this cache", kTexture));
  set_number("texture.size", text.bytes(), {kTexture});
  set_number("texture.ways", text.ways, {kTexture});
  if (text.line != kLineBytes)
    warn(kTexture, fmt::format("lines of {} bytes; here of {}", text.line, kLineBytes), &text.line_at);
  const bool fifo = text.mshr.text == "F" || text.mshr.text == "T";
  // A texture cache with a FIFO has fetches in flight instead of merges. All of them may want one line.
  const std::uint64_t merges = fifo ? text.entries : text.merges;
  const SourceLocation& at = fifo ? text.entries_at : text.merges_at;
  constexpr std::uint64_t kMostMerges = 255;
  set_number("texture.mshr_entries", text.entries, {kTexture}, "", &text.entries_at);
  set_number("texture.mshr_merges",
             at_most(merges, kMostMerges, kTexture, "fetches on their way to a line", &at), {kTexture}, "",
             &at);
  constexpr std::string_view kUnit = "-specialized_unit_2";
  constexpr std::string_view kLatency = "-trace_opcode_latency_initiation_spec_op_2";
  if (traces_ && given(kUnit) && given(kLatency))
    set_number("texture.latency", wholes(kLatency, ",", 2, 2)[0], {kLatency});
}

}  // namespace gpumux::arch
