// mri-gridding: host program of samples that are spread onto a grid.
#include "benchmarks/mri_gridding/mri_gridding.hpp"

#include <cmath>

#include "benchmarks/kernel_program.hpp"
#include "embedded/mri_gridding.ptx.hpp"

namespace gpumux::benchmarks::mri_gridding {

double bessel(double x) {
  double term = 1;
  double sum = 1;
  for (int k = 1; term > sum * 1e-17; ++k) {
    term *= x * x / 4 / k / k;
    sum += term;
  }
  return sum;
}

Spread spread(const std::vector<Sample>& samples, std::uint32_t nx, std::uint32_t ny, std::uint32_t nz,
              double cutoff, double beta) {
  Spread all;
  all.values.assign(std::size_t{2} * nx * ny * nz, 0);
  all.magnitudes = all.values;
  const auto range = [&](float place, std::uint32_t size) {
    const auto from = static_cast<std::int64_t>(std::ceil(static_cast<double>(place) - cutoff));
    const auto to = static_cast<std::int64_t>(std::floor(static_cast<double>(place) + cutoff));
    return std::pair{std::max<std::int64_t>(from, 0), std::min<std::int64_t>(to, std::int64_t{size} - 1)};
  };
  for (const Sample& sample : samples) {
    const auto [x0, x1] = range(sample.x, nx);
    const auto [y0, y1] = range(sample.y, ny);
    const auto [z0, z1] = range(sample.z, nz);
    for (std::int64_t z = z0; z <= z1; ++z) {
      for (std::int64_t y = y0; y <= y1; ++y) {
        for (std::int64_t x = x0; x <= x1; ++x) {
          const double dx = static_cast<double>(sample.x) - static_cast<double>(x);
          const double dy = static_cast<double>(sample.y) - static_cast<double>(y);
          const double dz = static_cast<double>(sample.z) - static_cast<double>(z);
          const double part = 1 - (dx * dx + dy * dy + dz * dz) / (cutoff * cutoff);
          if (part <= 0) continue;
          const double window = static_cast<double>(sample.density) * bessel(beta * std::sqrt(part));
          const auto at = 2 * ((static_cast<std::size_t>(z) * ny + static_cast<std::size_t>(y)) * nx +
                               static_cast<std::size_t>(x));
          const double real = window * static_cast<double>(sample.real);
          const double imaginary = window * static_cast<double>(sample.imaginary);
          all.values[at] += real;
          all.values[at + 1] += imaginary;
          all.magnitudes[at] += std::abs(real);
          all.magnitudes[at + 1] += std::abs(imaginary);
        }
      }
    }
  }
  return all;
}

namespace {

constexpr std::uint32_t kSide = 8;    // points of a bin along x and y: as in mri_gridding.cu
constexpr std::uint32_t kDepth = 4;   // and along z
constexpr std::uint32_t kScan = 512;  // counts that a block sums
constexpr std::uint32_t kThreads = 512;
constexpr std::uint32_t kGatherThreads = 64;
constexpr float kCutoff = 2.5F;
constexpr float kBeta = 11.0F;

class MriGridding final : public KernelProgram {
 public:
  explicit MriGridding(const Params& params)
      : size_(params.get_multiple("size", kSide)), count_(params.get("samples")) {}
  [[nodiscard]] runtime::AppInfo::KernelShape shape() const override { return shapes().back(); }
  [[nodiscard]] std::vector<runtime::AppInfo::KernelShape> shapes() const override {
    const Dim3 by_sample{blocks_for(count_, kThreads)};
    const Dim3 by_count{blocks_for(bins(), kScan)};
    return {{"bin_samples", by_sample, {kThreads}},
            {"scan_counts", by_count, {kScan}},
            {"add_totals", by_count, {kScan}},
            {"place_samples", by_sample, {kThreads}},
            {"gather", {size_ / kSide, size_ / kSide, size_ / kDepth}, {kGatherThreads}}};
  }
  /// Denser towards the middle, as trajectories are. Places are 64ths: squares of distances are exact, so
  /// that it is, too, who lies within the cutoff.
  void make_inputs(std::uint64_t seed) override {
    Random random(seed);
    const auto place = [&] {
      const std::uint32_t parts = size_ * 64;
      const std::uint32_t middle = (random.below(parts) + random.below(parts)) / 2;
      return static_cast<float>(middle) / 64.0F;
    };
    for (std::uint32_t i = 0; i < count_; ++i)
      samples_.push_back({place(), place(), place(), random.uniform(-1.0F, 1.0F), random.uniform(-1.0F, 1.0F),
                          random.uniform(0.5F, 1.5F)});
  }
  void start(KernelRun& run) override {
    const std::vector<runtime::AppInfo::KernelShape> all = shapes();
    const std::uint32_t flat = size_ / kSide;
    const std::uint32_t deep = size_ / kDepth;
    const auto samples = run.upload(samples_);
    const auto sorted = run.allocate<Sample>(count_);
    const auto counts = run.zeros<std::int32_t>(bins());
    const auto rank = run.allocate<std::int32_t>(count_);
    const auto starts = run.allocate<std::int32_t>(bins());
    const auto totals = run.allocate<std::int32_t>(blocks_for(bins(), kScan));
    const auto grid = run.allocate<float>(std::size_t{2} * size_ * size_ * size_);
    run.launch_as(all[0], samples, count_, flat, flat, deep, counts, rank);
    run.launch_as(all[1], counts, bins(), starts, totals);
    run.launch_as(all[2], starts, bins(), totals);
    run.launch_as(all[3], samples, count_, flat, flat, deep, starts, rank, sorted);
    run.launch_as(all[4], sorted, starts, counts, flat, flat, deep, kCutoff, kBeta, grid);
    run.download(grid_, grid);
  }
  void check() override {
    if (expected_.values.empty()) {
      expected_ =
          spread(samples_, size_, size_, size_, static_cast<double>(kCutoff), static_cast<double>(kBeta));
      for (double& allowed : expected_.magnitudes) allowed *= kTerm;
    }
    check_within("mri-gridding: point", grid_, expected_.values, expected_.magnitudes);
  }

 private:
  // The polynomials are good to 2e-7 of the function, the exponential of 11 to some 24 roundings, and a sum
  // has some hundreds of terms.
  static constexpr double kTerm = 2e-7 + 100 * kFloatRounding;
  [[nodiscard]] std::uint32_t bins() const { return size_ / kSide * (size_ / kSide) * (size_ / kDepth); }

  std::uint32_t size_;
  std::uint32_t count_;
  std::vector<Sample> samples_;
  std::vector<float> grid_;
  Spread expected_;
};

const KernelApp kMriGridding{
    .name = "mri-gridding",
    .description = "samples sorted by bins and spread onto a grid by a window (Parboil mri-gridding)",
    .params = {{"size", 32, 8, 256, "points of the grid in each direction, a multiple of 8"},
               {"samples", 4000, 1, 4'000'000, "samples"}},
    .ptx_file = "benchmarks/mri_gridding/mri_gridding.ptx",
    .ptx_text = embedded::mri_gridding_ptx,
};
[[maybe_unused]] const bool registered = register_kernel_app<MriGridding>(kMriGridding);
// Parboil's input.
[[maybe_unused]] const bool registered_wang17 =
    register_kernel_app<MriGridding, variant::Wang17>(kMriGridding.with(
        "wang17/mri-gridding", "mri-gridding for wang17", {{"size", 256}, {"samples", 2'655'910}}));

}  // namespace
}  // namespace gpumux::benchmarks::mri_gridding
