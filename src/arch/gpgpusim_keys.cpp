// The table of GPGPU-Sim's and Accel-Sim's options. docs/accel-sim-keys.md documents the same options.
#include <algorithm>
#include <array>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "arch/gpgpusim_options.hpp"

namespace gpumux::arch {
namespace {

constexpr GpgpusimKey taken(std::string_view name, std::string_view default_value) {
  return {name, GpgpusimUse::Taken, default_value, "", false};
}
constexpr GpgpusimKey taken_flag(std::string_view name, std::string_view default_value) {
  return {name, GpgpusimUse::Taken, default_value, "", true};
}
constexpr GpgpusimKey same(std::string_view name, std::string_view value, std::string_view instead) {
  return {name, GpgpusimUse::Same, value, instead, false};
}
constexpr GpgpusimKey same_flag(std::string_view name, std::string_view value, std::string_view instead) {
  return {name, GpgpusimUse::Same, value, instead, true};
}
constexpr GpgpusimKey no_effect(std::string_view name, std::string_view about) {
  return {name, GpgpusimUse::NoEffect, "", about, false};
}
constexpr GpgpusimKey no_effect_flag(std::string_view name, std::string_view about) {
  return {name, GpgpusimUse::NoEffect, "", about, true};
}
constexpr GpgpusimKey missing(std::string_view name, std::string_view instead) {
  return {name, GpgpusimUse::Missing, "", instead, false};
}

// Option names of versions before 4.0, with the current names.
constexpr std::array<std::pair<std::string_view, std::string_view>, 24> kOldNames = {{
    {"-Elimnate_rw_turnaround", "-dram_elimnate_rw_turnaround"},
    {"-Seperate_Write_Queue_Enable", "-dram_seperate_write_queue_enable"},
    {"-Write_Queue_Size", "-dram_write_queue_size"},
    {"-adaptive_cache_config", "-gpgpu_adaptive_cache_config"},
    {"-arbiter_algo", "-icnt_arbiter_algo"},
    {"-dual_bus_interface", "-dram_dual_bus_interface"},
    {"-enable_specialized_operand_collector", "-gpgpu_enable_specialized_operand_collector"},
    {"-gmem_skip_L1D", "-gpgpu_gmem_skip_L1D"},
    {"-inct_grant_cycles", "-icnt_grant_cycles"},
    {"-inct_in_buffer_limit", "-icnt_in_buffer_limit"},
    {"-inct_out_buffer_limit", "-icnt_out_buffer_limit"},
    {"-inct_subnets", "-icnt_subnets"},
    {"-inct_verbose", "-icnt_verbose"},
    {"-inst_fetch_throughput", "-gpgpu_inst_fetch_throughput"},
    {"-l1_banks", "-gpgpu_l1_banks"},
    {"-l1_latency", "-gpgpu_l1_latency"},
    {"-mem_unit_ports", "-gpgpu_mem_unit_ports"},
    {"-memory_partition_indexing", "-gpgpu_memory_partition_indexing"},
    {"-perf_sim_memcpy", "-gpgpu_perf_sim_memcpy"},
    {"-perfect_inst_const_cache", "-gpgpu_perfect_inst_const_cache"},
    {"-rop_latency", "-gpgpu_l2_rop_latency"},
    {"-simple_dram_model", "-gpgpu_simple_dram_model"},
    {"-smem_latency", "-gpgpu_smem_latency"},
    {"-sub_core_model", "-gpgpu_sub_core_model"},
}};

constexpr std::string_view kStatistics = "statistics";
constexpr std::string_view kPower = "power model";
constexpr std::string_view kCheckpoints = "checkpoints";
constexpr std::string_view kFiles = "files and programs of the simulator";
constexpr std::string_view kLimits = "limits that only refuse a program, and answers to its questions";
constexpr std::string_view kRun = "`gpumux run` has this as an option of a run: --cycles or --instructions";
constexpr std::string_view kChiplets = "the GPU is one chip";
constexpr std::string_view kRequestCoalescer = "requests of several SMs are not merged on their way to L2";

std::vector<GpgpusimKey> make_keys() {
  std::vector<GpgpusimKey> keys = {
      // the GPU
      taken("-gpgpu_n_clusters", "10"),
      taken("-gpgpu_n_cores_per_cluster", "3"),
      taken("-gpgpu_clock_domains", "500.0:2000.0:2000.0:2000.0"),
      taken("-gpgpu_compute_capability_major", "7"),
      taken("-gpgpu_compute_capability_minor", "0"),
      taken("-gpgpu_ptx_force_max_capability", "0"),
      taken("-gpgpu_kernel_launch_latency", "0"),
      taken("-gpgpu_max_concurrent_kernel", "32"),
      taken_flag("-gpgpu_perf_sim_memcpy", "1"),
      taken("-gpgpu_heap_size_limit", "8388608"),
      same("-gpgpu_TB_launch_latency", "0",
           "the launch of a kernel does not take longer the more blocks it has; sm.block_launch_latency "
           "delays "
           "each block on its SM instead"),
      missing("-cdp_latency", "launches by kernels take no time of their own (D24 of docs/deviations.md)"),
      no_effect_flag("-gpgpu_cdp_enabled", "launches by kernels, which are always possible"),
      missing("-gpgpu_simt_core_sim_order", "SMs are looked at in the order of their numbers"),
      same_flag("-gpgpu_concurrent_kernel_sm", "0",
                "which kernels share an SM is the matter of a run's policy (docs/policies.md)"),
      same("-gpgpu_simd_model", "1", "lanes that diverged meet at the immediate post-dominator"),
      same("-gpgpu_ptx_sim_mode", "0", "`gpumux run` always simulates times"),
      same_flag("-gpgpu_ptx_convert_to_ptxplus", "0", "PTX is not replaced by PTXPlus"),
      same("-gpgpu_n_chiplet_partition", "1", kChiplets),
      missing("-inter_chiplet_queue_size", kChiplets),
      missing("-gpgpu_chiplet_interleave", kChiplets),
      // SMs
      taken("-gpgpu_shader_core_pipeline", "1024:32"),
      taken("-gpgpu_shader_registers", "8192"),
      taken("-gpgpu_shader_cta", "32"),
      taken("-gpgpu_num_sched_per_core", "1"),
      taken("-gpgpu_scheduler", "gto"),
      taken("-gpgpu_max_insn_issue_per_warp", "2"),
      taken_flag("-gpgpu_dual_issue_diff_exec_units", "1"),
      taken("-gpgpu_inst_fetch_throughput", "1"),
      taken("-gpgpu_pipeline_widths", "1,1,1,1,1,1,1,1,1,1,1,1,1"),
      taken_flag("-gpgpu_sub_core_model", "0"),
      taken_flag("-gpgpu_enable_specialized_operand_collector", "1"),
      taken("-gpgpu_num_reg_banks", "8"),
      taken("-gpgpu_reg_file_port_throughput", "1"),
      same_flag("-gpgpu_reg_bank_use_warp_id", "1",
                "the registers of different warps begin in different banks"),
      missing("-gpgpu_opndcoll_model", "operand collectors are of one kind"),
      taken("-gpgpu_num_sp_units", "1"),
      taken("-gpgpu_num_int_units", "0"),
      taken("-gpgpu_num_dp_units", "0"),
      taken("-gpgpu_num_sfu_units", "1"),
      taken("-gpgpu_tensor_core_avail", "0"),
      taken("-gpgpu_num_tensor_core_units", "0"),
      no_effect("-gpgpu_num_mem_units", "nothing, in GPGPU-Sim either"),
      same("-gpgpu_mem_unit_ports", "1", "the load/store unit takes one instruction at a time"),
      taken("-ptx_opcode_latency_int", "1,1,19,25,145,32"),
      taken("-ptx_opcode_initiation_int", "1,1,4,4,32,4"),
      taken("-ptx_opcode_latency_fp", "1,1,1,1,30"),
      taken("-ptx_opcode_initiation_fp", "1,1,1,1,5"),
      taken("-ptx_opcode_latency_dp", "8,8,8,8,335"),
      taken("-ptx_opcode_initiation_dp", "8,8,8,8,130"),
      taken("-ptx_opcode_latency_sfu", "8"),
      taken("-ptx_opcode_initiation_sfu", "8"),
      taken("-ptx_opcode_latency_tesnor", "64"),
      taken("-ptx_opcode_initiation_tensor", "64"),
      taken("-trace_opcode_latency_initiation_int", "4,1"),
      taken("-trace_opcode_latency_initiation_sp", "4,1"),
      taken("-trace_opcode_latency_initiation_dp", "4,1"),
      taken("-trace_opcode_latency_initiation_sfu", "4,1"),
      taken("-trace_opcode_latency_initiation_tensor", "4,1"),
      // L1, shared memory, read-only caches
      taken("-gpgpu_cache:dl1", "none"),
      taken("-gpgpu_l1_cache_write_ratio", "0"),
      taken("-gpgpu_l1_latency", "1"),
      taken("-gpgpu_l1_banks", "1"),
      taken("-gpgpu_l1_banks_byte_interleaving", "32"),
      same("-gpgpu_l1_banks_hashing_function", "0", "banks of L1 follow one another with the address"),
      taken_flag("-gpgpu_gmem_skip_L1D", "0"),
      taken_flag("-gpgpu_flush_l1_cache", "0"),
      taken_flag("-gpgpu_adaptive_cache_config", "0"),
      taken("-gpgpu_unified_l1d_size", "0"),
      taken("-gpgpu_shmem_option", "0"),
      taken("-gpgpu_cache:dl1PrefL1", "none"),
      taken("-gpgpu_cache:dl1PrefShared", "none"),
      taken("-gpgpu_coalesce_arch", "13"),
      taken("-gpgpu_shmem_size", "16384"),
      taken("-gpgpu_shmem_sizeDefault", "16384"),
      taken("-gpgpu_shmem_size_PrefL1", "16384"),
      taken("-gpgpu_shmem_size_PrefShared", "16384"),
      taken("-gpgpu_smem_latency", "3"),
      taken("-gpgpu_shmem_num_banks", "16"),
      same_flag("-gpgpu_shmem_limited_broadcast", "0",
                "a pass over the banks of shared memory serves any number of words that several lanes read"),
      same("-gpgpu_shmem_warp_parts", "1", "all lanes of a warp access shared memory together"),
      taken("-gpgpu_cache:il1", "N:4:256:4,L:R:f:N:L,A:2:32,4"),
      taken("-gpgpu_const_cache:l1", "N:64:64:2,L:R:f:N:L,A:2:32,4"),
      taken("-gpgpu_tex_cache:l1", "N:8:128:5,L:R:m:N:L,F:128:4,128:2"),
      taken_flag("-gpgpu_perfect_inst_const_cache", "0"),
      missing("-gpgpu_n_ldst_response_buffer_size", "L1 takes a reply as soon as it arrives"),
      same_flag("-gpgpu_perfect_mem", "0", "memory always takes its time"),
      same_flag("-gpgpu_local_mem_map", "1", "local memory of neighbouring threads lies side by side"),
      // network
      taken("-network_mode", "1"),
      taken("-inter_config_file", "mesh"),
      taken("-icnt_flit_size", "32"),
      taken("-icnt_in_buffer_limit", "64"),
      taken("-icnt_out_buffer_limit", "64"),
      same("-icnt_subnets", "2", "requests and replies have a network each"),
      same("-icnt_arbiter_algo", "1", "ports of the network serve their senders in turn"),
      same("-icnt_grant_cycles", "1", "ports of the network choose in every cycle"),
      missing("-gpgpu_n_cluster_ejection_buffer_size", "replies wait in noc.output_buffer_flits alone"),
      // L2
      taken("-gpgpu_n_mem", "8"),
      taken("-gpgpu_n_sub_partition_per_mchannel", "1"),
      taken("-gpgpu_cache:dl2", "N:64:128:8,L:B:m:N:L,A:16:4,4"),
      taken("-gpgpu_l2_rop_latency", "85"),
      taken("-gpgpu_dram_partition_queues", "8:8:8:8"),
      taken("-gpgpu_memory_partition_indexing", "0"),
      same_flag("-gpgpu_cache:dl2_texture_only", "0", "L2 caches all data"),
      same_flag("-gpgpu_flush_l2_cache", "0", "L2 keeps its lines when a kernel ends"),
      same_flag("-l2_ideal", "0", "L2 has misses"),
      same_flag("-gpgpu_lrc_enabled", "0", kRequestCoalescer),
      missing("-gpgpu_lrc_max_entries", kRequestCoalescer),
      missing("-gpgpu_lrc_max_merged", kRequestCoalescer),
      // DRAM
      taken("-gpgpu_mem_addr_mapping", ""),
      taken("-gpgpu_mem_address_mask", "0"),
      taken("-gpgpu_n_mem_per_ctrlr", "1"),
      taken("-gpgpu_dram_buswidth", "4"),
      taken("-gpgpu_dram_burst_length", "4"),
      taken("-dram_data_command_freq_ratio", "2"),
      taken("-gpgpu_dram_timing_opt", "4:2:8:12:21:13:34:9:4:5:13:1:0:0"),
      taken("-gpgpu_dram_scheduler", "1"),
      taken("-gpgpu_frfcfs_dram_sched_queue_size", "0"),
      taken("-gpgpu_dram_return_queue_size", "0"),
      taken("-dram_latency", "30"),
      taken("-dram_dual_bus_interface", "0"),
      taken("-dram_bnkgrp_indexing_policy", "0"),
      taken_flag("-dram_seperate_write_queue_enable", "0"),
      taken("-dram_write_queue_size", "32:28:16"),
      same("-dram_bnk_indexing_policy", "0",
           "the bank's number is that of the address map, without bits of the row"),
      same_flag("-dram_elimnate_rw_turnaround", "0", "the data bus takes its time to turn around"),
      same_flag("-gpgpu_simple_dram_model", "0", "banks, rows and buses of DRAM are always simulated"),
      missing("-gpgpu_simple_dram_clock_multiplier", "banks, rows and buses of DRAM are always simulated"),
      // options of a run, not of the machine
      same("-gpgpu_max_cycle", "0", kRun),
      same("-gpgpu_max_insn", "0", kRun),
      same("-gpgpu_max_cta", "0", kRun),
      same("-gpgpu_max_completed_cta", "0", kRun),
      same_flag("-gpgpu_ignore_resources_limitation", "0",
                "a kernel whose block needs more than an SM has is refused"),
      no_effect_flag("-gpgpu_deadlock_detect", "the watchdog (watchdog_cycles)"),
      no_effect("-gpgpu_occupancy_sm_number",
                "the part that ptxas counts registers for; gpumux counts its own"),
      no_effect("-trace", "the traces to run"),
  };
  const auto all = [&keys](std::string_view about, const auto& names) {
    for (const std::string_view name : names) keys.push_back(no_effect(name, about));
  };
  const auto all_flags = [&keys](std::string_view about, const auto& names) {
    for (const std::string_view name : names) keys.push_back(no_effect_flag(name, about));
  };
  all(kLimits, std::array{"-gpgpu_stack_size_limit", "-gpgpu_runtime_sync_depth_limit",
                          "-gpgpu_registers_per_block", "-gpgpu_runtime_pending_launch_count_limit",
                          "-gpgpu_shmem_per_block", "-gpgpu_num_cta_barriers"});
  all(kStatistics,
      std::array{"-gpgpu_memlatency_stat", "-gpgpu_runtime_stat", "-gpgpu_cflog_interval",
                 "-gpgpu_warpdistro_shader", "-gpgpu_warp_issue_shader", "-liveness_message_freq",
                 "-ptx_line_stats_filename", "-gpgpu_ptx_instruction_classification",
                 "-visualizer_outputfile", "-visualizer_zlevel", "-icnt_verbose", "-trace_components",
                 "-trace_sampling_core", "-trace_sampling_memory_partition"});
  all_flags(kStatistics, std::array{"-enable_ptx_file_line_stats", "-visualizer_enabled", "-trace_enabled"});
  all(kPower, std::array{"-accelwattch_xml_file", "-gpuwattch_xml_file", "-hw_perf_bench_name",
                         "-hw_perf_file_name", "-n_regfile_gating_group", "-power_simulation_mode",
                         "-power_trace_zlevel", "-steady_state_definition"});
  all_flags(kPower, std::array{"-aggregate_power_stats",
                               "-dvfs_enabled",
                               "-gpgpu_clock_gated_lanes",
                               "-gpgpu_clock_gated_reg_file",
                               "-power_per_cycle_dump",
                               "-power_simulation_enabled",
                               "-power_trace_enabled",
                               "-steady_power_levels_enabled",
                               "-accelwattch_hybrid_perfsim_CC_ACC",
                               "-accelwattch_hybrid_perfsim_CYCLES",
                               "-accelwattch_hybrid_perfsim_DRAM_RD",
                               "-accelwattch_hybrid_perfsim_DRAM_WR",
                               "-accelwattch_hybrid_perfsim_L1_RH",
                               "-accelwattch_hybrid_perfsim_L1_RM",
                               "-accelwattch_hybrid_perfsim_L1_WH",
                               "-accelwattch_hybrid_perfsim_L1_WM",
                               "-accelwattch_hybrid_perfsim_L2_RH",
                               "-accelwattch_hybrid_perfsim_L2_RM",
                               "-accelwattch_hybrid_perfsim_L2_WH",
                               "-accelwattch_hybrid_perfsim_L2_WM",
                               "-accelwattch_hybrid_perfsim_NOC",
                               "-accelwattch_hybrid_perfsim_NUM_SM_IDLE",
                               "-accelwattch_hybrid_perfsim_PIPE_DUTY",
                               "-accelwattch_hybrid_perfsim_SHARED_ACC",
                               "-accelwattch_hybrid_perfsim_VOLTAGE"});
  all(kCheckpoints,
      std::array{"-checkpoint_CTA", "-checkpoint_CTA_t", "-checkpoint_insn_Y", "-checkpoint_kernel",
                 "-checkpoint_option", "-resume_CTA", "-resume_kernel", "-resume_option"});
  all(kFiles, std::array{"-gpgpu_ptx_inst_debug_file", "-gpgpu_ptx_inst_debug_thread_uid"});
  all_flags(kFiles, std::array{"-gpgpu_experimental_lib_support", "-gpgpu_mem_addr_test",
                               "-gpgpu_ptx_inst_debug_to_file", "-gpgpu_ptx_save_converted_ptxplus",
                               "-gpgpu_ptx_use_cuobjdump", "-keep", "-save_embedded_ptx"});

  for (const auto& [name, default_value] :
       std::initializer_list<std::pair<std::string_view, std::string_view>>{
           {"-gpgpu_operand_collector_num_units_sp", "4"},
           {"-gpgpu_operand_collector_num_in_ports_sp", "1"},
           {"-gpgpu_operand_collector_num_out_ports_sp", "1"},
           {"-gpgpu_operand_collector_num_units_dp", "0"},
           {"-gpgpu_operand_collector_num_in_ports_dp", "0"},
           {"-gpgpu_operand_collector_num_out_ports_dp", "0"},
           {"-gpgpu_operand_collector_num_units_sfu", "4"},
           {"-gpgpu_operand_collector_num_in_ports_sfu", "1"},
           {"-gpgpu_operand_collector_num_out_ports_sfu", "1"},
           {"-gpgpu_operand_collector_num_units_int", "0"},
           {"-gpgpu_operand_collector_num_in_ports_int", "0"},
           {"-gpgpu_operand_collector_num_out_ports_int", "0"},
           {"-gpgpu_operand_collector_num_units_tensor_core", "4"},
           {"-gpgpu_operand_collector_num_in_ports_tensor_core", "1"},
           {"-gpgpu_operand_collector_num_out_ports_tensor_core", "1"},
           {"-gpgpu_operand_collector_num_units_mem", "2"},
           {"-gpgpu_operand_collector_num_in_ports_mem", "1"},
           {"-gpgpu_operand_collector_num_out_ports_mem", "1"},
           {"-gpgpu_operand_collector_num_units_gen", "0"},
           {"-gpgpu_operand_collector_num_in_ports_gen", "0"},
           {"-gpgpu_operand_collector_num_out_ports_gen", "0"},
           {"-specialized_unit_1", "0,4,4,4,4,BRA"},
           {"-trace_opcode_latency_initiation_spec_op_1", "4,4"},
           {"-specialized_unit_2", "0,4,4,4,4,BRA"},
           {"-trace_opcode_latency_initiation_spec_op_2", "4,4"},
           {"-specialized_unit_3", "0,4,4,4,4,BRA"},
           {"-trace_opcode_latency_initiation_spec_op_3", "4,4"},
           {"-specialized_unit_4", "0,4,4,4,4,BRA"},
           {"-trace_opcode_latency_initiation_spec_op_4", "4,4"},
           {"-specialized_unit_5", "0,4,4,4,4,BRA"},
           {"-specialized_unit_6", "0,4,4,4,4,BRA"},
           {"-specialized_unit_7", "0,4,4,4,4,BRA"},
           {"-specialized_unit_8", "0,4,4,4,4,BRA"}}) {
    keys.push_back(taken(name, default_value));
  }
  all("units that no instruction of a trace goes to",
      std::array{"-trace_opcode_latency_initiation_spec_op_5", "-trace_opcode_latency_initiation_spec_op_6",
                 "-trace_opcode_latency_initiation_spec_op_7", "-trace_opcode_latency_initiation_spec_op_8"});
  std::sort(keys.begin(), keys.end(),
            [](const GpgpusimKey& a, const GpgpusimKey& b) { return a.name < b.name; });
  return keys;
}

}  // namespace

const std::vector<GpgpusimKey>& gpgpusim_keys() {
  static const std::vector<GpgpusimKey> kKeys = make_keys();
  return kKeys;
}

const GpgpusimKey* find_gpgpusim_key(std::string_view name) {
  const std::vector<GpgpusimKey>& keys = gpgpusim_keys();
  const auto old = std::find_if(kOldNames.begin(), kOldNames.end(),
                                [name](const auto& names) { return names.first == name; });
  if (old != kOldNames.end()) name = old->second;
  const auto found =
      std::lower_bound(keys.begin(), keys.end(), name,
                       [](const GpgpusimKey& key, std::string_view wanted) { return key.name < wanted; });
  return found != keys.end() && found->name == name ? &*found : nullptr;
}

}  // namespace gpumux::arch
