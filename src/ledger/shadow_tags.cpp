#include "ledger/shadow_tags.hpp"

namespace gpumux::ledger {

bool ShadowTags::has(AppId app, std::uint32_t set, std::uint64_t line, std::uint8_t sectors) const {
  const std::vector<Way>& tags = tags_[app];
  if (tags.empty()) return false;
  const Way* const first = &tags[std::size_t{set} * ways_];
  for (const Way* way = first; way != first + ways_; ++way)
    if (way->use != 0 && way->line == line) return (sectors & ~way->sectors) == 0;
  return false;
}

void ShadowTags::use(AppId app, std::uint32_t set, std::uint64_t line, std::uint8_t sectors) {
  std::vector<Way>& tags = tags_[app];
  if (tags.empty()) tags.resize(std::size_t{sets_} * ways_);
  Way* const first = &tags[std::size_t{set} * ways_];
  Way* oldest = first;
  for (Way* way = first; way != first + ways_; ++way) {
    if (way->use != 0 && way->line == line) {
      way->sectors |= sectors;
      way->use = ++clock_;
      return;
    }
    if (way->use < oldest->use) oldest = way;
  }
  *oldest = {line, ++clock_, sectors};
}

void ShadowTags::evicted(AppId victim, std::uint64_t line, AppId culprit) {
  if (victim == culprit) {
    evicted_by_[victim].erase(line);
  } else {
    evicted_by_[victim][line] = culprit;
  }
}

AppId ShadowTags::evictor(AppId app, std::uint64_t line) const {
  const auto found = evicted_by_[app].find(line);
  return found == evicted_by_[app].end() ? kNobody : found->second;
}

}  // namespace gpumux::ledger
