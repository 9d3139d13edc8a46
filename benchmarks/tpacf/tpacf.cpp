// tpacf: host program of a two-point angular correlation.
#include "benchmarks/tpacf/tpacf.hpp"

#include <cmath>
#include <numbers>

#include "benchmarks/kernel_program.hpp"
#include "embedded/tpacf.ptx.hpp"

namespace gpumux::benchmarks::tpacf {
namespace {

constexpr std::uint32_t kThreads = 256;
// Coordinates are multiples of 1 / kParts, so that products of two coordinates, and their sums, are exact.
constexpr float kParts = 1024.0F;

class Tpacf final : public KernelProgram {
 public:
  explicit Tpacf(const Params& params) : sets_(params.get("sets")), points_(params.get("points")) {}
  [[nodiscard]] runtime::AppInfo::KernelShape shape() const override {
    return {"pair_histograms", {2 * sets_ + 1}, {kThreads}};
  }
  void make_inputs(std::uint64_t seed) override {
    Random random(seed);
    for (std::uint32_t i = 0; i < (sets_ + 1) * points_; ++i) {
      // Uniform on the sphere, then rounded to the grid of coordinates.
      const float z = random.uniform(-1.0F, 1.0F);
      const double angle = 6.283185307179586 * static_cast<double>(random.unit());
      const double radius = std::sqrt(1.0 - static_cast<double>(z) * static_cast<double>(z));
      const auto part = [](double value) { return static_cast<float>(std::lround(value * kParts)) / kParts; };
      all_.push_back(
          {part(radius * std::cos(angle)), part(radius * std::sin(angle)), part(static_cast<double>(z))});
    }
    // Bounds from 1 to 10,000 arc minutes, with five bins per factor of ten.
    for (std::uint32_t bin = 0; bin <= kBins; ++bin)
      bounds_.push_back(
          static_cast<float>(std::cos(std::pow(10.0, bin / 5.0) / 60 * std::numbers::pi / 180)));
  }
  void start(KernelRun& run) override {
    std::vector<float> x, y, z;
    for (const Point& point : all_) {
      x.push_back(point.x);
      y.push_back(point.y);
      z.push_back(point.z);
    }
    run.set_symbol("bounds", bounds_);
    const auto on_x = run.upload(x);
    const auto on_y = run.upload(y);
    const auto on_z = run.upload(z);
    const auto histograms = run.allocate<std::uint64_t>(std::size_t{2 * sets_ + 1} * kBins);
    run.launch(on_x, on_y, on_z, points_, sets_, histograms);
    run.download(result_, histograms);
  }
  void check() override {
    if (expected_.empty()) {
      const auto set = [&](std::uint32_t number) {
        return std::span<const Point>(all_).subspan(std::size_t{number} * points_, points_);
      };
      for (std::uint32_t block = 0; block <= 2 * sets_; ++block) {
        const bool among = block <= sets_;
        const std::vector<std::uint32_t> one = among ? histogram(set(block), set(block), bounds_)
                                                     : histogram(set(0), set(block - sets_), bounds_);
        expected_.insert(expected_.end(), one.begin(), one.end());
      }
    }
    check_equal("tpacf: pairs", result_, expected_);
  }

 private:
  std::uint32_t sets_;
  std::uint32_t points_;
  std::vector<Point> all_;
  std::vector<float> bounds_;
  std::vector<std::uint64_t> result_, expected_;
};

const KernelApp kTpacf{
    .name = "tpacf",
    .description = "two-point angular correlation: histograms of the angles of all pairs (Parboil tpacf)",
    .params = {{"sets", 40, 1, 1000, "sets of random points; two blocks each, and one"},
               {"points", 256, 2, 16384, "points of a set"}},
    .ptx_file = "benchmarks/tpacf/tpacf.ptx",
    .ptx_text = embedded::tpacf_ptx,
};
[[maybe_unused]] const bool registered = register_kernel_app<Tpacf>(kTpacf);
// Parboil's large input.
[[maybe_unused]] const bool registered_wang17 = register_kernel_app<Tpacf, variant::Wang17>(
    kTpacf.with("wang17/tpacf", "tpacf for wang17", {{"sets", 100}, {"points", 10'391}}));

}  // namespace
}  // namespace gpumux::benchmarks::tpacf
