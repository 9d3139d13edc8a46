// Import of configurations of GPGPU-Sim and Accel-Sim as machine files: the key that each option becomes, and
// the messages about other options, with their places.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "arch/config_file.hpp"
#include "arch/config_file_fields.hpp"
#include "arch/gpgpusim_config.hpp"
#include "arch/gpgpusim_options.hpp"
#include "base/error.hpp"
#include "base/files.hpp"
#include "temporary_folder.hpp"

namespace gpumux::arch {
namespace {

// A part with sub-cores, as the configurations of Volta and later have it. Ours, with their values.
constexpr std::string_view kSubCores = R"(
-gpgpu_n_cores_per_cluster 1 -gpgpu_n_sub_partition_per_mchannel 2
-gpgpu_shader_registers 65536 -gpgpu_num_sched_per_core 4 -gpgpu_scheduler lrr
-gpgpu_max_insn_issue_per_warp 1 -gpgpu_dual_issue_diff_exec_units 1
-gpgpu_pipeline_widths 4,4,4,4,4,4,4,4,4,4,8,4,4
-gpgpu_num_sp_units 4 -gpgpu_num_sfu_units 4 -gpgpu_num_dp_units 4 -gpgpu_num_int_units 4
-gpgpu_tensor_core_avail 1 -gpgpu_num_tensor_core_units 4
-gpgpu_sub_core_model 1 -gpgpu_enable_specialized_operand_collector 0
-gpgpu_operand_collector_num_units_gen 8 -gpgpu_operand_collector_num_in_ports_gen 8
-gpgpu_operand_collector_num_out_ports_gen 8 -gpgpu_reg_file_port_throughput 2
-gpgpu_shmem_num_banks 32 -gpgpu_shmem_limited_broadcast 0 -gpgpu_shmem_warp_parts 1
-gpgpu_adaptive_cache_config 1 -gpgpu_l1_banks 4 -gpgpu_l1_cache_write_ratio 25 -gpgpu_flush_l1_cache 1
-gpgpu_gmem_skip_L1D 0 -gpgpu_coalesce_arch 70
-gpgpu_dram_partition_queues 64:64:64:64 -gpgpu_perf_sim_memcpy 1
-gpgpu_inst_fetch_throughput 4 -gpgpu_perfect_inst_const_cache 1 -gpgpu_tex_cache:l1 N:4:128:256,L:R:m:N:L,T:512:8,128:2
-network_mode 2 -icnt_in_buffer_limit 512 -icnt_out_buffer_limit 512 -icnt_subnets 2 -icnt_flit_size 40
-gpgpu_dram_scheduler 1 -gpgpu_frfcfs_dram_sched_queue_size 64 -gpgpu_dram_return_queue_size 192
-gpgpu_n_mem_per_ctrlr 1 -dram_bnk_indexing_policy 0 -dram_bnkgrp_indexing_policy 1
-gpgpu_kernel_launch_latency 5000 -gpgpu_max_concurrent_kernel 128 -gpgpu_heap_size_limit 8388608
)";

constexpr std::string_view kVolta = R"(
-gpgpu_compute_capability_major 7 -gpgpu_compute_capability_minor 0
-gpgpu_n_clusters 80 -gpgpu_n_mem 32 -gpgpu_clock_domains 1132.0:1132.0:1132.0:850.0
-gpgpu_shader_core_pipeline 2048:32 -gpgpu_shader_cta 32 -gpgpu_num_reg_banks 16
-gpgpu_shmem_size 98304 -gpgpu_shmem_option 0,8,16,32,64,96 -gpgpu_unified_l1d_size 128
-gpgpu_cache:dl1 S:4:128:64,L:T:m:L:L,A:512:8,16:0,32 -gpgpu_l1_latency 20 -gpgpu_smem_latency 20
-gpgpu_cache:dl2 S:32:128:24,L:B:m:L:P,A:192:4,32:0,32 -gpgpu_memory_partition_indexing 2
-gpgpu_l2_rop_latency 160 -dram_latency 100 -dram_dual_bus_interface 1
-gpgpu_dram_buswidth 16 -gpgpu_dram_burst_length 2 -dram_data_command_freq_ratio 2
-gpgpu_mem_addr_mapping dramid@8;00000000.00000000.00000000.00000000.0000RRRR.RRRRRRRR.RBBBCCCB.CCCSSSSS
-gpgpu_dram_timing_opt "nbk=16:CCD=1:RRD=3:RCD=12:RAS=28:RP=12:RC=40:
                        CL=12:WL=2:CDLR=3:WR=10:nbkgrp=4:CCDL=2:RTPL=3"
)";
constexpr std::string_view kVoltaTraces = R"(
-trace_opcode_latency_initiation_int 2,2 -trace_opcode_latency_initiation_sp 2,2
-trace_opcode_latency_initiation_dp 8,4 -trace_opcode_latency_initiation_sfu 20,8
-specialized_unit_1 1,4,4,4,4,BRA    -trace_opcode_latency_initiation_spec_op_1 4,4
-specialized_unit_2 1,4,200,4,4,TEX  -trace_opcode_latency_initiation_spec_op_2 200,4
-specialized_unit_3 1,4,8,4,4,TENSOR -trace_opcode_latency_initiation_spec_op_3 2,2
)";

constexpr std::string_view kTuring = R"(
-gpgpu_compute_capability_major 7 -gpgpu_compute_capability_minor 5 -gpgpu_coalesce_arch 75
-gpgpu_n_clusters 30 -gpgpu_n_mem 12 -gpgpu_clock_domains 1365:1365:1365:3500.5
-gpgpu_shader_core_pipeline 1024:32 -gpgpu_shader_cta 16 -gpgpu_num_reg_banks 8
-gpgpu_shmem_size 65536 -gpgpu_shmem_option 32,64 -gpgpu_unified_l1d_size 96
-gpgpu_cache:dl1 S:4:128:64,L:T:m:L:L,A:256:32,16:0,32 -gpgpu_l1_latency 32 -gpgpu_smem_latency 30
-gpgpu_cache:dl2 S:64:128:16,L:B:m:L:P,A:192:4,32:0,32 -gpgpu_memory_partition_indexing 0
-gpgpu_l2_rop_latency 194 -dram_latency 96 -dram_dual_bus_interface 0
-gpgpu_dram_buswidth 2 -gpgpu_dram_burst_length 16 -dram_data_command_freq_ratio 4
-gpgpu_mem_addr_mapping dramid@8;00000000.00000000.00000000.00000000.0000RRRR.RRRRRRRR.RBBBCCCC.BCCSSSSS
-gpgpu_dram_timing_opt nbk=16:CCD=4:RRD=12:RCD=24:RAS=55:RP=24:RC=78:CL=24:WL=8:CDLR=10:WR=24:nbkgrp=4:CCDL=6:RTPL=4
)";
constexpr std::string_view kTuringTraces = R"(
-trace_opcode_latency_initiation_int 2,2 -trace_opcode_latency_initiation_sp 2,2
-trace_opcode_latency_initiation_dp 64,64 -trace_opcode_latency_initiation_sfu 21,8
-specialized_unit_1 1,4,4,4,4,BRA     -trace_opcode_latency_initiation_spec_op_1 4,4
-specialized_unit_2 1,4,200,4,4,TEX   -trace_opcode_latency_initiation_spec_op_2 200,4
-specialized_unit_3 1,4,16,4,4,TENSOR -trace_opcode_latency_initiation_spec_op_3 16,16
-specialized_unit_4 1,4,4,4,4,UDP     -trace_opcode_latency_initiation_spec_op_4 4,1
)";

constexpr std::string_view kPascal = R"(
-gpgpu_compute_capability_major 6 -gpgpu_compute_capability_minor 1 -gpgpu_coalesce_arch 61
-gpgpu_n_clusters 28 -gpgpu_n_mem 12 -gpgpu_clock_domains 1417.0:1417.0:1417.0:2500.0
-gpgpu_shader_core_pipeline 2048:32 -gpgpu_shader_cta 32 -gpgpu_num_reg_banks 16 -gpgpu_scheduler gto
-gpgpu_max_insn_issue_per_warp 2 -gpgpu_pipeline_widths 4,0,0,4,4,4,0,0,4,4,8
-gpgpu_num_dp_units 0 -gpgpu_num_int_units 0 -gpgpu_tensor_core_avail 0 -gpgpu_num_tensor_core_units 0
-gpgpu_inst_fetch_throughput 8 -gpgpu_max_concurrent_kernel 32
-gpgpu_adaptive_cache_config 0 -gpgpu_shmem_size 98304 -gpgpu_l1_cache_write_ratio 0 -gpgpu_gmem_skip_L1D 1
-gpgpu_l1_banks 2 -gpgpu_cache:dl1 S:4:128:96,L:L:s:N:L,A:256:8,16:0,32 -gpgpu_l1_latency 82 -gpgpu_smem_latency 24
-gpgpu_tex_cache:l1 N:16:128:24,L:R:m:N:L,T:128:4,128:2
-gpgpu_cache:dl2 S:64:128:16,L:B:m:L:P,A:256:64,16:0,32 -gpgpu_memory_partition_indexing 4
-gpgpu_dram_partition_queues 32:32:32:32 -network_mode 1 -inter_config_file crossbar.icnt
-gpgpu_l2_rop_latency 120 -dram_latency 100 -gpgpu_dram_return_queue_size 64
-gpgpu_dram_buswidth 4 -gpgpu_dram_burst_length 8 -dram_data_command_freq_ratio 4
-gpgpu_mem_addr_mapping dramid@8;00000000.00000000.00000000.00000000.0000RRRR.RRRRRRRR.RBBBCCCC.BCCSSSSS
-gpgpu_dram_timing_opt "nbk=16:CCD=2:RRD=8:RCD=16:RAS=37:RP=16:RC=52:
                        CL=16:WL=6:CDLR=7:WR=16:nbkgrp=4:CCDL=4:RTPL=3"
)";
constexpr std::string_view kPascalTraces = R"(
-trace_opcode_latency_initiation_int 4,1 -trace_opcode_latency_initiation_sp 4,1
-trace_opcode_latency_initiation_dp 20,8 -trace_opcode_latency_initiation_sfu 20,4
)";
constexpr std::string_view kCrossbar =
    "topology = fly;\nk = 52; // ports\nn = 1;\nflit_size = 40;\nvc_buf_size = 64;\n"
    "input_buffer_size = 256;\nejection_buffer_size = 64;\n";

ImportedMachine import_texts(const std::vector<std::string_view>& texts, const std::string& folder = "") {
  std::vector<GpgpusimFile> files;
  for (const std::string_view text : texts) {
    const std::string name = files.empty()       ? "gpgpusim.config"
                             : files.size() == 1 ? "more.config"
                                                 : "trace.config";
    files.push_back({folder + name, std::string(text)});
  }
  return import_gpgpusim(files);
}

ImportedMachine volta(std::string_view more = "-keep 0") {
  return import_texts({kSubCores, kVolta, kVoltaTraces, more});
}

/// The Volta without its trace.config.
ImportedMachine volta_of_ptx(std::string_view more = "-keep 0") {
  return import_texts({kSubCores, kVolta, more});
}

std::string refusal_of(const std::vector<std::string_view>& texts) {
  try {
    (void)import_texts(texts);
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

std::string all_warnings(const ImportedMachine& imported) {
  std::string lines;
  for (const ImportedMachine::Warning& warning : imported.warnings) lines += warning.line() + "\n";
  return lines;
}

bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

// --- beside the presets that were made by hand
// --------------------------------------------------------------

/// Keys of [energy] come from no configuration, and those outside tables are labels.
bool is_compared(const Field& field) {
  return field.table() != "energy" && field.key != "name" && field.key != "description" &&
         field.key != "source" && field.key != "variant_of";
}

/// "key: preset's value -> imported value" of all that differ.
std::set<std::string> differences(const std::string& preset, const MachineConfig& imported) {
  const MachineConfig machine = load_machine(preset);
  std::set<std::string> differing;
  for (const Field& field : fields()) {
    const std::string theirs = field_text(field, machine);
    const std::string ours = field_text(field, imported);
    if (is_compared(field) && theirs != ours) differing.insert(field.key + ": " + theirs + " -> " + ours);
  }
  return differing;
}

// Presets round to what the part allocates, an import to what GPGPU-Sim does. Presets leave texture fetches
// to L1: no instruction of a trace makes one.
const std::set<std::string> kAlways = {"sm.register_allocation_unit: 256 -> 128",
                                       "sm.shared_allocation_unit: 256 -> 1"};

TEST(ImportedConfig, OfVoltaIsThePreset) {
  std::set<std::string> expected = kAlways;
  expected.insert({"texture.size: 0 -> \"128K\"", "texture.ways: 24 -> 256",
                   "texture.mshr_entries: 128 -> 512", "texture.mshr_merges: 128 -> 255"});
  EXPECT_EQ(differences("v100", import_texts({kSubCores, kVolta, kVoltaTraces}).machine), expected);
}

TEST(ImportedConfig, OfTuringIsThePreset) {
  std::set<std::string> expected = kAlways;
  expected.insert({"texture.size: 0 -> \"128K\"", "texture.ways: 24 -> 256",
                   "texture.mshr_entries: 128 -> 512", "texture.mshr_merges: 128 -> 255"});
  EXPECT_EQ(differences("rtx2060", import_texts({kSubCores, kTuring, kTuringTraces}).machine), expected);
}

TEST(ImportedConfig, OfPascalIsThePreset) {
  const test::TemporaryFolder folder;
  write_file_atomically(folder.path() + "/crossbar.icnt", kCrossbar);
  std::set<std::string> expected = kAlways;
  expected.insert("texture.size: 0 -> \"48K\"");
  EXPECT_EQ(differences("titan-x-pascal",
                        import_texts({kSubCores, kPascal, kPascalTraces}, folder.path() + "/").machine),
            expected);
}

// --- the table of options
// -----------------------------------------------------------------------------------

TEST(ConfigOptions, AreSortedAndNamedOnce) {
  const std::vector<GpgpusimKey>& keys = gpgpusim_keys();
  for (std::size_t i = 1; i < keys.size(); ++i) EXPECT_LT(keys[i - 1].name, keys[i].name);
  for (const GpgpusimKey& key : keys) {
    EXPECT_EQ(find_gpgpusim_key(key.name), &key);
    EXPECT_EQ(key.why.empty(), key.use == GpgpusimUse::Taken) << key.name;
  }
  EXPECT_EQ(find_gpgpusim_key("-gpgpu_nothing"), nullptr);
}

TEST(ConfigOptions, OfOlderVersionsHavePresentNames) {
  EXPECT_EQ(find_gpgpusim_key("-rop_latency")->name, "-gpgpu_l2_rop_latency");
  EXPECT_EQ(volta("-rop_latency 200").machine.l2.latency, 192U);
  EXPECT_EQ(volta("-smem_latency 33").machine.shared.latency, 33U);
  EXPECT_TRUE(contains(volta("-rop_latency 200").toml, "trace.config:1 -rop_latency"));
}

/// What a user may observe of an import: the machine, and what is said.
std::string observed(const ImportedMachine& imported) {
  return acting_toml(imported.machine) + std::to_string(imported.machine.runtime.compute_capability) +
         all_warnings(imported);
}

struct Acting {
  std::string_view value;        // another one than the configuration has
  std::string_view beside = "";  // options without which it does nothing
  bool of_ptx = false;           // acts where no trace.config is
};
// For every option that the table calls taken.
const std::map<std::string_view, Acting> kActing = {
    {"-gpgpu_n_clusters", {"8"}},
    {"-gpgpu_n_cores_per_cluster", {"2"}},
    {"-gpgpu_clock_domains", {"1000:1132:1132:850"}},
    {"-gpgpu_compute_capability_major", {"8"}},
    {"-gpgpu_compute_capability_minor", {"2"}},
    {"-gpgpu_ptx_force_max_capability", {"60"}},
    {"-gpgpu_kernel_launch_latency", {"100"}},
    {"-gpgpu_max_concurrent_kernel", {"16"}},
    {"-gpgpu_perf_sim_memcpy", {"0"}},
    {"-gpgpu_heap_size_limit", {"1048576"}},
    {"-gpgpu_shader_core_pipeline", {"1024:32"}},
    {"-gpgpu_shader_registers", {"32768"}},
    {"-gpgpu_shader_cta", {"16"}},
    {"-gpgpu_num_sched_per_core", {"2"}},
    {"-gpgpu_scheduler", {"gto"}},
    {"-gpgpu_max_insn_issue_per_warp", {"2"}},
    {"-gpgpu_dual_issue_diff_exec_units", {"0"}},
    {"-gpgpu_inst_fetch_throughput", {"2"}},
    {"-gpgpu_pipeline_widths", {"4,4,4,4,4,4,4,4,4,4,4,4,4"}},
    {"-gpgpu_sub_core_model", {"0"}},
    {"-gpgpu_enable_specialized_operand_collector", {"1"}},
    {"-gpgpu_num_reg_banks", {"32"}},
    {"-gpgpu_reg_file_port_throughput", {"1"}},
    {"-gpgpu_num_sp_units", {"8"}},
    {"-gpgpu_num_int_units", {"8"}},
    {"-gpgpu_num_dp_units", {"0"}},
    {"-gpgpu_num_sfu_units", {"8"}},
    {"-gpgpu_tensor_core_avail", {"0", "", true}},
    {"-gpgpu_num_tensor_core_units", {"8", "", true}},
    {"-ptx_opcode_latency_int", {"4,13,4,5,145,21", "", true}},
    {"-ptx_opcode_initiation_int", {"2,2,2,2,8,4", "", true}},
    {"-ptx_opcode_latency_fp", {"4,13,4,5,39", "", true}},
    {"-ptx_opcode_initiation_fp", {"2,2,2,2,4", "", true}},
    {"-ptx_opcode_latency_dp", {"9,19,8,8,330", "", true}},
    {"-ptx_opcode_initiation_dp", {"4,4,4,4,130", "", true}},
    {"-ptx_opcode_latency_sfu", {"100", "", true}},
    {"-ptx_opcode_initiation_sfu", {"4", "", true}},
    {"-ptx_opcode_latency_tesnor", {"32", "", true}},
    {"-ptx_opcode_initiation_tensor", {"32", "", true}},
    {"-trace_opcode_latency_initiation_int", {"4,2"}},
    {"-trace_opcode_latency_initiation_sp", {"4,2"}},
    {"-trace_opcode_latency_initiation_dp", {"9,4"}},
    {"-trace_opcode_latency_initiation_sfu", {"21,8"}},
    {"-trace_opcode_latency_initiation_tensor", {"9,4", "-specialized_unit_3 0,4,4,4,4,TENSOR"}},
    {"-specialized_unit_1", {"1,8,4,4,4,BRA"}},
    {"-specialized_unit_2", {"0,4,4,4,4,TEX"}},
    {"-specialized_unit_3", {"1,8,4,4,4,TENSOR"}},
    {"-specialized_unit_4", {"1,4,4,4,4,UDP"}},
    {"-specialized_unit_5", {"1,4,4,4,4,A", "-specialized_unit_4 1,4,4,4,4,UDP"}},
    {"-specialized_unit_6", {"1,4,4,4,4,A"}},
    {"-specialized_unit_7", {"1,4,4,4,4,A"}},
    {"-specialized_unit_8", {"1,4,4,4,4,A"}},
    {"-trace_opcode_latency_initiation_spec_op_1", {"6,4"}},
    {"-trace_opcode_latency_initiation_spec_op_2", {"100,4"}},
    {"-trace_opcode_latency_initiation_spec_op_3", {"6,4"}},
    {"-trace_opcode_latency_initiation_spec_op_4", {"6,2", "-specialized_unit_4 1,4,4,4,4,UDP"}},
    {"-gpgpu_cache:dl1", {"S:4:128:64,L:T:m:L:L,A:256:8,16:0,32"}},
    {"-gpgpu_l1_cache_write_ratio", {"0"}},
    {"-gpgpu_l1_latency", {"30"}},
    {"-gpgpu_l1_banks", {"2"}},
    {"-gpgpu_l1_banks_byte_interleaving", {"64"}},
    {"-gpgpu_gmem_skip_L1D", {"1"}},
    {"-gpgpu_flush_l1_cache", {"0"}},
    {"-gpgpu_adaptive_cache_config", {"0"}},
    {"-gpgpu_unified_l1d_size", {"192"}},
    {"-gpgpu_shmem_option", {"0,96"}},
    {"-gpgpu_cache:dl1PrefL1", {"S:4:128:96,L:T:m:L:L,A:512:8,16:0,32"}},
    {"-gpgpu_cache:dl1PrefShared", {"S:4:128:32,L:T:m:L:L,A:512:8,16:0,32"}},
    {"-gpgpu_coalesce_arch", {"20"}},
    {"-gpgpu_shmem_size", {"65536"}},
    {"-gpgpu_shmem_sizeDefault", {"65536"}},
    {"-gpgpu_shmem_size_PrefL1", {"65536"}},
    {"-gpgpu_shmem_size_PrefShared", {"65536"}},
    {"-gpgpu_smem_latency", {"30"}},
    {"-gpgpu_shmem_num_banks", {"16"}},
    {"-gpgpu_cache:il1", {"N:8:128:4,L:R:f:N:L,S:2:48,4", "-gpgpu_perfect_inst_const_cache 0"}},
    {"-gpgpu_const_cache:l1", {"N:32:64:2,L:R:f:N:L,S:2:64,4", "-gpgpu_perfect_inst_const_cache 0"}},
    {"-gpgpu_tex_cache:l1", {"N:16:128:24,L:R:m:N:L,T:128:4,128:2"}},
    {"-gpgpu_perfect_inst_const_cache", {"0"}},
    {"-network_mode", {"1"}},
    {"-inter_config_file", {"other.icnt", "-network_mode 1"}},
    {"-icnt_flit_size", {"64"}},
    {"-icnt_in_buffer_limit", {"64"}},
    {"-icnt_out_buffer_limit", {"64"}},
    {"-gpgpu_n_mem", {"8"}},
    {"-gpgpu_n_sub_partition_per_mchannel", {"1"}},
    {"-gpgpu_cache:dl2", {"S:64:128:24,L:B:m:L:P,A:192:4,32:0,32"}},
    {"-gpgpu_l2_rop_latency", {"200"}},
    {"-gpgpu_dram_partition_queues", {"32:64:64:64"}},
    {"-gpgpu_memory_partition_indexing", {"0"}},
    {"-gpgpu_mem_addr_mapping",
     {"dramid@8;00000000.00000000.00000000.00000000.0000RRRR.RRRRRRRR.RBBBCCCC.BCCSSSSS"}},
    {"-gpgpu_n_mem_per_ctrlr", {"2"}},
    {"-gpgpu_dram_buswidth", {"32"}},
    {"-gpgpu_dram_burst_length", {"4"}},
    {"-dram_data_command_freq_ratio", {"4"}},
    {"-gpgpu_dram_timing_opt", {"nbk=16:CCD=1:RRD=3:RCD=12:RAS=28:RP=12:RC=50:CL=12:WL=2:CDLR=3:WR=10"}},
    {"-gpgpu_dram_scheduler", {"0"}},
    {"-gpgpu_frfcfs_dram_sched_queue_size", {"32"}},
    {"-gpgpu_dram_return_queue_size", {"32"}},
    {"-dram_latency", {"30"}},
    {"-dram_dual_bus_interface", {"0"}},
    {"-dram_bnkgrp_indexing_policy", {"0"}},
    {"-dram_seperate_write_queue_enable", {"1"}},
    {"-dram_write_queue_size", {"64:48:16", "-dram_seperate_write_queue_enable 1"}},
};

TEST(ConfigOptions, ThatAreTakenActOnTheMachine) {
  for (const GpgpusimKey& key : gpgpusim_keys()) {
    if (key.use != GpgpusimUse::Taken) continue;
    Acting acting;
    if (const auto found = kActing.find(key.name); found != kActing.end()) {
      acting = found->second;
    } else if (key.name.starts_with("-gpgpu_operand_collector_num_units_")) {
      acting = {"64", key.name.ends_with("_gen") ? "" : "-gpgpu_enable_specialized_operand_collector 1"};
    } else if (key.name.starts_with("-gpgpu_operand_collector_num_")) {
      acting = {"1", key.name.ends_with("_gen") ? ""
                                                : "-gpgpu_enable_specialized_operand_collector 1 "
                                                  "-gpgpu_operand_collector_num_units_dp 4 "
                                                  "-gpgpu_operand_collector_num_units_int 4"};
    } else if (key.name == "-gpgpu_mem_address_mask") {
      continue;  // see WithoutAnAddressMapRotatesBanks
    } else {
      ADD_FAILURE() << key.name << " is taken, and not tried";
      continue;
    }
    const auto with = [&](const std::string& more) {
      const std::string text = std::string(acting.beside) + " -keep 0 " + more;
      return observed(acting.of_ptx ? volta_of_ptx(text) : volta(text));
    };
    EXPECT_NE(with(""), with(std::string(key.name) + " " + std::string(acting.value))) << key.name;
  }
}

TEST(ConfigOptions, WithOneBehaviourHereAreToldWithAnother) {
  for (const GpgpusimKey& key : gpgpusim_keys()) {
    const std::string name(key.name);
    const auto lines = [&](const std::string& value) { return all_warnings(volta(name + " " + value)); };
    const std::string told = "trace.config:1:";
    if (key.use == GpgpusimUse::Same) {
      EXPECT_FALSE(contains(lines(std::string(key.value)), told)) << name;
      EXPECT_TRUE(
          contains(lines(key.value == "0" ? "1" : "0"), "warning: " + name + ": " + std::string(key.why)))
          << name;
    } else if (key.use == GpgpusimUse::Missing) {
      EXPECT_TRUE(contains(lines("1"), "warning: " + name + ": ")) << name;
    } else if (key.use == GpgpusimUse::NoEffect) {
      EXPECT_FALSE(contains(lines("1"), told)) << name;
      EXPECT_TRUE(contains(volta(name + " 1").toml, "trace.config:1 " + name + "\n")) << name;
    }
  }
}

// --- the text
// -----------------------------------------------------------------------------------------------

std::string option_message(std::string_view text) {
  try {
    (void)parse_gpgpusim_options(text, "c");
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

TEST(ConfigText, HasOptionsAnywhereOnItsLines) {
  const std::vector<GpgpusimOption> options = parse_gpgpusim_options(
      "# -gpgpu_n_mem 4\n-gpgpu_n_clusters 3 -gpgpu_n_mem\n\t8 # eight\n-gpgpu_flush_l1_cache -keep 0\n"
      "-gpgpu_dram_timing_opt \"nbk=16:  # banks\n   CCD=2\"\n-gpgpu_warpdistro_shader -1 -made_up 1 2 "
      "-power",
      "c");
  const auto show = [](const GpgpusimOption& option) {
    return option.key + "=" + option.value + " " + option.key_at.text() + " " + option.at().text();
  };
  std::vector<std::string> shown;
  for (const GpgpusimOption& option : options) shown.push_back(show(option));
  EXPECT_EQ(shown,
            (std::vector<std::string>{"-gpgpu_n_clusters=3 c:2:1 c:2:19", "-gpgpu_n_mem=8 c:2:21 c:3:2",
                                      "-gpgpu_flush_l1_cache=1 c:4:1 c:4:1", "-keep=0 c:4:23 c:4:29",
                                      "-gpgpu_dram_timing_opt=nbk=16: CCD=2 c:5:1 c:5:25",
                                      "-gpgpu_warpdistro_shader=-1 c:7:1 c:7:26", "-made_up=1 c:7:29 c:7:38",
                                      "-power= c:7:42 c:7:42"}));
  const std::vector<GpgpusimPart> parts = options[4].parts(":");
  ASSERT_EQ(parts.size(), 2U);
  EXPECT_EQ(parts[1].text, "CCD=2");
  EXPECT_EQ(parts[1].at.text(), "c:6:4");
}

TEST(ConfigText, IsRefusedWhereItIsWrong) {
  EXPECT_EQ(option_message("-gpgpu_n_mem 8 9"),
            "c:1:16: error: '9' is no option; options begin with a dash and a letter, and '-gpgpu_n_mem' "
            "takes one value");
  EXPECT_EQ(option_message("sms = 80"),
            "c:1:1: error: 'sms' is no option; options begin with a dash and a letter");
  EXPECT_EQ(option_message("-keep 1\n -gpgpu_n_mem\n-gpgpu_n_clusters 8"),
            "c:2:2: error: '-gpgpu_n_mem' has no value");
  EXPECT_EQ(option_message("-gpgpu_n_mem \"8"), "c:1:14: error: this quotation mark has no second one");
  EXPECT_EQ(option_message("-gpgpu_n_mem \"8\"9"),
            "c:1:17: error: white space must follow the quotation mark that ends a value");
}

TEST(ConfigText, CountsWithItsLastPlace) {
  const ImportedMachine imported = volta("-gpgpu_n_clusters 8\n-gpgpu_n_clusters 16");
  EXPECT_EQ(imported.machine.sms, 16U);
  EXPECT_TRUE(contains(imported.toml, "given again later:\n"));
  EXPECT_TRUE(contains(imported.toml, "trace.config:1 -gpgpu_n_clusters\n"));
}

TEST(ConfigText, WithoutOptionsIsNoConfiguration) {
  EXPECT_EQ(refusal_of({"# nothing\n"}),
            "gpgpusim.config:1:1: error: this configuration has no options, such as `-gpgpu_n_clusters 80`");
}

// --- the file that is written
// -------------------------------------------------------------------------------

TEST(ImportedFile, ReadsBackToTheSameMachine) {
  for (const ImportedMachine& imported :
       {volta(), volta_of_ptx(), import_texts({kSubCores, kTuring, kTuringTraces}),
        import_texts({kSubCores, kPascal, kPascalTraces})}) {
    EXPECT_EQ(acting_toml(parse_machine(imported.toml, "m.toml")), acting_toml(imported.machine))
        << imported.toml;
  }
}

TEST(ImportedFile, SaysWhereEachValueComesFrom) {
  const std::string toml = volta("-unheard_of\xff 1").toml;
  for (const std::string_view line :
       {"\nsms = 80  ", "  # more.config:3 -gpgpu_n_clusters, gpgpusim.config:2 -gpgpu_n_cores_per_cluster\n",
        "\nlatency = 152  ", "  # more.config:8 -gpgpu_l2_rop_latency: 160 core cycles, of which 8",
        "# GPGPU-Sim's default of -gpgpu_l1_banks_byte_interleaving",
        "#   trace.config:1 -unheard_of?: unknown, and left out\n",
        "\n#   trace.config:5 -specialized_unit_2: texture instructions"}) {
    EXPECT_TRUE(contains(toml, line)) << line << "\n" << toml;
  }
}

TEST(ImportedFile, HasTheLatenciesOfTracesOrOfPtx) {
  const MachineConfig traces = volta("-ptx_opcode_latency_fp 6,13,6,6,39").machine;
  EXPECT_EQ(traces.code, isa::CodeLevel::Machine);
  EXPECT_EQ(traces.latency[static_cast<std::size_t>(isa::LatencyClass::FpMad)].latency, 2U);
  const MachineConfig ptx =
      volta_of_ptx("-ptx_opcode_latency_fp 6,13,6,7,39 -ptx_opcode_initiation_fp 2,2,2,2,8").machine;
  EXPECT_EQ(ptx.code, isa::CodeLevel::Ptx);
  EXPECT_EQ(ptx.latency[static_cast<std::size_t>(isa::LatencyClass::FpMad)].latency, 7U);
  EXPECT_EQ(ptx.latency[static_cast<std::size_t>(isa::LatencyClass::FpDiv)].initiation, 8U);
  EXPECT_EQ(ptx.units[static_cast<std::size_t>(isa::Unit::Sp)].lanes, 16U);
  EXPECT_EQ(ptx.units[static_cast<std::size_t>(isa::Unit::Sfu)].lanes, 4U);
  EXPECT_EQ(ptx.tensor_multiply_adds, 4096U);
}

// --- what has no counterpart, and what is impossible
// --------------------------------------------------------

struct Told {
  std::string_view more;
  std::string_view line;  // of the warnings; empty: none about line 1 of the last file
};

TEST(ImportedConfig, TellsWhatItCannotExpress) {
  const std::vector<Told> all = {
      {"-gpgpu_n_cores_per_cluster 2",
       "trace.config:1:28: warning: -gpgpu_n_cores_per_cluster: the SMs of a cluster"},
      {"-gpgpu_n_cluster_ejection_buffer_size 32",
       "trace.config:1:39: warning: -gpgpu_n_cluster_ejection_buffer_size: replies wait in "
       "noc.output_buffer_flits alone"},
      {"-gpgpu_cache:dl2 S:32:128:24,L:B:m:L:H,A:192:4,32:0,32",
       "trace.config:1:38: warning: -gpgpu_cache:dl2: the index function H has no counterpart; xor"},
      {"-gpgpu_cache:dl1 S:16:128:64,L:T:m:L:H,A:512:8,16:0,32",
       "trace.config:1:38: warning: -gpgpu_cache:dl1: the index function H has no counterpart; xor"},
      {"-gpgpu_cache:dl1 S:4:128:64,F:T:m:L:L,A:512:8,16:0,32",
       "trace.config:1:29: warning: -gpgpu_cache:dl1: the least recently used line"},
      {"-gpgpu_cache:dl1 S:4:128:64,L:B:m:L:L,A:512:300,16:0,32",
       "trace.config:1:31: warning: -gpgpu_cache:dl1: stores are not kept in L1"},
      {"-gpgpu_cache:dl1 S:4:128:64,L:B:m:L:L,A:512:300,16:0,32",
       "trace.config:1:45: warning: -gpgpu_cache:dl1: 300 requests of an MSHR; here at most 255"},
      {"-gpgpu_memory_partition_indexing 4",
       "-gpgpu_memory_partition_indexing: a slice is not drawn at random"},
      {"-gpgpu_memory_partition_indexing 6",
       "-gpgpu_memory_partition_indexing: 6 has no counterpart; ipoly (2)"},
      {"-gpgpu_max_cycle 5000",
       "trace.config:1:18: warning: -gpgpu_max_cycle: `gpumux run` has this as an option"},
      {"-gpgpu_TB_launch_latency 10",
       "trace.config:1:26: warning: -gpgpu_TB_launch_latency: the launch of a kernel"},
      {"-gpgpu_sheduler gto",
       "trace.config:1:1: warning: -gpgpu_sheduler: unknown, and left out; did you mean "
       "-gpgpu_scheduler?"},
      {"-gpgpu_num_dp_units 2", "-gpgpu_num_dp_units: 2 units cannot be private to 4 schedulers"},
      {"-gpgpu_scheduler rrr", "-gpgpu_scheduler: rrr stays with a warp"},
      {"-gpgpu_shmem_size 131072",
       "-gpgpu_shmem_size: 131072 bytes of shared memory; the largest of "
       "-gpgpu_shmem_option gives 98304"},
      {"-gpgpu_shmem_option 0,9,96 -gpgpu_cache:dl1 S:64:128:4,L:T:m:L:L,A:512:8,16",
       "trace.config:1:23: warning: -gpgpu_shmem_option: 9 KB leave L1 no whole number of ways; here 16384 "
       "bytes"},
      {"-gpgpu_pipeline_widths 4,4,4,4,4,2,4,4,4,4,8,4,4",
       "trace.config:1:34: warning: -gpgpu_pipeline_widths: OC_EX_SP is 2"},
      {"-gpgpu_dram_timing_opt nbk=16:CCD=1:RRD=3:RCD=12:RAS=28:RP=12:RC=39:CL=12:WL=2:CDLR=3:WR=10",
       "trace.config:1:66: warning: -gpgpu_dram_timing_opt: dram.RAS + dram.RP = 40 exceeds dram.RC = 39"},
      {"-network_mode 1 -inter_config_file none.icnt",
       "trace.config:1:36: warning: -inter_config_file: there is no file none.icnt; a crossbar takes its "
       "place"},
      {"-dram_seperate_write_queue_enable 1 -dram_write_queue_size 128:108:32",
       "-dram_write_queue_size: reads and writes share the 64 places of dram.queue; writes drain from 64 to "
       "32"},
      {"-gpgpu_inst_fetch_throughput 3", "-gpgpu_inst_fetch_throughput: 3 fetches a cycle of 4 schedulers"},
      {"-gpgpu_inst_fetch_throughput 2", ""},
      {"-gpgpu_stack_size_limit 1024 -visualizer_enabled 0 -gpgpu_max_cycle 0", ""},
  };
  for (const Told& told : all) {
    const std::string lines = all_warnings(volta(told.more));
    if (told.line.empty()) {
      EXPECT_FALSE(contains(lines, "trace.config:1:")) << told.more << "\n" << lines;
    } else {
      EXPECT_TRUE(contains(lines, told.line)) << told.more << "\n" << lines;
    }
  }
}

TEST(ImportedConfig, RefusesWhatMakesTheMachineImpossible) {
  const std::vector<Told> all = {
      {"-gpgpu_n_clusters many",
       "trace.config:1:19: error: -gpgpu_n_clusters: 'many' is no whole number up to 4294967295"},
      {"-gpgpu_n_clusters 0", "trace.config:1:19: error: 'sms' is 0; it must be 1 to 1024 SMs"},
      {"-gpgpu_num_sched_per_core 8",
       "trace.config:1:27: error: 'sm.schedulers' is 8; it must be 1 to 4 schedulers"},
      {"-gpgpu_shader_core_pipeline 2048:64",
       "trace.config:1:34: error: -gpgpu_shader_core_pipeline: warps of 64 lanes; here a warp has 32"},
      {"-gpgpu_cache:dl1 S:4:256:32,L:T:m:L:L,A:512:8,16",
       "trace.config:1:22: error: -gpgpu_cache:dl1: lines of 256 bytes; lines of L1 have 128 here"},
      {"-gpgpu_cache:dl2 S:32:256:12,L:B:m:L:P,A:192:4,32",
       "trace.config:1:23: error: -gpgpu_cache:dl2: lines of 256 bytes; lines of L2 have 128 here"},
      {"-gpgpu_cache:dl1 S:4:128,L:T",
       "trace.config:1:18: error: -gpgpu_cache:dl1: 'S:4:128,L:T' is no cache; expected"},
      {"-gpgpu_cache:dl1 S:4:128:64,L:Q:m:L:L,A:512:8,16",
       "trace.config:1:31: error: -gpgpu_cache:dl1: 'Q' is none of R, B, T, E, L"},
      {"-gpgpu_cache:dl1 S:0:128:64,L:T:m:L:L,A:512:8,16",
       "trace.config:1:20: error: -gpgpu_cache:dl1: 0 is not from 1 to"},
      {"-gpgpu_clock_domains 1132:1132:850",
       "trace.config:1:22: error: -gpgpu_clock_domains: '1132:1132:850' has 3 clocks"},
      {"-gpgpu_clock_domains 1132:x:1132:850",
       "trace.config:1:27: error: -gpgpu_clock_domains: 'x' is no clock in MHz"},
      {"-gpgpu_scheduler fifo", "trace.config:1:18: error: unknown scheduler of -gpgpu_scheduler 'fifo'"},
      {"-gpgpu_scheduler two_level_active:8",
       "trace.config:1:18: error: -gpgpu_scheduler: 'two_level_active' is followed"},
      {"-gpgpu_flush_l1_cache 7", "trace.config:1:23: error: -gpgpu_flush_l1_cache: '7' is neither 0 nor 1"},
      {"-gpgpu_pipeline_widths 4,4",
       "trace.config:1:24: error: -gpgpu_pipeline_widths: 2 widths; 7, 11 or 13 are expected"},
      {"-network_mode 3", "trace.config:1:15: error: -network_mode: 3 is neither 1"},
      {"-gpgpu_mem_addr_mapping dramid@8;RRXX",
       "trace.config:1:25: error: -gpgpu_mem_addr_mapping: dram.address_map: 'X'"},
      {"-gpgpu_dram_timing_opt nbk=8:CCD=1:RRD=3:RCD=12:RAS=28:RP=12:RC=40:CL=12:WL=2:CDLR=3:WR=10",
       "-gpgpu_mem_addr_mapping: its letters B are of 16 banks; -gpgpu_dram_timing_opt has 8"},
      {"-gpgpu_dram_timing_opt nbk=16:FAW=3",
       "trace.config:1:31: error: -gpgpu_dram_timing_opt: 'FAW=3' is none of its"},
      {"-gpgpu_dram_timing_opt nbk=16:CCD=1",
       "trace.config:1:24: error: -gpgpu_dram_timing_opt: RRD is not given"},
      {"-gpgpu_dram_timing_opt nbk=16:CCD=1:RRD=3:RCD=29:RAS=28:RP=12:RC=40:CL=12:WL=2:CDLR=3:WR=10",
       "trace.config:1:47: error: dram.RCD = 29 exceeds dram.RAS = 28"},
      {"-gpgpu_inst_fetch_throughput 0",
       "trace.config:1:30: error: -gpgpu_inst_fetch_throughput: nothing would be fetched"},
      {"-gpgpu_operand_collector_num_units_gen 0",
       "trace.config:1:40: error: -gpgpu_operand_collector_num_units_gen: no operand collector is there"},
      {"-gpgpu_unified_l1d_size 0",
       "trace.config:1:25: error: -gpgpu_unified_l1d_size: -gpgpu_adaptive_cache_config 1 needs "
       "-gpgpu_unified_l1d_size, the size of the array in KB"},
      {"-specialized_unit_1 1,4",
       "trace.config:1:21: error: -specialized_unit_1: '1,4' is no unit; expected ENABLED"},
      {"-gpgpu_dram_scheduler 2", "trace.config:1:23: error: -gpgpu_dram_scheduler: 2 is neither 0"},
      {"-trace_opcode_latency_initiation_sp 2",
       "trace.config:1:37: error: -trace_opcode_latency_initiation_sp: '2' is a list"},
      {"-gpgpu_cache:dl1 S:4:128:64,L:T:m:L:L,A:0:8,16",
       "trace.config:1:41: error: 'l1.mshr_entries' is 0; it must be 1"},
  };
  for (const Told& told : all)
    EXPECT_TRUE(contains(refusal_of({kSubCores, kVolta, kVoltaTraces, told.more}), told.line))
        << told.more << "\n"
        << refusal_of({kSubCores, kVolta, kVoltaTraces, told.more});
}

TEST(ImportedConfig, NamesTheOptionThatNeedsAnother) {
  EXPECT_TRUE(contains(
      refusal_of({kSubCores, "-gpgpu_cache:dl1 S:4:128:64,L:T:m:L:L,A:512:8,16"}),
      "gpgpusim.config:12:30: error: -gpgpu_adaptive_cache_config: -gpgpu_adaptive_cache_config 1 needs"));
}

TEST(ImportedConfig, FetchesForSoManyWarpsOfAnSmInACycle) {
  const auto interval = [](std::string_view more) { return volta(more).machine.sm.fetch_interval; };
  EXPECT_EQ(interval("-gpgpu_inst_fetch_throughput 1"), 4U);
  EXPECT_EQ(interval("-gpgpu_inst_fetch_throughput 2"), 2U);
  EXPECT_EQ(interval("-gpgpu_inst_fetch_throughput 4"), 1U);
  EXPECT_EQ(interval("-gpgpu_inst_fetch_throughput 8"), 1U);
  EXPECT_EQ(interval("-gpgpu_inst_fetch_throughput 1 -gpgpu_num_sched_per_core 2"), 2U);
  EXPECT_EQ(volta().machine.sm.fetch_width, 2U);
}

TEST(ImportedConfig, HasGpgpusimsDefaultsForWhatItDoesNotSay) {
  const MachineConfig machine = import_texts({"-gpgpu_n_clusters 4"}).machine;
  EXPECT_EQ(machine.sms, 12U);
  EXPECT_EQ(machine.clocks.core, 500);
  EXPECT_EQ(machine.sm.fetch_interval, 1U);  // one scheduler
  EXPECT_EQ(machine.shared.latency, 3U);
  EXPECT_FALSE(machine.l1.caches_global);
  EXPECT_EQ(machine.dram.queue, 4096U);
}

TEST(ImportedConfig, HasFermisIndexWhereItIsOf32Or64Sets) {
  for (const char* sets : {"32", "64"})
    EXPECT_EQ(volta(std::string("-gpgpu_cache:dl1 S:") + sets + ":128:4,L:T:m:L:H,A:512:8,16:0,32")
                  .machine.l1.index,
              L1Index::Fermi)
        << sets;
}

TEST(ImportedConfig, TakesTheLatencyOfL2InItsOwnCycles) {
  EXPECT_EQ(volta("-gpgpu_clock_domains 1000:2000:500:850").machine.l2.latency, 78U);  // (160 - 8 / 2) / 2
}

TEST(ImportedConfig, OfOlderVersionsHasFewerLettersAndWidths) {
  const ImportedMachine imported = volta_of_ptx(
      "-gpgpu_adaptive_cache_config 0 -gpgpu_cache:dl1 64:128:6,L:L:m:N,A:128:8,8 -gpgpu_pipeline_widths "
      "2,1,1,2,1,1,3 "
      "-gpgpu_dram_timing_opt 16:2:6:12:28:12:40:12:4:5:12 -gpgpu_perfect_inst_const_cache 0 "
      "-gpgpu_cache:il1 4:256:4,L:R:f:N:L,A:2:32,4 -gpgpu_const_cache:l1 64:64:2,L:R:f:N:L,A:2:32,4");
  EXPECT_EQ(imported.machine.l1.bytes, 49152U);
  EXPECT_EQ(imported.machine.l1.write, L1Write::Evict);
  EXPECT_EQ(imported.machine.sm.result_buses, 3U);
  EXPECT_EQ(imported.machine.dram.WR, 12U);
  EXPECT_EQ(imported.machine.dram.bank_groups, 1U);
  EXPECT_EQ(imported.machine.icache.bytes, 4096U);
  EXPECT_EQ(imported.machine.icache.line_bytes, 128U);
  EXPECT_TRUE(contains(all_warnings(imported),
                       "-gpgpu_cache:il1: lines of 256 bytes; here of 128, and more of them"));
}

TEST(ImportedConfig, HasAsManyCollectorsAsCanBeBookedAhead) {
  const std::string_view divisions =
      "-gpgpu_operand_collector_num_units_gen 32 -ptx_opcode_initiation_dp 8,8,8,8,130";
  const ImportedMachine imported = volta_of_ptx(divisions);
  EXPECT_EQ(imported.machine.sm.collectors_per_scheduler, 3U);
  EXPECT_TRUE(contains(all_warnings(imported),
                       "-gpgpu_operand_collector_num_units_gen: 8 collectors of a scheduler; "
                       "here at most 3"));
  // The machine takes no more.
  EXPECT_NO_THROW((void)parse_machine(imported.toml, "m.toml", {"sm.collectors_per_scheduler=3"}));
  EXPECT_THROW((void)parse_machine(imported.toml, "m.toml", {"sm.collectors_per_scheduler=4"}), UserError);
  const ImportedMachine long_ones = volta_of_ptx("-ptx_opcode_initiation_dp 8,8,8,8,1000");
  EXPECT_FALSE(long_ones.machine.sm.collectors_wait);
  EXPECT_TRUE(contains(all_warnings(long_ones), "do not wait in collectors here"));
}

TEST(ImportedConfig, KnowsTheSchedulersOfGpgpusim) {
  const SmConfig two_level = volta("-gpgpu_scheduler two_level_active:6:0:1").machine.sm;
  EXPECT_EQ(two_level.warp_scheduler, WarpScheduler::tlrr);
  EXPECT_EQ(two_level.ready_queue, 6U);
  EXPECT_EQ(volta("-gpgpu_scheduler old").machine.sm.warp_scheduler, WarpScheduler::oldest);
  const SmConfig limited = volta("-gpgpu_scheduler warp_limiting:2:3").machine.sm;
  EXPECT_EQ(limited.warp_scheduler, WarpScheduler::gto);
  EXPECT_EQ(limited.warp_limit, 3U);
  EXPECT_EQ(limited.warp_limit_per, WarpLimitPer::Scheduler);
}

TEST(ImportedConfig, ReadsTheNetworksFileBesideItself) {
  const test::TemporaryFolder folder;
  const auto imported = [&](std::string_view network) {
    write_file_atomically(folder.path() + "/n.icnt", network);
    return import_texts({kSubCores, kVolta, "-network_mode 1 -inter_config_file n.icnt"},
                        folder.path() + "/");
  };
  const ImportedMachine crossbar = imported(kCrossbar);
  EXPECT_EQ(crossbar.machine.noc.input_buffer_flits, 256U);
  EXPECT_EQ(crossbar.machine.noc.output_buffer_flits, 64U);
  EXPECT_FALSE(contains(all_warnings(crossbar), "-inter_config_file"));
  const ImportedMachine mesh = imported("topology = mesh; n = 2; vc_buf_size = 16;");
  EXPECT_EQ(mesh.machine.noc.flit_bytes, 32U);
  EXPECT_EQ(mesh.machine.noc.input_buffer_flits, 9U);
  EXPECT_EQ(mesh.machine.noc.output_buffer_flits, 16U);
  EXPECT_TRUE(contains(all_warnings(mesh), "topology mesh of 2 dimensions; a crossbar takes its place"));
}

TEST(ImportedConfig, WithoutAnAddressMapRotatesBanks) {
  const ImportedMachine imported = import_texts({"-gpgpu_n_clusters 4 -gpgpu_mem_address_mask 1"});
  EXPECT_EQ(imported.machine.dram.address_map, "");
  EXPECT_TRUE(contains(all_warnings(imported),
                       "gpgpusim.config:1:45: warning: -gpgpu_mem_address_mask: the maps that"));
}

}  // namespace
}  // namespace gpumux::arch
