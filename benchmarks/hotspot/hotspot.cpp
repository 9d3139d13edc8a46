#include "benchmarks/hotspot/hotspot.hpp"

#include <algorithm>
#include <utility>

#include "benchmarks/common.hpp"
#include "benchmarks/dai18_table2.hpp"
#include "embedded/hotspot.ptx.hpp"

namespace gpumux::benchmarks::hotspot {

Model chip() {
  constexpr double kCell = 0.016 / 512;     // m, side of a cell
  constexpr double kThickness = 0.0005;     // m, of the chip
  constexpr double kSpecificHeat = 1.75e6;  // J/(m^3 K), silicon
  constexpr double kConductivity = 100;     // W/(m K), silicon
  constexpr double kCapacityFactor = 0.5;   // fits the lumped model
  constexpr double kMaxPowerDensity = 3e6;  // W/m^2
  constexpr double kPrecision = 0.001;      // K, the largest change in a step by power alone
  constexpr double kMaxSlope = kMaxPowerDensity / (kCapacityFactor * kThickness * kSpecificHeat);  // K/s
  return {.cap = static_cast<float>(kCapacityFactor * kSpecificHeat * kThickness * kCell * kCell),
          .rx = static_cast<float>(kCell / (2 * kConductivity * kThickness * kCell)),
          .ry = static_cast<float>(kCell / (2 * kConductivity * kThickness * kCell)),
          .rz = static_cast<float>(kThickness / (kConductivity * kCell * kCell)),
          .step = static_cast<float>(kPrecision / kMaxSlope)};
}

std::vector<double> reference(const std::vector<float>& temperature, const std::vector<float>& power,
                              std::uint32_t rows, std::uint32_t columns, std::uint32_t steps,
                              const Model& model) {
  std::vector<double> now(temperature.begin(), temperature.end());
  std::vector<double> next(now.size());
  const double step_over_cap = static_cast<double>(model.step) / static_cast<double>(model.cap);
  for (std::uint32_t step = 0; step < steps; ++step) {
    for (std::uint32_t r = 0; r < rows; ++r) {
      for (std::uint32_t c = 0; c < columns; ++c) {
        const std::size_t at = std::size_t{r} * columns + c;
        const double here = now[at];
        const double north = r == 0 ? here : now[at - columns];
        const double south = r == rows - 1 ? here : now[at + columns];
        const double west = c == 0 ? here : now[at - 1];
        const double east = c == columns - 1 ? here : now[at + 1];
        next[at] =
            here + step_over_cap * (static_cast<double>(power[at]) +
                                    (north + south - 2 * here) / static_cast<double>(model.ry) +
                                    (east + west - 2 * here) / static_cast<double>(model.rx) +
                                    (static_cast<double>(kAmbient) - here) / static_cast<double>(model.rz));
      }
    }
    now.swap(next);
  }
  return now;
}

namespace {

constexpr const char* kName = "hotspot";
constexpr const char* kFile = "benchmarks/hotspot/hotspot.ptx";
constexpr const char* kKernel = "calculate_temp";
constexpr std::uint32_t kTile = 16;  // TILE of hotspot.cu
constexpr float kHottest = 343.0F;

const std::vector<runtime::AppParamInfo>& param_table() {
  static const std::vector<runtime::AppParamInfo> table = {
      {"size", 512, 16, 4096, "rows and columns of the grid, cells"},
      {"steps", 2, 1, 10000, "time steps"},
      {"pyramid", 2, 1, 7,
       "time steps of one launch; a block of 16x16 threads finishes 16 - 2 * pyramid cells squared"},
  };
  return table;
}

struct Sizes {
  std::uint32_t size;
  std::uint32_t steps;
  std::uint32_t pyramid;
  [[nodiscard]] Dim3 grid() const {
    const std::uint32_t blocks = blocks_for(size, kTile - 2 * pyramid);
    return {blocks, blocks};
  }
};

Sizes read_sizes(const runtime::AppParams& values, std::string_view app = kName) {
  const Params params(app, param_table(), values);
  return {params.get("size"), params.get("steps"), params.get("pyramid")};
}

class Hotspot final : public runtime::Application {
 public:
  Hotspot(const Sizes& sizes, std::uint64_t seed) : sizes_(sizes), model_(chip()) {
    Random random(seed);
    const std::size_t cells = std::size_t{sizes.size} * sizes.size;
    temperature_ = random_floats(random, cells, 323.0F, kHottest);
    power_ = random_floats(random, cells, 0.0F, 0.003F);  // W; 0.003 is the largest power density on a cell
  }

  runtime::Task run(runtime::Host& host, bool verify) override {
    const std::uint32_t module = host.load_module(embedded::hotspot_ptx, kFile);
    const auto power = host.malloc<float>(power_.size());
    auto from = host.malloc<float>(power_.size());
    auto to = host.malloc<float>(power_.size());
    host.to_device(power, power_);
    host.to_device(from, temperature_);
    const runtime::LaunchSpec spec{.grid = sizes_.grid(), .block = {kTile, kTile}};
    const auto side = static_cast<std::int32_t>(sizes_.size);
    const auto halo = static_cast<std::int32_t>(sizes_.pyramid);
    for (std::uint32_t done = 0; done < sizes_.steps; done += sizes_.pyramid) {
      const auto steps = static_cast<std::int32_t>(std::min(sizes_.pyramid, sizes_.steps - done));
      host.launch(module, kKernel, spec, steps, power, from, to, side, side, halo, model_.cap, model_.rx,
                  model_.ry, model_.rz, model_.step);
      std::swap(from, to);
    }
    std::vector<float> result(power_.size());
    host.from_device(result, from);
    co_await host.synchronize();
    if (verify) {
      if (expected_.empty()) {
        expected_ = reference(temperature_, power_, sizes_.size, sizes_.size, sizes_.steps, model_);
      }
      // Each step rounds a temperature once and its change, some percent of that, a few times; 2 units cover
      // both. The new temperature is a weighted mean of old ones, so errors add up but do not grow.
      const Tolerance tolerance{.absolute =
                                    2.0 * sizes_.steps * kFloatRounding * static_cast<double>(kHottest)};
      check_close("hotspot: temperature", result, expected_, tolerance);
    }
    host.free(power);
    host.free(from);
    host.free(to);
  }

 private:
  Sizes sizes_;
  Model model_;
  std::vector<float> temperature_;
  std::vector<float> power_;
  std::vector<double> expected_;  // computed by the first verified run
};

const bool registered = runtime::register_app({
    .name = kName,
    .description = "2D thermal stencil with ghost zones in shared memory (Rodinia HotSpot)",
    .params = param_table(),
    .ptx_file = kFile,
    .ptx_text = embedded::hotspot_ptx,
    .shapes = [](const runtime::AppParams& values) -> std::vector<runtime::AppInfo::KernelShape> {
      return {{kKernel, read_sizes(values).grid(), {kTile, kTile}}};
    },
    .create = [](const runtime::AppParams& values,
                 std::uint64_t seed) -> std::unique_ptr<runtime::Application> {
      return std::make_unique<Hotspot>(read_sizes(values), seed);
    },
});

// dai18/hs: several waves of blocks on a full machine.
constexpr const char* kDai18 = "dai18/hs";

[[maybe_unused]] const bool registered_dai18 = runtime::register_app({
    .name = kDai18,
    .description = "HotSpot as in Table 2 of dai18",
    .params = with_defaults(param_table(), {{"size", 1024}, {"steps", 4}}),
    .ptx_file = kFile,
    .ptx_text = embedded::hotspot_ptx,
    .shapes = [](const runtime::AppParams& values) -> std::vector<runtime::AppInfo::KernelShape> {
      return {{kKernel, read_sizes(values, kDai18).grid(), {kTile, kTile}}};
    },
    .create = [](const runtime::AppParams& values,
                 std::uint64_t seed) -> std::unique_ptr<runtime::Application> {
      return std::make_unique<Dai18Application>(kDai18,
                                                std::make_unique<Hotspot>(read_sizes(values, kDai18), seed));
    },
});

}  // namespace
}  // namespace gpumux::benchmarks::hotspot
