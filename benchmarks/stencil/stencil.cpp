// stencil: host program of the 7-point stencil.
#include <memory>
#include <utility>
#include <vector>

#include "benchmarks/common.hpp"
#include "benchmarks/dai18_table2.hpp"
#include "benchmarks/stencil/stencil_reference.hpp"
#include "embedded/stencil.ptx.hpp"
#include "runtime/application.hpp"

namespace gpumux::benchmarks {
namespace {

constexpr const char* kName = "stencil";
constexpr const char* kFile = "benchmarks/stencil/stencil.ptx";
constexpr Dim3 kBlock{32, 4, 4};
constexpr float kCentreWeight = 0.4F;
constexpr float kNeighbourWeight = 0.1F;

struct Size {
  std::uint32_t nx;
  std::uint32_t ny;
  std::uint32_t nz;
  [[nodiscard]] std::size_t points() const { return std::size_t{nx} * ny * nz; }
  [[nodiscard]] Dim3 grid() const {
    return {blocks_for(nx - 2, kBlock.x), blocks_for(ny - 2, kBlock.y), blocks_for(nz - 2, kBlock.z)};
  }
};

const std::vector<runtime::AppParamInfo>& param_table() {
  static const std::vector<runtime::AppParamInfo> table = {
      {"nx", 130, 3, 2050, "points along x, boundary included"},
      {"ny", 130, 3, 2050, "points along y, boundary included"},
      {"nz", 34, 3, 2050, "points along z, boundary included"},
      {"steps", 4, 1, 1000, "time steps, one launch each"}};
  return table;
}

class Stencil final : public runtime::Application {
 public:
  Stencil(Size size, std::uint32_t steps, std::uint64_t seed) : size_(size), steps_(steps), seed_(seed) {}

  runtime::Task run(runtime::Host& host, bool verify) override {
    Random random(seed_);
    const std::vector<float> grid = random_floats(random, size_.points(), 0.0F, 1.0F);

    const std::uint32_t module = host.load_module(embedded::stencil_ptx, kFile);
    auto now = host.malloc<float>(grid.size());
    auto next = host.malloc<float>(grid.size());
    host.to_device(now, grid);
    host.to_device(next, grid);  // for the boundary, which no step writes
    for (std::uint32_t step = 0; step < steps_; ++step) {
      host.launch(module, "stencil_naive", {.grid = size_.grid(), .block = kBlock}, kCentreWeight,
                  kNeighbourWeight, now, next, static_cast<int>(size_.nx), static_cast<int>(size_.ny),
                  static_cast<int>(size_.nz));
      std::swap(now, next);
    }
    std::vector<float> result(grid.size());
    host.from_device(result, now);
    co_await host.synchronize();
    if (verify) {
      if (reference_.empty()) {
        reference_ =
            stencil_reference(grid, size_.nx, size_.ny, size_.nz, kCentreWeight, kNeighbourWeight, steps_);
      }
      // All terms are non-negative and pass at most 8 roundings a step.
      check_close("stencil: grid", result, reference_, sum_tolerance(8ULL * steps_));
    }
    host.free(now);
    host.free(next);
  }

 private:
  Size size_;
  std::uint32_t steps_;
  std::uint64_t seed_;
  std::vector<double> reference_;
};

Size size_of(const Params& params) { return {params.get("nx"), params.get("ny"), params.get("nz")}; }

std::vector<runtime::AppInfo::KernelShape> shapes(const char* app, const runtime::AppParams& values) {
  const Params params(app, param_table(), values);
  return {{"stencil_naive", size_of(params).grid(), kBlock}};
}

std::unique_ptr<runtime::Application> create(const char* app, const runtime::AppParams& values,
                                             std::uint64_t seed) {
  const Params params(app, param_table(), values);
  const Size size = size_of(params);
  check_memory(app, 2 * sizeof(float) * size.points());
  return std::make_unique<Stencil>(size, params.get("steps"), seed);
}

[[maybe_unused]] const bool registered = runtime::register_app({
    .name = kName,
    .description =
        "7-point Jacobi stencil on a 3D grid, one thread per point (as in Parboil's naive version)",
    .params = param_table(),
    .ptx_file = kFile,
    .ptx_text = embedded::stencil_ptx,
    .shapes = [](const runtime::AppParams& values) { return shapes(kName, values); },
    .create = [](const runtime::AppParams& values,
                 std::uint64_t seed) { return create(kName, values, seed); },
});

// dai18/st: more points, so that its blocks come in several waves.
constexpr const char* kDai18 = "dai18/st";

[[maybe_unused]] const bool registered_dai18 = runtime::register_app({
    .name = kDai18,
    .description = "7-point stencil as in Table 2 of dai18",
    .params = with_defaults(param_table(), {{"nx", 258}, {"ny", 258}}),
    .ptx_file = kFile,
    .ptx_text = embedded::stencil_ptx,
    .shapes = [](const runtime::AppParams& values) { return shapes(kDai18, values); },
    .create = [](const runtime::AppParams& values,
                 std::uint64_t seed) -> std::unique_ptr<runtime::Application> {
      return std::make_unique<Dai18Application>(kDai18, create(kDai18, values, seed));
    },
});

}  // namespace
}  // namespace gpumux::benchmarks
