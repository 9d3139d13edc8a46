// srad: host program of speckle reducing anisotropic diffusion.
#include "benchmarks/srad/srad.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "benchmarks/common.hpp"
#include "embedded/srad.ptx.hpp"

namespace gpumux::benchmarks::srad {

float spread_of(double sum, double squares, std::size_t cells) {
  const double mean = sum / static_cast<double>(cells);
  const double variance = squares / static_cast<double>(cells) - mean * mean;
  return static_cast<float>(std::max(variance / (mean * mean), 1e-6));
}

Differences differences(const std::vector<float>& image, std::uint32_t rows, float spread) {
  const std::size_t cells = image.size();
  const std::size_t columns = cells / rows;
  const auto q0 = static_cast<double>(spread);
  Differences to;
  for (std::size_t i = 0; i < cells; ++i) {
    const auto here = static_cast<double>(image[i]);
    const auto difference = [&](std::size_t other) { return static_cast<double>(image[other]) - here; };
    const double north = difference(i % rows > 0 ? i - 1 : i);
    const double south = difference(i % rows + 1 < rows ? i + 1 : i);
    const double west = difference(i >= rows ? i - rows : i);
    const double east = difference(i / rows + 1 < columns ? i + rows : i);
    const double gradient = (north * north + south * south + west * west + east * east) / (here * here);
    const double laplacian = (north + south + west + east) / here;
    const double below = 1 + laplacian / 4;
    const double variation = (gradient / 2 - laplacian * laplacian / 16) / (below * below);
    to.north.push_back(north);
    to.south.push_back(south);
    to.west.push_back(west);
    to.east.push_back(east);
    to.coefficient.push_back(std::clamp(1 / (1 + (variation - q0) / (q0 * (1 + q0))), 0.0, 1.0));
  }
  return to;
}

Stepped diffuse(const std::vector<float>& image, std::uint32_t rows, const Differences& to, float rate,
                double coefficient_roundings) {
  const std::size_t cells = image.size();
  const std::size_t columns = cells / rows;
  const double part = static_cast<double>(rate) / 4;
  Stepped result;
  for (std::size_t i = 0; i < cells; ++i) {
    const double here = to.coefficient[i];
    const double in_south = to.coefficient[i % rows + 1 < rows ? i + 1 : i];
    const double in_east = to.coefficient[i / rows + 1 < columns ? i + rows : i];
    result.image.push_back(
        static_cast<double>(image[i]) +
        part * (here * (to.north[i] + to.west[i]) + in_south * to.south[i] + in_east * to.east[i]));
    // The roundings of a difference: it is multiplied, added up and scaled.
    const double all =
        std::abs(to.north[i]) + std::abs(to.south[i]) + std::abs(to.west[i]) + std::abs(to.east[i]);
    result.allowed.push_back(kFloatRounding *
                             ((coefficient_roundings + 8) * part * all + 2 * std::abs(result.image.back())));
  }
  return result;
}

Stepped step(const std::vector<float>& image, std::uint32_t rows, float spread, float rate) {
  return diffuse(image, rows, differences(image, rows, spread), rate, kCoefficientRoundings);
}

std::vector<float> speckled(std::uint32_t columns, std::uint32_t rows, std::uint64_t seed) {
  Random random(seed);
  std::vector<float> image;
  for (std::uint32_t column = 0; column < columns; ++column) {
    for (std::uint32_t row = 0; row < rows; ++row) {
      const float bright = (column / 32 + row / 32) % 2 == 0 ? 60.0F : 150.0F;
      image.push_back(bright * random.uniform(0.4F, 1.6F));
    }
  }
  return image;
}

std::vector<std::int32_t> neighbours(std::uint32_t places, std::int32_t distance) {
  std::vector<std::int32_t> result;
  const auto last = static_cast<std::int32_t>(places) - 1;
  for (std::int32_t place = 0; place <= last; ++place)
    result.push_back(std::clamp(place + distance, 0, last));
  return result;
}

std::vector<double> extracted(const std::vector<float>& image) {
  std::vector<double> result;
  for (const float value : image) result.push_back(std::exp(static_cast<double>(value) / 255));
  return result;
}

std::vector<double> compressed(const std::vector<float>& image) {
  std::vector<double> result;
  for (const float value : image) result.push_back(255 * std::log(static_cast<double>(value)));
  return result;
}

namespace {

constexpr const char* kName = "srad";
constexpr const char* kFile = "benchmarks/srad/srad.ptx";

const std::vector<runtime::AppParamInfo>& param_table() {
  static const std::vector<runtime::AppParamInfo> table = {
      {"width", 256, 2, 4096, "columns of the image"},
      {"height", 256, 2, 4096, "rows of the image"},
      {"iterations", 4, 1, 1000, "steps of the diffusion"},
  };
  return table;
}

struct Sizes {
  std::uint32_t columns, rows, iterations;
  [[nodiscard]] std::uint32_t cells() const { return columns * rows; }
};

Sizes read_sizes(const runtime::AppParams& values, const char* name = kName,
                 const std::vector<runtime::AppParamInfo>& table = param_table()) {
  const Params params(name, table, values);
  const Sizes sizes{params.get("width"), params.get("height"), params.get("iterations")};
  params.require_memory(std::uint64_t{8 * sizeof(float)} * sizes.cells());
  return sizes;
}

class Srad : public runtime::Application {
 public:
  Srad(const Sizes& sizes, std::uint64_t seed)
      : sizes_(sizes), image_(speckled(sizes.columns, sizes.rows, seed)) {}

  runtime::Task run(runtime::Host& host, bool verify) override {
    const std::uint32_t module = host.load_module(embedded::srad_ptx, kFile);
    const std::size_t cells = image_.size();
    const auto image = host.malloc<float>(cells);
    const auto north = host.malloc<std::int32_t>(sizes_.rows);
    const auto south = host.malloc<std::int32_t>(sizes_.rows);
    const auto west = host.malloc<std::int32_t>(sizes_.columns);
    const auto east = host.malloc<std::int32_t>(sizes_.columns);
    const auto to_north = host.malloc<float>(cells);
    const auto to_south = host.malloc<float>(cells);
    const auto to_west = host.malloc<float>(cells);
    const auto to_east = host.malloc<float>(cells);
    const auto coefficient = host.malloc<float>(cells);
    const auto sums = host.malloc<float>(cells);
    const auto squares = host.malloc<float>(cells);
    host.to_device(image, image_);
    host.to_device(north, neighbours(sizes_.rows, -1));
    host.to_device(south, neighbours(sizes_.rows, 1));
    host.to_device(west, neighbours(sizes_.columns, -1));
    host.to_device(east, neighbours(sizes_.columns, 1));

    const runtime::LaunchSpec spec{.grid = {blocks_for(sizes_.cells(), kThreads)}, .block = {kThreads}};
    const std::uint32_t count = sizes_.cells();
    const std::uint32_t rows = sizes_.rows;
    // Each step is checked against a reference that starts from the previous image of this run. Data for the
    // checks is copied back together with the sums, so that the host does not wait more often.
    std::vector<float> now(verify ? cells : 0);
    std::vector<float> previous;
    std::vector<float> sum(1);
    std::vector<float> square(1);
    float spread = 0;
    host.launch(module, "extract", spec, image, count);
    for (std::uint32_t iteration = 0; iteration < sizes_.iterations; ++iteration) {
      host.from_device(now, image);
      host.launch(module, "prepare", spec, image, sums, squares, count);
      std::uint32_t launches = 0;
      std::uint32_t stride = 1;
      for (std::uint32_t left = count; launches == 0 || left > 1; ++launches, stride *= kThreads) {
        const std::uint32_t blocks = blocks_for(left, kThreads);
        host.launch(module, "reduce", {.grid = {blocks}, .block = {kThreads}}, sums, squares, left, stride);
        left = blocks;
      }
      host.from_device(sum, sums);
      host.from_device(square, squares);
      co_await host.synchronize();
      if (verify) {
        if (iteration == 0) check_extracted(now);
        if (iteration > 0) check_step(now, previous, spread);
        check_sums(now, sum, square, launches);
        previous = now;
      }
      spread = spread_of(static_cast<double>(sum[0]), static_cast<double>(square[0]), cells);
      host.launch(module, "srad1", spec, image, north, south, west, east, to_north, to_south, to_west,
                  to_east, coefficient, rows, count, spread);
      host.launch(module, "srad2", spec, image, south, east, to_north, to_south, to_west, to_east,
                  coefficient, rows, count, kRate);
    }
    host.from_device(now, image);
    host.launch(module, "compress", spec, image, count);
    std::vector<float> result(cells);
    host.from_device(result, image);
    co_await host.synchronize();
    if (verify) {
      check_step(now, previous, spread);
      check_compressed(result, now);
    }
    host.free(image);
    for (const auto& indices : {north, south, west, east}) host.free(indices);
    for (const auto& floats : {to_north, to_south, to_west, to_east, coefficient, sums, squares})
      host.free(floats);
  }

 private:
  void check_extracted(const std::vector<float>& now) const {
    check_close("srad: extracted", now, extracted(image_), kOfFunction);
  }
  // The sums have eight roundings per launch; the squares are rounded once more.
  static void check_sums(const std::vector<float>& now, const std::vector<float>& sum,
                         const std::vector<float>& square, std::uint32_t launches) {
    double expected_sum = 0;
    double expected_square = 0;
    for (const float value : now) {
      expected_sum += static_cast<double>(value);
      expected_square += static_cast<double>(value) * static_cast<double>(value);
    }
    const Tolerance tolerance = sum_tolerance(std::uint64_t{8} * launches + 1);
    check_close("srad: sum", sum, std::vector{expected_sum}, tolerance);
    check_close("srad: sum of squares", square, std::vector{expected_square}, tolerance);
  }
  void check_step(const std::vector<float>& now, const std::vector<float>& previous, float spread) const {
    const Stepped expected = step(previous, sizes_.rows, spread, kRate);
    check_within("srad: image", now, expected.image, expected.allowed);
  }
  static void check_compressed(const std::vector<float>& result, const std::vector<float>& now) {
    check_close("srad: compressed", result, compressed(now), kOfFunction);
  }

  Sizes sizes_;
  std::vector<float> image_;
};

std::vector<runtime::AppInfo::KernelShape> shapes_of(const Sizes& sizes) {
  const Dim3 blocks{blocks_for(sizes.cells(), kThreads)};
  std::vector<runtime::AppInfo::KernelShape> shapes;
  for (const char* kernel : {"extract", "prepare", "reduce", "srad1", "srad2", "compress"})
    shapes.push_back({kernel, blocks, {kThreads}});
  return shapes;
}

const bool registered = runtime::register_app({
    .name = kName,
    .description =
        "speckle reducing anisotropic diffusion of an image, in six kernels (Rodinia SRAD, version 1)",
    .params = param_table(),
    .ptx_file = kFile,
    .ptx_text = embedded::srad_ptx,
    .shapes = [](const runtime::AppParams& values) { return shapes_of(read_sizes(values)); },
    .create = [](const runtime::AppParams& values, std::uint64_t seed)
        -> std::unique_ptr<runtime::Application> { return std::make_unique<Srad>(read_sizes(values), seed); },
});

/// Blocks count for the registers in Table 4.2, which numbers the kernels from 1 to 6.
class Awatramani17Srad final : public Srad {
 public:
  using Srad::Srad;
  [[nodiscard]] std::map<std::string, workload::BlockMetadata> block_metadata() const override {
    return {{"extract", {.registers_per_thread = 12}}, {"prepare", {.registers_per_thread = 12}},
            {"reduce", {.registers_per_thread = 16}},  {"srad1", {.registers_per_thread = 20}},
            {"srad2", {.registers_per_thread = 20}},   {"compress", {.registers_per_thread = 12}}};
  }
};

constexpr const char* kAwatramani17Name = "awatramani17/srad";
const std::vector<runtime::AppParamInfo>& awatramani17_params() {
  static const std::vector<runtime::AppParamInfo> table = [] {
    std::vector<runtime::AppParamInfo> params = param_table();
    params[0].default_value = params[1].default_value = 512;
    params[2].default_value = 2;
    return params;
  }();
  return table;
}

const bool registered_awatramani17 = runtime::register_app({
    .name = kAwatramani17Name,
    .description = "srad for awatramani17",
    .params = awatramani17_params(),
    .ptx_file = kFile,
    .ptx_text = embedded::srad_ptx,
    .shapes =
        [](const runtime::AppParams& values) {
          return shapes_of(read_sizes(values, kAwatramani17Name, awatramani17_params()));
        },
    .create = [](const runtime::AppParams& values,
                 std::uint64_t seed) -> std::unique_ptr<runtime::Application> {
      return std::make_unique<Awatramani17Srad>(read_sizes(values, kAwatramani17Name, awatramani17_params()),
                                                seed);
    },
});

}  // namespace
}  // namespace gpumux::benchmarks::srad
