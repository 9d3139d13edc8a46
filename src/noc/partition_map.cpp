#include "noc/partition_map.hpp"

#include <bit>

#include "arch/address_bits.hpp"
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

PartitionMap::PartitionMap(const arch::MachineConfig& config) : PartitionMap(config.l2) {
  if (config.dram.address_map.empty()) return;
  const arch::AddressBits bits = arch::address_bits(config.l2, config.dram);
  constexpr unsigned kLineBits = std::countr_zero(std::uint64_t{kLineBytes});
  constexpr std::uint64_t kLines = (std::uint64_t{1} << kAppLineShift) - 1;
  elsewhere_ = mapped_ = true;
  counts_channels_ = bits.counts_channels;
  std::uint64_t slice = 0;
  std::uint64_t banks = bits.bank >> kLineBits;
  for (std::uint32_t s = 1; s < slices_; s *= 2, banks &= banks - 1) slice |= banks & (~banks + 1);
  slice_bits_ = BitField(slice);
  outside_slice_ = ~slice & kLines;
  rest_ = BitField(outside_slice_);
  std::uint64_t below = 0;  // bits of a line number below those of the channel
  if (counts_channels_) {
    by_channel_unit_ = Divider(std::uint64_t{1} << (bits.channel_bit - kLineBits));
    below = by_channel_unit_.divisor() - 1;
  } else {
    channel_bits_ = BitField(bits.channel >> kLineBits);
    outside_channel_ = BitField(~(bits.channel >> kLineBits) & kLines);
    below = bits.channel == 0 ? 0 : (std::uint64_t{1} << std::countr_zero(bits.channel >> kLineBits)) - 1;
  }
  unit_shift_ = static_cast<unsigned>(std::popcount(below & ~slice));
}

PartitionMap::PartitionMap(const arch::MachineConfig& config, const std::vector<arch::Instance>& instances)
    : PartitionMap(config) {
  for (const arch::Instance& instance : instances) {
    arch::MachineConfig part = config;
    part.l2.partitions = instance.partitions;
    instances_.emplace_back(part);
    instances_.back().first_ = static_cast<PartitionId>(instance.first_partition);
  }
  elsewhere_ = mapped_ || !instances_.empty();
}

inline PartitionMap::Mapped PartitionMap::mapped(std::uint64_t line) const {
  const std::uint64_t within = line & ((std::uint64_t{1} << kAppLineShift) - 1);
  std::uint64_t channel = 0;
  std::uint64_t rest = 0;
  if (counts_channels_) {
    const std::uint64_t unit = by_channel_unit_.quotient(within);
    const std::uint64_t turn = by_partitions_.quotient(unit);
    channel = unit - turn * by_partitions_.divisor();
    rest = turn * by_channel_unit_.divisor() + by_channel_unit_.remainder(within);
  } else {
    channel = channel_bits_.extract(within);
    rest = outside_channel_.extract(within);
  }
  const std::uint64_t slice_line = rest_.extract(rest);
  const auto low = static_cast<std::uint32_t>(channel + slice_bits_.extract(rest) * by_partitions_.divisor());
  return {rest, slice_line,
          hash_.permute(low, slice_line >> unit_shift_, rotation_[(line >> kAppLineShift) % kMaxApps])};
}

PartitionMap::Place PartitionMap::locate_elsewhere(std::uint64_t line) const {
  if (!instances_.empty()) {
    const PartitionMap& own = instances_[(line >> kAppLineShift) - 1];
    Place place = own.locate(line);
    place.partition = static_cast<PartitionId>(place.partition + own.first_);
    return place;
  }
  const Mapped to = mapped(line);
  const auto slice = static_cast<std::uint32_t>(by_partitions_.quotient(to.n));
  return {static_cast<PartitionId>(to.n - slice * by_partitions_.divisor()), static_cast<std::uint8_t>(slice),
          (to.rest & outside_slice_) | slice_bits_.deposit(slice) | (line >> kAppLineShift << kAppLineShift),
          to.slice_line};
}

PartitionId PartitionMap::partition_elsewhere(std::uint64_t line) const {
  if (!instances_.empty()) {
    const PartitionMap& own = instances_[(line >> kAppLineShift) - 1];
    return static_cast<PartitionId>(own.partition(line) + own.first_);
  }
  return static_cast<PartitionId>(by_partitions_.remainder(mapped(line).n));
}

}  // namespace gpumux::noc
