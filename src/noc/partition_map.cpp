#include "noc/partition_map.hpp"

#include "base/error.hpp"

namespace gpumux::noc {

namespace {

const arch::L2Config& checked(const arch::L2Config& config) {
  if (config.interleave_bytes < kLineBytes || config.interleave_bytes % kLineBytes != 0) {
    throw UserError(fmt::format("l2.interleave_bytes = {} must be a multiple of the line size, {}",
                                config.interleave_bytes, kLineBytes));
  }
  if (config.partitions == 0 || config.slices_per_partition == 0 || config.slices_per_partition > 64) {
    throw UserError("l2.partitions and l2.slices_per_partition must be at least 1 (and slices at most 64)");
  }
  return config;
}

}  // namespace

std::uint32_t l2_sets(const arch::L2Config& config) {
  if (config.ways == 0 || config.slice_bytes == 0 || config.slice_bytes % (config.ways * kLineBytes) != 0) {
    throw UserError(fmt::format("l2.slice_bytes = {} must be a multiple of {} ways of {} B lines",
                                config.slice_bytes, config.ways, kLineBytes));
  }
  return config.slice_bytes / (config.ways * kLineBytes);
}

PartitionMap::PartitionMap(const arch::L2Config& config)
    : slices_(checked(config).slices_per_partition),
      by_unit_lines_(config.interleave_bytes / kLineBytes),
      by_units_(std::uint64_t{config.partitions} * config.slices_per_partition),
      by_partitions_(config.partitions),
      hash_(config.partition_hash, config.partitions * config.slices_per_partition, "l2.partition_hash"),
      by_sets_(l2_sets(config)),
      set_hash_(config.index, l2_sets(config), "l2.index") {
  for (std::uint32_t app = 0; app < kMaxApps; ++app) rotation_[app] = hash_.rotation(app);
  for (std::uint32_t app = 0; app < kMaxApps; ++app) set_rotation_[app] = set_hash_.rotation(app + 1);
}

}  // namespace gpumux::noc
