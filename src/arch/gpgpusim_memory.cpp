// Imports GPGPU-Sim's options of the GPU as a whole, its network, L2, DRAM and run time.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "arch/address_bits.hpp"
#include "arch/gpgpusim_import.hpp"
#include "arch/messages.hpp"
#include "base/files.hpp"
#include "base/text.hpp"
#include "base/types.hpp"

namespace gpumux::arch {
namespace {

/// The settings in a network's file: "name = value;", with comments after //.
std::map<std::string, std::string> network_settings(std::string_view text) {
  std::map<std::string, std::string> settings;
  std::string without_comments;
  for (const std::string& line : split(text, '\n')) without_comments += line.substr(0, line.find("//")) + ' ';
  for (const std::string& setting : split(without_comments, ';')) {
    const std::size_t equals = setting.find('=');
    if (equals == std::string::npos) continue;
    settings[std::string(trim(std::string_view(setting).substr(0, equals)))] =
        std::string(trim(std::string_view(setting).substr(equals + 1)));
  }
  return settings;
}

std::string without_prefix(std::string_view message) {
  constexpr std::string_view kPrefix = "error: ";
  if (message.starts_with(kPrefix)) message.remove_prefix(kPrefix.size());
  return std::string(message);
}

}  // namespace

void GpgpusimImport::gpu() {
  constexpr std::string_view kClusters = "-gpgpu_n_clusters";
  constexpr std::string_view kCores = "-gpgpu_n_cores_per_cluster";
  const std::uint64_t clusters = whole(kClusters);
  const std::uint64_t cores = whole(kCores);
  constexpr std::uint64_t kMost = 0xffff'ffffU;
  set_number("sms", std::min(clusters * cores, kMost), {kClusters, kCores});
  if (cores > 1)
    warn(kCores, "the SMs of a cluster share a port of the network there; here each has its own");
  set_number("runtime.blocks_per_cycle", clusters, {kClusters}, "a block to each cluster");

  constexpr std::string_view kClocks = "-gpgpu_clock_domains";
  const GpgpusimOption found = option(kClocks);
  const std::vector<GpgpusimPart> parts = found.parts(":");
  constexpr std::array kOurs = {"clocks.core_mhz", "clocks.noc_mhz", "clocks.l2_mhz", "clocks.dram_mhz"};
  if (parts.size() != kOurs.size()) {
    throw UserError(found.at(), fmt::format("{}: '{}' has {} clocks; expected CORE:NETWORK:L2:DRAM in MHz",
                                            kClocks, found.value, parts.size()));
  }
  std::array<double, kOurs.size()> mhz{};
  for (std::size_t i = 0; i < kOurs.size(); ++i) {
    const std::optional<double> value = parse_double(parts[i].text);
    constexpr double kMostMhz = 1e6;
    if (!value || !(*value > 0 && *value <= kMostMhz))
      throw UserError(parts[i].at, fmt::format("{}: '{}' is no clock in MHz", kClocks, parts[i].text));
    mhz[i] = *value;
    set(kOurs[i], fmt::format("{}", *value), {kClocks}, "", &parts[i].at);
  }
  core_mhz_ = mhz[0];
  noc_mhz_ = mhz[1];
  l2_mhz_ = mhz[2];

  constexpr std::string_view kMajor = "-gpgpu_compute_capability_major";
  constexpr std::string_view kMinor = "-gpgpu_compute_capability_minor";
  constexpr std::string_view kForced = "-gpgpu_ptx_force_max_capability";
  capability_ = whole(kMajor) * 10 + whole(kMinor);
  const std::uint64_t forced = whole(kForced);
  std::string_view from = kMajor;
  if (!given(kMajor) && forced != 0) {
    capability_ = forced;
    from = kForced;
  } else if (forced != 0 && forced != capability_) {
    warn(kForced,
         fmt::format("code for {} is chosen, as the capability that programs are told", capability_));
  }
  constexpr std::uint64_t kLeast = 20;
  if (capability_ < kLeast) {
    warn(from, fmt::format("capability {}; here at least {}", capability_, kLeast));
    capability_ = kLeast;
  }
  set_number("runtime.compute_capability", capability_, {from});
}

void GpgpusimImport::runtime() {
  constexpr std::string_view kLaunch = "-gpgpu_kernel_launch_latency";
  set_number("runtime.kernel_launch_latency", whole(kLaunch), {kLaunch});
  constexpr std::string_view kKernels = "-gpgpu_max_concurrent_kernel";
  set_number("runtime.max_concurrent_kernels",
             at_most(whole(kKernels), kMaxKernelSlots, kKernels, "kernels at once"), {kKernels});
  set_flag("runtime.copies_write_l2", flag("-gpgpu_perf_sim_memcpy"), {"-gpgpu_perf_sim_memcpy"});
  set_number("runtime.heap_size", whole("-gpgpu_heap_size_limit"), {"-gpgpu_heap_size_limit"});
}

// --- network ---------------------------------------------------------------------------------------------

void GpgpusimImport::network() {
  constexpr std::string_view kMode = "-network_mode";
  const std::uint64_t mode = whole(kMode);
  if (mode == 1) {
    network_file();
    return;
  }
  if (mode != 2) {
    throw UserError(place(kMode),
                    fmt::format("{}: {} is neither 1, a network of a file, nor 2, a crossbar", kMode, mode));
  }
  set_number("noc.flit_size", whole("-icnt_flit_size"), {"-icnt_flit_size"});
  set_number("noc.input_buffer_flits", whole("-icnt_in_buffer_limit"), {"-icnt_in_buffer_limit"});
  set_number("noc.output_buffer_flits", whole("-icnt_out_buffer_limit"), {"-icnt_out_buffer_limit"});
}

/// Imports a network from its own file, in BookSim's format. A butterfly of one stage is a crossbar.
void GpgpusimImport::network_file() {
  constexpr std::string_view kFile = "-inter_config_file";
  constexpr std::string_view kFlit = "-icnt_flit_size";
  const GpgpusimOption found = option(kFile);
  const std::filesystem::path path = std::filesystem::path(found.key_at.file).parent_path() / found.value;
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) {
    set_number("noc.flit_size", whole(kFlit), {kFlit});
    warn(kFile,
         fmt::format("there is no file {}; a crossbar takes its place, with buffers of gpumux's default size",
                     path.string()));
    return;
  }
  std::map<std::string, std::string> settings = network_settings(read_file(path.string()));
  const auto number = [&](const char* name, std::uint64_t otherwise) {
    const auto setting = settings.find(name);
    if (setting == settings.end()) return otherwise;
    const std::optional<std::uint64_t> value = parse_uint(setting->second);
    if (!value) {
      throw UserError(found.at(), fmt::format("{}: {}: '{}' of {} is no whole number", kFile, path.string(),
                                              setting->second, name));
    }
    return *value;
  };
  // Defaults of BookSim.
  constexpr std::uint64_t kFlitBytes = 32;
  constexpr std::uint64_t kChannelFlits = 8;
  constexpr std::uint64_t kInputFlits = 9;
  set_number("noc.flit_size", number("flit_size", kFlitBytes), {kFile}, "flit_size");
  const std::uint64_t input = number("input_buffer_size", 0);
  const std::uint64_t output = number("ejection_buffer_size", 0);
  set_number("noc.input_buffer_flits", input != 0 ? input : kInputFlits, {kFile}, "input_buffer_size");
  set_number("noc.output_buffer_flits", output != 0 ? output : number("vc_buf_size", kChannelFlits), {kFile},
             output != 0 ? "ejection_buffer_size" : "vc_buf_size");
  if (settings["topology"] != "fly" || settings["n"] != "1") {
    warn(kFile,
         fmt::format("topology {} of {} dimensions; a crossbar takes its place (noc.topology has a mesh, "
                     "docs/mesh.md)",
                     settings["topology"], settings["n"]));
  }
}

// --- L2 --------------------------------------------------------------------------------------------------

void GpgpusimImport::l2() {
  constexpr std::string_view kL2 = "-gpgpu_cache:dl2";
  set_number("l2.partitions", whole("-gpgpu_n_mem"), {"-gpgpu_n_mem"});
  set_number("l2.slices_per_partition", whole("-gpgpu_n_sub_partition_per_mchannel"),
             {"-gpgpu_n_sub_partition_per_mchannel"});
  const GpgpusimCache text = cache(kL2);
  if (text.none) throw UserError(place(kL2), fmt::format("{}: GPGPU-Sim always has an L2", kL2));
  if (text.line != kLineBytes) {
    throw UserError(text.line_at, fmt::format("{}: lines of {} bytes; lines of L2 have {} here", kL2,
                                              text.line, kLineBytes));
  }
  set_number("l2.slice_size", text.bytes(), {kL2});
  set_number("l2.ways", text.ways, {kL2});
  set_flag("l2.sectored", text.type.text == "S", {kL2});
  const char index = text.index.text[0];
  const char* const ours = index == 'L' || index == 'C' ? "linear" : index == 'P' ? "ipoly" : "xor";
  set("l2.index", ours, {kL2}, "", &text.index.at);
  if (index == 'H' || index == 'C')
    warn(kL2, fmt::format("the index function {} has no counterpart; {}", index, ours), &text.index.at);
  set("l2.allocate", text.allocate.text == "m" ? "on-miss" : "on-fill", {kL2});
  if (text.write.text != "B") warn(kL2, "L2 writes back", &text.write.at);
  const char on_store = text.write_allocate.text[0];
  if (on_store == 'N' || on_store == 'W') {
    warn(kL2, "a store that misses takes a line, and fetches only what it writes in part",
         &text.write_allocate.at);
  }
  set_number("l2.mshr_entries", text.entries, {kL2}, "", &text.entries_at);
  set_number("l2.mshr_merges", text.merges, {kL2}, "", &text.merges_at);
  set_number("l2.miss_queue", text.miss_queue, {kL2});
  set_number("l2.port_size", text.port == 0 ? text.line : text.port, {kL2});

  constexpr std::string_view kRop = "-gpgpu_l2_rop_latency";
  constexpr double kNetworkCycles = 8;  // by which noc.latency, both ways, exceeds the
                                        // latency of GPGPU-Sim's crossbar
  const std::uint64_t rop = whole(kRop);
  const double core_cycles = static_cast<double>(rop) - kNetworkCycles * core_mhz_ / noc_mhz_;
  constexpr double kMostL2Cycles = 1e9;  // beyond the key's range
  const double cycles = std::clamp(std::round(core_cycles * l2_mhz_ / core_mhz_), 1.0, kMostL2Cycles);
  set_number("l2.latency", static_cast<std::uint64_t>(cycles), {kRop},
             fmt::format("{} core cycles, of which {} cycles of the network are in noc.latency", rop,
                         kNetworkCycles));

  constexpr std::string_view kQueues = "-gpgpu_dram_partition_queues";
  const std::vector<std::uint64_t> queues = wholes(kQueues, ":", 4, 4);
  set_number("l2.input_queue", queues[0], {kQueues}, "the first");
  set_number("l2.output_queue", queues[3], {kQueues},
             "the last; l2.miss_queue and dram.return_queue stand for the others");
  partition_hash();
}

void GpgpusimImport::partition_hash() {
  constexpr std::string_view kIndexing = "-gpgpu_memory_partition_indexing";
  const std::uint64_t indexing = whole(kIndexing);
  constexpr std::uint64_t kCustom = 3;
  constexpr std::uint64_t kRandom = 4;
  if (indexing == 0 || indexing == kCustom) {
    set("l2.partition_hash", "linear", {kIndexing});
  } else if (indexing == 1) {
    set("l2.partition_hash", "xor", {kIndexing});
  } else {
    set("l2.partition_hash", "ipoly", {kIndexing});
    if (indexing == kRandom) {
      warn(kIndexing, "a slice is not drawn at random for each address (4); ipoly spreads them (2)");
    } else if (indexing != 2) {
      warn(kIndexing, fmt::format("{} has no counterpart; ipoly (2)", indexing));
    }
  }
}

// --- DRAM ------------------------------------------------------------------------------------------------

void GpgpusimImport::dram() {
  constexpr std::string_view kWidth = "-gpgpu_dram_buswidth";
  constexpr std::string_view kChips = "-gpgpu_n_mem_per_ctrlr";
  constexpr std::string_view kBurst = "-gpgpu_dram_burst_length";
  constexpr std::uint64_t kMost = 0xffff'ffffU;
  const std::uint64_t bus = std::min(whole(kWidth) * whole(kChips), kMost);
  set_number("dram.bus_size", bus, {kWidth, kChips});
  set_number("dram.burst_size", std::min(bus * whole(kBurst), kMost), {kBurst, kWidth, kChips});
  constexpr std::string_view kRatio = "-dram_data_command_freq_ratio";
  set_number("dram.transfers_per_clock", whole(kRatio), {kRatio});
  dram_timing();
  constexpr std::string_view kGroups = "-dram_bnkgrp_indexing_policy";
  set_flag("dram.bank_group_low", whole(kGroups) != 0, {kGroups});
  constexpr std::string_view kScheduler = "-gpgpu_dram_scheduler";
  const std::uint64_t scheduler = whole(kScheduler);
  if (scheduler > 1) {
    throw UserError(place(kScheduler), fmt::format("{}: {} is neither 0, in order, nor 1, open rows first",
                                                   kScheduler, scheduler));
  }
  set("dram.scheduler", scheduler == 0 ? "fcfs" : "frfcfs", {kScheduler});
  constexpr std::string_view kQueue = "-gpgpu_frfcfs_dram_sched_queue_size";
  constexpr std::string_view kReturns = "-gpgpu_dram_return_queue_size";
  constexpr std::uint64_t kMostPlaces = 4096;
  constexpr std::uint64_t kUnlimitedReturns = 1024;  // GPGPU-Sim's own limit
  const std::uint64_t queue = whole(kQueue);
  const std::uint64_t returns = whole(kReturns);
  const std::uint64_t places = queue == 0 ? kMostPlaces : at_most(queue, kMostPlaces, kQueue, "requests");
  set_number("dram.queue", places, {kQueue}, queue == 0 ? "0: not limited" : "");
  set_number("dram.return_queue",
             returns == 0 ? kUnlimitedReturns : at_most(returns, kMostPlaces, kReturns, "requests"),
             {kReturns}, returns == 0 ? "0: GPGPU-Sim takes this" : "");
  set_number("dram.fixed_latency", whole("-dram_latency"), {"-dram_latency"});
  set_flag("dram.separate_row_bus", whole("-dram_dual_bus_interface") != 0, {"-dram_dual_bus_interface"});
  write_queue(places);
}

/// Imports the timing: named values, "nbk=16:CCD=2:...", or, in older files, numbers in a fixed order.
void GpgpusimImport::dram_timing() {
  constexpr std::string_view kTiming = "-gpgpu_dram_timing_opt";
  constexpr std::array<std::string_view, 14> kNames = {"nbk", "CCD", "RRD",  "RCD", "RAS",    "RP",   "RC",
                                                       "CL",  "WL",  "CDLR", "WR",  "nbkgrp", "CCDL", "RTPL"};
  constexpr std::size_t kNeeded = 11;  // values before those of bank groups
  const GpgpusimOption found = option(kTiming);
  std::map<std::string_view, GpgpusimPart> texts;
  if (found.value.find('=') == std::string::npos) {
    const std::vector<GpgpusimPart> parts = found.parts(":");
    if (parts.size() < kNeeded || parts.size() > kNames.size()) {
      throw UserError(found.at(), fmt::format("{}: {} numbers; {} to {} are expected: {}", kTiming,
                                              parts.size(), kNeeded, kNames.size(), fmt::join(kNames, ":")));
    }
    for (std::size_t i = 0; i < parts.size(); ++i) texts[kNames[i]] = parts[i];
  } else {
    for (const GpgpusimPart& part : found.parts(":;")) {
      if (part.text.empty()) continue;
      const std::size_t equals = part.text.find('=');
      const std::string name(trim(std::string_view(part.text).substr(0, equals)));
      const auto* const known = std::find(kNames.begin(), kNames.end(), name);
      if (equals == std::string::npos || known == kNames.end()) {
        throw UserError(part.at, fmt::format("{}: '{}' is none of its settings: {}", kTiming, part.text,
                                             fmt::join(kNames, "=, ")));
      }
      SourceLocation at = part.at;
      if (at.line != 0) at.column += static_cast<std::uint32_t>(equals + 1);
      texts[*known] = {std::string(trim(std::string_view(part.text).substr(equals + 1))), at};
    }
  }
  for (std::size_t i = 0; i < kNeeded; ++i) {
    if (!texts.contains(kNames[i]))
      throw UserError(found.at(), fmt::format("{}: {} is not given", kTiming, kNames[i]));
  }
  const auto value = [&](std::string_view name, std::uint64_t otherwise) {
    const auto text = texts.find(name);
    return text == texts.end() ? otherwise : whole(kTiming, text->second);
  };
  const auto set_one = [&](std::string_view ours, std::string_view name, std::uint64_t number) {
    const auto text = texts.find(name);
    set_number(ours, number, {kTiming}, name, text == texts.end() ? nullptr : &text->second.at);
  };
  set_one("dram.banks", "nbk", value("nbk", 1));
  set_one("dram.bank_groups", "nbkgrp", value("nbkgrp", 1));
  for (const std::string_view name : {"CL", "RP", "RC", "RAS", "RCD", "RRD", "CCD", "WL", "CDLR", "WR"})
    set_one(fmt::format("dram.{}", name), name, value(name, 0));
  // Without bank groups, the distance within a group is that of the channel.
  set_one("dram.CCDL", "CCDL", std::max(value("CCDL", 0), value("CCD", 0)));
  set_one("dram.RTPL", "RTPL", value("RTPL", 0));
  address_map(value("nbk", 1));
}

void GpgpusimImport::address_map(std::uint64_t banks) {
  constexpr std::string_view kMap = "-gpgpu_mem_addr_mapping";
  constexpr std::string_view kMask = "-gpgpu_mem_address_mask";
  if (!given(kMap)) {
    warn(kMask, "the maps that it numbers have no counterpart; rows rotate banks, as dram.address_map says");
    return;
  }
  const GpgpusimOption found = option(kMap);
  const std::string map = replace_all(found.value, "|", ".");
  AddressBits bits;
  try {
    bits = parse_address_map(map);
  } catch (const UserError& error) {
    throw UserError(found.at(), fmt::format("{}: {}", kMap, without_prefix(error.what())));
  }
  set("dram.address_map", map, {kMap});
  const auto count = [](std::uint64_t mask) {
    std::uint64_t values = 1;
    for (; mask != 0; mask &= mask - 1) values *= 2;
    return values;
  };
  set_number("dram.row_size", std::min<std::uint64_t>(count(bits.column), 0xffff'ffffU), {kMap},
             "its letters C and S");
  if (count(bits.bank) != banks) {
    throw UserError(found.at(),
                    fmt::format("{}: its letters B are of {} banks; -gpgpu_dram_timing_opt has {}", kMap,
                                count(bits.bank), banks));
  }
}

void GpgpusimImport::write_queue(std::uint64_t queue) {
  constexpr std::string_view kOn = "-dram_seperate_write_queue_enable";
  constexpr std::string_view kSize = "-dram_write_queue_size";
  if (!flag(kOn)) {
    set("dram.write_high_watermark", "0", {kOn});
    return;
  }
  const std::vector<std::uint64_t> marks = wholes(kSize, ":", 3, 3);
  const std::uint64_t high = std::min(marks[1], queue);
  const std::uint64_t low = high == 0 ? 0 : std::min(marks[2], high - 1);
  set_number("dram.write_high_watermark", high, {kSize});
  set_number("dram.write_low_watermark", low, {kSize});
  if (high != marks[1] || low != marks[2]) {
    warn(kSize, fmt::format("reads and writes share the {} places of dram.queue; writes drain from {} to {}",
                            queue, high, low));
  } else {
    warn(kSize,
         fmt::format("writes have no {} places of their own: they share dram.queue with reads", marks[0]));
  }
}

}  // namespace gpumux::arch
