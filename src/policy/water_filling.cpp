#include "policy/water_filling.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace gpumux::policy {
namespace {

/// The position of a kernel on its curve.
struct Walker {
  struct Point {
    std::uint32_t blocks;
    double normalized;
  };
  std::vector<Point> points;  // normalized grows from point to point
  std::size_t at = 0;
  bool frozen = false;

  Walker(const ScalabilityCurve& curve, std::uint32_t most, Normalize normalize) {
    GPUMUX_CHECK(!curve.empty());
    const std::size_t usable = std::clamp<std::size_t>(most, 1, curve.size());
    const auto end = curve.begin() + static_cast<std::ptrdiff_t>(usable);
    const double whole =
        normalize == Normalize::Maximum ? *std::max_element(curve.begin(), end) : curve[usable - 1];
    // More blocks cannot help a kernel that never made progress.
    const auto part = [whole](double value) { return whole > 0 ? value / whole : 1.0; };
    points.push_back({1, part(curve[0])});
    for (std::size_t t = 1; t < usable; ++t) {
      const double normalized = part(curve[t]);
      if (normalized > points.back().normalized)
        points.push_back({static_cast<std::uint32_t>(t + 1), normalized});
    }
  }
  [[nodiscard]] double level() const { return points[at].normalized; }
  [[nodiscard]] double gain() const {
    return at + 1 < points.size() ? points[at + 1].normalized - level() : 0;
  }
};

}  // namespace

std::optional<SweetSpot> water_filling(const SmAmounts& capacity, const std::vector<Sharer>& sharers,
                                       const std::vector<ScalabilityCurve>& curves, Normalize normalize) {
  GPUMUX_CHECK(sharers.size() == curves.size());
  std::vector<Walker> walkers;
  for (std::size_t i = 0; i < sharers.size(); ++i)
    walkers.emplace_back(curves[i], sharers[i].most, normalize);
  std::vector<std::uint32_t> blocks(sharers.size(), 1);
  if (!fit_together(capacity, sharers, blocks)) return std::nullopt;
  while (true) {
    Walker* lowest = nullptr;
    for (Walker& walker : walkers) {
      if (walker.frozen) continue;
      if (lowest == nullptr || walker.level() < lowest->level() ||
          (walker.level() == lowest->level() && walker.gain() > lowest->gain())) {
        lowest = &walker;
      }
    }
    if (lowest == nullptr) break;
    const auto index = static_cast<std::size_t>(lowest - walkers.data());
    if (lowest->at + 1 == lowest->points.size()) {
      lowest->frozen = true;
      continue;
    }
    blocks[index] = lowest->points[lowest->at + 1].blocks;
    if (fit_together(capacity, sharers, blocks)) {
      ++lowest->at;
    } else {
      blocks[index] = lowest->points[lowest->at].blocks;
      lowest->frozen = true;
    }
  }
  SweetSpot spot;
  spot.blocks = std::move(blocks);
  for (const Walker& walker : walkers) {
    spot.normalized.push_back(walker.level());
    spot.theoretical_weighted_speedup += walker.level();
  }
  return spot;
}

}  // namespace gpumux::policy
