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

/// Seed for a set of workloads.
std::uint64_t seed_of(const std::vector<std::string>& workloads) {
  std::uint64_t seed = 0;
  for (const std::string& name : workloads) {
    for (const char letter : name) seed = mix64(seed ^ static_cast<unsigned char>(letter));
    seed = mix64(seed ^ 0x100U);
  }
  return seed;
}

}  // namespace

Draws::Draws(const std::vector<std::string>& names) : random_(seed_of(names)), drawn_(names.size()) {}

const std::vector<std::size_t>& Draws::next() {
  for (std::size_t& draw : drawn_)
    draw = static_cast<std::size_t>(random_.below(static_cast<std::uint32_t>(drawn_.size())));
  return drawn_;
}

Replicates replicates(Reduce how, const std::vector<std::vector<double>>& columns,
                      const std::vector<std::string>& workloads, const std::vector<std::string>& others) {
  std::map<std::string, std::vector<std::size_t>> samples;
  for (const std::string& other : others) samples[other];
  for (std::size_t i = 0; i < workloads.size(); ++i) samples[workloads[i]].push_back(i);
  if (samples.size() < 2 || how == Reduce::Only) return {};
  std::vector<std::string> names;
  std::vector<const std::vector<std::size_t>*> of_workload;
  for (const auto& [name, indices] : samples) {
    names.push_back(name);
    of_workload.push_back(&indices);
  }
  Draws draws(names);
  Replicates out;
  out.reserve(kReplicates);
  std::vector<std::vector<double>> drawn(columns.size());
  for (std::size_t replicate = 0; replicate < kReplicates; ++replicate) {
    for (std::vector<double>& column : drawn) column.clear();
    for (const std::size_t draw : draws.next()) {
      for (std::size_t k = 0; k < columns.size(); ++k)
        for (const std::size_t index : *of_workload[draw]) drawn[k].push_back(columns[k][index]);
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
