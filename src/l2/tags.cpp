#include "l2/tags.hpp"

#include "noc/partition_map.hpp"

namespace gpumux::l2 {

Tags::Tags(const arch::L2Config& config)
    : ways_(config.ways),
      stride_((config.ways + kLanes - 1) / kLanes * kLanes),
      tags_(std::size_t{noc::l2_sets(config)} * stride_, 0),
      stamps_(tags_.size(), 0),
      lines_(tags_.size()) {
  for (std::size_t way = 0; way < stamps_.size(); ++way) {
    if (way % stride_ >= ways_) stamps_[way] = kPinned;
  }
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
