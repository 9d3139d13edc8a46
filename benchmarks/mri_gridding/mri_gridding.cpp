// mri-gridding: host program that spreads samples onto a grid.
#include "benchmarks/mri_gridding/mri_gridding.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <utility>

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
  all.near_samples.assign(all.values.size() / 2, 0);
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
          const auto point = (static_cast<std::size_t>(z) * ny + static_cast<std::size_t>(y)) * nx +
                             static_cast<std::size_t>(x);
          const auto at = 2 * point;
          const double real = window * static_cast<double>(sample.real);
          const double imaginary = window * static_cast<double>(sample.imaginary);
          all.values[at] += real;
          all.values[at + 1] += imaginary;
          all.magnitudes[at] += std::abs(real);
          all.magnitudes[at + 1] += std::abs(imaginary);
          ++all.near_samples[point];
        }
      }
    }
  }
  return all;
}

namespace {

using Shape = runtime::AppInfo::KernelShape;
using Words = DeviceArray<std::uint32_t>;

constexpr std::uint32_t kThreads = 512;  // per block, one sample per thread
constexpr std::uint32_t kMost = 32;      // most samples per point on the GPU
// Constants of mri_gridding.cu.
constexpr std::uint32_t kSortThreads = 256;  // four keys per thread
constexpr std::uint32_t kSortTile = 4 * kSortThreads;
constexpr std::uint32_t kBits = 4;  // per digit
constexpr std::uint32_t kDigits = 1U << kBits;
constexpr std::uint32_t kScan = 1024;  // elements that a block sums
// A block gathers for 8x4x8 points. A thread computes four of them, along z.
constexpr std::uint32_t kGatherX = 8;
constexpr std::uint32_t kGatherY = 4;
constexpr std::uint32_t kGatherZ = 2;
constexpr std::uint32_t kDeep = 4;
constexpr float kCutoff = 2.5F;
// Beatty's rule in Parboil's form, for a window of 5 points and a grid that is 1.25 times as fine as the
// image: pi sqrt((2 x 5 / 1.25 x (1.25 - 0.5))^2 - 0.8).
constexpr float kBeta = 18.6389F;

/// The prefix sum of an array. Blocks sum parts of kScan elements. The totals of the parts, padded with zeros
/// to `totals` elements, are summed in a tree; each block takes `fan` elements of it.
struct Scan {
  explicit Scan(std::uint32_t elements)
      : count(elements), parts(blocks_for(elements, kScan)), totals(parts * kScan) {
    for (std::uint32_t wide = 128; wide <= kScan; wide *= 2) {
      std::uint32_t filled = wide;
      while (filled < parts) filled *= wide;
      if (filled > totals) continue;
      totals = filled;
      fan = wide;
    }
  }
  [[nodiscard]] Shape of_parts(const char* kernel) const { return {kernel, {parts}, {kScan / 2}}; }
  /// Shape of a launch for one level of the tree, with `left` elements.
  [[nodiscard]] Shape of_totals(const char* kernel, std::uint32_t left) const {
    const std::uint32_t words = fan + fan / 16 + fan / 256;
    return {kernel, {left / fan}, {fan / 2}, words * std::uint32_t{sizeof(std::uint32_t)}};
  }
  /// Replaces all elements of `data` by their exclusive prefix sums.
  void run(KernelRun& run, const Words& data) const {
    const auto sums = run.zeros<std::uint32_t>(totals);
    const auto zero = run.zeros<std::uint32_t>(1);
    run.launch_as(of_parts("scan_parts"), count, data, sums);
    std::uint32_t apart = 1;
    for (std::uint32_t left = totals; left > 1; left /= fan) {
      run.launch_as(of_totals("scan_up", left), sums, apart);
      apart *= fan;
    }
    run.copy(Words{sums.first + (totals - 1), 1}, zero);
    for (std::uint32_t left = fan; left <= totals; left *= fan) {
      apart /= fan;
      run.launch_as(of_totals("scan_down", left), sums, apart);
    }
    run.launch_as(of_parts("add_totals"), count, data, sums);
  }

  std::uint32_t count;
  std::uint32_t parts;
  std::uint32_t totals;
  std::uint32_t fan = 0;
};

class MriGridding final : public KernelProgram {
 public:
  explicit MriGridding(const Params& params)
      : size_(params.get_multiple("size", kGatherX)), count_(params.get("samples")) {}
  [[nodiscard]] Shape shape() const override { return shapes().back(); }
  /// Shapes of all kernels. The shapes of the scan kernels are those for the points' counts.
  [[nodiscard]] std::vector<Shape> shapes() const override {
    const Scan scan(points() + 1);
    return {by_sample("bin_samples"),
            by_tile("sort_tiles"),
            scan.of_parts("scan_parts"),
            scan.of_totals("scan_up", scan.totals),
            scan.of_totals("scan_down", scan.totals),
            scan.of_parts("add_totals"),
            by_tile("move_tiles"),
            by_sample("reorder_samples"),
            {"gather",
             {size_ / kGatherX, size_ / kGatherY * (size_ / (kDeep * kGatherZ))},
             {kGatherX, kGatherY, kGatherZ}}};
  }
  /// Makes samples on lines through the middle, in random directions, two samples per distance of points. As
  /// in Parboil's host program, places are rounded down to points, so that squares of distances are exact.
  void make_inputs(std::uint64_t seed) override {
    Random random(seed);
    const std::uint32_t line = 2 * size_;
    const float middle = static_cast<float>(size_ - 1) / 2;
    std::array<float, 3> direction{};
    for (std::uint32_t i = 0; i < count_; ++i) {
      if (i % line == 0) direction = random_direction(random);
      const float along = (static_cast<float>(i % line) + 0.5F - static_cast<float>(size_)) /
                          static_cast<float>(size_) * middle;
      const auto place = [&](int axis) { return std::floor(middle + direction.at(axis) * along); };
      samples_.emplace_back(place(0), place(1), place(2), random.uniform(-1.0F, 1.0F),
                            random.uniform(-1.0F, 1.0F), random.uniform(0.5F, 1.5F));
    }
  }
  void start(KernelRun& run) override {
    const std::uint32_t padded = (count_ + 3) / 4 * 4;  // the sort takes four keys at a time
    set_symbols(run);
    const auto values = run.allocate<float>(std::size_t{2} * count_);
    const auto places = run.allocate<float>(std::size_t{4} * count_);
    const auto counts = run.zeros<std::uint32_t>(points() + 1);
    const auto samples = run.upload(samples_);
    auto keys = run.allocate<std::uint32_t>(padded);
    auto indices = run.allocate<std::uint32_t>(padded);
    if (padded > count_) {  // pads with keys greater than all others, which stay last
      const auto last = run.upload(std::vector<std::uint32_t>(padded - count_, 0xffff'ffffU));
      run.copy(Words{keys.first + count_, last.elements}, last);
    }
    run.launch_as(by_sample("bin_samples"), count_, samples, keys, indices, counts, kMost, points());
    sort(run, keys, indices);
    run.launch_as(by_sample("reorder_samples"), count_, indices, samples, values, places);
    Scan(points() + 1).run(run, counts);
    // The host needs to know from which place on, in the sorted order, samples have found their point full.
    run.download(full_from_, Words{counts.first + points(), 1});
    if (run.verify()) run.download(order_, indices);
    const auto grid = run.zeros<float>(std::size_t{2} * points());
    const auto near_samples = run.zeros<float>(points());
    run.launch_as(shape(), values, places, counts, grid, near_samples, kBeta);
    run.download(near_samples_, near_samples);
    run.download(grid_, grid);
  }
  /// The GPU processes at most kMost samples of a point; the host processes the rest, as in Parboil's
  /// program. Which samples the GPU takes depends on the order of the blocks, but their number does not. The
  /// check subtracts the host's part from the sum of all samples.
  void check() override {
    make_reference();
    check_equal("mri-gridding: samples on the GPU", full_from_, {taken_});
    std::vector<Sample> left;
    for (std::uint32_t i = taken_; i < count_; ++i) {
      GPUMUX_CHECK(order_[i] < count_);
      left.push_back(samples_[order_[i]]);
    }
    const Spread by_host = spread_all(left);
    std::vector<double> values(expected_.values.size());
    std::vector<std::uint32_t> near_samples(points());
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = expected_.values[i] - by_host.values[i];
    for (std::size_t i = 0; i < near_samples.size(); ++i)
      near_samples[i] = expected_.near_samples[i] - by_host.near_samples[i];
    check_close("mri-gridding: samples near a point", near_samples_, near_samples, {});
    check_within("mri-gridding: point", grid_, values, allowed_);
  }

 private:
  // Relative error of a window's value. The argument's square is off by at most 3 x 347 + 5 roundings, which
  // changes the function by 130 roundings: the derivative of its logarithm is 0.115 at the least square, 14,
  // and 0.026 at the greatest, 347. Polynomials and quotient add at most 45 roundings. Their ratio as such is
  // good to 3e-8.
  static constexpr double kWindow = 3e-8 + 200 * kFloatRounding;

  [[nodiscard]] std::uint32_t points() const { return size_ * size_ * size_; }
  [[nodiscard]] Shape by_sample(const char* kernel) const {
    return {kernel, {blocks_for(count_, kThreads)}, {kThreads}};
  }
  [[nodiscard]] Shape by_tile(const char* kernel) const {
    return {kernel, {blocks_for(count_, kSortTile)}, {kSortThreads}};
  }
  /// A random direction, uniform: random points in a cube, of which those in the sphere count. Uses no
  /// functions whose last bits differ between libraries.
  static std::array<float, 3> random_direction(Random& random) {
    for (;;) {
      std::array<float, 3> place{};
      float square = 0;
      for (float& along : place) {
        along = random.uniform(-1.0F, 1.0F);
        square += along * along;
      }
      if (square > 1 || square < 0.01F) continue;
      for (float& along : place) along /= std::sqrt(square);
      return place;
    }
  }
  void set_symbols(KernelRun& run) const {
    const auto size = static_cast<std::int32_t>(size_);
    run.set_symbol("cutoff_square", std::array{kCutoff * kCutoff});
    run.set_symbol("cutoff", std::array{kCutoff});
    run.set_symbol("grid_size", std::array{size, size, size});
    run.set_symbol("plane_points", std::array{size * size});
    run.set_symbol("inverse_square", std::array{1 / (kCutoff * kCutoff)});
  }
  /// Sorts by digits, starting with the last digit. Each pass exchanges the arrays, so that `keys` and
  /// `indices` hold the result.
  void sort(KernelRun& run, Words& keys, Words& indices) const {
    const Shape tiles = by_tile("sort_tiles");
    const auto histograms = run.allocate<std::uint32_t>(std::size_t{kDigits} * tiles.grid.x);
    auto other_keys = run.allocate<std::uint32_t>(keys.elements);
    auto other_indices = run.allocate<std::uint32_t>(keys.elements);
    const auto digits = blocks_for(static_cast<std::uint32_t>(std::bit_width(points() + 1)), kBits);
    for (std::uint32_t digit = 0; digit < digits; ++digit) {
      run.launch_as(tiles, count_, digit, keys, indices, histograms);
      Scan(kDigits * tiles.grid.x).run(run, histograms);
      run.launch_as(by_tile("move_tiles"), count_, digit, keys, other_keys, indices, other_indices,
                    histograms);
      std::swap(keys, other_keys);
      std::swap(indices, other_indices);
    }
  }
  [[nodiscard]] Spread spread_all(const std::vector<Sample>& samples) const {
    return spread(samples, size_, size_, size_, static_cast<double>(kCutoff), static_cast<double>(kBeta));
  }
  void make_reference() {
    if (!expected_.values.empty()) return;
    expected_ = spread_all(samples_);
    allowed_ = expected_.magnitudes;
    for (std::size_t i = 0; i < allowed_.size(); ++i)
      allowed_[i] *= kWindow + sum_tolerance(expected_.near_samples[i / 2] + 2).relative;
    std::vector<std::uint32_t> counts(points());
    for (const Sample& sample : samples_) {
      const float point =
          (sample.z * static_cast<float>(size_) + sample.y) * static_cast<float>(size_) + sample.x;
      if (counts[static_cast<std::size_t>(point)]++ < kMost) ++taken_;
    }
  }

  std::uint32_t size_;
  std::uint32_t count_;
  std::vector<Sample> samples_;
  std::vector<std::uint32_t> full_from_, order_;
  std::vector<float> grid_, near_samples_;
  Spread expected_;
  std::vector<double> allowed_;
  std::uint32_t taken_ = 0;  // samples that find a place at their point
};

const KernelApp kMriGridding{
    .name = "mri-gridding",
    .description = "samples sorted by their points and spread onto a grid by a window (Parboil mri-gridding)",
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
