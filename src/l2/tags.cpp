#include "l2/tags.hpp"

#include "base/error.hpp"

namespace gpumux::l2 {

namespace {

std::uint32_t set_count(const machine::L2Config& config) {
  if (config.ways == 0 || config.slice_bytes == 0 || config.slice_bytes % (config.ways * kLineBytes) != 0) {
    throw UserError(fmt::format("l2.slice_bytes = {} must be a multiple of {} ways of {} B lines",
                                config.slice_bytes, config.ways, kLineBytes));
  }
  return config.slice_bytes / (config.ways * kLineBytes);
}

}  // namespace

Tags::Tags(const machine::L2Config& config)
    : ways_(config.ways),
      stride_((config.ways + kLanes - 1) / kLanes * kLanes),
      by_sets_(set_count(config)),
      hash_(config.index, set_count(config), "l2.index"),
      tags_(std::size_t{set_count(config)} * stride_, 0),
      stamps_(tags_.size(), 0),
      lines_(tags_.size()) {
  for (std::size_t way = 0; way < stamps_.size(); ++way) {
    if (way % stride_ >= ways_) stamps_[way] = kPinned;
  }
  for (std::uint32_t space = 0; space < rotation_.size(); ++space) rotation_[space] = hash_.rotation(space);
}

std::uint32_t Tags::pinned() const {
  std::uint32_t count = 0;
  for (std::size_t way = 0; way < stamps_.size(); ++way)
    count += way % stride_ < ways_ && stamps_[way] == kPinned ? 1U : 0U;
  return count;
}

std::uint32_t Tags::clean_victim(std::uint32_t set) const {
  std::uint32_t best = kNoWay;
  for (std::uint32_t way = set * stride_, end = way + ways_; way < end; ++way) {
    if (stamps_[way] == kPinned || lines_[way].dirty != 0) continue;
    if (best == kNoWay || stamps_[way] < stamps_[best]) best = way;
  }
  return best;
}

}  // namespace gpumux::l2
