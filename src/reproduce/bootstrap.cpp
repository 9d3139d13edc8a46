#include "reproduce/bootstrap.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "base/hash.hpp"
#include "reproduce/reduce.hpp"

namespace gpumux::reproduce {
namespace {

/// Seed for a set of workloads, whatever their order.
std::uint64_t seed_of(const std::map<std::string, std::vector<std::size_t>>& workloads) {
  std::uint64_t seed = 0;
  for (const auto& [name, samples] : workloads) {
    for (const char letter : name) seed = mix64(seed ^ static_cast<unsigned char>(letter));
    seed = mix64(seed ^ 0x100U);
  }
  return seed;
}

}  // namespace

Replicates replicates(Reduce how, const std::vector<std::vector<double>>& columns,
                      const std::vector<std::string>& workloads, const std::vector<std::string>& others) {
  std::map<std::string, std::vector<std::size_t>> samples;
  for (const std::string& other : others) samples[other];
  for (std::size_t i = 0; i < workloads.size(); ++i) samples[workloads[i]].push_back(i);
  if (samples.size() < 2 || how == Reduce::Only) return {};
  std::vector<const std::vector<std::size_t>*> of_workload;
  for (const auto& [name, indices] : samples) of_workload.push_back(&indices);
  Random random(seed_of(samples));
  Replicates out;
  out.reserve(kReplicates);
  std::vector<std::vector<double>> drawn(columns.size());
  for (std::size_t replicate = 0; replicate < kReplicates; ++replicate) {
    for (std::vector<double>& column : drawn) column.clear();
    for (std::size_t draw = 0; draw < of_workload.size(); ++draw) {
      const auto& indices = *of_workload[static_cast<std::size_t>(
          random.below(static_cast<std::uint32_t>(of_workload.size())))];
      for (std::size_t k = 0; k < columns.size(); ++k)
        for (const std::size_t index : indices) drawn[k].push_back(columns[k][index]);
    }
    const bool none = drawn.front().empty() && how != Reduce::Count && how != Reduce::Sum;
    out.push_back((none ? Value::none("") : reduce(how, drawn))
                      .number.value_or(std::numeric_limits<double>::quiet_NaN()));
  }
  return out;
}

std::optional<Interval> interval_of(Replicates replicates) {
  const std::size_t all = replicates.size();
  std::erase_if(replicates, [](double value) { return !std::isfinite(value); });
  const std::size_t count = replicates.size();
  if (count == 0 || 10 * (all - count) > all) return std::nullopt;
  std::sort(replicates.begin(), replicates.end());
  const auto at = [&](double share) {
    return replicates[static_cast<std::size_t>(std::llround(share * static_cast<double>(count - 1)))];
  };
  return Interval{at(0.025), at(0.975)};
}

}  // namespace gpumux::reproduce
