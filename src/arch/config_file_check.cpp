// Checks values that are valid by themselves and contradict each other.
#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <initializer_list>
#include <utility>

#include "arch/address_bits.hpp"
#include "arch/config_file_fields.hpp"
#include "arch/placement.hpp"
#include "base/error.hpp"
#include "base/located.hpp"

namespace gpumux::arch {
namespace {

constexpr std::uint64_t kMaxCaches = 1U << 30U;  // bytes of all caches of one level: each
                                                 // line takes memory of the host

constexpr std::uint64_t kMostAhead = MachineConfig::kMostAhead;

/// Core cycles that the largest matrix instruction occupies a tensor unit.
std::uint64_t tensor_occupied(const MachineConfig& config) {
  isa::StaticInst longest;
  longest.multiply_adds = isa::kMostMultiplyAdds;
  return config.tensor_cycles(longest);
}

/// The most core cycles that one instruction occupies its unit.
std::uint64_t longest_occupied(const MachineConfig& config) {
  std::uint64_t occupied = kWarpSize;
  for (const LatencyConfig& latency : config.latency)
    occupied = std::max<std::uint64_t>(occupied, latency.initiation);
  if (config.units[static_cast<std::size_t>(isa::Unit::Tensor)].count > 0)
    occupied = std::max(occupied, tensor_occupied(config));
  return occupied;
}

class Checker {
 public:
  Checker(const MachineConfig& config, const Provenance& provenance)
      : config_(config), provenance_(provenance) {}

  void sm() const;
  void units() const;
  void l1() const;
  void noc() const;
  void cpus() const;
  void l2() const;
  void dram() const;
  void energy() const;

 private:
  /// True if `a` was set after `b`. Within a file, the later line counts, whatever the
  /// order of reading its tables.
  static bool later(const Provenance::Place& a, const Provenance::Place& b) {
    if (a.file == b.file && a.line != b.line) return a.line > b.line;
    return a.order > b.order;
  }
  /// Throws unless `good`, at that of the keys which was set last.
  void require(bool good, std::initializer_list<std::string_view> keys, const std::string& message) const {
    if (good) return;
    const Provenance::Place* latest = nullptr;
    for (const std::string_view key : keys) {
      const Provenance::Place& place = provenance_.places[static_cast<std::size_t>(find_field(key))];
      if (place.order >= 0 && (latest == nullptr || later(place, *latest))) latest = &place;
    }
    if (latest == nullptr) throw UserError({provenance_.file}, message);
    throw UserError({latest->file, latest->line, latest->column}, message);
  }

  const MachineConfig& config_;
  const Provenance& provenance_;
};

void Checker::sm() const {
  const SmConfig& sm = config_.sm;
  require(std::uint64_t{sm.max_warps} * kWarpSize >= sm.max_threads, {"sm.max_warps", "sm.max_threads"},
          fmt::format("sm.max_warps = {} holds {} threads, fewer than sm.max_threads = {}", sm.max_warps,
                      sm.max_warps * kWarpSize, sm.max_threads));
  const std::uint32_t per_scheduler = (sm.max_warps + sm.schedulers - 1) / sm.schedulers;
  require(per_scheduler <= 64, {"sm.max_warps", "sm.schedulers"},
          fmt::format("sm.max_warps = {} over sm.schedulers = {} is {} warps per scheduler; at most 64",
                      sm.max_warps, sm.schedulers, per_scheduler));
  require(sm.register_banks % sm.schedulers == 0, {"sm.register_banks", "sm.schedulers"},
          fmt::format("sm.register_banks = {} cannot be split evenly among sm.schedulers = {}",
                      sm.register_banks, sm.schedulers));
  require(sm.register_allocation_unit <= sm.registers, {"sm.register_allocation_unit", "sm.registers"},
          fmt::format("sm.register_allocation_unit = {} exceeds sm.registers = {}",
                      sm.register_allocation_unit, sm.registers));
  require(sm.shared_bytes == 0 || sm.shared_allocation_unit <= sm.shared_bytes,
          {"sm.shared_allocation_unit", "sm.shared_size"},
          fmt::format("sm.shared_allocation_unit = {} exceeds sm.shared_size = {}", sm.shared_allocation_unit,
                      sm.shared_bytes));
  if (config_.units[static_cast<std::size_t>(isa::Unit::Tensor)].count > 0) {
    constexpr std::uint64_t kMostBusy = MachineConfig::kMostBusy;
    const std::uint64_t busy = tensor_occupied(config_);
    require(
        busy <= kMostBusy, {"unit.tensor.multiply_adds", "latency.tensor"},
        fmt::format(
            "unit.tensor.multiply_adds = {} and an initiation interval of {}: a matrix product could take "
            "{} cycles; at most {}",
            config_.tensor_multiply_adds,
            config_.latency[static_cast<std::size_t>(isa::LatencyClass::Tensor)].initiation, busy,
            kMostBusy));
  }
  const std::uint64_t occupied = longest_occupied(config_);
  const std::uint64_t ahead = occupied * sm.schedulers * (sm.collectors_per_scheduler + isa::kUnits);
  require(!sm.collectors_wait || ahead <= kMostAhead, {"sm.collectors_wait", "sm.collectors_per_scheduler"},
          fmt::format(
              "sm.collectors_wait with sm.collectors_per_scheduler = {} and initiation intervals of up to "
              "{}: instructions could wait {} cycles for a unit; at most {}",
              sm.collectors_per_scheduler, occupied, ahead, kMostAhead));
  require(std::has_single_bit(config_.shared.banks), {"shared.banks"},
          fmt::format("shared.banks = {} is no power of two", config_.shared.banks));
  const InstructionCacheConfig& icache = config_.icache;
  const ConstantCacheConfig& constant = config_.constant;
  for (const auto& [key, bytes] : {std::pair{"icache.line_size", icache.line_bytes},
                                   std::pair{"constant.line_size", constant.line_bytes}}) {
    require(kLineBytes % bytes == 0, {key},
            fmt::format("{} = {} does not divide the {} bytes of a line of memory", key, bytes, kLineBytes));
  }
  require(icache.bytes % (icache.ways * icache.line_bytes) == 0,
          {"icache.size", "icache.ways", "icache.line_size"},
          fmt::format("icache.size = {} is no whole number of sets of {} ways x {} bytes", icache.bytes,
                      icache.ways, icache.line_bytes));
  require(icache.line_bytes % icache.instruction_bytes == 0, {"icache.line_size", "icache.instruction_size"},
          fmt::format("icache.line_size = {} is no whole number of instructions of {} bytes",
                      icache.line_bytes, icache.instruction_bytes));
  require(constant.bytes % (constant.ways * constant.line_bytes) == 0,
          {"constant.size", "constant.ways", "constant.line_size"},
          fmt::format("constant.size = {} is no whole number of sets of {} ways x {} bytes", constant.bytes,
                      constant.ways, constant.line_bytes));
  const TextureCacheConfig& texture = config_.texture;
  require(texture.bytes % (texture.ways * kLineBytes) == 0, {"texture.size", "texture.ways"},
          fmt::format("texture.size = {} is no whole number of sets of {} ways x {} bytes", texture.bytes,
                      texture.ways, kLineBytes));
}

void Checker::units() const {
  for (unsigned u = 0; u < isa::kUnits; ++u) {
    const isa::Unit serving = config_.serving(static_cast<isa::Unit>(u));
    const std::string key = fmt::format("unit.{}", isa::name(static_cast<isa::Unit>(u)));
    require(
        !isa::is_arithmetic(serving) || config_.units[static_cast<std::size_t>(serving)].count > 0,
        {key + ".on", key + ".count"},
        fmt::format("no unit executes instructions of {0}: it and what {0}.on leads to have count = 0", key));
  }
  for (const Field& field : fields()) {
    constexpr std::string_view kSuffix = ".scheduler_private";
    if (!field.key.starts_with("unit.") || !field.key.ends_with(kSuffix)) continue;
    const std::string prefix = field.key.substr(0, field.key.size() - kSuffix.size());
    const std::string count_key = prefix + ".count";
    auto& config = const_cast<MachineConfig&>(config_);  // only used to call the
                                                         // accessors; nothing is written
    const auto& count_field = fields()[static_cast<std::size_t>(find_field(count_key))];
    const std::uint32_t count = std::get<Field::Member<std::uint32_t>>(count_field.access)(config);
    const bool is_private = std::get<Field::Member<bool>>(field.access)(config);
    require(!is_private || count % config_.sm.schedulers == 0, {count_key, field.key, "sm.schedulers"},
            fmt::format("{} = {} units cannot be private to each of sm.schedulers = {}", count_key, count,
                        config_.sm.schedulers));
  }
}

void Checker::l1() const {
  const CcwsConfig& ccws = config_.ccws;
  require(ccws.victim_tags % ccws.victim_ways == 0, {"ccws.victim_tags", "ccws.victim_ways"},
          fmt::format("ccws.victim_tags = {} is no multiple of ccws.victim_ways = {}", ccws.victim_tags,
                      ccws.victim_ways));
  const L1Config& l1 = config_.l1;
  require(std::has_single_bit(l1.bank_bytes), {"l1.bank_size"},
          fmt::format("l1.bank_size = {} is neither a sector of 32 bytes, nor two, nor a line of 128",
                      l1.bank_bytes));
  const std::uint64_t way_bytes = std::uint64_t{l1.ways} * kLineBytes;
  require(l1.bytes % way_bytes == 0, {"l1.size", "l1.ways"},
          fmt::format("l1.size = {} is no whole number of sets of {} ways x {} bytes", l1.bytes, l1.ways,
                      kLineBytes));
  const std::uint64_t sets = l1.bytes / way_bytes;
  require(l1.index == L1Index::Linear || std::has_single_bit(sets), {"l1.size", "l1.ways", "l1.index"},
          fmt::format("l1.size = {} in {} ways makes {} sets; index \"{}\" needs a power of two", l1.bytes,
                      l1.ways, sets, word(l1.index)));
  constexpr std::uint32_t kMaxLines = 65534;  // sm/l1.hpp numbers lines in 16 bits
  const std::uint32_t largest = std::max(l1.bytes, l1.unified_bytes);
  require(
      largest / kLineBytes <= kMaxLines, {"l1.size", "l1.unified_size"},
      fmt::format("an L1 of {} bytes has {} lines; at most {}", largest, largest / kLineBytes, kMaxLines));
  const std::uint64_t stores = std::uint64_t{config_.sms} * largest;
  require(stores <= kMaxCaches, {"sms", "l1.size", "l1.unified_size"},
          fmt::format("the L1 caches of {} SMs are {} bytes; at most {}", config_.sms, stores, kMaxCaches));
  require((l1.unified_bytes == 0) == l1.shared_carveouts.empty(), {"l1.unified_size", "l1.shared_carveouts"},
          l1.unified_bytes == 0 ? "l1.shared_carveouts needs l1.unified_size, the array that is split"
                                : "l1.unified_size needs l1.shared_carveouts, the possible splits");
  if (l1.unified_bytes == 0) return;
  require(l1.bytes <= l1.unified_bytes, {"l1.size", "l1.unified_size"},
          fmt::format("l1.size = {} exceeds l1.unified_size = {}", l1.bytes, l1.unified_bytes));
  for (std::size_t i = 0; i < l1.shared_carveouts.size(); ++i) {
    const std::uint32_t carveout = l1.shared_carveouts[i];
    require(i == 0 || carveout > l1.shared_carveouts[i - 1], {"l1.shared_carveouts"},
            "l1.shared_carveouts must be in ascending order");
    require(carveout < l1.unified_bytes, {"l1.shared_carveouts", "l1.unified_size"},
            fmt::format("a shared carve-out of {} leaves no L1 in l1.unified_size = {}", carveout,
                        l1.unified_bytes));
    require((l1.unified_bytes - carveout) % (sets * kLineBytes) == 0,
            {"l1.shared_carveouts", "l1.unified_size", "l1.size", "l1.ways"},
            fmt::format("a shared carve-out of {} leaves {} bytes of L1, no whole number of ways of {} sets",
                        carveout, l1.unified_bytes - carveout, sets));
  }
  require(l1.shared_carveouts.back() >= config_.sm.shared_bytes, {"l1.shared_carveouts", "sm.shared_size"},
          fmt::format("the largest of l1.shared_carveouts, {}, is below sm.shared_size = {}",
                      l1.shared_carveouts.back(), config_.sm.shared_bytes));
}

void Checker::noc() const {
  const NocConfig& noc = config_.noc;
  const std::uint32_t flits = (noc.header_bytes + kLineBytes + noc.flit_bytes - 1) / noc.flit_bytes;
  require(noc.input_buffer_flits >= flits, {"noc.input_buffer_flits", "noc.flit_size", "noc.header_size"},
          fmt::format("noc.input_buffer_flits = {} holds no packet of one line, {} flits",
                      noc.input_buffer_flits, flits));
  require(noc.output_buffer_flits >= flits, {"noc.output_buffer_flits", "noc.flit_size", "noc.header_size"},
          fmt::format("noc.output_buffer_flits = {} holds no packet of one line, {} flits",
                      noc.output_buffer_flits, flits));
}

void Checker::cpus() const {
  const CpuConfig& cpu = config_.cpu;
  const auto cache = [this](const CpuCacheConfig& level, const char* size, const char* ways) {
    const std::uint32_t sets = level.bytes / kLineBytes / level.ways;
    require(std::has_single_bit(sets) && sets * level.ways * kLineBytes == level.bytes, {size, ways},
            fmt::format("{} = {} is not {} ways of {} bytes times a power of two", size, level.bytes,
                        level.ways, kLineBytes));
  };
  cache(cpu.l1, "cpu.l1_size", "cpu.l1_ways");
  cache(cpu.l2, "cpu.l2_size", "cpu.l2_ways");
  constexpr std::uint32_t kLongest = 63;
  require(cpu.l1.latency + cpu.l2.latency <= kLongest, {"cpu.l1_latency", "cpu.l2_latency"},
          fmt::format("cpu.l1_latency + cpu.l2_latency = {}; at most {}", cpu.l1.latency + cpu.l2.latency,
                      kLongest));
  const NocConfig& noc = config_.noc;
  const bool mesh = noc.topology == Topology::Mesh;
  require(config_.cpus == 0 || mesh, {"cpus", "noc.topology"},
          fmt::format("cpus = {} needs noc.topology = \"mesh\"", config_.cpus));
  require(noc.nodes.empty() != mesh, {"noc.topology", "noc.nodes"},
          mesh ? "noc.topology = \"mesh\" needs noc.nodes: its rows of letters"
               : "noc.nodes is of a mesh: noc.topology = \"mesh\"");
  if (mesh) {
    try {
      (void)placement(config_);
    } catch (const UserError& error) {
      require(false, {"noc.nodes", "sms", "cpus", "l2.partitions"}, placeless(error).value_or(error.what()));
    }
  }
  require(noc.cpu_vcs < noc.vcs, {"noc.cpu_vcs", "noc.vcs"},
          fmt::format("noc.cpu_vcs = {} leaves none of noc.vcs = {} to the SMs", noc.cpu_vcs, noc.vcs));
  require(noc.cpu_vcs == 0 || (mesh && config_.cpus > 0), {"noc.cpu_vcs", "cpus"},
          fmt::format("noc.cpu_vcs = {} is of a mesh with CPU cores", noc.cpu_vcs));
  constexpr std::uint32_t kLeastFlit = 8;
  require(noc.cpu_vcs == 0 ||
              (noc.flit_bytes % noc.vcs == 0 && noc.flit_bytes / noc.vcs * noc.cpu_vcs >= kLeastFlit),
          {"noc.cpu_vcs", "noc.vcs", "noc.flit_size"},
          fmt::format("noc.cpu_vcs = {} of noc.vcs = {} has no whole part, of 8 bytes at least, of "
                      "noc.flit_size = {}",
                      noc.cpu_vcs, noc.vcs, noc.flit_bytes));
  constexpr std::uint32_t kMostFlits = 63;  // MemRequest::flits
  for (const std::uint32_t vcs : {noc.vcs - noc.cpu_vcs, noc.cpu_vcs}) {
    if (noc.cpu_vcs == 0) break;
    const std::uint32_t width = noc.flit_bytes / noc.vcs * vcs;
    const std::uint32_t flits = (noc.header_bytes + kLineBytes + width - 1) / width;
    require(flits <= kMostFlits, {"noc.cpu_vcs", "noc.vcs", "noc.flit_size", "noc.header_size"},
            fmt::format("a packet of one line has {} flits of the {} bytes that noc.cpu_vcs = {} leaves; at "
                        "most {}",
                        flits, width, noc.cpu_vcs, kMostFlits));
  }
  require(config_.l2.cpu_partitions < config_.l2.partitions, {"l2.cpu_partitions", "l2.partitions"},
          fmt::format("l2.cpu_partitions = {} leaves none of l2.partitions = {} to the SMs",
                      config_.l2.cpu_partitions, config_.l2.partitions));
  require(config_.l2.cpu_partitions == 0 || config_.cpus > 0, {"l2.cpu_partitions", "cpus"},
          fmt::format("l2.cpu_partitions = {} on a machine without CPU cores", config_.l2.cpu_partitions));
}

void Checker::l2() const {
  const L2Config& l2 = config_.l2;
  const std::uint64_t way_bytes = std::uint64_t{l2.ways} * kLineBytes;
  require(l2.slice_bytes % way_bytes == 0, {"l2.slice_size", "l2.ways"},
          fmt::format("l2.slice_size = {} is no whole number of sets of {} ways x {} bytes", l2.slice_bytes,
                      l2.ways, kLineBytes));
  const std::uint64_t sets = l2.slice_bytes / way_bytes;
  require(l2.index == IndexFunction::Linear || std::has_single_bit(sets),
          {"l2.slice_size", "l2.ways", "l2.index"},
          fmt::format("l2.slice_size = {} in {} ways makes {} sets; index \"{}\" needs a power of two",
                      l2.slice_bytes, l2.ways, sets, word(l2.index)));
  const std::uint32_t slices = l2.partitions * l2.slices_per_partition;
  require(slices * std::uint64_t{l2.slice_bytes} <= kMaxCaches,
          {"l2.partitions", "l2.slices_per_partition", "l2.slice_size"},
          fmt::format("{} slices of l2.slice_size = {} are {} bytes; at most {}", slices, l2.slice_bytes,
                      slices * std::uint64_t{l2.slice_bytes}, kMaxCaches));
  require(std::has_single_bit(l2.interleave_bytes), {"l2.interleave_size"},
          fmt::format("l2.interleave_size = {} is no power of two", l2.interleave_bytes));
}

void Checker::dram() const {
  const DramConfig& dram = config_.dram;
  if (!dram.address_map.empty()) {
    try {
      (void)address_bits(config_.l2, dram);
    } catch (const UserError& error) {
      require(false,
              {"dram.address_map", "dram.banks", "dram.row_size", "l2.partitions", "l2.slices_per_partition"},
              placeless(error).value_or(error.what()));
    }
  }
  require(dram.RCD <= dram.RAS, {"dram.RCD", "dram.RAS"},
          fmt::format("dram.RCD = {} exceeds dram.RAS = {}", dram.RCD, dram.RAS));
  require(dram.CCD <= dram.CCDL, {"dram.CCD", "dram.CCDL"},
          fmt::format("dram.CCD = {} exceeds dram.CCDL = {}, the same within one bank group", dram.CCD,
                      dram.CCDL));
  require(dram.banks % dram.bank_groups == 0, {"dram.banks", "dram.bank_groups"},
          fmt::format("dram.banks = {} cannot be split into dram.bank_groups = {}", dram.banks,
                      dram.bank_groups));
  require(std::has_single_bit(dram.burst_bytes), {"dram.burst_size"},
          fmt::format("dram.burst_size = {} is no power of two", dram.burst_bytes));
  require(dram.row_bytes == kLineBytes || dram.row_bytes % (2 * kLineBytes) == 0, {"dram.row_size"},
          fmt::format("dram.row_size = {} must be {} or a multiple of {}", dram.row_bytes, kLineBytes,
                      2 * kLineBytes));
  require(dram.FAW == 0 || dram.FAW >= dram.RRD, {"dram.FAW", "dram.RRD"},
          fmt::format("dram.FAW = {} is below dram.RRD = {}", dram.FAW, dram.RRD));
  require((dram.REFI == 0) == (dram.RFC == 0), {"dram.REFI", "dram.RFC"},
          "dram.REFI and dram.RFC describe refresh together: both 0 or neither");
  const std::uint32_t refresh = dram.RFC + dram.RAS + dram.RP + dram.banks;
  require(dram.REFI == 0 || refresh < dram.REFI,
          {"dram.REFI", "dram.RFC", "dram.RAS", "dram.RP", "dram.banks"},
          fmt::format("a refresh takes up to dram.RFC + RAS + RP + banks = {}; dram.REFI = {} leaves no time",
                      refresh, dram.REFI));
  require(dram.write_high_watermark <= dram.queue, {"dram.write_high_watermark", "dram.queue"},
          fmt::format("dram.write_high_watermark = {} exceeds dram.queue = {}", dram.write_high_watermark,
                      dram.queue));
  require(dram.write_low_watermark == 0 || dram.write_low_watermark < dram.write_high_watermark,
          {"dram.write_low_watermark", "dram.write_high_watermark"},
          fmt::format("dram.write_low_watermark = {} is not below dram.write_high_watermark = {}",
                      dram.write_low_watermark, dram.write_high_watermark));
}

/// Checks that all energies are given if any is, because a missing one would count as no energy. Exception:
/// the leakage of gated SMs, which papers do not state.
void Checker::energy() const {
  constexpr std::string_view kTable = "energy";
  const Field* given = nullptr;
  const Provenance::Place* latest = nullptr;
  const Field* lacking = nullptr;
  for (std::size_t i = 0; i < fields().size(); ++i) {
    const Field& field = fields()[i];
    if (field.table() != kTable) continue;
    const Provenance::Place& place = provenance_.places[i];
    if (place.order < 0) {
      if (lacking == nullptr && field.key != "energy.gated_sm_watts") lacking = &field;
    } else if (latest == nullptr || later(place, *latest)) {
      given = &field;
      latest = &place;
    }
  }
  require(given == nullptr || lacking == nullptr, {given == nullptr ? "" : std::string_view(given->key)},
          fmt::format("{} is given and {} is not: [energy] has all of its keys, or none",
                      given == nullptr ? "" : given->key, lacking == nullptr ? "" : lacking->key));
}

}  // namespace

std::uint32_t most_waiting_collectors(const MachineConfig& config) {
  const std::uint64_t most = kMostAhead / (longest_occupied(config) * config.sm.schedulers);
  return static_cast<std::uint32_t>(most - std::min<std::uint64_t>(most, isa::kUnits));
}

void check_consistency(const MachineConfig& config, const Provenance& provenance) {
  const Checker checker(config, provenance);
  checker.sm();
  checker.units();
  checker.l1();
  checker.noc();
  checker.cpus();
  checker.l2();
  checker.dram();
  checker.energy();
}

std::vector<std::string> machine_warnings(const MachineConfig& config) {
  std::vector<std::string> warnings;
  const DramConfig& dram = config.dram;
  if (dram.RAS + dram.RP > dram.RC) {
    warnings.push_back(fmt::format(
        "dram.RAS + dram.RP = {0} exceeds dram.RC = {1}: rows of a bank open {0} DRAM cycles apart",
        dram.RAS + dram.RP, dram.RC));
  }
  return warnings;
}

}  // namespace gpumux::arch
