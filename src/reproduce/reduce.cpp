#include "reproduce/reduce.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <optional>
#include <utility>

namespace gpumux::reproduce {
namespace {

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

/// Ranks from 1; equal values share their mean rank.
std::vector<double> ranks(const std::vector<double>& values) {
  std::vector<std::size_t> order(values.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  std::vector<double> out(values.size());
  for (std::size_t i = 0; i < order.size();) {
    std::size_t end = i;
    while (end < order.size() && values[order[end]] == values[order[i]]) ++end;
    for (std::size_t k = i; k < end; ++k) out[order[k]] = static_cast<double>(i + end + 1) / 2;
    i = end;
  }
  return out;
}

/// Spearman's rank correlation.
Value rank_correlation(const std::vector<double>& x, const std::vector<double>& y) {
  if (x.size() < 3) return Value::none(fmt::format("{} samples have no rank correlation", x.size()));
  const std::vector<double> a = ranks(x);
  const std::vector<double> b = ranks(y);
  const double mean = (static_cast<double>(x.size()) + 1) / 2;
  double ab = 0;
  double aa = 0;
  double bb = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    ab += (a[i] - mean) * (b[i] - mean);
    aa += (a[i] - mean) * (a[i] - mean);
    bb += (b[i] - mean) * (b[i] - mean);
  }
  if (aa == 0 || bb == 0) return Value::undefined("equal values have no rank correlation");
  return {ab / std::sqrt(aa * bb), ""};
}

/// The value of `y` at the largest `x`, at the first one on ties.
Value at_max(const std::vector<double>& x, const std::vector<double>& y) {
  const double value = y[static_cast<std::size_t>(std::max_element(x.begin(), x.end()) - x.begin())];
  if (!std::isfinite(value)) return Value::undefined("it is greatest where there is no limit");
  return {value, ""};
}

using Sums = std::map<double, std::pair<double, double>>;  // by position: sum, count
Sums by_position(const std::vector<double>& values, const std::vector<double>& position) {
  Sums sums;
  for (std::size_t i = 0; i < values.size(); ++i) {
    sums[position[i]].first += values[i];
    sums[position[i]].second += 1;
  }
  return sums;
}

/// The smallest `position` at which the mean of `values` is at least the mean at the largest position, less 2
/// percent.
Value saturation(const std::vector<double>& values, const std::vector<double>& position) {
  const Sums sums = by_position(values, position);
  const double last = sums.rbegin()->second.first / sums.rbegin()->second.second;
  for (const auto& [at, sum] : sums) {
    if (sum.first / sum.second < last - 0.02 * std::abs(last)) continue;
    if (!std::isfinite(at)) return Value::undefined("it saturates only where there is no limit");
    return {at, ""};
  }
  return Value::undefined("no value at the last position");
}

/// The smallest `position` from which on the mean of `values` stays in the lower half of its range.
Value knee(const std::vector<double>& values, const std::vector<double>& position) {
  const Sums sums = by_position(values, position);
  double low = sums.begin()->second.first / sums.begin()->second.second;
  double high = low;
  for (const auto& [at, sum] : sums) {
    low = std::min(low, sum.first / sum.second);
    high = std::max(high, sum.first / sum.second);
  }
  std::optional<double> found;
  for (auto at = sums.rbegin(); at != sums.rend(); ++at) {
    if (at->second.first / at->second.second > (low + high) / 2) break;
    found = at->first;
  }
  if (!found || low == high) return Value::undefined("it does not stay low up to the last position");
  if (!std::isfinite(*found)) return Value::undefined("it is low only where there is no limit");
  return {*found, ""};
}

Value reduced(Reduce how, const std::vector<std::vector<double>>& columns) {
  const std::vector<double>& values = columns.at(0);
  const auto count = static_cast<double>(values.size());
  double sum = 0;
  switch (how) {
    case Reduce::Only:
      if (values.size() != 1) return Value::none(fmt::format("{} samples, not one", values.size()));
      return {values.front(), ""};
    case Reduce::Mean:
    case Reduce::Sum:
      for (const double value : values) sum += value;
      return {how == Reduce::Sum ? sum : sum / count, ""};
    case Reduce::Geometric:
    case Reduce::Harmonic:
      for (const double value : values) {
        if (value <= 0) return Value::undefined("such a mean needs positive values");
        sum += how == Reduce::Geometric ? std::log(value) : 1 / value;
      }
      return {how == Reduce::Geometric ? std::exp(sum / count) : count / sum, ""};
    case Reduce::Median: return {median(values), ""};
    case Reduce::Min: return {*std::min_element(values.begin(), values.end()), ""};
    case Reduce::Max: return {*std::max_element(values.begin(), values.end()), ""};
    case Reduce::Count:  // samples for which the expression is not 0
      return {
          static_cast<double>(std::count_if(values.begin(), values.end(), [](double v) { return v != 0; })),
          ""};
    case Reduce::UpperQuartile: {
      std::vector<double> sorted = values;
      std::sort(sorted.begin(), sorted.end());
      return {sorted[(3 * sorted.size()) / 4], ""};
    }
    case Reduce::RankCorrelation: return rank_correlation(values, columns.at(1));
    case Reduce::AtMax: return at_max(values, columns.at(1));
    case Reduce::Knee: return knee(values, columns.at(1));
    case Reduce::Saturation: return saturation(values, columns.at(1));
  }
  return Value::none("no such reduction");
}

}  // namespace

Value reduce(Reduce how, const std::vector<std::vector<double>>& columns) {
  Value value = reduced(how, columns);
  return value.number ? Value::finite(*value.number) : value;
}

}  // namespace gpumux::reproduce
