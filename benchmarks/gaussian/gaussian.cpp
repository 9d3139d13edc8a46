// gaussian: host program of Gaussian elimination.
#include "benchmarks/gaussian/gaussian.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "benchmarks/kernel_program.hpp"
#include "embedded/gaussian.ptx.hpp"

namespace gpumux::benchmarks::gaussian {

namespace {

Rounded rounded(double value, double error) {
  return {value, error + kFloatRounding * (std::abs(value) + error)};
}
Rounded divide(const Rounded& a, const Rounded& b) {
  const double value = a.value / b.value;
  return rounded(value, (a.error + std::abs(value) * b.error) / (std::abs(b.value) - b.error));
}
/// a - b * c. PTX does not define whether the product is rounded, so the error includes this rounding.
Rounded less_product(const Rounded& a, const Rounded& b, const Rounded& c) {
  const Rounded product =
      rounded(b.value * c.value, std::abs(b.value) * c.error + b.error * (std::abs(c.value) + c.error));
  return rounded(a.value - product.value, a.error + product.error);
}
std::vector<Rounded> exact(const std::vector<float>& values) {
  std::vector<Rounded> result;
  result.reserve(values.size());
  for (const float value : values) result.push_back({static_cast<double>(value), 0});
  return result;
}

}  // namespace

Eliminated eliminate(const System<float>& system) {
  const std::size_t n = system.b.size();
  Eliminated result{{exact(system.a), exact(system.b)}, std::vector<Rounded>(n * n)};
  std::vector<Rounded>& a = result.system.a;
  std::vector<Rounded>& b = result.system.b;
  for (std::size_t step = 0; step + 1 < n; ++step) {
    for (std::size_t row = step + 1; row < n; ++row) {
      const Rounded m = divide(a[row * n + step], a[step * n + step]);
      result.multipliers[row * n + step] = m;
      for (std::size_t column = step; column < n; ++column)
        a[row * n + column] = less_product(a[row * n + column], m, a[step * n + column]);
      b[row] = less_product(b[row], m, b[step]);
    }
  }
  return result;
}

std::vector<Rounded> substitute(const System<Rounded>& upper) {
  const std::size_t n = upper.b.size();
  std::vector<Rounded> x(n);
  for (std::size_t row = n; row-- > 0;) {
    Rounded rest = upper.b[row];
    for (std::size_t column = row + 1; column < n; ++column)
      rest = less_product(rest, upper.a[row * n + column], x[column]);
    x[row] = divide(rest, upper.a[row * n + row]);
  }
  return x;
}

namespace {

constexpr std::uint32_t kColumnThreads = 16;
constexpr std::uint32_t kTile = 4;

void check_rounded(std::string_view what, const std::vector<float>& result,
                   const std::vector<Rounded>& expected) {
  std::vector<double> values;
  std::vector<double> errors;
  for (const Rounded& number : expected) {
    values.push_back(number.value);
    errors.push_back(number.error);
  }
  check_within(what, result, values, errors);
}

class Gaussian final : public KernelProgram {
 public:
  explicit Gaussian(const Params& params) : n_(params.get("size")) {}
  [[nodiscard]] runtime::AppInfo::KernelShape shape() const override {
    const std::uint32_t tiles = blocks_for(n_, kTile);
    return {"update_rows", {tiles, tiles}, {kTile, kTile}};
  }
  [[nodiscard]] std::vector<runtime::AppInfo::KernelShape> shapes() const override {
    return {{"column_multipliers", {blocks_for(n_, kColumnThreads)}, {kColumnThreads}}, shape()};
  }
  /// Makes a diagonally dominant matrix, so that no pivoting is needed and no number grows.
  void make_inputs(std::uint64_t seed) override {
    Random random(seed);
    system_.a = random_floats(random, std::size_t{n_} * n_, -1.0F, 1.0F);
    for (std::size_t i = 0; i < n_; ++i) system_.a[i * n_ + i] += static_cast<float>(n_);
    system_.b = random_floats(random, n_, -1.0F, 1.0F);
  }
  /// Enqueues both kernels for each column. Their grids always cover the whole matrix.
  void start(KernelRun& run) override {
    const auto a = run.upload(system_.a);
    const auto b = run.upload(system_.b);
    const auto multipliers = run.zeros<float>(system_.a.size());
    const runtime::AppInfo::KernelShape column = shapes()[0];
    for (std::uint32_t step = 0; step + 1 < n_; ++step) {
      run.launch_as(column, a, multipliers, n_, step);
      run.launch(a, b, multipliers, n_, step);
    }
    run.download(upper_.a, a);
    run.download(upper_.b, b);
    if (run.verify()) run.download(multipliers_, multipliers);
  }
  void check() override {
    if (expected_.multipliers.empty()) expected_ = eliminate(system_);
    check_rounded("gaussian: multipliers", multipliers_, expected_.multipliers);
    check_rounded("gaussian: a", upper_.a, expected_.system.a);
    check_rounded("gaussian: b", upper_.b, expected_.system.b);
    // Back substitution, the host's part of the algorithm. The simulated time does not include it.
    std::vector<float> x;
    for (const Rounded& number : substitute({exact(upper_.a), exact(upper_.b)}))
      x.push_back(static_cast<float>(number.value));
    check_rounded("gaussian: x", x, substitute(expected_.system));
  }

 private:
  std::uint32_t n_;
  System<float> system_;
  System<float> upper_;
  std::vector<float> multipliers_;
  Eliminated expected_;
};

const KernelApp kGaussian{
    .name = "gaussian",
    .description = "Gaussian elimination column by column, back substitution on the host (Rodinia gaussian)",
    .params = {{"size", 128, 2, 2048, "equations"}},
    .ptx_file = "benchmarks/gaussian/gaussian.ptx",
    .ptx_text = embedded::gaussian_ptx,
};
[[maybe_unused]] const bool registered = register_kernel_app<Gaussian>(kGaussian);
// Registers as in Table 4.2, which has one row for both kernels.
[[maybe_unused]] const bool registered_awatramani17 = register_kernel_app<Gaussian, variant::Awatramani17>(
    kGaussian.with("awatramani17/gaussian", "gaussian for awatramani17", {{"size", 192}})
        .of({{"column_multipliers", {.registers_per_thread = 24}},
             {"update_rows", {.registers_per_thread = 24}}}));

}  // namespace
}  // namespace gpumux::benchmarks::gaussian
