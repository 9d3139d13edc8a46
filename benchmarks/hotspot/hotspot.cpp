#include "benchmarks/hotspot/hotspot.hpp"

#include <algorithm>
#include <utility>

#include "benchmarks/kernel_program.hpp"
#include "embedded/hotspot.ptx.hpp"

namespace gpumux::benchmarks::hotspot {

Model chip() {
  constexpr double kCell = 0.016 / 512;     // m, side length of a cell
  constexpr double kThickness = 0.0005;     // m, thickness of the chip
  constexpr double kSpecificHeat = 1.75e6;  // J/(m^3 K), silicon
  constexpr double kConductivity = 100;     // W/(m K), silicon
  constexpr double kCapacityFactor = 0.5;   // factor that fits the lumped model
  constexpr double kMaxPowerDensity = 3e6;  // W/m^2
  constexpr double kPrecision = 0.001;      // K, largest change per step by power alone
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

constexpr std::uint32_t kTile = 16;  // TILE of hotspot.cu
constexpr float kHottest = 343.0F;

class Hotspot final : public KernelProgram {
 public:
  explicit Hotspot(const Params& params)
      : size_(params.get("size")),
        steps_(params.get("steps")),
        pyramid_(params.get("pyramid")),
        model_(chip()) {}
  [[nodiscard]] runtime::AppInfo::KernelShape shape() const override {
    const std::uint32_t blocks = blocks_for(size_, kTile - 2 * pyramid_);
    return {"calculate_temp", {blocks, blocks}, {kTile, kTile}};
  }
  void make_inputs(std::uint64_t seed) override {
    Random random(seed);
    const std::size_t cells = std::size_t{size_} * size_;
    temperature_ = random_floats(random, cells, 323.0F, kHottest);
    power_ = random_floats(random, cells, 0.0F, 0.003F);  // W; the largest power density makes 0.003 W
  }
  void start(KernelRun& run) override {
    const auto power = run.upload(power_);
    auto from = run.upload(temperature_);
    auto to = run.allocate<float>(power_.size());
    for (std::uint32_t done = 0; done < steps_; done += pyramid_) {
      run.launch(std::min(pyramid_, steps_ - done), power, from, to, size_, size_, pyramid_, model_.cap,
                 model_.rx, model_.ry, model_.rz, model_.step);
      std::swap(from, to);
    }
    run.download(result_, from);
  }
  void check() override {
    if (expected_.empty()) expected_ = reference(temperature_, power_, size_, size_, steps_, model_);
    // Each step rounds a temperature once, and its change, a few percent of the temperature, several times; 2
    // units cover both. The new temperature is a weighted mean of old temperatures, so errors add up but do
    // not grow.
    const Tolerance tolerance{.absolute = 2.0 * steps_ * kFloatRounding * static_cast<double>(kHottest)};
    check_close("hotspot: temperature", result_, expected_, tolerance);
  }

 private:
  std::uint32_t size_;
  std::uint32_t steps_;
  std::uint32_t pyramid_;
  Model model_;
  std::vector<float> temperature_;
  std::vector<float> power_;
  std::vector<float> result_;
  std::vector<double> expected_;
};

const KernelApp kHotspot{
    .name = "hotspot",
    .description = "2D thermal stencil with ghost zones in shared memory (Rodinia HotSpot)",
    .params =
        {{"size", 512, 16, 4096, "rows and columns of the grid, cells"},
         {"steps", 2, 1, 10000, "time steps"},
         {"pyramid", 2, 1, 7,
          "time steps of one launch; a block of 16x16 threads finishes 16 - 2 * pyramid cells squared"}},
    .ptx_file = "benchmarks/hotspot/hotspot.ptx",
    .ptx_text = embedded::hotspot_ptx,
};
[[maybe_unused]] const bool registered = register_kernel_app<Hotspot>(kHotspot);

// A grid of several waves of blocks on a full machine.
[[maybe_unused]] const bool registered_dai18 = register_kernel_app<Hotspot, variant::Dai18>(
    kHotspot.with("dai18/hs", "HotSpot as in Table 2 of dai18", {{"size", 1024}, {"steps", 4}},
                  {.registers_per_thread = 36, .shared_bytes = 3076}));
[[maybe_unused]] const bool registered_chimera15 = register_kernel_app<Hotspot, variant::Chimera15>(
    kHotspot.with("chimera15/HS", "HotSpot as in Table 2 of chimera15", {{"size", 1024}, {"steps", 40}},
                  {.registers_per_thread = 34, .shared_bytes = 3584}));
// Registers as in Table 4.2. Table 4.4's grid is the grid of size=2048, in one launch.
[[maybe_unused]] const bool registered_awatramani17 =
    register_kernel_app<Hotspot, variant::Awatramani17>(kHotspot.with(
        "awatramani17/hotspot", "hotspot for awatramani17", {{"size", 1024}}, {.registers_per_thread = 36}));
// The grid and steps of Rodinia's own runs.
[[maybe_unused]] const bool registered_kayiran14 = register_kernel_app<Hotspot, variant::Kayiran14>(
    kHotspot.with("kayiran14/hot", "hotspot for kayiran14", {{"size", 512}, {"steps", 2}}));

}  // namespace
}  // namespace gpumux::benchmarks::hotspot
