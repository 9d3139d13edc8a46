#include "policy/partition_log.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace gpumux::policy {

std::size_t PartitionLog::find(const Partition& partition) const {
  const auto found = std::find_if(used_.begin(), used_.end(),
                                  [&](const Entry& entry) { return entry.partition == partition; });
  return static_cast<std::size_t>(found - used_.begin());
}

void PartitionLog::use(Cycle now, Partition partition) {
  if (current_) used_[*current_].cycles += now - since_;
  since_ = now;
  current_.reset();
  if (partition.parts.empty()) return;
  current_ = find(partition);
  if (*current_ == used_.size()) used_.push_back({std::move(partition), 0});
}

void PartitionLog::report(Cycle now, Report& to) const {
  std::vector<Entry> all = used_;
  if (current_) all[*current_].cycles += now - since_;
  std::erase_if(all, [](const Entry& entry) { return entry.cycles == 0; });
  const auto main = std::max_element(all.begin(), all.end(), [](const Entry& a, const Entry& b) {
    return std::pair(a.partition.parts.size(), a.cycles) < std::pair(b.partition.parts.size(), b.cycles);
  });
  to.numbers.push_back({"partitions", static_cast<double>(all.size()), {}});
  if (main == all.end()) return;
  to.numbers.push_back({"partition_cycles", static_cast<double>(main->cycles), {}});
  std::set<AppId> told;
  double speedup = 0;
  for (const Partition::Part& part : main->partition.parts) {
    speedup += part.normalized;
    if (!told.insert(part.app).second) continue;
    to.numbers.push_back({"blocks_per_sm", static_cast<double>(part.blocks), part.app});
    if (part.normalized > 0) to.numbers.push_back({"predicted_normalized_ipc", part.normalized, part.app});
  }
  if (speedup > 0) to.numbers.push_back({"theoretical_weighted_speedup", speedup, {}});
}

}  // namespace gpumux::policy
