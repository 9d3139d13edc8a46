#include "ledger/shadow_tags.hpp"

#include <algorithm>

namespace gpumux::ledger {

bool ShadowTags::has(AppId app, std::uint32_t set, std::uint64_t line, std::uint8_t sectors) const {
  const std::uint64_t* const way = find(app, set, line);
  return way != nullptr && (sectors & ~(*way >> kSectorShift)) == 0;
}

AppId ShadowTags::evictor(AppId app, std::uint32_t set, std::uint64_t line, std::uint8_t sectors) const {
  const std::uint64_t* const way = find(app, set, line);
  return way != nullptr && (sectors & ~(*way >> kSectorShift)) == 0 ? evictor_of(*way) : kNobody;
}

AppId ShadowTags::use(AppId app, std::uint32_t set, std::uint64_t line, std::uint8_t sectors) {
  HugePageVector<std::uint64_t>& tags = tags_[app];
  if (tags.empty()) tags.resize(std::size_t{sets_} * most_ways_, 0);
  apps_ |= std::uint32_t{1} << app;
  std::uint64_t* const first = &tags[std::size_t{set} * most_ways_];
  const std::uint64_t* const found = find(app, set, line);
  std::uint64_t* const way = found == nullptr ? first + ways_ - 1 : first + (found - first);
  const std::uint64_t old =
      found == nullptr ? (line & kLine) | kPresent | std::uint64_t{kNobody} << kEvictorShift : *found;
  const AppId by = found != nullptr && (sectors & ~(old >> kSectorShift)) == 0 ? evictor_of(old) : kNobody;
  std::copy_backward(first, way, way + 1);
  *first = old | std::uint64_t{sectors} << kSectorShift;
  return by;
}

void ShadowTags::clear() {
  for (HugePageVector<std::uint64_t>& tags : tags_) std::fill(tags.begin(), tags.end(), 0);
}

void ShadowTags::drop(AppId app, std::uint32_t set, std::uint64_t line, std::uint8_t sectors) {
  const std::uint64_t* const found = find(app, set, line);
  if (found == nullptr) return;
  tags_[app][static_cast<std::size_t>(found - tags_[app].data())] &=
      ~(std::uint64_t{sectors} << kSectorShift);
}

}  // namespace gpumux::ledger
